# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares stacks that the kernel walks with stacks that are copied, on the whole machine, in one run.

    STACKPIPE_BUILD=build python3 kernel_walks.py [-d SECONDS] [-F HZ] [-n ROUNDS] [--depth CALLS] [--perf]

A loop keeps each CPU busy and counts its turns. In each round it runs alone, and beside each way of
recording: the turns that are missing, in microseconds of CPU for each sample, are all that the recording
costs, the kernel's part included. With --perf, perf record runs as well: without stacks, and with copies;
with --otel PROFILER, OpenTelemetry's eBPF profiler (otel.py tells what it needs).

Prints medians over the rounds: samples, lost, us_lost_per_sample, us_of_stages_per_sample, bytes_per_sample.
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import tempfile
from pathlib import Path

import stages

LOOP = stages.BUILD / "tests" / "bench" / "loop-count"
CPUS = sorted(os.sched_getaffinity(0))
WARM_UP_S = 1.5  # until tables are made and rings are open


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=float, default=10, dest="seconds")
    parser.add_argument("-F", type=int, default=999, dest="rate")
    parser.add_argument("-n", type=int, default=5, dest="rounds")
    parser.add_argument("--depth", default="12")
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("--otel", metavar="PROFILER")
    return parser.parse_args()


def turns(depth, seconds):
    """The turns of all loops, one pinned to each CPU."""
    loops = [subprocess.Popen(["taskset", "-c", str(cpu), LOOP, depth, str(seconds)], stdout=subprocess.PIPE)
             for cpu in CPUS]
    return sum(int(loop.communicate()[0]) for loop in loops)


def beside_pipeline(given, mode, directory):
    """Turns beside all stages, and what these say of themselves."""
    out = directory / f"{mode}.syscap"
    out.unlink(missing_ok=True)
    with stages.Pipeline(directory, ["-F", str(given.rate), f"--unwind={mode}"], [out]) as pipeline:
        turns(given.depth, WARM_UP_S)
        n = turns(given.depth, given.seconds)
        pipeline.stop()
        cost, source = pipeline.cost(), pipeline.stats()["perf-source"]
    walked = source.get("kernel-walks", {}).get("walked", 0)
    return n, {"samples": cost["samples"], "lost": cost["lost"], "us_of_stages_per_sample": cost["cpu_us"],
               "bytes_per_sample": source["bytes_out"] / cost["samples"], "walked": walked / cost["samples"]}


def beside_perf(given, options, directory):
    """Turns beside perf record, and the samples that it reports."""
    data = directory / "perf.data"
    perf = subprocess.Popen(["perf", "record", "-a", "-e", "cpu-clock", "-F", str(given.rate), *options, "-o", data],
                            stderr=subprocess.PIPE, text=True)
    turns(given.depth, WARM_UP_S)
    n = turns(given.depth, given.seconds)
    perf.send_signal(signal.SIGINT)
    said = perf.communicate()[1]
    found = re.search(r"\(~?(\d+) samples\)|\((\d+) samples\)", said)
    report = {"samples": int(next(filter(None, found.groups()))) if found else given.rate * given.seconds * len(CPUS),
              "bytes_per_sample": 0}
    report["bytes_per_sample"] = data.stat().st_size / report["samples"]
    return n, report


def beside_otel(given):
    """Turns beside OpenTelemetry's profiler, which sends what it has each five seconds."""
    import otel

    class Counter(otel.Receiver):
        n = 0

        def take_sample(self, table, pids, sample):
            self.n += otel.weight(sample)

    counter = Counter()
    with otel.running(given.otel, given.rate, counter) as agent:
        turns(given.depth, WARM_UP_S)
        n_before, spent_before = counter.n, cpu_seconds(agent.pid)
        n = turns(given.depth, given.seconds)
        spent = cpu_seconds(agent.pid) - spent_before
    n_samples = given.rate * given.seconds * len(CPUS)
    return n, {"samples": counter.n - n_before, "us_of_stages_per_sample": spent / n_samples * 1e6}


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    given = arguments()
    ways = {"copy": lambda directory: beside_pipeline(given, "copy", directory),
            "kernel": lambda directory: beside_pipeline(given, "kernel", directory)}
    if given.perf:
        ways["perf"] = lambda directory: beside_perf(given, [], directory)
        ways["perf-dwarf"] = lambda directory: beside_perf(given, ["--call-graph", "dwarf,16384"], directory)
    if given.otel:
        ways["otel"] = lambda _: beside_otel(given)
    results = {name: [] for name in ways}
    n_samples = given.rate * given.seconds * len(CPUS)
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as directory:
            for name, beside in ways.items():
                alone = turns(given.depth, given.seconds)
                n, report = beside(Path(directory))
                lost_s = (1 - n / alone) * given.seconds * len(CPUS)
                results[name].append({"us_lost_per_sample": lost_s / n_samples * 1e6, **report})
    for name, rounds in results.items():
        print(f"way={name} rate={given.rate}", *(f"{key}={statistics.median(each[key] for each in rounds):.2f}"
                                                 for key in rounds[0]))


if __name__ == "__main__":
    main()
