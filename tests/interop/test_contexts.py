# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs publish is the same in every format that has a place for it, and read back from a capture."""
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.append(str(SOURCE.parent / "pipeline"))
import pipeline  # noqa: E402 (the other tests' helpers)
import pypi  # noqa: E402
import reading  # noqa: E402
import spans  # noqa: E402

FETCHED = SOURCE.parent.parent / "build" / "interop"  # for all build directories
SCHEMA = FETCHED / "opentelemetry-proto.deb"
SDK_SPANS = SOURCE.parent / "programs" / "sdk-spans.py"
# No agent listens there: its spans are dropped.
SDK_SETTINGS = "DD_SERVICE=shop", "DD_TRACE_AGENT_URL=http://127.0.0.1:1", "DD_INSTRUMENTATION_TELEMETRY_ENABLED=false"
SPANS = pipeline.BUILD / "tests" / "pipeline" / "spans"
TRACE = re.compile(r'(?m)^trace_context number=(\d+) process=\d+ trace_id="(\w*)" span_id="(\w*)"')
NONE = "0" * 32, "0" * 16


@pipeline.needs_root
class Contexts(pipeline.RecordingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        refusal = reading.refusal()
        if refusal:
            cls.skipTest(cls, refusal)

    def setUp(self):
        super().setUp()
        self.stream = self.directory / "spans.stream"
        with self.stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", "--", SPANS, "2", "2", self.directory / "log", "200000"),
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        text = self.run_on(self.stream, [pipeline.program("frame-dump")]).decode()
        ids = {number: (trace, span) for number, trace, span in TRACE.findall(text)}
        self.expected = collections.Counter(
            ids.get(number, NONE) for number in re.findall(r"(?m)^stack .* trace_context=(\d+)$", text))
        self.assertGreater(len(self.expected), 3)

    def written(self, ending):
        path = self.directory / f"out.{ending}"
        self.run_on(self.stream, self.stage("capture-sink", "-q", path))
        return path

    def report(self, path, *options):
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n", "0", *options, path],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def labels(self, path, what):
        return {row["name"]: row["samples"] for row in self.report(path, f"--by={what}")["labels"]}

    def test_reports_of_streams_and_captures(self):
        capture = self.written("syscap")
        traces = {trace if trace != NONE[0] else "": n for (trace, _), n in self.expected.items()}
        spans = {span if span != NONE[1] else "": n for (_, span), n in self.expected.items()}
        for path in self.stream, capture:
            with self.subTest(path.suffix):
                self.assertEqual(self.labels(path, "trace"), traces)
                self.assertEqual(self.labels(path, "span"), spans)
                self.assertEqual(self.labels(path, "service"), {"spans": self.expected.total()})
                routes = self.labels(path, "attribute:route")
                self.assertEqual(sorted(routes.values()), sorted(traces.values()))
                self.assertEqual(self.labels(path, "attribute:service.name"), {"spans": self.expected.total()})

    def test_a_report_of_one_trace(self):
        (trace, span), n = max((each for each in self.expected.items() if each[0] != NONE), key=lambda each: each[1])
        for condition in f"trace={trace}", f"span=^{span}$":
            summary = self.report(self.stream, f"--where={condition}")["summary"]
            self.assertEqual(summary["looked_at"], n)
        both = self.report(self.stream, f"--where=trace={trace}", "--where=service=^shop$")["summary"]
        self.assertEqual(both["looked_at"], 0)

    def test_otlp_has_links_attributes_and_a_resource(self):
        if subprocess.run([SOURCE / "fetch-otlp", SCHEMA], check=False).returncode:
            self.skipTest("OpenTelemetry's schema cannot be fetched")
        path, reader = self.written("otlp"), ["/usr/bin/python3", SOURCE / "otlp.py"]
        samples = json.loads(subprocess.run([*reader, "--samples", SCHEMA, path], stdout=subprocess.PIPE, check=True).stdout)
        found = collections.Counter()
        for sample in samples:
            found[sample["trace"], sample["span"]] += sample["n"]
            self.assertEqual("route" in sample["attributes"], sample["trace"] != NONE[0])
        self.assertEqual(found, self.expected)
        resources = json.loads(subprocess.run([*reader, "--resources", SCHEMA, path], stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual([each["attributes"]["service.name"] for each in resources], ["spans"])

    def test_pprof_has_labels(self):
        raw = subprocess.run(["go", "tool", "pprof", "-raw", self.written("pb.gz")], capture_output=True, check=False)
        if raw.returncode:
            self.skipTest("Go's pprof is missing")
        found = collections.Counter()
        for sample in re.split(r"\n(?= +\d+ +\d+: )", raw.stdout.decode().split("Locations")[0])[1:]:
            label = {key: value for key, value in re.findall(r"(\w+):\[(\w*)\]", sample)}
            found[label.get("trace_id", NONE[0]), label.get("span_id", NONE[1])] += int(sample.split()[0])
            self.assertEqual(label.get("route") is not None, "trace_id" in label)
        self.assertEqual(found, self.expected)


@pipeline.needs_root
class Sdk(pipeline.RecordingTest):
    """A released SDK publishes its spans by itself."""

    def test_spans_of_a_released_sdk(self):
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)
        path, log, stream = pypi.fetch("ddtrace", FETCHED), self.directory / "log", self.directory / "sdk.stream"
        command = "env", f"PYTHONPATH={path}", *SDK_SETTINGS, sys.executable, SDK_SPANS, "4", log
        with stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", "--", *command), self.stage("live-unwinder"), stdout=out)
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertIn('key="service.name" value="shop"', text)
        labelled = spans.Labelled(text)
        begun = min(time for _, time, *_, context in labelled.stacks if context)
        n = collections.Counter()
        in_spans = [line.split() for line in log.read_text().splitlines()]
        for _, time, tid, _, context in labelled.stacks:
            for of, began, ended, span in in_spans:
                if tid == int(of) and int(began) <= time <= int(ended) and time > begun:
                    n["right" if context and context.span == span else "wrong" if context else "missing"] += 1
        self.assertGreater(n["right"], 100, n)
        self.assertEqual((n["wrong"], n["missing"]), (0, 0), n)


if __name__ == "__main__":
    sys.exit(pipeline.main())
