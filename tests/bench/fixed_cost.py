# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the CPU of each stage that does not depend on samples: of short recordings of one command.

    STACKPIPE_BUILD=build python3 fixed_cost.py [-n TIMES] [COMMAND…]

The command, by default three seconds of python3, is recorded without a cache, with an empty one, and again; and
each time with one sample a second instead of 999. Prints a line for each: name=value pairs, medians.
"""
import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

import stages

PROGRAM = """import json, time
end = time.time() + 3
while time.time() < end:
    json.dumps([{"a": i, "b": str(i)} for i in range(200)])
"""
NO_CACHE = "/dev/null"


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=5, dest="times")
    parser.add_argument("command", nargs="*")
    return parser.parse_args()


def record(command, directory, rate):
    """{stage: milliseconds of CPU, "samples": their number}"""
    options = ["-F", str(rate)]
    with stages.Pipeline(directory, options, ["--force", directory / "out.syscap"], ["--", *command]) as pipeline:
        pipeline.end()
        stats = pipeline.stats()
    return {"samples": stats[stages.STAGES[0]]["samples_in"],
            **{name: stages.cpu_seconds(each) * 1e3 for name, each in stats.items()}}


def report(what, rate, runs):
    medians = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    samples = medians.pop("samples")
    print(f"cache={what} rate={rate} samples={samples:.0f} "
          + " ".join(f"{name}_ms={value:.1f}" for name, value in medians.items())
          + f" all_ms={sum(medians.values()):.1f}", flush=True)


def main():
    arguments = parse_arguments()
    command = arguments.command or [sys.executable, "-c", PROGRAM]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        directory = Path(scratch)
        for rate in 999, 1:
            runs = {"none": [], "empty": [], "filled": []}
            for i in range(arguments.times):
                os.environ["XDG_CACHE_HOME"] = NO_CACHE
                runs["none"].append(record(command, directory, rate))
                cache = directory / f"cache-{rate}-{i}"
                cache.mkdir()
                os.environ["XDG_CACHE_HOME"] = str(cache)
                runs["empty"].append(record(command, directory, 999))
                runs["filled"].append(record(command, directory, rate))
            for what, each in runs.items():
                if what != "empty" or rate == 999:
                    report(what, rate, each)


if __name__ == "__main__":
    main()
