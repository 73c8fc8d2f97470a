#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program ends as it does alone, whatever stacks it creates and whatever lies above them."""
import re
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402

STACKS = heap.PROGRAMS / "heap-stacks"
STRESS = heap.PROGRAMS / "heap-stack-stress"
THREADS = heap.PROGRAMS / "heap-threads"
SIZE = 7001
STATUS = 3
NOT_HERE = 77
N_CALLS = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1].isdigit() else "40000"
SEEDS = range(1, 4)


class Stacks(unittest.TestCase):
    def run_traced(self, *command, status=STATUS):
        """Yields the program's output and the recorded sizes, for each way to record it."""
        for options in ((), ("--follow",)):
            with self.subTest(command[1:], options=options):
                found, errors, ended = heap.run(command, "-q", *options)
                self.assertEqual((ended, found.status), (status, 0), errors)
                self.assertFalse(found.lost)
                self.assertEqual([event for event in found.live()[1]
                                  if event.kind == "allocated"], [])
                sizes = Counter(event.size for event in found.events
                                if event.kind == "allocated")
                yield errors.decode(), sizes

    def check(self, way):
        alone = subprocess.run([STACKS, way], stdout=subprocess.PIPE, check=False)
        if alone.returncode == NOT_HERE:
            self.skipTest(f"{heap.pipeline.NOT_HERE} anyone wait for pages")
        self.assertEqual(alone.returncode, STATUS)
        for said, sizes in self.run_traced(STACKS, way):
            self.assertEqual(said, alone.stdout.decode())
            self.assertEqual(said, f"{sizes[SIZE]} allocations\n")

    def test_unmapped_memory(self):
        self.check("unmapped")

    def test_memory_unmapped_without_the_c_library(self):
        self.check("unmapped-without-libc")

    def test_memory_made_unreadable(self):
        self.check("protected")

    def test_replaced_memory(self):
        self.check("replaced")

    def test_moved_memory(self):
        self.check("moved")

    def test_a_truncated_file(self):
        self.check("truncated")

    def test_a_neighbouring_mapping(self):
        self.check("neighbour")

    def test_a_neighbour_that_is_mapped_and_unmapped(self):
        self.check("neighbour-of-thread")

    def test_contexts(self):
        self.check("contexts")

    def test_stacks_of_signal_handlers(self):
        self.check("alternate")

    def test_clones(self):
        self.check("cloned")

    def test_threads_on_memory_of_the_program(self):
        self.check("setstack")

    def test_stacks_in_the_stack_of_a_thread(self):
        self.check("carved")

    def test_a_guard_set_by_another_thread(self):
        self.check("carved-by-another")
        self.check("carved-first")

    def test_a_guard_with_a_key(self):
        self.check("carved-by-key")

    def test_a_guard_not_shown_in_mappings(self):
        self.check("carved-by-guard")
        self.check("carved-first-by-guard")

    def test_growing_stacks(self):
        self.check("growing")

    def test_clones_beside_their_parent(self):
        self.check("cloned-beside")

    def test_an_interrupted_stack_is_unmapped(self):
        self.check("interrupted")

    def test_stacks_near_the_first(self):
        self.check("hinted")

    def test_memory_that_is_never_provided(self):
        self.check("provided")

    def test_a_register_that_is_no_frame_pointer(self):
        self.check("frame-pointer")

    def test_threads(self):
        for said, sizes in self.run_traced(THREADS, status=0):
            self.assertEqual(said, "program ended well\n")
            self.assertEqual((sizes[100] - 501, sizes[50]), (0, 300 * 2 * 200))

    def test_at_random(self):
        for seed in SEEDS:
            for said, sizes in self.run_traced(STRESS, N_CALLS, str(seed)):
                n, n_handled = re.fullmatch(r"(\d+) allocations, (\d+) in handlers\n",
                                            said).groups()
                self.assertEqual((sizes[SIZE], sizes[SIZE + 1]), (int(n), int(n_handled)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
