# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares folded stacks with the truth about their program, and counts verdicts."""
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))
import streams  # noqa: E402
import truths  # noqa: E402

EXACT_OR_ALLOWED_MIN = 0.995
ASIDE_MAX = 0.4   # maximum share of chains that are not the topic: starting, ending, and asides
SEEN_MIN = 0.001  # minimum share of each chain, or the program does not do what its comment claims
CRT = "_init|_fini|frame_dummy|register_tm_clones|deregister_tm_clones|__do_global_dtors_aux"
RUNTIME = f"(RUNTIME|VDSO|[lib…|{CRT})"
# The loader and its callees; the C library before and after main(); parsing of arguments.
STARTING = [truths.Chain(f"LD+ {RUNTIME}*"), truths.Chain(f"_start {RUNTIME}*"),
            truths.Chain("START main rounds_of? (LIBC|LD|PLT)*"), truths.Chain("THREAD (LIBC|LD)*")]
# Without unwind information are the loader's first instructions, the compiler's own objects (which begin and end
# each library, too) and the C library's clone(). Nothing can be captured of a growing stack whose new page is not
# mapped yet, or of a stack that execve() is discarding.
STARTING_CUT = {
    "no-unwind-info": [truths.Chain("(_start|_dl_start_user|[ld-linux-x86-64.so.2]) LD*"),
                       truths.Chain(f"({CRT}|[lib…) {RUNTIME}*"),
                       truths.Chain("(clone3|__clone3|clone|__clone|[libc.so.6])")],
    "stack-absent": [truths.Chain("(LD|LIBC)")],
}
NAMELESS = re.compile(r"\[.*\]")
NOBODY = truths.Thread()  # a thread without expectations: a command before it has its name


def split(names):
    """(reason or "", user functions) of a folded stack without its comm."""
    user = [name for name in names if not name.endswith(("_[k]", "_[i]"))]
    reason = user[0][1:-1] if user and user[0][1:-1] in streams.ENDS else ""
    return reason, user[1:] if reason else user


def _best(chains, how):
    """("whole" | "part" | "", chain) of the chain that fits best."""
    found = "", None
    for chain in chains:
        fit = how(chain)
        if fit == "whole":
            return fit, chain
        if fit:
            found = fit, chain
    return found


def _judge_complete(thread, user):
    for chains, verdict in ((thread.chains, "exact"), (thread.asides, "aside"),
                            (STARTING, "starting")):
        fit, chain = _best(chains, lambda chain: chain.match(user))
        if fit:
            return verdict, chain if fit == "whole" else None
    return "wrong", None


def _judge_cut(thread, reason, user):
    fit, chain = _best(thread.chains + thread.asides, lambda chain: chain.match_inner(user))
    if fit and any(end.allows(reason, user) for end in thread.ends):
        return "allowed", chain if fit == "whole" else None
    if _best(STARTING_CUT.get(reason, []), lambda chain: chain.match(user))[0] == "whole":
        return "starting", None
    fit = fit or _best(STARTING, lambda chain: chain.match_inner(user))[0]
    return ("other" if fit or _lacks_image(thread, reason, user) else "wrong"), None


def _lacks_image(thread, reason, user):
    """Whether the outermost frame's file is unavailable, so that its name is unknown."""
    if reason not in ("image-unavailable", "no-mapping") or not NAMELESS.fullmatch(user[0]):
        return False
    return len(user) == 1 or _best(thread.chains, lambda chain: chain.match_inner(user[1:]))[0]


def _is_executing(names, reason, user):
    """In execve(), where the registers are still those of a program without mapping records."""
    return (reason, user) == ("no-mapping", ["[unknown]"]) and "begin_new_exec_[k]" in names


def judge(thread, names):
    """(verdict, the chain that was seen whole or None) of a folded stack without its comm."""
    reason, user = split(names)
    if _is_executing(names, reason, user):
        return "starting", None
    if not user:  # kernel only: there are no user registers during exec or exit
        return ("starting" if reason in ("", "no-user-regs") else "wrong"), None
    return _judge_cut(thread, reason, user) if reason else _judge_complete(thread, user)


class Count:
    """Verdicts about one program."""

    def __init__(self, program):
        self.program = program
        self.verdicts = Counter()
        self.ends = Counter()
        self.seen = Counter()
        self.wrong = []  # (stack, n)
        self.other = []

    def add(self, stacks):
        for (comm, *names), n in stacks:
            verdict, chain = judge(self.program.threads.get(comm, NOBODY), names)
            self.verdicts[verdict] += n
            self.seen[chain] += n
            if verdict == "allowed":
                self.ends[split(names)[0]] += n
            elif verdict in ("wrong", "other"):
                getattr(self, verdict).append((";".join([comm, *names]), n))

    @property
    def n(self):
        return self.verdicts.total()

    def share(self, *verdicts):
        return sum(self.verdicts[verdict] for verdict in verdicts) / max(self.n, 1)

    def unseen(self):
        """Chains of the program's comment that were hardly ever seen."""
        return [chain.text for thread in self.program.threads.values() for chain in thread.chains
                if self.seen[chain] < SEEN_MIN * self.n]

    def complaints(self):
        """What is wrong with the program's stacks; empty: nothing."""
        found = [f"wrong chain: {stack} {n}" for stack, n in self.wrong]
        if self.share("exact", "allowed", "aside", "starting") < EXACT_OR_ALLOWED_MIN:
            found += [f"cut, which is not allowed: {stack} {n}" for stack, n in self.other]
        if self.share("aside", "starting") > ASIDE_MAX:
            found.append(f"{self.share('aside', 'starting'):.1%} is not the topic")
        return found + [f"hardly ever seen: {chain}" for chain in self.unseen()]

    HEADER = (f"{'program':22} {'samples':>8} {'exact':>7} {'aside':>6} {'start':>6} "
              f"{'cut':>6} {'wrong':>6}  allowed ends")

    def line(self):
        ends = ", ".join(f"{end} {n / self.n:.1%}" for end, n in self.ends.most_common())
        return (f"{self.program.name:22} {self.n:8} {self.share('exact'):7.2%} "
                f"{self.share('aside'):6.2%} {self.share('starting'):6.2%} "
                f"{self.share('other'):6.2%} {self.verdicts['wrong']:6}  {ends}")
