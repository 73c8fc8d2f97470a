#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes seeds for the fuzz targets of JavaScript into their corpora: records and walks as V8 12.4 has them, made by hand."""
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
V8 = 2  # enum script_language
FUNCTION_SIZE, CODE_SIZE, WINDOW, DATA_OWN, BASELINE, TURBOFAN = 72, 64, 104, 0x40, 10, 12
FUNCTION_TYPE, CODE_TYPE = 0x112, 0xCE
SCRIPT, SCRIPT_AT, LINE_AT, POSITION_AT, SCRIPT_IDENTITY, PART_SIZE = 0x400000, 32, 24, 32, 98, 4096
# In the order of struct v8_fields.
FIELDS = struct.pack("<25h", 48, 32, 80, 88, FUNCTION_SIZE, 8, SCRIPT_AT, LINE_AT, POSITION_AT, 12, 0, 12, FUNCTION_TYPE, CODE_SIZE, 40, -1, 52, 48, 8,
                     CODE_TYPE, 0, BASELINE, 24, DATA_OWN, 16)
ONE_BYTE, TWO_BYTE, CONS, THIN, NO_STRING = 0x28, 0x20, 0x29, 0x2D, 0x83
IDENTITY = 99
FUNCTIONS = 0x100000, 0x200000, 0x300000
IS_OBJECT = 1  # bit of an address


def piece(data=b""):
    return struct.pack("<Q", len(data)) + data + bytes(-len(data) % 8)


def type_map(kind):
    return piece(struct.pack("<QIHH", 0, 0, kind, 0))


def string(kind, text, n=None):
    characters = text if isinstance(text, bytes) else text.encode("utf-16-le")
    count = len(characters) // (1 if kind & 8 else 2) if n is None else n
    return piece(struct.pack("<QII", 0, 0, count) + characters) + type_map(kind)


def function(name, inferred, file, actual, data=1, last=piece() + piece()):
    itself = struct.pack("<5Q", 0, data, 0, 0, SCRIPT | IS_OBJECT).ljust(FUNCTION_SIZE, b"\0")
    words, source = piece(struct.pack("<5Q", 1, 0, 1, 20 << 32, 40 << 32)), piece(struct.pack("<Q", SCRIPT_IDENTITY))
    return (itself + type_map(FUNCTION_TYPE) + piece(bytes(64)) + name + inferred + piece(bytes(72)) + file + actual + last + words + source)


ABSENT = piece() + piece()
RECORDS = {
    "one-byte": function(string(ONE_BYTE, b"find"), ABSENT, string(ONE_BYTE, b"/srv/app.js"), ABSENT),
    "two-byte": function(string(TWO_BYTE, "\u03c0\U0001f40d"), ABSENT, string(TWO_BYTE, "/srv/\u03c0.js"), ABSENT),
    "inferred": function(string(ONE_BYTE, b""), string(ONE_BYTE, b"App.onClick"), string(NO_STRING, b"undefined"), ABSENT),
    "thin": function(string(ONE_BYTE, b"find"), ABSENT, string(THIN, b"\1\0\0\0\0\0\0\0"), string(ONE_BYTE, b"/srv/app.js")),
    "cons": function(string(ONE_BYTE, b"find"), ABSENT, string(CONS, b"\1\0\0\0\0\0\0\0", 11),
                     string(THIN, b"\1\0\0\0\0\0\0\0", 11), last=string(ONE_BYTE, b"/srv/app.js")),
    "cut": function(string(ONE_BYTE, b"fi", 400), ABSENT, string(TWO_BYTE, "/srv/\ud83d".encode("utf-16-le", "surrogatepass"), 400),
                    ABSENT),
    "builtin": function(ABSENT, ABSENT, ABSENT, ABSENT, 0),
}


def number(value):
    bits, out = (value << 1) ^ (value >> 63), b""
    while bits > 0x7F:
        out, bits = out + bytes([bits & 0x7F | 0x80]), bits >> 7
    return out + bytes([bits])


def array(data, n):
    return piece(struct.pack("<QII", 0, 0, n) + data)


def positions(entries):
    place, position, table = -1, 0, b""
    for at, to in entries:
        table += number(-(at - place) - 1) + number(to - position)
        place, position = at, to
    return array(table, len(table))


