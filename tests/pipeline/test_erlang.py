# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the functions of Erlang's processes outside of those of C that they call."""
import sys

import erlang
import pipeline
from interpreters import MadeChains, ScriptTest, is_true

SOURCE = erlang.CHAINS.read_text().splitlines()
WAYS = [line for line, text in enumerate(SOURCE, 1) if text.startswith("way(")]
WHOLE_MIN, WHOLE_MIN_LOADING = 0.97, 0.9


class Erlang(MadeChains, ScriptTest):
    CHAINS = erlang.CHAINS
    CALLEE = "Callee()"
    plain = staticmethod(erlang.plain)

    def setUp(self):
        super().setUp()
        if not erlang.interpreters():
            self.skipTest("no Erlang could be fetched")

    def record(self, erl, *arguments):
        erlang.compile_chains(erl, self.directory)
        self.record_program(erl, "-pa", self.directory, "-run", "chains", "main", *arguments)

    @staticmethod
    def begins_chain(frame):
        return "round_of" in frame.name

    def check(self, outermost, whole_min=WHOLE_MIN):
        chains, outcomes = self.chains()
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], whole_min * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertIn(outermost, frames[-1].name)
        return chains

    def test_chains_are_true_and_whole(self):
        for erl in erlang.interpreters():
            with self.subTest(erl):
                self.record(erl, "2")
                chains = self.check("init:do_boot/3")
                for frames in chains:
                    self.check_lines(frames)
                called = {frame.line for frames in chains for frame in frames if frame.name == "chains:way/2"}
                self.assertGreater(len(called), 0.9 * len(WAYS))

    def test_each_process_has_its_own(self):
        for erl in erlang.interpreters():
            with self.subTest(erl):
                self.record(erl, "2", "process")
                self.check("chains:-round_of/2")

    def test_functions_of_c_on_other_threads_have_callers(self):
        for erl in erlang.interpreters():
            with self.subTest(erl):
                self.record(erl, "2", "dirty")
                inside = [frames for frames in self.check("init:do_boot/3") if frames[0].name == "prim_file:read_file/1"]
                self.assertGreater(len(inside), 500)
                for frames in inside:
                    self.assertIn("chains:read/0", [frame.name for frame in frames[:2]])

    def test_code_that_is_replaced_has_its_names(self):
        for erl in erlang.interpreters():
            with self.subTest(erl):
                self.record(erl, "2", "reload")
                self.check("init:do_boot/3", WHOLE_MIN_LOADING)


class Fake(ScriptTest):
    def test_functions_to_which_a_process_returns(self):
        self.record_program(erlang.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 50)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames],
                             [(True, f"fake:{name}/{i}", "fake.erl", 10 + i) for i, name in enumerate(["inner", "middle", "outer"])])

    def test_functions_whose_names_cannot_be_read(self):
        self.record_program(erlang.FAKE, "0.5", "names")
        names = {frame.name for frames in self.calls()[0] for frame in frames}
        self.assertEqual(names, {""})

    def test_functions_that_no_process_has(self):
        self.check_none(erlang.FAKE, "guard", "garbage", "huge", "unsorted", "stale", "end", "bounds")


if __name__ == "__main__":
    sys.exit(pipeline.main())
