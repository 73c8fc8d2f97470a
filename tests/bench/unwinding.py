# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures both unwinding engines on recordings of real programs.

    STACKPIPE_BUILD=build python3 unwinding.py [-d SECONDS] [-F HZ] [NAME…]

For each workload prints a line from build/tests/bench/engines (in memory: nanoseconds per frame, how much is
identical, how much was left to elfutils), and one of the stage: CPU with each engine on the same stream.
Then a line for each compiled file of unwind information. Name=value pairs; nothing is asserted.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import workloads

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
ROUNDS = 3
FILES = ["libc.so.6", "libpython3.*.so.1.0", "libLLVM-*.so.1", "libclang-cpp.so.*"]


def program(name):
    return BUILD / name / name


def forget(file):
    """Drops the file's pages: a file written in small pieces is cached in different pages than one read from disk."""
    os.sync()
    with open(file, "rb") as descriptor:
        os.posix_fadvise(descriptor.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cpu_of_stage(stream, engine, directory):
    """CPU seconds: the median of a few runs after one that warms all caches."""
    seconds = []
    for _ in range(1 + ROUNDS):
        stats = directory / "stats.json"
        with open(stream, "rb") as stdin:
            subprocess.run([program("live-unwinder"), "-q", f"--engine={engine}",
                            f"--stats={stats}"],
                           stdin=stdin, stdout=subprocess.DEVNULL, check=True)
        told = json.loads(stats.read_text())
        seconds.append(told["cpu_user_s"] + told["cpu_sys_s"])
    return sorted(seconds[1:])[ROUNDS // 2], told


def measure(name, command, arguments, directory):
    stream = directory / f"{name}.stream"
    with open(stream, "wb") as stdout:
        subprocess.run([program("perf-source"), "-q", "--unwind=copy", "-F", arguments.rate, "-s", "65528", "-m", "64M",
                        "--", *command], stdout=stdout, stderr=subprocess.DEVNULL, check=True)
    subprocess.run([BUILD / "tests" / "bench" / "engines", stream], check=True)
    forget(stream)
    table, told = cpu_of_stage(stream, "table", directory)
    dwfl, _ = cpu_of_stage(stream, "dwfl", directory)
    samples = told["samples_in"]
    ends = {end: n for end, n in told["stacks"].items() if n}
    print(f"stage=live-unwinder stream={name} samples={samples} table_cpu_us={table / samples * 1e6:.2f} "
          f"dwfl_cpu_us={dwfl / samples * 1e6:.2f} times={dwfl / table:.1f} "
          f"left_to_dwfl={told['engine']['dwfl']} ends={json.dumps(ends, separators=(',', ':'))}",
          flush=True)
    stream.unlink()


def compile_tables():
    files = [shutil.which("node"), subprocess.run(
        ["gcc", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()]
    for pattern in FILES:
        files += sorted(glob.glob(f"/usr/lib/x86_64-linux-gnu/{pattern}"))
    subprocess.run([BUILD / "tests" / "bench" / "compile-tables",
                    *[file for file in files if file and os.path.exists(file)]], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=int, default=6, dest="seconds")
    parser.add_argument("-F", default="9999", dest="rate")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = Path(directory)
        os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
        for name, command in workloads.commands(arguments.seconds, directory).items():
            if not arguments.names or name in arguments.names:
                measure(name, command, arguments, directory)
        compile_tables()


if __name__ == "__main__":
    main()
