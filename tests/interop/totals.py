# SPDX-License-Identifier: GPL-3.0-or-later
"""The self and total samples of each function in a file of each format.

Every reader returns {function: [self, total]}, with the symbolizer's names.
"""
import gzip
import json
import re
from collections import defaultdict

import backends

MARK = re.compile(r"_\[[kij]\]$")


class Totals:
    def __init__(self):
        self.found = defaultdict(lambda: [0, 0])

    def add(self, names, n=1):
        """Adds a stack, outermost function first."""
        if names:
            self.found[names[-1]][0] += n
        for name in set(names):
            self.found[name][1] += n

    def get(self):
        return {name: tuple(counts) for name, counts in self.found.items()}


def of_folded(path):
    totals = Totals()
    for line in path.read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        totals.add([MARK.sub("", name) for name in stack.split(";")[1:]], int(n))
    return totals.get()


def of_speedscope(path):
    profile, totals = json.loads(path.read_text()), Totals()
    frames = profile["shared"]["frames"]
    for thread in profile["profiles"]:
        assert len(thread["samples"]) == len(thread["weights"])
        for stack in thread["samples"]:
            totals.add([frames[i]["name"] for i in stack])
    return totals.get()


def of_firefox(path):
    profile, totals = json.loads(path.read_text()), Totals()
    for thread in profile["threads"]:
        strings, stacks = thread["stringArray"], thread["stackTable"]
        frames, functions = thread["frameTable"], thread["funcTable"]
        for stack in thread["samples"]["stack"]:
            names = []
            while stack is not None:
                names.append(strings[functions["name"][frames["func"][stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            totals.add(names[::-1])
    return totals.get()


def of_pprof_raw(text):
    """Reads the output of `go tool pprof -raw`."""
    totals, samples, locations, section = Totals(), [], {}, None
    location = None
    for line in text.splitlines():
        if line in ("Samples:", "Locations", "Mappings"):
            section = line
        elif section == "Samples:":
            found = re.match(r" *(\d+) +\d+: ([\d ]*)$", line)
            if found:
                samples.append((int(found[1]), [int(each) for each in found[2].split()]))
        elif section == "Locations":
            found = re.match(r" *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)$", line)
            if found:
                location = int(found[1])
                locations[location] = []
                line = found[2]
            name = re.match(r" *(.*?) (?:<[^>]*>|\S*):\d+:?\d* s=\d+", line)  # CPython has files like <frozen abc>
            locations[location].append(name[1])
    for n, stack in samples:
        names = [name for number in stack for name in locations[number]]
        totals.add(names[::-1], n)
    return totals.get()


def of_otlp(data):
    """Reads an official ProfilesData message, and checks the backends' rules on the way."""
    backends.check(data)
    reader, totals = backends.Reader(data), Totals()
    for _, profile in reader.profiles():
        for sample in profile.samples:
            totals.add(reader.stack(sample), sample.values[0])
    return totals.get()


def is_gzip(path):
    with gzip.open(path) as file:
        return bool(file.read(1))
