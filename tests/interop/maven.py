# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches Java archives that tests need, once into the build tree, and verifies them."""
import hashlib
import unittest
import urllib.error
import urllib.request
from pathlib import Path

REPOSITORY = "https://repo1.maven.org/maven2"
TIMEOUT_S = 60

# name: (path, SHA-256)
ARCHIVES = {
    "ecj": ("org/eclipse/jdt/ecj/3.33.0/ecj-3.33.0.jar", "f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45"),
}


def fetch(name, directory):
    """Returns the archive, below `directory`, which build directories may share."""
    path, wanted = ARCHIVES[name]
    done = Path(directory) / path.rpartition("/")[2]
    if done.is_file():
        return done
    try:
        with urllib.request.urlopen(f"{REPOSITORY}/{path}", timeout=TIMEOUT_S) as answer:
            data = answer.read()
    except urllib.error.URLError as error:
        raise unittest.SkipTest(f"{name} is not installed, and cannot be had: {error}") from error
    if hashlib.sha256(data).hexdigest() != wanted:
        raise ValueError(f"{path} is not what it was")
    begun = done.with_name(done.name + ".tmp")
    begun.write_bytes(data)
    begun.rename(done)
    return done
