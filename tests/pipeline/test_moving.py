# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that moves or is replaced, mostly without an event: no name and no complete stack is wrong."""
import subprocess
from collections import Counter

import pipeline
import streams


class Moved(pipeline.RecordingTest):
    """Code that moves without a kernel event: the thread "second" runs the second library's code."""
    PROGRAMS = pipeline.TOP / "tests" / "programs"

    def setUp(self):
        super().setUp()
        self.program = self.directory / "moved"
        subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-o", self.program, self.PROGRAMS / "moved.c"], check=True)
        self.libraries = [self.directory / f"lib{name}.so" for name in ("alpha", "beta")]
        for library, name in zip(self.libraries, ("alpha", "beta")):
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-DNAME={name}", "-o", library,
                            self.PROGRAMS / "moved-library.c"], check=True)

    def leaves(self, way):
        ended = self.run_well(self.source("-F", "999", "--", self.program, way, *self.libraries),
                              self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
                              self.stage("capture-sink", "-q", "-f", "folded", "-"))
        leaves = Counter()
        for names, n in streams.folded_stacks(ended[-1].output.decode()):
            user = [name for name in names[1:] if not name.endswith("_[k]")]
            if names[0] != "away" and user and user[-1].endswith("_inner"):
                leaves[names[0], user[-1]] += n
        return leaves

    def check(self, way):
        leaves = self.leaves(way)
        self.assertEqual(set(leaves), {("moved", "alpha_inner"), ("second", "beta_inner")}, leaves)
        self.assertGreater(leaves["second", "beta_inner"], 300)

    def test_code_moved_over_other_code(self):
        self.check("move")
        self.assertGreater(self.stats("perf-source")["processes"]["mappings-moved"], 0)

    def test_a_process_sharing_the_memory_of_another(self):
        self.check("share")


class Moving(pipeline.RecordingTest):
    """Code is replaced in various ways: a thread is named after the code that it runs."""
    RAN = {"alpha": ["alpha_outer", "alpha_inner"], "beta": ["beta_outer", "beta_inner"],
           "alpha-beta": ["alpha_outer", "beta_inner"], "alpha-other": ["alpha_outer", "alpha_other"]}
    INSIDE = {"entry", "[unknown]", *sum(RAN.values(), [])}

    MOVING = pipeline.CHAIN.with_name("moving")
    LIBRARIES = [pipeline.CHAIN.with_name(f"libmoving-{name}.so") for name in ("alpha", "beta")]

    def check(self, way, *threads):
        """Unknown code has no mapping for a while; no name is wrong, and no stack marked complete."""
        ended = self.run_well(self.source("-F", "999", "--", self.MOVING, way, *self.LIBRARIES),
                              self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
                              self.stage("capture-sink", "-q", "-f", "folded", "-"))
        n_whole = Counter()
        for names, n in streams.folded_stacks(ended[-1].output.decode()):
            user = streams.user_side(names)
            if names[0] not in self.RAN or not user:
                continue
            if user[0] == "[no-mapping]":
                self.assertEqual(user, ["[no-mapping]", "[unknown]"])
            elif self.INSIDE & set(user):
                self.assertIn(user[0], ("_start", "__clone"), names)
                below = user[user.index("run"):]
                self.assertEqual(below, ["run", "entry", *self.RAN[names[0]]][:len(below)], names)
                n_whole[names[0]] += n if len(below) == 4 else 0
        self.assertEqual(set(n_whole), {"alpha", *threads})
        self.assertTrue(all(n > 50 for n in n_whole.values()), n_whole)

    def test_a_move_that_leaves_its_place_mapped(self):
        self.check("move-and-stay", "beta")

    def test_a_move_of_a_part(self):
        self.check("move-part", "alpha-beta")

    def test_a_mapping_over_a_part(self):
        self.check("map-over-part", "alpha-beta")

    def test_mappings_that_take_turns(self):
        self.check("map-in-turns", "beta")

    def test_swapped_pages_of_one_file(self):
        self.check("remap-pages", "alpha-other")

    def test_rights_that_split_a_mapping(self):
        self.check("change-rights")

    def test_overwritten_code_that_is_restored(self):
        self.check("write-and-drop")

    def test_a_vforked_child_that_maps_and_exits(self):
        self.check("map-in-vfork", "beta")

    def test_a_vforked_child_that_maps_and_runs(self):
        self.check("map-and-run-in-vfork", "beta")

    def test_a_grandchild_that_shares_memory(self):
        self.check("share-with-grandchild", "beta")

    def test_orphans_that_share_memory(self):
        self.check("share-with-orphans", "beta")

    def test_memory_changed_by_an_exiting_process(self):
        self.check("share-with-one-that-ends", "beta")


