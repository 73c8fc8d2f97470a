# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the calls of PHP's programs between the frames of C."""
import sys

import php
import pipeline
from interpreters import ScriptTest, is_true

SOURCE = php.CHAINS.read_text().splitlines()


class Php(ScriptTest):
    def setUp(self):
        super().setUp()
        if not php.interpreters():
            self.skipTest("no PHP could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, php.CHAINS, *arguments, **options)

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

    def check_delegation(self, frames):
        self.assertTrue(php.delegates_truly([frame.name for frame in frames]), frames)
        for inner, frame in zip(frames, frames[1:]):
            if inner.name in ("Way::innermost", "Way::middle"):
                self.assertIn("yield from", SOURCE[frame.line - 1], frames)

    def check(self, interpreter, *what, outermost="{main}"):
        """The chains of two seconds."""
        self.record(interpreter, 2, *what)
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], 0.97 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertEqual(frames[-1].name, outermost)
            self.check_lines(frames)
            self.check_delegation(frames)
        self.assertLessEqual({"array_map", "usort", "preg_replace_callback", "Way::generate", "Way::innermost", "Unknown::__get",
                              "Ending::__destruct"},
                             {frame.name for frames in chains for frame in frames})
        return chains

    def test_chains_are_true_and_whole(self):
        for interpreter in php.interpreters():
            with self.subTest(interpreter):
                self.check(interpreter)

    def test_compiled_code_has_them(self):
        """It has no unwind information, and is executed in the frame of the interpreter's loop."""
        if not php.with_compiler():
            self.skipTest("no PHP with opcache could be fetched")
        for interpreter in php.with_compiler():
            with self.subTest(interpreter):
                # Where made code is innermost, nobody knows how far it is.
                self.assertTrue(any(frames[0].name == "spin" and not frames[0].line for frames in self.check(interpreter)))

    def test_waits_have_them(self):
        for interpreter in php.interpreters():
            self.record(interpreter, 2, "wait", options=("--off-cpu",))
            chains, _ = self.chains()
            waiting = [frames for frames in chains if frames[0].name == "usleep"]
            self.assertGreater(len(waiting), 30)  # between them it needs a CPU
            for frames in waiting:
                self.assertEqual(frames[1].name, "Way::rest")
                self.assertTrue(is_true([frame.name for frame in frames]), frames)

    def test_a_fiber_has_its_own(self):
        """It has a C stack of its own: who has resumed it is on another one."""
        for interpreter in php.interpreters():
            with self.subTest(interpreter):
                self.check(interpreter, "fiber", outermost="run_in_turns")


class Fake(ScriptTest):
    def test_a_list_that_an_activation_executes(self):
        self.record_program(php.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames], 10 * [(True, "inner", "fake.php", 12)])

    def test_lists_that_no_interpreter_has(self):
        self.check_none(php.FAKE, "two", "cycle", "long", "guard", "garbage", "type")


if __name__ == "__main__":
    sys.exit(pipeline.main())
