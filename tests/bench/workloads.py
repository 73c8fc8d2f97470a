# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads of the benchmarks: real programs, and a few that are hard to unwind."""
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
REPOSITORY = PROGRAMS.parent.parent


def _compiled(source, directory, compiler, *options):
    program = directory / source.stem
    subprocess.run([compiler, "-O2", *options, "-o", program, source], check=True)
    return program


def commands(seconds, directory):
    """{name: command}, each busy for about that many seconds; only of installed programs."""
    seconds = str(seconds)
    found = {
        "python3": [sys.executable, PROGRAMS / "workload.py", seconds],
        "signals": [_compiled(PROGRAMS / "signals.c", directory, "gcc"), seconds],
    }
    loop = f"end=$(($(date +%s) + {seconds})); while [ $(date +%s) -lt $end ]; do COMMAND; done"
    if shutil.which("g++"):
        found["exceptions"] = [_compiled(PROGRAMS / "exceptions.cc", directory, "g++"), seconds]
        found["cc1plus"] = ["sh", "-c", loop.replace(
            "COMMAND", f"g++ -O2 -DSTEPS=100 -c {PROGRAMS / 'templates.cc'} -o /dev/null")]
    if shutil.which("node"):
        found["node"] = ["node", PROGRAMS / "spin.js", seconds]
    if shutil.which("git"):
        found["git"] = ["sh", "-c", loop.replace(
            "COMMAND", f"git -C {REPOSITORY} log -p >/dev/null")]
    if shutil.which("openssl"):
        found["openssl"] = ["openssl", "speed", "-seconds", str(max(1, int(seconds) // 2)), "rsa2048"]
    return {name: [str(part) for part in command] for name, command in found.items()}
