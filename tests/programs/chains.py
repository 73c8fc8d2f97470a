# SPDX-License-Identifier: GPL-3.0-or-later
"""
Functions whose names tell their callers, for a recorder of CPython's frames:

    chains.py SECONDS [wait|fork|stop WAY|thread|greenlet|digest|exec PROGRAM...]

f3_of_f1 is called by f1_of_f0 alone: directly, from C (sorted, re), as a generator or a coroutine, as an attribute,
while an exception is handled. SECONDS are of CPU time, but with `wait` of time. With `stop` f0 alone calls others, in one
of these ways. With `greenlet` (its package) five go on in the middle of each other's calls. With `digest` C code without
the global lock takes most of the time.
"""
import hashlib
import os
import re
import signal
import sys
import threading
import time

functions = 31
rounds = 400
first_way = 0
large = b""
go_on = None


def spin():
    total = 0
    if large:
        hashlib.sha256(large).digest()
    for i in range(rounds):
        total += i * i
    if go_on:
        go_on()
    return total


def call(callee):
    return callee()


def call_from_c(callee):
    return sorted([1, 2], key=lambda _: callee() or 0)


def generate(callee):
    def generator():
        yield callee()
    return sum(1 for _ in generator())


def delegate(callee):
    def inner():
        yield callee()

    def generator():
        yield from inner()
    return sum(1 for _ in generator())


def wait_for(callee):
    async def inner():
        return callee()

    async def outer():
        return await inner()
    try:
        outer().send(None)
    except StopIteration:
        pass


class Attributes:
    def __init__(self, callee):
        self.callee = callee

    def __getattr__(self, name):
        return self.callee()


def get(callee):
    return Attributes(callee).absent


def substitute(callee):
    return re.sub("a", lambda _: callee() or "", "a")


def handle(callee):
    try:
        raise ValueError
    except ValueError:
        return callee()


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
    names = {"co_name": name, "co_qualname": name} if hasattr(body.__code__, "co_qualname") else {"co_name": name}
    body.__code__ = body.__code__.replace(**names)
    return body


def tree(number=0, is_waiting=False):
    children = [child for child in (2 * number + 1, 2 * number + 2) if child < functions]
    ways = [rest] if is_waiting else [call, call_from_c, generate, delegate, wait_for, get, substitute, handle]
    return function(number, [tree(child, is_waiting) for child in children], ways[(first_way + number) % len(ways)])


def run(root, clock, until):
    while clock() < until:
        root()


def take_turns(job):
    import greenlet
    global go_on
    count, those = 0, [greenlet.greenlet(job) for _ in range(5)]

    def next_one():
        nonlocal count
        count += 1
        if count % 7 == 0:
            those[(those.index(greenlet.getcurrent()) + 1) % len(those)].switch()
    go_on = next_one
    those[0].switch()
    go_on = None


def main():
    seconds, what = float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    if what == "stop":  # for single steps, most of which are to be in calls
        global functions, rounds, first_way
        functions, rounds, first_way = 2, 0, int(sys.argv[3])
    root = tree(is_waiting=what == "wait")
    if what == "digest":
        global large
        large = bytes(1 << 20)
    child = os.fork() if what == "fork" else 0
    clock = time.monotonic if what == "wait" else time.process_time
    until = clock() + seconds
    threads = [threading.Thread(target=run, args=(root, clock, until)) for _ in range(2 if what == "thread" else 0)]
    for thread in threads:
        thread.start()
    if what == "stop":
        run(root, clock, clock() + 0.1)
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "greenlet":
        take_turns(lambda: run(root, clock, until))
    run(root, clock, until)
    for thread in threads:
        thread.join()
    if child:
        os.waitpid(child, 0)
    if what == "exec":
        os.execv(sys.argv[3], sys.argv[3:])


main()
