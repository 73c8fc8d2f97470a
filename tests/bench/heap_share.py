#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures what sampling a program's allocations costs where the program's own time varies by more than that:
from perf's samples of the whole machine, the CPU of our processes, and of our library in the program, in percent
of the program's own CPU.

	heap_share.py [-n ROUNDS] [WORKLOAD...]

The workloads are the long ones of heap.py. One line of JSON a workload: medians and range of the rounds."""
import argparse
import collections
import statistics
import subprocess
import tempfile
from pathlib import Path

import heap

OURS = {"stackpipe", "preload-source", "image-server", "process-opener", "live-unwinder", "symbolizer"}
LIBRARY = "libstackpipe-preload.so"
FREQUENCY = 4999


def who_is_charged(comm, frames, program):
    """Name of what a sample's CPU time is charged to; None: something else on the machine."""
    if comm in OURS:
        return comm
    if comm != program:
        return None
    user = next((frame for frame in frames if "([" not in frame), "")
    return "in the program" if LIBRARY in user else program


def count(data, program):
    """Counts samples by what they are charged to."""
    text = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,dso"], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
    samples = (sample.strip().splitlines() for sample in text.split("\n\n") if sample.strip())
    return collections.Counter(who_is_charged(lines[0].strip(), lines[1:], program) for lines in samples)


def percents(command, directory):
    """CPU in percent of the program's own, by what it is charged to."""
    data, program = directory / "perf.data", Path(command[0]).name[:15]
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-F", str(FREQUENCY), "-o", data, "--",
                    heap.STACKPIPE, "heap", "-q", "--force", "-S", "512K", "-o", directory / "a.heap",
                    "--", *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counts = count(data, program)
    counts.pop(None, None)
    own = counts.pop(program)
    return {"seconds": own / FREQUENCY, "all": 100 * counts.total() / own,
            **{who: 100 * n / own for who, n in counts.items()}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for workload, (_, command) in heap.workloads(directory).items():
            if options.workloads and workload not in options.workloads:
                continue
            rounds = [percents(command, directory) for _ in range(options.rounds)]
            medians = {who: statistics.median(round_.get(who, 0) for round_ in rounds) for who in rounds[0]}
            least, most = (f(round_["all"] for round_ in rounds) for f in (min, max))
            heap.tell({"workload": workload, **medians, "all_least": least, "all_most": most})


if __name__ == "__main__":
    main()
