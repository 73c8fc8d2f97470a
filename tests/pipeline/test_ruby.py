# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the frames of Ruby's programs between those of C."""
import sys

import pipeline
import reading
import ruby
import scripts
from interpreters import LINK, is_true

SOURCE = ruby.CHAINS.read_text().splitlines()
LINES = 6  # of each function that is made: spin is called in the second one, and others in the next two
FROM_C = {"block in each", "block in sort", "block in replace", "method_missing", "block in <class:Unknown>", "to_s", "<=>",
          "block in evaluate"}


def is_made(name):
    return name == "f0" or LINK.match(name)


@pipeline.needs_root
class RubyTest(reading.ReadingTest):
    def record_program(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *map(str, command)), stdout=out)

    def calls(self):
        """The frames of scripts in each stack, and the outcomes of all samples."""
        stream = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"))
        return ([[frame._replace(name=ruby.plain(frame.name)) for frame in frames if frame.is_script]
                 for frames in scripts.Stacks(stream).stacks], self.stats("live-unwinder").get("script-frames", {}))


class Ruby(RubyTest):
    def setUp(self):
        super().setUp()
        if not ruby.interpreters():
            self.skipTest("no Ruby could be fetched")

    def record(self, interpreter, *arguments, **options):
        self.record_program(*interpreter, ruby.CHAINS, *arguments, **options)

    def chains(self):
        """Those in stacks that have f0."""
        found, outcomes = self.calls()
        return [frames for frames in found if any(frame.name == "f0" for frame in frames)], outcomes

    def check_lines(self, frames):
        """Those of callers, in the file that they are in."""
        for inner, frame in zip(frames, frames[1:]):
            if is_made(frame.name):
                self.assertEqual(frame.file, "chains.made")
                first = LINES * int(frame.name[1:].partition("_")[0])
                self.assertIn(frame.line - first, {2} if inner.name == "spin" else {3, 4}, frames)
            elif is_made(inner.name) and frame.name != "run":
                self.assertEqual(frame.file, str(ruby.CHAINS))
                self.assertIn("callee", SOURCE[frame.line - 1], frames)

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
                self.assertGreater(len(waiting), 100)
                for frames in waiting:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)


class Fake(RubyTest):
    def test_frames_that_an_activation_executes(self):
        self.record_program(ruby.FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([tuple(frame) for frame in frames], 9 * [(True, "inner", "fake.rb", 12)])

    def test_frames_that_no_interpreter_has(self):
        for how in "two", "endless", "guard", "garbage", "kind", "unheld":
            with self.subTest(how):
                self.record_program(ruby.FAKE, "0.5", how)
                found, outcomes = self.calls()
                self.assertFalse(any(found))
                self.assertGreater(sum(outcomes.values()), 50)
                self.assertNotIn("whole", outcomes)


if __name__ == "__main__":
    sys.exit(pipeline.main())
