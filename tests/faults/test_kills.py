# SPDX-License-Identifier: GPL-3.0-or-later
"""
Stages are killed or stopped at random moments: Sysprof reads what is left, and every sample is in it or
among the losses.

	test_kills.py [--all]

Kills 12 stages (500 with --all), sends Ctrl-C 8 times (200), and stops a consumer for 2 s (10 s).
"""
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline  # noqa: E402
import streams  # noqa: E402

ALL = "--all" in sys.argv
N_KILLS, N_CTRL_C, STOPPED_S = (500, 200, 10) if ALL else (12, 8, 2)
INTEROP = Path(__file__).resolve().parents[1] / "interop"
SYSPROF = pipeline.TOP / "build" / "sysprof-root"  # for all build directories
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"
VICTIMS = *STAGES, "image-server"
SAMPLE = 2  # a frame's type
MOMENT_S = 2.5  # after the first samples; longer than the time that may be lost


def setUpModule():
    subprocess.run([INTEROP / "fetch-sysprof", SYSPROF], check=True)


def last_sample_time(data):
    times = [struct.unpack_from("<q", frame, 8)[0] for number, frame in streams.syscap_frames(data)[0]
             if number == SAMPLE]
    return times[-1] if times else 0


class Faults(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.start_busy()
        self.out = self.directory / "out.syscap"
        self.random = random.Random(1)

    def start_all(self, *options):
        """Starts all stages; returns when the first samples have reached the file."""
        self.out.unlink(missing_ok=True)
        started = self.start(self.source("-a", *options), self.stage("live-unwinder", "-q"),
                             self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", self.out))
        pipeline.wait_for(lambda: pipeline.has_size(self.out, streams.SYSCAP_HEADER_SIZE)
                          and last_sample_time(self.out.read_bytes()), "samples")
        return started

    def wait_for_any_moment(self):
        time.sleep(self.random.random() * MOMENT_S)

    def assert_sysprof_reads(self):
        done = subprocess.run([SYSPROF / "run", "sysprof-cat", self.out], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def kill(self, started, victim):
        if victim == "image-server":
            source = started.processes[0].pid
            children = Path(f"/proc/{source}/task/{source}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)
        else:
            started.processes[STAGES.index(victim)].kill()

    def test_any_stage_is_killed_at_any_moment(self):
        lost = []
        for number in range(N_KILLS):
            victim = VICTIMS[number % len(VICTIMS)]
            with self.subTest(number=number, victim=victim):
                started = self.start_all()
                self.wait_for_any_moment()
                killed_at = time.monotonic_ns()
                self.kill(started, victim)
                if victim == "image-server":  # the other stages go on without it
                    started.signal(signal.SIGINT)
                ended = started.end()
                for stage in ended:
                    self.assertIn(stage.status, (0, 1, -signal.SIGKILL), stage)
                self.assert_sysprof_reads()
                lost.append((killed_at - last_sample_time(self.out.read_bytes())) / 1e9)
                started.close()
        print(f"{len(lost)} kills; lost at most {max(lost):.3f} s, median "
              f"{sorted(lost)[len(lost) // 2]:.3f} s; {sum(each > 1 for each in lost)} above 1 s", flush=True)
        self.assertEqual(len(lost), N_KILLS)

    def test_ctrl_c_at_any_moment(self):
        took, n_samples = [], 0
        for number in range(N_CTRL_C):
            with self.subTest(number=number):
                started = self.start_all()
                self.wait_for_any_moment()
                begun = time.monotonic()
                started.signal(signal.SIGINT)
                for stage in started.end():
                    self.assertEqual(stage.status, 0, stage)
                took.append(time.monotonic() - begun)
                n_samples += self.assert_accounted()
                self.assertGreater(streams.syscap_end_time(self.out.read_bytes()), 0)
                started.close()
        self.assert_sysprof_reads()
        print(f"{len(took)} times Ctrl-C; {max(took):.3f} s at most; {n_samples} samples, 0 unexplained", flush=True)

    def assert_accounted(self):
        """Every sample that the kernel counted is in the capture or in a named loss."""
        self.assert_stats_add_up(*STAGES)
        in_file = sum(number == SAMPLE for number, _ in streams.syscap_frames(self.out.read_bytes())[0])
        self.assertEqual(in_file, self.stats("capture-sink")["samples_in"])
        return self.stats("perf-source")["samples_in"]

    def test_a_consumer_is_stopped(self):
        for victim in STAGES[1:]:
            with self.subTest(victim):
                started = self.start_all("-F", "5000", "-m", "512K")
                process = started.processes[STAGES.index(victim)]
                process.send_signal(signal.SIGSTOP)
                time.sleep(STOPPED_S)
                process.send_signal(signal.SIGCONT)
                started.signal(signal.SIGINT)
                for stage in started.end():
                    self.assertEqual(stage.status, 0, stage)
                n = self.assert_accounted()
                lost = sum(self.stats("perf-source")["dropped"].values())
                self.assertGreater(lost, STOPPED_S * 1000)
                print(f"{victim} stopped for {STOPPED_S} s: {n} samples, {lost} lost, 0 unexplained", flush=True)


if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each != "--all"]
    pipeline.main()
