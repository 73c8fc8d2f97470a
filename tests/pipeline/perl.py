# SPDX-License-Identifier: GPL-3.0-or-later
"""The Perls that can be had: Debian's, each with its own libraries and modules."""
import functools

import pipeline
from interpreters import PROGRAMS, fetch_package

CHAINS = PROGRAMS / "chains.pl"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "perl-fake"
FROM_DEBIAN = {"5.32": "bullseye", "5.36": "bookworm", "5.40": "trixie", "5.44": "experimental,sid"}
MODULES = "usr/lib/x86_64-linux-gnu/perl-base", "usr/lib/x86_64-linux-gnu/perl/*", "usr/share/perl/*"


def fetch(version):
    """What runs a version; None: it cannot be had."""
    root = fetch_package(f"perl{version}", FROM_DEBIAN[version], "perl")
    if not root:
        return None
    return [str(root / "run"), "perl", *(f"-I{place}" for modules in MODULES for place in sorted(root.glob(modules)))]


@functools.lru_cache
def interpreters():
    return [found for found in map(fetch, FROM_DEBIAN) if found]


def plain(name):
    """A function's name without the package of those that are made."""
    return (name or "").removeprefix("main::")
