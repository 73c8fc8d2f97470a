# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads protocol buffers without a schema."""
from itertools import pairwise

FIXED_SIZES = {1: 8, 5: 4}  # bytes, by kind
NUMBER, BYTES = 0, 2  # further wire types


def _varint(data, at):
    """(the number that begins at `at`, the position after it)."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7f) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value) of a message, where a value is an integer or bytes. IndexError: truncated."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = divmod(key, 8)
        if kind == NUMBER:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind != BYTES and kind not in FIXED_SIZES:
            raise IndexError(f"kind {kind}")
        size, at = (FIXED_SIZES[kind], at) if kind in FIXED_SIZES else _varint(data, at)
        if at + size > len(data):
            raise IndexError(f"{size} bytes at {at}")
        yield number, data[at:at + size]
        at += size


def varints(data):
    """The numbers of a packed field."""
    ends = [0, *(at + 1 for at, byte in enumerate(data) if byte < 0x80)]
    return [_varint(data[begin:end], 0)[0] for begin, end in pairwise(ends)]


def is_message(data):
    """Whether the data consists of fields to its very end."""
    try:
        return bool(list(fields(data)))
    except IndexError:
        return False
