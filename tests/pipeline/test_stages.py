# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages are left out, recorded to files and fed from them: the bytes are always the same."""
import fcntl
import os
import random
import termios
import threading
import time

import pipeline
import streams

N_SINGLE_BYTES = 4096  # at the start of a stream
PIECE_MAX = 100_000


class LeftOut(pipeline.RecordingTest):
    def assert_capture_is_whole(self, path, n_samples):
        frames, n_cut = streams.syscap_frames(path.read_bytes())
        self.assertEqual(n_cut, 0)
        self.assertGreaterEqual(len(frames), n_samples)
        self.assertGreater(n_samples, 0)

    def test_no_unwinder_and_no_symbolizer(self):
        out = self.directory / "raw.syscap"
        self.run_well(self.source("--", pipeline.CHAIN, "once", "0.2"),
                      self.stage("capture-sink", out))
        self.assert_stats_add_up("perf-source", "capture-sink")
        self.assert_capture_is_whole(out, self.stats("capture-sink")["samples_in"])

    def test_no_symbolizer(self):
        out = self.directory / "unwound.syscap"
        self.run_well(self.source("--", pipeline.CHAIN, "once", "0.2"),
                      self.stage("live-unwinder"), self.stage("capture-sink", out))
        self.assert_stats_add_up("perf-source", "live-unwinder", "capture-sink")
        self.assert_capture_is_whole(out, self.stats("capture-sink")["samples_in"])

    def test_no_unwinder(self):
        folded = self.run_well(self.source("--", pipeline.CHAIN, "once", "0.2"),
                               self.stage("symbolizer"),
                               self.stage("capture-sink", "-f", "folded", "-"))[-1].output
        for names, _ in streams.folded_stacks(folded.decode()):
            self.assertIn(names[1], ["[not-unwound]", "[no-user-regs]"])


class Recorded(pipeline.RecordingTest):
    """A stream in a file gives the same as one in a pipe."""

    def setUp(self):
        super().setUp()
        self.raw = self.record(self.directory / "raw.stream")
        self.unwound = self.keep("unwound.stream", self.raw, "live-unwinder")
        self.symbolized = self.keep("symbolized.stream", self.unwound, "symbolizer")

    def keep(self, name, stream, *stages):
        """The output of stages that read `stream`, as a file."""
        path = self.directory / name
        path.write_bytes(self.run_on(stream, *map(self.stage, stages)))
        return path

    def run_on_pieces(self, stream, pieces, *commands):
        """Like run_on(), but the stream arrives in these pieces."""
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as stdin:
            started = self.start(*commands, stdin=stdin)
        writer = threading.Thread(target=write_pieces, args=(write_end, stream, pieces))
        writer.start()
        ended = started.end()
        writer.join()
        for stage in ended:
            self.assertEqual(stage.status, 0, stage)
        return ended[-1].output

    def test_each_stage_from_a_file(self):
        out = self.directory / "out.folded"
        self.run_on(self.symbolized, self.stage("capture-sink", out))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        chains = [n for names, n in streams.folded_stacks(out.read_text())
                  if streams.user_side(names)[-4:] == ["main", "outer", "middle", "inner"]]
        self.assertGreater(sum(chains), 0.8 * self.stats("capture-sink")["samples_in"])
        summary = self.run_on(self.symbolized, self.stage("frame-dump", "--summary"))
        self.assertTrue(summary.endswith(b"\neverything adds up\n"), summary)

    def test_the_same_bytes_again(self):
        again = self.run_on(self.raw, self.stage("live-unwinder"), self.stage("symbolizer"))
        self.assertEqual(again, self.symbolized.read_bytes())

    def test_the_same_bytes_however_the_input_is_cut(self):
        for seed in range(3):
            for before, name, after in ((self.raw, "live-unwinder", self.unwound),
                                        (self.unwound, "symbolizer", self.symbolized)):
                with self.subTest(stage=name, seed=seed):
                    stream = before.read_bytes()
                    output = self.run_on_pieces(stream, random_pieces(seed, len(stream)),
                                                self.stage(name))
                    self.assertEqual(output, after.read_bytes())

    def test_the_same_capture_however_the_input_is_cut(self):
        stream = self.symbolized.read_bytes()
        for form in "folded", "syscap":
            whole = self.run_on(self.symbolized, self.stage("capture-sink", "-f", form, "-"))
            cut = self.run_on_pieces(stream, random_pieces(3, len(stream)),
                                     self.stage("capture-sink", "-f", form, "-"))
            self.assertEqual(cut, whole, form)

    def test_a_record_of_an_unknown_type_is_passed_on(self):
        unknown = streams.make_record(streams.UNKNOWN_TYPE, bytes(range(64)))
        path = self.directory / "unknown.stream"
        path.write_bytes(streams.with_record_behind_hello(self.raw.read_bytes(), unknown))
        for name, expected in (("live-unwinder", self.unwound), ("symbolizer", self.symbolized)):
            path = self.keep(f"unknown-{name}.stream", path, name)
            self.assert_holds_unknown(path, unknown, expected)
            self.assertEqual(self.stats(name)["records"], {"unknown-type": 1})
        self.assert_sinks_count_unknown(path)

    def assert_holds_unknown(self, path, unknown, expected):
        """The unknown record was passed on unchanged, and only counts differ."""
        records = streams.records(path.read_bytes())
        unknowns = [record for record in records
                    if streams.record_type(record) == streams.UNKNOWN_TYPE]
        self.assertEqual(unknowns, [unknown])
        self.assertEqual(self.payload(records), self.payload(
            streams.records(expected.read_bytes())))

    @staticmethod
    def payload(records):
        """Records that do not count records."""
        counting = streams.END, streams.STATS, streams.COUNT, streams.UNKNOWN_TYPE
        return [record for record in records if streams.record_type(record) not in counting]

    def assert_sinks_count_unknown(self, path):
        summary = self.run_on(path, self.stage("frame-dump", "--summary")).decode()
        self.assertRegex(summary, f"(?m)^  type {streams.UNKNOWN_TYPE} +1$")
        self.assertIn("everything adds up", summary)
        self.run_on(path, self.stage("capture-sink", self.directory / "unknown.syscap"))
        self.assertEqual(self.stats("capture-sink")["records"], {"unknown-type": 1})


def random_pieces(seed, size):
    """Sizes that add up to `size`: single bytes first, then random sizes from small to large."""
    chosen = random.Random(seed)
    sizes = [1] * N_SINGLE_BYTES
    left = size - N_SINGLE_BYTES
    while left > 0:
        sizes.append(int(PIECE_MAX ** chosen.random()))
        left -= sizes[-1]
    return sizes


def write_pieces(fd, data, sizes):
    """Writes pieces; waits after single bytes so that the reader gets them one by one."""
    at = 0
    with os.fdopen(fd, "wb", buffering=0) as out:
        for size in sizes:
            out.write(data[at:at + size])
            at += size
            if size == 1:
                wait_until_read(out)


def wait_until_read(out):
    """Waits until a pipe is empty; takes microseconds, unlike pipeline.wait_for()."""
    deadline = time.monotonic() + pipeline.PATIENCE_S
    while fcntl.ioctl(out, termios.FIONREAD, bytes(4)) != bytes(4):
        if time.monotonic() > deadline:
            raise TimeoutError("the stream is not read")
        os.sched_yield()


if __name__ == "__main__":
    pipeline.main()
