# SPDX-License-Identifier: GPL-3.0-or-later
"""The real Sysprof opens our captures, without output on stderr, and with the right names.

Sysprof's command line tools are fetched into the build tree by fetch-sysprof.
"""
import os
import re
import subprocess
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))
import kernel_code  # noqa: E402 (the other tests' helpers)
import pipeline  # noqa: E402

BUILD = Path(os.environ["STACKPIPE_BUILD"])
SOURCE = Path(__file__).resolve().parent
SYSPROF = SOURCE.parent.parent / "build" / "sysprof-root"  # for all build directories
SMALL = BUILD / "tests" / "interop" / "small"
INTERPRETER = [sys.executable, "-c", "sum(i * i for i in range(5000000))"]
INLINED_SPIN = BUILD / "tests" / "pipeline" / "inlined-spin"
INLINED_CHAIN = ["main", "outer", "middle_[i]", "innermost_[i]"]
JIT_SPIN = BUILD / "tests" / "pipeline" / "jit-spin"
CHAIN = ["_start", "run", "outer", "middle", "inner"]


ALLOCATION = 14
HEADER_SIZE = 256


def count_frames(data, wanted):
    """A frame begins with its size, CPU, PID, time and type (sysprof-capture-types.h)."""
    at, n = HEADER_SIZE, 0
    while at + 24 <= len(data):
        size, _, _, _, kind = struct.unpack_from("<HhiqI", data, at)
        n += kind & 0xff == wanted
        at += size
    return n


def setUpModule():
    subprocess.run([SOURCE / "fetch-sysprof", SYSPROF], check=True)


