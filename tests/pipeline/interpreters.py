# SPDX-License-Identifier: GPL-3.0-or-later
"""Records programs of the CPythons that are here; names of their functions tell who called them."""
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pipeline
import reading
import scripts

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
CHAINS, GENERATED = PROGRAMS / "chains.py", PROGRAMS / "generated.py"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "python-fake"
KNOWN = "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t"
OBJECTS = "3.8", "3.9", "3.10"  # whose frames are objects, without qualified names
FROM_DEBIAN = {"3.9": "bullseye", "3.14": "sid", "3.15": "sid"}  # as Debian 12 and 13 have none
FETCH_PROGRAM = Path(__file__).resolve().parent.parent / "fetch-program"
LINK = re.compile(r"f(\d+)_of_f(\d+)$")
CLOSURE = re.compile(r"Way::\{closure:(Way::\w+)\(\)")  # as PHP calls it from 8.4 on


def find(version):
    """The path of a version that is installed; None: it is not."""
    for place in [*os.environ["PATH"].split(":"), "/usr/bin", *map(str, Path.home().glob(f".pyenv/versions/{version}*/bin"))]:
        path = Path(place) / f"python{version}"
        if path.is_file() and "shims" not in place:
            return str(path.resolve())
    return None


def fetch_package(name, suite, package):
    """The directory of a package of another Debian, with its own libraries; None: it cannot be had."""
    root = pipeline.BUILD / "tests" / f"debian-{name}"
    done = subprocess.run([FETCH_PROGRAM, root, suite, package], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} could not be fetched: {done.stderr.strip()}", file=sys.stderr)
        return None
    return root


def fetch(version):
    """A program that runs the version of another Debian; None: it cannot be had."""
    root = fetch_package(f"python{version}", FROM_DEBIAN[version], f"python{version}")
    if not root:
        return None
    program = root / f"run-python{version}"
    text = f'#!/bin/sh\nPYTHONHOME="{root}/usr" exec "{root}/run" python{version} "$@"\n'
    if not program.exists() or program.read_text() != text:
        program.write_text(text)
        program.chmod(0o755)
    return str(program)


@functools.lru_cache
def interpreters():
    """What runs each known version that is here or can be fetched."""
    found = [find(version) or (version in FROM_DEBIAN and fetch(version)) for version in KNOWN]
    return [program for program in found if program]


def has_objects(python):
    return any(python.endswith(f"python{version}") for version in OBJECTS)


def is_made(name):
    """Whether a function is one of a chain."""
    return name == "f0" or LINK.match(name)


def has_true_closures(names):
    """Whether each closure was called for the function that has it, with C or nothing between the two."""
    return all(CLOSURE.match(name)[1] in names[i + 1:i + 3] for i, name in enumerate(names) if name and CLOSURE.match(name))


def is_true(names):
    """Whether each function was called by the one that its name tells, up to the first."""
    if not has_true_closures(names):
        return False
    chain = [name for name in names if name and is_made(name)]
    for name, caller in zip(chain, chain[1:] + [None]):
        link = LINK.match(name)
        wanted = None if link is None else "f0" if link[2] == "0" else f"f{link[2]}_of_"
        if (caller is None) != (wanted is None) or (wanted and not caller.startswith(wanted)):
            return False
    return True


@pipeline.needs_root
class InterpreterTest(reading.ReadingTest):
    def any_interpreter(self):
        """The first one whose frames are no objects."""
        if not interpreters():
            self.skipTest("no CPython 3.8 to 3.15 is here")
        return next((python for python in interpreters() if not has_objects(python)), interpreters()[0])

    def record(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *map(str, command)), stdout=out)


@pipeline.needs_root
class ScriptTest(reading.ReadingTest):
    """Records programs of any language."""

    plain = staticmethod(str)  # a function's name as LINK has it

    def record_program(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *map(str, command)), stdout=out)

    def calls(self):
        """The frames of scripts in each stack, and the outcomes of all samples."""
        stream = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"))
        return ([[frame._replace(name=self.plain(frame.name)) for frame in frames if frame.is_script]
                 for frames in scripts.Stacks(stream).stacks], self.stats("live-unwinder").get("script-frames", {}))

    def chains(self):
        """Those in stacks that have f0."""
        found, outcomes = self.calls()
        return [frames for frames in found if any(frame.name == "f0" for frame in frames)], outcomes

    def check_none(self, fake, *ways):
        """A program that is none of the language has no frames in these ways."""
        for how in ways:
            with self.subTest(how):
                self.record_program(fake, "0.5", how)
                found, outcomes = self.calls()
                self.assertFalse(any(found))
                self.assertGreater(sum(outcomes.values()), 50)
                self.assertNotIn("whole", outcomes)


@functools.lru_cache
def read_lines(path):
    return path.read_text().splitlines()


class MadeChains:
    """The lines of chains whose functions the program makes, in a file of their own."""

    CHAINS = None
    CALLEE = "callee"  # as the program calls what it is to call
    LINES = 6  # of each function: spin is called in the second one, and others in the next two

    @staticmethod
    def begins_chain(frame):
        """Whether a frame of the program's file calls the first function, in a line without CALLEE."""
        return frame.name == "run"

    def check_lines(self, frames):
        """Those of callers, in the file that they are in."""
        source = read_lines(self.CHAINS)
        for inner, frame in zip(frames, frames[1:]):
            if is_made(frame.name):
                self.assertEqual(frame.file, "chains.made")
                first = self.LINES * int(frame.name[1:].partition("_")[0])
                self.assertIn(frame.line - first, {2} if inner.name == "spin" else {3, 4}, frames)
            elif is_made(inner.name) and not self.begins_chain(frame):
                self.assertEqual(frame.file, str(self.CHAINS))
                self.assertIn(self.CALLEE, source[frame.line - 1], frames)
