#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the seeds of the corpus of perf.data files:

	make-perfdata-seeds.py DIRECTORY

They are cut from tests/data/small.perf.*, to fewer samples, shorter stacks and useful features, since
libFuzzer works best on small inputs.
"""
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import test_perfdata as perfdata  # noqa: E402: it is no package

STACK, KEPT, BEHIND = 1024, 64, 16  # bytes: recorded, kept, and behind the stack: dyn_size and DATA_SRC
N_SAMPLES = 2
FEATURES = 2, 3, 4, 6, 7, 21, 27
EVENT_DESC, SOFTWARE = 12, 1
TYPE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 6  # IP, TID, TIME, READ, ID
GROUP = 1 << 2 | 1 << 3  # read_format: ID, GROUP
ATTR, FEATURE = 64, 80
TRACING_DATA, AUXTRACE, MMAP, LOST, FORK, KSYMBOL = 66, 71, 1, 2, 7, 17
PID, TIME = 30780, 5445500000000  # of the recorded program


def with_short_stack(sample):
    at = len(sample) - BEHIND - STACK - 8
    assert struct.unpack_from("<Q", sample, at)[0] == STACK
    payload = sample[8:at] + struct.pack("<Q", KEPT) + sample[at + 8:at + 8 + KEPT] + \
        sample[-BEHIND:]
    return record(perfdata.SAMPLE, payload)


def record(number, payload):
    return perfdata.RECORD.pack(number, 2, perfdata.RECORD.size + len(payload)) + payload


def small(path):
    perf = perfdata.PerfFile(path.read_bytes())
    perf.features = {number: perf.features[number] for number in FEATURES
                     if number in perf.features}
    return perf


def plain():
    perf, kept, n = small(perfdata.PLAIN), [], 0
    for each in perf.records():
        if perfdata.record_type(each) == perfdata.SAMPLE:
            n += 1
            each = with_short_stack(each)
        if n <= N_SAMPLES or perfdata.record_type(each) != perfdata.SAMPLE:
            kept.append(each)
    perf.data = b"".join(kept)
    return perf


def pipe():
    """The header of the recorded pipe, and the same records."""
    data, at, kept = perfdata.PIPE.read_bytes(), 16, b""
    while at < len(data):
        number, _, size = perfdata.RECORD.unpack_from(data, at)
        if number == ATTR or (number == FEATURE and
                              struct.unpack_from("<Q", data, at + 8)[0] in FEATURES):
            kept += data[at:at + size]
        at += size
    return data[:16] + kept + plain().data


def more_records():
    """Record types that this recording does not contain."""
    tail = struct.pack("<IIQ", PID, PID, TIME)
    perf = plain()
    perf.data += record(TRACING_DATA, struct.pack("<I", 5)) + bytes(8)
    perf.data += record(AUXTRACE, struct.pack("<Q", 24) + bytes(32)) + bytes(24)
    perf.data += record(LOST, struct.pack("<QQ", 1, 3) + tail)
    perf.data += record(FORK, struct.pack("<IIIIQ", PID + 1, PID, PID + 1, PID, TIME) + tail)
    perf.data += record(MMAP, struct.pack("<IIQQQ8s", PID + 1, PID + 1, 0x10000, 0x1000, 0,
                                          b"/old") + tail)
    perf.data += record(KSYMBOL, struct.pack("<QIHH8s", 0xffffffffc0001000, 0x80, 1, 0,
                                             b"bpf_xyz") + tail)
    return perf


def compressed():
    perf = plain()
    perf.data = perfdata.compressed(perf.data, random.Random(1))
    return perf


def several_events():
    """A group of two events, the same on two PMUs, and an event whose name is stored twice."""
    events = [(SOFTWARE, 0, b"cpu-clock"), (SOFTWARE, 2, b"page-faults"), (SOFTWARE, 2, b"page-faults"),
              (0, 4 << 32, b"cpu_core/cycles/P"), (0, 10 << 32, b"cpu_atom/cycles/P")]
    ids = [struct.pack("<Q", i + 1) for i in range(len(events))]
    attrs = [struct.pack("<IIQQQQ24x", kind, 64, config, 99, TYPE, GROUP) for kind, config, _ in events]
    at = 104 + len(events) * (64 + 16)
    head = struct.pack("<8sQQQQ", b"PERFILE2", 104, 64 + 16, 104, at - 104).ljust(104, b"\0")
    head += b"".join(attr + struct.pack("<QQ", at + i * 8, 8) for i, attr in enumerate(attrs)) + b"".join(ids)
    perf = perfdata.PerfFile(bytearray(head[:40]) + struct.pack("<QQ", len(head), 0) + head[56:])
    for i in range(4):
        values = struct.pack("<QQQQQ", 2, 1000 * i, 1, 3 * i, 2)
        perf.data += record(perfdata.SAMPLE, struct.pack("<QIIQQ", 0x1000, PID, PID, TIME + i, 1) + values)
        perf.data += record(perfdata.SAMPLE, struct.pack("<QIIQQ", 0x1000, PID, PID, TIME + i, i + 2) +
                            struct.pack("<QQQ", 1, i, i + 2))
    named = b"".join(attr + struct.pack("<II32s", 1, 32, name) + number
                     for attr, number, (_, _, name) in zip(attrs, ids, events))
    perf.features = {EVENT_DESC: struct.pack("<II", len(events), 64) + named}
    return perf


def main():
    directory = Path(sys.argv[1])
    seeds = {
        "file": plain().to_bytes(),
        "file-that-others-may-change": plain().to_bytes() + b"\0",  # see fuzz-perfdata.c
        "killed": plain().as_killed(),
        "compressed": compressed().to_bytes(),
        "zstd": small(perfdata.ZSTD).to_bytes(),
        "pipe": pipe(),
        "several-events": several_events().to_bytes(),
        "more-records": more_records().to_bytes(),
    }
    for name, data in seeds.items():
        (directory / name).write_bytes(data)


main()
