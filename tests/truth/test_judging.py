# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the judge of test_truth.py with stacks made by hand."""
import unittest

import judging
import truths

LINES = [("chain", "START main outer dive{3} WORK"), ("chain", "START main (left|right) LIBC+ end"),
         ("ends", "stack-truncated at dive"), ("aside", 'START main "an aside(int)"?')]
START = ["_start", "__libc_start_main", "[libc.so.6+0x27249]"]
DIVED = ["main", "outer", "dive", "dive", "dive", "spin"]


def verdict(*names):
    program = truths.Program("made", None, LINES)
    return judging.judge(program.threads["made"], names)[0]


class Judging(unittest.TestCase):
    def test_a_whole_chain(self):
        self.assertEqual(verdict(*START, *DIVED, "tick"), "exact")
        self.assertEqual(verdict(*START, "main", "right", "write", "[libc.so.6+0x1]", "end"), "exact")

    def test_its_beginning(self):
        for n in range(1, len(DIVED)):
            self.assertEqual(verdict(*START, *DIVED[:n]), "exact")

    def test_kernel_frames_are_ignored(self):
        self.assertEqual(verdict(*START, *DIVED, "exc_page_fault_[k]"), "exact")
        self.assertEqual(verdict("do_exit_[k]"), "starting")

    def test_a_frame_is_missing(self):
        chain = [*START, *DIVED, "tick"]
        for i in range(len(chain) - 1):
            self.assertEqual(verdict(*chain[:i], *chain[i + 1:]), "wrong", chain[i])

    def test_a_frame_is_too_many(self):
        chain = [*START, *DIVED, "tick"]
        for i, name in enumerate(chain):
            self.assertEqual(verdict(*chain[:i], name, *chain[i:]), "wrong", name)

    def test_a_frame_is_another(self):
        chain = [*START, *DIVED, "tick"]
        for i in range(len(chain)):
            self.assertEqual(verdict(*chain[:i], "middle", *chain[i + 1:]), "wrong")
        self.assertEqual(verdict(*START, "main", "left", "outer", "end"), "wrong")
        self.assertEqual(verdict(*START, "main", "left", "[libm.so.6+0x1]", "end"), "wrong")

    def test_an_allowed_end(self):
        self.assertEqual(verdict("[stack-truncated]", "dive", "dive", "spin", "tick"), "allowed")
        self.assertEqual(verdict("[stack-truncated]", "dive", "spin"), "allowed")

    def test_an_end_that_is_not_allowed(self):
        self.assertEqual(verdict("[stack-truncated]", "spin", "tick"), "other")
        self.assertEqual(verdict("[no-unwind-info]", "dive", "spin"), "other")
        self.assertEqual(verdict("[stack-truncated]", "_dl_catch_error", "_dl_catch_exception"), "other")

    def test_a_cut_stack_that_is_wrong(self):
        self.assertEqual(verdict("[stack-truncated]", "dive", "tick"), "wrong")
        self.assertEqual(verdict("[stack-truncated]", "dive", "dive", "dive", "dive"), "wrong")
        self.assertEqual(verdict("[stack-truncated]", "outer", "dive", "spin"), "wrong")

    def test_starting_and_ending(self):
        self.assertEqual(verdict("_start", "_dl_catch_error", "_dl_catch_exception"), "starting")
        self.assertEqual(verdict(*START, "exit"), "starting")
        self.assertEqual(verdict("[no-unwind-info]", "_dl_start_user"), "starting")
        self.assertEqual(verdict("[no-unwind-info]", "__restore_rt"), "other")
        self.assertEqual(verdict("_start", "outer"), "wrong")

    def test_an_aside(self):
        self.assertEqual(verdict(*START, "main", "an aside(int)"), "aside")

    def test_code_in_no_file(self):
        chain = truths.Chain("main ANON{2}")
        for name in "[unknown]", "[unknown]_[j]", "[anon:jit+0x10]":
            self.assertEqual(chain.match(["main", name, name]), "whole", name)
        self.assertEqual(chain.match(["main", "[libc.so.6+0x10]"]), "")

    def test_malformed_chains_are_refused(self):
        for text in "main (a", "main a{", "main a?b", "a||b":
            with self.assertRaises(ValueError):
                truths.Chain(text)


if __name__ == "__main__":
    unittest.main()
