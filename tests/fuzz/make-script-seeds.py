#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes seeds for the fuzz targets of interpreters, out of recorded streams, into their corpora:

    tests/fuzz/make-script-seeds.py STREAM...    # of perf-source
"""
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pipeline"))
import streams  # noqa: E402
import walks  # noqa: E402

# In the order of struct cpython_fields.
FIELDS = ("frame.code", "frame.previous", "frame.instruction", "frame.owner", "frame.entry", "frame.tags", "cframe.frame",
          "cframe.previous", "code.filename", "code.qualname", "code.linetable", "code.firstline", "code.bytes",
          "code.size", "code.framesize", "code.stacksize", "code.nlocalsplus", "frame.size", "code.type", "text", "bytes",
          "frame.index", "frame.unit", "frame.state", "frame.executing", "loop.from", "loop.to", "loop.other.from",
          "loop.other.to", "code.lines")
ADDRESSES = "code.type", "loop.from", "loop.to", "loop.other.from", "loop.other.to"  # of no use to the targets
OBJECTS_MAX, BYTES_MAX, SEEDS = 255, 6000, 3


def fields_of(layout):
    return struct.pack(f"<{len(FIELDS)}h", *(0 if name in ADDRESSES else layout.get(name, -1) for name in FIELDS))


def walk_of(record):
    fields = walks.Fields(record)
    fields.skip(7)
    fields.addresses(), fields.addresses(), fields.bytes()
    fields.skip(9)
    fields.bytes(), fields.skip(1)
    return fields.bytes()


def main(path):
    layout, objects, found, codes = None, [], [], []
    for record in streams.records(path.read_bytes()):
        kind = streams.record_type(record)
        if kind == walks.RUNTIME:
            layout = walks.read_runtime(record)[3]
        elif kind == walks.MEMORY and layout:
            (_, address, identity), data = walks.read_memory(record)
            objects.append((address, identity))
            codes.append(data)
        elif kind == walks.SAMPLE and layout and 200 < len(walk := walk_of(record)) < BYTES_MAX:
            found.append(walk)
    known = objects[-OBJECTS_MAX:]
    for i, walk in enumerate(sorted(found, key=len)[::max(1, len(found) // SEEDS)][:SEEDS]):
        (HERE / "scripts" / f"{path.stem}-{i}").write_bytes(
            fields_of(layout) + bytes([len(known)]) + b"".join(struct.pack("<QQ", *each) for each in known) + walk)
    for i, code in enumerate(sorted(codes, key=len)[:SEEDS]):
        (HERE / "cpython-code" / f"{path.stem}-{i}").write_bytes(fields_of(layout) + code)


for corpus in "scripts", "cpython-code":
    (HERE / corpus).mkdir(exist_ok=True)
for each in map(Path, sys.argv[1:]):
    main(each)
