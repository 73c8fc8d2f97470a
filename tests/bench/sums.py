#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Many samples of a machine with many CPUs: checks that each output file, read by independent code, holds all.

    sums.py [SAMPLES [CPUS]]        # 10,000,000 of 64

Prints a line per format: "FORMAT fed N held N difference N seconds S rss_mib M".
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "pipeline"))
os.environ.setdefault("STACKPIPE_BUILD", str(TOP / "build"))

import made  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402
import sums  # noqa: E402

PROCESSES, STACKS, DEPTH, BLOCK = 40, 2000, 12, 1 << 16
TIME = struct.Struct("<Q")
SYMBOLIZED = TOP / "tests" / "data" / "small.symbolized.stream"


def write_stream(out, n, n_cpus):
    """Writes samples of all processes."""
    choose, fed = random.Random(1), Counter()
    hello, *_, end = streams.records(SYMBOLIZED.read_bytes())
    processes = [made.process(made.UPID + i, made.PID + i, f"process{i}") for i in range(PROCESSES)]
    templates = [(i % PROCESSES, bytearray(made.stack([(made.CODE + choose.randrange(5000), 1) for _ in range(DEPTH)],
                                                      upid=made.UPID + i % PROCESSES, tid=made.PID + i % PROCESSES)))
                 for i in range(STACKS)]
    before = [hello, *processes, made.image(), made.mapping()]
    out.write(b"".join(before))
    at, period = 0, 1_001_001 // n_cpus
    while at < n:
        block = []
        for _ in range(min(BLOCK, n - at)):
            process, record = templates[int(choose.paretovariate(0.7)) % STACKS]
            TIME.pack_into(record, streams.RECORD_HEADER.size, at * period)
            fed[f"process{process}"] += 1
            block.append(bytes(record))
            at += 1
        out.write(b"".join(block))
    counts = Counter(map(streams.record_type, before))
    counts[made.STACK] += n
    out.write(streams.with_totals(end, counts))
    return fed


def convert(stream, ending, directory):
    out, stats = directory / f"out.{ending}", directory / "stats.json"
    begun = time.monotonic()
    with stream.open("rb") as stdin:
        subprocess.run([pipeline.program("capture-sink"), "-q", "--force", f"--stats={stats}", out], stdin=stdin, check=True)
    return out, time.monotonic() - begun, json.loads(stats.read_text())


def main():
    n, n_cpus = (int(each) for each in (sys.argv[1:] + ["10000000", "64"][len(sys.argv) - 1:]))
    with tempfile.TemporaryDirectory(prefix="stackpipe-sums-") as name:
        directory = Path(name)
        stream = directory / "in.stream"
        with stream.open("wb") as out:
            fed = write_stream(out, n, n_cpus)
        failed = False
        for ending, read in sums.READERS.items():
            out, seconds, stats = convert(stream, ending, directory)
            held = read(out)
            differs = held.total() != n or (len(held) > 1 and held != fed) or stats["samples_out"] != n
            failed |= differs
            print(f"{ending} fed {n} held {held.total()} difference {held.total() - n} seconds {seconds:.1f} "
                  f"rss_mib {stats['max_rss_kib'] // 1024}{' WRONG' if differs else ''}", flush=True)
            out.unlink()
        return failed


if __name__ == "__main__":
    sys.exit(main())
