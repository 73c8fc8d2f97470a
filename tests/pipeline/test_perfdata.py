# SPDX-License-Identifier: GPL-3.0-or-later
"""perf.data files: as recorded, in other forms, damaged, and read while they are written."""
import functools
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pipeline
import streams

DATA = pipeline.TOP / "tests" / "data"
PLAIN = DATA / "small.perf.data"
PIPE = DATA / "small.perf.pipe"
ZSTD = DATA / "small.perf.zstd"
N_CUTS = 100
N_FLIPS = 100  # for each of the three files

RECORD = struct.Struct("<IHH")  # perf_event_header: type, misc, size
SAMPLE, KSYMBOL, COMPRESSED, COMPRESSED2 = 9, 17, 81, 83
FILE = 6  # a record type of the stream
BUILD_ID, DIR_FORMAT = 2, 24  # features
KERNEL, USER, BUILD_ID_SIZE = 1, 2, 1 << 15  # in a build-id's `misc`
DATA_SECTION_AT, FEATURE_BITS_AT, FEATURE_BITS_SIZE = 40, 72, 32
SECTION = struct.Struct("<QQ")  # offset, size
ZSTD_FRAME = bytes.fromhex("28b52ffd") + b"\0\x58"  # without sizes and checksum; a window of 2 MiB
BIG = 4_000_000  # bytes: more than a pipe's capacity


# gcc's code around main() has no unwind information (crtstuff.c): samples there are rare.
CRTSTUFF = re.compile(r"chain;\[no-unwind-info\];(__do_global_dtors_aux|frame_dummy|\w*register_tm_clones)(;|$| )")

class PerfFile:
    """A perf.data file, parsed so that it can be reassembled differently."""

    def __init__(self, data):
        offset, size = SECTION.unpack_from(data, DATA_SECTION_AT)
        self.head = data[:offset]
        self.data = data[offset:offset + size]
        self.features = {}
        bits = int.from_bytes(data[FEATURE_BITS_AT:FEATURE_BITS_AT + FEATURE_BITS_SIZE], "little")
        for i, number in enumerate(n for n in range(256) if bits >> n & 1):
            at, length = SECTION.unpack_from(data, offset + size + i * SECTION.size)
            self.features[number] = data[at:at + length]

    @property
    def end_of_data(self):
        return len(self.head) + len(self.data)

    def records(self):
        found, at = [], 0
        while at < len(self.data):
            size = RECORD.unpack_from(self.data, at)[2]
            found.append(self.data[at:at + size])
            at += size
        return found

    def to_bytes(self):
        bits = sum(1 << number for number in self.features)
        head = bytearray(self.head)
        SECTION.pack_into(head, DATA_SECTION_AT, len(self.head), len(self.data))
        head[FEATURE_BITS_AT:FEATURE_BITS_AT + FEATURE_BITS_SIZE] = \
            bits.to_bytes(FEATURE_BITS_SIZE, "little")
        at = self.end_of_data + len(self.features) * SECTION.size
        table = b""
        for _, content in sorted(self.features.items()):
            table += SECTION.pack(at, len(content))
            at += len(content)
        contents = b"".join(content for _, content in sorted(self.features.items()))
        return bytes(head) + self.data + table + contents

    def as_killed(self):
        """The file as left by a recording that was killed."""
        head = bytearray(self.head)
        SECTION.pack_into(head, DATA_SECTION_AT, len(self.head), 0)
        head[FEATURE_BITS_AT:FEATURE_BITS_AT + FEATURE_BITS_SIZE] = bytes(FEATURE_BITS_SIZE)
        return bytes(head) + self.data


def record_type(record):
    return RECORD.unpack_from(record)[0]


def compressed(data, chosen):
    """zstd records that hold `data`, in pieces of random sizes. Their blocks are stored uncompressed, which needs
    no library and makes no difference to the reader."""
    blocks, at = ZSTD_FRAME, 0
    while at < len(data):
        block = data[at:at + chosen.randrange(1, 5000)]
        blocks += (len(block) << 3).to_bytes(3, "little") + block
        at += len(block)
    records, at = b"", 0
    while at < len(blocks):
        piece = blocks[at:at + chosen.randrange(1, 5000)]
        records += chosen.choice([compressed_record, compressed2_record])(piece)
        at += len(piece)
    return records


def compressed_record(piece):
    return RECORD.pack(COMPRESSED, 0, RECORD.size + len(piece)) + piece


def compressed2_record(piece):
    padding = bytes(-len(piece) % 8)
    payload = struct.pack("<Q", len(piece)) + piece + padding
    return RECORD.pack(COMPRESSED2, 0, RECORD.size + len(payload)) + payload


