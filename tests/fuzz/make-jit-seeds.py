#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes seeds for the fuzz targets of perf maps and jitdumps, into their corpora:

	tests/fuzz/make-jit-seeds.py

The first byte of a seed selects how the target cuts the file that follows.
"""
import gzip
import os
import struct

DIRECTORY = os.path.dirname(os.path.abspath(__file__))


def load(time, start, size, index, name):
    body = struct.pack("<IIQQQQ", 1, 1, start, start, size, index) + name + b"\0" + b"\x90" * size
    return struct.pack("<IIQ", 0, 16 + len(body), time) + body


def move(time, start, to, size, index):
    return struct.pack("<IIQIIQQQQQ", 1, 64, time, 1, 1, to, start, to, size, index)


def lines(start, entries):
    body = struct.pack("<QQ", start, len(entries))
    for address, line, column, name in entries:
        body += struct.pack("<QII", address, line, column) + name + b"\0"
    return struct.pack("<IIQ", 2, 16 + len(body), 0) + body


def dump(*records, size=40):
    header = struct.pack("<IIIIIIQQ", 0x4A695444, 1, size, 62, 0, 1, 0, 0)
    return header + b"\0" * (size - 40) + b"".join(records)


CLOSE = struct.pack("<IIQ", 3, 16, 900)
UNWINDING = struct.pack("<IIQQQQ", 4, 48, 5, 8, 8, 0) + b"\1" * 8
JS = [(0x1000, 1, 2, b"a.js"), (0x1008, 3, 4, b"\xff"), (0x1004, 5, 6, b"b.js")]

JITDUMPS = {
    "empty": b"",
    "header": dump(),
    "long-header": dump(load(1, 0x1000, 16, 1, b"a"), size=56),
    "reuse": dump(*[load(i, 0x1000 + i % 7 * 8, 16, i, b"f%d" % i) for i in range(40)]),
    "move": dump(load(1, 0x1000, 16, 1, b"a"), move(2, 0x1000, 0x2000, 16, 1),
                 load(3, 0x1000, 16, 2, b"b"), move(4, 0x2000, 0x1008, 16, 1)),
    "lines": dump(lines(0x1000, JS), load(1, 0x1000, 16, 1, b"a"), UNWINDING, CLOSE),
    "v8-lines": dump(lines(0x1000, [(0x1040, 1, 0, b"a")]), load(1, 0x1000, 16, 1, b"a")),
    "back": dump(load(9, 0x1000, 16, 1, b"a"), load(1, 0x1000, 16, 2, b"b")),
    "nested": dump(*[load(i, 0x1000 + i, 80 - 2 * i, i, b"") for i in range(36)]),
}

PERF_MAPS = {
    "plain": b"1000 10 a\n1010 20 b c\n",
    "overlap": b"1000 100 a\n1080 100 b\n1000 10 c\nff0 200 d\n1100 1 e\n",
    "nested": b"".join(b"%x %x n\n" % (0x1000 + i, 0x100 - 2 * i) for i in range(100)),
    "odd": b"0x1000 0X10 x\n\n1000 0 a\nffffffffffffffff 1 b\n1000 10 a\0b\n 1 2 c\n1 2",
    "long": b"1000 10 " + b"x" * 4000 + b"\n2000 10 " + b"y" * 60 + b"\n",
}

KALLSYMS = {
    "plain": b"ffffffff81000000 T a\nffffffff81000100 t b\t[m]\nffffffff81000200 W c\n",
    "unsorted": b"ffffffff81000200 T c\nffffffff81000000 T a\nffffffff81000000 t b\n",
    "hidden": b"0000000000000000 T a\n0000000000000000 t b\n",
}
KALLSYMS["gzip"] = gzip.compress(KALLSYMS["plain"], mtime=0)


def write(target, seeds):
    directory = os.path.join(DIRECTORY, target)
    os.makedirs(directory, exist_ok=True)
    for number, (name, content) in enumerate(seeds.items()):
        with open(os.path.join(directory, "seed-" + name), "wb") as file:
            file.write(bytes([number * 37 % 256]) + content)


write("jitdump", JITDUMPS)
write("perf-map", PERF_MAPS)
write("kallsyms", KALLSYMS)