def code(start, kind, data, rest):
    head = struct.pack("<6QII", 0, data, 0, 0, 0, start, kind, 100)
    return head.ljust(CODE_SIZE, b"\0") + type_map(CODE_TYPE) + rest


def optimized(start):
    """FUNCTIONS[0], with FUNCTIONS[1] inlined, which has inlined FUNCTIONS[2]."""
    data = struct.pack("<3QII", 0, 0, 0, 0, 2).ljust(DATA_OWN, b"\0") + struct.pack("<Q", FUNCTIONS[0] | IS_OBJECT)
    inlinings = struct.pack("<Qi4xQi4x", 0, 0, 1 << 31, 1)
    return code(start, TURBOFAN, 1, positions([(0, 0), (2, 1 << 31), (4, 2 << 31)]) + piece(data.ljust(96, b"\0")) +
                array(inlinings, len(inlinings)) + array(struct.pack("<2Q", *(each | IS_OBJECT for each in FUNCTIONS[1:])), 2) + piece() +
                piece(struct.pack("<2Q", IDENTITY, IDENTITY)))


def baseline(start):
    return code(start, BASELINE, 0x700001, piece() * 6)


def frame(n_c, of, bytecode=0, code_address=0, instruction=None):
    """That of the target's C frame number `n_c`, whose frames have 256 bytes and their number as address."""
    window = struct.pack("<13Q", 0, 0, 0, 0, bytecode, 0, FUNCTIONS[of], 1, 0, 0, n_c if instruction is None else instruction,
                         code_address, IDENTITY if code_address else 0)
    return struct.pack("<QQ", (n_c + 1) * 256 - 16, IDENTITY) + window


def walk(*frames):
    return struct.pack("<4H", 0, WINDOW, len(frames), 1) + b"".join(frames)


def objects(*bodies):
    return bytes([len(bodies)]) + b"".join(
        struct.pack("<QQH", address, IDENTITY, len(body)) + body for address, body in bodies)


PLAIN = RECORDS["one-byte"]
KNOWN = *((each, PLAIN) for each in FUNCTIONS), (0x800000, optimized(20)), (0x900000, baseline(20)), (0xA00000, optimized((1 << 64) - 64))
SCRIPTS = {
    "interpreted": walk(frame(2, 0), frame(3, 1), frame(5, 2)),
    "optimized": walk(frame(23, 0, code_address=0x800000), frame(25, 0, code_address=0x800000)),
    "baseline": walk(frame(3, 2), frame(23, 1, bytecode=0x700001, code_address=0x900000)),
    "alternatives": walk(frame(2, 0, instruction=0), frame(2, 1), frame(5, 2)),
    "short-window": struct.pack("<4H", 0, 80, 1, 1) + frame(2, 0)[:96],
    "false-caller": walk(frame(1, 0, instruction=0, code_address=0xA00000), frame(5, 2)),
}


def write(corpus, name, data):
    (HERE / corpus).mkdir(exist_ok=True)
    (HERE / corpus / name).write_bytes(data)


for each, record in RECORDS.items():
    write("v8-function", each, FIELDS + record)
write("v8-function", "code", FIELDS + optimized(20))


def parts(text, unit=1):
    """The parts of a text: what the target of sources takes of each record."""
    return [struct.pack("<4I", at, len(text), unit, 0) + text[at:at + PART_SIZE] for at in range(0, len(text), PART_SIZE)]


def asked(*positions):
    return b"".join(struct.pack("<Ii", position, 0) for position in positions)


LONG = b"function f() {\r\n  return 1\r}\n" * 400
SOURCES = {
    "lines": (parts(LONG), asked(0, 20, 4096, 12000, len(LONG))),
    "backwards": (parts(LONG)[::-1], asked(4095, 8192)),
    "wide": (parts("a\u2028b\u2029c\r\nd".encode("utf-16-le"), 2), asked(0, 2, 7)),
    "split": (parts(b"x" * 4095 + b"\r\n" + b"y"), asked(4095, 4096, 4097)),
    "missing": (parts(LONG)[1:], asked(5000)),
    "short": ([parts(LONG)[0][:100]], asked(0)),
}
for each, (made, positions_of) in SOURCES.items():
    write("script-sources", each, bytes([len(made)]) + b"".join(struct.pack("<H", len(part)) + part for part in made) + positions_of)
for each, made in SCRIPTS.items():
    write("scripts", f"v8-{each}", bytes([V8]) + FIELDS + objects(*KNOWN) + made)
