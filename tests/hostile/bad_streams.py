# SPDX-License-Identifier: GPL-3.0-or-later
"""
Well-formed but hostile streams: each repeats a record that might cost more than its length. As a program
it writes one of the given size, or lists their names:

	bad_streams.py [NAME [BYTES]]
"""
import gzip
import itertools
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import made  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402
from made import CODE, COMPLETE, UPID  # noqa: E402
from streams import blob, make_record, numbers, string  # noqa: E402

SIZE = 4_500_000
SYMBOLIZED = pipeline.TOP / "tests" / "data" / "small.symbolized.stream"
RAW = pipeline.SMALL_STREAM
FORKED, ANONYMOUS, KERNEL_FRAME = 2, 3, 1
THREAD, LOST, IMAGE_EXIT, KERNEL_SYMBOL, SYMBOLS_VOID = 9, 18, 19, 21, 22
THREAD_TIME, CGROUP, MARK = 30, 31, 37
FRAMES_MAX, NAME_MAX, INLINED_MAX, COUNTERS = 16000, 4095, 255, 1000
ALL = {}


def bad(function):
    ALL[function.__name__.replace("_", "-")] = function
    return function


def process(number, parent=0, origin=FORKED, name="bad"):
    return make_record(made.PROCESS, numbers(number, 0, number & 0x3fffff, origin, parent) + string(name))


def process_exit(number, time=0):
    return make_record(made.PROCESS_EXIT, numbers(number, time))


def mapping(number, start, length=0x1000, image=1, of=UPID, offset=0):
    return make_record(made.MAPPING, numbers(number, 0, of, 0, start, length, offset, image))


