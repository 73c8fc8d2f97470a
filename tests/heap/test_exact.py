#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every call of the allocator is recorded: with the right thread, in order, with its size and stack."""
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402
import pipeline  # noqa: E402

KINDS = {1: "allocated", 2: "freed", 3: "released", 4: "restored"}
DEPTH = 6
ENTRY = struct.Struct("<QQII")
N_CALLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 400000


def read_log(path, n_threads, n_calls):
    """The program's own log of its calls, by thread."""
    data = path.read_bytes()
    n_entries = n_calls // n_threads + 512
    threads = {}
    for i in range(n_threads):
        at = i * (n_entries + 1) * ENTRY.size
        tid, n, _, _ = ENTRY.unpack_from(data, at)
        threads[tid] = [ENTRY.unpack_from(data, at + (1 + k) * ENTRY.size) for k in range(n)]
    return threads


def expected_stack(path):
    """Function names from `operate` outwards."""
    names = ["operate"]
    for bit in reversed(range(DEPTH)):
        names += ["fork_off", "right" if path >> bit & 1 else "left"]
    return names + ["fork_off", "work"]


class Exact(unittest.TestCase):
    def check(self, n_threads, *options):
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            found, errors, status = heap.run(
                [heap.PROGRAMS / "heap-exact", log, n_threads, N_CALLS], *options)
            self.assertEqual(status, 0, errors)
            self.assertEqual(found.status, 0)
            threads = read_log(log, n_threads, N_CALLS)
        self.assertFalse(found.lost)
        events = {tid: [] for tid in threads}
        for event in found.events:
            if event.tid in events:
                events[event.tid].append(event)
        stacks = {}
        for tid, entries in threads.items():
            mine = self.without_frame_of_thread(events[tid], entries)
            self.assertEqual(len(mine), len(entries))
            for event, (address, size, kind, path) in zip(mine, entries):
                self.assertEqual((event.kind, event.address), (KINDS[kind], address))
                if kind != 1:
                    continue
                self.assertEqual(event.size, size)
                stacks.setdefault((event.stack, path), event)
        for stack, path in stacks:
            names = [name for name in found.names_of(stack)
                     if name not in ("allocate", "resize")]
            self.assertEqual(names[:len(expected_stack(path))], expected_stack(path))
            self.assertEqual(found.ends[stack], "complete")
        self.check_live(found, threads)

    def without_frame_of_thread(self, events, entries):
        """Drops glibc's own allocations and frees for a thread, before its first call and after its last."""
        addresses = {entry[0] for entry in entries}
        first = next(i for i, event in enumerate(events) if event.address == entries[0][0])
        return [event for event in events[first:] if event.address in addresses][:len(entries)]

    def check_live(self, found, threads):
        live, wrong = found.live()
        self.assertEqual(wrong, [])
        n_blocks = {}  # by address: allocations minus frees
        for entries in threads.values():
            for address, _, kind, _ in entries:
                n_blocks[address] = n_blocks.get(address, 0) + (1 if kind in (1, 4) else -1)
        self.assertEqual(set(n_blocks.values()) - {0, 1}, set())
        self.assertEqual({address for _, address in live if address in n_blocks},
                         {address for address, n in n_blocks.items() if n})

    def test_one_thread(self):
        self.check(1)

    def test_four_threads(self):
        self.check(4)

    def test_four_threads_with_a_short_block_time(self):
        self.check(4, "--when-full=block:600000")


if __name__ == "__main__":
    unittest.main(verbosity=2)
