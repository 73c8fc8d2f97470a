# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares streams that perf-source -z compresses, that zstd compresses behind it, and plain ones.

    STACKPIPE_BUILD=build python3 compressed.py [-d SECONDS] [-F HZ] [-n ROUNDS]

Records two programs, one of them deep, with stacks that are copied and stacks that the kernel walks. Prints per way:
bytes a sample, CPU a sample of what writes the file and of live-unwinder reading it (the median of the rounds).
Nothing is asserted.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
LOAD = ("def f(n):\n if n: f(n-1)\n else:\n  for i in range(300): sum(range(30))\nwhile 1: f(40)", "while 1: sum(range(1000))")
WAYS = {"plain": ([], None), "-z": (["-z"], None), "-z9": (["-z9"], None), "| zstd -1": ([], ["zstd", "-q", "-1", "-c"]),
        "| zstd -9": ([], ["zstd", "-q", "-9", "-c"])}


def cpu(run):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=float, default=5, dest="seconds")
    parser.add_argument("-F", type=int, default=4999, dest="rate")
    parser.add_argument("-n", type=int, default=3, dest="rounds")
    arguments = parser.parse_args()
    load = [subprocess.Popen([sys.executable, "-c", text]) for text in LOAD]
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
            for unwind in "copy", "kernel":
                for name, (options, packer) in WAYS.items():
                    measure(Path(directory), unwind, name, options, packer, arguments)
    finally:
        for each in load:
            each.kill()


def measure(directory, unwind, name, options, packer, arguments):
    stream, stats, found = directory / "stream", directory / "stats.json", []
    source = [BUILD / "perf-source" / "perf-source", "-q", "-a", f"--unwind={unwind}", "-F", str(arguments.rate),
              "-d", str(arguments.seconds), f"--stats={stats}", *options]

    def record():
        with stream.open("wb") as out:
            first = subprocess.Popen(source, stdout=subprocess.PIPE if packer else out)
            if packer:
                subprocess.run(packer, stdin=first.stdout, stdout=out, check=True)
            assert first.wait() == 0

    def replay():
        with stream.open("rb") as file:
            subprocess.run([BUILD / "live-unwinder" / "live-unwinder", "-q"], stdin=file, stdout=subprocess.DEVNULL, check=True)

    for _ in range(arguments.rounds):
        written = cpu(record)
        counted = json.loads(stats.read_text())
        n = counted["samples_out"]
        found.append((stream.stat().st_size / n, written / n * 1e6, cpu(replay) / n * 1e6, counted["dropped"]["kernel-lost"]))
    bytes_each, writing, reading, lost = (statistics.median(column) for column in zip(*found))
    print(f"unwind={unwind} way={name!r} bytes={bytes_each:.0f} write_us={writing:.1f} read_us={reading:.1f} lost={lost:.0f}", flush=True)


main()
