# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples match the CPU time, or the rest is reported: for short threads and programs, and CPUs that go offline."""
import os
import re
import shutil
import signal
import time
import unittest
from pathlib import Path

import accounting
import pipeline

HZ = 999
THERE = 0.4  # minimum share: task events gave 0.15; a machine with much CPU time stolen by its host gave 0.56
TOLERANCE = 0.05  # of some 1,000 samples: chance, and differences in accounting
SHORT_LIVED = pipeline.BUILD / "tests" / "pipeline" / "short-lived"
MAX_RATE = Path("/proc/sys/kernel/perf_event_max_sample_rate")
CPU_1 = Path("/sys/devices/system/cpu/cpu1/online")
SAMPLE = re.compile(r"^sample time=(\d+) process=\d+ tid=\d+ cpu=(\d+) ", re.MULTILINE)
AWAY_NS = 600_000_000


class Missing:
    def expect(self, cpu_seconds, stats):
        """All samples are recorded or reported as missing; returns the recorded share."""
        expected = cpu_seconds * HZ
        self.assertLess(abs(stats["samples_in"] - expected), TOLERANCE * expected + 10, (expected, stats))
        self.assertEqual(stats["samples_in"], stats["samples_out"] + sum(stats["dropped"].values()))
        return stats["samples_out"] / expected

    def cpu_seconds(self, ended):
        return float(next(line for line in ended.errors if line.startswith("CPU ")).split()[1])

    def record(self, *arguments):
        """Records a command; returns its CPU time, statistics and messages."""
        stream = self.directory / "stream"
        with stream.open("wb") as out:
            ended, = self.run_well(self.stage("perf-source", "-F", str(HZ), "--", *arguments), stdout=out)
        accounting.check(self, stream)
        return self.cpu_seconds(ended), self.stats("perf-source"), "\n".join(ended.errors)

    def record_all_of(self, *arguments):
        seconds, stats, _ = self.record(*arguments)
        self.assertGreater(self.expect(seconds, stats), THERE)

    def test_short_threads(self):
        self.record_all_of(SHORT_LIVED, "threads", "20000")

    def test_short_processes(self):
        self.record_all_of(SHORT_LIVED, "forks", "2000")

    def test_many_threads_of_a_command(self):
        self.record_all_of(SHORT_LIVED, "together", "500")


@pipeline.needs_root
class OfNobody(Missing, pipeline.RecordingTest):
    """As an ordinary user, whose events are per task: missing samples are reported."""

    def setUp(self):
        super().setUp()
        if pipeline.paranoid() > 2:
            self.skipTest(f"{pipeline.NOT_HERE}: users may not record anything")
        self.directory.chmod(0o755)
        self.source = pipeline.readable_copy(pipeline.program("perf-source"), self.directory)
        self.program = pipeline.readable_copy(SHORT_LIVED, self.directory)

    def record(self, program, *arguments):
        stats = self.directory / "perf-source.json"
        stats.touch()
        shutil.chown(stats, "nobody")
        (self.directory / "out").mkdir(exist_ok=True)
        shutil.chown(self.directory / "out", "nobody")
        stream = self.directory / "stream"
        with stream.open("wb") as out:
            ended, = self.run_well([*pipeline.NOBODY, self.source, f"--stats={self.directory / 'out' / 'stats.json'}",
                                    "-F", str(HZ), "--", self.program, *arguments], stdout=out)
        accounting.check(self, stream)
        shutil.copy(self.directory / "out" / "stats.json", stats)
        return self.cpu_seconds(ended), self.stats("perf-source"), "\n".join(ended.errors)

    def record_all_of(self, *arguments):
        seconds, stats, _ = self.record(*arguments)
        self.expect(seconds, stats)

    def check_hidden(self, mode):
        other = self.directory / "other"
        shutil.copy(SHORT_LIVED, other)
        other.chmod(mode)
        seconds, stats, errors = self.record(SHORT_LIVED, "exec", other)
        self.assertIn("runs as another user or is not readable", errors)
        self.assertLess(self.expect(seconds, stats), 0.6)
        self.assertGreater(stats["samples_out"], 0)
        self.assertGreater(stats["dropped"]["not-sampled"], stats["samples_out"])

    def test_a_program_of_another_user(self):
        self.check_hidden(0o4755)

    def test_an_unreadable_program(self):
        self.check_hidden(0o711)


