# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of interpreters' languages in a stream of stacks, with their names and lines."""
import collections
import struct

import streams
import walks

IMAGE, STACK, SYMBOL = 10, 16, 17
KIND_SCRIPT = 7
SCRIPT_FLAG, SCRIPT_START, SCRIPT_SIZE = 8, 1 << 62, 1 << 58
FRAME = struct.Struct("<QII")

Frame = collections.namedtuple("Frame", "is_script name file line")
Symbol = collections.namedtuple("Symbol", "name file line")


def read_symbol(record):
    """((image, offset), Symbol)"""
    fields = walks.Fields(record)
    image, offset, *_ = (fields.number() for _ in range(4))
    name = fields.string().decode()
    fields.string()
    file, line = fields.string().decode(), fields.number()
    return (image, offset), Symbol(name, file, line)


class Stacks:
    """The stacks of a stream, innermost frame first: those of scripts have names."""

    def __init__(self, stream):
        self.images, self.symbols, self.stacks = set(), {}, []
        for record in streams.records(stream):
            kind = streams.record_type(record)
            if kind == IMAGE:
                image, image_kind = struct.unpack_from("<QQ", record, streams.RECORD_HEADER.size)
                self.images |= {image} if image_kind == KIND_SCRIPT else set()
            elif kind == SYMBOL:
                (image, offset), symbol = read_symbol(record)
                if image in self.images:  # numbers of code are those of one image
                    self.symbols[offset] = symbol
            elif kind == STACK:
                self.stacks.append(self.frames(record))

    def frames(self, record):
        fields = walks.Fields(record)
        fields.skip(6)
        n, found = fields.number(), []
        for i in range(n):
            address, _, flags = FRAME.unpack_from(record, fields.at + i * FRAME.size)
            symbol = self.symbols.get((address - SCRIPT_START) % SCRIPT_SIZE) if flags & SCRIPT_FLAG else None
            found.append(Frame(bool(flags & SCRIPT_FLAG), *(symbol or (None, None, None))))
        return found
