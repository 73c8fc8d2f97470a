# SPDX-License-Identifier: GPL-3.0-or-later
"""Every stack of a program with known stacks is one of them, or is marked as cut.

    STACKPIPE_BUILD=build python3 tests/truth/test_truth.py [--samples N] [Truth.test_NAME…]

Records each of tests/programs/truth for about N samples (1000) in the real pipeline, and compares each chain
of calls with the source's comment (truths.py). Prints a line per program at the end.
"""
import argparse
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))
import judging  # noqa: E402
import pipeline  # noqa: E402 (the other tests' helpers)
import streams  # noqa: E402
import truths  # noqa: E402

SOURCES = pipeline.TOP / "tests" / "programs" / "truth"
BUILT = pipeline.BUILD / "tests" / "truth"
RATE_HZ = 9973
CALIBRATION_CPU_S = 0.05
SHOWN_MAX = 8  # complaints of a program, and stacks that are not good
RECORDINGS_MAX = 3  # per program, until each chain was seen: a rare one is seen by chance
STATUS_NOT_HERE = 77  # exit status of a program that cannot run here
COUNTS = []


def cpu_seconds(command):
    """CPU seconds of a command and all of its children."""
    with subprocess.Popen(command) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == STATUS_NOT_HERE:
        raise unittest.SkipTest(f"{pipeline.NOT_HERE} it do what it does")
    if process.returncode:
        raise AssertionError(f"{command[0]} exits with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


class Truth(pipeline.RecordingTest):
    n_samples = 1000

    @classmethod
    def tearDownClass(cls):
        print(f"\n{judging.Count.HEADER}")
        for count in COUNTS:
            print(count.line())
            for stack, n in (count.wrong + count.other)[:SHOWN_MAX]:
                print(f"    {stack} {n}")
        print(f"{len(COUNTS)} programs, {sum(count.n for count in COUNTS)} samples, "
              f"{sum(count.verdicts['wrong'] for count in COUNTS)} wrong")

    def command(self, program, rounds):
        path = BUILT / program.name
        if program.runs_copied:
            for file in [path, *BUILT.glob("lib*.so"), *BUILT.glob("side-*t")]:
                shutil.copy(file, self.directory)
            path = self.directory / program.name
        return [str(path), str(rounds)]

    def rounds_for(self, program, n_samples):
        """The rounds needed here for that many samples, from a short measurement."""
        at_least = cpu_seconds(self.command(program, 1))
        rounds = 50
        while (cpu := cpu_seconds(self.command(program, rounds)) - at_least) < CALIBRATION_CPU_S:
            rounds *= 4
        return max(1, round(1.1 * n_samples / RATE_HZ / cpu * rounds))

    def record(self, program, rounds):
        """The folded stacks of one run."""
        ended = self.run_well(
            self.source("-F", str(RATE_HZ), *program.source_options, "--",
                        *self.command(program, rounds)),
            self.stage("live-unwinder", "-q", *program.unwinder_options),
            self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", "-f", "folded", "-"))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        return streams.folded_stacks(ended[-1].output.decode())

    def check(self, program):
        self.skip_unless_built(program)
        rounds = self.rounds_for(program, self.n_samples)
        count = judging.Count(program)
        COUNTS.append(count)
        for _ in range(RECORDINGS_MAX):
            count.add(self.record(program, rounds))
            if not count.unseen():
                break
        complaints = count.complaints()
        if complaints:
            self.fail("\n".join([count.line(), *complaints[:SHOWN_MAX]]))

    def skip_unless_built(self, program):
        if program.needs_root and os.geteuid():
            self.skipTest("only root may do what this program does")
        needed = program.compiler or program.linker
        if needed and not (BUILT / program.name).exists():
            self.skipTest(f"{needed} {pipeline.NOT_INSTALLED}")


def add_tests():
    """Adds a test for each program."""
    for source in sorted(SOURCES.iterdir()):
        for program in truths.programs_of(source):
            setattr(Truth, f"test_{program.name.replace('-', '_')}",
                    lambda self, program=program: self.check(program))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=Truth.n_samples, help="of each program")
    options, others = parser.parse_known_args()
    Truth.n_samples = options.samples
    sys.argv[1:] = others
    add_tests()
    pipeline.main()
