# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the frames of CPython's programs between those of C."""
import sys
from pathlib import Path

import pipeline
import reading
import scripts
import streams
import walks
from interpreters import CHAINS, FAKE, GENERATED, InterpreterTest, interpreters, is_true

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
import pypi  # noqa: E402

LINES = {text.strip(): number for number, text in enumerate(CHAINS.read_text().splitlines(), 1)}
INLINED = "_[i]"  # what the loop has inlined at that place
CALLERS = "call", "call_from_c", "generate", "delegate", "wait_for", "get", "substitute", "handle", "rest"


class Scripts(InterpreterTest):
    def unwind(self, *options):
        stream = self.run_on(self.stream, self.stage("live-unwinder", *options), self.stage("symbolizer"))
        return scripts.Stacks(stream)

    def outcomes(self):
        return self.stats("live-unwinder").get("script-frames", {})

    def chains(self, stacks, name="f0"):
        """The frames of scripts in stacks that have one of this name."""
        found = [[frame for frame in frames if frame.is_script] for frames in stacks.stacks]
        return [frames for frames in found if any(frame.name == name for frame in frames)]

    def check_lines(self, frames):
        """Those of callers: of the innermost frame the interpreter may not have noted it yet."""
        for inner, frame in zip(frames, frames[1:]):
            if frame.name.startswith("f") and inner.name in (*CALLERS, "spin"):
                self.assertEqual((frame.file, frame.line), (str(CHAINS), LINES["spin()" if inner.name == "spin" else "how(callee)"]))

    def test_chains_are_true_and_whole(self):
        self.any_interpreter()
        for python in interpreters():
            with self.subTest(python):
                self.record(python, CHAINS, "2")
                chains = self.chains(self.unwind())
                self.assertGreater(len(chains), 500)
                outcomes = self.outcomes()
                self.assertGreater(outcomes["whole"], 0.97 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
                for frames in chains:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)
                    self.check_lines(frames)

    def test_threads_and_code_without_the_lock(self):
        """A thread that has released the lock still has frames, and is no other thread."""
        self.any_interpreter()
        for python in interpreters():
            for how in "thread", "digest":
                with self.subTest(python, how=how):
                    self.record(python, CHAINS, "1", how)
                    chains = self.chains(self.unwind())
                    self.assertGreater(len(chains), 300)
                    for frames in chains:
                        self.assertTrue(is_true([frame.name for frame in frames]), frames)
                        self.check_lines(frames)
                    outcomes = self.outcomes()
                    self.assertGreater(outcomes["whole"], 0.95 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)

    def test_greenlets_have_their_own_calls(self):
        """A stack ends where its greenlet began; one that is being switched is cut."""
        modules = pypi.fetch("greenlet", pipeline.BUILD / "tests")
        self.record("env", f"PYTHONPATH={modules}", sys.executable, CHAINS, "2", "greenlet")
        chains = self.chains(self.unwind())
        self.assertGreater(len(chains), 500)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
        outcomes = self.outcomes()
        self.assertGreater(outcomes["whole"], 0.9 * (sum(outcomes.values()) - outcomes.get("no-frames", 0)), outcomes)
        stacks = self.stats("live-unwinder")["stacks"]
        self.assertLess(sum(stacks.values()) - stacks["complete"] - stacks["bad-unwind-info"], 0.01 * sum(stacks.values()), stacks)

    def test_each_runs_in_the_loop_of_the_interpreter(self):
        """The next frame of C outside of a segment is the loop, and the one inside is no loop without a segment."""
        for python in {self.any_interpreter(), interpreters()[0]}:
            self.record(python, CHAINS, "1")
            text = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"),
                               self.stage("capture-sink", "--format=folded", "-")).decode()
            stacks = [line.rpartition(" ")[0].split(";") for line in text.splitlines() if ";f0;" in line]
            self.assertGreater(len(stacks), 20)
            for names in stacks:
                outside = [name for name in names[:names.index("<module>")] if not name.endswith(INLINED)]
                self.assertTrue(outside[-1].startswith("_PyEval_EvalFrameDefault"), names)

    def test_waits_have_them(self):
        python = self.any_interpreter()
        for options in ("--off-cpu",), ("-a", "--off-cpu"):
            with self.subTest(options):
                self.record(python, CHAINS, "3", "wait", options=options)
                waiting = self.chains(self.unwind(), "rest")
                self.assertGreater(len(waiting), 30)  # between them it needs a CPU
                self.assertTrue(all(is_true([frame.name for frame in frames]) for frames in waiting))

    def test_children_and_other_programs(self):
        python = self.any_interpreter()
        for how in ("fork",), ("exec", python, CHAINS, "2"), ("exec", reading.DEEP, "3", "16", "0.5"):
            with self.subTest(how):
                self.record(python, CHAINS, "2", *how)
                for frames in self.chains(self.unwind()):
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)

    def test_code_in_the_place_of_other_code(self):
        for prefix in "generated", "généré", "作られた関数はここにあり、番号はその後に来る、とても長い名前である":
            with self.subTest(prefix):
                self.record(self.any_interpreter(), GENERATED, "1.5", prefix)
                found = [frames for frames in self.chains(self.unwind(), "g")
                         if frames[0].name == "g" and frames[1].name.startswith("outer_")]
                self.assertGreater(len(found), 100)
                for inner, outer, *_ in found:
                    self.assertEqual(inner.file, f"<{prefix} {outer.name[-6:]}>")

    def test_lost_objects_have_no_other_name(self):
        self.record(self.any_interpreter(), CHAINS, "1")
        whole = self.unwind().stacks
        hello, *middle, end = streams.records(self.stream.read_bytes())
        objects = [i for i, record in enumerate(middle) if streams.record_type(record) == walks.MEMORY]
        left_out = set(objects[::3])
        self.stream.write_bytes(streams.between(hello, [record for i, record in enumerate(middle) if i not in left_out], end))
        n_fewer = 0
        for frames, fewer in zip(whole, self.unwind().stacks):
            if frames != fewer:
                self.assertEqual(fewer, [frame for frame in frames if not frame.is_script])
                n_fewer += 1
        self.assertGreater(n_fewer, 10)
        self.assertGreaterEqual(self.outcomes()["unknown"], n_fewer)

    def test_both_engines_give_the_same_each_time(self):
        self.record(self.any_interpreter(), CHAINS, "1")
        stages = self.stage("symbolizer"),
        first, again, other = (self.run_on(self.stream, self.stage("live-unwinder", f"--engine={engine}"), *stages)
                               for engine in ("auto", "auto", "dwfl"))
        self.assertEqual(first, again)
        self.assertEqual(scripts.Stacks(first).stacks, scripts.Stacks(other).stacks)

    def test_lists_that_no_interpreter_has(self):
        """No frame of theirs is placed: the lists do not fit the frames of C."""
        for how in "good", "cycle", "long", "guard", "garbage":
            with self.subTest(how):
                self.record(FAKE, "0.5", how)
                stacks = self.unwind()
                self.assertFalse(any(frame.is_script for frames in stacks.stacks for frame in frames))
                self.assertGreater(sum(self.outcomes().values()), 50)
                self.assertNotIn("whole", self.outcomes())


if __name__ == "__main__":
    sys.exit(pipeline.main())
