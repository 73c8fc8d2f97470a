# SPDX-License-Identifier: GPL-3.0-or-later
"""perf-source -z compresses its stream, and all stages read it, or say what is wrong with it."""
import random
import signal
import subprocess
import sys

import pipeline
import streams
import zstd

PROGRAM = "--", pipeline.CHAIN, "once", "0.5"
GIGABYTE = 1 << 30
STACK = 16  # of records
MEMORY_KIB = 200 * 1024
N_STACKS = 20


def count_stacks(stream):
    return sum(streams.record_type(record) == STACK for record in streams.records(stream))


class Compressed(pipeline.RecordingTest):
    def record_compressed(self, *options):
        path = self.directory / "compressed.stream"
        with path.open("wb") as out:
            self.run_well(self.source("-F", "4999", "--unwind=copy", *options, *PROGRAM), stdout=out)
        return path

    def unwind(self, data):
        return subprocess.run([pipeline.program("live-unwinder"), "-q"], input=data, capture_output=True,
                              timeout=pipeline.PATIENCE_S)

    def test_frames_are_independent_and_smaller(self):
        for options in ("-z",), ("-z9",), ("--compression-level=19",):
            with self.subTest(options):
                data = self.record_compressed(*options).read_bytes()
                stats, stream = self.stats("perf-source"), b"".join(zstd.frames(data))
                self.assertEqual((stats["bytes_out"], stats["compressed"]["bytes"]), (len(stream), len(data)))
                self.assertLess(len(data), len(stream) / 3)
                records = streams.records(stream)
                self.assertEqual((streams.record_type(records[0]), streams.record_type(records[-1])), (streams.HELLO, streams.END))
                self.assertGreater(sum(streams.record_type(record) == streams.SAMPLE for record in records), 100)

    def test_stages_give_the_same_for_it(self):
        compressed, plain = self.record_compressed("-z"), self.directory / "plain.stream"
        plain.write_bytes(b"".join(zstd.frames(compressed.read_bytes())))
        other = self.directory / "other.stream"
        other.write_bytes(zstd.compress(plain.read_bytes()))
        for stage in "live-unwinder", "symbolizer", "frame-dump":
            wanted = self.run_on(plain, [pipeline.program(stage)])
            for file in compressed, other:
                self.assertEqual(self.run_on(file, [pipeline.program(stage)]), wanted, stage)
                self.assertEqual(self.run_well(["cat", file], [pipeline.program(stage)])[-1].output, wanted, stage)

    def test_it_is_read_while_it_is_recorded(self):
        self.run_well(self.source("-z", *PROGRAM), self.stage("live-unwinder"), self.stage("capture-sink", "-f", "folded", "-"))
        self.assert_stats_add_up("perf-source", "live-unwinder", "capture-sink")

    def test_what_was_recorded_before_a_kill_is_read(self):
        path = self.directory / "killed.stream"
        with path.open("wb") as out:
            recording = subprocess.Popen([pipeline.program("perf-source"), "-q", "-z", "-F", "4999", "-p", str(self.start_busy().pid)],
                                         stdout=out)
            while count_stacks(self.unwind(path.read_bytes()).stdout) < N_STACKS:
                self.assertIsNone(recording.poll())
            recording.send_signal(signal.SIGKILL)
            recording.wait()
        done = self.unwind(path.read_bytes())
        self.assertEqual(done.returncode, 1)
        self.assertIn("the stream has no end record", done.stderr.decode())
        self.assertGreaterEqual(count_stacks(done.stdout), N_STACKS)

    def test_cut_streams(self):
        data, chosen = self.record_compressed("-z").read_bytes(), random.Random(2)
        table = 8 * (len(zstd.frames(data)) + 1) + zstd.TABLE_END.size
        whole = self.unwind(data).stdout
        for i in range(20):
            end = chosen.randrange(len(data) - table)
            with self.subTest(end=end):
                done = self.unwind(data[:end])
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        for end in range(len(data) - table, len(data)):  # all records are there
            self.assertEqual(self.unwind(data[:end]).stdout, whole)

    def test_damaged_streams(self):
        data, chosen = bytearray(self.record_compressed("-z").read_bytes()), random.Random(3)
        table = 8 * (len(zstd.frames(bytes(data))) + 1) + zstd.TABLE_END.size
        for i in range(40):
            at = chosen.randrange(len(data) - table)
            with self.subTest(at=at):
                data[at] ^= 0x10
                done = self.unwind(bytes(data))
                data[at] ^= 0x10
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)

    def test_little_that_becomes_much(self):
        """A gigabyte of zeros is no stream, and is not read to its end."""
        zeros = zstd.compress(bytes(1 << 24), 19)
        hello = zstd.compress(streams.records((pipeline.TOP / "tests" / "data" / "small.stream").read_bytes())[0])
        for data in zeros * (GIGABYTE >> 24), hello + zeros * (GIGABYTE >> 24):
            path = self.directory / "unwinder.json"
            done = subprocess.run([pipeline.program("live-unwinder"), "-q", f"--stats={path}"], input=data,
                                  capture_output=True, timeout=pipeline.PATIENCE_S)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertLess(pipeline.json.loads(path.read_text())["max_rss_kib"], MEMORY_KIB)

    def test_levels_that_do_not_exist(self):
        for option in "-z0", "-z20", "-zfast", "--compression-level=1.5":
            done = subprocess.run([pipeline.program("perf-source"), option, "--", "true"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=pipeline.PATIENCE_S)
            self.assertEqual(done.returncode, 2)
            self.assertIn("-z takes a level from 1 to 19", done.stderr.decode().splitlines()[0])


if __name__ == "__main__":
    sys.exit(pipeline.main())
