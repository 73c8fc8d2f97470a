# SPDX-License-Identifier: GPL-3.0-or-later
"""The Rubies that can be had: Debian's, each with its own libraries."""
import functools

import pipeline
from interpreters import PROGRAMS, fetch_package

CHAINS = PROGRAMS / "chains.rb"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "ruby-fake"
FROM_DEBIAN = {"3.1": "bookworm", "3.3": "trixie", "3.4": "experimental,sid"}


def fetch(version):
    """What runs a version; None: it cannot be had."""
    root = fetch_package(f"ruby{version}", FROM_DEBIAN[version], f"ruby{version}")
    return [str(root / "run"), f"ruby{version}", "--disable-gems"] if root else None


@functools.lru_cache
def interpreters():
    return [found for found in map(fetch, FROM_DEBIAN) if found]


def plain(name):
    """A function's name without the class that Ruby 3.4 puts in front."""
    before, of, name = (name or "").rpartition(" in ")
    return before + of + name.rpartition("#")[2].rpartition(".")[2]
