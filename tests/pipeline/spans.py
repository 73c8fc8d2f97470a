# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests/programs/spans.c wrote down about its spans, and the contexts of its samples in a stream."""
import bisect
import collections
import re
import struct

OFF_CPU = 1  # the number of an event
SUMS = "short-waits", "no-stack"
OURS = "01" + "00" * 7  # how all traces begin
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


def check(test, labelled, log, least=100, events=(0,), span_ns=20_000):
    """
    No label is wrong, and each thread that was in a span has one. A wait counts as it ends: nobody changes the
    span of a thread that is away.
    """
    threads = read_log(log)
    n, missing = collections.Counter(), []
    begun = min(time for _, time, tid, _, context in labelled.stacks if context and tid in threads)
    for since, time, tid, event, context in labelled.stacks:
        if tid not in threads:
            test.assertFalse(context and context.trace.startswith(OURS), "a context of another process")
            continue
        spans = spans_at(threads[tid], time - (event == OFF_CPU))
        if context:
            test.assertIn(span_of(context), spans)
            test.assertEqual(context.trace, OURS + context.span)
            test.assertEqual(context.attributes, {"route": f"{span_of(context):016x}"})
            test.assertEqual(context.flags, 1)
            n[event] += 1
        elif 0 not in spans and since > begun + span_ns:
            missing.append((since - begun, time - begun, tid, event))
    for event in events:
        test.assertGreater(n[event], least)
    test.assertLessEqual(len(missing), n.total() / 1000, missing[:20])
