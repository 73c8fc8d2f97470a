# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks have the methods of .NET's programs: compiled as they run, before, or made by the program itself."""
import bisect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "steps"))

import dotnet
import pipeline
import steps
import streams
from interpreters import ScriptTest, is_true

FAKE = pipeline.BUILD / "tests" / "pipeline" / "libcoreclr.fake"
PRECOMPILED = "DOTNET_TieredCompilation=0"  # of the class library, which else is compiled anew as it runs
UINT64_MAX = (1 << 64) - 1
QUICK = "DOTNET_TC_CallCountThreshold=1000000", "DOTNET_TC_OnStackReplacement=0"  # nothing is compiled anew
# A thread's first method is precompiled, and not known before its description is in memory.
OUTERMOST = "Main", "StartCallback", "<>m__0"


class Dotnet(ScriptTest):
    plain = staticmethod(dotnet.plain)

    def record(self, version, *arguments, environment=(), source=("-e", "cpu-clock")):
        self.record_program("env", *environment, *dotnet.command(version, *arguments), options=source)

    def check(self, least=0.98):
        chains, outcomes = self.chains()
        n = sum(outcomes.values()) - outcomes.get("no-frames", 0)
        self.assertGreater(len(chains), 500)
        self.assertGreater(outcomes["whole"], least * n, outcomes)
        for frames in chains:
            self.assertTrue(is_true([frame.name for frame in frames]), frames)
            self.assertIn(frames[-1].name, OUTERMOST, frames)
        return chains

    def test_chains_are_true_and_whole(self):
        for version in dotnet.VERSIONS:
            for what in "", "threads", "dynamic":
                with self.subTest(version, what=what):
                    self.record(version, 3, what)
                    self.check()

    def test_chains_of_precompiled_code_are_true(self):
        for version in dotnet.VERSIONS:
            with self.subTest(version):
                self.record(version, 3, environment=[PRECOMPILED])
                names = {frame.name for frames in self.check() for frame in frames}
                self.assertLess({"InvokeWithNoArgs", "IntrospectiveSort", "MoveNext"}, names)

    def test_chains_of_quickly_compiled_code_are_true(self):
        for version in dotnet.VERSIONS:
            with self.subTest(version):
                self.record(version, 3, environment=QUICK)
                self.check(least=0.95)

    def test_waits_have_them(self):
        for version in dotnet.VERSIONS:
            with self.subTest(version):
                self.record(version, 3, "wait", source=("--off-cpu",))
                waiting = [frames for frames in self.chains()[0] if any(frame.name == "spin" for frame in frames)]
                self.assertGreater(len(waiting), 100)
                for frames in waiting:
                    self.assertTrue(is_true([frame.name for frame in frames]), frames)

    def test_what_runs_it_is_hidden(self):
        self.record(dotnet.VERSIONS[0], 2)
        stacks = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"),
                             self.stage("capture-sink", "-q", "-f", "folded", "--interpreter=hide", "-"))
        chains = [names for names, _ in streams.folded_stacks(stacks.decode()) if "Chains.f0" in names]
        self.assertGreater(len(chains), 20)
        for names in chains:
            self.assertEqual(names[1:4], ["Chains.Main", "Chains.run", "Chains.f0"], names)


class Bundle(ScriptTest):
    """A program that is none of ours has no names that tell its callers, but it writes a perf map."""
    @staticmethod
    def plain_of_map(text):
        """A method's name without what it was made for; None: it has no type."""
        head, _, method = text.partition("::")
        of_type = re.sub("[/+]", ".", head.rpartition("] ")[2])
        if not method or "dynamicClass" in head or " " in of_type:
            return None
        return re.sub(r"\[.*?\](?=\.|$)", "", f"{of_type}.{method.partition('(')[0]}")

    def read_map(self, pid):
        path = Path(f"/tmp/perf-{pid}.map")
        self.addCleanup(path.unlink, missing_ok=True)
        entries = [line.split(" ", 2) for line in path.read_text().splitlines()]
        return sorted((int(start, 16), int(size, 16), name) for start, size, name in entries)

    def test_names_are_those_of_its_perf_map(self):
        self.record_program(*dotnet.bundle("DOTNET_PerfMapEnabled=3"), options=("-e", "cpu-clock", "-F", "1999"))
        text = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"), self.stage("frame-dump")).decode()
        entries = self.read_map(re.search(r"^process .* pid=(\d+)", text, re.M)[1])
        stacks, n = steps.Stacks(text, False), 0
        for chain in stacks.chains:
            for script, made in zip(chain.split(), chain.split()[1:]):
                address, _, is_exact = made.partition(":")
                i = bisect.bisect(entries, (int(address, 16) - (not is_exact), UINT64_MAX)) - 1
                wanted = self.plain_of_map(entries[i][2]) if "+script" in script else None
                if wanted:
                    self.assertEqual(stacks.name(script), wanted)
                    n += 1
        self.assertGreater(n, 5000)
        # Those of before the runtime was found, and where too much was new at once, do not count.
        of_methods = [end for end, chain in zip(stacks.ends, stacks.chains) if "+script" in chain]
        self.assertGreater(of_methods.count("complete"), 0.93 * len(of_methods))


class Fake(ScriptTest):
    def test_a_method_that_calls_c(self):
        self.record_program(FAKE, "0.5", "good")
        found = list(filter(None, self.calls()[0]))
        self.assertGreater(len(found), 100)
        for frames in found:
            self.assertEqual([frame.name for frame in frames], ["Space.Outer.Inner.Method"])

    def test_code_that_is_no_methods(self):
        self.check_none(FAKE, "cycle", "guard", "garbage", "stub", "other")

    def test_methods_that_do_not_have_their_code(self):
        """Nothing says how it is left, so the stack ends there."""
        self.record_program(FAKE, "0.5", "torn")
        stacks = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"),
                             self.stage("capture-sink", "-q", "-f", "folded", "-"))
        stacks = [names for names, _ in streams.folded_stacks(stacks.decode()) if "Space.Outer.Inner.Method" in names]
        self.assertTrue(stacks)
        self.assertTrue(all("main" not in names for names in stacks), stacks)


if __name__ == "__main__":
    sys.exit(pipeline.main())
