# SPDX-License-Identifier: GPL-3.0-or-later
"""Short and interrupted reads and writes do not change the output."""
import subprocess

import faulted
from faulted import pipeline

LIBRARY = pipeline.BUILD / "tests" / "faults" / "libshort-io.so"
SIZES = "7", "4096"  # bytes at a time, at most


def setUpModule():
    assert LIBRARY.exists()


class Short(pipeline.RecordingTest):
    def output_of(self, stage, directory, **environment):
        """Feeds the stage by a pipe, as a regular file would be mapped."""
        with subprocess.Popen(["cat", stage.stdin or "/dev/null"], stdout=subprocess.PIPE) as cat:
            piped = faulted.Stage(stage.name, *stage.arguments, out=stage.out,
                                  stdin=f"/proc/self/fd/{cat.stdout.fileno()}")
            ended, out = piped.run(directory, **environment)
        self.assertEqual(ended.returncode, 0, faulted.said(ended))
        return out.read_bytes()

    def test_output_does_not_change(self):
        for i, stage in enumerate(faulted.stages(self.directory)):
            if stage.name in ("perf-source", "preload-source"):
                continue
            whole = self.output_of(stage, self.directory / f"{i}")
            for size in SIZES:
                with self.subTest(stage=stage.title(), size=size):
                    cut = self.output_of(stage, self.directory / f"{i}-{size}",
                                         LD_PRELOAD=str(LIBRARY), SHORT_IO=size)
                    self.assertEqual(cut, whole)

    def test_a_live_source_writes_a_whole_stream(self):
        for i, stage in enumerate(faulted.stages(self.directory)):
            if stage.name in ("perf-source", "preload-source"):
                with self.subTest(stage=stage.title()):
                    cut = self.output_of(stage, self.directory / f"{i}", LD_PRELOAD=str(LIBRARY), SHORT_IO="4096")
                    self.assertTrue(faulted.is_stream_whole(cut))


if __name__ == "__main__":
    pipeline.main()
