# SPDX-License-Identifier: GPL-3.0-or-later
"""
Threads in nested spans of a released SDK, which publishes them:

    sdk-spans.py SECONDS LOG

LOG gets a line for each time that a thread was in one span: TID, begin and end (CLOCK_MONOTONIC), span.
"""
import sys
import threading
import time

from ddtrace.trace import tracer

LOG = []
END = time.time() + float(sys.argv[1])


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def work():
    end = time.time() + 0.01
    while time.time() < end:
        sum(range(1000))


def run():
    while time.time() < END:
        with tracer.trace("request") as request:
            began = now()
            work()
            LOG.append((threading.get_native_id(), began, now(), request.span_id))
            with tracer.trace("child") as child:
                began = now()
                work()
                LOG.append((threading.get_native_id(), began, now(), child.span_id))


THREADS = [threading.Thread(target=run) for _ in range(2)]
for thread in THREADS:
    thread.start()
for thread in THREADS:
    thread.join()
with open(sys.argv[2], "w", encoding="ascii") as out:
    out.writelines(f"{tid} {began} {ended} {span:016x}\n" for tid, began, ended, span in LOG)
