# SPDX-License-Identifier: GPL-3.0-or-later
"""The times at which the kernel dropped events are in every format that has a place for them."""
import base64
import json
import struct
import zlib

import pipeline
import streams

SYMBOLIZED = pipeline.TOP / "tests" / "data" / "small.symbolized.stream"
LOST = 18
LATER_NS = 25_000_000  # after the stream's start, which is in its hello
START_TIME_AT = streams.RECORD_HEADER.size + 4 * 8


class Losses(pipeline.PipelineTest):
    def setUp(self):
        super().setUp()
        data = SYMBOLIZED.read_bytes()
        start = struct.unpack_from("<Q", data, START_TIME_AT)[0]
        lost = [streams.make_record(LOST, struct.pack("<QQQ", start + i * LATER_NS, 0, 10 * i)) for i in (2, 1)]
        for record in lost:
            data = streams.with_record_behind_hello(data, record)
        self.stream = self.directory / "lossy.stream"
        self.stream.write_bytes(data)

    def convert(self, name, stream):
        out = self.directory / name
        self.run_on(stream, self.stage("capture-sink", "-q", "--force", out))
        return out.read_bytes()

    def test_firefox_has_markers(self):
        threads = json.loads(self.convert("out.firefox.json", self.stream))["threads"]
        times = {tuple(thread["markers"]["startTime"]) for thread in threads if thread["markers"]["length"]}
        self.assertEqual(times, {(25.0, 50.0)})

    def page(self, stream):
        """The header of a page's data, and the size of the numbers after it."""
        packed = self.convert("out.html", stream).split(b'id="data">', 1)[1].split(b"</script>", 1)[0]
        data = zlib.decompress(base64.b64decode(packed))
        size, = struct.unpack_from("<I", data)
        return json.loads(data[4:4 + size]), len(data) - size

    def test_a_page_has_them(self):
        (whole, size), (lossy, larger) = self.page(SYMBOLIZED), self.page(self.stream)
        self.assertEqual((whole["losses"], lossy["losses"]), (0, 2))
        self.assertGreater(larger, size)

    def test_a_capture_has_log_entries(self):
        capture = self.convert("out.syscap", self.stream)
        for n in (10, 20):
            self.assertIn(b"%d events" % n, capture)


if __name__ == "__main__":
    pipeline.main()
