# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reader of captures detects a truncated capture, wherever it was truncated."""
import struct

import accounting
import pipeline
import streams

SYMBOLIZED = pipeline.TOP / "tests" / "data" / "small.symbolized.stream"
METADATA = 11
LAST_ID_AT = 216  # in the header: the id of the metadata in the last frame
LAST_INDEX_AT = 88
OURS = b"stackpipe."
IS_INCOMPLETE = "is incomplete"


def joined(header, frames):
    return header + b"".join(data for _, data in frames)


def is_ours(frame):
    number, data = frame
    return number == METADATA and data[streams.SYSCAP_FRAME.size:].startswith(OURS)


def of_sysprof(header):
    """The header without the fields that Sysprof does not write."""
    return header[:LAST_ID_AT] + bytes(len(header) - LAST_ID_AT)


class Cut(pipeline.PipelineTest):
    def setUp(self):
        super().setUp()
        whole = self.directory / "whole.syscap"
        self.run_on(SYMBOLIZED, self.stage("capture-sink", "-q", whole))
        data = whole.read_bytes()
        self.header = data[:streams.SYSCAP_HEADER_SIZE]
        self.frames, n_cut = streams.syscap_frames(data)
        self.assertEqual(n_cut, 0)
        self.path = self.directory / "some.syscap"

    def read(self, data, *command):
        """How a reader of captures exits when it reads these bytes."""
        self.path.write_bytes(data)
        return self.start([*(command or self.stage("capture-source")), self.path]).end()[0]

    def account(self, ended):
        """The independent reader's account of capture-source's output."""
        stream = self.directory / "read.stream"
        stream.write_bytes(ended.output)
        return accounting.of_stream(stream)

    def assert_is_whole(self, data):
        ended = self.read(data)
        self.assertEqual((ended.status, ended.errors), (0, []), ended)
        told = self.account(ended)
        self.assertTrue(told["is_whole"] and told["adds_up"], told)

    def test_truncated_after_each_frame(self):
        for n in range(len(self.frames)):
            with self.subTest(frames=n):
                ended = self.read(joined(self.header, self.frames[:n]))
                self.assert_fails_in_one_line(ended, text="its end is missing")
                self.assertFalse(self.account(ended)["is_whole"])
        self.assert_is_whole(joined(self.header, self.frames))

    def test_truncated_in_the_header_or_a_frame(self):
        data = joined(self.header, self.frames)
        self.assert_fails_in_one_line(self.read(data[:-8]), text=IS_INCOMPLETE)
        for size in (0, 8, streams.SYSCAP_HEADER_SIZE - 8):
            self.assertEqual(self.read(data[:size] or b"\0").status, 1)

    def test_data_after_the_end(self):
        self.assert_fails_in_one_line(self.read(joined(self.header, self.frames + self.frames[-2:-1])),
                                      text="its end is missing")

    def test_each_reader_reports_it(self):
        cut = joined(self.header, self.frames[:-1])
        stackpipe = pipeline.program("stackpipe")
        for arguments in (["report"], ["report", "--json"], ["diff", self.directory / "whole.syscap"]):
            ended = self.read(cut, stackpipe, *arguments)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(IS_INCOMPLETE, "\n".join(ended.errors))
        for name in ("out.html", "out.pb.gz", "out.syscap", "out.folded"):
            self.path.write_bytes(cut)
            ended = self.start([stackpipe, "convert", "-q", self.path, self.directory / name]).end()[0]
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(IS_INCOMPLETE, "\n".join(ended.errors))

    def test_outputs_of_a_cut_stream_are_incomplete(self):
        self.path.write_bytes(joined(self.header, self.frames[:-1]))
        copy = self.directory / "copy.syscap"
        self.start([pipeline.program("stackpipe"), "convert", "-q", self.path, copy]).end()
        self.assert_fails_in_one_line(self.read(copy.read_bytes()), text="its recording ended early")

    def test_captures_of_sysprof_have_no_end_mark(self):
        frames = [frame for frame in self.frames if not is_ours(frame)]
        for n in range(0, len(frames) + 1, 7):
            with self.subTest(frames=n):
                self.assert_is_whole(joined(of_sysprof(self.header), frames[:n]))

    def test_the_last_index_of_sysprof_must_exist(self):
        header = bytearray(of_sysprof(self.header))
        frames = [frame for frame in self.frames if not is_ours(frame)]
        data = joined(bytes(header), frames)
        for at, is_there in ((len(data) - 8, True), (len(data), False), (1 << 63, False)):
            struct.pack_into("<Q", header, LAST_INDEX_AT, at)
            ended = self.read(joined(bytes(header), frames))
            self.assertEqual(ended.status, 0 if is_there else 1, ended)

    def test_a_capture_of_an_older_release(self):
        self.assert_is_whole(joined(of_sysprof(self.header), self.frames))
        self.assert_fails_in_one_line(self.read(joined(of_sysprof(self.header), self.frames[:-1])),
                                      text="its end is missing")

    def test_a_capture_in_a_pipe_has_the_same_end(self):
        self.assert_is_whole(self.run_on(SYMBOLIZED, self.stage("capture-sink", "-q", "-f", "syscap", "-")))


if __name__ == "__main__":
    pipeline.main()
