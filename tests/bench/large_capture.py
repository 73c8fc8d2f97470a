# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures time and memory of a report and a page of a capture of a million samples.

    STACKPIPE_BUILD=build python3 large_capture.py [-n SAMPLES] [-s STACKS]

The stacks are synthetic: the given number of distinct ones, of functions that call each other at random. Prints
per job: seconds (median of three, and the longest), CPU of all its processes, the largest peak memory of any
process so far, bytes written. With chromium installed, also how long the page takes to show. Nothing is asserted.
"""
import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
STACKPIPE = BUILD / "stackpipe" / "stackpipe"
TESTS = Path(__file__).resolve().parent.parent
ROUNDS = 3  # of each job; the median is printed
FUNCTIONS, DEPTH_MIN, DEPTH_MAX, COMMS = 10000, 8, 40, 4


def write_folded(path, n_samples, n_stacks):
    chance = random.Random(1)
    callees = [[chance.randrange(FUNCTIONS) for _ in range(4)] for _ in range(FUNCTIONS)]
    seen = set()
    with open(path, "w") as out:
        while len(seen) < n_stacks:
            at, names = len(seen) % 50, []
            for _ in range(chance.randint(DEPTH_MIN, DEPTH_MAX)):
                names.append(f"namespace_{at % 97}::function_{at}(int, char const*)")
                at = chance.choice(callees[at])
            stack = f"program{len(seen) % COMMS};" + ";".join(names)
            if stack not in seen:
                seen.add(stack)
                print(stack, n_samples // n_stacks, file=out)


def run_once(command):
    """Returns wall and CPU seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name, command, output=None):
    seconds, cpu = (sorted(values) for values in zip(*(run_once(command) for _ in range(ROUNDS))))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    size = Path(output).stat().st_size if output else 0
    print(f"job={name} seconds={seconds[ROUNDS // 2]:.2f} seconds_max={seconds[-1]:.2f} "
          f"cpu_s={cpu[ROUNDS // 2]:.2f} peak_mib_so_far={peak:.0f} bytes={size}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1000000, dest="samples")
    parser.add_argument("-s", type=int, default=100000, dest="stacks")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = Path(directory)
        folded, capture, page = (directory / f"large.{ending}" for ending in ("folded", "syscap", "html"))
        write_folded(folded, arguments.samples, arguments.stacks)
        measure("syscap", [STACKPIPE, "convert", "-q", "--force", folded, capture], capture)
        measure("report", [STACKPIPE, "report", capture])
        measure("html", [STACKPIPE, "convert", "-q", "--force", capture, page], page)
        for ending in ("pb.gz", "otlp", "speedscope.json", "firefox.json", "folded"):
            out = directory / f"out.{ending}"
            measure(ending, [STACKPIPE, "convert", "-q", "--force", capture, out], out)
            out.unlink()
        sys.path[:0] = [str(TESTS / "page"), str(TESTS / "interop"), str(TESTS / "pipeline")]
        os.environ["STACKPIPE_BUILD"] = str(BUILD)
        import test_page
        seen = test_page.drive("large", page)
        print("job=browser", *(f"{key}={value}" for key, value in seen.items()))


main()
