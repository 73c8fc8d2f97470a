#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program confined to the system calls that it makes itself ends as it does alone."""
import itertools
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402
import pipeline  # noqa: E402

CONFINED = heap.PROGRAMS / "heap-confined"
SIZE = 7001
STATUS = 5
EVERY = tuple(itertools.product(("start", "middle"), ("kill", "trap", "errno"),
                                ("prctl", "seccomp", "tsync"))) + (("middle", "thread", "prctl"),)
SOME = (("start", "kill", "prctl"), ("middle", "kill", "seccomp"), ("start", "trap", "prctl"),
        ("middle", "errno", "prctl"), ("middle", "kill", "tsync"))
# Prints how many bytes a connecting program sends; with a backlog of 0 the backlog is full.
SQUATTER = """
import os, socket, sys
address = f"stackpipe-test-{os.getpid()}"
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind("\\0" + address)
listening.listen(int(sys.argv[1]))
if not int(sys.argv[1]):
    other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other.connect("\\0" + address)
print(address, flush=True)
if int(sys.argv[1]):
    print(len(listening.accept()[0].recv(4096)))
else:
    sys.stdin.read()
"""


class Confined(unittest.TestCase):
    def check(self, *arguments, options=(), is_all_of_it=True):
        """A lost event may also be a mapping where mappings are recorded."""
        with self.subTest(arguments, options=options):
            command = [CONFINED, *arguments]
            alone = subprocess.run(command, stdout=subprocess.PIPE, check=False)
            self.assertEqual(alone.returncode, STATUS)
            found, errors, ended = heap.run(command, "-q", *options, stages=("live-unwinder",))
            self.assertEqual((ended, errors, found.status), (STATUS, alone.stdout, 0))
            told = sum(event.kind == "allocated" and event.size == SIZE for event in found.events)
            lost = sum(loss["n_allocated"] for loss in found.lost)
            n = int(alone.stdout.split()[0])
            if "--mmap" in options:
                self.assertGreaterEqual(told + lost, n)
            elif is_all_of_it:
                self.assertEqual(told + lost, n)

    def check_way(self, way, is_all_of_it=True):
        for filter_ in EVERY:
            self.check(*filter_, way, is_all_of_it=is_all_of_it)
        for filter_ in SOME:
            self.check(*filter_, way, options=["--follow"], is_all_of_it=is_all_of_it)

    def test_it_allocates(self):
        self.check_way("flood")

    def test_it_makes_stacks(self):
        self.check_way("stacks")

    def test_it_starts_threads(self):
        self.check_way("threads")

    def test_it_forks(self):
        self.check_way("fork", is_all_of_it=False)

    def test_it_executes_another_program(self):
        self.check_way("exec", is_all_of_it=False)

    def test_strict_mode(self):
        for options in ((), ("--follow",), ("--when-full=drop",)):
            self.check("middle", "strict", "-", "flood", options=options)

    def test_the_time_stamp_counter_is_forbidden(self):
        for when in ("start", "middle"):
            for options in ((), ("--follow",)):
                self.check(when, "tsc", "-", "flood", options=options)

    def test_with_mappings_and_samples(self):
        for options in (("--mmap",), ("-S", "512K")):
            for filter_ in SOME:
                self.check(*filter_, "stacks", options=options, is_all_of_it="-S" not in options)

    def test_a_filter_like_that_of_ssh(self):
        found, errors, ended = heap.run([heap.PROGRAMS / "heap-filter"], "-q")
        self.assertEqual((ended, errors, found.status), (0, b"program ended well\n", 0))
        self.assertEqual(sum(event.kind == "allocated" and 100 <= event.size < 1100
                             and "work" in found.names_of(event.stack) for event in found.events),
                         1000)

    @pipeline.needs_root
    def test_the_readers_address_is_taken_by_another_user(self):
        """Another user owns the address: the program sends no data, and a full backlog does not block it forever."""
        for backlog in 1, 0:
            with self.subTest(backlog=backlog), subprocess.Popen(
                    [*pipeline.NOBODY, sys.executable, "-c", SQUATTER, str(backlog)], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True) as squatter:
                address = squatter.stdout.readline().strip()
                subprocess.run(["true"], check=True, timeout=pipeline.PATIENCE_S, env={
                    **os.environ, "LD_PRELOAD": str(heap.PRELOAD.parent / "libstackpipe-preload.so"),
                    "STACKPIPE_HEAP": f"{address}:{'0' * 32}:0"})
                said, _ = squatter.communicate("")
                self.assertEqual(said.strip(), "0" if backlog else "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
