#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures the cost of recording a busy machine's waits: pairs of threads hand a token over, with at least 20,000
switches a second, alone and beside a recording of all processes, alternating. Also beside perf, which takes one
address per sample and no stack: a lower bound without stacks and without stages.

	off_cpu.py [-n TURNS] [-s SECONDS] [-w WORK]
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline  # noqa: E402

HAND_OVER = pipeline.BUILD / "tests" / "bench" / "hand-over"
TIMER = "perf, addresses alone"
SETTLED_S = 2  # the recording has started by then; its effect on the workload is what is measured


def switches():
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("ctxt"):
            return int(line.split()[1])
    return 0


def hops(seconds, work):
    """Hops a second of the workload, and switches a second of the machine during it."""
    before, begun = switches(), time.monotonic()
    out = subprocess.run([HAND_OVER, "4", str(seconds), str(work)], capture_output=True, check=True, text=True).stdout
    n, taken = out.split()
    return int(n) / float(taken), (switches() - before) / (time.monotonic() - begun)


def recorded(directory, options, seconds, work):
    commands = [[pipeline.program("perf-source"), "-a", *options], [pipeline.program("live-unwinder")],
                [pipeline.program("symbolizer")], [pipeline.program("capture-sink"), "--force", directory / "o.syscap"]]
    commands = [[*command, "-q", f"--stats={directory}/{command[0].name}.json"] for command in commands]
    running = pipeline.Pipeline(*commands)
    time.sleep(SETTLED_S)
    result = hops(seconds, work)
    running.signal(signal.SIGINT)
    for ended in running.end():
        assert ended.status == 0, ended
    return result


def timed(directory, seconds, work):
    running = subprocess.Popen(["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "999",
                                "-o", directory / "perf.data"])
    time.sleep(SETTLED_S)
    result = hops(seconds, work)
    running.send_signal(signal.SIGINT)
    running.wait()
    return result


def print_kind(kind, ratios, stats):
    print(f"{kind}: of its work alone {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", end="")
    if stats:
        waits, dropped, events = (json.dumps(stats.get(key, {})) for key in ("waits", "dropped", "events"))
        print(f" waits={waits} dropped={dropped} events={events}", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("-s", type=float, default=5)
    parser.add_argument("-w", type=int, default=60000, help="steps of work between two hops")
    arguments = parser.parse_args()
    kinds = {TIMER: None, "on-cpu": [], "off-cpu": ["--off-cpu"], "off-cpu, -F 99": ["--off-cpu", "-F", "99"]}
    ratios, rates = {kind: [] for kind in kinds}, []
    stats = {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for _ in range(arguments.n):
            for kind, options in kinds.items():
                before, rate = hops(arguments.s, arguments.w)
                rates.append(rate)
                if kind == TIMER:
                    during, _ = timed(directory, arguments.s, arguments.w)
                else:
                    during, _ = recorded(directory, options, arguments.s, arguments.w)
                    stats[kind] = json.loads((directory / "perf-source.json").read_text())
                after, _ = hops(arguments.s, arguments.w)
                ratios[kind].append(during * 2 / (before + after))
    print(f"switches a second, alone: {statistics.median(rates):.0f}")
    for kind, values in ratios.items():
        print_kind(kind, values, stats.get(kind))


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    main()
