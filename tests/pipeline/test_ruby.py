# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the frames of Ruby's programs between those of C."""
import sys

import pipeline
import ruby
from interpreters import MadeChains, ScriptTest, is_true

FROM_C = {"block in each", "block in sort", "block in replace", "method_missing", "block in <class:Unknown>", "to_s", "<=>",
          "block in evaluate"}


class RubyTest(ScriptTest):
    plain = staticmethod(ruby.plain)


class Ruby(MadeChains, RubyTest):
    CHAINS = ruby.CHAINS

    def setUp(self):
        super().setUp()
        if not ruby.interpreters():
            self.skipTest("no Ruby could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, ruby.CHAINS, *arguments, **options)

    def check(self, outermost):
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], 0.97 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertEqual(frames[-1].name, outermost)
            self.check_lines(frames)
        return chains

    def test_chains_are_true_and_whole(self):
        for interpreter in ruby.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2)
                chains = self.check("<main>")
                self.assertLessEqual(FROM_C, {frame.name for frames in chains for frame in frames})

    def test_compiled_code_has_them(self):
        """It has no unwind information, and returns to the interpreter."""
        if not ruby.with_compiler():
            self.skipTest(f"a Ruby from 3.2 on with YJIT {pipeline.NOT_INSTALLED}")
        for interpreter in ruby.with_compiler():
            with self.subTest(interpreter):
                self.record(interpreter, 2)
                chains = self.check("<main>")
                self.assertLessEqual(FROM_C, {frame.name for frames in chains for frame in frames})
                # Where made code is innermost, nobody knows how far it is.
                self.assertTrue(any(frames[0].name == "spin" and not frames[0].line for frames in chains))
                self.record(interpreter, 1, "fiber")
                self.check("block in <main>")

    def test_threads_and_fibers_have_them(self):
        """Their frames may lie in their C stack, which then seems to have no end."""
        for interpreter in ruby.interpreters():
            for what in "thread", "fiber":
                with self.subTest(interpreter, what=what):
                    self.record(interpreter, 1, what)
                    self.check("block in <main>")

    def test_waits_have_them(self):
        for interpreter in ruby.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2, "wait", options=("--off-cpu",))
                waiting = [frames for frames in self.chains()[0] if frames[0].name == "rest"]
                self.assertGreater(len(waiting), 30)  # between them it needs a CPU
                for frames in waiting:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)


class Fake(RubyTest):
    def test_frames_that_an_activation_executes(self):
        self.record_program(ruby.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames], 9 * [(True, "inner", "fake.rb", 12)])

    def test_frames_that_compiled_code_executes(self):
        self.record_program(ruby.FAKE, "0.5", "made")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames], [(True, "inner", "fake.rb", line) for line in (0, *8 * (12,))])

    def test_frames_that_no_interpreter_has(self):
        self.check_none(ruby.FAKE, "two", "endless", "guard", "garbage", "kind", "unheld", "foreign")


if __name__ == "__main__":
    sys.exit(pipeline.main())