def stack(addresses, of_mapping=1, *, flags=0, upid=UPID, tid=made.PID, time=0, event=0, weight=1, waker=(0, 0)):
    packed = b"".join(struct.pack("<QII", address, of_mapping, flags) for address in addresses)
    return make_record(made.STACK, numbers(time, upid, tid, 0, weight, COMPLETE, len(packed) // 16) + packed +
                       numbers(event, 0, *waker))


def symbol(offset, name, *, image=1, module="", file="", since=0):
    return make_record(made.SYMBOL, numbers(image, offset, offset, 16) + string(name) + string(module) + string(file) +
                       numbers(0, 0, since))


def inlined(offset, name, image=1):
    return make_record(made.INLINED, numbers(image, offset) + string(name) + string("") + numbers(0, 0))


def world(length=0x1000000000):
    """A process with one large mapping."""
    return [made.process(), made.image(), made.mapping(length=length)]


def place(i):
    return CODE + 1 + 16 * i  # a return address: the location is one byte less


@bad
def forks_of_many_mappings():
    yield from [made.process(), made.image()]
    for i in range(20_000):
        yield mapping(i + 1, CODE + 0x2000 * i)
    for i in itertools.count(UPID + 1):
        yield process(i, parent=UPID)


@bad
def forks_and_exits():
    yield from [made.process(), made.image()]
    for i in range(10_000):
        yield mapping(i + 1, CODE + 0x2000 * i)
    for i in itertools.count(UPID + 1):
        yield process(i, parent=UPID)
        yield process_exit(i)


@bad
def mappings_from_above():
    yield from [made.process(), made.image()]
    for i in itertools.count(1):
        yield mapping(i, (1 << 46) - 0x2000 * i)


@bad
def mappings_that_replace_all():
    yield from [made.process(), made.image()]
    for i in itertools.count(1):
        yield mapping(i, CODE + 0x2000 * (i % 2000)) if i % 2001 else mapping(i, CODE, 1 << 40)


@bad
def deep_stacks_of_distinct_frames():
    yield from world()
    for i in itertools.count():
        yield stack(place(FRAMES_MAX * i + k) for k in range(FRAMES_MAX))


@bad
def deep_stacks_of_one_function():
    yield from world()
    for k in range(FRAMES_MAX):
        yield symbol(place(k) - 1 - CODE, "again")
    for i in itertools.count():
        yield stack(place((k * (2 * i + 1)) % FRAMES_MAX) for k in range(FRAMES_MAX))


@bad
def distinct_stacks():
    yield from world()
    for i in itertools.count():
        yield stack([place(i), place(i // 7), place(i // 49)])


@bad
def stacks_that_part_at_their_leaves():
    yield from world()
    for i in itertools.count():
        yield stack([place(i), *(place(k) for k in range(500))])


@bad
def inlined_calls_in_deep_stacks():
    yield from world()
    for k in range(INLINED_MAX):
        yield inlined(place(0) - 1 - CODE, f"inlined_{k}")
    yield symbol(place(0) - 1 - CODE, "outer")
    for i in itertools.count(1):
        yield symbol(place(i) - 1 - CODE, f"leaf_{i}")
        yield stack([place(i), *[place(0)] * 64])


@bad
def very_deep_stacks_of_inlined_calls():
    yield from world()
    for k in range(INLINED_MAX):
        yield inlined(place(0) - 1 - CODE, f"inlined_{k}")
    yield symbol(place(0) - 1 - CODE, "outer")
    for i in itertools.count(1):
        yield stack([place(i), *[place(0)] * (FRAMES_MAX - 1)])


@bad
def long_names_in_deep_stacks():
    yield from world()
    for k in range(16):
        yield symbol(place(k) - 1 - CODE, chr(97 + k) * (NAME_MAX - 100))
    for i in itertools.count(16):
        yield stack([place(i), *(place(k % 16) for k in range(64))])


@bad
def names_that_change():
    yield from world()
    for i in itertools.count():
        yield symbol(place(0) - 1 - CODE, f"name_{i}")
        yield stack([place(0)])


@bad
def names_that_are_void():
    yield from world()
    for k in range(10_000):
        yield symbol(place(k) - 1 - CODE, f"name_{k}")
    for _ in itertools.count():
        yield make_record(SYMBOLS_VOID, numbers(1))
        yield stack([place(0)])


@bad
def times_of_names():
    yield from [made.process(), make_record(made.IMAGE, numbers(1, ANONYMOUS, 0, 0, 1, 0) + string("")), made.mapping()]
    for i in itertools.count():
        yield symbol(place(0) - 1 - CODE, f"name_{i % 2}", since=(1 << 40) - i)
        yield stack([place(0)], time=i)


@bad
def provisional_names():
    yield from [made.process(), make_record(made.IMAGE, numbers(1, ANONYMOUS, 0, 0, 1, 0) + string("")), made.mapping()]
    for i in itertools.count():
        yield stack([place(i)], time=i)
        yield symbol(place(i // 2) - 1 - CODE, f"name_{i}", since=i // 3)


@bad
def exits_beside_many_names():
    yield from world()
    for k in range(15_000):
        yield symbol(place(k) - 1 - CODE, f"name_{k}")
    for i in itertools.count(UPID + 1):
        yield process(i)
        yield process_exit(i)


@bad
def exits_beside_much_that_is_mapped():
    yield from world()
    for k in range(15_000):
        yield mapping(k + 2, (1 << 41) + k * 0x1000)
        yield stack([(1 << 41) + k * 0x1000 + 1], k + 2)
    for i in itertools.count(UPID + 1):
        yield process(i)
        yield stack([place(0)], upid=i)
        yield process_exit(i)


@bad
def images_that_go():
    yield from world()
    for k in range(10_000):
        yield symbol(place(k) - 1 - CODE, f"name_{k}")
    for i in itertools.count(2):
        yield made.image(i, "/x")
        yield make_record(IMAGE_EXIT, numbers(i, 0))


@bad
def many_threads():
    yield from world()
    for i in itertools.count(1):
        yield make_record(THREAD, numbers(UPID, 0, i) + string(f"thread {i}"))
        yield stack([place(0)], tid=i)


@bad
def threads_with_long_names_of_functions():
    yield from world()
    for k in range(32):
        yield symbol(place(k) - 1 - CODE, chr(97 + k % 26) * (NAME_MAX - k - 1))
    for i in itertools.count(1):
        yield stack([place(k) for k in range(32)], tid=i)


@bad
def many_processes():
    for i in itertools.count(1):
        yield process(i, name=f"name {i}")
        yield stack([place(0)], 0, upid=i)


# Events of allocations (common/stream/heap-events.h): kind and lengths of time, address, size, stack; then the fields.
def heap_event(kind, *, time=0, moved=0, size=0, number=0):
    fields = [value.to_bytes((value.bit_length() + 7) // 8, "little") for value in (time, moved << 1, size, number)]
    control = kind | sum(len(field) << 4 + 3 * i for i, field in enumerate(fields))
    return struct.pack("<H", control) + b"".join(fields)


A_BLOCK, A_THREAD = 1, heap_event(5, number=1)


def heap_events(upid, n, events, time=0):
    return make_record(made.HEAP_EVENTS, numbers(time, upid, n) + blob(events))


def heap_begin(upid, time=0):
    return make_record(made.HEAP_BEGIN, numbers(upid, time, 0))


@bad
def heaps_that_end_beside_many_blocks():
    yield from [made.process(), heap_begin(UPID)]
    for k in range(40):
        yield heap_events(UPID, 10_000, A_THREAD + heap_event(A_BLOCK, moved=(k + 1) << 20, size=16) +
                          heap_event(A_BLOCK, moved=32, size=16) * 9_999)
    for i in itertools.count(UPID + 1):
        yield process(i)
        yield heap_begin(i)
        yield process_exit(i)


@bad
def heaps_of_one_block():
    for i in itertools.count(1):
        yield heap_begin(i)
        yield heap_events(i, 1, A_THREAD + heap_event(A_BLOCK, moved=32, size=16))


@bad
def a_heap_at_the_end_of_time():
    yield from [made.process(), heap_begin(UPID, 1)]
    for at in itertools.chain((1, 1000, 1 << 40, (1 << 64) - 1000), itertools.repeat((1 << 64) - 1)):
        yield heap_events(UPID, 1, A_THREAD + heap_event(A_BLOCK, moved=32, size=16), at)


@bad
def heap_stacks():
    yield from world()
    yield make_record(made.HEAP_BEGIN, numbers(UPID, 0, 0))
    for i in itertools.count(1):
        yield make_record(made.HEAP_STACK, numbers(0, UPID, i, COMPLETE, 2) +
                          struct.pack("<QIIQII", place(i), 1, 0, place(i // 2), 1, 0))
        yield heap_events(UPID, 1, A_THREAD + heap_event(A_BLOCK, moved=32, size=16, number=i), i * 1_000_000)


@bad
def cgroups():
    yield from world()
    for i in itertools.count(1):
        yield make_record(CGROUP, numbers(UPID, i) + string("/" + f"group-{i}/" * 8))
        yield stack([place(0)])


@bad
def cgroups_of_processes():
    for i in itertools.count(1):
        yield process(i)
        yield make_record(CGROUP, numbers(i, i) + string(f"/system.slice/docker-{i:064x}.scope"))
        yield stack([place(0)], 0, upid=i)


@bad
def counters():
    for i in range(1, COUNTERS + 1):
        yield make_record(made.COUNTER, numbers(i, 1) + string("category") + string(f"name {i}") + string("what"))
    for time in itertools.count():
        yield make_record(made.COUNTER_VALUES, numbers(time, 100) +
                          b"".join(numbers((time + i) % COUNTERS + 1, i) for i in range(100)))


@bad
def counters_that_are_told_again():
    for i in itertools.count():
        yield make_record(made.COUNTER, numbers(i % 1000 + 1, 1) + string("c") + string(f"{i}") + string(""))


@bad
def marks():
    yield from world()
    for i in itertools.count():
        yield make_record(MARK, numbers(i, i, UPID, i) + string(f"group {i % 5000}") + string(f"name {i}") + string("text"))


@bad
def events_of_one_name():
    for i in itertools.count():
        yield made.event(i % 32, "x" * 64, made.EVENTS)


@bad
def waits():
    yield from world()
    yield made.event(0, "cpu-clock", made.NANOSECONDS)
    yield made.event(1, "off-cpu", made.NANOSECONDS, made.OFF_CPU)
    for i in itertools.count(1):
        yield stack([place(i)], tid=i, time=i << 20, event=1, weight=1 << 30, waker=(UPID, i + 1))


@bad
def times_of_threads():
    for i in itertools.count(1):
        yield make_record(THREAD_TIME, numbers(i, UPID, i, 1 << 60, 1 << 60, 1 << 60))


@bad
def losses():
    for i in itertools.count():
        yield make_record(LOST, numbers(i, i & 0xffff, 1))


@bad
def counts():
    for i in itertools.count():
        yield make_record(streams.COUNT, string("s") + string("no-debug-info") + string(f"{i}") + numbers(i))


@bad
def kernel_code():
    yield from world()
    for i in itertools.count():
        yield make_record(KERNEL_SYMBOL, numbers(i, (1 << 63) + (i * 7919 % 65536) * 4096, 4096 * (i % 50 + 1), i % 2, 1) +
                          string(f"bpf_prog_{i}"))


@bad
def kernel_chains():
    yield from world()
    for i in itertools.count():
        yield stack((((1 << 63) + (512 * i + k) * 16 + 1) for k in range(512)), 0, flags=KERNEL_FRAME)


@bad
def modules_of_the_kernel():
    yield made.process()
    for i in itertools.count():
        at = (1 << 63) + 32 * i
        yield symbol(at, f"function_{i}", image=2, module=f"module_{i}")
        yield stack([at + 1], 0, flags=KERNEL_FRAME)


@bad
def compressed_names_of_the_kernel():
    lines = b"".join(b"%016x t f%d\n" % (0xffffffff81000000 + 16 * (i % 1000), i % 10) for i in range(2_000_000))
    packed = gzip.compress(lines, 9)
    for _ in itertools.count():
        for at in range(0, len(packed), 60_000):
            piece = packed[at:at + 60_000]
            yield make_record(made.FILE, numbers(0) + string("/proc/kallsyms.gz") + numbers(len(packed) - at - len(piece)) + blob(piece))


@bad
def pieces_of_files():
    for i in itertools.count():
        yield make_record(made.FILE, numbers(i) + string(f"/{i}") + numbers(1 << 30) + blob(b"x"))


@bad
def messages():
    for i in itertools.count():
        yield make_record(5, numbers(i, 2) + string("stage") + string(f"text {i} " + "\x1b" * 40))


@bad
def small_records():
    for _ in itertools.count():
        yield make_record(SYMBOLS_VOID, numbers(0))


# Registers of a sample, of x86-64, as perf-source requests them.
REGISTERS = 17


def sample(ip, *, sp=0x7fff0000, data=b"", upid=UPID, frame_pointer=0, kernel=()):
    registers = [0] * REGISTERS
    registers[6], registers[7], registers[8] = frame_pointer, sp, ip
    return make_record(streams.SAMPLE, numbers(0, upid, made.PID, 0, 1, ip, 2, REGISTERS, *registers, len(kernel), *kernel) +
                       blob(data))


@bad
def one_file_as_many_images():
    yield made.process()
    path = pipeline.program("live-unwinder")
    for i in itertools.count(1):
        yield from made.file_image(path, i)
        yield mapping(i, CODE, 0x400000, image=i, offset=0)
        yield sample(CODE + path.stat().st_size // 8 + i * 16, data=bytes(64))


@bad
def all_files_of_the_machine():
    yield made.process()
    paths = [os.path.join(top, name) for top in ("/usr/lib/x86_64-linux-gnu", "/usr/bin") for name in sorted(os.listdir(top))]
    for i, path in enumerate(itertools.cycle(path for path in paths if os.path.isfile(path)), 1):
        yield from made.file_image(path, i)
        yield mapping(i, CODE, 0x4000000, image=i, offset=0)
        yield sample(CODE + 0x8000 + i * 16, data=bytes(64))


@bad
def samples_without_code():
    yield from world()
    for i in itertools.count():
        yield sample(place(i), data=bytes(256))


@bad
def samples_of_anonymous_memory():
    yield from [made.process(), make_record(made.IMAGE, numbers(1, ANONYMOUS, 0, 0, 1, 0) + string("")), made.mapping()]
    sp = 0x7fff0000
    for i in itertools.count():
        words = [word for k in range(512) for word in (sp + 16 * (k + 1), place(i + k))]
        yield sample(place(i), sp=sp, frame_pointer=sp, data=struct.pack(f"<{len(words)}Q", *words))


def of_records(records, like):
    """A stream of these records, with the hello and end of another stream."""
    hello, *_, end = streams.records(like.read_bytes())
    return streams.between(without_server(hello), records, end)


def made_of(name, size=SIZE):
    """A stream of about that many bytes."""
    chosen, total = [], 0
    for record in ALL[name]():
        chosen.append(record)
        total += len(record)
        if total >= size:
            break
    return of_records(chosen, RAW if name in OF_SAMPLES else SYMBOLIZED)


def without_server(hello):
    """Removes the image server: files are opened by their paths."""
    at = streams.RECORD_HEADER.size + 11 * 8
    return hello[:at] + bytes(16 + 104) + hello[at + 16 + 104:]


OF_SAMPLES = {"one-file-as-many-images", "all-files-of-the-machine", "samples-without-code", "samples-of-anonymous-memory"}


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(ALL))
    else:
        sys.stdout.buffer.write(made_of(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SIZE))
