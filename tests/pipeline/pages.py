# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of a page beside its samples; formats/html.c describes the format."""
import base64
import collections
import json
import re
import zlib

Page = collections.namedtuple("Page", "header n_samples sums counters marks")
Mark = collections.namedtuple("Mark", "time duration process tid group name text")


class Numbers:
    """LEB128."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value


def skip(numbers, n):
    for _ in range(n):
        numbers.next()


def read_sums(header, numbers):
    """(number of samples, {unit: sum of weights})"""
    units, n = header["units"], 0
    sums = dict.fromkeys(units, 0)
    for _ in range(header["samples"]):
        skip(numbers, 3)
        n += numbers.next() if header["repeats"] else 1
        for unit in units:
            sums[unit] += numbers.next()
        if header["waits"] >= 0:
            skip(numbers, 2)
        if header["contexts"]:
            skip(numbers, 1)
    return n, sums


def skip_contexts(header, numbers):
    for _ in range(header["contexts"]):
        skip(numbers, 2)
        skip(numbers, 2 * numbers.next())


def read_counters(header, numbers):
    """{(category, name): [(microseconds, value), …]}"""
    named, found, time = [], {}, 0
    for _ in range(header["counters"]):
        category, name, _ = (header["strings"][numbers.next()] for _ in range(3))
        named.append((category, name, numbers.next()))
    for _ in range(header["counter_values"]):
        time += numbers.next()
        category, name, divisor = named[numbers.next()]
        found.setdefault((category, name), []).append((time, numbers.next() / divisor))
    return found


def read_marks(header, numbers):
    marks, time = [], 0
    for _ in range(header["marks"]):
        time += numbers.next()
        marks.append(Mark(time, numbers.next(), numbers.next(), numbers.next(),
                          *(header["strings"][numbers.next()] for _ in range(3))))
    return marks


DATA = re.compile(r'(id="data">\s*)([A-Za-z0-9+/=]+)(\s*</script>)')


def unpack(text):
    """(header, Numbers after it)"""
    plain = zlib.decompress(base64.b64decode(DATA.search(text)[2]))
    size = int.from_bytes(plain[:4], "little")
    return json.loads(plain[4:4 + size]), plain[4 + size:]


def of_another_version(text):
    """A page whose data has a layout from the future."""
    header, rest = unpack(text)
    told = json.dumps(dict(header, format=header["format"] + 1)).encode()
    packed = base64.b64encode(zlib.compress(len(told).to_bytes(4, "little") + told + rest)).decode()
    return DATA.sub(lambda found: found[1] + packed + found[3], text)


def read(path):
    header, rest = unpack(path.read_text())
    numbers = Numbers(rest)
    skip(numbers, 3 * header["functions"] + 2 * (header["nodes"] - 1) + 4 * header["processes"] + 3 * header["threads"])
    skip_contexts(header, numbers)
    n_samples, sums = read_sums(header, numbers)
    skip(numbers, 2 * header["losses"])
    return Page(header, n_samples, sums, read_counters(header, numbers), read_marks(header, numbers))