class PerfdataTest(pipeline.PipelineTest):
    def keep(self, name, data):
        """Writes a file with a fixed time, since the stream contains the time."""
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1, 1))
        return path

    def replay(self, path):
        """The stream of a valid file."""
        return self.run_well(self.stage("perfdata-source", path))[0].output

    def text_of(self, stream):
        path = self.directory / "text.stream"
        path.write_bytes(stream)
        return self.run_on(path, [pipeline.program("frame-dump")]).decode()


class Forms(PerfdataTest):
    """One recording in many forms gives one stream."""

    def setUp(self):
        super().setUp()
        self.perf = PerfFile(PLAIN.read_bytes())
        self.expected = self.replay(self.keep("plain", PLAIN.read_bytes()))

    def test_totals(self):
        for path in PLAIN, PIPE, ZSTD:
            ended = self.run_well(self.stage("perfdata-source", path),
                                  self.stage("frame-dump", "--summary"))
            self.assertEqual(ended[-1].output.decode().splitlines()[-1], "everything adds up")
            self.assertEqual(ended[0].errors, [])
            self.assert_stats_add_up("perfdata-source", "frame-dump")
            self.assertGreater(self.stats("perfdata-source")["samples_out"], 5)

    def test_standard_input(self):
        path = self.keep("plain", PLAIN.read_bytes())
        self.assertEqual(self.run_on(path, self.stage("perfdata-source", "-")), self.expected)

    def test_a_file_that_others_may_change(self):
        """Such a file is copied before it is read."""
        path = self.keep("shared", PLAIN.read_bytes())
        path.chmod(0o666)
        self.assertEqual(self.replay(path), self.expected)

    def test_taken_apart_and_put_together(self):
        """Checks the test's own parser. (perf leaves a gap in the table of features.)"""
        self.assertEqual(self.replay(self.keep("again", self.perf.to_bytes())), self.expected)

    def test_kernel_ids(self):
        """perf stores the kernel's build-id where the kernel was sampled; the file id is from one of OpenTelemetry's
        own tests (libpf/fileid_test.go)."""
        self.assertNotIn("image_id image=1 ", self.text_of(self.expected))
        build_id = bytes.fromhex("f8e1cf0f60558098edaec164ac7749df")
        for misc, name, file_id in (
                (KERNEL | BUILD_ID_SIZE, b"[kernel.kallsyms]", "026a2d6a60ee6b4eb8ec85adf2e76f4d"),
                (KERNEL | BUILD_ID_SIZE, b"[a_module]", None),
                (USER | BUILD_ID_SIZE, b"[kernel.kallsyms]", None)):
            name += bytes(-len(name) % 64 or 64)
            payload = struct.pack("<i20sB3x", -1, build_id, len(build_id)) + name
            self.perf.features[BUILD_ID] = \
                RECORD.pack(0, misc, RECORD.size + len(payload)) + payload
            text = self.text_of(self.replay(self.keep("kernel", self.perf.to_bytes())))
            found = [line for line in text.splitlines() if line.startswith("image_id image=1 ")]
            self.assertEqual([line.split('"')[1] for line in found], [file_id] if file_id else [])

    def test_code_of_the_kernel(self):
        """Symbols that perf found at its start, and later loading and unloading."""
        first = self.perf.records()[0]
        at_start = ksymbol(0, 0, b"bpf_prog_1_found")
        times = [int(line.split()[1].removeprefix("time="))
                 for line in samples_of(self.text_of(self.expected))]
        self.perf.data = first + at_start + self.perf.data[len(first):] + \
            ksymbol(times[1], 0, b"bpf_prog_2_came") + \
            ksymbol(times[2], 1, b"bpf_prog_2_came")
        text = self.text_of(self.replay(self.keep("ksymbols", self.perf.to_bytes())))
        found = [line for line in text.splitlines() if line.startswith("kernel_symbol ")]
        start = min(times)
        self.assertEqual(found, [
            f'kernel_symbol time={time} address=0xffffffffc0001000 size=0x80 flags={flags} '
            f'kind=bpf name="{name}"'
            for time, flags, name in ((start, "-", "bpf_prog_1_found"),
                                      (times[1], "-", "bpf_prog_2_came"),
                                      (times[2], "gone", "bpf_prog_2_came"))])
        self.assertEqual(samples_of(text), samples_of(self.text_of(self.expected)))

    def test_compressed(self):
        data = self.perf.data
        for seed in range(10):
            self.perf.data = compressed(data, random.Random(seed))
            path = self.keep(f"compressed-{seed}", self.perf.to_bytes())
            self.assertEqual(self.replay(path), self.expected, f"seed {seed}")

    def test_a_directory_of_several_files(self):
        """perf record --threads: the synthesized records, and the records of each CPU."""
        records = self.perf.records()
        first = next(i for i, record in enumerate(records) if record_type(record) == 10)
        self.perf.data = b"".join(records[:first])
        self.perf.features[DIR_FORMAT] = struct.pack("<Q", 1)
        self.keep("directory/data", self.perf.to_bytes())
        self.keep("directory/data.0", b"".join(records[first::2]))
        self.keep("directory/data.1", b"".join(records[first + 1::2]))
        self.keep("directory/data.2", b"")
        self.assertEqual(self.replay(self.directory / "directory"), self.expected)

    def test_a_recording_that_was_killed(self):
        """Its host is unknown, but every sample is there."""
        text = self.text_of(self.replay(self.keep("killed", self.perf.as_killed())))
        self.assertEqual(samples_of(text), samples_of(self.text_of(self.expected)))

    def test_a_pipe_gives_the_same_without_build_ids(self):
        """All but a few lines, which contain counts."""
        def lines_of(stream):
            return [line for line in self.text_of(stream).splitlines()
                    if line.split()[0] not in ("image_id", "stats", "end")]
        file = self.replay(self.keep("file", PLAIN.read_bytes()))
        self.assertEqual(lines_of(self.replay(self.keep("pipe", PIPE.read_bytes()))),
                         lines_of(file))

    def test_a_real_pipe(self):
        """The clock gives its start time, not the file."""
        with PIPE.open("rb") as stdin:
            ended = self.run_well(["cat"], self.stage("perfdata-source", "-"), stdin=stdin)
        self.assertEqual(samples_of(self.text_of(ended[-1].output)),
                         samples_of(self.text_of(self.expected)))

    def test_a_pipe_of_a_header_alone(self):
        """Nothing was recorded."""
        data, at = PIPE.read_bytes(), 16
        while RECORD.unpack_from(data, at)[0] in (64, 80):
            at += RECORD.unpack_from(data, at)[2]
        text = self.text_of(self.replay(self.keep("head", data[:at])))
        self.assertEqual(samples_of(text), [])

    def test_times_of_several_rings_are_not_moved(self):
        """The first sample in this file is not the earliest one."""
        times = [line.split()[1] for line in samples_of(self.text_of(self.replay(ZSTD)))]
        self.assertEqual(len(set(times)), len(times))


