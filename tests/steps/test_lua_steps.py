# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of Lua, and of LuaJIT's interpreter, a stack has the true chain of its program's functions, or none of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import lua  # noqa: E402
import pipeline  # noqa: E402
import scripts  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 12000  # through two functions
WAYS = 17
WAYS_OF_JITS = 16
FUNCTIONS = {"f0", "f1_of_f0"}
WHOLE_MIN = 0.9
pipeline.PATIENCE_S = 300  # a step is two switches between processes


class LuaSteps(pipeline.RecordingTest):
    def step(self, interpreter, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(STEPS), "--", *interpreter, lua.CHAINS,
             "1000", "stop", str(way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        if not lua.interpreters():
            self.skipTest("no Lua could be fetched")
        for way in range(WAYS):
            interpreter = lua.interpreters()[way % len(lua.interpreters())]
            with self.subTest(interpreter, way=way):
                self.assertLessEqual(FUNCTIONS, self.check(interpreter, way))

    def test_every_instruction_of_luajit(self):
        """Its compiler is off, as it would leave little to the interpreter."""
        if not lua.jits():
            self.skipTest("no LuaJIT could be fetched")
        for way in range(WAYS_OF_JITS):
            interpreter = [*lua.jits()[way % len(lua.jits())], "-joff"]
            with self.subTest(interpreter, way=way):
                self.assertLessEqual(FUNCTIONS, self.check(interpreter, way))

    def check(self, interpreter, way):
        """The names of functions."""
        stacks = self.step(interpreter, way).stacks
        chains = [[lua.plain(frame.name) for frame in frames if frame.is_script] for frames in stacks]
        outcomes = self.stats("live-unwinder")["script-frames"]
        self.assertEqual(len(stacks), STEPS)
        self.assertGreater(outcomes["whole"], WHOLE_MIN * STEPS, outcomes)
        for chain in chains:
            self.assertTrue(not chain or (chain[-1].startswith("main chunk") and is_true(chain)), chain)
        return {each for chain in chains for each in chain}


if __name__ == "__main__":
    sys.exit(pipeline.main())
