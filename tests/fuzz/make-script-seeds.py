#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes seeds for the fuzz targets of interpreters, out of recorded streams, into their corpora:

    tests/fuzz/make-script-seeds.py STREAM...    # of perf-source
"""
import re
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pipeline"))
import streams  # noqa: E402
import walks  # noqa: E402

# In the order of struct cpython_fields, and of the others.
FIELDS = {
    "cpython": ("frame.code", "frame.previous", "frame.instruction", "frame.owner", "frame.entry", "frame.tags", "cframe.frame",
                "cframe.previous", "code.filename", "code.qualname", "code.linetable", "code.firstline", "code.bytes",
                "code.size", "code.framesize", "code.stacksize", "code.nlocalsplus", "frame.size", "code.type", "text", "bytes",
                "frame.index", "frame.unit", "frame.state", "frame.executing", "code.lines", "frame.copy", "object", "text.kind"),
    "php": ("frame.function", "frame.previous", "frame.info", "frame.line", "function.size", "function.line", "function.name",
            "function.class", "text", "text.length", "resume.from", "resume.to"),
    "ruby": ("frame.pc", "frame.sp", "frame.iseq", "frame.flags", "body.size", "body.count", "body.code", "body.line",
             "body.entries", "line.shift", "text", "text.length", "text.short", "made.words"),
    "perl": ("stack.array", "stack.previous", "stack.last", "stack.type", "context.size", "context.cop", "context.return",
             "context.sub", "context.position", "interpreter.cop", "sub.size", "sub.body", "sub.name", "sub.flags", "sub.count",
             "cop.size", "cop.line", "catch.from", "catch.to", "main.from", "main.to"),
    "lua": ("call.proto", "call.next", "call.pc", "call.status", "proto.size", "proto.code", "proto.count", "proto.line", "text",
            "text.short", "text.long", "text.far", "call.c", "call.fresh"),
    "luajit": ("frame.function", "frame.proto", "frame.continuation", "frame.continuation.pc", "frame.link", "thread.stack",
               "thread.cframe", "global.jit_base", "cframe.size", "proto.size", "proto.count", "proto.line", "proto.lines", "proto.total",
               "proto.constants", "text", "text.length", "left", *(f"torn{i}" for i in range(8))),
    "dotnet": ("code.size",),
    "beam": ("process.top", "stack.end", "function.size", "function.arity", "atom.size", "atom.length"),
    "hotspot": (*(f"frames.from{i}" for i in range(16)), *(f"frames.to{i}" for i in range(16)), "method.type",
                "method.archived", "method.size", "method.const", "const.size", "const.code", "const.flags", "text",
                "text.length", "code.method",
                *(f"{site}.{part}" for site in ("begin", "rare", "pcs", "pcs-end", "scopes", "scopes-end", "metadata", "metadata-end")
                  for part in ("pointer", "further", "offset", "size")), "dense", "excluded"),
}
NUMBERS = {"cpython": 0, "php": 1, "ruby": 3, "hotspot": 4, "perl": 5, "lua": 6, "beam": 7, "luajit": 8, "dotnet": 9}  # enum script_language
CORPORA = {"cpython": "cpython-code", "php": "php-function", "ruby": "ruby-code", "hotspot": "hotspot-method",
           "perl": "perl-sub", "lua": "lua-proto", "luajit": "luajit-proto", "beam": "beam-function",
           "dotnet": "dotnet-method"}
WITH_BYTES = {"hotspot", "perl", "lua", "luajit", "dotnet"}  # of objects, in seeds of walks
ADDRESSES = re.compile(r"(code|method)\.type|method\.archived|stack\.end|left|torn\d|(resume|frames|catch|main)\.(from|to)\d*")  # of no use to the targets
CODE_MIN = {"hotspot": 1500, "perl": 1500, "beam": 1500}  # bytes of a record of a method, or a sub, and of few others
OBJECTS_MAX, OBJECTS_WITH_BYTES_MAX, BYTES_MAX, SEEDS = 255, 8, 6000, 3


def fields_of(language, layout):
    names = FIELDS[language]
    return struct.pack(f"<{len(names)}h", *(0 if ADDRESSES.fullmatch(name) else layout.get(name, -1) for name in names))


def walk_of(record):
    fields = walks.Fields(record)
    fields.skip(7)
    fields.addresses(), fields.addresses(), fields.blob()
    fields.skip(9)
    fields.blob(), fields.skip(1)
    return fields.blob()


def seed_of(language, address, identity, data):
    data = data[:BYTES_MAX]
    return struct.pack("<QQ", address, identity) + (struct.pack("<H", len(data)) + data if language in WITH_BYTES else b"")


def known_in(walk, objects, language):
    """The last objects; if they are large, those to which the walk leads."""
    if language not in WITH_BYTES:
        return objects[-OBJECTS_MAX:]
    return [each for each in objects if struct.pack("<Q", each[0]) in walk][-OBJECTS_WITH_BYTES_MAX:]


def main(path):
    language, layout, objects, found, codes = None, None, [], [], []
    for record in streams.records(path.read_bytes()):
        kind = streams.record_type(record)
        if kind == walks.RUNTIME:
            _, language, _, layout = walks.read_runtime(record)
        elif kind == walks.MEMORY and layout:
            (_, address, identity), data = walks.read_memory(record)
            objects.append((address, identity, data))
            codes.append(data)
        elif kind == walks.SAMPLE and layout and 200 < len(walk := walk_of(record)) < BYTES_MAX:
            found.append(walk)
    fields = fields_of(language, layout)
    for i, walk in enumerate(sorted(found, key=len)[::max(1, len(found) // SEEDS)][:SEEDS]):
        known = known_in(walk, objects, language)
        (HERE / "scripts" / f"{path.stem}-{i}").write_bytes(
            bytes([NUMBERS[language]]) + fields + bytes([len(known)]) +
            b"".join(map(lambda each: seed_of(language, *each), known)) + walk)
    codes = [code for code in codes if len(code) > CODE_MIN.get(language, 0)]
    for i, code in enumerate(sorted(codes, key=len)[:SEEDS]):
        (HERE / CORPORA[language] / f"{path.stem}-{i}").write_bytes(fields + code)


for corpus in "scripts", *CORPORA.values():
    (HERE / corpus).mkdir(exist_ok=True)
for each in map(Path, sys.argv[1:]):
    main(each)
