# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams recorded on another architecture."""
import re
import shutil
import struct
import subprocess
import unittest

import pipeline
import streams

DATA = pipeline.TOP / "tests" / "data"
SOURCE = pipeline.TOP / "tests" / "programs" / "other-machine.c"
COMPILER = "aarch64-linux-gnu-gcc"
EM_AARCH64, EM_RISCV = 183, 243
MASK_AT, MACHINE_AT = (streams.RECORD_HEADER.size + 8 * i for i in (8, 9))  # in a hello
REGISTERS = 33  # x0 to x30, sp, pc
STACK_START = 0xFFFFF0001000
SIGNATURE = 0x2A << 48  # of a signed return address on the stack
PROCESS, IMAGE, IMAGE_DATA = 7, 10, 12
VDSO = 2  # kind of an image whose bytes are in the stream
BASE = 0x400000  # the program's address as linked


def hello_of(machine, mask):
    hello = bytearray(streams.records((DATA / "small.stream").read_bytes())[0])
    struct.pack_into("<Q", hello, MASK_AT, mask)
    struct.pack_into("<Q", hello, MACHINE_AT, machine)
    return bytes(hello)


def stream_of(machine, middle):
    end = streams.records((DATA / "small.stream").read_bytes())[-1]
    return streams.between(hello_of(machine, (1 << REGISTERS) - 1), middle, end)


class Program:
    """A program for aarch64, with the addresses of its disassembly."""
    def __init__(self, directory):
        path = directory / "program"
        subprocess.run([COMPILER, "-O2", "-static", "-nostdlib", "-fomit-frame-pointer", "-mbranch-protection=standard",
                        "-o", path, SOURCE], check=True)
        self.bytes = path.read_bytes()
        text = subprocess.run([COMPILER.replace("gcc", "objdump"), "-d", path], check=True, capture_output=True,
                              text=True).stdout
        self.functions = dict(re.findall(r"<(\w+)[^\n]*>:\n(.*?)(?:\n\n|\Z)", text, re.S))

    def start(self, name):
        return int(self.functions[name].split(":")[0], 16)

    def behind_call(self, caller, callee):
        return int(re.search(rf"(\w+):\t\w+ +\tbl\t\w+ <{callee}", self.functions[caller])[1], 16) + 4

    def frame_size(self, name):
        return int(re.search(r"str\tx30, \[sp, #-(\d+)\]!", self.functions[name])[1])

    def sample(self):
        """A sample in leaf(): its return address is in x30; the others are on the stack, and signed."""
        registers = [0] * 30 + [self.behind_call("middle", "leaf"), STACK_START, self.start("leaf") + 4]
        stack = bytearray(4096)
        struct.pack_into("<Q", stack, 0, self.behind_call("outer", "middle") | SIGNATURE)
        struct.pack_into("<Q", stack, self.frame_size("middle"), self.behind_call("_start", "outer") | SIGNATURE)
        return streams.make_record(streams.SAMPLE, streams.numbers(6, 1, 42, 0, 1000, registers[-1], 2) +
                                   streams.numbers(REGISTERS, *registers) + streams.numbers(0) +
                                   streams.blob(bytes(stack)) + bytes(7 * 8))

    def stream(self):
        return stream_of(EM_AARCH64, [
            streams.make_record(PROCESS, streams.numbers(1, 5, 42, 0, 0) + streams.string("other") + bytes(3 * 8)),
            streams.make_record(IMAGE, streams.numbers(1, VDSO, 0, 0, 0, 0) + streams.string("program")),
            streams.make_record(IMAGE_DATA, streams.numbers(1) + streams.blob(self.bytes)),
            streams.make_record(streams.MAPPING, streams.numbers(1, 0, 1, 5, BASE, 0x10000, 0, 1)),
            self.sample()])


class MachinesTest(pipeline.PipelineTest):
    def filter(self, data, name, *arguments):
        return subprocess.run([pipeline.program(name), *arguments], input=data, capture_output=True,
                              timeout=pipeline.PATIENCE_S)

    @unittest.skipUnless(shutil.which(COMPILER), f"{COMPILER} {pipeline.NOT_INSTALLED}")
    def test_a_stream_of_aarch64_is_unwound_and_named(self):
        data = Program(self.directory).stream()
        for stage, *arguments in [["live-unwinder", "--no-cache"], ["symbolizer"]]:
            done = self.filter(data, stage, *arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            data = done.stdout
        folded = self.filter(data, "capture-sink", "-f", "folded", "-").stdout.decode()
        names = [re.sub(r"\.isra\.0$", "", name) for name in streams.folded_stacks(folded)[0][0]]
        self.assertEqual(names[1:], ["_start", "outer", "middle", "leaf"])
        self.assertIn(b'"arch":"aarch64"', self.filter(data, "capture-sink", "-f", "firefox.json", "-").stdout)

    def test_elfutils_cannot_unwind_other_machines(self):
        for option in ["--engine=dwfl", "--verify=1"]:
            done = self.filter(stream_of(EM_AARCH64, []), "live-unwinder", option)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"elfutils cannot unwind a stream recorded on aarch64 on this machine", done.stderr)

    def test_unknown_machines_are_refused(self):
        done = self.filter(stream_of(EM_RISCV, []), "live-unwinder")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the stream was recorded on an unsupported architecture", done.stderr)

    def replay_as_of(self, machine):
        """Replays a perf.data file whose header names that machine."""
        data = (DATA / "small.perf.data").read_bytes()
        text = struct.pack("<I8s", 64, b"x86_64")  # after its size
        self.assertEqual(data.count(text), 1)
        path = self.directory / "perf.data"
        path.write_bytes(data.replace(text, struct.pack("<I8s", 64, machine)))
        return self.filter(b"", "perfdata-source", "--quiet", path)

    def test_a_file_of_perf_may_be_of_another_machine(self):
        done = self.replay_as_of(b"aarch64")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(struct.unpack_from("<Q", done.stdout, MACHINE_AT)[0], EM_AARCH64)
        done = self.replay_as_of(b"riscv64")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"was recorded on riscv64, which is not supported", done.stderr)


if __name__ == "__main__":
    pipeline.main()
