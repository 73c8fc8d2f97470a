# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares inlined calls and lines of a large C++ program with those of other tools.

    STACKPIPE_BUILD=build python3 inlines.py [-n ADDRESSES] [--eu COMMAND] [PROGRAM]

Without PROGRAM, tests/programs/inlines-large.cc is compiled nine times (takes minutes). Prints a line per tool
with CPU and peak memory of one run with demangled names; then how many of our answers match
llvm-symbolizer's, addr2line's, and either's, compared before demangling (demanglers differ in spelling;
c++filt merges the two names of a constructor). Name=value pairs; --check asserts the limits.
"""
import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
SOURCE = Path(__file__).resolve().parents[1] / "programs" / "inlines-large.cc"
UNITS = 9
SHOWN = 10  # differing answers


def compile_program(directory):
    def compile_unit(unit):
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", f"-DUNIT={unit}", "-c", SOURCE,
                        "-o", directory / f"{unit}.o"], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        list(executor.map(compile_unit, range(UNITS)))
    program = directory / "large"
    subprocess.run(["g++", *[directory / f"{unit}.o" for unit in range(UNITS)], "-o", program],
                   check=True)
    return program


def choose_addresses(program, n):
    """Chooses addresses of code, evenly over its size; the same ones each time."""
    functions = []
    symbols = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True,
                             check=True)
    for line in symbols.stdout.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) == 4 and re.fullmatch("[tTwW]", fields[2]):
            functions.append((int(fields[0], 16), int(fields[1], 16)))
    generator = random.Random(1)
    chosen = generator.choices(functions, [size for _, size in functions], k=n)
    return [start + generator.randrange(size) for start, size in chosen]


def run(name, command, addresses, directory):
    """Runs a tool; returns its output and its cost in seconds and KiB."""
    given, taken = directory / "addresses", directory / f"{name}.out"
    given.write_text("".join(f"{address:#x}\n" for address in addresses))
    with open(given) as stdin, open(taken, "w") as stdout:
        child = subprocess.Popen(command, stdin=stdin, stdout=stdout)
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"inlines.py: {name} failed")
    return taken.read_text(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def measure(name, command, addresses, directory):
    _, seconds, peak = run(name, command, addresses, directory)
    print(f"tool={name} addresses={len(addresses)} cpu_s={seconds:.3f} peak_mib={peak / 1024:.1f}",
          flush=True)
    return seconds, peak


def answers(name, command, addresses, directory, has_column):
    """address → [(function, file, line), …]"""
    text, _, _ = run(name, command, addresses, directory)
    text = subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout
    found, lines = {}, iter(line for line in text.splitlines() if line)
    current = None
    for line in lines:
        if re.fullmatch("0x[0-9a-f]+", line):
            current = found.setdefault(int(line, 16), [])
            current.clear()
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", next(lines))
        if has_column:
            place = place.rpartition(":")[0]
        file, _, number = place.rpartition(":")
        current.append((line, os.path.normpath(file), number.replace("?", "0")))
    return found


def compare(ours, llvm, addr2line):
    n = len(ours)
    same = {"llvm": sum(ours[key] == llvm.get(key) for key in ours),
            "addr2line": sum(ours[key] == addr2line.get(key) for key in ours),
            "either": sum(ours[key] in (llvm.get(key), addr2line.get(key)) for key in ours)}
    print(f"answers={n} " + " ".join(f"same_as_{who}={count / n:.4f}" for who, count in same.items()))
    different = [key for key in ours if ours[key] not in (llvm.get(key), addr2line.get(key))]
    for key in different[:SHOWN]:
        print(f"different={key:#x}")
    return same["either"] / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=5000)
    parser.add_argument("--eu", default="eu-addr2line", help="how eu-addr2line is run")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("program", nargs="?")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = Path(directory)
        program = arguments.program or compile_program(directory)
        addresses = choose_addresses(program, arguments.n)
        print(f"program={program} bytes={os.path.getsize(program)}")
        tools = {
            "ours": [BUILD / "tests" / "bench" / "inlines", program],
            "llvm-symbolizer": ["llvm-symbolizer", "-a", "-i", "-f", "--no-demangle", f"--obj={program}"],
            "addr2line": ["addr2line", "-a", "-i", "-f", "-e", program],
        }
        eu = [*shlex.split(arguments.eu), "-a", "-i", "-f", "-C", "-e", program]
        demangled = {name: [command[0], "-C", *command[1:]] for name, command in tools.items()}
        demangled["llvm-symbolizer"].remove("--no-demangle")
        costs = {name: measure(name, command, addresses, directory)
                 for name, command in demangled.items()}
        eu_cpu = None
        if shutil.which(eu[0]):
            eu_cpu, _ = measure("eu-addr2line", eu, addresses, directory)
        same = compare(*(answers(name, command, addresses, directory, name != "addr2line")
                         for name, command in tools.items()))
    (our_cpu, our_peak), (llvm_cpu, llvm_peak) = costs["ours"], costs["llvm-symbolizer"]
    print(f"cpu_of_llvm={our_cpu / llvm_cpu:.2f} peak_of_llvm={our_peak / llvm_peak:.2f}"
          + (f" times_less_than_eu={eu_cpu / our_cpu:.0f}" if eu_cpu else ""))
    if arguments.check:
        assert our_cpu <= llvm_cpu and our_peak <= llvm_peak / 2 and same >= 0.995
        assert eu_cpu is None or our_cpu * 20 <= eu_cpu


if __name__ == "__main__":
    main()
