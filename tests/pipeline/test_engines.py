# SPDX-License-Identifier: GPL-3.0-or-later
"""Both engines give the same stacks, whatever the cache of tables holds."""
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

import pipeline
import streams

pipeline.mount_tracefs()
UPROBES = pipeline.TRACEFS / "uprobe_events"
ENGINES = "dwfl", "table", "auto"
PYTHON_WORKLOAD = "sum(i * i for i in range(5_000_000))"
HANDLER_RETURN = bytes.fromhex("48c7c00f0000000f05")  # mov $SYS_rt_sigreturn, %rax; syscall
SIGNALS = pipeline.CHAIN.with_name("signal-chain")


class EnginesTest(pipeline.PipelineTest):
    """A test with its own cache."""

    def setUp(self):
        super().setUp()
        self.cache = self.directory / "cache"
        self.cache.mkdir()
        self.use_cache_home(self.cache)

    def use_cache_home(self, path):
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(path)
        if before is None:
            self.addCleanup(os.environ.pop, "XDG_CACHE_HOME", None)
        else:
            self.addCleanup(os.environ.__setitem__, "XDG_CACHE_HOME", before)

    def unwinder(self, *arguments):
        return self.stage("live-unwinder", *arguments)

    def unwound(self, stream, *arguments):
        return self.run_on(stream, self.unwinder(*arguments))

    def stacks(self, stream, engine):
        """The stacks of a stream by one engine, one line of text each."""
        text = self.run_on(stream, self.unwinder(f"--engine={engine}", "--no-cache"),
                           self.stage("frame-dump")).decode()
        return [line for line in text.splitlines() if line.startswith("stack ")]

    def count(self, group, name):
        return self.stats("live-unwinder")[group][name]

    def handler_returns(self, stream):
        """Frames in the system call by which a handler returns, after which its FDE ends."""
        text = self.run_on(stream, self.stage("frame-dump")).decode()
        paths = dict(re.findall(r'(?m)^image image=(\d+) kind=file .* path="([^"]*)"', text))
        for mapping, start, offset, image in re.findall(
                r"(?m)^mapping mapping=(\d+) .* start=(\w+) length=\w+ offset=(\w+) image=(\d+)", text):
            code = Path(paths[image]).read_bytes() if image in paths else b""
            for found in re.finditer(re.escape(HANDLER_RETURN), code):
                yield f"{int(start, 16) + found.end() - int(offset, 16):#x}@{mapping}:exact"

    def assert_goes_on(self, stack, shorter, frames):
        """The tables unwind past one of these frames, where elfutils cuts the stack.

        Or they cut it there for another reason: the kernel may be restoring the registers one by one.
        """
        cut = re.fullmatch(r"(stack .*) end=no-unwind-info frames=\[(.* )?(\S+)\] .*", shorter)
        self.assertTrue(cut and cut[3] in frames, (stack, shorter))
        frames = f"{cut[2] or ''}{cut[3]}"
        self.assertTrue(stack.startswith(f"{cut[1]} end=complete frames=[{frames} ") or
                        re.match(re.escape(cut[1]) + r" end=(no-mapping|bad-unwind-info) frames=\["
                                 + re.escape(frames) + r"\]", stack), (stack, shorter))

    def assert_engines_agree(self, stream):
        """Also checks that each engine did the work; returns the stacks."""
        judge, returns = self.stacks(stream, "dwfl"), set(self.handler_returns(stream))
        self.assertGreater(len(judge), 0)
        self.assertEqual(self.count("engine", "table"), 0)
        for engine in "table", "auto":
            stacks = self.stacks(stream, engine)
            self.assertEqual(len(stacks), len(judge))
            for stack, shorter in zip(stacks, judge):
                if stack != shorter:
                    self.assert_goes_on(stack, shorter, returns)
            answered = self.stats("live-unwinder")["engine"]  # nobody is asked without registers
            self.assertGreater(answered["table"], 0.9 * sum(answered.values()), engine)
        return judge

    def cached(self):
        """Files in the cache."""
        return [path for path in self.cache.rglob("*") if path.is_file()]


