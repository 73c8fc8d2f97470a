#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the corpus of fuzz-capture: make-capture-seeds.py DIRECTORY

Small captures of Sysprof with every kind of frame, whole and damaged, and folded stacks.
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
    yield "too-many-addresses", header() + frame(2, struct.pack("<HHiQ", 500, 0, PID, 0x1000))
    yield "folded", b"main;_start;outer;inner_[i] 3\nmain;[stack-truncated];kernel_[k];jit_[j] 2\n;; 1\nx 1\n"
    yield "folded-hostile", b"a;b 99999999999999999999\na;b -1\na;b 1e9\n" + b"a;" * 600 + b"z 1\n"


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in seeds():
        (directory / name).write_bytes(data)


main()
