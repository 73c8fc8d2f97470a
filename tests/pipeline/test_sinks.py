# SPDX-License-Identifier: GPL-3.0-or-later
"""Sinks on hand-made streams: rare and odd records, and more of them than a table holds."""
import gzip
import json
import os
import pty
import struct
import subprocess

import made
import pipeline
import streams
from made import CODE, PID, UPID
from streams import blob, numbers, string

SYMBOLIZED = pipeline.TOP / "tests" / "data" / "small.symbolized.stream"
DISTINCT_STACKS_MAX = 1 << 20
INLINED_MAX = 1 << 14  # of all frames of a stack together
INLINED_AT_A_PLACE = 200
FRAMES_MAX = 16000
LINE_MAX = 256 * 1024
ADDRESSES_MAX = 1024  # of a Sysprof sample
FILE_MAX = 64 * 1024 * 1024
PIECE = 64 * 1024
PROCESSES_MAX = 2 << 17


class Sinks(pipeline.PipelineTest):
    def setUp(self):
        super().setUp()
        self.hello, *_, self.end = streams.records(SYMBOLIZED.read_bytes())
        self.stream = self.directory / "made.stream"

    def sink(self, name, *records, options=()):
        """capture-sink's output for a stream of these records."""
        out = self.directory / name
        self.stream.write_bytes(streams.between(self.hello, list(records), self.end))
        self.run_on(self.stream, self.stage("capture-sink", "-q", "--force", *options, out))
        return out.read_bytes()

    def folded(self, *records, options=()):
        return streams.folded_stacks(self.sink("out.folded", *records, options=options).decode())

    def refused(self, what):
        return self.stats("capture-sink")["refused"].get(what, 0)

    def test_threads_are_distinguished_by_tid(self):
        records = [made.process(), made.stack([(CODE, 0)], tid=PID), made.stack([(CODE, 0)], tid=71)]
        self.assertEqual(sorted(names[0] for names, _ in self.folded(*records, options=["--tid"])),
                         ["program-70/70", "program-70/71"])

    def test_stacks_beyond_the_limit_are_counted_together(self):
        records = [made.process(), made.image(), made.mapping(), made.stack([(CODE, 1)]),
                   *[made.stack([(CODE + i, 1)]) for i in range(DISTINCT_STACKS_MAX + 5)]]
        stacks = {tuple(names): n for names, n in self.folded(*records)}
        self.assertEqual(sum(stacks.values()), DISTINCT_STACKS_MAX + 6)
        self.assertGreaterEqual(stacks["program", "[more-stacks-than-fit]"], DISTINCT_STACKS_MAX / 2)
        self.assertEqual(max(n for names, n in stacks.items() if len(names) == 2 and "[more" not in names[1]), 2)

    def test_a_line_that_is_too_long_is_cut(self):
        name = "x" * (LINE_MAX // FRAMES_MAX)
        records = [made.process(), made.image(path=f"/{name}"), made.mapping(),
                   made.stack([(CODE + i, 1) for i in range(FRAMES_MAX)])]
        (names, n), = self.folded(*records)
        self.assertEqual(n, 1)
        self.assertLessEqual(len(";".join(names)), LINE_MAX)
        self.assertEqual(self.refused("long-lines"), 1)

    def test_a_stack_of_too_many_inlined_calls_loses_some(self):
        inlined = [streams.make_record(made.INLINED, numbers(1, 0) + string(f"inlined-{i}") + string("") + numbers(0, 0))
                   for i in range(INLINED_AT_A_PLACE)]
        symbol = streams.make_record(made.SYMBOL, numbers(1, 0, 0, 16) + string("function") + string("") + string("") +
                                     numbers(0, 0, 0))
        n_frames = INLINED_MAX // INLINED_AT_A_PLACE + 3
        records = [made.process(), made.image(), made.mapping(), *inlined, symbol, made.stack([(CODE, 1)] * n_frames)]
        (names, _), = self.folded(*records)
        self.assertEqual(names.count("function"), n_frames)
        self.assertEqual(names.count("inlined-0_[i]"), n_frames - 3)
        self.assertEqual(self.refused("inlined-calls"), 3)

    def test_a_capture_has_as_many_frames_as_sysprof_reads(self):
        records = [made.process(), made.image(), made.mapping(),
                   made.stack([(CODE + i, 1) for i in range(2 * ADDRESSES_MAX)])]
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *records))
        samples = [data for number, data in frames if number == 2]
        self.assertEqual(len(samples), 1)
        n_addresses, = struct.unpack_from("<H", samples[0], streams.SYSCAP_FRAME.size)
        self.assertLessEqual(n_addresses, ADDRESSES_MAX)
        self.assertGreater(n_addresses, ADDRESSES_MAX - 8)
        self.assertIn(b"[frame-limit]", self.sink("out.syscap", *records))

    def test_a_mapping_of_an_unknown_image_is_left_out(self):
        records = [made.process(), made.mapping(of_image=99), made.stack([(CODE, 1)])]
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *records))
        self.assertEqual([number for number, _ in frames if number in (2, 3)], [2])

    def test_mappings_end_with_their_processes(self):
        records = [each for i in range(5000) for each in (
            made.process(UPID + i, PID + i), made.image(i + 1),
            streams.make_record(made.MAPPING, numbers(i + 1, 0, UPID + i, 0, CODE, 0x1000, 0, i + 1)),
            made.stack([(CODE, i + 1)], upid=UPID + i, tid=PID + i),
            streams.make_record(made.PROCESS_EXIT, numbers(UPID + i, 0)))]
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *records))
        self.assertEqual([sum(number == each for number, _ in frames) for each in (2, 3, 6)], [5000] * 3)

    def test_processes_beyond_the_limit_share_a_pid(self):
        records = [made.stack([(CODE, 0)], upid=UPID + i, tid=1) for i in range(PROCESSES_MAX + 3)]
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *records))
        pids = [streams.SYSCAP_FRAME.unpack_from(data)[2] for number, data in frames if number == 2]
        self.assertEqual((len(pids), len(set(pids))), (PROCESSES_MAX + 3, PROCESSES_MAX + 1))

    def test_samples_of_an_unknown_event_are_refused(self):
        records = [made.process(), made.event(0, "cycles", made.EVENTS), made.stack([(CODE, 0)]),
                   made.stack([(CODE, 0)], event=9)]
        page = self.sink("out.html", *records)
        self.assertIn(b"</html>", page)
        self.assertEqual(self.stats("capture-sink")["dropped"]["unknown-event"], 1)
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *records))
        self.assertEqual(sum(number == 2 for number, _ in frames), 2)

    def test_weights_in_events_are_shown_in_events(self):
        records = [made.process(), made.event(0, "cpu-clock", made.NANOSECONDS), made.event(1, "faults", made.EVENTS),
                   made.stack([(CODE, 0)], event=1, weight=3), made.stack([(CODE, 0)], event=1, weight=4)]
        profile = json.loads(self.sink("out.firefox.json", *records, options=["--view=faults"]))
        weights = [thread["samples"]["weight"] for thread in profile["threads"] if thread["samples"]["length"]]
        self.assertEqual(weights, [[3, 4]])

    def pieces(self, path, data):
        """A file in pieces, as records."""
        return [streams.make_record(made.FILE, numbers(0) + string(path) +
                                    numbers(max(0, len(data) - at - PIECE)) + blob(data[at:at + PIECE]))
                for at in range(0, len(data), PIECE)]

    def test_a_file_too_large_leaves_others_alone(self):
        records = [*self.pieces("/proc/too-large", bytes(FILE_MAX + PIECE)), *self.pieces("/proc/small", b"small")]
        capture = self.sink("out.syscap", *records)
        self.assertEqual(self.refused("pieces-of-files"), 1)
        self.assertNotIn(b"/proc/too-large", capture)
        self.assertIn(b"/proc/small.gz", capture)

    def test_a_compressed_file_arrives_as_it_was(self):
        data = gzip.compress(os.urandom(3 * PIECE))
        frames, _ = streams.syscap_frames(self.sink("out.syscap", *self.pieces("/proc/random.gz", data)))
        chunks = [chunk for number, chunk in frames if number == 13 and b"/proc/random.gz" in chunk]
        self.assertGreater(len(chunks), 3)
        self.assertEqual(self.content(chunks), data)

    @staticmethod
    def content(chunks):
        """Content of the chunks: flags and length of the data, a path of 256 bytes, the data."""
        sizes = [struct.unpack_from("<I", chunk, streams.SYSCAP_FRAME.size)[0] >> 16 for chunk in chunks]
        return b"".join(chunk[284:284 + size] for chunk, size in zip(chunks, sizes))

    def test_counters_beyond_the_limit_are_left_out(self):
        def counter(number):
            return streams.make_record(made.COUNTER, numbers(number, 1) + string("category") + string(f"counter-{number}") +
                                       string(""))

        values = streams.make_record(made.COUNTER_VALUES, numbers(0, 3, 1, 11, 2, 22, 1025, 33))
        capture = self.sink("out.syscap", counter(1), counter(0), counter(1025), values)
        self.assertIn(b"counter-1\0", capture)
        self.assertNotIn(b"counter-0", capture)
        self.assertNotIn(b"counter-1025", capture)

    def dump_of_heap(self, *records):
        self.stream.write_bytes(streams.between(self.hello, list(records), self.end))
        return self.run_on(self.stream, self.stage("frame-dump", "--heap-events")).decode()

    def test_damaged_heap_events_are_reported(self):
        self.assertIn("heap_event damaged\n", self.dump_of_heap(*made.heap(b"\xff\xff")))

    def test_sampled_allocations_are_marked(self):
        records = made.heap(made.SAMPLED_HEAP + made.ALLOCATED, interval=1 << 19)
        self.assertRegex(self.dump_of_heap(*records), "heap_event .* allocated .* size=16 stack=1 interval=524288\n")
        with self.stream.open("rb") as stdin:
            ended, = self.run_well(self.stage("capture-sink", self.directory / "out.folded"), stdin=stdin)
        self.assertIn("  sampled: amounts are estimates", ended.errors)

    def test_allocations_without_a_stack_are_in_a_page(self):
        page = self.sink("out.html", *made.heap(made.ALLOCATED + made.ALLOCATED_WITHOUT_STACK))
        self.assertIn(b"</html>", page)

    def test_progress_is_shown_on_a_terminal_and_cleared(self):
        """The stream continues until two progress lines were seen."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        data = SYMBOLIZED.read_bytes()
        with subprocess.Popen([pipeline.program("capture-sink"), self.directory / "out.syscap"],
                              stdin=subprocess.PIPE, stderr=slave) as sink:
            os.close(slave)
            sink.stdin.write(data[:-len(self.end)])
            sink.stdin.flush()
            seen = b""
            while seen.count(b"samples") < 2:
                seen += os.read(master, 4096)
            sink.stdin.write(self.end)
            sink.stdin.close()
            self.assertEqual(sink.wait(), 0)
        self.assertRegex(seen, rb"\r\x1b\[K +\d+\.\d s +\d+ samples +\d+ per second  0 lost")
        seen += os.read(master, 4096)
        self.assertRegex(seen.decode(), r"lost\r\x1b\[K(?!.*per second)")


if __name__ == "__main__":
    pipeline.main()
