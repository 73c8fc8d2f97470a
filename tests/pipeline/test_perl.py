# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the subs of Perl's programs between the functions of C."""
import sys

import perl
import pipeline
from interpreters import MadeChains, ScriptTest, is_true

FROM_C = {"Way::sorted", "Way::by_order", "Way::found", "Unknown::__ANON__", "Tied::FETCH", "Ending::DESTROY", "Way::replaced",
          "Way::in_pattern", "Way::caught_in_sort", "Way::evaluated", "Way::handled", "Way::signalled", "Unknown::AUTOLOAD"}


class PerlTest(ScriptTest):
    plain = staticmethod(perl.plain)


class Perl(MadeChains, PerlTest):
    CHAINS = perl.CHAINS

    def setUp(self):
        super().setUp()
        if not perl.interpreters():
            self.skipTest("no Perl could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, perl.CHAINS, *arguments, **options)

    @staticmethod
    def begins_chain(frame):
        return frame.name in {"run", "{eval}"}

    def check_lines(self, frames):
        super().check_lines(frames)
        for frame in frames[1:]:
            if frame.name == "{eval}":
                self.assertTrue(frame.file.startswith("(eval "), frame)

    def check(self, outermost):
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], 0.99 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertEqual(frames[-1].name, outermost)
            self.check_lines(frames)
        return chains

    def test_chains_are_true_and_whole(self):
        for interpreter in perl.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2)
                chains = self.check("{main}")
                self.assertLessEqual(FROM_C, {frame.name for frames in chains for frame in frames})

    def test_threads_have_them(self):
        for interpreter in perl.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 1, "thread")
                self.check("run")

    def test_waits_have_them(self):
        for interpreter in perl.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2, "wait", options=("--off-cpu",))
                waiting = [frames for frames in self.chains()[0] if frames[0].name == "Way::rest"]
                self.assertGreater(len(waiting), 30)  # between them it needs a CPU
                for frames in waiting:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)


class Fake(PerlTest):
    def test_subs_that_an_activation_executes(self):
        self.record_program(perl.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames],
                             [(True, "inner", "fake.pl", line) for line in (9, 8, 7)] + [(True, "{main}", "fake.pl", 6)])

    def test_subs_that_no_interpreter_has(self):
        self.check_none(perl.FAKE, "cycle", "endless", "guard", "garbage", "kind", "many", "other")


if __name__ == "__main__":
    sys.exit(pipeline.main())
