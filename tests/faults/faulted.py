# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages that fault tests run, what each reads and writes, and the invariants after a fault."""
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import made  # noqa: E402
import pipeline  # noqa: E402
import protobuf  # noqa: E402
import streams  # noqa: E402
import zstd  # noqa: E402

OFF = "--sandbox=off"
UNCONFINED = "perf-source",
STATUSES = 0, 1, 2, 126, 127  # the last two: the command could not be run
PATIENCE_S = 10
LINES_MAX = 5
SUMMARY_LINES_MAX = 100
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
DATA = pipeline.TOP / "tests" / "data"
WAITS = "--off-cpu=1", "--counters=10", "-s", "1024"


class Stage:
    """A stage, what it reads, and what it writes."""

    def __init__(self, name, *arguments, stdin=None, out=None, follow=False, verbosity=("-q",)):
        self.name, self.arguments, self.stdin, self.out, self.follow = name, arguments, stdin, out, follow
        self.verbosity = verbosity

    def title(self):
        return f"{self.name} {' '.join(str(part) for part in self.arguments)}".strip()

    def is_confined(self):
        return OFF not in self.arguments and self.name not in UNCONFINED

    def run(self, directory, *wrapper, **environment):
        """Runs the stage in a new directory; returns the completed process and the path of its output."""
        directory.mkdir(exist_ok=True)
        with open(self.stdin or os.devnull, "rb") as stdin, open(directory / "stdout", "wb") as stdout:
            ended = subprocess.run(
                [*wrapper, pipeline.program(self.name), *self.verbosity, *self.arguments], stdin=stdin, stdout=stdout,
                stderr=subprocess.PIPE, cwd=directory, timeout=PATIENCE_S, check=False,
                start_new_session=True, env={**os.environ, "HOME": str(directory), **environment})
        return ended, directory / (self.out or "stdout")


