# SPDX-License-Identifier: GPL-3.0-or-later
"""How many stacks of a Python program are right, cut or wrong: ours, and those of py-spy, which is fetched.

    STACKPIPE_BUILD=build python3 against_py_spy.py [SECONDS]

Needs root. The functions of tests/programs/chains.py tell their callers by name, so each stack is judged by itself:
right: all of them, from <module> on; cut: frames are missing at an end, and the rest is true; wrong: a function has
another caller than its name tells. Each version of CPython that is here is recorded by each profiler for that long.
"""
import collections
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "pipeline"), str(TESTS / "interop"), str(TESTS / "bench")]
os.environ.setdefault("STACKPIPE_BUILD", "build")

import pypi  # noqa: E402
from interpreters import CHAINS, interpreters  # noqa: E402
from judge import judge  # noqa: E402

BUILD = Path(os.environ["STACKPIPE_BUILD"]).resolve()
RATE = "999"
WHEEL = "py_spy-0.4.3-py2.py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl"
SHA256 = "8a4277225f470d394a85cca0cdd944bef87f0097b6f20150a6dd3ac2e92806b8"
MODES = {"py-spy": [], "py-spy --native": ["--native"], "py-spy --nonblocking": ["--nonblocking"]}


def fetch_py_spy(directory):
    wheel = pypi.wheel("py-spy", WHEEL, SHA256)
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/scripts/py-spy"))
        program = directory / "py-spy"
        program.write_bytes(archive.read(name))
    program.chmod(0o755)
    return program


def judge_folded(text, cut_thread):
    verdicts = collections.Counter()
    for line in text.splitlines():
        stack, _, n = line.rpartition(" ")
        names = [re.sub(r" \(.*\)$", "", name) for name in stack.split(";")[cut_thread:]]
        verdict = judge(names[::-1])
        if verdict:
            verdicts[verdict] += int(n)
    return verdicts


def ours(python, seconds):
    record = [BUILD / "stackpipe" / "stackpipe", "record", "-q", "-F", RATE, "-e", "cpu-clock", "--interpreter=hide", "-f", "folded", "-o", "-",
              "--", python, CHAINS, seconds]
    return judge_folded(subprocess.run(record, stdout=subprocess.PIPE, check=True, text=True).stdout, 1)


def py_spys(program, options, python, seconds, directory):
    out = directory / "out.folded"
    done = subprocess.run([program, "record", *options, "-r", RATE, "--format", "raw", "--function", "-o", out, "--", python, CHAINS, seconds],
                          capture_output=True, text=True, check=False)
    if done.returncode or not out.exists():
        return next((line for line in done.stderr.splitlines() if "rror" in line), "failed")[:80]
    text = out.read_text()
    out.unlink()
    return judge_folded(text, 0)


def show(python, name, verdicts):
    if isinstance(verdicts, str):
        print(f"| {python} | {name} | | | | {verdicts} |", flush=True)
        return
    n = sum(verdicts.values())
    right, cut, wrong = (verdicts[each] for each in ("right", "cut", "wrong"))
    print(f"| {python} | {name} | {right} ({100 * right / max(n, 1):.2f} %) | {cut} | {wrong} | {n} |", flush=True)


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "10"
    print("| CPython | profiler | right | cut | wrong | stacks |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        program = fetch_py_spy(directory)
        for python in interpreters():
            version = subprocess.run([python, "-c", "import sys; print(sys.version.split()[0])"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
            show(version, "stackpipe", ours(python, seconds))
            for name, options in MODES.items():
                show(version, name, py_spys(program, options, python, seconds, directory))


main()
