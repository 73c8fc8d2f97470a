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


@functools.lru_cache
def with_compiler():
    """Debian's, with its JIT compiler in both modes."""
    found = []
    for version, suite in FROM_DEBIAN.items():
        program, root = fetch(version), fetch_package(f"php{version}-opcache", suite, f"php{version}-opcache")
        if program and root:
            opcache = next(root.resolve().glob("usr/lib/php/*/opcache.so"))
            options = f"zend_extension={opcache}", "opcache.enable_cli=1", "opcache.jit_buffer_size=64M"
            found += [[*program, *(part for option in (*options, f"opcache.jit={mode}") for part in ("-d", option))]
                      for mode in ("tracing", "function")]
    return found


def delegates_truly(names):
    """Whether generators that delegate are the callers of the one that is executed."""
    return all(names[i + 1:i + 4] == ["Way::middle", "Way::outermost", "Way::delegate"]
               for i, name in enumerate(names) if name == "Way::innermost")
