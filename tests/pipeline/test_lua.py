# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the functions of Lua's programs between those of C."""
import sys

import lua
import pipeline
from interpreters import MadeChains, ScriptTest, is_true

SOURCE = lua.CHAINS.read_text().splitlines()
WAYS = range(next(i for i, line in enumerate(SOURCE, 1) if line.startswith("ways = {")) + 1, 53)


class Lua(MadeChains, ScriptTest):
    CHAINS = lua.CHAINS
    LINES = lua.LINES
    plain = staticmethod(lua.plain)

    def setUp(self):
        super().setUp()
        if not lua.interpreters():
            self.skipTest("no Lua could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, lua.CHAINS, *arguments, **options)

    @staticmethod
    def begins_chain(frame):
        return frame.name.endswith(":66>")

    def check_lines(self, frames):
        """Of what executes itself nobody knows how far it is."""
        self.assertTrue(frames[0].name != "spin" or not frames[0].line, frames)
        super().check_lines(frames)

    def check(self):
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], 0.97 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertTrue(frames[-1].name.startswith("main chunk"), frames)
            self.check_lines(frames)
        called = {int(frame.name.rpartition(":")[2][:-1]) for frames in chains for frame in frames if frame.name.endswith(">")
                  and frame.name.startswith("function")}
        self.assertGreater(len(called & set(WAYS)), 14)

    def test_chains_are_true_and_whole(self):
        for interpreter in lua.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2)
                self.check()

    def test_coroutines_have_them(self):
        for interpreter in lua.interpreters():
            with self.subTest(interpreter):
                self.record(interpreter, 2, "coroutine")
                self.check()


class Fake(ScriptTest):
    def test_calls_that_an_activation_executes(self):
        self.record_program(lua.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames],
                             [(True, "function <fake.lua:12>", "fake.lua", line) for line in (0, 12, 12)])

    def test_calls_that_no_interpreter_has(self):
        self.check_none(lua.FAKE, "cycle", "guard", "garbage", "stale", "unheld", "other")


if __name__ == "__main__":
    sys.exit(pipeline.main())
