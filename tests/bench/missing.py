#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Compares samples with CPU time: of a command, an attached process and the machine, as root and as user nobody.

    missing.py [WORD]        # only jobs whose name has that word

Prints a line per recording: "WHO MODE WHAT cpu S expected N there PERCENT told PERCENT": `there` are samples of
the recorded programs, `told` adds those reported as missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "pipeline"))
os.environ.setdefault("STACKPIPE_BUILD", str(TOP / "build"))

import pipeline  # noqa: E402

HZ = 999
JOBS = [["together", "1"], ["together", "8"], ["together", "64"], ["together", "1000"], ["together", "4000"],
        ["threads", "60000"], ["forks", "5000"]]
FILES = 400  # of make


def make_files(directory):
    """Creates tiny source files for make -j64."""
    names = [f"f{i}" for i in range(FILES)]
    for name in names:
        (directory / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    (directory / "Makefile").write_text("all: " + " ".join(f"{name}.o" for name in names) + "\n")


class Bench:
    def __init__(self, directory):
        self.directory = directory
        self.source = pipeline.readable_copy(pipeline.program("perf-source"), directory)
        self.program = pipeline.readable_copy(pipeline.BUILD / "tests" / "pipeline" / "short-lived", directory)
        self.stats = directory / "stats.json"

    def command(self, user, *arguments):
        return [*(pipeline.NOBODY if user == "nobody" else []), self.source, "-q", f"--stats={self.stats}", "-F", str(HZ),
                "-s", "512", *arguments]

    def told(self):
        stats = json.loads(self.stats.read_text())
        self.stats.unlink()
        return stats

    def say(self, user, mode, what, seconds, there, told):
        expected = seconds * HZ
        print(f"{user} {mode} {what} cpu {seconds:.2f} expected {expected:.0f} there {100 * there / expected:.1f} "
              f"told {100 * told / expected:.1f}", flush=True)

    def seconds(self, errors):
        return float(next(line for line in errors.splitlines() if line.startswith("CPU ")).split()[1])

    def of_command(self, user, job):
        ended = subprocess.run(self.command(user, "--", self.program, *job), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, check=True)
        stats = self.told()
        self.say(user, "COMMAND", "-".join(job), self.seconds(ended.stderr), stats["samples_out"], stats["samples_in"])

    def of_process(self, user, job):
        as_user = pipeline.NOBODY if user == "nobody" else []
        program = subprocess.Popen([*as_user, self.program, *job, "go"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while b"short-lived" not in Path(f"/proc/{program.pid}/cmdline").read_bytes().split(b"\0")[0]:
            time.sleep(0.01)
        recording = subprocess.Popen(self.command(user, "-p", str(program.pid)), stdout=subprocess.PIPE)
        told = b""
        while b"short-lived" not in told:  # the events are enabled before the process record is written
            told += recording.stdout.read1()
        program.stdin.write("\n")
        program.stdin.flush()
        while recording.stdout.read(1 << 20):
            pass
        recording.wait()
        stats = self.told()
        self.say(user, "-p", "-".join(job), self.seconds(program.communicate()[1]), stats["samples_out"], stats["samples_in"])

    def of_machine(self, job):
        """Records all processes; selects the program's samples by its name."""
        out = self.directory / "out.folded"
        with subprocess.Popen(self.command("root", "-a", "--", self.program, *job), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=False) as recording:
            subprocess.run([pipeline.program("capture-sink"), "-q", "--force", out], stdin=recording.stdout, check=True)
            errors = recording.stderr.read().decode()
        lost = sum(self.told()["dropped"].values())
        found = sum(int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines() if line.startswith("short-lived;"))
        self.say("root", "-a", "-".join(job), self.seconds(errors), found, found + lost)

    def of_make(self, user):
        files = self.directory / f"files-{user}"
        files.mkdir()
        make_files(files)
        if user == "nobody":
            shutil.chown(files, "nobody")
        begun = os.times()
        subprocess.run(self.command(user, "--", "make", "-s", "-j64", "-C", files), stdout=subprocess.DEVNULL, check=True)
        ended = os.times()
        stats = self.told()
        seconds = ended.children_user + ended.children_system - begun.children_user - begun.children_system
        seconds -= stats["cpu_user_s"] + stats["cpu_sys_s"]
        self.say(user, "COMMAND", f"make-j64-{FILES}", seconds, stats["samples_out"], stats["samples_in"])


def main():
    with tempfile.TemporaryDirectory(prefix="stackpipe-missing-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        bench = Bench(directory)
        for user in ("root", "nobody"):
            for job in [job for job in JOBS if (sys.argv + [""])[1] in "-".join(job)]:
                bench.of_command(user, job)
                bench.of_process(user, job)
                if user == "root":
                    bench.of_machine(job)
            if (sys.argv + [""])[1] in "make":
                bench.of_make(user)


if __name__ == "__main__":
    main()
