#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the corpus of fuzz-capture: make-capture-seeds.py DIRECTORY

Small Sysprof captures with every kind of frame, intact and damaged, and folded stacks.
"""
import gzip
import struct
import sys
from pathlib import Path

KERNEL, USER, JITMAP = 2**64 - 128, 2**64 - 512, 0xE000000000000000
PID = 100


def text(value):
    return value.encode() + b"\0"


def frame(kind, payload=b"", time=1, pid=PID, cpu=0):
    payload += bytes(-(24 + len(payload)) % 8)
    return struct.pack("<HhiqII", 24 + len(payload), cpu, pid, time, kind, 0) + payload


def header():
    return struct.pack("<II64sQQQ160s", 0xFDCA975E, 0x101, b"2026-11-21T00:00:00Z", 1, 100, 0, b"")


def sample(addresses, time, tid=PID):
    return frame(2, struct.pack(f"<HHi{len(addresses)}Q", len(addresses), 0, tid, *addresses), time)


def chunk(path, data, is_last=1):
    return frame(13, struct.pack("<HH256s", is_last, len(data), path.encode()) + data)


def mapping(start, end, path, build_id=""):
    tail = text(path) + (b"@" + text(build_id) if build_id else b"")
    return frame(3, struct.pack("<QQQQ", start, end, 0, 7) + tail)


def jitmap(*entries):
    return frame(7, struct.pack("<I", len(entries)) + b"".join(struct.pack("<Q", address) + text(name)
                                                               for address, name in entries))


def symbols(*entries):
    table, texts = b"", b"\0"
    at = 32 * (len(entries) + 1)
    for begin, end, pid, name in entries:
        table += struct.pack("<QQIIII", begin, end, pid, at + len(texts), 0, 0)
        texts += text(name)
    return table + bytes(32) + texts


def mark(group, name, message, time, duration=0):
    return frame(10, struct.pack("<q24s40s", duration, group.encode(), name.encode()) + text(message), time)


def counters(*entries):
    return frame(8, struct.pack("<HHI", len(entries), 0, 0) + b"".join(
        struct.pack("<32s32s52sIq", b"category", name.encode(), b"what it is", number | kind << 24, 0)
        for number, kind, name in entries))


def counter_values(time, *values):
    ids = [number for number, _ in values] + [0] * (8 - len(values))
    bits = b"".join(struct.pack("<d" if isinstance(value, float) else "<q", value) for _, value in values)
    return frame(9, struct.pack("<HHI8I", 1, 0, 0, *ids) + bits + bytes(8 * (8 - len(values))), time)


def several_events():
    """Waits, counters, marks and control groups, as capture-sink writes them."""
    events = b"".join(frame(11, struct.pack("<40s", name.encode()) + text(value)) for name, value in [
        ("stackpipe.event.0", "on-cpu nanoseconds cpu-clock"), ("stackpipe.event.1", "off-cpu nanoseconds off-cpu")])
    return (events + frame(4, text("program")) + jitmap((JITMAP | 1, "[off-cpu]"), (JITMAP | 2, "[short-waits]"))
            + mark("off-cpu", "preempted", "thread 100: 3", 2, 3) + sample([USER, 0x1010, JITMAP | 1], 5)
            + mark("off-cpu", "short-waits", "thread 100: 77", 6) + sample([USER, JITMAP | 2, JITMAP | 1], 6)
            + mark("application", "round", "number 1", 7, 2)
            + counters((3, 0, "whole"), (4, 1, "double"), (5, 1, "odd"))
            + counter_values(8, (3, 12), (4, 1.5), (5, -1.0), (9, 1)) + counter_values(9, (3, -1), (4, float("nan")))
            + chunk("stackpipe/cgroups", b"100 /system.slice/a.service\n101 relative\n102 /x\n")
            + chunk("stackpipe/thread-times", b"5 100 100 1 2 3\nx\n9 100 101 4 5 6\n"))


def seeds():
    kallsyms = b"ffffffff81000000 t do_something\nffffffff81000100 t unknown\n"
    names = symbols((0x1010, 0x1011, PID, "function"), (0x1020, 0x1021, PID, "[file+0x20]"),
                    (0x5010, 0x5011, PID, "compiled_[j]"))
    metadata = b"".join(frame(11, struct.pack("<40s", name.encode()) + text(value)) for name, value in [
        ("stackpipe.version", "0.1.0"), ("stackpipe.rate", "999"), ("stackpipe.event", "cpu-clock"),
        ("stackpipe.state", "complete"), ("stackpipe.lost", "3"), ("stackpipe.stages", "perf-source|symbolizer")])
    body = (frame(4, text("program")) + mapping(0x1000, 0x2000, "/bin/file", "00ff") + mapping(0x5000, 0x6000, "//anon")
            + jitmap((JITMAP | 1, "[stack-truncated]"), (JITMAP | 2, "inlined_[i]"), (JITMAP | 3, "other_[j]"))
            + sample([KERNEL, 0xFFFFFFFF81000010, USER, 0x1010, JITMAP | 2, 0x1021, JITMAP | 1], 5)
            + sample([USER, 0x5010, JITMAP | 3, 0x9999], 6, tid=101)
            + frame(5, struct.pack("<i", PID + 1), 7) + sample([USER, 0x1010], 8)
            + frame(4, text("again (pid 100)"), pid=(1 << 22) + 1) + frame(6, time=9)
            + frame(12, struct.pack("<HHI32s", 16, 0, 0, b"stackpipe") + text("Lost 5 events"))
            + frame(10, bytes(72) + text("a mark")))
    whole = header() + metadata + body + chunk("/proc/kallsyms", kallsyms) + chunk("__symbols__", names)
    yield "whole", whole
    yield "compressed", header() + body + chunk("/proc/kallsyms.gz", gzip.compress(kallsyms, mtime=0)) \
        + chunk("__symbols__.gz", gzip.compress(names, mtime=0))
    yield "of-sysprof", header() + body
    yield "cut", whole[:-21]
    yield "not-sorted", header() + sample([USER, 0x1010], 50) + body
    yield "several-events", header() + metadata + several_events()
    yield "images", header() + body + chunk(
        "stackpipe/images", b"7 00ff 026a2d6a60ee6b4eb8ec85adf2e76f4d 0:400000:2000,2000:500000:10 go/id /bin/file\n"
        b"7 - - 1:2:3,4:5 - /bin/file\n7 00ff x ffffffffffffffffffffff:1:1, - /bin/other\n7 00ff\nx")
    yield "too-many-addresses", header() + frame(2, struct.pack("<HHiQ", 500, 0, PID, 0x1000))
    yield "folded", b"main;_start;outer;inner_[i] 3\nmain;[stack-truncated];kernel_[k];jit_[j] 2\n;; 1\nx 1\n"
    yield "folded-hostile", b"a;b 99999999999999999999\na;b -1\na;b 1e9\n" + b"a;" * 600 + b"z 1\n"


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in seeds():
        (directory / name).write_bytes(data)


main()
