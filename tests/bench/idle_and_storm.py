# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the cost of a sample beside other load: idle processes, a storm of mappings.

    STACKPIPE_BUILD=build python3 idle_and_storm.py [-r ROUNDS] [-d SECONDS] [-F HZ]

Two programs keep two CPUs busy. Alternating: nothing else (base), 1,000 waiting processes (idle), a
program that loads and unloads libraries 10,000 times (storm). Prints the CPU of all stages
per sample: median and range of the rounds, and their share of the base's median.
Nothing is asserted.
"""
import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import stages

WORKLOAD = Path(__file__).resolve().parent.parent / "programs" / "workload.py"
CHURN = stages.BUILD / "tests" / "pipeline" / "churn"
STORM = stages.BUILD / "tests" / "bench" / "dlopen-storm"
N_IDLE, N_CYCLES = 1000, 10000
LIBRARIES = ["libm.so.6", "libresolv.so.2", "libthread_db.so.1"]  # in every glibc, and not loaded by the program
LONG_S = 1000000


@contextlib.contextmanager
def running(*command, is_ready=lambda process: None):
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        is_ready(process)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def base(seconds):
    return contextlib.nullcontext()


def idle(seconds):
    """Processes that have spun once, then wait forever; they exit with their parent."""
    return running(CHURN, "live", N_IDLE, LONG_S, 1 / LONG_S, CHURN,
                   is_ready=lambda process: process.stdout.readline())


def storm(seconds):
    return running(STORM, N_CYCLES, seconds, *LIBRARIES)


CASES = {"base": base, "idle": idle, "storm": storm}


def measure(case, arguments):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        with CASES[case](arguments.seconds) as load:
            options = ["-d", str(arguments.seconds), "-F", arguments.rate]
            with stages.Pipeline(directory, options, [Path(directory) / "out.syscap"]) as pipeline:
                pipeline.end()
            if case == "storm" and load.wait() != 0:
                sys.exit("the storm failed")
        return pipeline.cost()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", type=int, default=5, dest="rounds")
    parser.add_argument("-d", type=float, default=20, dest="seconds")
    parser.add_argument("-F", default="999", dest="rate")
    arguments = parser.parse_args()
    costs = {case: [] for case in CASES}
    with running(sys.executable, WORKLOAD, LONG_S), running(sys.executable, WORKLOAD, LONG_S):
        for i in range(arguments.rounds):
            for case in CASES:
                cost = measure(case, arguments)
                costs[case].append(cost["cpu_us"])
                print(f"round={i} case={case} samples={cost['samples']} lost={cost['lost']} "
                      f"cpu_us_per_sample={cost['cpu_us']:.2f} complete={cost['complete']:.4f} "
                      f"adds_up={cost['adds_up']}",
                      *(f"{name}={us:.2f}" for name, us in cost["cpu_us_by_stage"].items()),
                      flush=True)
    medians = {case: sorted(each)[len(each) // 2] for case, each in costs.items()}
    for case, each in costs.items():
        print(f"case={case} cpu_us_per_sample={medians[case]:.2f} from={min(each):.2f} "
              f"to={max(each):.2f} ratio={medians[case] / medians['base']:.3f}")


main()
