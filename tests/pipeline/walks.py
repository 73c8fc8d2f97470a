# SPDX-License-Identifier: GPL-3.0-or-later
"""What samples have of CPython's frames: the windows of a stream, read by the layout that it has."""
import collections
import struct

import streams

PROCESS, SAMPLE, RUNTIME, MEMORY = 7, 15, 45, 46
FORKED = 2  # an origin of processes
ENDS = {1: "end", 2: "limit", 3: "absent", 4: "no-root", 5: "budget"}
LIST_HEAD, ELEMENT = struct.Struct("<4H"), struct.Struct("<2Q")

Sample = collections.namedtuple("Sample", "process tid lists end")
List = collections.namedtuple("List", "end elements")
Element = collections.namedtuple("Element", "address identity window")


class Fields:
    """The fields of a record, in their order."""

    def __init__(self, record):
        self.record, self.at = record, streams.RECORD_HEADER.size

    def number(self):
        self.at += 8
        return struct.unpack_from("<Q", self.record, self.at - 8)[0]

    def skip(self, n):
        for _ in range(n):
            self.number()

    def addresses(self):
        return [self.number() for _ in range(self.number())]

    def string(self):
        """A zero byte follows, and zeros up to a whole word."""
        size = self.number()
        found = self.record[self.at:self.at + size]
        self.at += size + 8 - size % 8
        return found

    def blob(self):
        """Eight zero bytes follow, and zeros up to a whole word."""
        size = self.number()
        found = self.record[self.at:self.at + size]
        self.at += size + 8 + -size % 8
        return found


def read_walk(walk):
    """{list: List}"""
    found, at = {}, 0
    while at < len(walk):
        number, window, n, end = LIST_HEAD.unpack_from(walk, at)
        at += LIST_HEAD.size
        elements = []
        for _ in range(n):
            elements.append(Element(*ELEMENT.unpack_from(walk, at), walk[at + ELEMENT.size:at + ELEMENT.size + window]))
            at += ELEMENT.size + window
        found[number] = List(ENDS[end], elements)
    assert at == len(walk)
    return found


def read_sample(record):
    fields = Fields(record)
    fields.skip(1)
    process, tid = fields.number(), fields.number()
    fields.skip(4)
    fields.addresses(), fields.addresses(), fields.blob()
    fields.skip(9)
    fields.blob(), fields.skip(1)
    return Sample(process, tid, read_walk(fields.blob()), fields.number())


def read_runtime(record):
    """(process, kind, version, {name: number})"""
    fields = Fields(record)
    process = fields.number()
    fields.skip(2)
    kind, version, layout = (fields.string().decode() for _ in range(3))
    return process, kind, version, {name: int(number) for name, number in (pair.split("=") for pair in layout.split())}


def read_memory(record):
    """((process, address, identity), bytes)"""
    fields = Fields(record)
    process, _, address, identity = (fields.number() for _ in range(4))
    return (process, address, identity), fields.blob()


def word(data, at):
    return struct.unpack_from("<Q", data, at)[0]


class Code:
    """A code object, with its name and its file."""

    def __init__(self, data, layout):
        texts, at = [], layout["code.size"]
        while at < len(data):
            n = word(data, at)
            texts.append(data[at + 8:at + 8 + n])
            at += 8 + -(-n // 8) * 8
        self.name, self.file = (self.text(text, layout["text"]) for text in texts[:2])

    @staticmethod
    def text(data, head):
        """None: not in memory, or the object is none of code."""
        if len(data) < head:
            return None
        length = word(data, 16)  # of an object with ASCII characters, behind its count and type
        return data[head:head + length].decode("ascii", "replace")


class Reader:
    """Reads a stream: `samples` are pairs of a Sample and the names of its frames, innermost first."""

    def __init__(self, stream):
        self.told, self.runtimes, self.codes, self.samples, self.n_unknown = [], {}, {}, [], 0
        for record in streams.records(stream):
            kind = streams.record_type(record)
            if kind == PROCESS:
                self.inherit(record)
            elif kind == RUNTIME:
                process, language, version, layout = read_runtime(record)
                if language == "cpython":  # others run beside it
                    self.told.append((process, language, version, layout))
                    self.runtimes[process] = layout
            elif kind == MEMORY:
                key, data = read_memory(record)
                if key[0] in self.runtimes:
                    self.codes[key] = Code(data, self.runtimes[key[0]])
            elif kind == SAMPLE:
                sample = read_sample(record)
                self.samples.append((sample, self.names(sample)))

    def inherit(self, record):
        fields = Fields(record)
        process, *_, origin, parent = (fields.number() for _ in range(5))
        if origin == FORKED and parent in self.runtimes:
            self.runtimes[process] = self.runtimes[parent]

    def codes_of(self, sample):
        """The code of its frames, None of an unknown one."""
        return [self.code_of(sample.process, element) for element in sample.lists[0].elements]

    def names(self, sample):
        """None: no walk of CPython's."""
        if 0 not in sample.lists or sample.process not in self.runtimes:
            return None
        codes = self.codes_of(sample)
        self.n_unknown += sum(code is None and element.identity != 0 for code, element in zip(codes, sample.lists[0].elements))
        return [code.name if code else None for code in codes]

    def code_of(self, process, element):
        layout = self.runtimes[process]
        address = word(element.window, layout["frame.code"]) & ~layout.get("frame.tags", 0)
        return self.codes.get((process, address, element.identity))
