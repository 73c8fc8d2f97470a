# SPDX-License-Identifier: GPL-3.0-or-later
"""A program writes to the rings that hold its heap events: all its events are tainted, in every output."""
import gzip
import json
import subprocess

import heap
import pages
import pipeline

WAYS = ("size", "total", "tomorrow", "sampling", "lost", "untrue", "none", "back", "ahead", "unheard", "nested", "count")
FORGER = heap.PROGRAMS / "heap-forger"
SAID = "UNTRUSTED"
MARK = "heap-forger [forged-heap]"


@heap.needs_plain_stages
class Forged(pipeline.PipelineTest):
    def record(self, way):
        """The stream of a program that forges events in the given way."""
        path = self.directory / f"{way}.stream"
        command = [heap.PRELOAD, "-q", "--", FORGER, way]
        with path.open("wb") as out:
            self.run_well(command, self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"), stdout=out)
        return path

    def json(self, path):
        return json.loads(subprocess.run([pipeline.program("stackpipe"), "heap", "--json", path],
                                         stdout=subprocess.PIPE, check=True).stdout)

    def test_impossible_events_are_detected(self):
        for way in WAYS:
            with self.subTest(way=way):
                path = self.record(way)
                told = heap.Heap(path.read_bytes())
                self.assertEqual(len([text for text in told.messages if "can be trusted" in text]), 1, told.messages)
                report = self.json(path)
                self.assertEqual((report["n_forged"], report["forged"][0]["name"]), (1, "heap-forger"))
                self.assertEqual(report["lost"]["since"], 0)  # from the start of the recording
                with path.open("rb") as stdin:
                    adds_up = self.start([pipeline.program("frame-dump"), "--summary"], stdin=stdin).end()[0]
                self.assertEqual(adds_up.status, 0, adds_up)

    def test_an_honest_program_is_trusted(self):
        report = self.json(self.record("honest"))
        self.assertEqual((report["n_forged"], report["forged"]), (0, []))
        self.assertGreaterEqual(max(report["allocated"]), 1000 * 100)

    def test_every_format_shows_the_taint(self):
        stream = self.record("size")
        for name, has in {
            "out.html": lambda data: pages.unpack(data.decode())[0]["heap_forged"].startswith("heap-forger ("),
            "out.folded": lambda data: MARK.encode() in data,
            "out.pb.gz": lambda data: SAID.encode() in gzip.decompress(data),
            "out.speedscope.json": lambda data: SAID.encode() in data,
            "out.firefox.json": lambda data: SAID.encode() in data,
            "out.otlp": lambda data: MARK.encode() in data,
            "out.syscap": lambda data: b"none of them can be believed" in data,
        }.items():
            with self.subTest(format=name), stream.open("rb") as stdin:
                sink = self.run_well(self.stage("capture-sink", self.directory / name), stdin=stdin)[0]
                self.assertIn(f"{SAID}: heap-forger (", "\n".join(sink.errors))
                self.assertTrue(has((self.directory / name).read_bytes()))

    def test_a_capture_that_is_read_back_shows_the_taint(self):
        with self.record("size").open("rb") as stdin:
            self.run_well(self.stage("capture-sink", "-q", self.directory / "out.syscap"), stdin=stdin)
        report = self.json(self.directory / "out.syscap")
        self.assertEqual((report["n_forged"], report["forged"][0]["name"]), (1, "heap-forger"))


if __name__ == "__main__":
    pipeline.main()
