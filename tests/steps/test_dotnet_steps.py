# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of .NET's code, and of what that calls, a stack has the true chain of its program's methods."""
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import dotnet  # noqa: E402
import pipeline  # noqa: E402
import scripts  # noqa: E402
import steps  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 1200
WAYS = range(0, 25, 3)  # of all, a third
WHOLE_MIN = 0.97
BUNDLE_STEPS = 6000
BEGINS_S = 0.3  # of CPU time: then the program executes methods
pipeline.PATIENCE_S = 300  # a step is two switches between processes


def plain(name):
    """Functions for steps have other names than those that are sampled."""
    return dotnet.plain(name).replace("g0", "f0").replace("g1_of_", "f1_of_")


def children_of(process):
    return list(map(int, (process / "task" / process.name / "children").read_text().split()))


def cpu_time(pid):
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def begin_alike(callers, others):
    """Whether two lists are the same, as far as both were captured."""
    n = min(len(callers), len(others))
    return callers[:n] == others[:n]


class DotnetSteps(pipeline.RecordingTest):
    def step(self, version, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(STEPS), "--",
             *dotnet.command(version, 1000, "stop", way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        for version in dotnet.VERSIONS:
            names = set()
            for way in WAYS:
                with self.subTest(version, way=way):
                    names |= self.check(version, way)
            self.assertLess({"f0", "f1_of_f0", "spin"}, names)

    def check(self, version, way):
        """The names of methods."""
        chains = [[plain(frame.name) for frame in frames if frame.is_script] for frames in self.step(version, way).stacks]
        self.assertEqual(len(chains), STEPS)
        whole = [chain for chain in chains if chain[-2:] == ["stop", "Main"]]
        self.assertGreater(len(whole), WHOLE_MIN * STEPS)
        for chain in whole:
            self.assertTrue(is_true(chain), chain)
        return {name for chain in whole for name in chain}


class BundleSteps(pipeline.RecordingTest):
    """Of a program that is none of ours, from some moment on: each instruction calls one function, returns from one, or does
    neither, and the callers of what it executes are as before."""

    def test_every_instruction_has_the_callers_of_the_one_before(self):
        started = self.start([SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(BUNDLE_STEPS), "--",
                              *dotnet.bundle()],
                             self.stage("live-unwinder", "-q"), self.stage("frame-dump"))
        own = Path(f"/proc/{started.processes[0].pid}")
        pipeline.wait_for(lambda: children_of(own), "the program")
        program = children_of(own)[0]
        pipeline.wait_for(lambda: cpu_time(program) > BEGINS_S, "the program's own code")
        os.kill(program, signal.SIGSTOP)
        stacks = steps.Stacks(started.end()[-1].output.decode(), False)
        self.assertEqual(len(stacks.chains), BUNDLE_STEPS)
        cut = [(end, chain) for end, chain in zip(stacks.ends, stacks.chains) if end not in ("complete", "stack-truncated")]
        self.assertLess(len(cut), (1 - WHOLE_MIN) * BUNDLE_STEPS, cut[:3])
        self.assertGreater(sum("+script" in chain for chain in stacks.chains), 0.9 * BUNDLE_STEPS)
        before = []
        for end, chain in zip(stacks.ends, stacks.chains):
            callers = [frame for frame in chain.split() if "+script" not in frame][1:]
            self.assertTrue(any(map(begin_alike, (callers, callers[1:], callers), (before, before, before[1:]))), (before, callers))
            before = callers


if __name__ == "__main__":
    sys.exit(pipeline.main())
