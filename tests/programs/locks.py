# SPDX-License-Identifier: GPL-3.0-or-later
"""
Threads that want CPython's global lock at the same time, and give it back often:

    locks.py SECONDS
"""
import sys
import threading
import time


def spin(end):
    while time.monotonic() < end:
        time.sleep(0)
        sum(range(20000))


def main():
    end = time.monotonic() + float(sys.argv[1])
    threads = [threading.Thread(target=spin, args=(end,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
