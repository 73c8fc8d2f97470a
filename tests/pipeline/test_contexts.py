# SPDX-License-Identifier: GPL-3.0-or-later
"""Trace contexts that threads publish, against what the program wrote down about its spans."""
import sys

import pipeline
import reading
import spans

BUILD = pipeline.BUILD / "tests" / "pipeline"
SECONDS = "1.5", "6"  # the longer one if the machine is too busy for the other


@pipeline.needs_root
class Contexts(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)
        self.log = self.directory / "log"
        self.stream = self.directory / "contexts.stream"

    def record(self, program, *how, options=(), threads="2", span_us="20", library="", seconds=SECONDS[0]):
        command = "env", f"SPANS_LIBRARY={BUILD / library}", BUILD / program, threads, seconds, self.log, span_us, *how
        with self.stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", *options, "--", *command), stdout=out)

    def labelled(self):
        return spans.Labelled(self.run_on(self.stream, self.stage("live-unwinder"), [pipeline.program("frame-dump")]).decode())

    def check(self, labelled, *arguments):
        self.assertEqual(len(labelled.published), 1)
        spans.check(self, labelled, self.log, *arguments)

    def test_a_variable_of_the_program(self):
        self.record("spans")
        self.check(self.labelled())

    def test_a_record_that_is_written_in_place(self):
        self.record("spans", "flag")
        self.check(self.labelled())

    def test_a_variable_of_a_library(self):
        for name in "spans-general", "spans-descriptor":
            with self.subTest(name):
                self.record(name)
                self.check(self.labelled())

    def test_a_variable_of_a_library_that_is_loaded(self):
        for name in "libspans-general.so", "libspans-descriptor.so":
            with self.subTest(name):
                self.record("spans-loaded", library=name)
                self.check(self.labelled())

    def test_waits_have_the_context_of_their_thread(self):
        for options in (), ("-a",):
            with self.subTest(options):
                for seconds in SECONDS:
                    self.record("spans", "wait", options=("--off-cpu", *options), span_us="4000", seconds=seconds)
                    labelled = self.labelled()
                    if sum(bool(context) for *_, context in labelled.stacks) > 200:
                        break
                self.check(labelled, 10, (0, spans.OFF_CPU), 4_000_000)

    def test_threads_that_publish_nothing_have_none(self):
        self.record("spans", "none")
        labelled = self.labelled()
        self.assertGreater(len(labelled.stacks), 200)
        self.assertEqual((labelled.published, labelled.contexts), ([], {}))

    def test_contexts_are_not_read_if_the_user_says_so(self):
        self.record("spans", options=("--no-contexts",))
        labelled = self.labelled()
        self.assertEqual((labelled.published, labelled.contexts), ([], {}))

    def test_a_recorded_stream_gives_the_same_twice(self):
        self.record("spans")
        first, second = (self.run_on(self.stream, self.stage("live-unwinder")) for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    sys.exit(pipeline.main())
