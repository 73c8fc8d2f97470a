# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks of Java have the methods that it executes: interpreted, compiled, and those that were inlined."""
import re
import subprocess
import sys

import java
import pipeline
import streams
from interpreters import LINK, ScriptTest, is_true

SOURCE = (java.PROGRAMS / "Chains.java").read_text().splitlines()
INTERPRETED, QUICK = ("-Xint",), ("-XX:TieredStopAtLevel=1",)  # without the optimizing compiler
WARM = 6  # seconds: in the first one code is replaced all the time, and many callers are not known
# What lies between functions: C++, which has called them by reflection, and classes of Java's own.
BETWEEN = {"Chains$Way.reflect", "java.util.stream.Stream.forEach", "java.lang.reflect.Method.invoke"}
FIRST = re.compile(r"    static void (f\d+\w*)\(\) {$")


def lines_of_functions():
    """{name: the lines where it calls spin, and others}"""
    found = {}
    for i, line in enumerate(SOURCE):
        first = FIRST.match(line)
        if first:
            end = next(j for j in range(i, len(SOURCE)) if SOURCE[j] == "    }")
            found[first[1]] = i + 2, range(i + 3, end + 1)
    return found


class JavaTest(ScriptTest):
    plain = staticmethod(java.plain)

    def record(self, version, *arguments, options=(), source=("-e", "cpu-clock")):
        self.record_program(*java.command(version, "Chains", *arguments, options=options), options=source)


class Java(JavaTest):
    LINES = lines_of_functions()

    def chains(self):
        """Those of which each frame has its method: code that is new may be recorded some samples later."""
        found, outcomes = super().chains()
        return [frames for frames in found if all(frame.name for frame in frames)], outcomes

    def check_lines(self, frames):
        for inner, frame in zip(frames, frames[1:]):
            if frame.name == "f0" or LINK.match(frame.name or ""):
                self.assertEqual(frame.file, "Chains.java")
                spins, calls = self.LINES[frame.name]
                self.assertIn(frame.line, {spins} if inner.name == "spin" else calls, frames)

    def check(self, version):
        """All chains are true. Returns them, and the share of stacks whose chains are whole."""
        chains, outcomes = self.chains()
        n_java = sum(outcomes.values()) - outcomes.get("no-frames", 0)
        self.assertGreater(len(chains), 500)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), (version, frames))
            self.check_lines(frames)
        return chains, outcomes["whole"] / n_java

    def run_until_whole(self, least, version, seconds, *arguments, options=()):
        """Compilers take longer to be done where others need the CPUs; until then callers are missing."""
        for longer in 1, 3:
            self.record(version, longer * seconds, *arguments, options=options)
            chains, whole = self.check(version)
            if whole > least:
                return chains
        return self.fail(f"of Java {version} {whole} are whole, not {least}")

    def test_chains_are_true_and_whole(self):
        for version in java.VERSIONS:
            with self.subTest(version):
                self.run_until_whole(0.95, version, WARM)

    def test_chains_of_the_interpreter_are_true(self):
        for version in java.VERSIONS:
            with self.subTest(version):
                self.run_until_whole(0.85, version, 2, options=INTERPRETED)

    def test_chains_of_the_quick_compiler_are_true(self):
        for version in java.VERSIONS[::2]:  # and of all versions where code moves the stack pointer
            with self.subTest(version):
                self.run_until_whole(0.93, version, WARM, options=QUICK)

    def test_all_inlined_methods_are_there_if_the_compilers_tell_them(self):
        for version in java.VERSIONS[1::2]:
            with self.subTest(version):
                chains = self.run_until_whole(0.95, version, WARM, options=java.TELLING)
                n = sum(frames[0].name == "spin" for frames in chains)
                self.assertGreater(n, 0.4 * len(chains))

    def test_chains_are_true_where_code_moves_the_stack_pointer(self):
        for version in java.VERSIONS:
            for options in (), QUICK, ("-XX:+UseSerialGC", "-XX:-TieredCompilation"):
                with self.subTest(version, options=options):
                    self.run_until_whole(0.8, version, 2, "mixed", options=options)

    def test_waits_have_them(self):
        for version in java.VERSIONS:
            with self.subTest(version):
                self.record(version, 3, "wait", source=("--off-cpu",))
                waiting = [frames for frames in self.chains()[0] if any(frame.name == "rest" for frame in frames)]
                self.assertGreater(len(waiting), 30)
                for frames in waiting:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)

    def folded(self, *options):
        stacks = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"),
                             self.stage("capture-sink", "-q", "-f", "folded", *options, "-"))
        return [names for names, _ in streams.folded_stacks(stacks.decode())]

    def test_what_runs_java_is_hidden(self):
        self.record("17", 2)
        chains = [names for names in self.folded("--interpreter=hide") if "Chains.f0" in names and not names[1].startswith("[")]
        self.assertGreater(len(chains), 20)
        for names in chains:
            self.assertEqual(names[1], "Chains.main", names)
            self.assertFalse(any("JavaCalls" in name for name in names[:names.index("Chains.f0")]), names)
        shown = [names for names in self.folded() if "Chains.f0" in names]
        self.assertTrue(any("JavaMain" in names for names in shown))

    def test_classes_made_at_run_time_have_the_same_name_each_time(self):
        self.record("17", 2)
        names = {name for names in self.folded() for name in names if "Lambda" in name}
        self.assertTrue(names)
        self.assertFalse([name for name in names if "0x" in name])

    def test_a_message_says_how_java_tells_more(self):
        said = pipeline.program("perf-source"), "-e", "cpu-clock", "--", *java.command("17", "Chains", "0.5")
        done = subprocess.run([*map(str, said)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        self.assertRegex(done.stderr, r"(?m)^perf-source: Java in process \d+ tells inlined methods .*DebugNonSafepoints")


class Fake(JavaTest):
    def test_a_method_that_is_there(self):
        for how in "good", "moved", "called", "replaced":
            with self.subTest(how):
                self.record_program(java.FAKE, "1", how)
                found, outcomes = self.calls()
                self.assertGreater(outcomes["whole"], 200, outcomes)
                for frames in found:
                    self.assertLessEqual({(frame.name, frame.file) for frame in frames}, {("inner", "Fake.java")})

    def record_fake(self, how):
        self.record_program(java.FAKE, "0.5", how)
        found, outcomes = self.calls()
        self.assertGreater(sum(outcomes.values()), 50)
        return found

    def test_a_method_without_a_file(self):
        frames = {(frame.name, frame.file) for frames in self.record_fake("no-file") for frame in frames}
        self.assertLessEqual({("inner", "")}, frames)
        self.assertLessEqual({name for name, file in frames if file}, set(), frames)

    def test_what_is_not_known_has_no_name(self):
        for how in "type", "segments", "garbage", "guard":
            with self.subTest(how):
                self.assertEqual({frame.name for frames in self.record_fake(how) for frame in frames} - {"", None}, set())

    def test_what_has_called_is_not_guessed(self):
        for how in "segments", "caller", "pushed", "old", "foreign":
            with self.subTest(how):
                self.record_fake(how)
                stacks = self.stats("live-unwinder")["stacks"]
                self.assertGreater(stacks["no-unwind-info"], 20 * stacks["complete"], stacks)


if __name__ == "__main__":
    sys.exit(pipeline.main())
