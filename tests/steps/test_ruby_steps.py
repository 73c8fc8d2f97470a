# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of Ruby a stack has the true chain of its program's functions, or none of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import pipeline  # noqa: E402
import ruby  # noqa: E402
import scripts  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 20000  # through two functions, and what a second thread does meanwhile
WAYS = {0: "call", 1: "block in each", 3: "block in sort", 4: "block in replace", 8: "object", 9: "method_missing",
        10: "block in <class:Unknown>", 11: "block in enumerate", 12: "ensures", 13: "rescues", 14: "unwinds", 17: "<=>"}
FUNCTIONS = {"f0", "f1_of_f0"}
WHOLE_MIN = 0.9
pipeline.PATIENCE_S = 300  # a step is two switches between processes


def some(interpreters, turn):
    """Two of them, in turn."""
    return [each for i, each in enumerate(interpreters) if len(interpreters) < 3 or (i + turn) % len(interpreters) < 2]


class RubySteps(pipeline.RecordingTest):
    def step(self, interpreter, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(STEPS), "--", *interpreter, ruby.CHAINS,
             "1000", "stop", str(way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        if not ruby.interpreters():
            self.skipTest("no Ruby could be fetched")
        for turn, (way, name) in enumerate(WAYS.items()):
            seen = set()
            for interpreter in some(ruby.interpreters(), turn):
                with self.subTest(interpreter, way=way):
                    seen |= self.check(interpreter, way)
            # A collection of garbage, or what the other thread does, may take all the steps of one of them.
            self.assertLessEqual({name} | FUNCTIONS, seen)

    def test_every_instruction_of_compiled_code(self):
        if not ruby.with_compiler():
            self.skipTest(f"a Ruby from 3.2 on with YJIT {pipeline.NOT_INSTALLED}")
        for interpreter in ruby.with_compiler():
            for way in WAYS:
                with self.subTest(interpreter, way=way):
                    self.check(interpreter, way)

    def check(self, interpreter, way):
        """The names of functions."""
        stacks = self.step(interpreter, way).stacks
        chains = [[ruby.plain(frame.name) for frame in frames if frame.is_script] for frames in stacks]
        outcomes = self.stats("live-unwinder")["script-frames"]
        self.assertEqual(len(stacks), STEPS)
        self.assertGreater(outcomes["whole"], WHOLE_MIN * (STEPS - outcomes.get("no-frames", 0)), outcomes)  # another thread has none
        for chain in chains:
            self.assertTrue(not chain or (chain[-1] == "<main>" and is_true(chain)), chain)
        return {each for chain in chains for each in chain}


if __name__ == "__main__":
    sys.exit(pipeline.main())
