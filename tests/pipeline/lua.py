# SPDX-License-Identifier: GPL-3.0-or-later
"""The Luas and LuaJITs that can be had: Debian's, each with its own libraries."""
import functools
import re

import pipeline
from interpreters import PROGRAMS, fetch_package

CHAINS = PROGRAMS / "chains.lua"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "lua-fake"
JIT_FAKE = pipeline.BUILD / "tests" / "pipeline" / "luajit-fake"
FROM_DEBIAN = {"5.4.2": "bullseye", "5.4.4": "bookworm", "5.4.7": "trixie", "5.5": "sid"}
JITS_FROM_DEBIAN = {"2.1-2022": "bookworm", "2.1-2025": "trixie", "2.1-sid": "sid"}
LINES = 6  # of each function that is made: spin is called in the second one, and others in the next two
MADE = re.compile(r"function <chains\.made:(\d+)>$")
SPIN = f"function <{CHAINS}:{CHAINS.read_text().splitlines().index('function spin()') + 1}>"


def fetch(version):
    """What runs a version; None: it cannot be had."""
    package = f"lua{version[:3]}"
    root = fetch_package(f"lua{version}", FROM_DEBIAN[version], package)
    return [str(root / "run"), package] if root else None


@functools.lru_cache
def interpreters():
    return [found for found in map(fetch, FROM_DEBIAN) if found]


@functools.lru_cache
def jits():
    """What runs each LuaJIT."""
    roots = [fetch_package(f"luajit{version}", suite, "luajit") for version, suite in JITS_FROM_DEBIAN.items()]
    return [[str(root / "run"), "luajit"] for root in roots if root]


def plain(name):
    """A function's name as those of other languages have it: f3_of_f1, or spin; those of Lua have none."""
    made = MADE.match(name or "")
    number = int(made[1]) // LINES if made else 0
    if made:
        return f"f{number}_of_f{(number - 1) // 2}" if number else "f0"
    return "spin" if name == SPIN else name or ""
