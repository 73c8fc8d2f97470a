#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a program does around its allocator, it is not harmed, and the recorded events are true."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402
import pipeline  # noqa: E402

WAYS = heap.PROGRAMS / "heap-ways"
SIZE = 7001
MANY = 20000
PAGE = 4096
WAYS_SOURCE = Path(__file__).resolve().parents[1] / "programs" / "heap" / "ways.c"
FIRST_CALL = Path(__file__).resolve().parents[1] / "programs" / "heap" / "first-call.c"


def sizes(found, size, process=None):
    return [event for event in found.events if event.kind == "allocated" and event.size == size
            and process in (None, event.process)]


def copies(found, *callers):
    """How many blocks strdup() and strndup() allocated, with these innermost callers."""
    return [sum(caller in found.names_of(event.stack)[0] for event in sizes(found, size))
            for caller, size in zip(callers, (61, 46))]


class Ways(unittest.TestCase):
    def run_way(self, *arguments, options=(), status=0, environment=None):
        found, errors, ended = heap.run([WAYS, *arguments], *options, environment=environment)
        self.assertEqual(ended, status, errors)
        self.assertEqual(found.status, 0, errors)
        self.errors = errors.decode()
        return found

    def check_whole(self, found):
        self.assertFalse(found.lost)
        self.assertEqual(found.live()[1], [])

    def test_every_entry_is_recorded(self):
        found = self.run_way("entries")
        self.check_whole(found)
        for size in range(SIZE, SIZE + 9):
            self.assertEqual(len(sizes(found, size)), 1, size)
            self.assertIn("every_entry", found.names_of(sizes(found, size)[0].stack))
        self.assertEqual(copies(found, "strdup", "strndup"), [1, 1])
        empty = [event for event in sizes(found, 0) if "every_entry" in found.names_of(event.stack)]
        self.assertEqual(len(empty), 1)
        self.assertNotIn((empty[0].process, empty[0].address), found.live()[0])

    @heap.needs_plain_stages
    def test_an_allocators_own_copies_are_recorded(self):
        own = heap.PROGRAMS / "libheap-own-copies.so"
        found = self.run_way("entries", environment={"LD_PRELOAD": str(own)})
        self.check_whole(found)
        self.assertEqual(copies(found, "every_entry", "every_entry"), [1, 1])

    def test_calls_that_fail_change_nothing(self):
        found = self.run_way("failures")
        self.check_whole(found)
        (block,) = sizes(found, SIZE)
        kinds = [event.kind for event in found.events if event.address == block.address
                 and event.time >= block.time]
        self.assertEqual(kinds[:4], ["allocated", "released", "restored", "freed"])

    def test_a_forked_child_is_not_recorded_as_its_parent(self):
        for way in ("fork", "clone"):
            found = self.run_way(way)
            self.check_whole(found)
            self.assertEqual(len(sizes(found, SIZE + 1)), 0)
            self.assertGreaterEqual(len(sizes(found, SIZE)), MANY)

    def test_a_forked_child_is_followed(self):
        for way in ("fork", "clone"):
            found = self.run_way(way, options=["--follow"])
            self.assertFalse(found.lost)
            children = sizes(found, SIZE + 1)
            self.assertEqual(len(children), MANY)
            parent = {event.process for event in sizes(found, SIZE)}
            self.assertEqual(len(parent), 1)
            self.assertNotIn(children[0].process, parent)
            self.assertEqual(len({event.tid for event in children}), 1)

    def test_forks_among_threads(self):
        found = self.run_way("fork-among-threads", options=["--follow"])
        self.assertFalse(found.lost)
        self.assertEqual(len(sizes(found, SIZE + 1)), 20 * 50)

    def test_vfork_and_spawn(self):
        found = self.run_way("spawn")
        self.check_whole(found)
        self.assertEqual(len(sizes(found, SIZE)), 100)

    def test_rings_of_exited_threads_are_reused(self):
        found = self.run_way("threads")
        self.check_whole(found)
        self.assertEqual(len(sizes(found, SIZE)), 150 * 8)
        self.assertEqual(len({event.tid for event in sizes(found, SIZE)}), 150 * 8)

    def test_signal_handlers_may_allocate(self):
        found = self.run_way("signals")
        self.check_whole(found)
        handled = sizes(found, SIZE + 1)
        self.assertGreaterEqual(len(handled), 40)
        for event in handled:
            names = found.names_of(event.stack)
            self.assertEqual(names[0], "on_signal")
        whole = [event for event in handled if "main" in found.names_of(event.stack)]
        self.assertGreaterEqual(len(whole), 20)  # behind an alternate signal stack, the interrupted stack is not copied

    def test_no_descriptor_is_left_or_needed(self):
        alone = subprocess.run([WAYS, "descriptors"], stdout=subprocess.PIPE, check=True)
        found = self.run_way("descriptors")
        self.check_whole(found)
        self.assertEqual(re.findall(r"\d+ descriptors", self.errors),
                         re.findall(r"\d+ descriptors", alone.stdout.decode()))
        self.assertEqual(len(sizes(found, SIZE + 1)), MANY)

    def test_a_library_replaces_another(self):
        found = self.run_way("libraries", heap.PROGRAMS)
        self.assertFalse(found.lost)
        self.assertEqual([event.kind for event in found.live()[1]], ["freed", "freed"])
        self.assertEqual(len({found.frames[event.stack][0].split("@")[0] for i in (0, 1)
                              for event in sizes(found, SIZE + i)}), 2)  # near each other
        for i, image in enumerate(("one", "other")):
            events = sizes(found, SIZE + i)
            self.assertEqual(len(events), 19)
            for event in events:
                names = found.names_of(event.stack)
                self.assertEqual(names[:3], ["allocate", "libraries", "main"], names)
                self.assertEqual(found.ends[event.stack], "complete")
                self.assertIn(f"libheap-{image}.so", self.image_of(found, event.stack))

    def test_new_libraries_are_found_without_waiting(self):
        """Without waiting the first stacks in a library are raw, and no less true."""
        found = self.run_way("libraries", heap.PROGRAMS, options=["--when-full=drop"])
        events = sizes(found, SIZE) + sizes(found, SIZE + 1)
        lost = sum(loss["n_allocated"] for loss in found.lost)
        self.assertTrue(0 < len(events) <= 38 <= len(events) + lost, (len(events), found.lost))
        for event in events:
            names = found.names_of(event.stack)
            # A library that is unmapped before its stack is unwound has no names.
            if found.ends[event.stack] == "complete":
                self.assertIn(names[:3], (["allocate", "libraries", "main"],
                                          ["?", "libraries", "main"]))
            if names[0] != "?":
                self.assertIn("libheap-" + ("one" if event.size == SIZE else "other"),
                              self.image_of(found, event.stack))

    def test_deep_stacks(self):
        for n_frames in (64, 512):
            found = self.run_way("deep", "3000", options=[f"--max-frames={n_frames}"])
            self.check_whole(found)
            self.assertEqual(found.counts["heap", "raw-stacks"], 0)
            depths = Counter(len(found.frames[event.stack]) for event in sizes(found, SIZE))
            self.assertEqual(max(depths), n_frames)
            for event in sizes(found, SIZE):
                names = found.names_of(event.stack)
                if found.ends[event.stack] == "frame-limit":
                    self.assertEqual(names, ["descend"] * n_frames)
                else:
                    self.assertEqual(found.ends[event.stack], "complete")
                    # A local function of libc has a name only if debug symbols are installed.
                    self.assertEqual(names.count("") + names.count("__libc_start_call_main"), 1)
                    self.assertEqual(set(names) - {"", "__libc_start_call_main"},
                                     {"descend", "main", "__libc_start_main", "_start"})

    def image_of(self, found, stack):
        mapping = int(found.frames[stack][0].split("@")[1].split(":")[0])
        return found.images[found.mappings[mapping][2]]

    def test_all_is_recorded_however_the_program_ends(self):
        for how, status in (("exit", 0), ("_exit", 0), ("quick_exit", 0),
                            ("abort", 128 + signal.SIGABRT), ("kill", 128 + signal.SIGKILL)):
            found = self.run_way("die", how, status=status)
            self.check_whole(found)
            self.assertEqual(len(sizes(found, SIZE)), MANY, how)
            (last,) = sizes(found, SIZE + 1)
            self.assertIn((last.process, last.address), found.live()[0])

    def test_children_do_not_see_the_tracer(self):
        self.run_way("environment", environment={
            "LD_PRELOAD": "libdl.so.2",
            "ASAN_OPTIONS": "verify_asan_link_order=0",  # in case preload-source is built with AddressSanitizer
        })
        own, _, child = self.errors.rpartition("LD_PRELOAD=libdl.so.2")
        self.assertIn("LD_PRELOAD=", own)  # the program's own environment contains our library
        self.assertNotIn("STACKPIPE_HEAP", child.partition("\n")[0])

    def test_the_program_survives_a_killed_reader(self):
        source = subprocess.Popen([heap.PRELOAD, "--when-full=block:100", "--", WAYS, "flood",
                                   "3000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        source.stdout.read(1 << 20)
        source.kill()
        source.stdout.close()
        with source.stderr:  # the program holds the other end of the pipe, too
            self.assertIn(b"done", source.stderr.read())
        source.wait()

    def test_a_stopped_reader_does_not_stop_the_program(self):
        """The reader stops for 10 s and the program goes on; recorded and lost events add up to its calls."""
        for policy in ("drop", "block:50"):
            with self.subTest(policy), tempfile.TemporaryDirectory() as directory:
                stream = Path(directory) / "stream"
                with stream.open("wb") as out:
                    source = subprocess.Popen([heap.PRELOAD, f"--when-full={policy}", "--", WAYS,
                                               "flood-for", "11"], stdout=out,
                                              stderr=subprocess.PIPE)
                    pipeline.wait_for(lambda: stream.stat().st_size > 100000, "events")
                    source.send_signal(signal.SIGSTOP)
                    n_calls = 2 * int(source.stderr.readline().split()[1])
                    source.send_signal(signal.SIGCONT)
                    with source.stderr:
                        source.stderr.read()
                    self.assertEqual(source.wait(), 0)
                told, lost = self.count(stream)
                self.assertGreater(lost, 1000)
                self.assertTrue(n_calls <= told + lost <= n_calls + 100, (n_calls, told, lost))

    def count(self, stream):
        """(recorded, lost) events."""
        with stream.open("rb") as out:
            summary = subprocess.run([pipeline.program("frame-dump"), "--summary"], stdin=out,
                                     stdout=subprocess.PIPE, check=True).stdout.decode()
        return map(int, re.search(r"samples_out=(\d+) dropped=(\d+)", summary).groups())

    def test_mappings(self):
        found = self.run_way("mappings", options=["--mmap"])
        self.assertFalse(found.lost)
        live = {}
        for event in found.events:
            if event.kind in ("mapped", "remained"):
                self.assertNotIn(event.address, live)
                live[event.address] = event
            elif event.kind == "unmapped":
                self.assertEqual(live.pop(event.address).size, event.size)
        pages = Counter()
        for event in live.values():
            pages[found.names_of(event.stack)[0]] += event.size // PAGE
        self.assertEqual(pages["map_pages"], 64 + 56 + 32 + 64)
        self.assertIn(pages["mappings"], (32 + 256, 32 + 256 + 1))
        (cut, rest) = sorted(event.size // PAGE for event in live.values()
                             if event.kind == "remained" and event.size // PAGE in (16, 40))
        self.assertEqual((cut, rest), (16, 40))
        self.assertEqual(len(sizes(found, SIZE)), 1)

    def test_mappings_are_recorded_only_on_request(self):
        found = self.run_way("mappings")
        self.assertEqual([event for event in found.events if "mapped" in event.kind], [])

    def test_threads_have_names(self):
        found = self.run_way("names")
        names = {found.thread_names.get(event.tid) for event in sizes(found, SIZE)}
        self.assertEqual(names, {"reader", "writer"})

    def test_a_small_address_space(self):
        """Too little address space for the shared memory, but the program runs."""
        _, errors, status = heap.run(["sh", "-c", f"ulimit -v 100000; exec {WAYS} entries"])
        self.assertEqual(status, 0, errors)
        self.assertIn(b"is its address space limited", errors)

    @unittest.skipUnless(os.geteuid() == 0, f"{pipeline.NOT_HERE} files be given to other users")
    def test_setuid(self):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "program"
            shutil.copy(WAYS, program)
            os.chown(program, 65534, 65534)
            program.chmod(0o4755)
            Path(directory).chmod(0o755)
            _, errors, status = heap.run([program, "entries"])
        self.assertEqual(status, 0, errors)
        self.assertIn(b"never connected: it is setuid or setgid", errors)

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl-gcc is not installed")
    def test_musl(self):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "program"
            subprocess.run(["musl-gcc", "-DFIRST=block = malloc(7001)", "-fno-builtin", "-w", "-o",
                            program, FIRST_CALL], check=True)
            found, errors, status = heap.run([program])
        self.assertEqual(status, 0, errors)
        self.assertEqual(errors, b"")
        self.assertEqual(len(sizes(found, SIZE)), 1)

    def test_an_allocator_in_the_program_is_reported(self):
        _, errors, status = heap.run([heap.PROGRAMS / "heap-own-allocator"])
        self.assertEqual(status, 0, errors)
        self.assertIn(b"is linked with its own allocator", errors)

    def test_atomics_of_old_compilers(self):
        with tempfile.TemporaryDirectory() as directory:
            source = shutil.copy(heap.PRELOAD, directory)
            shutil.copy(heap.PROGRAMS / "libstackpipe-preload.so", directory)
            for way, n in (("entries", 1), ("threads", 150 * 8), ("fork", 100 + MANY)):
                found, errors, ended = heap.run([WAYS, way], source=source)
                self.assertEqual((ended, found.status), (0, 0), errors)
                self.check_whole(found)
                self.assertEqual(len(sizes(found, SIZE)), n)

    @heap.needs_plain_stages
    def test_a_look_up_that_allocates(self):
        found = self.run_way("entries", environment={
            "LD_PRELOAD": str(heap.PROGRAMS / "libheap-allocating-dlsym.so")})
        self.check_whole(found)
        self.assertEqual(len(sizes(found, SIZE)), 1)

    def test_an_untraceable_program_is_reported(self):
        static = heap.PROGRAMS / "heap-static"
        _, errors, status = heap.run([static])
        self.assertEqual(status, 0)
        self.assertIn(b"the program never connected: it is statically linked", errors)

    def test_exec_of_an_untraced_program_is_reported(self):
        source = subprocess.Popen([heap.PRELOAD, "--", "env", "-i", "sleep", "60"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with source.stderr:
            self.assertIn(b"now runs another program, which never connected",
                          source.stderr.readline())
            source.send_signal(signal.SIGINT)
            source.stderr.read()
        source.wait()

    def test_a_program_with_a_sanitizer_is_refused(self):
        _, errors, status = heap.run([heap.PROGRAMS / "heap-asan"])
        self.assertEqual(status, 1)
        self.assertIn(b"AddressSanitizer", errors)
        self.assertEqual(len(errors.splitlines()), 1)

    def test_first_calls(self):
        for first in ("malloc", "calloc", "realloc", "memalign", "aligned-alloc", "free"):
            found, errors, status = heap.run([heap.PROGRAMS / f"heap-first-{first}"])
            self.assertEqual((status, found.status), (0, 0), errors)
            self.check_whole(found)


@heap.needs_plain_stages
class Allocators(unittest.TestCase):
    """Other allocators, which are preloaded before preload-source's own library."""

    def library(self, name):
        for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
            for path in Path(directory).glob(f"{name}.so*"):
                return str(path)
        self.skipTest(f"{name} {pipeline.NOT_INSTALLED}")

    def test_linked(self):
        """A program linked to an allocator, the usual case."""
        library = self.library("libjemalloc")
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "program"
            subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-w", "-o", program, WAYS_SOURCE, library,
                            f"-Wl,-rpath,{Path(library).parent}", "-lpthread"], check=True)
            for way in ("entries", "fork", "threads"):
                found, errors, status = heap.run([program, way])
                self.assertEqual((status, found.status), (0, 0), errors)
                self.assertFalse(found.lost)
                self.assertEqual(found.live()[1], [])
                self.assertGreaterEqual(len(sizes(found, SIZE)), 1)

    def check(self, name):
        library = self.library(name)
        for way in ("entries", "fork", "threads"):
            found, errors, status = heap.run([WAYS, way], environment={"LD_PRELOAD": library})
            self.assertEqual((status, found.status), (0, 0), errors)
            self.assertFalse(found.lost)
            self.assertEqual(found.live()[1], [])
            self.assertGreaterEqual(len(sizes(found, SIZE)), 1)

    def test_jemalloc(self):
        self.check("libjemalloc")

    def test_tcmalloc(self):
        self.check("libtcmalloc_minimal")

    def test_mimalloc(self):
        self.check("libmimalloc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
