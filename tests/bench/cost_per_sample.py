# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sample costs: CPU of each stage, system-wide, while two programs keep two CPUs busy.

    STACKPIPE_BUILD=build python3 cost_per_sample.py [-d SECONDS] [-F HZ] [-s BYTES] [--perf] [-- WORKLOAD…]

With --perf, perf record does the same afterwards: what it loses, costs and writes.

Prints one line a stage and one in all: name=value pairs. Nothing is asserted but the accounting.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build"))
WORKLOAD = Path(__file__).resolve().parent.parent / "programs" / "workload.py"
STAGES = ["perf-source", "live-unwinder", "symbolizer", "capture-sink"]


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=float, default=20, dest="seconds")
    parser.add_argument("-F", default="999", dest="rate")
    parser.add_argument("-s", default="32768", dest="stack_size")
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("workload", nargs="*")
    return parser.parse_args()


def run_pipeline(arguments, directory):
    options = {
        "perf-source": ["-a", "-d", str(arguments.seconds), "-F", arguments.rate, "-s",
                        arguments.stack_size],
        "capture-sink": [str(directory / "out.syscap")],
    }
    processes = []
    for name in STAGES:
        command = [BUILD / name / name, "-q", f"--stats={directory / name}.json",
                   *options.get(name, [])]
        stdin = processes[-1].stdout if processes else subprocess.DEVNULL
        stdout = None if name == STAGES[-1] else subprocess.PIPE
        processes.append(subprocess.Popen(command, stdin=stdin, stdout=stdout))
        if len(processes) > 1:
            stdin.close()
    statuses = [process.wait() for process in processes]
    if any(statuses):
        sys.exit(f"stages failed: {statuses}")


def report(directory, arguments):
    total, samples, adds_up = 0, None, True
    for name in STAGES:
        stats = json.loads((directory / f"{name}.json").read_text())
        cpu = stats["cpu_user_s"] + stats["cpu_sys_s"]
        total += cpu
        samples = samples or stats["samples_in"]
        dropped = sum(stats["dropped"].values())
        adds_up &= stats["samples_in"] == stats["samples_out"] + dropped
        print(f"stage={name} samples_in={stats['samples_in']} samples_out={stats['samples_out']} "
              f"dropped={dropped} cpu_us_per_sample={cpu / samples * 1e6:.2f} "
              f"max_rss_kib={stats['max_rss_kib']}")
        if name == "live-unwinder":
            complete = stats["stacks"]["complete"] / samples
    print(f"stage=all samples={samples} seconds={arguments.seconds} rate={arguments.rate} "
          f"stack_size={arguments.stack_size} cpu_us_per_sample={total / samples * 1e6:.2f} "
          f"complete={complete:.4f} adds_up={adds_up}")
    return adds_up


def run_perf(arguments, directory):
    """perf record -a of the same, with its own defaults; the samples that it says it has lost."""
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
            run_pipeline(arguments, Path(directory))
            adds_up = report(Path(directory), arguments)
            if arguments.perf:
                run_perf(arguments, Path(directory))
            return 0 if adds_up else 1
    finally:
        for process in busy:
            process.kill()
            process.wait()


sys.exit(main())
