# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded heap, read back from frame-dump's text."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline  # noqa: E402

PROGRAMS = pipeline.BUILD / "tests" / "heap"
PRELOAD = pipeline.program("preload-source")
# LD_PRELOAD for the program also applies to the stages that start it.
needs_plain_stages = unittest.skipIf(b"__asan_init" in PRELOAD.read_bytes(),
                                     f"{pipeline.NOT_HERE} another library be preloaded into what has a sanitizer")


class Event:
    __slots__ = ("time", "process", "tid", "kind", "address", "size", "stack", "interval")

    def __init__(self, words):
        fields = dict(word.split("=", 1) for word in words if "=" in word)
        self.kind = words[4]
        self.time, self.process = int(fields["time"]), int(fields["process"])
        self.tid, self.address = int(fields["tid"]), int(fields["address"], 16)
        self.size, self.stack = int(fields.get("size", 0)), int(fields.get("stack", 0))
        self.interval = int(fields.get("interval", 0))


class Heap:
    """A program's heap, as recorded in a stream."""

    def __init__(self, stream):
        dump = subprocess.run([pipeline.program("frame-dump"), "--heap-events"], input=stream,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.status = dump.returncode
        self.events, self.lost, self.messages, self.counts, self.pids = [], [], [], {}, {}
        self.mappings, self.names, self.frames, self.ends = {}, {}, {}, {}
        self.images, self.thread_names = {}, {}
        for line in dump.stdout.decode(errors="replace").splitlines():
            self._take(line)

    def _take(self, line):
        record, _, rest = line.partition(" ")
        if record == "heap_event":
            self.events.append(Event(line.split()))
            return
        fields = dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\S+)', rest))
        if record == "mapping":
            self.mappings[int(fields["mapping"])] = (int(fields["start"], 16),
                                                     int(fields["offset"], 16), fields["image"])
        elif record == "image":
            self.images[fields["image"]] = fields["path"].strip('"')
        elif record == "symbol":
            self.names[fields["image"], int(fields["offset"], 16)] = fields["name"].strip('"')
        elif record == "heap_stack":
            self.frames[int(fields["number"])] = fields["frames"].strip("[]").split()
            self.ends[int(fields["number"])] = fields["end"]
        elif record == "heap_lost":
            self.lost.append({key: int(value) for key, value in fields.items() if key != "flags"})
        elif record == "message":
            self.messages.append(fields["text"])
        elif record == "thread":
            self.thread_names[int(fields["tid"])] = fields["name"].strip('"')
        elif record == "process":
            self.pids[int(fields["process"])] = int(fields["pid"])
        elif record == "count":
            self.counts[fields["group"].strip('"'), fields["name"].strip('"')] = int(fields["value"])

    def names_of(self, stack):
        """The functions of a stack, innermost first."""
        names = []
        for frame in self.frames[stack]:
            address, mapping = frame.split("@")
            mapping = mapping.split(":")[0].rstrip("kexfp,")
            if not mapping.isdigit() or int(mapping) not in self.mappings:
                names.append("?")
                continue
            start, offset, image = self.mappings[int(mapping)]
            place = int(address, 16) - start + offset - 1
            names.append(self.names.get((image, place), "?"))
        return names

    def live(self):
        """Blocks alive at the end, by address; and events that contradict others."""
        live, wrong = {}, []
        released = {}
        for event in self.events:
            key = event.process, event.address
            if event.kind == "allocated":
                if key in live:
                    wrong.append(event)
                live[key] = event
            elif event.kind == "restored":
                live[key] = released.pop((event.tid, event.address))
            elif key not in live:
                wrong.append(event)
            else:
                block = live.pop(key)
                if event.kind == "released":
                    released[event.tid, event.address] = block
        return live, wrong


def run(command, *options, environment=None, stages=("live-unwinder", "symbolizer"), timeout=300,
        source=PRELOAD):
    """Runs a command under preload-source; returns (its heap, its output, its status)."""
    line = [str(source), *map(str, options), "--", *map(str, command)]
    env = dict(os.environ, **(environment or {}))
    source = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    stdin, others = source.stdout, []
    for stage in stages:
        process = subprocess.Popen([str(pipeline.program(stage)), "-q"], stdin=stdin,
                                   stdout=subprocess.PIPE)
        stdin.close()
        stdin = process.stdout
        others.append(process)
    with stdin, source.stderr:
        stream = stdin.read()
        errors = source.stderr.read()
    status = source.wait(timeout)
    for process in others:
        process.wait(timeout)
    return Heap(stream), errors, status