def ksymbol(time, flags, name):
    """A ksymbol record with the sample_id of this recording's events: process and time."""
    name += bytes(8 - len(name) % 8)
    payload = struct.pack("<QIHH", 0xffffffffc0001000, 0x80, 1, flags) + name + \
        struct.pack("<IIQ", 0, 0, time)
    return RECORD.pack(KSYMBOL, 1, RECORD.size + len(payload)) + payload


def module_mmap(start, length, path):
    path += bytes(8 - len(path) % 8)
    payload = struct.pack("<iIQQQ", -1, 0, start, length, 0) + path + bytes(16)
    return RECORD.pack(1, 1, RECORD.size + len(payload)) + payload


def samples_of(text):
    return [line for line in text.splitlines() if line.startswith("sample ")]


@functools.cache
def perf_refusal():
    """Why perf cannot record here; "" if it can."""
    if not shutil.which("perf"):
        return f"perf {pipeline.NOT_INSTALLED}"
    attempt = subprocess.run(["perf", "record", "-e", "cpu-clock:u", "-o", "-", "--", "true"],
                             capture_output=True, timeout=pipeline.PATIENCE_S)
    if attempt.returncode == 0:
        return ""
    return f"perf {pipeline.NOT_INSTALLED} so that it works: {attempt.stderr[-500:]}"


def perf_command(output):
    return ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,8192",
            "-o", output, "--", pipeline.CHAIN, "once", "0.5"]