def record(path, *source):
    """Records a source's stream, with names."""
    source = subprocess.Popen([pipeline.program(source[0]), "-q", *source[1:]],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    unwinder = subprocess.Popen([pipeline.program("live-unwinder"), "-q"], stdin=source.stdout,
                                stdout=subprocess.PIPE)
    source.stdout.close()
    with unwinder.stdout, path.open("wb") as out:
        subprocess.run([pipeline.program("symbolizer"), "-q"], stdin=unwinder.stdout, stdout=out, check=True)
    assert source.wait() == 0 and unwinder.wait() == 0
    return path


def write_woken(path):
    """Writes waits ended by wakers with no other records, so many that tables of wakers grow."""
    hello, *_, end = streams.records((DATA / "small.symbolized.stream").read_bytes())
    numbers = range(1, 600)
    path.write_bytes(streams.between(hello, [
        made.process(), *[made.process(made.UPID + i, made.PID + i) for i in numbers],
        made.event(0, "cpu-clock", made.NANOSECONDS), made.event(1, "waits", made.NANOSECONDS, made.OFF_CPU),
        *[made.stack([(made.CODE, 0)], event=1, waker=(made.UPID + i, made.PID + i)) for i in numbers]], end))
    return path


def stages(directory):
    woken = write_woken(directory / "woken.stream")
    heap = record(directory / "heap.stream", "preload-source", "--", "ls", "/usr")  # a few hundred allocations
    waits = record(directory / "waits.stream", "perf-source", *WAITS, "--", "sh", "-c", "sleep 0.05; sleep 0.01")
    unwound, symbolized = DATA / "small.unwound.stream", DATA / "small.symbolized.stream"
    capture = directory / "small.syscap"
    with symbolized.open("rb") as stdin:
        subprocess.run([pipeline.program("capture-sink"), "-q", capture], stdin=stdin, check=True)
    waits_capture = directory / "waits.syscap"
    with waits.open("rb") as stdin:
        subprocess.run([pipeline.program("capture-sink"), "-q", waits_capture], stdin=stdin, check=True)
    compressed = directory / "compressed.stream"
    compressed.write_bytes(zstd.compress(symbolized.read_bytes()))
    sleeper = subprocess.Popen(["sleep", "1000"])
    unittest.addModuleCleanup(sleeper.wait)
    unittest.addModuleCleanup(sleeper.kill)
    return [
        Stage("perf-source", "-d", "0.05", "-p", str(sleeper.pid), follow=True),
        Stage("perf-source", "-z", "--", "true"),
        Stage("perf-source", *WAITS, "--marks=marks", "--", "true"),
        *[Stage("perfdata-source", OFF, DATA / f"small.perf.{kind}") for kind in ("data", "zstd", "pipe")],
        Stage("preload-source", OFF, "--", "true"),
        Stage("preload-source", "--", "true"),
        Stage("live-unwinder", OFF, stdin=pipeline.SMALL_STREAM, follow=True),
        Stage("live-unwinder", stdin=pipeline.SMALL_STREAM),
        Stage("symbolizer", OFF, stdin=unwound),
        Stage("symbolizer", OFF, stdin=pipeline.SMALL_STREAM),
        Stage("capture-sink", OFF, "unnamed.syscap", stdin=unwound, out="unnamed.syscap"),
        Stage("capture-sink", OFF, "told.syscap", stdin=symbolized, out="told.syscap", verbosity=()),
        *[Stage("capture-sink", OFF, f"out.{name}", stdin=symbolized, out=f"out.{name}")
          for name in pipeline.FORMATS],
        *[Stage("capture-sink", OFF, f"heap.{name}", stdin=heap, out=f"heap.{name}")
          for name in ("syscap", "html", "folded", "pb.gz", "otlp")],
        *[Stage("capture-sink", OFF, f"waits.{name}", stdin=waits, out=f"waits.{name}")
          for name in pipeline.FORMATS if name != "folded"],
        Stage("capture-sink", OFF, "woken.syscap", stdin=woken, out="woken.syscap"),
        Stage("capture-source", OFF, waits_capture),
        Stage("capture-source", OFF, capture),
        Stage("capture-source", OFF, DATA / "small.folded"),
        Stage("capture-source", capture),
        Stage("frame-dump", OFF, stdin=symbolized),
        Stage("frame-dump", OFF, "--summary", stdin=compressed),
    ]


def is_whole(path):
    """Whether the file is complete and of the format that its name says."""
    data = path.read_bytes()
    try:
        if path.suffix == ".json":
            return bool(json.loads(data))
        if path.suffix == ".gz":
            return protobuf.is_message(gzip.decompress(data))
    except (ValueError, OSError, EOFError):
        return False
    if path.suffix == ".otlp":
        return protobuf.is_message(data)
    if path.suffix == ".html":
        return data.rstrip().endswith(b"</html>")
    if path.suffix == ".syscap":
        return streams.syscap_end_time(data) > 0 and streams.syscap_frames(data)[1] == 0
    return data.endswith(b"\n")  # .folded


def is_readable(path, has_succeeded):
    """
    Whether the file is complete; or, for a format that is written incrementally by a stage that
    reported a failure, ends at an element's boundary.
    """
    if has_succeeded:
        return path.exists() and is_whole(path)
    if not path.exists() or not path.stat().st_size:
        return True
    if path.suffix == ".syscap":
        return streams.syscap_frames(path.read_bytes())[1] == 0
    return path.suffix != ".folded" or is_whole(path)


def is_stream_whole(data):
    try:
        if data.startswith(zstd.MAGIC):
            data = b"".join(zstd.frames(data))
        return streams.record_type(streams.records(data)[-1]) == streams.END
    except (AssertionError, IndexError, struct.error):
        return False


def what_is_wrong(stage, ended, out, is_reader_gone=False):
    """What is wrong in a run with a fault; None: nothing."""
    lines = ended.stderr.splitlines()
    if ended.returncode not in STATUSES:
        return f"status {ended.returncode}"
    if ended.returncode and not lines and not is_reader_gone:
        return "no error message"
    if any(CONTROL.search(line) for line in lines) or len(lines) > (LINES_MAX if stage.verbosity else SUMMARY_LINES_MAX):
        return "messages are not clean, or too many"
    if stage.out and not is_readable(out, ended.returncode == 0):
        return "its output cannot be read"
    writes_stream = not stage.out and stage.name != "frame-dump"
    if ended.returncode == 0 and writes_stream and not is_stream_whole(out.read_bytes()):
        return "its stream is incomplete, with status 0"
    return None


def said(ended):
    return ended.stderr.decode(errors="replace")[-300:]
