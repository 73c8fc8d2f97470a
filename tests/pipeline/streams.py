# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and changes the output of stages: streams of records, captures, folded stacks."""
import hashlib
import struct
from collections import Counter

RECORD_HEADER = struct.Struct("<IHH")  # size, type, flags
HELLO, END, STATS, COUNT, MAPPING, SAMPLE = 1, 2, 3, 4, 14, 15
END_TOTALS_AT = RECORD_HEADER.size + 16  # after the time and the flags
INCOMPLETE = 1  # a flag of `end`
TOTAL = struct.Struct("<QQ")  # type, number of records
UNKNOWN_TYPE = 200
# End reasons as they begin an incomplete folded stack (stack_end in docs/protocol.md).
ENDS = ["stack-truncated", "no-mapping", "no-unwind-info", "bad-unwind-info", "frame-limit",
        "no-user-regs", "image-unavailable", "unproved", "stack-absent"]

SYSCAP_HEADER_SIZE = 256
SYSCAP_MAGIC = 0xFDCA975E
SYSCAP_FRAME = struct.Struct("<HhiqB7x")  # length, cpu, pid, time, type
SYSCAP_END_TIME_AT = 80


def file_id_of(data):
    """OpenTelemetry's file id of a file's bytes."""
    ends = data[:4096] + data[len(data) - min(len(data), 4096):]
    return hashlib.sha256(ends + struct.pack(">Q", len(data))).hexdigest()[:32]


def records(stream):
    """A stream's records, as bytes, in order."""
    found, at = [], 0
    while at < len(stream):
        size = RECORD_HEADER.unpack_from(stream, at)[0]
        found.append(stream[at:at + size])
        at += size
    assert at == len(stream), "the stream ends within a record"
    return found


def record_type(record):
    return RECORD_HEADER.unpack_from(record)[1]


def make_record(number, payload):
    return RECORD_HEADER.pack(RECORD_HEADER.size + len(payload), number, 0) + payload


def numbers(*values):
    """Encodes fields of a record, like string() and blob()."""
    return struct.pack(f"<{len(values)}Q", *values)


def string(text):
    data = text.encode()
    return numbers(len(data)) + data + bytes(8 - len(data) % 8)


def blob(data):
    return numbers(len(data)) + data + bytes(8 + -len(data) % 8)


def with_totals(end, counts):
    """An `end` record with other totals."""
    items = b"".join(TOTAL.pack(*item) for item in sorted(counts.items()))
    times = end[RECORD_HEADER.size:END_TOTALS_AT]
    return make_record(END, times + struct.pack("<Q", len(counts)) + items)


def with_record_behind_hello(stream, record):
    """A stream that is still valid, with one more record."""
    hello, *middle, end = records(stream)
    return between(hello, [record, *middle], end)


def between(hello, middle, end):
    """A stream of these records, with an `end` whose totals are right."""
    counts = Counter(map(record_type, [hello, *middle]))
    return b"".join([hello, *middle, with_totals(end, counts)])


def marked_incomplete(stream):
    """A stream whose `end` is flagged as incomplete."""
    *before, end = records(stream)
    flags_at = RECORD_HEADER.size + 8  # after the time
    flags = struct.pack("<Q", INCOMPLETE)
    return b"".join([*before, end[:flags_at], flags, end[flags_at + 8:]])


SYSCAP_SAMPLE = 2  # type of a frame: sysprof-capture-types.h


def syscap_frames(data):
    """([(type, bytes), …] of a capture's complete frames, size of a trailing truncated one)."""
    assert len(data) >= SYSCAP_HEADER_SIZE, "the header is not whole"
    assert struct.unpack_from("<I", data)[0] == SYSCAP_MAGIC
    frames, at = [], SYSCAP_HEADER_SIZE
    while len(data) - at >= SYSCAP_FRAME.size:
        length, _, _, _, number = SYSCAP_FRAME.unpack_from(data, at)
        assert length >= SYSCAP_FRAME.size and length % 8 == 0, f"a frame of {length} at {at}"
        if at + length > len(data):
            break
        frames.append((number, data[at:at + length]))
        at += length
    return frames, len(data) - at


def syscap_end_time(data):
    return struct.unpack_from("<q", data, SYSCAP_END_TIME_AT)[0]


def folded_stacks(text):
    """[([thread, outermost, …, leaf], n), …] of a folded capture."""
    stacks = []
    for line in text.splitlines():
        names, n = line.rsplit(" ", 1)
        stacks.append((names.split(";"), int(n)))
    return stacks


def user_side(names):
    """The user functions of a folded stack, without thread, kernel and inlined functions."""
    return [name for name in names[1:] if not name.endswith(("_[k]", "_[i]"))]
