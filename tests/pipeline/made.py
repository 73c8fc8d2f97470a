# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand-made records that no program produces on demand (docs/protocol.md)."""
import os
import struct

import streams
from streams import blob, numbers, string

FILE, PROCESS, PROCESS_EXIT, IMAGE, IMAGE_STATE, MAPPING, STACK, SYMBOL = 6, 7, 8, 10, 11, 14, 16, 17
INLINED, HEAP_BEGIN, HEAP_STACK, HEAP_EVENTS, EVENT, COUNTER, COUNTER_VALUES = 20, 23, 25, 26, 29, 35, 36
TRACE_CONTEXT, TRACE_ATTRIBUTE, RESOURCE_ATTRIBUTE = 42, 43, 44
OPEN, SCANNED, COMPLETE, EXACT, ON_CPU, OFF_CPU, NANOSECONDS, EVENTS = 1, 1, 1, 2, 1, 2, 1, 2
UPID, PID = 7, 70
CODE = 0x10000


def process(number=UPID, pid=PID, name="program"):
    return streams.make_record(PROCESS, numbers(number, 0, pid, SCANNED, 0) + string(name))


def image(number=1, path="/usr/bin/program"):
    return streams.make_record(IMAGE, numbers(number, 1, 0, 0, number, 0) + string(path))


def file_image(path, number=1):
    """An image of an existing file, available during the recording."""
    status = os.stat(path)
    device = os.major(status.st_dev), os.minor(status.st_dev)
    return [streams.make_record(IMAGE, numbers(number, 1, *device, status.st_ino, 0) + string(str(path))),
            streams.make_record(IMAGE_STATE, numbers(number, OPEN, status.st_size, status.st_mtime_ns))]


def mapping(number=1, of_image=1, length=0x10000000):
    return streams.make_record(MAPPING, numbers(number, 0, UPID, 0, CODE, length, 0, of_image))


def stack(frames, *, upid=UPID, tid=PID, weight=1, event=0, time=0, waker=(0, 0), context=0):
    """`frames`: (address, mapping), innermost first."""
    packed = b"".join(struct.pack("<QII", address, number, EXACT) for address, number in frames)
    return streams.make_record(STACK, numbers(time, upid, tid, 0, weight, COMPLETE, len(frames)) + packed +
                               numbers(event, 0, *waker, 0, context))


# Events of allocations: kind and lengths of the fields in 16 bits, then the fields (common/stream/heap-events.h).
OF_THREAD_1 = b"\x05\x20" + b"\x01"
SAMPLED_HEAP = b"\x06\x0c" + b"\x00\x00\x08"
ALLOCATED = b"\x81\x24" + b"\x20" + b"\x10" + b"\x01"
ALLOCATED_WITHOUT_STACK = b"\x81\x24" + b"\x40" + b"\x10" + b"\x03"


def heap(events, interval=0):
    stack_1 = streams.make_record(HEAP_STACK, numbers(0, UPID, 1, COMPLETE, 1) + struct.pack("<QII", CODE, 0, EXACT))
    return [process(), streams.make_record(HEAP_BEGIN, numbers(UPID, 0, interval)), stack_1,
            streams.make_record(HEAP_EVENTS, numbers(0, UPID, 2) + blob(OF_THREAD_1 + events))]


def resource(*attributes):
    """What the process publishes; a key may be there twice."""
    return [streams.make_record(RESOURCE_ATTRIBUTE, numbers(UPID, 0, i) + string(key) + string(value))
            for i, (key, value) in enumerate(attributes)]


def trace_context(*attributes):
    """The context that stacks refer to as number 1."""
    return [streams.make_record(TRACE_CONTEXT, numbers(1, UPID) + b"1" * 32 + bytes(8) + b"2" * 16 + bytes(8) +
                                numbers(1, len(attributes))),
            *(streams.make_record(TRACE_ATTRIBUTE, numbers(1) + string(key) + string(value)) for key, value in attributes)]


def event(number, name, unit, kind=ON_CPU):
    return streams.make_record(EVENT, numbers(number, kind, unit) + string(name))
