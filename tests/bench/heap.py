#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the cost of tracing a program's allocations with heaptrack's, interleaved; medians of rounds.

	heap.py [-n ROUNDS] [WORKLOAD...]

Added time is the time of the command with the tracer, until its file is finished, minus that of the command
alone. heaptrack runs with its interpreter (full) where that survives, else raw (-r); the output says which.
Samples (-S 512K) are taken of the same command for half a minute, so that the pipeline's start-up is
negligible: pairs of runs, the median of their ratios. Prints one line of JSON per workload, and one that
compares one thread with four."""
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
import collections, json, re, sys
for _ in range(int(sys.argv[1])):
    texts = [json.dumps({"a": i, "b": [1, 2, 3], "c": {"x": str(i)}}) for i in range(60000)]
    values = [json.loads(text) for text in texts]
    print(len(collections.Counter(word for text in texts for word in re.findall(r"\\d+", text))), len(values))
"""
MEMORY_MAX = 4 << 30  # of heaptrack's interpreter, which has used more than the machine has


CXX = """
#include <bits/stdc++.h>
#include <regex>
template<int N> struct S {
	std::map<int, std::vector<std::string>> map;
	std::regex regex{"a|b"};
	int f(const std::string &text)
	{
		map[N].push_back(text);
		return std::regex_match(text, regex) + map[N].size();
	}
};
"""


def cc1plus(directory, n):
    """A compilation of n instances of a template."""
    source, preprocessed = directory / f"{n}.cc", directory / f"{n}.ii"
    calls = " ".join(f"S<{i}> s{i}; n += s{i}.f(\"a\");" for i in range(n))
    source.write_text(f"{CXX}int main() {{ int n = 0; {calls} return n; }}\n")
    program = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE,
                             check=True).stdout.decode().strip()
    subprocess.run(["g++", "-E", "-o", preprocessed, source], check=True)
    return [program, "-quiet", "-O2", "-fpreprocessed", preprocessed, "-o", "/dev/null"]


def workloads(directory):
    """{name: (command, a longer-running command of the same kind)}"""
    found = {f"stress-{n}": ([STRESS, n, 2000000], [STRESS, n, 80000000]) for n in (1, 2, 4)}
    python = "/usr/bin/python3"  # the program itself, not a wrapper script
    script = directory / "texts.py"
    script.write_text(PYTHON)
    found["python3"] = [python, script, 1], [python, script, 100]
    found["cc1plus"] = cc1plus(directory, 1), cc1plus(directory, 1000)
    return {name: tuple([str(word) for word in command] for command in commands)
            for name, commands in found.items()}


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
    """Whether heaptrack's interpreter writes a readable file."""
    _, _, output = heaptrack(command, directory, raw=False)
    files = list(directory.glob("ht*"))
    return "bad_alloc" not in output and "Abort" not in output and bool(files) and \
        files[0].stat().st_size > 1000


def in_target(output):
    """Nanoseconds of CPU per call, as heap-stress reports them."""
    found = re.search(r"(\d+) calls, cpu ([\d.]+)", output)
    return float(found[2]) / int(found[1]) * 1e9 if found else None


def stackpipe(command, directory, *options):
    return measure([STACKPIPE, "heap", "-q", "--force", "-o", "a.heap", *options, "--", *command],
                   directory)


def sampled(command, rounds, directory):
    """Percent that sampling adds to wall time and to all CPU, and nanoseconds per call if the command reports them."""
    pairs = [(measure(command, directory), stackpipe(command, directory, "-S", "512K"))
             for _ in range(rounds)]
    result = {f"sampled_percent_{what}":
              100 * (statistics.median(traced[i] / base[i] for base, traced in pairs) - 1)
              for i, what in enumerate(("wall", "cpu"))}
    result["sampled_base_cpu_s"] = statistics.median(base[1] for base, _ in pairs)
    if in_target(pairs[0][0][2]):
        result["sampled_percent_in_target"] = 100 * (statistics.median(
            in_target(traced[2]) / in_target(base[2]) for base, traced in pairs) - 1)
    return result


def compare_threads(rounds, directory):
    """Compares the CPU added per event for one thread and for four, alternating."""
    added = {1: [], 4: []}
    for _ in range(rounds):
        for n, list_ in added.items():
            command = [str(STRESS), str(n), "6000000"]
            base, traced = measure(command, directory), stackpipe(command, directory)
            calls = int(re.search(r"(\d+) calls", base[2])[1])
            list_.append((traced[1] - base[1]) / calls * 1e9)
    print(json.dumps({f"added_cpu_ns_a_call_{n}_threads": round(statistics.median(list_), 1)
                      for n, list_ in added.items()}), flush=True)


def run(name, command, rounds, directory):
    tracers = {
        "base": lambda: measure(command, directory),
        "stackpipe": lambda: stackpipe(command, directory),
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
        result["in_target_ns"] = statistics.median(per_call["stackpipe"]) - base_ns
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
    return result


def tell(result):
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value
                      for key, value in result.items()}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for workload, (command, long) in workloads(directory).items():
            if not options.workloads or workload in options.workloads:
                tell({**run(workload, command, options.rounds, directory),
                      **sampled(long, options.rounds, directory)})
        if not options.workloads:
            compare_threads(options.rounds, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
