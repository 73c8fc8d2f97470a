# SPDX-License-Identifier: GPL-3.0-or-later
"""
A program lies on an ordinary user's file system that does not answer. A recording of the whole machine ends
in time, a good program beside it keeps its stacks, and missing images of the former are reported.
"""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import accounting  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402

UNANSWERED = pipeline.BUILD / "tests" / "hostile" / "unanswered"
JIT_SPIN = pipeline.BUILD / "tests" / "pipeline" / "jit-spin"
FUSE = os.makedev(10, 229)  # Documentation/admin-guide/devices.txt
SECONDS = "2"  # of a recording
CHAIN = ["main", "outer", "middle", "inner"]


@pipeline.needs_root
class Unanswered(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.device = self.directory / "fuse"
        os.mknod(self.device, 0o666 | 0o020000, FUSE)  # accessible to all, as udev makes it
        self.device.chmod(0o666)
        mounts = self.directory / "mounts"
        mounts.mkdir()
        os.chown(mounts, 65534, 65534)
        self.copies = [pipeline.readable_copy(path, self.directory)
                       for path in (UNANSWERED, pipeline.CHAIN, JIT_SPIN)]
        self.good = self.directory / "good"
        self.good.symlink_to(pipeline.CHAIN)
        attempt = self.run_unanswered("nothing", "0.01")
        attempt.wait(pipeline.PATIENCE_S)
        if attempt.returncode:
            self.skipTest(f"{pipeline.NOT_HERE} a user mount FUSE in a namespace of his own")

    def run_unanswered(self, what, seconds):
        program, chain, jit = self.copies
        arguments = [jit, seconds] if what == "map" else [chain, "once", seconds]
        process = subprocess.Popen([*pipeline.NOBODY, program, what, self.device,
                                    self.directory / "mounts", *arguments],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def record(self, *what):
        """Stacks of the program in question, and of the good one; all stages must have exited."""
        unanswered = [self.run_unanswered(each, "60") for each in what]
        good = subprocess.Popen([self.good, "once", "60"], stdin=subprocess.DEVNULL)
        self.addCleanup(good.wait)
        self.addCleanup(good.kill)
        self.statistics = self.directory / "statistics"
        stream = self.directory / "all.stream"
        started = self.start(self.source("-a", "-d", SECONDS, f"--stats={self.statistics}"),
                             self.stage("live-unwinder"), self.stage("symbolizer"), ["tee", stream],
                             self.stage("capture-sink", "-q", "-f", "folded", "-"))
        try:
            for stage in started.processes:
                stage.wait(2 * pipeline.PATIENCE_S)
        finally:  # a thread of the image server waits until they exit
            for process in unanswered:
                process.kill()
        ended = started.end()
        for stage in ended:
            self.assertEqual(stage.status, 0, stage)
        accounting.check(self, stream)
        stacks = streams.folded_stacks(ended[-1].output.decode())
        hung = {f"hung-{process.pid}" for process in unanswered}
        mine = [(streams.user_side(names), n) for names, n in stacks if names[0] in hung]
        good = [(streams.user_side(names), n) for names, n in stacks if names[0] == "good"]
        return mine, good

    def assert_good_is_whole(self, stacks):
        whole = sum(n for names, n in stacks if names[-4:] == CHAIN)
        self.assertGreater(whole, 0.95 * sum(n for _, n in stacks), stacks)

    def assert_is_stopped_by(self, what):
        stacks, good = self.record(what)
        told = sum(n for names, n in stacks if "[image-unavailable]" in names)
        self.assertGreater(told, 0.9 * sum(n for _, n in stacks), stacks)  # except before the program's image is mapped
        self.assert_good_is_whole(good)

    def test_a_file_system_that_answers_is_copied(self):
        stacks, good = self.record("nothing")
        self.assertTrue(any(names[-4:] == CHAIN for names, _ in stacks), stacks)
        self.assert_good_is_whole(good)

    def test_a_read_is_not_answered(self):
        self.assert_is_stopped_by("read")

    def test_an_open_is_not_answered(self):
        self.assert_is_stopped_by("open")

    def test_a_close_is_not_answered(self):
        self.assert_is_stopped_by("flush")

    def test_a_read_is_answered_late(self):
        self.assert_good_is_whole(self.record("late")[1])

    def test_statfs_is_not_answered(self):
        self.assert_good_is_whole(self.record("statfs")[1])

    def test_a_perf_map_is_not_answered(self):
        self.assert_good_is_whole(self.record("map")[1])

    def test_many_programs_are_not_answered(self):
        self.assert_good_is_whole(self.record(*["read"] * 6)[1])


if __name__ == "__main__":
    pipeline.main()
