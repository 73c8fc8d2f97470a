# SPDX-License-Identifier: GPL-3.0-or-later
"""Trace contexts that threads publish, against what the program wrote down about its spans."""
import bisect
import collections
import re
import struct
import sys

import pipeline
import reading

BUILD = pipeline.BUILD / "tests" / "pipeline"
SECONDS = "1.5"
OFF_CPU = 1  # the number of an event
SUMS = "short-waits", "no-stack"
Change = struct.Struct("<QQQ")
TraceContext = collections.namedtuple("TraceContext", "trace span flags attributes")


def read_log(path):
    """The changes of each thread: times before and after, and the span since then."""
    log, at, threads = path.read_bytes(), 0, {}
    while at < len(log):
        tid, n = struct.unpack_from("<QQ", log, at)
        at += 16
        threads[tid] = list(Change.iter_unpack(log[at:at + n * Change.size]))
        at += n * Change.size
    return threads


def spans_at(changes, time):
    """The spans that a thread may have been in; several while it changes."""
    at = bisect.bisect_right(changes, time, key=lambda change: change[0]) - 1
    if at < 0:
        return {0}
    spans = {changes[at][2]}
    if time <= changes[at][1]:
        spans |= {0, changes[at - 1][2] if at else 0}
    return spans


def field(line, name):
    return re.search(rf' {name}="?([^ "]*)', line)[1]


class Labelled:
    """The stacks of a stream as text, with their contexts."""

    def __init__(self, text):
        self.contexts, self.stacks, self.published = {}, [], []
        for line in text.splitlines():
            kind = line.partition(" ")[0]
            if kind == "process_context":
                self.published.append(int(field(line, "time")))
            elif kind == "trace_context":
                self.contexts[field(line, "number")] = TraceContext(
                    field(line, "trace_id"), field(line, "span_id"), int(field(line, "flags")), {})
            elif kind == "trace_attribute":
                self.contexts[field(line, "trace_context")].attributes[field(line, "key")] = field(line, "value")
            elif kind == "stack":
                if field(line, "end") not in SUMS:
                    self.add_stack(line)

    def add_stack(self, line):
        time, tid, event, weight = (int(field(line, name)) for name in ("time", "tid", "event", "weight"))
        self.stacks.append((time - weight if event == OFF_CPU else time, time, tid, event,
                            self.contexts.get(field(line, "trace_context"))))


def span_of(context):
    return int.from_bytes(bytes.fromhex(context.span), "little") if context else 0


@pipeline.needs_root
class Contexts(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.log = self.directory / "log"
        self.stream = self.directory / "contexts.stream"

    def record(self, program, *how, options=(), threads="2", span_us="20", library=""):
        command = "env", f"SPANS_LIBRARY={BUILD / library}", BUILD / program, threads, SECONDS, self.log, span_us, *how
        with self.stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", *options, "--", *command), stdout=out)

    def labelled(self):
        return Labelled(self.run_on(self.stream, self.stage("live-unwinder"), [pipeline.program("frame-dump")]).decode())

    def check(self, labelled, least=100, events=(0,), span_ns=20_000):
        """
        No label is wrong, and each thread that was in a span has one. A wait counts as it ends: nobody changes the
        span of a thread that is away.
        """
        threads = read_log(self.log)
        n = collections.Counter()
        self.assertEqual(len(labelled.published), 1)
        begun = min(time for _, time, *_, context in labelled.stacks if context)
        for since, time, tid, event, context in labelled.stacks:
            if tid not in threads:
                self.assertIsNone(context)
                continue
            spans = spans_at(threads[tid], time - (event == OFF_CPU))
            if context:
                self.assertIn(span_of(context), spans)
                self.assertEqual(context.trace, "01" + "00" * 7 + context.span)
                self.assertEqual(context.attributes, {"route": f"{span_of(context):016x}"})
                self.assertEqual(context.flags, 1)
                n[event] += 1
            elif 0 not in spans and since > begun + span_ns:
                n["missing"] += 1
        for event in events:
            self.assertGreater(n[event], least)
        self.assertLessEqual(n["missing"], n.total() / 1000)

    def test_a_variable_of_the_program(self):
        self.record("spans")
        self.check(self.labelled())

    def test_a_record_that_is_written_in_place(self):
        self.record("spans", "flag")
        self.check(self.labelled())

    def test_a_variable_of_a_library(self):
        for name in "spans-general", "spans-descriptor":
            with self.subTest(name):
                self.record(name)
                self.check(self.labelled())

    def test_a_variable_of_a_library_that_is_loaded(self):
        for name in "libspans-general.so", "libspans-descriptor.so":
            with self.subTest(name):
                self.record("spans-loaded", library=name)
                self.check(self.labelled())

    def test_waits_have_the_context_of_their_thread(self):
        for options in (), ("-a",):
            with self.subTest(options):
                self.record("spans", "wait", options=("--off-cpu", *options), span_us="4000")
                self.check(self.labelled(), 10, (0, OFF_CPU), 4_000_000)

    def test_threads_that_publish_nothing_have_none(self):
        self.record("spans", "none")
        labelled = self.labelled()
        self.assertGreater(len(labelled.stacks), 200)
        self.assertEqual((labelled.published, labelled.contexts), ([], {}))

    def test_contexts_are_not_read_if_the_user_says_so(self):
        self.record("spans", options=("--no-contexts",))
        labelled = self.labelled()
        self.assertEqual((labelled.published, labelled.contexts), ([], {}))

    def test_a_recorded_stream_gives_the_same_twice(self):
        self.record("spans")
        first, second = (self.run_on(self.stream, self.stage("live-unwinder")) for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    sys.exit(pipeline.main())
