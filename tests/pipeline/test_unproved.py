# SPDX-License-Identifier: GPL-3.0-or-later
"""Code without a file, with frame pointers in part or not at all: stacks marked complete are correct."""
import operator
import re
from collections import Counter

import pipeline
import streams

PROGRAMS = {name: pipeline.BUILD / "tests" / "pipeline" / name
            for name in ("unproved", "unproved-bare", "unproved-joined", "unproved-nested")}
ENDS = [f"[{end}]" for end in streams.ENDS]
N_MIN = 100  # of some 300 samples of each program


def is_made(name):
    """Generated code: without a file, or in the program's data."""
    return name.startswith("[unknown]") or re.match(r"\[unproved[a-z-]*\+0x", name)


class Unproved(pipeline.RecordingTest):
    """
    `calls` are the true calls between functions of the program, without those to or from generated code. A
    function that only generated code calls has the caller `nobody`, which does not exist.
    """

    def record(self, program, way, engine):
        """{user side: n}, and the share of complete stacks according to the summary."""
        out = self.directory / "out.folded"
        out.unlink(missing_ok=True)
        ended = self.run_well(self.source("-F", "999", "--", PROGRAMS[program], way),
                              self.stage("live-unwinder", "-q", f"--engine={engine}"),
                              self.stage("symbolizer", "-q"), self.stage("capture-sink", "-f", "folded", out))
        stacks = Counter()
        for names, n in streams.folded_stacks(out.read_text()):
            stacks[tuple(names[1:])] += n
        share = re.search(r"complete (\S+) %", "\n".join(ended[-1].errors))
        return stacks, float(share.group(1)) if share else 0.0

    def check_one(self, program, way, calls, engine):
        """(number of stacks that are cut or unproved, number of complete ones)."""
        stacks, share = self.record(program, way, engine)
        functions = {name for call in calls for name in call}
        n_complete = n_cut = 0
        for names, n in stacks.items():
            user = [name for name in names if not name.endswith("_[k]")]
            is_complete = names[0] not in ENDS
            n_complete += n if is_complete else 0
            n_cut += n if names[0] in ENDS else 0
            if any(is_made(name) for name in user):
                self.assertIn(user[0], ENDS, names)
            elif is_complete and "main" in user:
                below = user[user.index("main"):]
                for call in zip(below, below[1:]):
                    if not functions.issuperset(call):
                        break
                    self.assertIn(call, calls, names)
        self.assertAlmostEqual(share, 100 * n_complete / sum(stacks.values()), delta=0.01)
        return n_cut, n_complete

    def check(self, way, *calls, programs=("unproved", "unproved-bare"), least=(N_MIN, 0)):
        """`least`: minimum numbers of cut or unproved stacks, and of complete ones."""
        calls = {tuple(call.split()) for call in calls}
        for program in programs:
            for engine in ("auto", "dwfl") if program == programs[0] else ("auto",):
                with self.subTest(program=program, engine=engine):
                    counts = self.check_one(program, way, calls, engine)
                    self.assertTrue(all(map(operator.ge, counts, least)), counts)

    def check_common(self, way, *calls, **options):
        self.check(way, f"main run_{way.replace('-', '_')}", f"run_{way.replace('-', '_')} run", "run via",
                   "run is_over", *calls, **options)

    def test_a_frame_pointer_to_a_lookalike_frame(self):
        self.check_common("register", "nobody decoy")

    def test_a_leaf_without_a_frame(self):
        self.check_common("leaf")

    def test_a_caller_without_a_frame_between_others(self):
        self.check_common("middle", "to_middle spin")

    def test_a_trampoline(self):
        """The trampoline leaves nothing on the stack: its target's stack is complete. No other code was generated."""
        self.check_common("trampoline", "via spin", least=(0, N_MIN))

    def test_code_in_a_memfd(self):
        self.check_common("memfd", "nobody spin")

    def test_code_in_a_files_data(self):
        self.check_common("data", "nobody spin", programs=("unproved", "unproved-bare", "unproved-joined"))

    def test_a_leaf_in_a_files_data(self):
        self.check_common("data-leaf", programs=("unproved", "unproved-bare", "unproved-joined"))

    def test_a_signal_handler_above_generated_code(self):
        self.check_common("signal", "handle spin")

    def test_a_fiber_entered_from_generated_code(self):
        self.check_common("fiber", "in_fiber via", "to_fiber spin")

    def test_code_that_switches_stacks(self):
        self.check_common("switching", "nobody spin")

    def test_a_copy_of_a_functions_code_elsewhere(self):
        self.check_common("copy", "nobody spin")

    def test_a_function_within_a_function(self):
        """The trampoline is on the stack itself, which is executable."""
        self.check("nested", "main run_nested", "run_nested call", "call nested.0", "run_nested is_over",
                   programs=("unproved-nested",), least=(1, N_MIN))  # a dozen are within the trampoline


if __name__ == "__main__":
    pipeline.main()
