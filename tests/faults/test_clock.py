# SPDX-License-Identifier: GPL-3.0-or-later
"""The wall clock is set again and again: no sample's time comes from that clock."""
import struct

import faulted
from faulted import pipeline
import streams

LIBRARY = pipeline.BUILD / "tests" / "faults" / "libjumping-clock.so"
HOUR_NS = 3600 * 10**9
SAMPLE = 2  # a frame's type
JUMPING = {"LD_PRELOAD": str(LIBRARY)}


def setUpModule():
    assert LIBRARY.exists()


class Clock(pipeline.RecordingTest):
    def test_replays_ignore_the_clock(self):
        for i, stage in enumerate(faulted.stages(self.directory)):
            if stage.name in ("perf-source", "preload-source"):
                continue
            with self.subTest(stage=stage.title()):
                whole, jumped = [stage.run(self.directory / f"{i}-{len(environment)}", **environment)
                                 for environment in ({}, JUMPING)]
                self.assertEqual(jumped[0].returncode, 0, faulted.said(jumped[0]))
                self.assertEqual(jumped[1].read_bytes(), whole[1].read_bytes())

    def test_a_recording_has_monotonic_times(self):
        out = self.directory / "out.syscap"
        stages = [self.source("--", pipeline.CHAIN, "once", "0.5"), self.stage("live-unwinder", "-q"),
                  self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", out)]
        jumping = ["env", f"LD_PRELOAD={LIBRARY}"]
        self.run_well(*([*jumping, *stage] for stage in stages))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        frames, damaged = streams.syscap_frames(out.read_bytes())
        times = [struct.unpack_from("<q", frame, 8)[0] for number, frame in frames if number == SAMPLE]
        self.assertEqual(damaged, 0)
        self.assertGreater(len(times), 100)
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1] - times[0], HOUR_NS)
        names = self.run_on_capture(out)
        self.assertGreater(sum(n for stack, n in names if "middle" in stack), 0.5 * len(times))

    def run_on_capture(self, capture):
        """The folded stacks of a capture."""
        ended = self.run_well([pipeline.program("capture-source"), "-q", capture],
                              [pipeline.program("capture-sink"), "-q", "-f", "folded", "-"])
        return streams.folded_stacks(ended[-1].output.decode())


if __name__ == "__main__":
    pipeline.main()