class Information(EnginesTest, pipeline.RecordingTest):
    """Unwind information that does not describe the code that it covers, or only seems not to."""
    PROGRAMS = pipeline.TOP / "tests" / "programs" / "frames"

    def compile(self, name, *arguments):
        path = self.directory / name
        subprocess.run(["cc", "-O1", "-o", path, *arguments], check=True)
        return path

    def assert_true(self, stream, *chains):
        """With both engines each stack is one of the chains below main(), or lacks outer frames."""
        for engine in "auto", "dwfl":
            folded = self.run_on(stream, self.unwinder(f"--engine={engine}", "--no-cache", "-q"),
                                 self.stage("symbolizer", "-q"),
                                 self.stage("capture-sink", "-q", "-f", "folded", "-")).decode()
            met = Counter()
            for names, n in streams.folded_stacks(folded):
                user = [name for name in names[1:] if not name.endswith("_[k]")]
                for chain in chains:
                    if user and user[-1] == chain[-1]:
                        met[chain[-1]] += n
                        self.assert_part(user, chain, engine)
            self.assertEqual(len(met), len(chains), met)
            self.assertGreater(sum(met.values()), 50)

    def assert_part(self, user, chain, engine):
        if user[0].startswith("["):
            self.assertEqual(user[1:], chain[len(chain) - len(user) + 1:], engine)
        else:
            self.assertEqual(user[user.index("main"):], chain, engine)

    def test_dropped_functions_describe_nothing(self):
        for linker in "-fuse-ld=bfd", "-fuse-ld=bfd -Wl,-z,noseparate-code", "-fuse-ld=gold", "-fuse-ld=lld":
            name = linker.split()[0].removeprefix("-fuse-ld=")
            if not shutil.which(f"ld.{name}"):
                continue
            library = self.compile(
                "libdropped.so", *linker.split(), "-g", "-fPIC", "-shared", "-nostartfiles", "-ffunction-sections",
                "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--gc-sections",
                self.PROGRAMS / "dropped.c")
            program = self.compile("enter", self.PROGRAMS / "enter.c", library, f"-Wl,-rpath,{self.directory}")
            stream = self.record(self.directory / "stream", command=[program])
            self.assert_true(stream, ["main", "enter", "middle", "innermost", "loop"])

    def test_dropped_sections_describe_nothing(self):
        for linker in filter(lambda name: shutil.which(f"ld.{name}"), ("bfd", "gold", "lld", "mold")):
            # For an index without .eh_frame libdw reads the whole file, and libelf forgets what it had read.
            options = "-g", "-fPIC", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--no-eh-frame-hdr"
            whole = self.compile("whole.o", *options, "-c", self.PROGRAMS / "dropped-whole.c")
            library = self.compile(
                "libdropped.so", *options, f"-fuse-ld={linker}", "-shared", "-nostartfiles", "-ffunction-sections",
                "-Wl,--gc-sections", whole, self.PROGRAMS / "dropped.c")
            program = self.compile("enter", self.PROGRAMS / "enter.c", library, f"-Wl,-rpath,{self.directory}")
            stream = self.record(self.directory / "stream", command=[program])
            self.assert_true(stream, ["main", "enter", "middle", "innermost", "loop"])

    def test_a_frame_pointer_that_is_saved_was_not_popped(self):
        program = self.compile("saved", "-fno-omit-frame-pointer", self.PROGRAMS / "saved.c",
                               self.PROGRAMS / "saved.S")
        stream = self.record(self.directory / "stream", command=[program])
        self.assert_true(stream, ["main", "red_outer", "red_inner", "in_red_zone"],
                         ["main", "context_outer", "context_middle", "context_inner", "in_context"])


    def define(self, text):
        """Writes without a seek to the end, which tracefs refuses."""
        definitions = os.open(UPROBES, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(definitions, text.encode())
        finally:
            os.close(definitions)

    @unittest.skipUnless(os.access(UPROBES, os.W_OK), f"{pipeline.NOT_HERE} uprobes be set")
    def test_an_instruction_under_a_uprobe_has_no_caller(self):
        """The instruction is executed elsewhere, and the frame pointer is still the one of the function's caller."""
        program = self.compile("probed", "-no-pie", "-fno-omit-frame-pointer", self.PROGRAMS / "probed.c")
        symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        address = int(re.search(r"(\w+) T probed", symbols)[1], 16)
        offset = address - int(re.search(r"LOAD\s+0x\w+ 0x(\w+)", subprocess.run(
            ["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout)[1], 16)
        name = f"stackpipe_test_{os.getpid()}"
        self.define(f"p:{name}/probed {program}:{offset:#x}\n")
        try:
            (pipeline.TRACEFS / "events" / name / "enable").write_text("1")
            stream = self.record(self.directory / "stream", command=[program])
        finally:
            (pipeline.TRACEFS / "events" / name / "enable").write_text("0")
            self.define(f"-:{name}/probed\n")
        text = self.run_on(stream, self.unwinder("-q"), self.stage("symbolizer", "-q"),
                           self.stage("capture-sink", "-q", "-f", "folded", "-")).decode()
        ends = Counter()
        for names, n in streams.folded_stacks(text):
            user = [name for name in names[1:] if not name.endswith("_[k]")]
            if user and user[-1].startswith("[uprobes+"):
                self.assertEqual(user[:-1], ["[no-unwind-info]"])
                ends["cut"] += n
            elif "middle" in user and user[-1] != "middle":
                self.assertEqual(user[user.index("main"):-1], ["main", "middle"])
                ends["whole"] += n
        self.assertGreater(min(ends["cut"], ends["whole"]), 10, ends)


class Small(EnginesTest):
    """On the self-contained recording."""

    def test_engines_agree(self):
        self.assert_engines_agree(pipeline.SMALL_STREAM)

    def test_verified_stacks_are_the_same(self):
        self.unwound(pipeline.SMALL_STREAM, "--verify=1")
        self.assertGreater(self.count("verify", "compared"), 0)
        self.assertEqual(self.count("verify", "compared"), self.count("engine", "table"))
        self.assertEqual(self.count("verify", "different"), 0)

    def test_verification_changes_no_stack(self):
        names = [line for line in self.stacks(pipeline.SMALL_STREAM, "auto")]
        text = self.run_on(pipeline.SMALL_STREAM, self.unwinder("--verify=2"),
                           self.stage("frame-dump")).decode()
        self.assertEqual([line for line in text.splitlines() if line.startswith("stack ")], names)

    def test_a_dump_without_differences_is_a_stream(self):
        dump = self.directory / "dump.stream"
        self.unwound(pipeline.SMALL_STREAM, "--verify=1", f"--verify-dump={dump}")
        summary = self.run_on(dump, self.stage("frame-dump", "--summary")).decode()
        self.assertEqual(summary.splitlines()[-1], "everything adds up")

    def refused(self, *arguments):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            return self.start(self.unwinder(*arguments), stdin=stdin).end()[0]

    def test_an_existing_dump_is_kept(self):
        dump = self.directory / "dump.stream"
        dump.write_text("precious")
        ended = self.refused("--verify=1", f"--verify-dump={dump}")
        self.assert_fails_in_one_line(ended, text=f"'{dump}' exists: choose another name")
        self.assertEqual(dump.read_text(), "precious")

    def test_a_dump_that_cannot_be_written(self):
        ended = self.refused("--verify=1", "--verify-dump=/no-such-directory/dump")
        self.assert_fails_in_one_line(ended, text="/no-such-directory/dump")


class Live(EnginesTest, pipeline.RecordingTest):
    """On recordings made here."""

    def recorded(self, *command):
        path = self.directory / "raw.stream"
        with path.open("wb") as out:
            self.run_well(self.source("-F", "999", "--unwind=copy", "--", *command), stdout=out)
        return path

    def recorded_python(self):
        """python3's unwind table, or libpython's, is large enough to be cached."""
        return self.recorded(sys.executable, "-S", "-c", PYTHON_WORKLOAD)

    def test_engines_agree_on_signals(self):
        stacks = self.assert_engines_agree(self.recorded(SIGNALS, "0.3"))
        interrupted = [line for line in stacks if line.count(":exact") >= 2]
        self.assertGreater(len(interrupted), 0.5 * len(stacks), stacks)

    def test_elfutils_alone_cuts_a_returning_handler(self):
        program = self.directory / "returns"
        subprocess.run(["cc", "-O1", "-x", "c", "-o", program, "-"], check=True, text=True, input="""
            #include <signal.h>
            static void handle(int number) {}
            int main(void) { signal(SIGUSR1, handle); for (int i = 0; i < 200000; i++) raise(SIGUSR1); }""")
        stacks = self.assert_engines_agree(self.recorded(program))
        self.assertGreater(sum("end=no-unwind-info" in line for line in stacks), 5)

    def test_engines_agree_on_short_processes(self):
        self.assert_engines_agree(self.recorded(pipeline.CHAIN, "forks", "0.3"))

    def test_engines_agree_on_python(self):
        self.assert_engines_agree(self.recorded_python())

    def test_cached_tables_give_the_same_stacks(self):
        stream = self.recorded_python()
        cold = self.unwound(stream)
        self.assertGreater(self.count("tables", "compiled"), 0)
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertGreater(len(self.cached()), 0)
        warm = self.unwound(stream)
        self.assertEqual(self.count("tables", "from-disk"), len(self.cached()))
        self.assertEqual(warm, cold)

    def test_without_a_cache_nothing_is_kept(self):
        stream = self.recorded_python()
        with_cache = self.unwound(stream)
        n_cached = len(self.cached())
        for path in self.cached():
            path.unlink()
        self.assertEqual(self.unwound(stream, "--no-cache"), with_cache)
        self.assertEqual(self.cached(), [])
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertGreater(n_cached, 0)

    def test_a_damaged_cache_gives_the_same(self):
        stream = self.recorded_python()
        before = self.unwound(stream)
        for path in self.cached():
            path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        self.assertEqual(self.unwound(stream), before)
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertEqual(self.unwound(stream), before)  # they were replaced
        self.assertEqual(self.count("tables", "from-disk"), len(self.cached()))

    def test_a_cache_that_cannot_be_made_is_no_failure(self):
        stream = self.recorded_python()
        before = self.unwound(stream)
        for home in "/proc/self", "/no-such-directory/no-such-directory", "/dev/null":
            self.use_cache_home(home)
            self.assertEqual(self.unwound(stream), before, home)
            self.assertEqual(self.count("tables", "from-disk"), 0)


if __name__ == "__main__":
    pipeline.main()
