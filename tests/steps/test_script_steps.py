# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of CPython a stack has the true chain of its program's functions, or none of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import pipeline  # noqa: E402
import scripts  # noqa: E402
from interpreters import CHAINS, has_objects, interpreters, is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 12000  # through two functions,
STEPS_WITHOUT_GIL = 24000  # which such builds take longer for
WAYS = ["call", "call_from_c.<locals>.<lambda>", "generate.<locals>.generator", "delegate.<locals>.inner",
        "wait_for.<locals>.outer", "Attributes.__getattr__", "substitute.<locals>.<lambda>", "handle"]
FUNCTIONS = {"f0", "f1_of_f0"}
WHOLE_MIN = 0.98
pipeline.PATIENCE_S = 300  # a step is two switches between processes


class ScriptSteps(pipeline.RecordingTest):
    def step(self, python, n, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(n), "--", python, CHAINS, "1000", "stop",
             str(way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        found = interpreters()
        if not found:
            self.skipTest("no CPython 3.8 to 3.15 is here")
        for python in found:
            for way, name in enumerate(WAYS):
                with self.subTest(python, way=way):
                    self.check(python, way, name)

    def check(self, python, way, name):
        n = STEPS_WITHOUT_GIL if python.endswith("t") else STEPS
        stacks = self.step(python, n, way).stacks
        chains = [[frame.name for frame in frames if frame.is_script] for frames in stacks]
        outcomes = self.stats("live-unwinder")["script-frames"]
        self.assertEqual(len(stacks), n)
        self.assertGreater(outcomes["whole"], WHOLE_MIN * n, outcomes)
        name = name.rpartition(".")[2] if has_objects(python) else name
        self.assertLessEqual({name} | FUNCTIONS, {each for chain in chains for each in chain})
        for chain in chains:
            self.assertTrue(not chain or (chain[-1] == "<module>" and is_true(chain)), chain)


if __name__ == "__main__":
    sys.exit(pipeline.main())
