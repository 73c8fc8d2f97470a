# SPDX-License-Identifier: GPL-3.0-or-later
"""The PHPs that are here: those of Debian's, each with its own libraries."""
import functools
import subprocess
import sys

import pipeline
from interpreters import FETCH_PROGRAM, PROGRAMS

CHAINS = PROGRAMS / "chains.php"
VERSIONS = {"8.2": "bookworm", "8.4": "trixie"}


def fetch(version):
    """What runs a version; None: it cannot be had."""
    root = pipeline.BUILD / "tests" / f"debian-php{version}"
    done = subprocess.run([FETCH_PROGRAM, root, VERSIONS[version], f"php{version}-cli"], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"PHP {version} could not be fetched: {done.stderr.strip()}", file=sys.stderr)
        return None
    return [str(root / "run"), f"php{version}", "-n"]


@functools.lru_cache
def interpreters():
    return [found for found in map(fetch, VERSIONS) if found]