class ReplacedText(pipeline.RecordingTest):
    """Programs that have replaced their text by a copy of itself, at its own address."""
    CHAIN = ["main", "outer", "middle", "inner", "spin"]
    LINKED = ()

    def setUp(self):
        super().setUp()
        self.program = self.directory / "replaced"
        subprocess.run(["cc", "-O1", "-fomit-frame-pointer", "-D_GNU_SOURCE", *self.LINKED, "-o", self.program,
                        pipeline.TOP / "tests" / "programs" / "replaced.c"], check=True)

    def stacks(self, *what):
        """{(end reason or nothing, outermost, …, leaf): n} of the user side of a recording."""
        ended = self.run_well(self.source("-F", "999", *what), self.stage("live-unwinder", "-q"),
                              self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", "-f", "folded", "-"))
        stacks = Counter()
        for names, n in streams.folded_stacks(ended[-1].output.decode()):
            user = [name for name in names[1:] if not name.endswith("_[k]")]
            stacks[tuple(user)] += n
        return stacks

    def check(self, stacks):
        """Stacks from before the copy was detected are not complete."""
        n_whole = 0
        for user, n in stacks.items():
            if user and user[0] == "_start" and "main" in user:
                if user[-1] == "spin":
                    self.assertEqual(list(user[user.index("main"):]), self.CHAIN)
                    n_whole += n
        self.assertGreater(n_whole, 0.8 * sum(stacks.values()), stacks)
        self.assertGreater(self.stats("perf-source")["processes"]["replaced-text"], 0)

    def check_started(self, way):
        self.check(self.stacks("--", self.program, way, "2"))

    def attached(self, way):
        """The stacks of a program that had replaced its text before the recording."""
        process = self.start([self.program, way, str(pipeline.PATIENCE_S)]).processes[0]
        name = pipeline.Path(f"/proc/{process.pid}/comm")
        pipeline.wait_for(lambda: name.read_text() == "moved\n", "the text to be replaced")
        return self.stacks("-d", "2", "-p", str(process.pid))  # it is detected after a quarter of a second


class Replaced(ReplacedText):
    def test_text_that_is_copied_back(self):
        self.check_started("copy")

    def test_text_that_is_moved_over(self):
        self.check_started("move")

    def test_later_changes_elsewhere_do_not_matter(self):
        self.check_started("change")

    def test_text_that_was_copied_back_before(self):
        self.check(self.attached("copy"))

    def test_text_that_was_moved_over_before(self):
        self.check(self.attached("move"))

    def test_a_part_of_the_text_copied_back_before(self):
        self.check(self.attached("part"))

    def test_changes_elsewhere_do_not_matter(self):
        self.check(self.attached("change"))

    def test_text_that_was_patched_before_is_no_copy(self):
        stacks = self.attached("patch")
        self.assertGreater(sum(stacks.values()), 100)
        self.assertEqual([user for user in stacks if user and user[0] == "_start"], [])
        self.assertEqual({name for user in stacks for name in user} & set(self.CHAIN), set())


class ReplacedJoined(ReplacedText):
    """A segment ends in the page where the next one begins."""
    LINKED = ("-Wl,-z,noseparate-code",)

    def test_text_that_was_copied_back_before(self):
        self.check(self.attached("copy"))

    def test_a_part_of_the_text_copied_back_before(self):
        self.check(self.attached("part"))


if __name__ == "__main__":
    pipeline.main()
