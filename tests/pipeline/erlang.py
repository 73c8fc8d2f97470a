# SPDX-License-Identifier: GPL-3.0-or-later
"""The Erlangs that can be had: Debian's, each with its own libraries."""
import functools
import re
import subprocess

import pipeline
from interpreters import PROGRAMS, fetch_package

CHAINS = PROGRAMS / "chains.erl"
FAKE = pipeline.BUILD / "tests" / "pipeline" / "beam.fake"
SUITES = "bookworm", "trixie"  # OTP 25 and 27
MADE = re.compile(r"made:(\w+)/0$")
OWN = "erl_child_setup", "inet_gethost"  # programs that it starts


def write_script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def fetch_from(suite):
    """What runs the version of a Debian; None: it cannot be had."""
    root = fetch_package(f"erlang-{suite}", suite, "erlang-base")
    if not root:
        return None
    programs = next(root.glob("usr/lib/erlang/erts-*/bin"))
    loader = next(root.glob("usr/lib/*/ld-linux*.so.*"))
    run = f'exec "{loader}" --library-path "{loader.parent}" "{programs}'
    own = root / "programs"
    own.mkdir(exist_ok=True)
    for program in OWN:
        write_script(own / program, f'{run}/{program}" "$@"')
    erl = root / "run-erl"
    write_script(erl, f'export BINDIR="{own}" ROOTDIR="{root}/usr/lib/erlang" EMU=beam PROGNAME=erl\n'
                 f'{run}/beam.smp" -- -root "$ROOTDIR" -bindir "$BINDIR" -progname erl -home /tmp -- -noshell -noinput "$@"')
    return str(erl)


@functools.lru_cache
def interpreters():
    return [found for found in map(fetch_from, SUITES) if found]


def compile_chains(erl, directory):
    """Makes chains.beam in a directory."""
    subprocess.run([erl, "-eval", f'{{ok, _}} = compile:file("{CHAINS}", [{{outdir, "{directory}"}}]), halt().'], check=True)


def plain(name):
    """A function's name without the module of those that are made."""
    made = MADE.match(name or "")
    return made[1] if made else name or ""
