# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether BPF programs may read the memory of what they sample on this machine."""
import re
import subprocess

import pipeline

DEEP = pipeline.BUILD / "tests" / "pipeline" / "deep"


class ReadingTest(pipeline.RecordingTest):
    """Records to a file what programs read of the memory of those that they sample."""

    def setUp(self):
        super().setUp()
        why = refusal()
        if why:
            self.skipTest(why)
        self.stream = self.directory / "recorded.stream"


def refusal():
    """Why no program reads memory here; "" where one does."""
    recorded = subprocess.run([pipeline.program("perf-source"), "-q", "-e", "cpu-clock", "--", DEEP, "2000", "100", "0.1"],
                              capture_output=True, check=False)
    text = subprocess.run([pipeline.program("frame-dump")], input=recorded.stdout, capture_output=True, check=False).stdout
    if re.search(rb"^stack_part ", text, re.M):
        return ""
    return f"BPF programs that read memory {pipeline.NOT_HERE} be loaded"
