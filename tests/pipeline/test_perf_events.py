# SPDX-License-Identifier: GPL-3.0-or-later
"""perf.data files with several events: each event has the samples and weights that perf reports."""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import pages
import pipeline
import test_perfdata as perfdata

PROGRAM = pipeline.BUILD / "tests" / "pipeline" / "events"
WORK = ["sh", "-c", f"{PROGRAM} 40 3 300; {pipeline.CHAIN} once 0.3"]
# An event that is not inherited covers one thread.
ALONE = ["python3", "-c", "import time\nfor i in range(40):\n bytearray(1 << 20)\n sum(range(50000))\n time.sleep(0.001)"]
# Forks without exec: the child's program is known only from its parent.
# On one CPU: records of several CPUs without times have no known order.
FORKED = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "sh", "-c", "(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); true"]
EVENT_DESC, LOST_SAMPLES = 12, 13  # a feature; a record
HARDWARE, CYCLES, CORE, ATOM = 0, 0, 4, 10
FILTERED = 1 << 15  # PERF_RECORD_MISC_LOST_SAMPLES_BPF
OFF_CPU_TIME = 0xffffffff00000000  # perf's OFF_CPU_TIMESTAMP
EVENTS_MAX = 32
TRIES = 3
LENGTH_MAX_S = 20  # of every recording here; the machine must be up for longer, or the test shows nothing

pipeline.mount_tracefs()
Amount = collections.namedtuple("Amount", "samples weight")


def uptime_s():
    return float(Path("/proc/uptime").read_text().split()[0])


class PerfEventsTest(perfdata.PerfdataTest):
    def setUp(self):
        super().setUp()
        if perfdata.perf_refusal():
            self.skipTest(perfdata.perf_refusal())

    def record(self, *options, command=WORK, stack="dwarf,2048"):
        path = self.directory / "perf.data"
        run = subprocess.run(["perf", "record", "-q", "-F", "499", *([f"--call-graph={stack}"] if stack else []), *options, "-o", path, "--", *command],
                             capture_output=True, text=True, timeout=pipeline.PATIENCE_S)
        if "sys/kernel/tracing" in run.stderr:
            self.skipTest(f"{pipeline.NOT_HERE} perf read tracefs")
        self.assertEqual(run.returncode, 0, run.stderr)
        return path

    def of_perf(self, path):
        """{event: Amount} according to perf script; events of one name together."""
        script = subprocess.run(["perf", "script", "-i", path, "-F", "period,event"], capture_output=True, text=True,
                               check=True, timeout=pipeline.PATIENCE_S).stdout
        sums = collections.defaultdict(lambda: [0, 0])
        for period, name in re.findall(r"(?m)^ *(\d+) +(\S+): *$", script):  # stacks lie between in pipes
            sums[name][0] += 1
            sums[name][1] += int(period)
        return {name: Amount(*values) for name, values in sums.items()}

    def of_stream(self, path):
        """The same according to the stream, without events that have no samples; and the stream's text."""
        text = self.text_of(self.replay(path))
        self.assert_stats_add_up("perfdata-source")
        names = {int(number): name for number, name in re.findall(r'(?m)^event number=(\d+) .* name="(.*)"$', text)}
        names = names or {0: re.search(r' event="([^"]*)"', text)[1]}
        sums = collections.defaultdict(lambda: [0, 0])
        for line in text.splitlines():
            if line.split()[0] in ("sample", "stack"):
                number, weight = re.search(r" event=(\d+)", line), re.search(r" weight=(\d+)", line)
                sums[names[int(number[1]) if number else 0]][0] += 1
                sums[names[int(number[1]) if number else 0]][1] += int(weight[1])
        return {name: Amount(*values) for name, values in sums.items()}, text

    def report(self, path, *options):
        run = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n0", *options, path],
                             capture_output=True, text=True, timeout=pipeline.PATIENCE_S)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)


