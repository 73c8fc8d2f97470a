# SPDX-License-Identifier: GPL-3.0-or-later
"""Code of a JIT compiler that is told with its bytes: its prologues and epilogues have their caller."""
from collections import Counter

import pipeline
import streams

JIT_FRAMES = pipeline.BUILD / "tests" / "pipeline" / "jit-frames"


def plain(name):
    return name.split("_[")[0]


class MadeCode(pipeline.RecordingTest):
    def callers(self, callee):
        """Of its samples: (the caller, or how the stack ends) → how many."""
        ended = self.run_well(
            self.source("-F", "9999", "--", JIT_FRAMES, callee, self.directory, "300"),
            self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", "-f", "folded", "-"))
        self.assertEqual(self.stats("live-unwinder")["made-code"]["jitdumps"], 1)
        callers, ends = Counter(), Counter()
        for names, n in streams.folded_stacks(ended[-1].output.decode()):
            names = [plain(name) for name in names if not name.endswith("_[k]")]
            if callee in names:
                callers[names[names.index(callee) - 1]] += n
                ends[next((name for name in names if name.startswith("[")), "complete")] += n
        self.assertGreater(sum(callers.values()), 50)
        return callers, ends

    def test_where_a_frame_pointer_is_not_set_up_the_caller_is_found_by_the_stack_pointer(self):
        callers, ends = self.callers("kept")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])  # "outer" has a frame pointer alone

    def test_a_return_has_its_caller_on_top_of_the_stack(self):
        callers, ends = self.callers("bare")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])

    def test_a_frame_without_a_frame_pointer_is_left_by_its_own_size(self):
        callers, ends = self.callers("framed")
        self.assertEqual(list(callers), ["outer"])
        self.assertEqual(list(ends), ["[unproved]"])


if __name__ == "__main__":
    pipeline.main()
