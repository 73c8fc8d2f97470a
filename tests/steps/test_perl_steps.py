# SPDX-License-Identifier: GPL-3.0-or-later
"""At every instruction of Perl a stack has the true chain of its program's subs, or none of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import perl  # noqa: E402
import pipeline  # noqa: E402
import scripts  # noqa: E402
from interpreters import is_true  # noqa: E402

SINGLE_STEP = pipeline.BUILD / "tests" / "steps" / "single-step"
STEPS = 24000  # through two subs
WAYS = ("direct", "method", "missing", "closure", "sorted", "sorted_by_name", "mapped", "picked", "found", "folded", "compared", "text",
        "fetched", "ended", "replaced", "in_pattern", "caught", "caught_in_sort", "evaluated", "gone", "handled", "warned", "looped",
        "signalled")
LEFT = {"ended", "gone"}  # they are left before they call
SUBS = {"f0", "f1_of_f0"}
WHOLE_MIN = 0.9
pipeline.PATIENCE_S = 300  # a step is two switches between processes


class PerlSteps(pipeline.RecordingTest):
    def step(self, interpreter, way):
        return scripts.Stacks(self.run_well(
            [SINGLE_STEP, "-q", "--interpreter", "-t", self.directory / "truth", "-m", str(STEPS), "--", *interpreter, perl.CHAINS,
             "1000", "stop", str(way)],
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"))[-1].output)

    def test_every_instruction_has_a_true_chain_or_none(self):
        if not perl.interpreters():
            self.skipTest("no Perl could be fetched")
        for way, name in enumerate(WAYS):
            interpreter = perl.interpreters()[way % len(perl.interpreters())]
            with self.subTest(interpreter, way=name):
                self.assertLessEqual(SUBS | ({f"Way::{name}"} if name not in LEFT else set()), self.check(interpreter, way))

    def check(self, interpreter, way):
        """The names of subs."""
        stacks = self.step(interpreter, way).stacks
        chains = [[perl.plain(frame.name) for frame in frames if frame.is_script] for frames in stacks]
        outcomes = self.stats("live-unwinder")["script-frames"]
        self.assertEqual(len(stacks), STEPS)
        self.assertGreater(outcomes["whole"], WHOLE_MIN * STEPS, outcomes)
        for chain in chains:
            self.assertTrue(not chain or (chain[-1] == "{main}" and is_true(chain)), chain)
        return {each for chain in chains for each in chain}


if __name__ == "__main__":
    sys.exit(pipeline.main())
