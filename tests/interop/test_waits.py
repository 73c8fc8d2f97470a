# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasons and wakers of waits are the same in all formats that can hold them."""
import json
import re
import shutil
import subprocess
import sys
import unittest
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.insert(0, str(SOURCE.parent / "pipeline"))
import pipeline  # noqa: E402

pipeline.mount_tracefs()

WAITS = pipeline.BUILD / "tests" / "pipeline" / "waits"
SCHEMA = SOURCE.parent.parent / "build" / "interop" / "opentelemetry-proto.deb"
WAITER = "for-pipe"  # a thread whose waits end when another thread writes
ROUNDS = "40"
PREEMPTED = "the CPU (preempted)"


def of_pprof(path):
    """{(thread, reason, waker): nanoseconds}; the next two functions return the same."""
    raw = subprocess.run(["go", "tool", "pprof", "-raw", path], text=True, capture_output=True, check=True).stdout
    types = re.search(r"(?m)^(samples/count.*)$", raw)[1].split()
    column = [each.split("[")[0] for each in types].index("off-cpu/nanoseconds")
    waits = defaultdict(int)
    for values, labels in re.findall(r"(?m)^([ \d]+): [ \d]*\n((?: {16}.*\n)+)", raw):
        labels = dict(re.findall(r"(\w+):\[(.*?)\]", labels))
        waits[labels["thread"], labels.get("wait"), labels.get("waker")] += int(values.split()[column])
    return waits


def of_otlp(path):
    done = subprocess.run(["/usr/bin/python3", SOURCE / "otlp.py", "--samples", SCHEMA, path], stdout=subprocess.PIPE,
                          check=True)
    waits = defaultdict(int)
    for sample in json.loads(done.stdout):
        if sample["type"] == "off_cpu":
            attributes = sample["attributes"]
            waits[attributes["thread.name"], attributes.get("stackpipe.wait"),
                  attributes.get("stackpipe.waker.name")] += sample["n"]
    return waits


def of_firefox(path):
    profile = json.loads(path.read_text())
    waits = defaultdict(int)
    for thread in profile["threads"]:
        if not thread["name"].endswith(" (off-cpu)"):
            continue
        markers = thread["markers"]
        for data, begin, end in zip(markers["data"], markers["startTime"], markers["endTime"]):
            if data and data["type"] == "Wait":
                waker = data.get("waker", "").rpartition(" ")[0]
                waits[thread["name"].removesuffix(" (off-cpu)"), data["reason"] or None, waker or None] += \
                    data.get("standsFor") or (end - begin) * 1e6
    return waits


@pipeline.needs_root
class WaitsInFormats(pipeline.RecordingTest):
    threshold_us = 1

    def setUp(self):
        super().setUp()
        if not Path("/sys/kernel/btf/vmlinux").exists():
            self.skipTest(f"{pipeline.NOT_HERE} it be known who ends a wait")
        self.stream = self.directory / "waits.stream"
        with self.stream.open("wb") as out:
            self.run_well(self.source("-a", f"--off-cpu={self.threshold_us}", "--scheduler", "--", WAITS, self.directory / "read", ROUNDS),
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)

    def written(self, name):
        path = self.directory / f"out.{name}"
        self.run_on(self.stream, self.stage("capture-sink", path))
        return path

    def report(self, path):
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n0", "--view=off-cpu",
                               f"--thread=^{WAITER}$", path], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def check(self, waits, slack_ns=0):
        """The report and a format agree about the thread."""
        report = self.report(self.stream)
        expected = {row["name"]: row["samples"] for row in report["waited_for"]}
        expected["preempted"] = expected.pop(PREEMPTED, 0)
        found = defaultdict(int)
        for (thread, reason, _), n in waits.items():
            if thread == WAITER:
                found[reason] += n
        for reason in "read", "preempted":
            self.assertLessEqual(abs(found[reason] - expected[reason]), slack_ns, (reason, found, expected))
        self.assertGreater(expected["read"], 10e6)  # on a busy machine most bytes are there before they are waited for
        woken = sum(n for (thread, _, waker), n in waits.items() if thread == WAITER and waker == "waits")
        self.assertLessEqual(abs(woken - report["woken_by"][0]["samples"]), slack_ns, waits)

    def test_pprof_has_labels(self):
        if not shutil.which("go"):
            self.skipTest("go is not installed")
        self.check(of_pprof(self.written("pb.gz")))

    def test_otlp_has_attributes_and_all_views(self):
        if subprocess.run([SOURCE / "fetch-otlp", SCHEMA], check=False).returncode:
            self.skipTest("OpenTelemetry's schema is not installed, and cannot be had")
        self.check(of_otlp(self.written("otlp")))

    def test_firefox_has_markers_and_all_views(self):
        path = self.written("firefox.json")
        self.check(of_firefox(path), slack_ns=int(ROUNDS) * 5 * 2000)  # its times are in microseconds
        profile = json.loads(path.read_text())
        views = {thread["name"]: thread["samples"] for thread in profile["threads"] if thread["name"].startswith(WAITER)}
        # When it exits it may wake the thread that joins it.
        self.assertEqual(set(views) - {f"{WAITER} (wakeups)"}, {WAITER, f"{WAITER} (off-cpu)", f"{WAITER} (wall-clock)"})
        self.assertEqual(views[WAITER]["length"] + views[f"{WAITER} (off-cpu)"]["length"],
                         views[f"{WAITER} (wall-clock)"]["length"])
        marks = profile["threads"][0]["markers"]
        self.assertIn("scheduler", {data["group"] for data in marks["data"] if data and data["type"] == "Mark"})

    def test_a_capture_is_read_back_with_them(self):
        of_stream, of_capture = self.report(self.stream), self.report(self.written("syscap"))
        self.assertTrue(of_stream["woken_by"])
        for what in "waited_for", "woken_by":
            self.assertEqual(of_stream[what], of_capture[what])


class SampledWaitsInFormats(WaitsInFormats):
    """All waits are below the threshold: a recorded one also stands for others."""
    threshold_us = 20000


if __name__ == "__main__":
    pipeline.main()
