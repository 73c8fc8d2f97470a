# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile streams cost no stage more memory and time than a limit that grows only with the stream's length."""
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import bad_streams  # noqa: E402
import elf_made  # noqa: E402
import made  # noqa: E402
import pipeline  # noqa: E402

ADDRESSES_MAX = 4 << 30  # bytes, including reserved memory that is never touched
SECONDS_A_MEGABYTE = 10  # of CPU: 10 µs a byte
SHORT = 1_000_000
# The worst of them, in full length.
WORST = ("heaps-that-end-beside-many-blocks", "heaps-of-one-block", "a-heap-at-the-end-of-time",
         "inlined-calls-in-deep-stacks", "one-file-as-many-images")
N_COPIES, STRINGS = 60, 20 << 20  # bytes of names: together more than a stage may use


class Streams(pipeline.PipelineTest):
    def limit(self, size):
        def apply():
            seconds = max(SECONDS_A_MEGABYTE * size // 1_000_000, SECONDS_A_MEGABYTE)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES_MAX, ADDRESSES_MAX))
        return apply

    def run_limited(self, stream, name, *arguments, out=None):
        """Runs one stage, which must exit within its limits."""
        command = self.stage(name, *arguments)
        size = stream.stat().st_size
        with stream.open("rb") as stdin, (out or Path("/dev/null")).open("wb") as stdout:
            done = subprocess.run([str(part) for part in command], stdin=stdin, stdout=stdout,
                                  stderr=subprocess.PIPE, preexec_fn=self.limit(size), check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn(b"memory", done.stderr)
        self.assert_memory_is_bounded(name)

    def run_all(self, stream):
        unwound, named = self.directory / "unwound.stream", self.directory / "named.stream"
        self.run_limited(stream, "live-unwinder", "-q", out=unwound)
        self.run_limited(unwound, "symbolizer", "-q", out=named)
        self.run_limited(named, "frame-dump", "--summary")
        for ending in pipeline.FORMATS:
            out = self.directory / f"out.{ending}"
            self.run_limited(named, "capture-sink", "-q", "--force", out)
            out.unlink()

    def write(self, name, size):
        path = self.directory / "bad.stream"
        path.write_bytes(bad_streams.made_of(name, size))
        return path

    def test_each_stream(self):
        for name in bad_streams.ALL:
            with self.subTest(name):
                self.run_all(self.write(name, bad_streams.SIZE if name in WORST else SHORT))

    def test_files_that_elfutils_reads_have_one_limit(self):
        """However many of them one process maps."""
        for name in "one-file-as-many-images", "all-files-of-the-machine":
            for size in 1, 4:
                with self.subTest(name, size=size):
                    self.run_limited(self.write(name, size * bad_streams.SIZE), "live-unwinder", "-q", "--engine=dwfl")

    def test_the_heaps_report(self):
        for name in (name for name in WORST if "heap" in name):
            with self.subTest(name):
                stream = self.write(name, bad_streams.SIZE)
                done = subprocess.run([pipeline.program("stackpipe"), "heap", "--json", stream], stdout=subprocess.DEVNULL,
                                      preexec_fn=self.limit(bad_streams.SIZE), check=False)
                self.assertIn(done.returncode, (0, 1))

    def test_copies_of_a_large_file(self):
        """Each copy is another image, and all cached data has one limit."""
        source = pipeline.program("frame-dump")
        records = [made.process()]
        for i in range(1, N_COPIES + 1):
            path = elf_made.with_sparse_section(Path(shutil.copy(source, self.directory / f"{i}")), b".strtab", STRINGS)
            records += [*made.file_image(path, i), bad_streams.mapping(i, made.CODE, 0x40000000, image=i),
                        bad_streams.sample(made.CODE + text_of(path) + 64, data=bytes(64))]
        stream = self.directory / "copies.stream"
        stream.write_bytes(bad_streams.of_records(records, bad_streams.RAW))
        unwound = self.directory / "unwound.stream"
        self.run_limited(stream, "live-unwinder", "-q", out=unwound)
        self.run_limited(unwound, "symbolizer", "-q")


def text_of(path):
    """File offset of the first executable segment of an ELF file."""
    data = path.read_bytes()[:4096]
    at, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(n):
        kind, flags, offset = struct.unpack_from("<IIQ", data, at + i * size)
        if kind == 1 and flags & 1:
            return offset
    raise AssertionError(f"{path} has no code")


if __name__ == "__main__":
    pipeline.main()
