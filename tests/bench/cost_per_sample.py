# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the CPU of each stage per sample, system-wide, while two programs keep two CPUs busy.

    STACKPIPE_BUILD=build python3 cost_per_sample.py [-d SECONDS] [-F HZ] [-s BYTES] [--perf] [-- WORKLOAD…]

With --perf, perf record runs the same load afterwards, for what it loses, costs and writes.

Prints one line per stage and a total: name=value pairs. Only the accounting is asserted.
"""
import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import stages

WORKLOAD = Path(__file__).resolve().parent.parent / "programs" / "workload.py"


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=float, default=20, dest="seconds")
    parser.add_argument("-F", default="999", dest="rate")
    parser.add_argument("-s", default="32768", dest="stack_size")
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("workload", nargs="*")
    return parser.parse_args()


def run_pipeline(arguments, directory):
    options = ["-d", str(arguments.seconds), "-F", arguments.rate, "-s", arguments.stack_size]
    with stages.Pipeline(directory, options, [directory / "out.syscap"]) as pipeline:
        pipeline.end()
        return pipeline


def report(pipeline, arguments):
    cost = pipeline.cost()
    for name, stats in pipeline.stats().items():
        print(f"stage={name} samples_in={stats['samples_in']} samples_out={stats['samples_out']} "
              f"dropped={sum(stats['dropped'].values())} "
              f"cpu_us_per_sample={stages.cpu_seconds(stats) / cost['samples'] * 1e6:.2f} "
              f"max_rss_kib={stats['max_rss_kib']}")
    print(f"stage=all samples={cost['samples']} seconds={arguments.seconds} rate={arguments.rate} "
          f"stack_size={arguments.stack_size} cpu_us_per_sample={cost['cpu_us']:.2f} "
          f"complete={cost['complete']:.4f} adds_up={cost['adds_up']}")
    return cost["adds_up"]


def run_perf(arguments, directory):
    """Runs perf record -a with its defaults; returns the samples that it reports as lost."""
    data = directory / "perf.data"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", arguments.rate, "--call-graph",
                    f"dwarf,{arguments.stack_size}", "-o", data, "--", "sleep", str(arguments.seconds)],
                   stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = subprocess.run(["perf", "script", "-i", data, "-F", "pid,event", "-G", "--show-lost-events"],
                          capture_output=True, text=True).stdout
    samples = len(re.findall(r"cpu-clock", text))
    lost = sum(map(int, re.findall(r"PERF_RECORD_LOST lost (\d+)", text)))
    print(f"stage=perf-record samples={samples} lost={lost} lost_share={lost / (samples + lost):.4f} "
          f"cpu_us_per_sample={cpu / samples * 1e6:.2f} file_mb={data.stat().st_size / 1e6:.0f}")


def main():
    arguments = parse_arguments()
    times = 2 if arguments.perf else 1
    workload = arguments.workload or [sys.executable, WORKLOAD, str(times * arguments.seconds + 15)]
    busy = [subprocess.Popen(workload, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
            adds_up = report(run_pipeline(arguments, Path(directory)), arguments)
            if arguments.perf:
                run_perf(arguments, Path(directory))
            return 0 if adds_up else 1
    finally:
        for process in busy:
            process.kill()
            process.wait()


sys.exit(main())
