# SPDX-License-Identifier: GPL-3.0-or-later
"""The .NETs that can be had, in npm packages of programs that bring their own; and what compiles programs for them."""
import functools
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import pipeline
from interpreters import PROGRAMS, fetch_package

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
import npm  # noqa: E402

TESTS = pipeline.BUILD / "tests"
HOST = TESTS / "pipeline" / "dotnet-host"
VERSIONS = "9",
FUNCTIONS = 63


@functools.lru_cache
def fetch(version):
    """The directory of a runtime; the test is skipped if it cannot be had."""
    return npm.fetch(f"@azure/mcp-linux-x64@{version}", TESTS) / "dist"


def bundle(*settings):
    """The command of a program of a single file, with .NET 10. A bare system has no ICU."""
    program = fetch("10") / "azmcp"
    program.chmod(0o755)
    return ["env", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", *settings, program, "--help"]


def name_of(number, begin="f"):
    return f"{begin}{number}_of_f{(number - 1) // 2}" if number else f"{begin}0"


def text_of(number):
    """A function that calls two others, each in a way of its own."""
    calls = [f"ways[{number} % ways.Length]({name_of(callee)});" for callee in (2 * number + 1, 2 * number + 2)
             if callee < FUNCTIONS]
    return "\n".join(["    [MethodImpl(MethodImplOptions.NoInlining)]", f"    public static void {name_of(number)}()", "    {",
                      "        spin();", *(f"        {call}" for call in calls), "    }"])


def functions():
    # What is stepped through calls one function in one way.
    begin = ["using System.Runtime.CompilerServices;", "public static partial class Chains", "{"]
    steps = ["    [MethodImpl(MethodImplOptions.NoInlining)]", "    static void g0()", "    {", "        ways[0](g1_of_g0);", "    }",
             "    [MethodImpl(MethodImplOptions.NoInlining)]", "    public static void g1_of_g0()", "    {", "        spin();",
             "    }"]
    return "\n".join([*begin, *map(text_of, range(FUNCTIONS)), *steps, "}", ""])


def compiler():
    """What runs Debian's compiler from a directory, and its environment."""
    root = fetch_package("mono-mcs", "bookworm", "mono-mcs")
    if not root:
        raise unittest.SkipTest("no compiler of C# could be fetched")
    classes, settings = root / "usr/lib/mono/4.5", TESTS / "mono.config"
    settings.write_text(f'<configuration><dllmap dll="System.Native" target="{root}/usr/lib/libmono-native.so"/></configuration>\n')
    return [root / "run", "mono-sgen", classes / "mcs.exe"], os.environ | {"MONO_PATH": classes, "MONO_CONFIG": settings}


@functools.lru_cache
def compile_program():
    command, environment = compiler()
    made, begun, generated = TESTS / "chains.exe", TESTS / "chains.tmp.exe", TESTS / "chains-made.cs"
    generated.write_text(functions())
    subprocess.run([*command, "-nologo", "-unsafe", "-nowarn:162,420", "-r:System.Core", f"-out:{begun}", PROGRAMS / "chains.cs",
                    generated], env=environment, check=True)
    shutil.move(begun, made)
    return made


def command(version, *arguments):
    return [HOST, fetch(version), compile_program(), *map(str, arguments)]


def plain(name):
    """A method's name without its type; those that are made as the program runs, for reflection, have those of others in theirs."""
    return name if (name or "").startswith("InvokeStub_") else (name or "").rpartition(".")[2]
