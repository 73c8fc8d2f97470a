# SPDX-License-Identifier: GPL-3.0-or-later
"""A room includes only the rooms that its meson.build allows ("# May include: ….")."""
import re
import sys
import unittest
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILES_MAX = 45  # per room, without tests
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
STRUCT = re.compile(r"^(?:static )?(?:const )?struct (\w+)\s*\{", re.M)
LAW = re.compile(r"^# May include: (.*)\.$", re.M)
ANY_ROOM_OF = "common"


def is_test(path):
    return path.name.startswith(("test-", "fuzz-"))


def sources():
    """All sources that are compiled into programs."""
    tops = sorted({path.parent for path in TOP.glob("*/meson.build")} - {TOP / "tests", TOP / "docs", TOP / "packaging"})
    return [path for top in tops for path in sorted(top.rglob("*")) if path.suffix in (".c", ".h", ".def")]


def room_of(path):
    return str(path.parent.relative_to(TOP))


def law_of(room):
    """The rooms whose files a room may include, always including itself."""
    law = LAW.search((TOP / room / "meson.build").read_text())
    if not law:
        raise AssertionError(f"{room}/meson.build does not declare what {room} may include")
    top = Path(room).parts[0]
    allowed = {room}
    for name in law[1].split(", "):
        if name == ANY_ROOM_OF:
            allowed |= {str(path.relative_to(TOP)) for path in (TOP / name).iterdir() if path.is_dir()}
        elif name != "nothing":
            allowed.add(name if (TOP / name).is_dir() else f"{top}/{name}")
    return allowed


def circle_in(graph):
    """A path that ends where it began; None: there is no cycle."""
    done, on_path = set(), []

    def visit(node):
        if node in on_path:
            return [*on_path[on_path.index(node):], node]
        if node in done:
            return None
        on_path.append(node)
        found = next(filter(None, map(visit, sorted(graph.get(node, ())))), None)
        on_path.pop()
        done.add(node)
        return found
    return next(filter(None, map(visit, sorted(graph))), None)


class Rooms(unittest.TestCase):
    def setUp(self):
        self.sources = [path for path in sources() if not is_test(path)]

    def includes(self):
        for path in self.sources:
            for name in INCLUDE.findall(path.read_text()):
                yield path, TOP / name

    def test_includes_are_allowed(self):
        laws = {room: law_of(room) for room in {room_of(path) for path in self.sources}}
        broken = [f"{path.relative_to(TOP)}: {other.relative_to(TOP)}" for path, other in self.includes()
                  if room_of(other) not in laws[room_of(path)]]
        self.assertEqual(broken, [])

    def test_every_include_is_named_from_the_top(self):
        """A skeleton is generated from the kernel program of its name."""
        self.assertEqual([f"{path}: {other}" for path, other in self.includes()
                          if not Path(str(other).replace(".skel.h", ".bpf.c")).is_file()], [])

    def test_allowed_includes_form_no_cycle(self):
        rooms = {room_of(path) for path in self.sources}
        graph = {room: (law_of(room) & rooms) - {room} for room in rooms}
        self.assertIsNone(circle_in(graph))

    def test_rooms_have_few_files(self):
        rooms = defaultdict(int)
        for path in self.sources:
            rooms[room_of(path)] += 1
        self.assertEqual({room: n for room, n in rooms.items() if n > FILES_MAX}, {})

    def test_struct_names_are_unique(self):
        defined = defaultdict(list)
        for path in self.sources:
            for name in STRUCT.findall(path.read_text()):
                defined[name].append(str(path.relative_to(TOP)))
        self.assertEqual({name: paths for name, paths in defined.items() if len(paths) > 1}, {})

if __name__ == "__main__":
    sys.exit(unittest.main())
