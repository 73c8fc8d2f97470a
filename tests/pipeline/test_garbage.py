# SPDX-License-Identifier: GPL-3.0-or-later
"""Any garbage on standard input gives one line and status 1, never a crash, never a hang."""
import bz2
import gzip
import lzma
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pipeline
import streams
import zstd

N_FLIPS = 200
N_CUTS = 50
N_MISSING = 10
RECORD_BEGINNING = 160  # bytes of a record that hold its numbers, lengths and texts
DATA = pipeline.TOP / "tests" / "data"

READERS = {
    "live-unwinder": ("small.stream", ["live-unwinder"]),
    "symbolizer": ("small.unwound.stream", ["symbolizer"]),
    "capture-sink to syscap": ("small.symbolized.stream", ["capture-sink", "-f", "syscap", "-"]),
    "capture-sink to folded": ("small.symbolized.stream", ["capture-sink", "-f", "folded", "-"]),
    "capture-sink of samples": ("small.stream", ["capture-sink", "-f", "syscap", "-"]),
    "frame-dump": ("small.symbolized.stream", ["frame-dump"]),
    "frame-dump of totals": ("small.symbolized.stream", ["frame-dump", "--summary"]),
}


class ReaderTest(pipeline.PipelineTest):
    def run_reader(self, command, data):
        name, *arguments = command
        return subprocess.run([pipeline.program(name), "-q", *arguments], input=data,
                              capture_output=True, timeout=pipeline.PATIENCE_S)

    def assert_refused(self, done, name):
        """Status 1 and one line."""
        errors = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, len(errors)), (1, 1), done.stderr)
        self.assertTrue(errors[0].startswith(f"{name}: error: "), errors)

    def assert_refused_or_valid(self, done, name):
        """Damage that leaves a valid stream is not detected, and nothing is printed."""
        told = done.stderr or not done.stdout.endswith(b"NOT everything adds up\n")
        if done.returncode and told:
            self.assert_refused(done, name)

    def check(self, make_inputs, assertion):
        """Feeds every reader with inputs made from a stream that it understands."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for title, (stream, command) in READERS.items():
                inputs = make_inputs((DATA / stream).read_bytes())
                ended = pool.map(lambda data: self.run_reader(command, data), inputs.values())
                for what, done in zip(inputs, ended):
                    with self.subTest(reader=title, input=what):
                        assertion(done, command[0])


class Garbage(ReaderTest):
    def test_input_that_is_no_stream(self):
        self.check(foreign_inputs, self.assert_refused)

    def test_garbage_after_a_hello(self):
        self.check(inputs_behind_hello, self.assert_refused)

    def test_flipped_bytes(self):
        self.check(flipped_inputs, self.assert_refused_or_valid)

    def test_truncated_streams(self):
        self.check(cut_inputs, self.assert_refused)

    def test_streams_with_missing_records(self):
        self.check(inputs_with_missing_record, self.assert_refused)

    def test_marked_incomplete(self):
        """Whole for the protocol, but not all that was recorded: this must be reported."""
        self.check(lambda stream: {"marked": streams.marked_incomplete(stream)},
                   self.assert_refused)

    def test_the_original_streams_are_valid(self):
        self.check(lambda stream: {"whole": stream},
                   lambda done, name: self.assertEqual((done.returncode, done.stderr), (0, b"")))


COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress,
              "zstd": lambda data: zstd.MAGIC + b"\0\x58" + data}  # its blocks are not read


class Compressed(ReaderTest):
    """One line names the compression and the program that undoes it."""

    def assert_told(self, done, name, program):
        self.assert_refused(done, name)
        self.assertIn("compressed: ", done.stderr.decode())
        self.assertIn(f"{program} -dc", done.stderr.decode())

    def test_streams(self):
        """Those of zstd are decompressed: test_compressed.py."""
        for program, compress in COMPRESSED.items():
            if program == "zstd":
                continue
            self.check(lambda stream: {program: compress(stream), f"nothing, {program}": compress(b"")},
                       lambda done, name: self.assert_told(done, name, program))

    def test_files_of_sources(self):
        capture = self.directory / "small.syscap"
        self.run_on(DATA / "small.symbolized.stream", [pipeline.program("capture-sink"), "-q", capture])
        for source, file in (("perfdata-source", DATA / "small.perf.data"), ("perfdata-source", DATA / "small.perf.pipe"),
                             ("capture-source", capture), ("capture-source", DATA / "small.folded")):
            for program, compress in COMPRESSED.items():
                with self.subTest(file=file.name, program=program):
                    path = self.directory / f"file.{program}"
                    path.write_bytes(compress(file.read_bytes()))
                    self.assert_told(self.run_reader([source, path], b""), source, program)
                    self.assert_told(self.run_reader([source, "-"], path.read_bytes()), source, program)
                    done = subprocess.run([pipeline.program("stackpipe"), "report", path], capture_output=True, timeout=pipeline.PATIENCE_S)
                    self.assertEqual((done.returncode, done.stdout), (1, b""))
                    self.assert_told(done, "capture-source", program)


def foreign_inputs(stream):
    """Input from the wrong program, and worse."""
    chosen = random.Random(0)
    hello = streams.records(stream)[0]
    return {
        "nothing": b"",
        "one byte": hello[:1],
        "zeros": bytes(100_000),
        "ones": b"\xff" * 100_000,
        "random bytes": chosen.randbytes(100_000),
        "a shell script": b"#!/bin/sh\necho hello\n" * 100,
        "a program": (pipeline.program("frame-dump")).read_bytes(),
        "an end without a hello": streams.records(stream)[-1],
        "half a hello": hello[:len(hello) // 2],
        "another major version": hello[:16] + b"\x63" + hello[17:] + stream[len(hello):],
    }


def inputs_behind_hello(stream):
    chosen = random.Random(1)
    hello = streams.records(stream)[0]
    return {
        "nothing": hello,
        "zeros": hello + bytes(100_000),
        "random bytes": hello + chosen.randbytes(100_000),
        "another hello": hello + hello,
        "text": hello + b"hello, world\n" * 1000,
        "a huge record": hello + streams.RECORD_HEADER.pack(0xfffffff8, 15, 0) + bytes(100_000),
        "a record of nothing": hello + streams.RECORD_HEADER.pack(0, 15, 0) + bytes(100_000),
    }


def flip(stream, at, chosen):
    return stream[:at] + bytes([stream[at] ^ chosen.randint(1, 255)]) + stream[at + 1:]


def flipped_inputs(stream):
    """Half of the flips are anywhere, half are in numbers."""
    chosen = random.Random(2)
    places = [chosen.randrange(len(stream)) for _ in range(N_FLIPS // 2)]
    records = streams.records(stream)
    starts = [sum(map(len, records[:i])) for i in range(len(records))]
    while len(places) < N_FLIPS:
        i = chosen.randrange(len(records))
        places.append(starts[i] + chosen.randrange(min(len(records[i]), RECORD_BEGINNING)))
    return {f"byte {at}": flip(stream, at, chosen) for at in places}


def inputs_with_missing_record(stream):
    """Only the totals in `end` show that there was one more."""
    chosen = random.Random(4)
    records = streams.records(stream)
    places = chosen.sample(range(1, len(records) - 1), N_MISSING)
    return {f"without record {i}": b"".join(records[:i] + records[i + 1:]) for i in places}


def cut_inputs(stream):
    chosen = random.Random(3)
    return {f"first {n}": stream[:n] for n in chosen.sample(range(len(stream)), N_CUTS)}


if __name__ == "__main__":
    pipeline.main()