@pipeline.needs_root
class OfRoot(Missing, pipeline.RecordingTest):
    def test_many_threads_of_an_attached_process(self):
        stdin, go = os.pipe()
        busy = self.start([SHORT_LIVED, "waiting", "64"], stdin=stdin)
        os.close(stdin)
        pid = busy.processes[0].pid
        pipeline.wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == 65, "its threads")
        stream = self.directory / "stream"
        with stream.open("wb") as out:
            recording = self.start(self.stage("perf-source", "-q", "-F", str(HZ), "-p", str(pid)), stdout=out)
        # The events are enabled before the process record is written.
        pipeline.wait_for(lambda: b"short-lived" in stream.read_bytes(), "its process")
        os.write(go, b"\n")
        os.close(go)
        ended, = recording.end()
        self.assertEqual(ended.status, 0, ended)
        accounting.check(self, stream)
        self.assertGreater(self.expect(self.cpu_seconds(busy.end()[0]), self.stats("perf-source")), 0.9)

    def test_a_program_of_another_user_is_seen(self):
        other = self.directory / "other"
        shutil.copy(SHORT_LIVED, other)
        shutil.chown(other, "nobody")
        other.chmod(0o4755)
        self.directory.chmod(0o755)
        self.record_all_of(SHORT_LIVED, "exec", other)

    def test_throttled_samples_are_reported(self):
        before = MAX_RATE.read_text()
        self.addCleanup(MAX_RATE.write_text, before)
        path = self.directory / "stream"
        with path.open("wb") as out:
            recording = self.start(self.stage("perf-source", "-F", "20000", "-s", "8", "--", SHORT_LIVED, "together", "4"),
                                   stdout=out)
        pipeline.wait_for(lambda: pipeline.has_size(path, 1 << 20), "samples")
        MAX_RATE.write_text("1000")
        ended, = recording.end()
        seconds, stats = self.cpu_seconds(ended), self.stats("perf-source")
        self.assertGreater(stats["dropped"]["throttled"], 100)
        self.assertLess(abs(stats["samples_in"] - 20000 * seconds), 20000 * seconds * TOLERANCE)
        accounting.check(self, path)

    def samples_of_cpu_1(self, path, since):
        return sum(cpu == "1" and int(time) > since for time, cpu in SAMPLE.findall(path.read_text()))

    @unittest.skipUnless(CPU_1.exists(), f"{pipeline.NOT_HERE}: no second CPU that can go offline")
    def test_a_cpu_that_goes_offline_and_returns(self):
        self.addCleanup(CPU_1.write_text, "1")
        self.start_busy()
        self.start_busy()
        self.start_busy()
        path = self.directory / "dump"
        with path.open("wb") as out:
            recording = self.start(self.stage("perf-source", "-a", "-s", "8"), self.stage("frame-dump"), stdout=out)
        pipeline.wait_for(lambda: self.samples_of_cpu_1(path, 0), "samples of CPU 1")
        CPU_1.write_text("0")
        gone = time.monotonic_ns()
        # Long enough that the CPU is noticed to be offline.
        pipeline.wait_for(lambda: time.monotonic_ns() - gone > AWAY_NS, "the time that it is away")
        CPU_1.write_text("1")
        back = time.monotonic_ns()
        pipeline.wait_for(lambda: self.samples_of_cpu_1(path, back), "samples of CPU 1 when it is back")
        recording.signal(signal.SIGINT)
        source, dump = recording.end()
        self.assertEqual((source.status, dump.status), (0, 0), source)
        self.assertIn("CPU 1 was offline from", "\n".join(source.errors))
        self.assertGreater(self.stats("perf-source")["dropped"]["cpu-came-online"], 0)


if __name__ == "__main__":
    pipeline.main()
