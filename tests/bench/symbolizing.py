# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures symbolizer's CPU per sample, cold and warm, and the time to the first name.

    STACKPIPE_BUILD=build python3 symbolizing.py [-d SECONDS] [PROGRAM ARGUMENT…]

Records a short and a long run (`-d`, 20 s) of cc1plus, of a C++ program with debug information, and of
PROGRAM, and symbolizes their stacks: `cold_us` is the CPU per sample of the short run, `warm_us` the CPU of
each further sample of the long one. `first_ms` is the time from the start of symbolizer to the first name
of a location in the program itself. Nothing is asserted.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import stages
import workloads

SHORT_S = 2


def program(name):
    return str(stages.BUILD / name / name)


def debug_program(directory):
    path = directory / "exceptions-debug"
    subprocess.run(["g++", "-O2", "-g", "-o", path, workloads.PROGRAMS / "exceptions.cc"], check=True)
    return str(path)


def record(command, seconds, out):
    """Records the unwound stacks of a command that runs for that many seconds."""
    with open(out, "wb") as file:
        source = subprocess.Popen([program("perf-source"), "-q", "-F", "4999", "-d", str(seconds), "--",
                                   *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        subprocess.run([program("live-unwinder"), "-q"], stdin=source.stdout, stdout=file, check=True)
        source.stdout.close()
        source.wait()


def name_all(stream, directory):
    """(samples, CPU seconds) of symbolizing a stream."""
    stats = directory / "symbolizer.json"
    with open(stream, "rb") as stdin:
        subprocess.run([program("symbolizer"), "-q", f"--stats={stats}"], stdin=stdin,
                       stdout=subprocess.DEVNULL, check=True)
    stats = stages.json.loads(stats.read_text())
    return stats["samples_in"], stages.cpu_seconds(stats), stats["max_rss_kib"]


def first_name(stream, name):
    """Seconds until a location in the image of that file name has a name."""
    with open(stream, "rb") as stdin:
        begun = time.monotonic()
        symbolizer = subprocess.Popen([program("symbolizer"), "-q"], stdin=stdin,
                                      stdout=subprocess.PIPE)
        dump = subprocess.Popen([program("frame-dump")], stdin=symbolizer.stdout, text=True,
                                stdout=subprocess.PIPE, errors="replace")
        symbolizer.stdout.close()
        image, seconds = None, None
        for line in dump.stdout:
            if line.startswith("image ") and line.rstrip().endswith(f'/{name}"'):
                image = re.search(r" image=(\d+)", line)[1]
            if image and line.startswith(f"symbol image={image} ") and ' name=""' not in line:
                seconds = time.monotonic() - begun
                break
        dump.kill()
        symbolizer.kill()
        dump.wait()
        symbolizer.wait()
    return seconds


def measure(name, command_of, seconds, directory):
    streams = {}
    for length in SHORT_S, seconds:
        command = command_of(length)
        streams[length] = directory / f"{name}.{length}.stream"
        record(command, length, streams[length])
    n_short, cpu_short, _ = name_all(streams[SHORT_S], directory)
    n_long, cpu_long, rss = name_all(streams[seconds], directory)
    more = n_long - n_short
    warm = f"{(cpu_long - cpu_short) / more * 1e6:.2f}" if more > n_short else "none"
    file = "cc1plus" if name == "cc1plus" else Path(command[0]).name
    first = first_name(streams[SHORT_S], file)
    print(f"program={name} samples={n_long} cold_us={cpu_short / n_short * 1e6:.2f} "
          f"all_us={cpu_long / n_long * 1e6:.2f} "
          f"warm_us={warm} max_rss_kib={rss} "
          f"first_ms={'none' if first is None else f'{first * 1e3:.0f}'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=int, default=20, dest="seconds")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = Path(directory)
        measure("cc1plus", lambda seconds: workloads.commands(seconds + 1, directory)["cc1plus"],
                arguments.seconds, directory)
        with_debug = debug_program(directory)
        measure("debug", lambda seconds: [with_debug, str(seconds + 1)], arguments.seconds, directory)
        if arguments.program:
            measure("program", lambda seconds: [os.path.abspath(arguments.program[0]),
                                                *arguments.program[1:]],
                    arguments.seconds, directory)


if __name__ == "__main__":
    main()
