# SPDX-License-Identifier: GPL-3.0-or-later
"""JIT code whose prologues and epilogues have a caller."""
from collections import Counter
from pathlib import Path

import pipeline
import streams

JIT_FRAMES = pipeline.BUILD / "tests" / "pipeline" / "jit-frames"


def plain(name):
    return name.split("_[")[0]


class Recording(pipeline.RecordingTest):
    def callers(self, *arguments):
        """Counts samples by (the caller, or the end reason), and by end reason."""
        callee = arguments[1]
        ended = self.run_well(
            self.source("-F", "9999", "--", JIT_FRAMES, *arguments, "300"),
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", "-f", "folded", "-"))
        callers, ends = Counter(), Counter()
        for names, n in streams.folded_stacks(ended[-1].output.decode()):
            names = [plain(name) for name in names if not name.endswith("_[k]")]
            if callee in names:
                callers[names[names.index(callee) - 1]] += n
                ends[next((name for name in names if name.startswith("[")), "complete")] += n
        self.assertGreater(sum(callers.values()), 50)
        return callers, ends


class WithJitdump(Recording):
    """The bytes of the code are in a jitdump."""

    def callers(self, callee):
        found = super().callers("dump", callee, self.directory)
        self.assertEqual(self.stats("live-unwinder")["made-code"]["jitdumps"], 1)
        return found

    def test_callers_before_the_prologue_by_the_sp(self):
        callers, ends = self.callers("kept")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])  # "outer" only has a frame pointer

    def test_a_return_has_its_caller_on_top_of_the_stack(self):
        callers, ends = self.callers("bare")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])

    def test_frameless_code_is_left_by_its_frame_size(self):
        callers, ends = self.callers("framed")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])


class WithPerfMap(Recording):
    """Only names are known, from a perf map: the stack shows whether there is no frame yet."""

    def callers(self, callee):
        try:
            return super().callers("map", callee, "/tmp")
        finally:
            for path in Path("/tmp").glob("perf-*.map"):
                if f" {callee}\n" in path.read_text(errors="replace"):
                    path.unlink()

    def test_callers_before_the_prologue_on_top_of_stack(self):
        for callee in "kept", "bare":
            with self.subTest(callee):
                callers, ends = self.callers(callee)
                self.assertEqual(list(callers), ["outer"])
                self.assertEqual(list(ends), ["[unproved]"])


if __name__ == "__main__":
    pipeline.main()
