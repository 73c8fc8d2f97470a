# SPDX-License-Identifier: GPL-3.0-or-later
"""Pipelines are stopped by the user, by a reader that closes its input, or by a killed stage."""
import os
import signal

import pipeline
import streams

FLUSHED = streams.SYSCAP_HEADER_SIZE + 1  # a capture of this size has its first frames
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"


class StoppingTest(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.start_busy()
        self.out = self.directory / "out.syscap"

    def start_capture(self, *commands, **options):
        """A running pipeline; its first frames have reached the file."""
        started = self.start(*commands, self.stage("capture-sink", self.out), **options)
        pipeline.wait_for(lambda: pipeline.has_size(self.out, FLUSHED), "the first frames")
        return started

    def start_all_stages(self):
        started = self.start_capture(self.source("-a"), self.stage("live-unwinder", "-q"),
                                     self.stage("symbolizer", "-q"))
        self.wait_for_samples()
        return started

    def wait_for_samples(self):
        """A recording that is stopped before its first sample leaves no capture."""
        self.start_busy()
        pipeline.wait_for(lambda: self.out.exists() and any(
            number == streams.SYSCAP_SAMPLE for number, _ in streams.syscap_frames(self.out.read_bytes())[0]), "samples")

    def read_capture(self):
        """The capture's bytes, which are complete frames to the end."""
        data = self.out.read_bytes()
        self.assertEqual(streams.syscap_frames(data)[1], 0)
        return data

    def assert_capture_is_incomplete(self, ended):
        """The sink kept what it got, and reports that it is incomplete."""
        self.assertEqual(ended[-1].status, 1, ended[-1])
        self.assertIn("INCOMPLETE", "\n".join(ended[-1].errors))
        self.assertIn(b"incomplete", self.read_capture())


class Signals(StoppingTest):
    def assert_ends_well(self, started):
        ended = started.end()
        for stage in ended:
            self.assertEqual(stage.status, 0, stage)
        self.assertIn("samples in", ended[-1].errors[0])
        self.assertNotIn("INCOMPLETE", ended[-1].errors[0])
        self.assert_stats_add_up(*STAGES)
        self.assertGreater(self.stats("capture-sink")["samples_in"], 0)
        capture = self.read_capture()
        self.assertIn(b"__symbols__", capture)
        self.assertNotIn(b"incomplete", capture)
        self.assertGreater(streams.syscap_end_time(capture), 0)

    def test_of_the_terminal_end_cleanly(self):
        started = self.start_all_stages()
        started.signal(signal.SIGINT)
        self.assert_ends_well(started)

    def test_of_the_system_end_cleanly(self):
        started = self.start_all_stages()
        started.signal(signal.SIGTERM)
        self.assert_ends_well(started)

    def test_to_the_source_alone_end_cleanly(self):
        started = self.start_all_stages()
        started.processes[0].send_signal(signal.SIGTERM)
        self.assert_ends_well(started)

    def source_of_command(self):
        return self.source("--", pipeline.CHAIN, "once", "1000000")

    def test_are_forwarded_to_the_command(self):
        started = self.start(self.source_of_command(), self.stage("capture-sink", self.out))
        pipeline.wait_for(lambda: "chain" in pipeline.children_of(started.processes[0]),
                          "the command")
        started.signal(signal.SIGINT)
        statuses = [stage.status for stage in started.end()]
        self.assertEqual(statuses, [128 + signal.SIGINT, 0])
        self.assertNotIn(b"incomplete", self.read_capture())

    def test_are_forwarded_before_the_command_runs(self):
        """It runs after the host's files were written, which are not read before the signal."""
        read_end, write_end = os.pipe()
        with os.fdopen(write_end, "wb") as stdout:
            started = self.start(self.source_of_command(), stdout=stdout)
        source = started.processes[0]
        pipeline.wait_for(lambda: pipeline.is_output_full(source), "a full pipe")
        self.assertNotIn("chain", pipeline.children_of(source))
        started.signal(signal.SIGINT)
        pipeline.wait_for(lambda: pipeline.has_taken_signals(source), "a signal's handler")
        with os.fdopen(read_end, "rb") as stdin:
            sink = self.start(self.stage("capture-sink", "-q", self.out), stdin=stdin)
        self.assertEqual(started.end()[0].status, 128 + signal.SIGINT)
        ended = sink.end()[0]
        self.assertEqual((ended.status, ended.errors), (0, []))

    def interrupt(self, processes):
        """Sends SIGINT, and waits until it was handled, so that a second one is not merged with it."""
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            pipeline.wait_for(lambda: pipeline.has_taken_signals(process), "a signal's handler")

    def assert_ignore_one_and_obey_two(self, processes):
        self.interrupt(processes)
        self.assertEqual([process.poll() for process in processes], [None] * len(processes))
        for process in processes:  # one by one: the exit of a stage affects its neighbours
            process.send_signal(signal.SIGINT)
            process.wait(pipeline.PATIENCE_S)

    def test_given_twice_end_the_wait_for_a_reader(self):
        started = self.start_capture(self.source("-a", "-F", "4999"),
                                     self.stage("live-unwinder", "-q"))
        *writers, sink = started.processes
        self.wait_for_samples()
        sink.send_signal(signal.SIGSTOP)
        pipeline.wait_for(lambda: all(map(pipeline.is_output_full, writers)), "full pipes")
        self.assert_ignore_one_and_obey_two(writers)
        sink.send_signal(signal.SIGCONT)
        ended = started.end()
        for stage in ended[:-1]:
            self.assert_fails_in_one_line(stage, text="stopped")
        self.assert_capture_is_incomplete(ended)

    def test_given_twice_end_the_wait_for_a_writer(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        os.write(write_end, streams.records(pipeline.SMALL_STREAM.read_bytes())[0])
        with os.fdopen(read_end, "rb") as stdin:
            started = self.start_capture(self.stage("live-unwinder"), stdin=stdin)
        self.assert_ignore_one_and_obey_two(started.processes)
        ended = started.end()
        self.assert_fails_in_one_line(ended[0], text="stopped")
        self.assertEqual(ended[-1].status, 1, ended[-1])
        self.assertFalse(self.out.exists(), "no sample was recorded")


class ClosedPipes(StoppingTest):
    """A stage exits; the others detect it, report it and exit by themselves."""

    def test_the_reader_of_the_source(self):
        source, _ = self.start(self.source("-a"), ["head", "-c", "100000"]).end()
        self.assert_fails_in_one_line(source, text="next stage has exited")

    def test_the_reader_of_a_filter(self):
        *stages, _ = self.start(self.source("-a"), self.stage("live-unwinder", "-q"),
                                self.stage("symbolizer", "-q"), ["head", "-c", "100"]).end()
        for stage in stages:
            self.assert_fails_in_one_line(stage, text="next stage has exited")

    def test_the_reader_of_a_recorded_command(self):
        source, _ = self.start(self.source("--", pipeline.CHAIN, "once", "1000000"),
                               ["head", "-c", "100"]).end()
        self.assert_fails_in_one_line(source, text="next stage has exited")

    def test_each_stage_killed(self):
        for number, name in enumerate(STAGES[:-1]):
            with self.subTest(killed=name):
                started = self.start_all_stages()
                started.processes[number].kill()
                self.assert_others_end(started.end(), number)
                self.out.unlink()

    def assert_others_end(self, ended, killed):
        """Stages before the killed one have no reader; stages after it get a stream without an end. All report it."""
        for stage in ended[:killed]:
            self.assert_fails_in_one_line(stage, text="next stage has exited")
        self.assertEqual(ended[killed].status, -signal.SIGKILL)
        self.assertIn("no end", ended[killed + 1].errors[0])
        for stage in ended[killed + 1:-1]:
            self.assert_fails_in_one_line(stage)
        self.assert_capture_is_incomplete(ended)


if __name__ == "__main__":
    pipeline.main()
