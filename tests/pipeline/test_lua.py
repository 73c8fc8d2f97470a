# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the functions of Lua's programs between those of C."""
import sys

import lua
import pipeline
from interpreters import MadeChains, ScriptTest, is_true

SOURCE = lua.CHAINS.read_text().splitlines()


def line_of(begin):
    return next(i for i, line in enumerate(SOURCE, 1) if line.startswith(begin))


WAYS = range(line_of("ways = {") + 1, line_of("-- The text of one function"))
RUN = f":{line_of('local function run')}>"


class Chains(MadeChains, ScriptTest):
    CHAINS = lua.CHAINS
    LINES = lua.LINES
    WHOLE = 0.97
    plain = staticmethod(lua.plain)

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, lua.CHAINS, *arguments, **options)

    @staticmethod
    def begins_chain(frame):
        return frame.name.endswith(RUN)

    def check_lines(self, frames):
        if frames[0].name == "spin":
            self.assertIn(frames[0].line, self.SPIN_LINES, frames)
        super().check_lines(frames)

    def check(self):
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], self.WHOLE * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertTrue(frames[-1].name.startswith("main chunk"), frames)
            self.check_lines(frames)
        called = {int(frame.name.rpartition(":")[2][:-1]) for frames in chains for frame in frames if frame.name.endswith(">")
                  and frame.name.startswith("function")}
        self.assertGreater(len(called & set(WAYS)), 14)


class Lua(Chains):
    SPIN_LINES = {0}  # of what executes itself nobody knows how far it is

    def setUp(self):
        super().setUp()
        if not lua.interpreters():
            self.skipTest("no Lua could be fetched")

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


class LuaJit(Chains):
    """Code of its compiler is executed, too: what that has inlined is not there."""
    WHOLE = 0.95
    SPIN_LINES = {0, *range(line_of("function spin"), line_of("local function with"))}

    def setUp(self):
        super().setUp()
        if not lua.jits():
            self.skipTest("no LuaJIT could be fetched")

    def test_chains_are_true_and_whole(self):
        for interpreter, mode in zip(lua.jits(), ("-joff", "-jon", "-joff")):
            with self.subTest(interpreter):
                self.record([*interpreter, mode], 2)
                self.check()

    def test_coroutines_have_them(self):
        for interpreter, mode in zip(lua.jits(), ("-jon", "-joff", "-jon")):
            with self.subTest(interpreter):
                self.record([*interpreter, mode], 2, "coroutine")
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

    def test_frames_that_a_frame_of_c_executes(self):
        self.record_program(lua.JIT_FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames],
                             [(True, "function <fake.lua:12>", "fake.lua", line) for line in (0, 12)])

    def test_frames_that_no_interpreter_has(self):
        self.check_none(lua.JIT_FAKE, "upwards", "endless", "guard", "garbage", "stale", "unheld", "other")


if __name__ == "__main__":
    sys.exit(pipeline.main())
