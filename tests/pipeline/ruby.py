# SPDX-License-Identifier: GPL-3.0-or-later
"""The Rubies that can be had: Debian's, each with its own libraries."""
import functools
import shutil
import subprocess

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


@functools.lru_cache
def with_compiler():
    """Those from 3.2 on that have a JIT compiler (YJIT): Debian builds without Rust, so one that is in PATH."""
    found = [*interpreters(), ["ruby", "--disable-gems"]] if shutil.which("ruby") else interpreters()
    said = [subprocess.run([*each, "--yjit", "-v"], capture_output=True, text=True, check=False).stdout for each in found]
    return [[*each, "--yjit"] for each, text in zip(found, said) if "+YJIT" in text and not text.startswith("ruby 3.1")]


def plain(name):
    """A function's name without the class that Ruby 3.4 puts in front."""
    before, of, name = (name or "").rpartition(" in ")
    return before + of + name.rpartition("#")[2].rpartition(".")[2]
