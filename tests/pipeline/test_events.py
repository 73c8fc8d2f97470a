# SPDX-License-Identifier: GPL-3.0-or-later
"""Several events in one recording: each has its own samples and weights, in every file."""
import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

import pages
import pipeline

PROGRAM = pipeline.BUILD / "tests" / "pipeline" / "events"
CALLS, CHILDREN, PAGES = 40, 3, 300
PROBE = f"uprobe:{PROGRAM}:probed"
PROBED = "uprobe:events:probed"
FAULTS = "exceptions:page_fault_user"
FORKS = "sched:sched_process_fork"
ARGUMENTS = (str(PROGRAM), str(CALLS), str(CHILDREN), str(PAGES))
DEFINITIONS = Path("/sys/kernel/tracing/uprobe_events")


def is_there(path):
    try:
        path.read_text()
        return True
    except OSError:
        return False


def ours():
    """Lines of tracefs that recorders have defined."""
    return [line for line in DEFINITIONS.read_text().splitlines() if line.startswith("p:stackpipe/")]


@unittest.skipUnless(is_there(DEFINITIONS), f"{pipeline.NOT_HERE} us read {DEFINITIONS}")
class Events(pipeline.RecordingTest):
    def record(self, *options, command=ARGUMENTS):
        stream = self.directory / "events.stream"
        with stream.open("wb") as out:
            self.run_well(self.source(*options, "--", *command), self.stage("live-unwinder"),
                          self.stage("symbolizer"), stdout=out)
        return stream

    def report(self, file, view, *options):
        run = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n0", f"--view={view}", *options, file],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def saved(self, stream, name):
        path = self.directory / name
        self.run_on(stream, [pipeline.program("capture-sink"), "-q", path])
        return path

    def test_each_event_has_its_samples_and_weights(self):
        stream = self.record("-s1024", f"-ecpu-clock,{FAULTS}", f"-e{FORKS}", f"-e{PROBE}")
        capture = self.saved(stream, "out.syscap")
        probed = self.report(capture, PROBED)
        self.assertEqual(probed["summary"]["sum"], CALLS + 2 * CHILDREN)
        self.assertEqual(sum(process["samples"] for process in probed["processes"]), CALLS + 2 * CHILDREN)
        self.assertEqual(len(probed["processes"]), 1 + CHILDREN)
        names = {function["function"]: function["total"] for function in probed["functions"]}
        self.assertEqual(names["probed"], CALLS + 2 * CHILDREN)
        self.assertEqual(names["call_often"], CALLS)
        self.assertEqual(names["call_once"], 2 * CHILDREN)
        self.assertEqual(names["run_thread"], CHILDREN)
        self.assertEqual(self.report(capture, FORKS)["summary"]["sum"], 2 * CHILDREN)
        faults = self.report(capture, FAULTS, "--symbol=^touch_pages$")
        self.assertEqual(faults["summary"]["sum"], PAGES)

    def test_files_say_what_the_stream_says(self):
        stream = self.record("-s1024", f"-ecpu-clock,{FAULTS}", f"-e{FORKS}", f"-e{PROBE}")
        capture, page = self.saved(stream, "out.syscap"), self.saved(stream, "out.html")
        again = self.directory / "again.html"
        self.run_well([pipeline.program("capture-source"), capture], [pipeline.program("capture-sink"), "-q", again])
        first, second = pages.read(page), pages.read(again)
        self.assertEqual(list(first.sums), ["samples", "cpu-clock", FAULTS, FORKS, PROBED])
        self.assertEqual((first.sums[FORKS], first.sums[PROBED]), (2 * CHILDREN, CALLS + 2 * CHILDREN))
        self.assertEqual({**second.sums, "cpu-clock": 0}, {**first.sums, "cpu-clock": 0})

    def test_an_option_for_each_does_the_same(self):
        stream = self.record("-s1024", "-ecpu-clock", "-epage-faults", f"-e{PROBE}", "--off-cpu")
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertIn('event number=2 kind=on-cpu unit=events name="uprobe:events:probed"', text)
        self.assertIn('event number=3 kind=off-cpu unit=nanoseconds name="off-cpu"', text)
        self.assertEqual(self.report(self.saved(stream, "out.syscap"), PROBED)["summary"]["sum"], CALLS + 2 * CHILDREN)

    def test_what_was_defined_is_taken_back(self):
        self.record("-s1024", f"-e{PROBE}")
        self.assertEqual(ours(), [])

    def test_a_killed_recorder_leaves_nothing_for_long(self):
        recording = self.start(self.source("-a", "-s1024", f"-e{PROBE}"))
        pid = recording.processes[0].pid
        pipeline.wait_for(lambda: any(f"/p{pid}_" in line for line in ours()), "the definition")
        os.kill(pid, signal.SIGKILL)
        recording.end()
        self.record("-s1024", f"-e{PROBE}")
        self.assertEqual(ours(), [])

    def test_what_is_no_event_is_told(self):
        hostile = self.directory / "hostile"
        hostile.write_bytes(PROGRAM.read_bytes()[:3000])
        for event, why in [
                (f"uprobe:{PROGRAM}:no_such", "define no such function"), (f"uprobe:{hostile}:probed", "no "),
                ("uprobe:/etc/passwd:probed", "no ELF file"), (f"uprobe:{self.directory}:x", "no ELF file"),
                ("uprobe:/dev/zero:x", "no ELF file"), ("uprobe:probed", "uprobe:FILE:SYMBOL"), ("cpu-clock,", "no event ''"),
                ("cpu-clock,cpu-clock", "two events would be called"), ("no:such", "no event"),
                (",".join(["cpu-clock"] * 17), "two events")]:
            with self.subTest(event=event):
                ended = self.start(self.source(f"-e{event}", "--", "true")).end()[0]
                self.assert_fails_in_one_line(ended, 2, why)

    def test_a_file_is_that_file_whatever_its_name(self):
        odd = self.directory / "a b:c,d"
        odd.write_bytes(PROGRAM.read_bytes())
        odd.chmod(0o700)
        stream = self.record("-s1024", f"-euprobe:{odd}:probed", command=(str(odd), "5", "0", "1"))
        self.assertEqual(self.report(self.saved(stream, "out.syscap"), "uprobe:a b:c,d:probed", "--weights")["summary"]["sum"], 5)


if __name__ == "__main__":
    pipeline.main()
