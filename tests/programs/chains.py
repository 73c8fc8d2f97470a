# SPDX-License-Identifier: GPL-3.0-or-later
"""
Functions whose names tell their callers, for a recorder of CPython's frames:

    chains.py SECONDS [wait|fork|stop|exec PROGRAM...]

f3_of_f1 is called by f1_of_f0 alone, directly, from C (sorted, map), as a generator, or as a method.
"""
import os
import signal
import sys
import time

functions = 31
rounds = 400


def spin():
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def call(callee):
    return callee()


def call_from_c(callee):
    return sorted([1, 2], key=lambda _: callee() or 0)


def generate(callee):
    def generator():
        yield callee()
    return sum(1 for _ in generator())


def rest(callee):
    time.sleep(0.002)
    callee()


def function(number, callees, how):
    """One that calls the others in turn; its own code object has its name."""
    def body():
        spin()
        for callee in callees:
            how(callee)
    name = f"f{number}_of_f{(number - 1) // 2}" if number else "f0"
    body.__code__ = body.__code__.replace(co_name=name, co_qualname=name)
    return body


def tree(number=0, is_waiting=False):
    children = [child for child in (2 * number + 1, 2 * number + 2) if child < functions]
    ways = [rest] if is_waiting else [call, call_from_c, generate]
    return function(number, [tree(child, is_waiting) for child in children], ways[number % len(ways)])


def main():
    seconds, what = float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    if what == "stop":  # for single steps, most of which are to be in calls
        global functions, rounds
        functions, rounds = 7, 0
    root = tree(is_waiting=what == "wait")
    child = os.fork() if what == "fork" else 0
    if what == "stop":
        root()
        os.kill(os.getpid(), signal.SIGSTOP)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        root()
    if child:
        os.waitpid(child, 0)
    if what == "exec":
        os.execv(sys.argv[3], sys.argv[3:])


main()
