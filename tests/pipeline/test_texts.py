# SPDX-License-Identifier: GPL-3.0-or-later
"""Names from a target or a stream are escaped the same way in every output."""
import base64
import gzip
import json
import re
import unicodedata
import zlib

import made
import pipeline
import protobuf
import streams
from streams import make_record, numbers, string

# An escape sequence, line ends, reversed text, invisible characters, and an invalid byte.
HOSTILE = "x\x1b[31m\u202ey\u2028z\u200b\U000e0041".encode() + b"\xff"
SHOWN = r"x\u{1b}[31m\u{202e}y\u{2028}z\u{200b}\u{e0041}\x{ff}"
HELLO_EVENT_AT = 8 + 13 * 8 + 104  # after the numbers and the image server
TEXT_SIZES = 64, 64  # of the event and of the host
MESSAGE, STATS, COUNT, THREAD, CGROUP, MARK = 5, 3, 4, 9, 31, 37


def hostile(size=63, before=b""):
    """The text as a record's string, cut to `size` bytes."""
    data = before + HOSTILE[:size]
    return numbers(len(data)) + data + bytes(8 - len(data) % 8)


def bad_characters(text):
    """Characters that must not be shown, by Unicode's categories, independently of our list."""
    return {hex(ord(c)) for c in text
            if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs", "Co") and c not in "\n\t"
            or unicodedata.category(c) == "Cf" and c not in "\u00ad"} | {"U+FFFD"} & set(text)


class Texts(pipeline.PipelineTest):
    def setUp(self):
        super().setUp()
        hello, *_, end = streams.records(pipeline.SMALL_STREAM.read_bytes())
        hello = bytearray(hello)
        for i, size in enumerate(TEXT_SIZES):
            at = HELLO_EVENT_AT + sum(TEXT_SIZES[:i])
            hello[at:at + size] = HOSTILE[:size - 1].ljust(size, b"\0")
        self.stream = self.directory / "hostile.stream"
        self.stream.write_bytes(streams.between(bytes(hello), [
            make_record(made.PROCESS, numbers(made.UPID, 0, made.PID, made.SCANNED, 0) + hostile()),
            make_record(made.EVENT, numbers(0, made.ON_CPU, made.NANOSECONDS) + hostile()),
            make_record(made.IMAGE, numbers(1, 1, 0, 0, 1, 0) + hostile(before=b"/")),
            made.mapping(),
            make_record(CGROUP, numbers(made.UPID, 0) + hostile()),
            make_record(THREAD, numbers(made.UPID, 0, made.PID) + hostile()),
            make_record(made.COUNTER, numbers(1, 1) + hostile(30) * 2 + hostile(50)),
            make_record(MESSAGE, numbers(0, 1) + hostile() + hostile()),
            make_record(MARK, numbers(0, 0, made.UPID, made.PID) + hostile(22) + hostile(38) + hostile()),
            make_record(made.INLINED, numbers(1, 0x10) + hostile() + hostile() + numbers(1, 1)),
            make_record(made.SYMBOL, numbers(1, 0x10, 0, 0x100) + hostile() + hostile() + hostile() + numbers(1, 1, 0)),
            made.stack([(made.CODE + 0x10, 1), (made.CODE + 0x1000, 1)]),
            make_record(STATS, hostile() + numbers(0, 0, 1, 1)),
            make_record(COUNT, hostile() + string("no-debug-info") + hostile() + numbers(1)),
        ], end))

    def assert_clean(self, text, where):
        self.assertEqual(bad_characters(text), set(), where)

    def convert(self, form):
        path = self.directory / f"out.{form}"
        with self.stream.open("rb") as stdin:
            ended = self.run_well(self.stage("capture-sink", path), stdin=stdin)[0]
        self.assert_clean("\n".join(ended.errors), form)
        return path.read_bytes()

    def test_the_stream_is_valid(self):
        text = self.run_on(self.stream, self.stage("frame-dump")).decode()
        self.assert_clean(text, "frame-dump")
        self.assertGreaterEqual(text.count(SHOWN.replace("\\", "\\\\")), 16)
        self.assert_clean(self.run_on(self.stream, [*self.stage("frame-dump"), "--summary"]).decode(), "summary")

    def test_folded_stacks(self):
        text = self.convert("folded").decode()
        self.assert_clean(text, "folded")
        self.assertIn(f";{SHOWN}", text)

    def test_pprof(self):
        data = gzip.decompress(self.convert("pb.gz"))
        self.assertIn(SHOWN.encode(), data)
        for each in (value for _, value in protobuf.fields(data) if isinstance(value, bytes)):
            if b"\\u{202e}" in each or b"x\x1b" in each:
                self.assert_clean(each.decode(), each)
        self.assert_no_raw(data, "pprof")

    def test_otlp(self):
        data = self.convert("otlp")
        self.assertIn(SHOWN.encode(), data)
        self.assert_no_raw(data, "otlp")

    def assert_no_raw(self, data, where):
        """Checks that a file that is not all text contains no raw part of the text."""
        for part in b"x\x1b", "\u202e".encode(), "\u2028".encode(), "\U000e0041".encode():
            self.assertNotIn(part, data, where)

    def test_files_of_json(self):
        for form in "speedscope.json", "firefox.json":
            text = self.convert(form).decode()
            json.loads(text)
            self.assert_clean(text, form)
            self.assertIn(SHOWN.replace("\\", "\\\\"), text)

    def test_the_page(self):
        page = self.convert("html").decode()
        self.assertNotIn("\u202e", page)
        blocks = re.findall(r'<script type="application/octet-stream"[^>]*>\s*([^<]*)</script>', page)
        data = b"".join(zlib.decompress(base64.b64decode(block), wbits=47) for block in blocks if block.strip())
        self.assertIn(SHOWN.replace("\\", "\\\\").encode(), data)
        self.assert_no_raw(data, "html")

    def test_captures(self):
        data = self.convert("syscap")
        self.assertIn(SHOWN.encode(), data)
        self.assert_no_raw(data, "syscap")

    def test_a_capture_that_is_read_back_is_the_same(self):
        self.convert("syscap")
        capture = self.directory / "out.syscap"
        text = self.run_well(self.stage("capture-source", capture),
                             self.stage("capture-sink", "-q", "-f", "folded", "-"))[-1].output.decode()
        self.assertEqual(text, self.convert("folded").decode())

    def test_reports_on_a_terminal(self):
        self.convert("syscap")
        capture = self.directory / "out.syscap"
        for arguments in ["report", capture], ["report", "--tree", capture], ["report", "--json", capture], \
                ["diff", capture, capture], ["report", self.directory / "out.folded"]:
            if arguments[-1].suffix == ".folded":
                self.convert("folded")
            ended = self.run_well([pipeline.program("stackpipe"), *arguments])[0]
            text = ended.output.decode()
            self.assert_clean(text + "\n".join(ended.errors), arguments)
            self.assertIn("u{202e}", text, arguments)


if __name__ == "__main__":
    pipeline.main()
