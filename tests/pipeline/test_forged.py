# SPDX-License-Identifier: GPL-3.0-or-later
"""Forged numbers whose sum exceeds 64 bits: whatever adds them reports it, and no sum wraps to a plausible one."""
import json
import struct

import accounting
import made
import pipeline
import streams
import test_perfdata as perfdata
from streams import blob, numbers, string

SYMBOLIZED = pipeline.TOP / "tests" / "data" / "small.symbolized.stream"
MOST = (1 << 64) - 1
LOST, LOST_SAMPLES = 2, 13  # types of perf's records
STREAM_LOST, HEAP_LOST = 18, 27
MORE_STACKS = 17
SAID = "its counts exceed 64 bits"


def count(value, name="kernel-lost", stage="perf-source"):
    return streams.make_record(streams.COUNT, string(stage) + string("dropped") + string(name) + numbers(value))


def stats(samples_in, samples_out, stage="perf-source"):
    return streams.make_record(streams.STATS, string(stage) + numbers(0, 0, samples_in, samples_out))


class Forged(pipeline.PipelineTest):
    def setUp(self):
        super().setUp()
        self.hello, *self.records, self.end = streams.records(SYMBOLIZED.read_bytes())
        self.path = self.directory / "forged"

    def on(self, records, *command):
        """How a program exits that reads a stream of these records."""
        self.path.write_bytes(streams.between(self.hello, records, self.end))
        with self.path.open("rb") as stdin:
            return self.start(command, stdin=stdin).end()[0]

    def sink(self, records, name="out.folded", *options):
        return self.on(records, *self.stage("capture-sink", "-q", "--force", *options, self.directory / name))

    def assert_says_so(self, ended):
        self.assert_fails_in_one_line(ended, text=SAID)

    def test_losses_of_a_file_of_perf(self):
        perf = perfdata.PerfFile(perfdata.PLAIN.read_bytes())
        tail = struct.pack("<IIQ", 1, 1, 0)
        for number, payload in (LOST, struct.pack("<QQ", 1, MOST) + tail), (LOST_SAMPLES, struct.pack("<Q", MOST) + tail):
            with self.subTest(number=number):
                record = perfdata.RECORD.pack(number, 0, perfdata.RECORD.size + len(payload)) + payload
                forged = perfdata.PerfFile(perf.to_bytes())
                forged.data = record + perf.data + record
                self.path.write_bytes(forged.to_bytes())
                ended = self.start(self.stage("perfdata-source", self.path)).end()[0]
                self.assert_says_so(ended)
                stats = self.stats("perfdata-source")
                self.assertEqual((stats["samples_in"], stats["dropped"]["kernel-lost"]), (MOST, MOST))
                after = self.directory / "after.stream"
                after.write_bytes(ended.output)
                with after.open("rb") as stdin:
                    report = self.start([pipeline.program("frame-dump"), "--summary"], stdin=stdin).end()[0]
                self.assertEqual(report.status, 1)
                self.assertIn(b"incomplete", report.output)
                told = accounting.of_stream(after)
                self.assertEqual((told["is_whole"], told["lost"]), (False, MOST))

    def test_losses_of_a_stream_in_each_format(self):
        for name in pipeline.FORMATS:
            with self.subTest(format=name):
                self.assert_says_so(self.sink([*self.records, count(MOST - 5), count(7)], f"out.{name}"))

    def test_numbers_of_a_stream(self):
        heap_lost = streams.make_record(HEAP_LOST, numbers(0, made.UPID, 0, 0, 0, MOST, 0, 0))
        lost = streams.make_record(STREAM_LOST, numbers(0, 0, MOST))
        events = streams.make_record(made.HEAP_EVENTS, numbers(0, made.UPID, MOST) + blob(made.OF_THREAD_1))
        for what, records in {
            "left out": [count(MOST, "damaged"), count(1, "other")],
            "lost": [lost, lost],
            "of a heap": [made.process(), heap_lost, heap_lost],
            "allocations": [*made.heap(made.ALLOCATED), events, events],
        }.items():
            with self.subTest(what=what):
                self.assert_says_so(self.sink([*self.records, *records], f"{what}.folded"))

    def test_weights(self):
        event = made.event(0, "faults", made.EVENTS)
        heavy = made.stack([(made.CODE, 0)], weight=1 << 63)
        self.assert_says_so(self.sink([made.process(), event, heavy, heavy], "out.folded", "--view=faults"))
        self.assertEqual((self.directory / "out.folded").read_text().split()[-1], str(MOST))

    def test_sums_that_match_only_by_wrapping(self):
        records = [stats(4, 0), count(MOST), count(5)]
        ended = self.on([*records], pipeline.program("frame-dump"), "--summary")
        self.assertIn(b"DOES NOT ADD UP", ended.output)
        self.assertEqual(ended.status, 1)
        self.assertFalse(accounting.of_stream(self.path)["adds_up"])

    def test_an_unknown_end_reason(self):
        for end in 17, 99:
            unknown = streams.make_record(made.STACK, numbers(0, made.UPID, 1, 0, 1, end, 0, 0, 0, 0, 0))
            self.path.write_bytes(streams.between(self.hello, [*self.records, unknown], self.end))
            report = self.start([pipeline.program("stackpipe"), "report", "--json", self.path]).end()[0]
            self.assertIn(1, json.loads(report.output)["summary"]["ends"].values())

    def test_every_end_reason_is_read_back(self):
        """From a capture and from folded stacks, also for end reasons of unused numbers."""
        cut = streams.make_record(made.STACK, numbers(0, made.UPID, 1, 0, 1, MORE_STACKS, 1) +
                                  struct.pack("<QII", made.CODE, 0, 2) + numbers(0, 0, 0, 0))
        for name in "out.syscap", "out.folded":
            self.assertEqual(self.sink([made.process(), cut], name).status, 0)
            report = self.start([pipeline.program("stackpipe"), "report", "--json", self.directory / name]).end()[0]
            self.assertEqual(json.loads(report.output)["summary"]["ends"], {"more-stacks-than-fit": 1})

    def test_a_capture(self):
        whole = self.directory / "whole.syscap"
        self.run_on(SYMBOLIZED, self.stage("capture-sink", "-q", whole))
        metadata = struct.pack("<HhiqB7x", 24 + 40 + 24, -1, -1, 0, 11)
        data = whole.read_bytes()
        for name in b"stackpipe.lost", b"stackpipe.left-out":
            frame = metadata + name.ljust(40, b"\0") + str(MOST - 1).encode().ljust(24, b"\0")
            frames, _ = streams.syscap_frames(data)
            kept = [each for _, each in frames if not each[24:].startswith(name + b"\0")]
            data = data[:streams.SYSCAP_HEADER_SIZE] + frame + b"".join(kept)
        self.path.write_bytes(data)
        self.assert_says_so(self.start(self.stage("capture-source", self.path)).end()[0])
        report = self.start([pipeline.program("stackpipe"), "report", "--json", self.path]).end()[0]
        self.assertEqual(report.status, 1)
        self.assertGreaterEqual(json.loads(report.output)["summary"]["lost"], MOST - 1)


if __name__ == "__main__":
    pipeline.main()
