# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of PHP a stack has the true chain of its program's functions, or none of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import php  # noqa: E402
import pipeline  # noqa: E402
import scripts  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 12000  # through two functions
WAYS = ["Way::call", "array_map", "usort", "preg_replace_callback", "Way::generate", "Way::resume", "Unknown::__get", "Unknown::__call",
        "Unknown::__invoke", "Ending::__destruct", "Way::handle", "Way::outermost"]
FUNCTIONS = {"f0", "f1_of_f0"}
WHOLE_MIN = 0.9
pipeline.PATIENCE_S = 300  # a step is two switches between processes


class PhpSteps(pipeline.RecordingTest):
    def step(self, interpreter, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(STEPS), "--", *interpreter, php.CHAINS,
             "1000", "stop", str(way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        if not php.interpreters():
            self.skipTest("no PHP could be fetched")
        for interpreter in php.interpreters():
            for way, name in enumerate(WAYS):
                with self.subTest(interpreter, way=way):
                    self.check(interpreter, way, name)

    def check(self, interpreter, way, name):
        stacks = self.step(interpreter, way).stacks
        chains = [[frame.name for frame in frames if frame.is_script] for frames in stacks]
        outcomes = self.stats("live-unwinder")["script-frames"]
        self.assertEqual(len(stacks), STEPS)
        self.assertGreater(outcomes["whole"], WHOLE_MIN * STEPS, outcomes)
        self.assertLessEqual({name} | FUNCTIONS, {each for chain in chains for each in chain})
        for chain in chains:
            self.assertTrue(not chain or (chain[-1] == "{main}" and is_true(chain)), chain)
            self.assertTrue(php.delegates_truly(chain), chain)


if __name__ == "__main__":
    sys.exit(pipeline.main())