def sysprof(*arguments):
    """(exit status, stdout, stderr) of one of Sysprof's programs."""
    done = subprocess.run([SYSPROF / "run", *arguments], capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def paths_of(tree):
    """The call paths of sysprof-cat's callgraph, outermost first."""
    path, found = [], []
    for line in tree.decode().splitlines():
        symbol = re.match(r' *symbol: "(.*)",$', line)
        if symbol:
            path.append(symbol.group(1))
            found.append(list(path))
        elif re.match(r" *}$", line) and path:
            path.pop()
    return found


def ends_with(path, chain):
    return path[-len(chain):] == chain


class Sysprof(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.capture = self.directory / "out.syscap"

    def record_capture(self, *stages, of=("--", SMALL)):
        source = self.source("-e", "cpu-clock", *map(str, of))
        sink = self.stage("capture-sink", "-q", self.capture)
        self.run_well(source, *map(self.stage, stages), sink)

    def cat(self):
        status, tree, errors = sysprof("sysprof-cat", self.capture)
        self.assertEqual(errors, "")
        self.assertEqual(status, 0)
        return tree

    def test_names_are_in_the_right_order(self):
        self.record_capture("live-unwinder", "symbolizer")
        tree = self.cat()
        self.assertTrue(any(ends_with(path, CHAIN) for path in paths_of(tree)))
        self.assertIn(b'"stackpipe.state": "complete"', tree)
        self.assertIn(b'"stackpipe.lost": "0"', tree)

    def test_sysprofs_strict_reader_accepts_every_frame(self):
        self.record_capture("live-unwinder", "symbolizer")
        status, merged, _ = sysprof("sysprof-cli", "--merge", self.capture, self.capture)
        self.assertEqual(status, 0)
        self.assertGreater(len(merged), self.capture.stat().st_size)

    def test_allocations(self):
        """Sysprof has no tool that prints allocations: its strict reader accepts each, and their number is right."""
        self.run_well([pipeline.program("preload-source"), "--", sys.executable, "-c",
                       "print(len([str(i) * 100 for i in range(20000)]))"],
                      self.stage("live-unwinder"), self.stage("symbolizer"),
                      self.stage("capture-sink", self.capture))
        self.cat()
        status, merged, _ = sysprof("sysprof-cli", "--merge", self.capture, self.capture)
        self.assertEqual(status, 0)
        self.assertGreater(count_frames(self.capture.read_bytes(), ALLOCATION), 20000)
        self.assertEqual(count_frames(merged, ALLOCATION),
                         2 * count_frames(self.capture.read_bytes(), ALLOCATION))

    def paths_there(self):
        """The paths that Sysprof shows on another machine: a root directory that contains only Sysprof."""
        loader = "/" + str(next(SYSPROF.glob("usr/lib/*/ld-linux*.so.*")).relative_to(SYSPROF))
        with tempfile.TemporaryDirectory(dir=SYSPROF) as inside:
            Path(inside, "capture").write_bytes(self.capture.read_bytes())
            there = subprocess.run(
                [loader, "--library-path", str(Path(loader).parent), "/usr/bin/sysprof-cat",
                 f"/{Path(inside).name}/capture"],
                capture_output=True, preexec_fn=lambda: (os.chroot(SYSPROF), os.chdir("/")),
                env={"DEBUGINFOD_URLS": "", "GIO_USE_VFS": "local", "LC_ALL": "C",
                     "CHARSET": "UTF-8", "GIO_MODULE_DIR": f"{Path(loader).parent}/gio/modules"})
        self.assertEqual(there.stderr.decode(), "")
        return paths_of(there.stdout)

    def record_for_elsewhere(self, *command):
        """The paths of a recording, which are the same on a machine without its programs."""
        self.record_capture("live-unwinder", "symbolizer", of=["-F", "4999", "--", *command])
        here = paths_of(self.cat())
        self.assertEqual(self.paths_there(), here)
        return here

    def test_the_binaries_are_not_needed(self):
        paths = self.record_for_elsewhere(*INTERPRETER)
        self.assertTrue(any("_PyEval_EvalFrameDefault" in path for path in paths))

    def test_inlined_calls_are_frames(self):
        paths = self.record_for_elsewhere(INLINED_SPIN, "1000")
        self.assertTrue(any(ends_with(path, INLINED_CHAIN) for path in paths))

    def test_jit_code_has_names(self):
        """
        Several functions occupy one address, one after the other. Their code proves the frame pointer, unless the
        sample precedes the code's record: then the frame is marked.
        """
        paths = self.record_for_elsewhere(JIT_SPIN, "dump", "prompt", "same", self.directory, "20")
        called = {path[-1].removesuffix("_[j]").removesuffix("_[f]")
                  for path in paths if path[-1].endswith("_[j]")}
        self.assertLessEqual({f"made-{i}" for i in range(16)}, called)

    def test_each_incarnation_has_its_own_name(self):
        """A shell executes another program: its samples keep the shell's name."""
        spin = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; "
        script = self.directory / "script"
        script.write_text(f"#!/bin/sh\n{spin} exec {SMALL}\n")
        script.chmod(0o755)
        self.record_capture("live-unwinder", "symbolizer", of=["--", script])
        paths = paths_of(self.cat())
        named = {path[1] for path in paths if len(path) > 2}
        self.assertIn("script", named)
        inner = {path[1] for path in paths if ends_with(path, CHAIN)}
        self.assertTrue(inner)
        self.assertTrue(all(re.fullmatch(r"small \(pid \d+\)", name) for name in inner), inner)

    def test_code_of_the_kernel_has_the_name_of_its_time(self):
        """Kernel code that was at one address, one after the other."""
        stream = self.directory / "stream"
        stream.write_bytes(kernel_code.stream())
        self.run_on(stream, self.stage("symbolizer"),
                    self.stage("capture-sink", "-q", self.capture))
        called = {path[-1] for path in paths_of(self.cat()) if path[-2:-1] == ["bpf_test_run"]}
        self.assertEqual(called, {"bpf_prog_0_old", "behind", "bpf_prog_1_first",
                                  "bpf_prog_2_second", "bpf_prog_3_third", "ftrace_trampoline",
                                  "unknown"})

    def test_without_unwinder_and_without_symbolizer(self):
        self.record_capture()
        self.assertIn(b"[not-unwound]", self.cat())
        self.capture.unlink()
        self.record_capture("live-unwinder")
        tree = self.cat()
        self.assertTrue(any(ends_with(path, CHAIN) for path in paths_of(tree)))

    def test_the_whole_machine(self):
        self.record_capture("live-unwinder", "symbolizer", of=["-d", "1"])
        self.cat()


if __name__ == "__main__":
    pipeline.main()
