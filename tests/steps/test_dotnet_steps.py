# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of .NET's code, and of what that calls, a stack has the true chain of its program's methods."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import dotnet  # noqa: E402
import pipeline  # noqa: E402
import scripts  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 1200
WAYS = range(0, 25, 3)  # of all, a third
WHOLE_MIN = 0.97
pipeline.PATIENCE_S = 300  # a step is two switches between processes


def plain(name):
    """Functions for steps have other names than those that are sampled."""
    return dotnet.plain(name).replace("g0", "f0").replace("g1_of_", "f1_of_")


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


if __name__ == "__main__":
    sys.exit(pipeline.main())
