# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures the cost of the sandbox: a prerecorded stream goes through each stage with and without it,
alternating; prints the ratio of the medians of their CPU times. For preload-source, measures the
reader while a program makes 10,000,000 calls.

	sandboxed.py [RUNS]
"""
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import stages

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 41
STRESS = stages.BUILD / "tests" / "heap" / "heap-stress"
WORKLOAD = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do python3 -c 'import json; [json.dumps(list(range(2000))) "
            "for _ in range(80000)]' & done; wait"]


def program(name):
    return stages.BUILD / name / name


def cpu_of(command, stdin, stdout):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with stdin.open("rb") as source, stdout.open("wb") as sink:
        subprocess.run(command, stdin=source, stdout=sink, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_of_reader(mode, directory):
    stats = directory / "stats.json"
    subprocess.run([program("preload-source"), "-q", f"--sandbox={mode}", f"--stats={stats}", "--", STRESS, "2", "5000000"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return stages.cpu_seconds(json.loads(stats.read_text()))


def compare(name, cpu):
    seconds = {"required": [], "off": []}
    for run in range(RUNS):
        for mode in sorted(seconds, reverse=run % 2):
            seconds[mode].append(cpu(mode))
    with_it, without = (statistics.median(seconds[mode]) for mode in ("required", "off"))
    print(json.dumps({"stage": name, "runs": RUNS, "cpu_s": round(without, 4),
                      "ratio": round(with_it / without, 4)}), flush=True)


def main():
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        streams = [directory / f"{i}.stream" for i in range(4)]
        with streams[0].open("wb") as out:
            subprocess.run([program("perf-source"), "-q", "--", *WORKLOAD], stdout=out, check=True)
        for i, (name, arguments) in enumerate([
                ("live-unwinder", []), ("symbolizer", []),
                ("capture-sink", ["-q", "--force", "-f", "syscap", "-"])]):
            compare(name, lambda mode: cpu_of([program(name), f"--sandbox={mode}", *arguments],
                                              streams[i], streams[i + 1]))
        compare("preload-source", lambda mode: cpu_of_reader(mode, directory))


if __name__ == "__main__":
    main()
