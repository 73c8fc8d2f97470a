# SPDX-License-Identifier: GPL-3.0-or-later
"""The number of samples in a file of each format, by process, read by independent code."""
import gzip
import json
from collections import Counter

import pages
import streams
from protobuf import fields, varints

SAMPLE_FRAME, PROCESS_FRAME = 2, 4  # types of frames in a capture


def of_folded(path):
    found = Counter()
    for line in path.read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        found[stack.split(";")[0]] += int(n)
    return found


def strings_of_pprof(path):
    return [value.decode() for number, value in fields(gzip.decompress(path.read_bytes())) if number == 6]


def of_pprof(path):
    message = list(fields(gzip.decompress(path.read_bytes())))
    strings, found = strings_of_pprof(path), Counter()
    for sample in (list(fields(value)) for number, value in message if number == 2):
        labels = [dict(fields(value)) for number, value in sample if number == 3]
        process, = (strings[label[2]] for label in labels if strings[label[1]] == "process")
        found[process] += varints(dict(sample)[2])[0]
    return found


def of_otlp(path):
    """All processes together: the process is in attributes of attributes."""
    n = 0
    for resource in (value for number, value in fields(path.read_bytes()) if number == 1):
        for scope in (value for number, value in fields(resource) if number == 2):
            for profile in (value for number, value in fields(scope) if number == 2):
                for sample in (value for number, value in fields(profile) if number == 2):
                    sample = dict(fields(sample))
                    n += sum(varints(sample[4])) if 4 in sample else len(sample[5]) // 8
    return Counter({"": n})


def of_firefox(path):
    found = Counter()
    for thread in json.loads(path.read_text())["threads"]:
        samples = thread["samples"]
        found[thread["processName"]] += sum(samples["weight"] or [1] * samples["length"])
    return found


def of_speedscope(path):
    found = Counter()
    for thread in json.loads(path.read_text())["profiles"]:
        found[thread["name"].rsplit(" ", 1)[0].split(" ")[0]] += sum(thread["weights"])
    return found


def of_page(path):
    return Counter({"": pages.read(path).n_samples})


def of_capture(path):
    frames, _ = streams.syscap_frames(path.read_bytes())
    return Counter({"": sum(number == SAMPLE_FRAME for number, _ in frames)})


READERS = {"folded": of_folded, "pb.gz": of_pprof, "otlp": of_otlp, "firefox.json": of_firefox,
           "speedscope.json": of_speedscope, "html": of_page, "syscap": of_capture}
