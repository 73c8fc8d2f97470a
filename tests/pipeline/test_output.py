# SPDX-License-Identifier: GPL-3.0-or-later
"""capture-sink leaves complete frames, also when the disk is full or it is killed."""
import random
import signal
import subprocess

import pipeline
import streams

N_KILLS = 5
GROWTH_MAX = 100_000  # bytes of growth within which a kill is worth trying
PAGE = 4096
DISK_PAGES = 256


@pipeline.needs_root
class FullDisk(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.disk = self.directory / "disk"
        self.disk.mkdir()
        size = f"size={DISK_PAGES * PAGE}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def leave_pages(self, n):
        (self.disk / "filler").write_bytes(bytes((DISK_PAGES - n) * PAGE))

    def capture(self, stream, name):
        """Writes a recorded stream to the full disk; returns the file's content."""
        path = self.disk / name
        with stream.open("rb") as stdin:
            ended = self.start(self.stage("capture-sink", "-q", path), stdin=stdin).end()[0]
        self.assert_fails_in_one_line(ended, text="No space left on device")
        data = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        return data

    def test_a_capture_ends_with_a_complete_frame(self):
        stream = self.record(self.directory / "stream", self.stage("live-unwinder"),
                             self.stage("symbolizer"))
        for n_pages in 1, 3, 8:
            with self.subTest(pages=n_pages):
                self.leave_pages(n_pages)
                data = self.capture(stream, "out.syscap")
                self.assertLessEqual(len(data), n_pages * PAGE)
                frames, n_cut = streams.syscap_frames(data)
                self.assertEqual(n_cut, 0)
                self.assertGreater(len(frames), 0)

    def test_an_empty_file_is_removed(self):
        stream = self.record(self.directory / "stream", self.stage("live-unwinder"),
                             self.stage("symbolizer"))
        self.leave_pages(0)
        self.assertIsNone(self.capture(stream, "out.folded"))

    def test_ends_a_live_pipeline(self):
        self.leave_pages(2)
        *stages, sink = self.start(
            self.source("-a"), self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", self.disk / "out.syscap")).end()
        self.assert_fails_in_one_line(sink, text="No space left on device")
        for stage in stages:
            self.assert_fails_in_one_line(stage, text="next stage has exited")

    def test_ends_a_recording_of_a_stream(self):
        for source in (["-d", "0.1"], ["--", "true"]):
            with open("/dev/full", "wb") as full:
                ended = self.start(self.source(*source), stdout=full).end()[0]
            self.assert_fails_in_one_line(ended, text="No space left on device")


class KilledSink(pipeline.RecordingTest):
    def test_a_readable_capture_is_left(self):
        self.start_busy()
        chosen = random.Random(1)
        for number in range(N_KILLS):
            with self.subTest(number=number):
                self.kill_sink(self.directory / f"{number}.syscap", chosen.randrange(GROWTH_MAX))

    def kill_sink(self, path, growth):
        """Kills the sink when the capture has grown by that much since its first frames."""
        started = self.start(self.source("-a", "-F", "4999"), self.stage("live-unwinder", "-q"),
                             self.stage("symbolizer", "-q"), self.stage("capture-sink", path))
        size = streams.SYSCAP_HEADER_SIZE + 1 + growth
        pipeline.wait_for(lambda: pipeline.has_size(path, size), f"{size} bytes of capture")
        started.processes[-1].kill()
        *stages, sink = started.end()
        self.assertEqual(sink.status, -signal.SIGKILL)
        for stage in stages:
            self.assert_fails_in_one_line(stage, text="next stage has exited")
        self.assert_parses(path.read_bytes())

    def assert_parses(self, data):
        """Complete frames; a last one may be truncated only at a page, where the kernel stopped copying."""
        frames, n_cut = streams.syscap_frames(data)
        self.assertGreater(len(frames), 0)
        if n_cut:
            self.assertEqual(len(data) % PAGE, 0)


if __name__ == "__main__":
    pipeline.main()
