# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls between object files form no cycle."""
import os
import re
import subprocess
import sys
import unittest
from collections import defaultdict
from pathlib import Path

from test_rooms import circle_in

BUILD = Path(os.environ["STACKPIPE_BUILD"])
SYMBOL = re.compile(r"^(?:.*:)?(?P<object>[^:]+\.o): *[0-9a-f]* (?P<kind>\w) (?P<name>\S+)$")
DEFINES, USES = set("TDBRVWC"), set("U")


def libraries():
    """Static libraries of programs, not of tests."""
    return [path for path in sorted(BUILD.rglob("lib*.a"))
            if path.relative_to(BUILD).parts[0] not in ("tests", "elfutils")]


def calls():
    """{object file: object files whose symbols it uses}"""
    defined, used = {}, defaultdict(set)
    for library in libraries():
        listed = subprocess.run(["nm", "-A", "--extern-only", library], text=True, capture_output=True, check=True)
        for line in listed.stdout.splitlines():
            symbol = SYMBOL.match(line)
            if not symbol:
                continue
            name = f"{library.relative_to(BUILD).parent}/{Path(symbol['object']).name}"
            if symbol["kind"] in DEFINES:
                defined[symbol["name"]] = name
            elif symbol["kind"] in USES:
                used[name].add(symbol["name"])
    return {name: {defined[each] for each in names if each in defined} - {name} for name, names in used.items()}


class Circles(unittest.TestCase):
    def test_calls_between_files_form_no_cycle(self):
        graph = calls()
        self.assertGreater(len(graph), 100)
        self.assertIsNone(circle_in(graph))


if __name__ == "__main__":
    sys.exit(unittest.main())
