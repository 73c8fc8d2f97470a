# SPDX-License-Identifier: GPL-3.0-or-later
"""Records programs of the CPythons that are here; names of their functions tell who called them."""
import os
import re
from pathlib import Path

import pipeline
import reading

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
CHAINS, GENERATED = PROGRAMS / "chains.py", PROGRAMS / "generated.py"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "python-fake"
KNOWN = (3, 11), (3, 12), (3, 13)
LINK = re.compile(r"f(\d+)_of_f(\d+)$")


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
class InterpreterTest(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)
        self.stream = self.directory / "recorded.stream"

    def any_interpreter(self):
        found = interpreters()
        if not found:
            self.skipTest("no CPython 3.11 to 3.13 is here")
        return found[0]

    def record(self, *command, options=("-e", "cpu-clock")):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *map(str, command)), stdout=out)
