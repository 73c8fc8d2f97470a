# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every system call of every stage fails, one per run, with each error that it may have:

	test_calls.py [--all]

Whatever fails, a stage must exit in time and without a signal, report in clean lines if it does not do its
work, and leave no unreadable output. Without --all every 25th case is tried.
"""
import collections
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys

import faulted
from calls import ERRORS
from faulted import pipeline

EVERY = 1 if "--all" in sys.argv else 25
CONFINED = "SECCOMP_SET_MODE_FILTER, 0"  # after this call, a call that strace makes fail would kill the stage
NO_FILTER = {"LD_PRELOAD": str(pipeline.BUILD / "tests" / "faults" / "libno-filter.so")}
TIMES_MAX = 60  # of one call of one stage: the first ones, which differ most
BEGUN = '"/dev/null", O_RDWR'  # the first file that every stage opens itself
CALL = re.compile(r"^(?:\d+ +)?(\w+)\(")


def strace(stage, *arguments):
    return ["strace", "-qq", *(["-f"] if stage.follow else []), *arguments]


def environment(stage):
    """The helpers of a followed source must see the errors, too: no filter."""
    return NO_FILTER if stage.follow and not stage.is_confined() else {}


def is_possible(stage, call, error):
    """A close(2) that strace makes fail leaves the file open, which breaks pipes. And a command that waits
    to be started keeps the reading end of its pipe open."""
    return not (call == "close" and not stage.out or
                (call, error) == ("write", "EPIPE") and "--" in stage.arguments)


def cases_of(stage, directory):
    """(call, occurrence, error) of each call that a stage makes itself before it enters its sandbox."""
    directory.mkdir()
    log = directory / "log"
    ended, _ = stage.run(directory, *strace(stage, "-o", log), **environment(stage))
    assert ended.returncode == 0, f"{stage.title()}: {ended}"
    before, all_ = collections.Counter(), collections.Counter()
    has_begun = False
    for line in log.read_text(errors="replace").splitlines():
        has_begun = has_begun or BEGUN in line
        if CONFINED in line:
            break
        match = CALL.match(line)
        if match:
            all_[match[1]] += 1
            before[match[1]] += not has_begun
    return [(call, time, error) for call, n in sorted(all_.items())
            for time in range(before[call] + 1, min(n, before[call] + TIMES_MAX) + 1)
            for error in ERRORS.get(call, []) if is_possible(stage, call, error)]


def is_head(stage, call, error):
    """A reader of text may close the pipe early, as head(1) does: no message is needed."""
    return stage.name == "frame-dump" and (call, error) == ("write", "EPIPE")


def came_too_late(stage, log):
    """Whether the fault hit after the sandbox was entered: the number of calls before it varies slightly."""
    before = log.read_text(errors="replace").split(CONFINED)
    return stage.is_confined() and len(before) > 1 and "(INJECTED)" not in before[0]


def try_case(stage, case, directory):
    call, time, error = case
    fault = f"inject={call}:error={error}:when={time}"
    try:
        ended, out = stage.run(directory, *strace(stage, "-o", directory / "log", "-e", fault),
                               **environment(stage))
        if came_too_late(stage, directory / "log"):
            return None
        wrong, said = faulted.what_is_wrong(stage, ended, out, is_head(stage, call, error)), faulted.said(ended)
    except subprocess.TimeoutExpired:
        wrong, said = f"it hangs for {faulted.PATIENCE_S} s", ""
    shutil.rmtree(directory, ignore_errors=True)
    return wrong and f"{stage.title()}: {call} {time} {error}: {wrong}: {said}"


@pipeline.needs_root
class Calls(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")

    def test_each_call_fails_once(self):
        cases = []
        for i, stage in enumerate(faulted.stages(self.directory)):
            found = cases_of(stage, self.directory / f"stage{i}")
            print(f"{stage.title()}: {len(found)} cases", flush=True)
            cases += [(stage, case) for case in found]
        chosen = cases[::EVERY]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [line for line in pool.map(
                lambda each: try_case(*each[1], self.directory / f"case{each[0]}"), enumerate(chosen)) if line]
        print(f"{len(chosen)} of {len(cases)} cases tried, {len(wrong)} wrong", flush=True)
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each != "--all"]
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    pipeline.main()