class InPlace(PerfdataTest):
    """Stacks that are not copied to the stream, as they can be read from the file."""

    @classmethod
    def setUpClass(cls):
        """
        Smaller stacks than 1 KiB are not worth a reference. The kernel copies up to the first page
        that was never touched, and chooses by chance how near that is to the pointers to variables.
        """
        if perf_refusal():
            raise unittest.SkipTest(perf_refusal())
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run(perf_command(file.name), check=True, timeout=pipeline.PATIENCE_S,
                           env=os.environ | {f"VARIABLE_{i}": "" for i in range(1024)})
            cls.recorded = Path(file.name).read_bytes()

    def setUp(self):
        super().setUp()
        self.path = self.keep("perf.data", self.recorded)

    def keep(self, name, data):
        """The mapped file must be older than the recording."""
        path = super().keep(name, data)
        os.utime(path)
        return path

    def stream_of(self, *options, path=None):
        """The stream that is written to a pipe."""
        source = self.stage("perfdata-source", *options, path or self.path)
        return self.run_well(source, ["cat"])[-1].output

    def n_references(self, stream):
        return len(re.findall(r" stack_image=[1-9]", "\n".join(samples_of(self.text_of(stream)))))

    def assert_refers(self, stream):
        self.assertGreater(self.n_references(stream), 50)

    def assert_has_stacks_itself(self, stream, path=None):
        self.assertEqual(samples_of(self.text_of(stream)),
                         samples_of(self.text_of(self.replay(path or self.path))))
        self.assertEqual(self.n_references(stream), 0)

    def unwind(self, stream, command=None, status=0):
        """(folded stacks, live-unwinder's messages)"""
        path = self.directory / "kept.stream"
        path.write_bytes(stream)
        with path.open("rb") as stdin:
            ended = self.start(command or self.stage("live-unwinder"), self.stage("symbolizer"),
                               self.stage("capture-sink", "-q", "-f", "folded", "-"), stdin=stdin).end()
        self.assertEqual([each.status for each in ended], [status, 0, 0], ended)
        return ended[-1].output.decode(), ended[0].errors

    def assert_stacks_are_lost(self, stream, why, command=None):
        """One line reports it, and every such sample has only its instruction and this end reason."""
        n_referred = self.n_references(stream)
        self.assertGreater(n_referred, 50)
        folded, errors = self.unwind(stream, command, status=1)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(f"could not read the stacks in '{self.path}': {why}", errors[0])
        self.assertIn("--copy-stacks", errors[0])
        lost = [names for names, n in streams.folded_stacks(folded) for _ in range(n)
                if names[1] == "[image-unavailable]"]
        self.assertEqual(len(lost), n_referred, folded)
        self.assertTrue(all(len(names) == 3 for names in lost), lost)

    def test_the_same_stacks(self):
        referring, copying = self.stream_of(), self.stream_of("--copy-stacks")
        self.assert_refers(referring)
        self.assertLess(len(referring), len(copying) / 4)
        self.assert_has_stacks_itself(copying)
        for options in [], ["--engine=dwfl"], ["--sandbox=off"], ["--verify=1"]:
            with self.subTest(options=options):
                folded, errors = self.unwind(referring, self.stage("live-unwinder", *options))
                self.assertTrue(all(line.startswith("chain;_start;") or CRTSTUFF.match(line)
                                    for line in folded.splitlines()), folded)
                self.assertEqual((folded, errors), self.unwind(copying))

    def test_a_directory_of_several_files(self):
        """These files have no header that identifies them."""
        perf = PerfFile(self.recorded)
        records = perf.records()
        first = next(i for i, record in enumerate(records) if record_type(record) == SAMPLE)
        perf.data = b"".join(records[:first])
        perf.features[DIR_FORMAT] = struct.pack("<Q", 1)
        self.keep("directory/data", perf.to_bytes())
        self.keep("directory/data.0", b"".join(records[first:]))
        path = self.directory / "directory"
        self.assert_has_stacks_itself(self.stream_of(path=path), path)

    def test_files_that_others_cannot_read_are_copied(self):
        self.path.chmod(0o620)
        self.assert_has_stacks_itself(self.stream_of())
        self.path.chmod(0o600)
        perf = PerfFile(self.recorded)
        perf.data = compressed(perf.data, random.Random(0))
        path = self.keep("compressed", perf.to_bytes())
        self.assert_has_stacks_itself(self.stream_of(path=path), path)
        with self.path.open("rb") as stdin:
            ended = self.run_well(self.stage("perfdata-source", "-"), ["cat"], stdin=stdin)
        self.assert_has_stacks_itself(ended[-1].output)
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(self.recorded)
            file.flush()
            self.assert_has_stacks_itself(self.stream_of(path=Path(file.name)))

    def test_a_file_that_may_still_be_written(self):
        """perf writes the size of the data at the end."""
        path = self.keep("killed", PerfFile(self.recorded).as_killed())
        self.assertEqual(self.n_references(self.stream_of(path=path)), 0)

    def test_standard_input_is_no_file_of_that_name(self):
        self.keep("-", b"something else")
        with self.path.open("rb") as stdin:
            source = ["env", "-C", self.directory, *self.stage("perfdata-source", "-")]
            stream = self.run_well(source, ["cat"], stdin=stdin)[-1].output
        self.assert_has_stacks_itself(stream)

    @pipeline.needs_root
    def test_a_file_in_another_users_home(self):
        """In root's file there (sudo perf record): a stage without capabilities cannot open it."""
        home = self.directory / "home"
        home.mkdir(mode=0o700)
        path = self.keep("home/perf.data", self.recorded)
        self.assert_refers(self.stream_of(path=path))
        os.chown(home, 65534, 65534)
        self.assert_has_stacks_itself(self.stream_of(path=path), path)

    def test_a_removed_or_replaced_file(self):
        stream = self.stream_of()
        moved = self.path.rename(self.directory / "perf.data.old")
        self.assert_stacks_are_lost(stream, "No such file")
        self.keep("perf.data", self.recorded)
        self.assert_stacks_are_lost(stream, "it is no longer the file")
        moved.rename(self.path)
        self.assertEqual(self.unwind(stream), self.unwind(self.stream_of("--copy-stacks")))
        os.utime(self.path, (2, 2))
        self.assert_stacks_are_lost(stream, "it is no longer the file")

    @pipeline.needs_root
    def test_a_reader_of_another_user(self):
        self.directory.chmod(0o755)
        copy = pipeline.readable_copy(pipeline.program("live-unwinder"), self.directory)
        as_nobody = [*pipeline.NOBODY, copy]
        self.path.chmod(0o600)
        self.assert_stacks_are_lost(self.stream_of(), "Permission denied", as_nobody)
        self.path.chmod(0o644)
        self.assert_stacks_are_lost(self.stream_of(), "it belongs to another user", as_nobody)

    def test_a_file_that_is_written_to_while_it_is_read(self):
        stream, stages = self.stream_of(), [self.stage("live-unwinder", "-q"), ["cat"]]
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as stdin:
            started = self.start(*stages, stdin=stdin)
        with os.fdopen(write_end, "wb") as feed:
            at = 8 * len(stream) // 10
            feed.write(stream[:at])
            feed.flush()
            name = str(self.path)
            maps = Path(f"/proc/{started.processes[0].pid}/maps")
            pipeline.wait_for(lambda: name in maps.read_text(), "a mapping of the file")
            with self.path.open("r+b") as file:
                file.seek(5000)
                file.write(b"something else")
            feed.write(stream[at:])
        self.assert_fails_in_one_line(started.end()[0], text="was modified while it was read")

    def test_a_file_that_is_cut_while_it_is_read(self):
        perf = PerfFile(self.recorded)
        perf.data *= 16 * BIG // len(perf.data)
        path = self.keep("big", perf.to_bytes())
        stream = self.directory / "big.stream"
        stream.write_bytes(self.stream_of(path=path))
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as output, stream.open("rb") as stdin:
            with os.fdopen(write_end, "wb") as stdout:
                started = self.start(self.stage("live-unwinder", "-q"), stdin=stdin, stdout=stdout)
            process = started.processes[0]
            pipeline.wait_for(lambda: pipeline.is_output_full(process), "a full pipe")
            os.truncate(path, 4096)
            output.read()
        self.assert_fails_in_one_line(started.end()[0], text="truncated while it was read")


