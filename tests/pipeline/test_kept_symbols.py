# SPDX-License-Identifier: GPL-3.0-or-later
"""What the symbolizer has found in files is kept for the next one, and changes nothing but its speed."""
import os
import shutil
import signal
from unittest import mock

import pipeline


class KeptSymbols(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        if not os.major(os.stat(pipeline.CHAIN).st_dev):
            self.skipTest("the build tree's file system has no device of its own")
        self.home = self.directory / "cache"
        environment = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.home)})
        environment.start()
        self.addCleanup(environment.stop)
        self.stream = self.directory / "unwound.stream"

    def kept(self):
        return sorted((self.home / "stackpipe" / "symbols").glob("*.symbols"))

    def record_until_kept(self, *options):
        """Records a busy program by a live pipeline until the symbolizer has kept all that it has read."""
        busy = self.start_busy()
        recording = self.start(self.source("-p", str(busy.pid)), self.stage("live-unwinder"),
                               ["tee", self.stream], self.stage("symbolizer", *options))
        pipeline.wait_for(self.kept, "kept symbols")
        recording.processes[0].send_signal(signal.SIGINT)
        recording.end()

    def symbolized(self, *options):
        return self.run_on(self.stream, self.stage("symbolizer", "-q", *options))

    def count_from_disk(self):
        return self.stats("symbolizer")["symbols"]["from-disk"]

    def test_the_next_run_is_the_same_without_reading_files(self):
        self.record_until_kept()
        self.assertEqual(self.count_from_disk(), 0)
        expected = self.symbolized("--no-cache")
        self.assertEqual(self.count_from_disk(), 0)
        self.assertEqual(self.symbolized(), expected)
        self.assertGreaterEqual(self.count_from_disk(), 1)

    def test_what_is_damaged_is_ignored(self):
        self.record_until_kept()
        expected = self.symbolized("--no-cache")
        for file in self.kept():
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
        self.assertEqual(self.symbolized(), expected)
        self.assertEqual(self.count_from_disk(), 0)

    def test_what_is_of_another_program_is_ignored(self):
        self.record_until_kept()
        expected = self.symbolized("--no-cache")
        of_program, = self.kept()[:1]
        other = self.directory / "other"
        self.stream, chain = self.directory / "other.stream", self.stream
        self.home, home = other, self.home
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(other)}):
            self.record_until_kept("--no-inlines")
        shutil.copyfile(self.kept()[0], of_program)
        self.stream, self.home = chain, home
        self.assertEqual(self.symbolized(), expected)

    def test_a_cache_that_is_no_directory_is_none(self):
        self.record(self.stream, self.stage("live-unwinder"))
        for home in "/dev/null", "/proc/self", "x" * 5000:
            with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": home}):
                self.symbolized()

    def test_nothing_is_written_without_a_cache(self):
        self.record(self.stream, self.stage("live-unwinder", "--no-cache"), self.stage("symbolizer", "--no-cache"))
        self.assertEqual(self.kept(), [])


if __name__ == "__main__":
    pipeline.main()
