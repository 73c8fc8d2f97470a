#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completions for a shell, from what --help tells of the programs:

	make-completions.py bash|zsh|fish PROGRAM... --commands FRONT COMMAND...
"""
import os
import re
import subprocess
import sys

HELP_LINE = re.compile(r" {2,6}(?:(?P<letter>-\S)(?:, |  ))?(?P<long>--[\w-]+)?(?:=(?P<argument>\S+))?\s*(?P<text>.*)")
FILES = {"FILE", "FILE.html", "PAGE", "OUTPUT"}
DIRECTORIES = {"DIR"}


def options_of(*program):
    """[(letter or "", long or "", argument or "", what it is for)]"""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ARGP_HELP_FMT": "rmargin=400"}
    text = subprocess.run([*program, "--help"], env=environment, check=True, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout
    found = []
    for line in text.splitlines():
        if line.lstrip().startswith("-"):
            match = HELP_LINE.match(line)
            found.append(tuple(match[name] or "" for name in ("letter", "long", "argument", "text")))
    return found


def words(options):
    return [each for letter, long, _, _ in options for each in (letter, long) if each]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(programs, front, commands):
    yield "# Completions of stackpipe for bash, made from --help."
    for name, options in programs.items():
        function = f"_{name.replace('-', '_')}"
        yield f"{function}()\n{{"
        yield f"\tif [[ $2 == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W {quoted(' '.join(words(options)))} -- \"$2\"))"
        yield "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$2\"))\n\tfi\n}"
        yield f"complete -o filenames -F {function} {name}"
    yield f"_{front}()\n{{\n\tlocal options=\n\tcase ${{COMP_WORDS[1]}} in"
    for name, options in commands.items():
        yield f"\t{name}) options={quoted(' '.join(words(options)))} ;;"
    yield "\tesac"
    yield f"\tif [[ $COMP_CWORD -eq 1 ]]; then\n\t\tCOMPREPLY=($(compgen -W {quoted(' '.join(commands))} -- \"$2\"))"
    yield "\telif [[ $2 == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$2\"))"
    yield "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$2\"))\n\tfi\n}"
    yield f"complete -o filenames -F _{front} {front}"


def zsh_option(letter, long, argument, text):
    names = [each for each in (letter, long) if each]
    value = "" if not argument else f":{argument}:" + ("_files" if argument in FILES else
                                                       "_files -/" if argument in DIRECTORIES else "")
    told = re.sub(r"([\[\]:\\])", r"\\\1", text)
    for name in names:
        yield quoted(f"{name}{'=' if argument and name.startswith('--') else ''}[{told}]{value}")


def zsh_arguments(options):
    return " ".join(part for option in options for part in zsh_option(*option)) + " '*:file:_files'"


def zsh(programs, front, commands):
    yield f"#compdef {' '.join([*programs, front])}"
    yield "# Completions of stackpipe for zsh, made from --help."
    yield "case $service in"
    for name, options in programs.items():
        yield f"{name}) _arguments {zsh_arguments(options)} ;;"
    yield f"{front})\n\tif (( CURRENT == 2 )); then\n\t\tcompadd {' '.join(commands)}\n\telse\n\t\tcase $words[2] in"
    for name, options in commands.items():
        yield f"\t\t{name}) shift words; (( CURRENT-- )); _arguments {zsh_arguments(options)} ;;"
    yield "\t\tesac\n\tfi ;;\nesac"


def fish_option(command, condition, letter, long, argument, text):
    parts = [f"complete -c {command}"]
    if condition:
        parts.append(f"-n {quoted(condition)}")
    if letter:
        parts.append(f"-s {quoted(letter[1:])}")
    if long:
        parts.append(f"-l {long[2:]}")
    if argument:
        parts.append("-r")
    return " ".join([*parts, f"-d {quoted(text)}"])


def fish(programs, front, commands):
    yield "# Completions of stackpipe for fish, made from --help."
    for name, options in programs.items():
        for option in options:
            yield fish_option(name, "", *option)
    for name, options in commands.items():
        yield f"complete -c {front} -n __fish_use_subcommand -a {name}"
        for option in options:
            yield fish_option(front, f"__fish_seen_subcommand_from {name}", *option)


def main():
    shell, *rest = sys.argv[1:]
    at = rest.index("--commands")
    front, *names = rest[at + 1:]
    programs = {os.path.basename(program): options_of(program) for program in rest[:at]}
    commands = {name: options_of(front, name) for name in names}
    for line in {"bash": bash, "zsh": zsh, "fish": fish}[shell](programs, os.path.basename(front), commands):
        print(line)


main()