class Counts(PerfEventsTest):
    def record_for_perf(self, *options, **further):
        """A file, and what perf says of it. Of a busy machine perf cannot read each of its own files (seen: -EFAULT)."""
        for _ in range(TRIES - 1):
            path = self.record(*options, **further)
            try:
                return path, self.of_perf(path)
            except subprocess.CalledProcessError as error:
                print(f"perf cannot read its own file: {error.stderr}", file=sys.stderr)
        path = self.record(*options, **further)
        return path, self.of_perf(path)

    def check(self, *options, n_events, **further):
        path, expected = self.record_for_perf(*options, **further)
        found, _ = self.of_stream(path)
        self.assertEqual(found, expected)
        self.assertEqual(len(found), n_events, found)
        return path

    def test_two_events(self):
        self.check("-ecpu-clock,page-faults", n_events=2)

    def test_events_of_a_system(self):
        """perf's own dummy event is among them, and each event has an id per CPU."""
        self.check("-a", "-ecpu-clock,page-faults,context-switches", n_events=3)

    def test_the_dummy_first(self):
        self.check("-edummy,cpu-clock,page-faults", n_events=2)

    def test_a_group(self):
        """Only the leader is sampled; its samples contain the counts of the others."""
        path = self.check("-e{cpu-clock,page-faults,context-switches}:S", n_events=3, command=ALONE)
        self.assertGreater(self.of_perf(path)["page-faults"].weight, self.of_perf(path)["page-faults"].samples)

    def test_a_group_beside_another_event(self):
        self.check("-e{cpu-clock,page-faults}:S,context-switches", n_events=3, command=ALONE)

    def test_a_tracepoint_beside_a_clock(self):
        self.check("-ecpu-clock", "-esched:sched_process_fork", n_events=2)

    def test_per_thread_events(self):
        self.check("--per-thread", "-ecpu-clock,page-faults", n_events=2, command=ALONE)

    def test_without_times(self):
        self.check("--no-timestamp", "-ecpu-clock,page-faults", n_events=2)

    def test_compressed(self):
        self.check("-z", "-ecpu-clock,page-faults", n_events=2)

    def test_events_with_different_call_graphs(self):
        """dwarf stacks of one event, frame pointers of another, no stacks of a third; each with its own layout."""
        path = self.check("-ecpu-clock/call-graph=dwarf,stack-size=4096/u", "-epage-faults/call-graph=fp/u",
                          "-econtext-switches/call-graph=no/", n_events=3, stack=None)
        _, text = self.of_stream(path)
        kinds = collections.Counter((line.split()[0], (re.search(r" event=(\d)", line) or [0, "0"])[1])
                                    for line in text.splitlines() if line.split()[0] in ("sample", "stack"))
        self.assertEqual(set(kinds), {("sample", "0"), ("stack", "1"), ("stack", "2")}, kinds)

    def test_one_event_twice(self):
        path = self.record("-ecpu-clock", "-ecpu-clock")
        expected = self.of_perf(path)["cpu-clock"]
        self.assertEqual(self.of_stream(path)[0]["cpu-clock"], expected)
        first, second = self.report(path, "--view=cpu-clock"), self.report(path, "--view=cpu-clock#2")
        self.assertEqual(first["summary"]["sum"] + second["summary"]["sum"], expected.weight)
        self.assertGreater(min(first["summary"]["sum"], second["summary"]["sum"]), 0)

    def test_a_pipe(self):
        """Directly from a pipe, and compared with perf script on the same bytes."""
        path = self.directory / "pipe"
        with path.open("wb") as out:
            subprocess.run(["perf", "record", "-q", "-F499", "-ecpu-clock,page-faults", "--call-graph=dwarf,2048",
                            "-o-", "--", *WORK], stdout=out, check=True, timeout=pipeline.PATIENCE_S)
        self.assertEqual(self.of_stream(path)[0], self.of_perf(path))
        with path.open("rb") as stdin:
            ended = self.run_well(["cat"], self.stage("perfdata-source", "-"), self.stage("frame-dump", "--summary"), stdin=stdin)
        self.assertEqual(ended[-1].output.decode().splitlines()[-1], "everything adds up")
        self.assert_stats_add_up("perfdata-source", "frame-dump")


