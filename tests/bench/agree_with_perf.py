# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares our self shares of a program's hottest functions with perf's, side by side.

    STACKPIPE_BUILD=build python3 agree_with_perf.py [SECONDS]

Needs perf. The two record one after the other, so the shares also differ by chance.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build"))
WORKLOAD = Path(__file__).resolve().parent.parent / "programs" / "workload.py"
SHOWN = 10


def ours(command):
    stages = [[BUILD / "perf-source/perf-source", "-q", "-e", "cpu-clock", "--", *command],
              [BUILD / "live-unwinder/live-unwinder"], [BUILD / "symbolizer/symbolizer", "--no-inlines"],
              [BUILD / "capture-sink/capture-sink", "-q", "-f", "folded", "-"]]
    processes = []
    for stage in stages:
        stdin = processes[-1].stdout if processes else subprocess.DEVNULL
        processes.append(subprocess.Popen(stage, stdin=stdin, stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL))
    folded = processes[-1].communicate()[0].decode()
    shares = collections.Counter()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        shares[re.sub(r"(_\[k\]|@plt)$", "", stack.split(";")[-1])] += int(count)
    return shares


def perfs(command, directory):
    data = directory / "perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "--call-graph",
                    "dwarf,32768", "-o", data, "--", *command], check=True,
                   stderr=subprocess.DEVNULL)
    report = subprocess.run(
        ["perf", "report", "-i", data, "--no-children", "--no-inline", "-g", "none", "-s", "sym",
         "--stdio", "-n"], check=True, capture_output=True, text=True).stdout
    shares = collections.Counter()
    for line in report.splitlines():
        match = re.match(r" +[\d.]+% +(\d+) +\[.\] (.*?)\s*$|"
                         r" +[\d.]+% +(\d+) +\[k\] (.*?)\s*$", line)
        if match:
            name = re.sub(r"@plt$", "", match.group(2) or match.group(4))
            shares[name] += int(match.group(1) or match.group(3))
    return shares


def in_percent(shares):
    total = sum(shares.values())
    return {name: 100 * count / total for name, count in shares.items()}


def same(name):
    """perf shows a nameless function as its address, we show it as [file+0xaddress]."""
    match = re.match(r"\[.*\+(0x[0-9a-f]+)\]$", name)
    return f"{int(match.group(1), 16):#018x}" if match else name


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "20"
    command = [sys.executable, str(WORKLOAD), seconds]
    with tempfile.TemporaryDirectory() as directory:
        theirs = in_percent(perfs(command, Path(directory)))
    shares = in_percent(ours(command))
    shares = collections.Counter({same(name): share for name, share in shares.items()})
    worst = 0
    for name, share in shares.most_common(SHOWN):
        difference = share - theirs.get(name, 0)
        worst = max(worst, abs(difference))
        print(f"function={name} stackpipe={share:.2f} perf={theirs.get(name, 0):.2f} "
              f"difference={difference:+.2f}")
    print(f"largest_difference={worst:.2f} percentage points")


main()
