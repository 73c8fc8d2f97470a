#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that man pages document exactly the options of --help:

	check-options.py PROGRAM... --commands FRONT COMMAND... -- PAGE.scd...

PROGRAM's page is PROGRAM.1.scd, and that of a COMMAND of FRONT is FRONT-COMMAND.1.scd. An option is a line in
OPTIONS that begins with "*-"; it has the same letters, name and argument as in --help. Any page's *PROGRAM -x* or
*PROGRAM --long*, or in PROGRAM's own page *-x*, must name an option of PROGRAM.
"""
import os
import re
import subprocess
import sys

MARKUP = str.maketrans("", "", "*_\\")
OPTION = r"(-(?:-?\w[\w-]*|\?))"
HELP_LINE = re.compile(r" {2,6}(?:(?P<letter>-\S)(?:, |  ))?(?P<long>--[\w-]+(?:\[?=\S+)?)?")


def options_of_help(*program):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ARGP_HELP_FMT": ""}
    text = subprocess.run([*program, "--help"], env=environment, check=True, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout
    options = set()
    for line in text.splitlines():
        if line.lstrip().startswith("-"):
            match = HELP_LINE.match(line)
            if not match or not any(match.groups()):
                sys.exit(f"{program} --help: '{line}' is not understood")
            options.add(", ".join(part for part in match.groups() if part))
    return options


def options_of_page(text):
    section = re.search(r"^# OPTIONS\n(.*?)^# ", text, re.MULTILINE | re.DOTALL)
    lines = section.group(1).splitlines() if section else []
    return {line.translate(MARKUP) for line in lines if line.startswith("*-")}


def spellings(options):
    """ "-p, --pid=PID" can be given as "-p" and "--pid" """
    return {re.split(r"\[?=", part)[0] for option in options for part in option.split(", ")}


def complaints(page, text, known):
    own = os.path.basename(page).removesuffix(".1.scd")
    if own in known:
        told = options_of_page(text)
        for option in sorted(known[own] - told):
            yield f"{own} has {option}, which {page} does not document"
        for option in sorted(told - known[own]):
            yield f"{page} documents {option}, which {own} does not have in this form"
    mentions = [(own, option) for option in re.findall(rf"\*{OPTION}\*", text) if own in known]
    for program in known:
        mentions += [(program, option)
                     for option in re.findall(rf"\*{program} {OPTION}", text)]
    for program, option in mentions:
        if option not in spellings(known[program]):
            yield f"{page} mentions {option}, which {program} does not have"


def main():
    separator = sys.argv.index("--")
    programs, pages = sys.argv[1:separator], sys.argv[separator + 1:]
    at = programs.index("--commands")
    front, *commands = programs[at + 1:]
    known = {os.path.basename(program): options_of_help(program) for program in programs[:at]}
    known |= {f"{os.path.basename(front)}-{command}": options_of_help(front, command)
              for command in commands}
    missing = known.keys() - {os.path.basename(page).removesuffix(".1.scd") for page in pages}
    found = [f"{program} has no page" for program in sorted(missing)]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            found += complaints(page, file.read(), known)
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