class Damaged(PerfdataTest):
    def run_all(self, inputs):
        """[(what, ended process), …] of {what: bytes}."""
        def run(item):
            number, data = item
            path = self.keep(f"damaged/{number}", data)
            return subprocess.run([pipeline.program("perfdata-source"), "-q", path],
                                  capture_output=True, timeout=pipeline.PATIENCE_S)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(zip(inputs, pool.map(run, enumerate(inputs.values()))))

    def assert_one_line(self, done):
        lines = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, len(lines)), (1, 1), done.stderr)
        self.assertTrue(lines[0].startswith("perfdata-source: error: "), lines)

    def assert_readable(self, done):
        """The output is a stream with an end, or nothing; returns the types of its records."""
        if not done.stdout:
            return None
        summary = subprocess.run([pipeline.program("frame-dump"), "--summary"],
                                 input=done.stdout, capture_output=True,
                                 timeout=pipeline.PATIENCE_S)
        lines = summary.stderr.decode().splitlines()
        if done.returncode == 0:
            self.assertEqual((summary.returncode, lines), (0, []), summary)
            self.assertTrue(summary.stdout.endswith(b"\neverything adds up\n"), summary.stdout)
        else:
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("the stream is incomplete", lines[0])
        return [streams.record_type(record) for record in streams.records(done.stdout)]

    def test_every_cut_gives_the_samples_before_it(self):
        """All samples before the cut are complete; so are features after the data, as far as they were written."""
        whole = PLAIN.read_bytes()
        perf = PerfFile(whole)
        begin, end = len(perf.head), perf.end_of_data
        ends = [begin + len(b"".join(perf.records()[:i])) for i in range(len(perf.records()) + 1)]
        places = {i * len(whole) // N_CUTS for i in range(N_CUTS)} | {*ends[::4], ends[-2], ends[-1]}
        for at, done in self.run_all({at: whole[:at] for at in sorted(places)}):
            with self.subTest(at=at):
                if at >= end:
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
                else:
                    self.assert_one_line(done)
                types = self.assert_readable(done)
                self.assertEqual(types is not None, at >= begin)
                n_samples = sum(record_type(record) == SAMPLE and ends[i + 1] <= at
                                for i, record in enumerate(perf.records()))
                self.assertEqual((types or []).count(streams.SAMPLE), n_samples)

    def test_cut_features_are_counted(self):
        perf = PerfFile(PLAIN.read_bytes())
        for size, least in ((perf.end_of_data, 1), (len(PLAIN.read_bytes()) - 1, 1)):
            self.replay(self.keep("cut", PLAIN.read_bytes()[:size]))
            self.assertGreaterEqual(self.stats("perfdata-source")["refused"]["features"], least)

    def test_cuts_of_a_compressed_file_and_of_a_pipe(self):
        for path in ZSTD, PIPE:
            whole = path.read_bytes()
            end = PerfFile(whole).end_of_data if path == ZSTD else len(whole)
            places = [i * len(whole) // N_CUTS for i in range(N_CUTS)]
            for at, done in self.run_all({at: whole[:at] for at in places}):
                with self.subTest(file=path.name, at=at):
                    if at < end and (done.returncode or path == ZSTD):
                        self.assert_one_line(done)
                    else:
                        self.assertEqual((done.returncode, done.stderr), (0, b""))
                    self.assert_readable(done)

    def test_flipped_bytes(self):
        for path in PLAIN, ZSTD, PIPE:
            whole, chosen = path.read_bytes(), random.Random(path.name)
            # Half of the flips are in numbers.
            places = [chosen.randrange(len(whole)) for _ in range(N_FLIPS // 2)]
            places += [chosen.randrange(1500) for _ in range(N_FLIPS - len(places))]
            inputs = {f"{at}, {i}": flipped(whole, at, chosen) for i, at in enumerate(places)}
            for what, done in self.run_all(inputs):
                with self.subTest(file=path.name, what=what):
                    if done.returncode:
                        self.assert_one_line(done)
                    self.assert_readable(done)

    def test_a_file_that_is_cut_while_it_is_read(self):
        """The file is mapped and its pages disappear: write() fails where bytes are passed on unchanged,
        the stage itself is hit where they are compressed."""
        perf = PerfFile(PLAIN.read_bytes())
        perf.data *= BIG // len(perf.data)
        self.assert_cut_is_told(self.keep("big", perf.to_bytes()))
        perf.data = compressed(perf.data, random.Random(0))
        self.assert_cut_is_told(self.keep("big", perf.to_bytes()))

    def assert_cut_is_told(self, path):
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as output:
            with os.fdopen(write_end, "wb") as stdout:
                started = self.start(self.stage("perfdata-source", "-q", path), stdout=stdout)
            process = started.processes[0]
            pipeline.wait_for(lambda: pipeline.is_output_full(process), "a full pipe")
            os.truncate(path, 4096)
            output.read()
        self.assert_fails_in_one_line(started.end()[0], text="truncated while it was read")

    def test_files_that_are_no_perf_data(self):
        chosen = random.Random(0)
        inputs = {
            "nothing": b"",
            "one byte": b"P",
            "zeros": bytes(100_000),
            "random bytes": chosen.randbytes(100_000),
            "a program": pipeline.program("frame-dump").read_bytes(),
            "a stream": pipeline.SMALL_STREAM.read_bytes(),
            "text": b"hello, world\n" * 1000,
            "the magic alone": PLAIN.read_bytes()[:8],
            "another byte order": PLAIN.read_bytes()[:8][::-1] + PLAIN.read_bytes()[8:],
        }
        for what, done in self.run_all(inputs):
            with self.subTest(what=what):
                self.assert_one_line(done)
                self.assertEqual(done.stdout, b"")


def flipped(data, at, chosen):
    return data[:at] + bytes([data[at] ^ chosen.randint(1, 255)]) + data[at + 1:]


class Usage(PerfdataTest):
    def end_of(self, *arguments, **options):
        return self.start([pipeline.program("perfdata-source"), *arguments], **options).end()[0]

    def test_wrong_command_lines(self):
        for arguments in (["one", "two"], ["-", "-"], ["--no-such-option", "-"]):
            ended = self.end_of(*arguments)
            self.assert_fails_in_one_line(ended, status=2)
            self.assertEqual(ended.output, b"")

    def test_files_that_cannot_be_read(self):
        missing, directory = self.directory / "missing", self.directory / "empty"
        directory.mkdir()
        for path in missing, directory:
            self.assert_fails_in_one_line(self.end_of(path), text=f"'{path}'")

    def test_a_file_through_a_pipe(self):
        """Its header has offsets to later data: it must be a file."""
        with PLAIN.open("rb") as stdin:
            ended = self.start(["cat"], [pipeline.program("perfdata-source"), "-"],
                               stdin=stdin).end()[-1]
        self.assert_fails_in_one_line(ended, text="perf record -o -")

    def test_terminals(self):
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, terminal)
        ended = self.end_of("-", stdin=terminal)
        self.assert_fails_in_one_line(ended, 2, "is a terminal")
        ended = self.end_of(os.ttyname(terminal))
        self.assert_fails_in_one_line(ended, 2, "is a terminal")
        ended = self.end_of(PLAIN, stdout=terminal)
        self.assert_fails_in_one_line(ended, 2, "standard output is a terminal")


def has_modules():
    modules = Path("/proc/modules")
    return modules.exists() and modules.read_text() != ""


def file_data(record):
    """The content of a `file` record; nothing for other records."""
    if streams.record_type(record) != FILE:
        return b""
    size = struct.unpack_from("<Q", record, 16)[0]  # of the path, after the header and the time
    at = 24 + (size // 8 + 1) * 8 + 8
    return record[at + 8:at + 8 + struct.unpack_from("<Q", record, at)[0]]


class Live(PerfdataTest):
    """perf.data files of this machine's perf, read while they are written."""

    def setUp(self):
        super().setUp()
        if perf_refusal():
            self.skipTest(perf_refusal())
        # If possible, in a file system in which perf cannot hard-link the system's files.
        shared = Path("/dev/shm")
        self.home = Path(tempfile.mkdtemp(prefix="stackpipe-test-", dir=shared if shared.is_dir() else None))
        self.addCleanup(shutil.rmtree, self.home)

    def rest(self):
        return [self.stage("live-unwinder"), self.stage("symbolizer"),
                self.stage("capture-sink", "-q", "-f", "folded", "-")]

    def assert_finds_chain(self, ended):
        stacks = streams.folded_stacks(ended[-1].output.decode())
        self.assert_stats_add_up("perfdata-source", "live-unwinder", "symbolizer", "capture-sink")
        n_all = sum(n for _, n in stacks)
        found = sum(n for names, n in stacks
                    if names[0] == "chain" and
                    streams.user_side(names)[-4:] == ["main", "outer", "middle", "inner"])
        self.assertGreater(n_all, 50, stacks)
        self.assertGreater(found, 0.8 * n_all, stacks)

    def record_without_stacks(self, *options):
        path = self.directory / "without.data"
        self.run_at_home(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", *options, "-o", path, "--", pipeline.CHAIN,
                          "once", "0.3"])
        ended = self.run_well(self.stage("perfdata-source", path), *self.rest())
        return streams.folded_stacks(ended[-1].output.decode()), ended[0].errors

    def test_a_file_without_call_chains_has_the_functions(self):
        stacks, said = self.record_without_stacks()
        n_all, n_inner = sum(n for _, n in stacks), sum(n for names, n in stacks if names[-1] == "inner")
        self.assertGreater(n_inner, 0.8 * n_all, stacks)
        self.assertEqual({names[1] for names, _ in stacks}, {"[not-unwound]"})
        self.assertIn("only the address of each sample is known", said[0])

    def test_call_chains_of_frame_pointers_are_marked(self):
        stacks, said = self.record_without_stacks("-g")
        user = [[name for name in names[2:] if not name.endswith("_[k]")] for names, _ in stacks if names[-1] == "inner"]
        self.assertTrue(user)
        for names in user:
            self.assertTrue(all(name.endswith("_[f]") or name == "[unknown]" for name in names[:-1]), names)
        self.assertIn("from frame pointers", said[0])

    def test_a_pipe(self):
        self.assert_finds_chain(self.run_well(
            perf_command("-"), self.stage("perfdata-source", "-"), *self.rest()))

    def run_at_home(self, *commands):
        """Runs commands with a separate home, where perf keeps a copy of the kernel's names."""
        return self.run_well(*[["env", "-u", "PERF_BUILDID_DIR", f"HOME={self.home}", *command]
                               for command in commands])

    def record_kernel(self):
        path = self.directory / "perf.data"
        if not re.search(r"(?m)^0*[1-9a-f]", Path("/proc/kallsyms").read_text()):
            self.skipTest(f"{pipeline.NOT_HERE} us see addresses in /proc/kallsyms")
        self.run_at_home(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,8192", "-o", path,
                          "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64K", "count=100000"])
        return path

    def kernel_frames(self, path, *options):
        """(frames with a name, number of frames without, messages)"""
        ended = self.run_at_home([*self.stage("perfdata-source", path), *options], *self.rest())
        frames = re.findall(r"[^; ]+_\[k\]", ended[-1].output.decode())
        named = [frame for frame in frames if not frame.startswith("[kernel+0x")]
        return named, len(frames) - len(named), ended[0].errors

    def copy_of_names(self):
        """Marks each name in perf's copy."""
        copy, = self.home.glob(".debug/.build-id/*/*/kallsyms")
        copy.write_text(re.sub(r"(?m)^(\w+ [tTwW]) (?!_)", r"\1 copied_", copy.read_text()))
        return copy

    def assert_all_named(self, path, *options, are_copied):
        """For a kernel with modules the copy is used only if there is nothing better."""
        named, n_unnamed, errors = self.kernel_frames(path, *options)
        self.assertEqual((n_unnamed, errors), (0, []))
        self.assertGreater(len(named), 10)
        self.assertEqual(any(name.startswith("copied_") for name in named),
                         are_copied and not has_modules(), named)

    def test_kernel_names_with_and_without_a_sandbox(self):
        path = self.record_kernel()
        for mode in "auto", "off":
            self.copy_of_names()
            self.assert_all_named(path, f"--sandbox={mode}", are_copied=True)
        shutil.rmtree(self.home / ".debug")
        for mode in "auto", "off":
            self.assert_all_named(path, f"--sandbox={mode}", are_copied=False)

    def test_kallsyms_copies_must_match_the_kernel(self):
        path = self.record_kernel()
        copy = self.copy_of_names()
        text, data = copy.read_text(), path.read_bytes()
        name = data[data.index(b"[kernel.kallsyms]_") + 17:].split(b"\0")[0].decode()
        wrong = {
            "a kernel elsewhere": re.sub(rf"(?m)^\w+ (. {name})$", r"ffffffff81234560 \1", text),
            "no addresses": re.sub(r"(?m)^\w+", "0" * 16, text),
            "modules alone": re.sub(r"(?m)$", "\t[a_module]", text),
            "nothing": "",
        }
        for what, content in wrong.items():
            with self.subTest(what=what):
                copy.write_text(content)
                self.assert_all_named(path, are_copied=False)
        copy.write_text(text)
        copy.chmod(0o666)
        self.assert_all_named(path, are_copied=False)
        copy.chmod(0o600)
        self.assert_all_named(path, are_copied=True)
        build_id = bytes.fromhex(copy.parent.parent.name + copy.parent.name)
        self.assertEqual(data.count(build_id), 1)
        path.write_bytes(data.replace(build_id, build_id[::-1]))
        self.assert_all_named(path, are_copied=False)

    def test_only_the_kernels_own_names_of_a_copy_are_used(self):
        """Names of modules and BPF programs follow them, and may be from another time."""
        path = self.record_kernel()
        with self.copy_of_names().open("a") as file:
            file.write("ffffffffc0ffe010 t f\t[stranger]\nffffffffc1000000 t g\t[bpf]\n")
        ended = self.run_at_home(self.stage("perfdata-source", path))
        sent = b"".join(file_data(record) for record in streams.records(ended[0].output))
        self.assertNotIn(b"stranger", sent)
        self.assertEqual(b"copied_" in sent, not has_modules())
        self.assertEqual(b"\t[" in sent, has_modules())

    def test_a_file_with_kernel_modules(self):
        """(Not every kernel has modules.) Their functions are only in /proc/kallsyms."""
        path = self.record_kernel()
        self.copy_of_names()
        perf = PerfFile(path.read_bytes())
        first = next(record for record in perf.records() if b"[kernel.kallsyms]" in record)
        at = perf.data.index(first) + len(first)
        module = module_mmap(0xffffffffc0ffe000, 0x1000, b"/lib/modules/6.1/a-stranger.ko.xz")
        perf.data = perf.data[:at] + module + perf.data[at:]
        path.write_bytes(perf.to_bytes())
        self.assert_all_named(path, are_copied=False)
        os.utime(path, (1, 1))
        named, n_unnamed, errors = self.kernel_frames(path)
        self.assertGreater(sum(name.startswith("copied_") for name in named), 10)
        self.assertEqual(len(errors), 1)
        self.assertIn("functions of kernel modules have no names: the machine has been rebooted", errors[0])

    def test_names_are_not_of_another_boot(self):
        path = self.record_kernel()
        data = path.read_bytes()
        shutil.rmtree(self.home / ".debug")
        os.utime(path, (1, 1))
        named, n_unnamed, errors = self.kernel_frames(path)
        self.assertEqual(named, [])
        self.assertGreater(n_unnamed, 10)
        self.assertIn("kernel functions have no names: the machine has been rebooted", "".join(errors))
        name = data.index(b"[kernel.kallsyms]_")
        moved = bytearray(data)
        moved[name - 8:name] = struct.pack("<Q", struct.unpack("<Q", data[name - 8:name])[0] + 0x200000)
        path.write_bytes(moved)
        self.assertEqual(self.kernel_frames(path)[:2], ([], n_unnamed))

    def test_a_file(self):
        path = self.directory / "perf.data"
        self.run_well(perf_command(path))
        self.assert_finds_chain(self.run_well(self.stage("perfdata-source", path), *self.rest()))


if __name__ == "__main__":
    pipeline.main()
