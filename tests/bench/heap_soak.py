# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks over many runs that tracing harms no program, with programs hard on stacks, filters and start-up.

    STACKPIPE_BUILD=build python3 heap_soak.py [-n CALLS] [--seed N]

Runs programs that create, switch and destroy stacks under signals (heap-stack-stress), that restrict themselves
to few system calls (heap-confined), and children with sanitizers started in every way (heap-starter), some of
them in parallel with the first. Each runs alone and traced, with --follow and without, until each row has made
10 million allocator calls. A row prints the numbers of runs and calls, of runs killed by a signal, and of runs
whose status or output differs from the run alone. Nothing is asserted; the exit status is 1 if one of the last
two numbers is not 0.
"""
import argparse
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "heap"))
import heap  # noqa: E402
import test_confined  # noqa: E402
import test_sanitizers  # noqa: E402

STRESS = heap.PROGRAMS / "heap-stack-stress"
CALLS_A_RUN = 250_000
HANDLED = re.compile(rb"(\d+) allocations, \d+ in handlers")  # the number of signals depends on the run
CALLS = re.compile(rb"(\d+) allocations")
SIGNALLED = 128
PATIENCE_S = 600


def stress(seed):
    for i in itertools.count(seed):
        yield [STRESS, CALLS_A_RUN, i]


def confined(_):
    return itertools.cycle([test_confined.CONFINED, *filter_, way] for filter_ in test_confined.EVERY
                           for way in ("flood", "stacks", "threads", "fork", "exec"))


def beside_sanitizers(programs):
    """Runs the stress, and the other children one after the other in parallel with it."""
    def commands(seed):
        starts = itertools.cycle(f"{test_sanitizers.STARTER} {way} {program} a; echo $?" for way in
                                 (*test_sanitizers.WAYS, "filtered") for program in programs)
        for i in itertools.count(seed):
            yield ["sh", "-c", f"{STRESS} {CALLS_A_RUN} {i} > stress & "
                   + "; ".join(itertools.islice(starts, 10)) + "; wait $!; s=$?; cat stress; exit $s"]
    return commands


class Row:
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.n_runs = self.n_calls = self.n_signalled = self.n_changed = 0
        self.began = time.monotonic()

    def run(self, command, directory):
        command = [str(word) for word in command]
        alone = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=directory,
                               check=False, timeout=PATIENCE_S)
        traced = subprocess.run([heap.PRELOAD, "-q", *self.options, "--", *command], cwd=directory,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                                timeout=PATIENCE_S)
        self.n_runs += 1
        self.n_calls += sum(map(int, CALLS.findall(traced.stderr)))
        self.n_signalled += traced.returncode < 0 or traced.returncode > SIGNALLED
        if (alone.returncode, told(alone.stdout)) != (traced.returncode, told(traced.stderr)):
            self.n_changed += 1
            print("changed:", *command, *self.options, alone, traced, flush=True)

    def print(self):
        print(f"{self.name} {' '.join(self.options) or '-'}: runs={self.n_runs} calls={self.n_calls} "
              f"signalled={self.n_signalled} changed={self.n_changed} "
              f"minutes={(time.monotonic() - self.began) / 60:.1f}", flush=True)


def told(text):
    """The output that must not change: without the process's name where it was executed without one."""
    return HANDLED.sub(b"stress", re.sub(rb"(?m)^\S+ (\S+ a) \S+ - -$", rb"\1", text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", dest="n_calls", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("rows", nargs="*", help="stacks, filters, sanitizers (all)")
    arguments = parser.parse_args()
    is_hurt = False
    with tempfile.TemporaryDirectory() as directory:
        programs = [program for compiler in test_sanitizers.COMPILERS if shutil.which(compiler)
                    for sanitizer in test_sanitizers.SANITIZERS
                    if test_sanitizers.build(compiler, program := Path(directory) / f"{compiler}-{sanitizer}",
                                             f"-fsanitize={sanitizer}")]
        kinds = {"stacks": stress, "filters": confined, "sanitizers": beside_sanitizers(programs)}
        for name, options in itertools.product(arguments.rows or kinds, ((), ("--follow",))):
            row = Row(name, options)
            for command in kinds[name](arguments.seed):
                row.run(command, directory)
                if row.n_calls >= arguments.n_calls:
                    break
            row.print()
            is_hurt |= bool(row.n_signalled or row.n_changed)
    return is_hurt


if __name__ == "__main__":
    sys.exit(main())
