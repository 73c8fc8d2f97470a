#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs with a sanitizer, which must be the first library, run as they do alone."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402
import pipeline  # noqa: E402

STARTER = heap.PROGRAMS / "heap-starter"
SOURCE = Path(__file__).resolve().parents[1] / "programs" / "heap" / "sanitized.c"
LINKER = Path("/lib64/ld-linux-x86-64.so.2")
STATUS = 7
SIZE, SANITIZED_SIZE = 7001, 7002
COMPILERS = "gcc", "clang"
SANITIZERS = "address", "thread", "leak"
WAYS = "spawn", "vfork", "list", "system-call"  # ways that keep the name that the kernel gives the process
OTHER_WAYS = "by-descriptor", "from-memory"
COUNT = "processes", "with-sanitizer"


def build(compiler, program, *options):
    """Whether the compiler supports that sanitizer, and its runtime works here."""
    built = subprocess.run([compiler, "-O1", "-g", "-fno-builtin", *options, "-o", program, SOURCE],
                           stderr=subprocess.DEVNULL, check=False)
    return built.returncode == 0 and subprocess.run(
        [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False).returncode == STATUS


class Sanitizers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.programs = [program for compiler in COMPILERS if shutil.which(compiler)
                        for sanitizer in SANITIZERS
                        if build(compiler, program := cls.directory / f"{compiler}-{sanitizer}",
                                 f"-fsanitize={sanitizer}")]

    def setUp(self):
        if not self.programs:
            self.skipTest(f"a compiler with sanitizers {pipeline.NOT_INSTALLED}")

    def check(self, *command, n=1, options=("--follow",), environment=None, is_same=True):
        """Runs alone and traced: same status and output; n programs are reported as having a sanitizer."""
        with self.subTest(command, options=options):
            env = dict(os.environ, **(environment or {}))
            alone = subprocess.run(command, capture_output=True, env=env, check=False)
            found, errors, status = heap.run(command, *options, environment=environment)
            *lines, told = errors.decode().splitlines() if n else [*errors.decode().splitlines(), ""]
            self.assertEqual((status, found.status), (alone.returncode, 0), errors)
            self.assertEqual(found.counts.get(COUNT, 0), n)
            if n:
                self.assertRegex(told, rf"not traced: {n} programs? with a sanitizer")
            if is_same:
                self.assertEqual(lines, [line for line in alone.stdout.decode().splitlines()])
            sizes = [event.size for event in found.events if event.kind == "allocated"]
            self.assertNotIn(SANITIZED_SIZE, sizes)
            return found, lines

    def test_a_program_exits_before_its_message_is_read(self):
        """The source is stopped until the program has exited."""
        script = ('kill -STOP $PPID; (unset LD_PRELOAD; while ! grep -q ") Z" /proc/$$/stat; do :; done; '
                  'kill -CONT $PPID) & exec "$@"')
        for program in self.programs:
            found, errors, status = heap.run(["sh", "-c", script, "sh", program, "a"])
            self.assertEqual((status, found.counts.get(COUNT, 0)), (STATUS, 1), errors)

    def test_children_of_a_shell(self):
        for program in self.programs:
            found, _ = self.check("sh", "-c", f"{program} a 'b c'; echo $?; {STARTER} spawn {STARTER};"
                                  f" {program}; exit 9", n=2)
            others = [event for event in found.events
                      if event.kind == "allocated" and event.size == SIZE]
            self.assertEqual(len(others), 2)

    def test_ways_to_start_one(self):
        for program in self.programs:
            for way in WAYS:
                self.check(STARTER, way, program, "a")

    def test_ways_without_a_name(self):
        """The path that was executed is gone, so the process has another name; all else is unchanged."""
        for program in self.programs:
            for way in OTHER_WAYS:
                _, lines = self.check(STARTER, way, program, "a", is_same=False)
                self.assertEqual(lines[0].split()[1:3], [str(program), "a"])
                self.assertEqual(lines[0].split()[4:], ["-", "-"])

    def test_found_in_path(self):
        for program in self.programs:
            for way in ("by-path", "spawn-by-path"):
                path = f"{program.parent}:{os.environ['PATH']}"
                self.check(STARTER, way, program.name, "a", environment={"PATH": path})

    def test_exec_in_place_of_another_program(self):
        for program in self.programs:
            for options in ((), ("--follow",)):
                self.check("sh", "-c", f"true; exec {program} a", options=options)

    def test_unfollowed_children_run_too(self):
        for program in self.programs:
            self.check("sh", "-c", f"{program}; exit 4", n=0, options=())
            self.check(STARTER, "vfork", program, "a", n=0, options=())

    def test_by_a_link_with_another_name(self):
        link = self.directory / "link"
        link.symlink_to(self.programs[0])
        self.addCleanup(link.unlink)
        self.check(STARTER, "spawn", link, "a")

    def test_an_interpreter(self):
        script = self.directory / "script"
        script.write_text(f"#!{self.programs[0]} option\n", encoding="ascii")
        script.chmod(0o755)
        _, lines = self.check(STARTER, "spawn", script, "a", is_same=False)
        self.assertEqual(lines[0].split()[1:3], [str(self.programs[0]), "option"])

    def test_under_a_filter_it_is_not_reported(self):
        for program in self.programs:
            _, lines = self.check(STARTER, "filtered", program, "a", n=0, is_same=False)
            self.assertEqual(lines[0].split()[1:3], [str(program), "a"])

    @unittest.skipUnless(LINKER.exists(), f"{LINKER} {pipeline.NOT_INSTALLED}")
    def test_by_the_dynamic_linker(self):
        """The linker is executed again, with its own arguments."""
        for program in self.programs:
            for options in ((), ("--library-path", self.directory)):
                self.check(STARTER, "spawn", LINKER, *options, program, "a")
                self.check(LINKER, *options, program, "a", options=())
                self.check("sh", "-c", 'exec "$@"', "sh", LINKER, *options, program, "a b", "")

    def test_a_sanitizer_still_finds_errors(self):
        for program in self.programs:
            if not program.name.endswith("address"):
                continue
            alone = subprocess.run([program, "overflow"], capture_output=True, check=False)
            _, lines = self.check(STARTER, "spawn", program, "overflow", is_same=False)
            self.assertIn(b"heap-buffer-overflow", alone.stderr)
            frames = [re.sub(r"0x[0-9a-f]+|==\d+==", "", line)
                      for line in alone.stderr.decode().splitlines()]
            self.assertEqual([line for line in frames if "#" in line],
                             [re.sub(r"0x[0-9a-f]+|==\d+==", "", line) for line in lines if "#" in line])

    @heap.needs_plain_stages
    def test_the_users_preload_is_kept(self):
        library = heap.PROGRAMS / "libheap-one.so"
        for program in self.programs:
            if program.name == "gcc-address":  # must be the first library, even before this one
                continue
            self.check(STARTER, "spawn", program, "a", environment={"LD_PRELOAD": str(library)})

    def test_linked_statically(self):
        """Nothing shows which allocator it has: it is not reported, and not harmed."""
        n_built = 0
        for sanitizer in SANITIZERS:
            program = self.directory / f"static-{sanitizer}"
            if build("gcc", program, f"-fsanitize={sanitizer}",
                     f"-static-lib{sanitizer[0]}san"):
                n_built += 1
                self.check(STARTER, "spawn", program, "a", n=0, is_same=False)
        if not n_built:
            self.skipTest(f"static sanitizers {pipeline.NOT_INSTALLED}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
