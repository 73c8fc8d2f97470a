# SPDX-License-Identifier: GPL-3.0-or-later
"""
Whether a stack of functions whose names tell their callers (tests/programs/chains.py, .php, .js, .rb, Chains.java) is right: all of
them, from the root on; cut: frames are missing at an end, or are shown as unknown, and the rest is true; or wrong: a function
has another caller than its name tells.
"""
import re

from interpreters import LINK, has_true_closures, is_true

# As profilers call what a file has outside of functions; in node, what loads the file.
ROOTS = "<module>", "{main}", "<main>", "<top-level>", "executeUserEntryPoint", "main"
# Of Java: `Chains.f0`, or with what it returns and takes.
METHOD = re.compile(r"(?:\w+ )?Chains\.(\w+)")
UNKNOWN = "[unknown]"


def is_consistent(names):
    """Whether each function that is there has the caller that its name tells, one that is unknown, or none at all."""
    chain = [name for name in names if name == "f0" or LINK.match(name) or name.startswith(UNKNOWN)]
    return has_true_closures(names) and all(
        UNKNOWN in inner + outer or
        LINK.match(inner) and outer.startswith("f0" if LINK.match(inner)[2] == "0" else f"f{LINK.match(inner)[2]}_of_")
        for inner, outer in zip(chain, chain[1:]))


def judge(names):
    """Of the names of a stack, the innermost first; None: it is not within the functions."""
    names = [METHOD.sub(r"\1", name).partition("(")[0] if METHOD.match(name) else name.rpartition("#")[2]  # Ruby 3.4's class
             for name in names]
    if not any(name == "f0" or LINK.match(name) for name in names):
        return None
    if is_true(names) and any(root in names[-4:] for root in ROOTS):
        return "right"
    return "cut" if is_consistent(names) else "wrong"
