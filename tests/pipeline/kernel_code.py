# SPDX-License-Identifier: GPL-3.0-or-later
"""A hand-made stream in which kernel code is loaded and unloaded."""
import struct

import pipeline
import streams
from streams import blob, numbers, string

FILE, IMAGE, MAPPING, STACK, KERNEL_SYMBOL = 6, 10, 14, 16, 21
GONE, BPF, OUT_OF_LINE = 1, 1, 2
COMPLETE = 1  # an end reason
KERNEL_MAPPING, KERNEL, EXACT = 1, 1, 2  # the mapping's number; flags of a frame

CALLER, OLD, CODE = 0xffffffff81000100, 0xffffffffc0001010, 0xffffffffc0004010
KALLSYMS = """\
ffffffff81000000 T bpf_test_run
ffffffff81001000 T _etext
ffffffffc0001000 t bpf_prog_0_old\t[bpf]
ffffffffc0002000 t of_module\t[module]
ffffffffc0003000 t behind\t[module]
ffffffffc0009000 t last\t[module]
"""


def kernel_symbol(time, address, size, flags, name, kind=BPF):
    return streams.make_record(KERNEL_SYMBOL,
                               numbers(time, address, size, flags, kind) + string(name))


def stack(time, address, caller=CALLER):
    """A stack of a kernel thread: an address, and a return address."""
    frames = struct.pack("<QIIQII", address, KERNEL_MAPPING, KERNEL | EXACT,
                         caller, KERNEL_MAPPING, KERNEL)
    return streams.make_record(STACK, numbers(time, 0, 7, 0, 1, COMPLETE, 2) + frames)


def changes():
    """Loading and unloading of code, with stacks between; each stack repeatedly, as in samples."""
    time = 1000
    for change in (
            [],
            [(OLD & ~0xff, 0x100, GONE, "bpf_prog_0_old")],
            [(CODE & ~0xff, 0x40, 0, "bpf_prog_1_first")],
            [(CODE & ~0xff, 0x40, GONE, "bpf_prog_1_first")],
            [(CODE & ~0xff, 0x80, 0, "bpf_prog_2_second")],
            [(CODE & ~0xff, 0x80, GONE, "bpf_prog_2_second"),
             (CODE & ~0xf, 0x80, 0, "bpf_prog_3_third")],
            [(CODE & ~0xfff, 0x1000, 0, "ftrace_trampoline", OUT_OF_LINE)]):
        for address, *rest in change:
            yield kernel_symbol(time, address, *rest)
        for _ in range(2):
            for address in OLD, CODE:
                yield stack(time, address)
        time += 1


def calls():
    """A BPF program that calls a function of the kernel."""
    yield kernel_symbol(1000, CODE & ~0xff, 0x40, 0, "bpf_prog_1_first")
    yield stack(1000, CALLER, CODE)


def stream(records=changes):
    recorded = streams.records(pipeline.SMALL_STREAM.read_bytes())
    hello, end = recorded[0], recorded[-1]
    kernel = [next(each for each in recorded if streams.record_type(each) == number)
              for number in (IMAGE, MAPPING)]
    kallsyms = streams.make_record(FILE, numbers(0) + string("/proc/kallsyms") + numbers(0) +
                                   blob(KALLSYMS.encode()))
    return streams.between(hello, [*kernel, kallsyms, *records()], end)