class Files(PerfEventsTest):
    def test_every_file_has_each_event(self):
        path = self.record("-ecpu-clock,page-faults")
        expected = {name: amount.weight for name, amount in self.of_perf(path).items()}
        page, capture, again = (self.directory / name for name in ("out.html", "out.syscap", "again.html"))
        for out in page, capture:
            self.run_well(self.stage("perfdata-source", path), self.stage("live-unwinder"), self.stage("symbolizer"),
                          self.stage("capture-sink", "-q", out))
        self.run_well(self.stage("capture-source", capture), self.stage("capture-sink", "-q", again))
        for file in page, again:
            sums = pages.read(file).sums
            self.assertEqual(list(sums), ["samples", "cpu-clock", "page-faults"])
            self.assertEqual({name: sums[name] for name in expected}, expected)
        for name, weight in expected.items():
            self.assertEqual(self.report(capture, f"--view={name}")["summary"]["sum"], weight)

    def test_cycles_of_several_pmus_are_one(self):
        """perf's default on CPUs with two kinds of cores, made from a recording of clocks."""
        path = self.record("-ecpu-clock,task-clock", "-epage-faults")
        amounts = self.of_perf(path)
        perf = perfdata.PerfFile(path.read_bytes())
        size, at = struct.unpack_from("<QQ", perf.head, 16)
        head, names = bytearray(perf.head), bytearray(perf.features[EVENT_DESC])
        named_at = 8
        for i, (pmu, name) in enumerate(((CORE, b"cpu_core/cycles/P"), (ATOM, b"cpu_atom/cycles/P"))):
            attr_size, = struct.unpack_from("<I", names, 4)
            n_ids, text_size = struct.unpack_from("<II", names, named_at + attr_size)
            for attr, where in ((head, at + i * size), (names, named_at)):
                struct.pack_into("<I", attr, where, HARDWARE)
                struct.pack_into("<Q", attr, where + 8, pmu << 32 | CYCLES)
            struct.pack_into(f"<{text_size}s", names, named_at + attr_size + 8, name)
            named_at += attr_size + 8 + text_size + 8 * n_ids
        perf.head, perf.features[EVENT_DESC] = bytes(head), bytes(names)
        found, _ = self.of_stream(self.keep("hybrid", perf.to_bytes()))
        both = [amounts["cpu-clock"], amounts["task-clock"]]
        self.assertEqual(found, {"cycles:P": Amount(*map(sum, zip(*both))), "page-faults": amounts["page-faults"]})

    def test_more_events_than_the_limit(self):
        """The first events that occur are kept; for the others the number of samples is reported."""
        n = EVENTS_MAX + 8
        path = self.record(*["-ealignment-faults"] * n, *["-ecpu-clock"] * n, command=ALONE)
        perf_says = self.of_perf(path)["cpu-clock"]
        ended = self.run_well(self.stage("perfdata-source", path), self.stage("frame-dump"))
        self.assert_stats_add_up("perfdata-source", "frame-dump")
        stats = self.stats("perfdata-source")
        left_out = stats["dropped"]["too-many-events"]
        self.assertEqual(stats["samples_out"] + left_out, perf_says.samples)
        self.assertEqual(stats["too-many-events"], {"cpu-clock": left_out})
        self.assertGreater(left_out, 0)
        self.assertEqual(ended[-1].output.decode().count("\nevent "), EVENTS_MAX)
        self.assertIn("at most", "".join(ended[0].errors))
        summary = self.report(path)["summary"]
        self.assertEqual((summary["lost"], summary["left_out"]), (0, left_out))


