# SPDX-License-Identifier: GPL-3.0-or-later
"""
Programs that publish contexts of every wrong kind, beside a good one: its labels stay right, every stage
exits well and stays small, and no program is recorded as another one.
"""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline  # noqa: E402
import reading  # noqa: E402
import spans  # noqa: E402

PUBLISHER = pipeline.BUILD / "tests" / "hostile" / "publisher"
SPANS = pipeline.BUILD / "tests" / "pipeline" / "spans"
WAYS = "guard", "far", "huge", "random", "message", "changing", "large", "again", "exec", "slow"
STAGES = "perf-source", "live-unwinder"
SECONDS = "3"  # of a recording
SPAN_US = "500"


class Publishers(pipeline.MachineTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)

    def beside(self, way):
        log, stream = self.directory / f"{way}.log", self.directory / f"{way}.stream"
        with stream.open("wb") as out:
            started = self.start(self.source("-a", "-e", "cpu-clock", "-d", SECONDS), self.stage("live-unwinder"), stdout=out)
            hostile = subprocess.Popen([PUBLISHER, way, SECONDS])
            subprocess.run([SPANS, "1", "2.5", log, SPAN_US, "flag"], check=True)
            for ended in started.end():
                self.assertEqual(ended.status, 0, ended)
            self.assertEqual(hostile.wait(), 0)
        self.assert_stats_add_up(*STAGES)
        self.assert_memory_is_bounded(*STAGES)
        return log, spans.Labelled(self.run_on(stream, [pipeline.program("frame-dump")]).decode())

    def test_the_labels_of_a_good_program_stay_right(self):
        for way in WAYS:
            with self.subTest(way):
                log, labelled = self.beside(way)
                spans.check(self, labelled, log, 50, (0,), 1_000_000)


if __name__ == "__main__":
    sys.exit(pipeline.main())
