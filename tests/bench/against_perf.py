# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a whole replay with `perf script` on the same perf.data, alternating, on one CPU each.

    STACKPIPE_BUILD=build python3 against_perf.py [-d SECONDS] [-F HZ] [--newer] [--perf PERF]… [NAME…]

Measures user and system CPU of all processes together (median and range of a few rounds), and how well
each unwinds the samples. --newer adds a perf of a newer Debian, which unwinds by libdw and is fetched
into the build directory. --perf may be a command with arguments.
"""
import argparse
import collections
import os
import resource
import shlex
import subprocess
import tempfile
from pathlib import Path

import workloads

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
ROUNDS = 5
PIPELINE = ("{b}/perfdata-source/perfdata-source {f} | {b}/live-unwinder/live-unwinder -q | "
            "{b}/symbolizer/symbolizer -q --no-inlines | {b}/capture-sink/capture-sink -q -f folded -")


def cpu_of(command, output):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(output, "wb") as stdout:
        subprocess.run(command, stdout=stdout, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judge_perf(text):
    """Counts samples, frames, samples without a frame, and samples that reach the program's start."""
    counts = collections.Counter()
    for block in text.split("\n\n"):
        names = [line.split(maxsplit=1)[-1] for line in block.strip("\n").splitlines() if line.strip()]
        if not names:
            continue
        counts["samples"] += 1
        counts["frames"] += len(names)
        counts["to_start"] += names[-1].startswith(("_start", "_dl_start_user", "clone", "__clone"))
    return counts


def judge_folded(text):
    counts = collections.Counter()
    for line in text.splitlines():
        names, n = line.rsplit(" ", 1)
        names = names.split(";")[1:]
        marks = names[:1] if names and names[0].startswith("[") and "+0x" not in names[0] else []
        counts["samples"] += int(n)
        counts["frames"] += int(n) * (len(names) - len(marks))
        counts["to_start"] += int(n) * (len(names) > 0 and not marks)
        counts["empty"] += int(n) * (len(names) == len(marks))
    return counts


def describe(seconds, counts):
    seconds = sorted(seconds)
    return (f"cpu_s={seconds[len(seconds) // 2]:.3f} from={seconds[0]:.3f} to={seconds[-1]:.3f} "
            f"samples={counts['samples']} frames={counts['frames']} empty={counts['empty']} "
            f"to_start={100 * counts['to_start'] / max(1, counts['samples']):.2f}%")


def fetch_newer_perf():
    directory = BUILD / "tests" / "bench" / "newer-perf"
    subprocess.run([Path(__file__).resolve().parent / "fetch-perf", directory], check=True)
    return shlex.join([str(directory / "run"), "perf"])


def samples_in(perf, file):
    text = subprocess.run([*perf, "script", "-i", file, "-F", "pid"], capture_output=True, text=True).stdout
    return len(text.splitlines())


def measure(name, command, arguments, directory):
    file = directory / f"{name}.data"
    subprocess.run(["perf", "record", "-q", "-m", "16M", "-e", "cpu-clock", "-F", arguments.rate,
                    "--call-graph", f"dwarf,{arguments.stack}", "-o", file, "--", *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    os.sync()  # pending write-back would otherwise be charged to the next run
    perfs = [shlex.split(perf) for perf in arguments.perf or ["perf"]]
    ours = ["sh", "-c", PIPELINE.format(b=BUILD, f=file)]
    theirs = [[*perf, "script", "-i", str(file), "-F", "ip,sym", "--no-inline"] for perf in perfs]
    times = collections.defaultdict(list)
    outputs = [directory / f"out.{i}" for i in range(1 + len(perfs))]
    for _ in range(ROUNDS):
        for i, command in enumerate([ours, *theirs]):
            times[i].append(cpu_of(["taskset", "-c", "1", *command], outputs[i]))
    median = {i: sorted(seconds)[ROUNDS // 2] for i, seconds in times.items()}
    print(f"file={name} tool=stackpipe {describe(times[0], judge_folded(outputs[0].read_text()))}")
    n_all = samples_in(perfs[0], str(file))
    for i, perf in enumerate(perfs, 1):
        version = subprocess.run([*perf, "--version"], capture_output=True, text=True).stdout.strip()
        counts = judge_perf(outputs[i].read_text(errors="replace"))
        counts["empty"] = n_all - counts["samples"]
        counts["samples"] = n_all
        print(f"file={name} tool='{version}' {describe(times[i], counts)} "
              f"share_of_it={median[0] / median[i]:.3f}", flush=True)
    file.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=int, default=10, dest="seconds")
    parser.add_argument("-F", default="9999", dest="rate")
    parser.add_argument("-s", default="8192", dest="stack")
    parser.add_argument("--perf", action="append")
    parser.add_argument("--newer", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.newer:
        arguments.perf = [*(arguments.perf or ["perf"]), fetch_newer_perf()]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = Path(directory)
        os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
        for name, command in workloads.commands(arguments.seconds, directory).items():
            if not arguments.names or name in arguments.names:
                measure(name, command, arguments, directory)


if __name__ == "__main__":
    main()
