# SPDX-License-Identifier: GPL-3.0-or-later
"""Expected folded stacks of programs/churn.c: its processes are named after their functions."""
import re
from collections import Counter

import streams

N_FUNCTIONS = 64
OF_FUNCTION = re.compile(r"(call|spin)_([0-7]{2})$")
SYMBOL = re.compile(rb"(?<=\0)(call|spin)_([0-7]{2})(?=\0)")
PROCESS_BEGINS = "_start", "_dl_start_user"  # the program's or the loader's; the loader's second part


def copy_of(program, k, path):
    """The copy of number `k`: each function has the symbol of the k-th function after it."""
    def next_name(match):
        number = (int(match[2], 8) + k) % N_FUNCTIONS
        return b"%s_%02o" % (match[1], number)

    data, n = SYMBOL.subn(next_name, program.read_bytes())
    assert n >= 2 * N_FUNCTIONS, f"'{program}' has {n} symbols of functions"
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def _is_true(thread, user):
    """Whether a stack marked complete is possible for that process."""
    if user[0] not in PROCESS_BEGINS:
        return False
    if not any(OF_FUNCTION.match(name) for name in user):
        return True  # before and after it spins
    at = user.index("spin") + 1 if "spin" in user else 0
    chain = [f"call_{thread[-2:]}", thread]
    return at > 0 and user[at:at + 2] == chain[:len(user) - at]


def _place(names):
    """Where an incomplete stack is: in the kernel's exit or exec, or in a function."""
    kernel = [name for name in names if name.endswith("_[k]")]
    for what in "exit", "execve", "fork", "clone":
        if any(re.search(rf"(^|_){what}", name) for name in kernel):
            return what
    return names[-1]


class Judgement:
    """Counts samples of processes that already have the name of their function."""

    def __init__(self, text):
        self.n = self.n_complete = self.n_misattributed = self.n_false = 0
        self.n_unnamed = 0  # of processes that still have the program's name
        self.n_early = 0  # those of them that already spin: they got their name too late
        self.incomplete = Counter()  # (end reason, location): number
        self.wrong = []  # stacks
        self.by_function = Counter()
        for names, n in streams.folded_stacks(text):
            if names[0].startswith("churn"):
                self.n_unnamed += n
                self.n_early += n * any(name.startswith("spin_") for name in names)
            elif OF_FUNCTION.match(names[0]):
                self._judge(names, n)

    def _judge(self, names, n):
        thread, *frames = names
        numbers = {match[2] for match in map(OF_FUNCTION.match, frames) if match}
        self.n += n
        self.by_function[thread] += n
        if numbers - {thread[-2:]}:
            self.n_misattributed += n
            self.wrong.append(names)
        is_cut = bool(frames) and re.fullmatch(r"\[[a-z-]+\]", frames[0]) is not None
        user = streams.user_side(names)[is_cut:]
        if is_cut or not user:
            why = frames[0].strip("[]") if is_cut else "kernel-only"
            self.incomplete[why, _place(names)] += n
            return
        self.n_complete += n
        if not _is_true(thread, user):
            self.n_false += n
            self.wrong.append(names)
