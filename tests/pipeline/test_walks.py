# SPDX-License-Identifier: GPL-3.0-or-later
"""What CPython's threads execute, as a BPF program reads it at samples and waits."""
import collections
import os
import re
import sys
from pathlib import Path

import pipeline
import reading
import streams
import walks

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
CHAINS, GENERATED = PROGRAMS / "chains.py", PROGRAMS / "generated.py"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "python-fake"
KNOWN = (3, 11), (3, 12), (3, 13)
LINK = re.compile(r"f(\d+)_of_f(\d+)$")
FRAMES_MAX = 512


def interpreters():
    """A path of each known version that is here."""
    found = {}
    places = [*os.environ["PATH"].split(":"), "/usr/bin", *sorted(map(str, Path.home().glob(".pyenv/versions/*/bin")))]
    for place in places:
        for minor in (minor for _, minor in KNOWN):
            path = Path(place) / f"python3.{minor}"
            if minor not in found and path.exists() and "shims" not in place:
                found[minor] = str(path.resolve())
    return list(found.values())


def is_true(names):
    """Whether each function was called by the one that its name tells, up to the first."""
    chain = [name for name in names if name and name.startswith("f") and (name == "f0" or LINK.match(name))]
    for name, caller in zip(chain, chain[1:] + [None]):
        link = LINK.match(name)
        wanted = None if link is None else "f0" if link[2] == "0" else f"f{link[2]}_of_"
        if (caller is None) != (wanted is None) or (wanted and not caller.startswith(wanted)):
            return False
    return True


@pipeline.needs_root
class Walks(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)
        self.stream = self.directory / "walks.stream"

    def any_interpreter(self):
        found = interpreters()
        if not found:
            self.skipTest("no CPython 3.11 to 3.13 is here")
        return found[0]

    def record(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source("--interpreters", *options, "--", *map(str, command)), stdout=out)
        return walks.Reader(self.stream.read_bytes())

    def check_chains(self, reader, least=100):
        """All samples within the tree of functions are true, but for those between two states of a list (none of 10,000)."""
        named = [names for _, names in reader.samples if names and any(name and name.startswith("f0") for name in names)]
        self.assertGreater(len(named), least)
        wrong = [names for names in named if not is_true(names)]
        self.assertLessEqual(len(wrong), 0.002 * len(named), wrong[:3])

    def test_frames_are_those_of_the_program(self):
        self.any_interpreter()
        for python in interpreters():
            with self.subTest(python):
                reader = self.record(python, CHAINS, "1.5")
                self.check_chains(reader)
                self.assertEqual({kind for _, kind, *_ in reader.told}, {"cpython"})

    def test_waits_have_them(self):
        python = self.any_interpreter()
        for options in ("--off-cpu",), ("-a", "--off-cpu"):
            with self.subTest(options):
                reader = self.record(python, CHAINS, "3", "wait", options=options)
                waiting = [names for _, names in reader.samples if names and names[0] == "rest"]
                self.assertGreater(len(waiting), 100)
                self.assertTrue(all(map(is_true, waiting)), [names for names in waiting if not is_true(names)][:3])

    def test_a_forked_child_has_them(self):
        python = self.any_interpreter()
        reader = self.record(python, CHAINS, "3", "fork")
        n = collections.Counter(sample.process for sample, names in reader.samples if names and "f0" in names)
        self.assertEqual(len(n), 2)
        self.assertGreater(min(n.values()), 50)
        self.check_chains(reader)

    def test_another_program_has_none(self):
        python = self.any_interpreter()
        reader = self.record(python, CHAINS, "0.5", "exec", reading.DEEP, "3", "16", "0.5")
        with_walk = {sample.process for sample, names in reader.samples if names is not None}
        without = collections.Counter(sample.process for sample, names in reader.samples if names is None)
        self.assertEqual(len(with_walk), 1)
        self.assertGreater(max(n for process, n in without.items() if process not in with_walk), 100)

    def test_another_python_has_its_own(self):
        """It has the same PID, and mostly the same addresses."""
        python = self.any_interpreter()
        reader = self.record("env", "PYTHONHASHSEED=0", "setarch", "-R", python, CHAINS, "2", "exec", python, CHAINS, "2")
        n = collections.Counter(sample.process for sample, names in reader.samples if names and "f0" in names)
        self.assertEqual(len(n), 2)
        self.assertGreater(min(n.values()), 50)
        self.check_chains(reader)
        self.assertLess(reader.n_unknown, 10)  # objects whose memory is swapped out, or not there yet

    def test_code_in_the_place_of_other_code(self):
        python = self.any_interpreter()
        for prefix in "generated", "generated by a template of a very long name, behind which the number comes":
            with self.subTest(prefix):
                reader = self.record(python, GENERATED, "1.5", prefix)
                found = [reader.codes_of(sample)[:2] for sample, names in reader.samples
                         if names and len(names) > 1 and names[0] == "g" and names[1].startswith("outer_")]
                self.assertGreater(len(found), 100)
                for inner, outer in found:
                    self.assertEqual(inner.file, f"<{prefix} {outer.name[-6:]}>")

    def test_lost_objects_have_no_other_name(self):
        python = self.any_interpreter()
        whole = self.record(python, CHAINS, "1")
        all_records = streams.records(self.stream.read_bytes())
        objects = [i for i, record in enumerate(all_records) if streams.record_type(record) == walks.MEMORY]
        left_out = set(objects[::3])
        hello, *middle, end = [record for i, record in enumerate(all_records) if i not in left_out]
        shorter = walks.Reader(streams.between(hello, middle, end))
        self.assertGreater(shorter.n_unknown, 10)
        for (_, names), (_, fewer) in zip(whole.samples, shorter.samples):
            for name, other in zip(names or [], fewer or []):
                self.assertIn(other, (name, None))

    def test_later_stages_pass_them_on(self):
        python = self.any_interpreter()
        self.record(python, CHAINS, "0.5")
        unwound = [self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer")) for _ in range(2)]
        self.assertEqual(*unwound)
        kinds = walks.RUNTIME, walks.MEMORY
        before, after = ([record for record in streams.records(data) if streams.record_type(record) in kinds]
                         for data in (self.stream.read_bytes(), unwound[0]))
        self.assertGreater(len(before), 10)
        self.assertEqual(before, after)

    def test_without_the_option_there_are_none(self):
        python = (interpreters() or [sys.executable])[0]
        with self.stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", "--", python, str(CHAINS), "0.3"), stdout=out)
        self.assertEqual({names for _, names in walks.Reader(self.stream.read_bytes()).samples}, {None})

    def test_lists_that_no_interpreter_has(self):
        for how, end, n in ("good", "end", 10), ("cycle", "limit", FRAMES_MAX), ("long", "limit", FRAMES_MAX), \
                           ("guard", "absent", 10), ("garbage", None, None):
            with self.subTest(how):
                reader = self.record(FAKE, "0.5", how)
                found = [sample.lists[0] for sample, names in reader.samples if names]
                self.assertGreater(len(found), 50)
                if end:
                    self.assertEqual({(one.end, len(one.elements)) for one in found}, {(end, n)})
                self.assertLess(len(self.stream.read_bytes()), 100 << 20)


if __name__ == "__main__":
    sys.exit(pipeline.main())
