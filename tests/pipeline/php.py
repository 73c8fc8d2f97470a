# SPDX-License-Identifier: GPL-3.0-or-later
"""The PHPs that are here: those that are installed, or Debian's, each with its own libraries."""
import functools
import shutil

import pipeline
from interpreters import PROGRAMS, fetch_package

CHAINS = PROGRAMS / "chains.php"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "php-fake"
KNOWN = "8.1", "8.2", "8.3", "8.4"
FROM_DEBIAN = {"8.2": "bookworm", "8.4": "trixie"}


def fetch(version):
    """What runs a version; None: it cannot be had."""
    root = fetch_package(f"php{version}", FROM_DEBIAN[version], f"php{version}-cli")
    return [str(root / "run"), f"php{version}", "-n"] if root else None


def find(version):
    program = shutil.which(f"php{version}")
    if program:
        return [program, "-n"]
    return fetch(version) if version in FROM_DEBIAN else None


@functools.lru_cache
def interpreters():
    return [found for found in map(find, KNOWN) if found]
