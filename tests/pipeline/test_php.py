# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the calls of PHP's programs between the frames of C."""
import sys

import php
import pipeline
import reading
import scripts
from interpreters import is_true

SOURCE = php.CHAINS.read_text().splitlines()


@pipeline.needs_root
class PhpTest(reading.ReadingTest):
    def record_program(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *map(str, command)), stdout=out)

    def calls(self):
        """The calls of scripts in each stack, and the outcomes of all samples."""
        stream = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"))
        return ([[frame for frame in frames if frame.is_script] for frames in scripts.Stacks(stream).stacks],
                self.stats("live-unwinder").get("script-frames", {}))


class Php(PhpTest):
    def setUp(self):
        super().setUp()
        if not php.interpreters():
            self.skipTest("no PHP could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, php.CHAINS, *arguments, **options)

    def chains(self):
        """Those in stacks that have f0."""
        found, outcomes = self.calls()
        return [frames for frames in found if any(frame.name == "f0" for frame in frames)], outcomes

    def check_lines(self, frames):
        """Those of callers, in the file that they are in."""
        for inner, frame in zip(frames, frames[1:]):
            if frame.name.startswith("Way::") and inner.name.startswith("f"):
                self.assertIn("$callee()", SOURCE[frame.line - 1])
            if frame.name.startswith("f"):
                self.assertRegex(frame.file, r"chains\.php\(\d+\) : eval\(\)'d code$")
                number = int(frame.name[1:].partition("_")[0])
                of_calls = {7 * number + 3} if inner.name == "spin" else {7 * number + 4, 7 * number + 5}
                self.assertIn(frame.line, of_calls, frames)

    def test_chains_are_true_and_whole(self):
        for interpreter in php.interpreters():
            self.record(interpreter, 2)
            chains, outcomes = self.chains()
            self.assertGreater(len(chains), 500)
            self.assertGreater(outcomes["whole"], 0.97 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
            for frames in chains:
                self.assertTrue(is_true([frame.name for frame in frames]), frames)
                self.assertEqual(frames[-1].name, "{main}")
                self.check_lines(frames)
            self.assertLessEqual({"array_map", "usort", "preg_replace_callback", "Way::generate", "Unknown::__get", "Ending::__destruct"},
                                 {frame.name for frames in chains for frame in frames})

    def test_waits_have_them(self):
        for interpreter in php.interpreters():
            self.record(interpreter, 2, "wait", options=("--off-cpu",))
            chains, _ = self.chains()
            waiting = [frames for frames in chains if frames[0].name == "usleep"]
            self.assertGreater(len(waiting), 100)
            for frames in waiting:
                self.assertEqual(frames[1].name, "Way::rest")
                self.assertTrue(is_true([frame.name for frame in frames]), frames)

    def test_a_fiber_has_none_or_true_ones(self):
        """It has a C stack of its own, of which nobody knows whose part of the list it executes."""
        for interpreter in php.interpreters():
            self.record(interpreter, 1, "fiber")
            for frames in self.chains()[0]:
                self.assertTrue(is_true([frame.name for frame in frames]), frames)


class Fake(PhpTest):
    def test_a_list_that_an_activation_executes(self):
        self.record_program(php.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames], 10 * [(True, "inner", "fake.php", 12)])

    def test_lists_that_no_interpreter_has(self):
        for how in "two", "cycle", "long", "guard", "garbage", "type":
            with self.subTest(how):
                self.record_program(php.FAKE, "0.5", how)
                found, outcomes = self.calls()
                self.assertFalse(any(found))
                self.assertGreater(sum(outcomes.values()), 50)
                self.assertNotIn("whole", outcomes)


if __name__ == "__main__":
    sys.exit(pipeline.main())