class Losses(PerfEventsTest):
    """Lost samples are those that the kernel lost."""

    def setUp(self):
        super().setUp()
        self.perf = perfdata.PerfFile(perfdata.PLAIN.read_bytes())

    def summary(self):
        return self.report(self.keep("changed", self.perf.to_bytes()))["summary"]

    def add(self, misc, n):
        tail = bytes(16)  # the sample_id of this recording's events
        self.perf.data += perfdata.RECORD.pack(LOST_SAMPLES, misc, 16 + len(tail)) + struct.pack("<Q", n) + tail

    def test_samples_lost_by_the_kernel(self):
        self.add(0, 5)
        summary = self.summary()
        self.assertEqual((summary["lost"], summary["left_out"]), (5, 0))

    def test_samples_filtered_by_perf(self):
        self.add(FILTERED, 5)
        summary = self.summary()
        self.assertEqual((summary["lost"], summary["left_out"]), (0, 0))

    def test_damaged_samples(self):
        records = self.perf.records()
        at = next(i for i, record in enumerate(records) if perfdata.record_type(record) == perfdata.SAMPLE)
        records[at] = perfdata.RECORD.pack(perfdata.SAMPLE, 0, 24) + records[at][8:24]
        self.perf.data = b"".join(records)
        summary = self.summary()
        self.assertEqual((summary["lost"], summary["left_out"]), (0, 1))
        capture = self.directory / "out.syscap"
        self.run_well(self.stage("perfdata-source", self.directory / "changed"), self.stage("live-unwinder"), self.stage("symbolizer"),
                      self.stage("capture-sink", "-q", capture))
        page = self.directory / "out.html"
        self.run_well(self.stage("capture-source", capture), self.stage("capture-sink", "-q", page))
        header = pages.read(page).header
        self.assertEqual((header["lost"], header["left_out"]), (0, 1))
        again = self.report(capture)["summary"]
        self.assertEqual((again["lost"], again["left_out"]), (0, 1))


class Lengths(PerfEventsTest):
    def setUp(self):
        super().setUp()
        if uptime_s() < 2 * LENGTH_MAX_S:
            self.skipTest(f"{pipeline.NOT_HERE} a recording be told from an uptime")

    def assert_is_short(self, path):
        seconds = self.report(path)["summary"]["seconds"]
        self.assertLess(seconds, LENGTH_MAX_S)
        return seconds

    def test_a_first_event_that_never_occurs(self):
        path = self.record("-ealignment-faults:k,cpu-clock")
        self.assertGreater(self.assert_is_short(path), 0.2)
        killed = self.keep("killed", perfdata.PerfFile(path.read_bytes()).as_killed())
        self.assertGreater(self.assert_is_short(killed), 0.2)

    def test_no_samples_at_all(self):
        path = self.record("-ealignment-faults")
        self.assertEqual(self.of_perf(path), {})
        self.assert_is_short(path)
        self.assert_is_short(self.keep("killed", perfdata.PerfFile(path.read_bytes()).as_killed()))

    def test_off_cpu_samples_without_times(self):
        """perf --off-cpu puts its samples at the end of the file, with a special time after all others."""
        perf = perfdata.PerfFile(perfdata.PLAIN.read_bytes())
        records = perf.records()
        samples = [i for i, record in enumerate(records) if perfdata.record_type(record) == perfdata.SAMPLE]
        before = self.assert_is_short(perfdata.PLAIN)
        records[samples[-1]] = records[samples[-1]][:24] + struct.pack("<Q", OFF_CPU_TIME) + records[samples[-1]][32:]
        perf.data = b"".join(records)
        self.assertLessEqual(self.assert_is_short(self.keep("marked", perf.to_bytes())), before)

    def test_without_times(self):
        self.assert_is_short(self.record("--no-timestamp", "--per-thread", "-ecpu-clock,page-faults"))


class Forks(PerfEventsTest):
    def complete(self, *options):
        ends = self.report(self.record(*options, command=FORKED, stack="dwarf,16384"))["summary"]["ends"]
        return ends.get("complete", 0) / sum(ends.values()), ends

    def test_a_child_without_times(self):
        """A fork without a time has the same effect as one with a time."""
        for options in (["-ecpu-clock:u"], ["--no-timestamp", "-ecpu-clock:u"], ["--no-timestamp", "-ecpu-clock:u,page-faults"]):
            with self.subTest(options=options):
                share, ends = self.complete(*options)
                self.assertGreater(share, 0.8, ends)


if __name__ == "__main__":
    pipeline.main()
