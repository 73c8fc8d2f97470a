# SPDX-License-Identifier: GPL-3.0-or-later
"""Stripped Go programs: names, inlined calls and lines come from the tables of Go's own runtime."""
import re
import subprocess
import unittest

import pipeline
import streams

PROGRAMS = pipeline.BUILD / "symbolizer" / "symbols" / "go"
SOURCE = pipeline.TOP / "tests" / "programs" / "chain.go"
CHAIN = ["runtime.goexit", "runtime.main", "main.main", "main.outer", "main.middle_[i]", "main.spin"]
INNERMOST = ["main.step_[i]"]


def line_of(function):
    lines = SOURCE.read_text(encoding="ascii").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"// {function}'s line"))


@unittest.skipUnless((PROGRAMS / "pie").exists(), f"Go {pipeline.NOT_INSTALLED}")
class StrippedGo(pipeline.RecordingTest):
    def record(self, name):
        program, stream = self.directory / name, self.directory / "go.stream"
        subprocess.run(["strip", "-o", program, PROGRAMS / name], check=True)
        with stream.open("wb") as out:
            self.run_well(self.source("--", program), self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        return stream

    def check_chains(self, stream):
        folded = streams.folded_stacks(
            self.run_on(stream, self.stage("capture-sink", "-q", "-f", "folded", "-")).decode())
        spinning = [(names[1:], n) for names, n in folded if "main.spin" in names]
        true = sum(n for names, n in spinning if names in (CHAIN, CHAIN + INNERMOST))
        # The runtime interrupts its programs by signals, and handles those on another stack: such stacks are cut.
        others = [names for names, _ in spinning if names[:len(CHAIN)] != CHAIN and not names[0].startswith("[")]
        self.assertEqual(others, [])
        self.assertGreater(true, 200)
        self.assertGreater(true, 0.9 * sum(n for _, n in spinning))

    def check_lines(self, stream):
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        found = set(re.findall(r'(?m)^(?:symbol|inlined) .* name="main\.(\w+)".* file="([^"]*)" line=(\d+)', text))
        for function in "main", "outer", "middle":
            self.assertIn((function, str(SOURCE), str(line_of(function))), found)
        self.assertIn(("step", str(SOURCE), str(line_of("step"))), found)

    def test_go_links_it(self):
        stream = self.record("plain")
        self.assertNotIn("plain", "".join(self.stats("symbolizer").get("no-debug-info", {})))
        self.check_chains(stream)
        self.check_lines(stream)

    def test_another_linker_links_it_position_independent(self):
        stream = self.record("pie")
        self.check_chains(stream)
        self.check_lines(stream)


if __name__ == "__main__":
    pipeline.main()
