# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replay cannot do without, however little it made of a sample.

The file is read once. The stacks pass one pipe: here the bytes of the first stage's stream are
written from a mapping by one process and read by another, and nobody looks at any. And the kernel's
functions have their names from /proc/kallsyms alone, which the kernel writes anew for each reader.
"""
import fcntl
import mmap
import os
import resource

PIECE = 1 << 20  # as large as an unprivileged user's pipe may be


def _cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _read_all(fd):
    buffer = bytearray(PIECE)
    while os.readv(fd, [buffer]):
        pass


def _write_all(stream, fd):
    with open(stream, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        view = memoryview(data)
        at = 0
        while at < len(view):
            at += os.write(fd, view[at:at + PIECE])
        view.release()


def _pass_through_a_pipe(stream):
    end, begin = os.pipe()
    fcntl.fcntl(begin, fcntl.F_SETPIPE_SZ, PIECE)
    if os.fork() == 0:
        os.close(begin)
        _read_all(end)
        os._exit(0)
    os.close(end)
    _write_all(stream, begin)
    os.close(begin)
    os.wait()


def _read_file(path):
    fd = os.open(path, os.O_RDONLY)
    _read_all(fd)
    os.close(fd)


def _cpu_of(work, *arguments):
    """On one CPU, like what it is compared with."""
    everybody = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    before = sum(map(_cpu, everybody))
    work(*arguments)
    took = sum(map(_cpu, everybody)) - before
    os.sched_setaffinity(0, allowed)
    return took


def cpu_of_stream(stream):
    """Seconds, of writer and reader together."""
    return _cpu_of(_pass_through_a_pipe, stream)


def cpu_of_file(path):
    """Seconds."""
    return _cpu_of(_read_file, path)


def cpu_of_kernel_names():
    """Seconds."""
    return cpu_of_file("/proc/kallsyms")
