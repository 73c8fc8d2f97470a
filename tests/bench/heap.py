#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to trace a program's allocations, beside heaptrack, interleaved; medians of rounds.

	heap.py [-n ROUNDS] [WORKLOAD...]

Added time is that of the command with the tracer, to a finished file, less that of the command alone. heaptrack runs
with its interpreter (full) where that survives, else raw (-r), which is said. One line of JSON a workload."""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", Path(__file__).resolve().parents[2] / "build"))
STRESS = BUILD / "tests" / "heap" / "heap-stress"
STACKPIPE = BUILD / "stackpipe" / "stackpipe"
PYTHON = """
import collections, json, re
texts = [json.dumps({"a": i, "b": [1, 2, 3], "c": {"x": str(i)}}) for i in range(60000)]
values = [json.loads(text) for text in texts]
print(len(collections.Counter(word for text in texts for word in re.findall(r"\\d+", text))), len(values))
"""
MEMORY_MAX = 4 << 30  # of heaptrack's interpreter, which has taken more than the machine has


def workloads(directory):
    found = {f"stress-{n}": [STRESS, n, 2000000] for n in (1, 2, 4)}
    python = "/usr/bin/python3"  # no shell script in front of it
    script = directory / "texts.py"
    script.write_text(PYTHON)
    found["python3"] = [python, script]
    source = directory / "a.cc"
    source.write_text("#include <bits/stdc++.h>\n#include <regex>\n"
                      "int main() { std::regex r(\"a|b\"); return std::regex_match(\"a\", r); }\n")
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE,
                             check=True).stdout.decode().strip()
    subprocess.run(["g++", "-E", "-o", directory / "a.ii", source], check=True)
    found["cc1plus"] = [cc1plus, "-quiet", "-O1", "-fpreprocessed", directory / "a.ii", "-o",
                        "/dev/null"]
    return {name: [str(word) for word in command] for name, command in found.items()}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


def measure(command, directory, **options):
    """(wall, CPU of all its processes, output)"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            done.stdout.decode(errors="replace"))


def clear(directory, prefix):
    for path in directory.glob(prefix + "*"):
        path.unlink()


def heaptrack(command, directory, raw):
    clear(directory, "ht")
    return measure(["heaptrack", *(["-r"] if raw else []), "-o", "ht", *command], directory,
                   **({} if raw else {"preexec_fn": limit_memory}))


def survives(command, directory):
    """Whether heaptrack's interpreter makes a file that can be read."""
    _, _, output = heaptrack(command, directory, raw=False)
    files = list(directory.glob("ht*"))
    return "bad_alloc" not in output and "Abort" not in output and bool(files) and \
        files[0].stat().st_size > 1000


def in_target(output):
    """Nanoseconds of CPU a call, as the stress tells of itself."""
    found = re.search(r"(\d+) calls, cpu ([\d.]+)", output)
    return float(found[2]) / int(found[1]) * 1e9 if found else None


def run(name, command, rounds, directory):
    tracers = {
        "base": lambda: measure(command, directory),
        "stackpipe": lambda: measure([STACKPIPE, "heap", "-q", "--force", "-o", "a.heap", "--",
                                      *command], directory),
        "sampled": lambda: measure([STACKPIPE, "heap", "-q", "--force", "-S", "512K", "-o",
                                    "b.heap", "--", *command], directory),
    }
    result = {"workload": name}
    if shutil.which("heaptrack"):
        raw = not survives(command, directory)
        result["heaptrack_mode"] = "raw" if raw else "full"
        tracers["heaptrack"] = lambda: heaptrack(command, directory, raw)
    figures = {tracer: [] for tracer in tracers}
    for _ in range(rounds):
        for tracer, once in tracers.items():
            figures[tracer].append(once())
    base = [statistics.median(figure[i] for figure in figures["base"]) for i in (0, 1)]
    result["base_wall_s"], result["base_cpu_s"] = base
    for tracer in tracers:
        if tracer == "base":
            continue
        for i, what in enumerate(("wall", "cpu")):
            added = statistics.median(figure[i] for figure in figures[tracer]) - base[i]
            result[f"{tracer}_added_{what}_s"] = added
    per_call = {tracer: [in_target(figure[2]) for figure in list_] for tracer, list_ in figures.items()}
    if per_call["base"][0]:
        base_ns = statistics.median(per_call["base"])
        for tracer in ("stackpipe", "sampled"):
            result[f"{tracer}_in_target_ns"] = statistics.median(per_call[tracer]) - base_ns
    summary = subprocess.run([STACKPIPE, "heap", "--json", directory / "a.heap"], check=True,
                             stdout=subprocess.PIPE).stdout
    report = json.loads(summary)
    result["events"], result["lost"] = report["events"], report["lost"]["calls"] + \
        report["lost"]["allocations"] + report["lost"]["frees"]
    result["file_bytes"] = (directory / "a.heap").stat().st_size
    result["added_cpu_ns_an_event"] = result["stackpipe_added_cpu_s"] / result["events"] * 1e9
    if "heaptrack" in tracers:
        for what in ("wall", "cpu"):
            result[f"ratio_{what}"] = result[f"stackpipe_added_{what}_s"] / \
                result[f"heaptrack_added_{what}_s"]
    for what, base_value in (("wall", base[0]), ("cpu", base[1])):
        result[f"sampled_percent_{what}"] = 100 * result[f"sampled_added_{what}_s"] / base_value
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value
                      for key, value in result.items()}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for workload, command in workloads(directory).items():
            if not options.workloads or workload in options.workloads:
                run(workload, command, options.rounds, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
