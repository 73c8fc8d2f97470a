# SPDX-License-Identifier: GPL-3.0-or-later
"""Several events in one recording: each has its own samples and weights, in every file."""
import json
import os
import re
import shutil
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
DEFINITIONS = pipeline.TRACEFS / "uprobe_events"
pipeline.mount_tracefs()


def is_there(path):
    try:
        path.read_text()
        return True
    except OSError:
        return False


def is_recording(pid):
    """Whether it has dropped the capabilities that it needs only at start, and waits for the rings in poll."""
    status = Path(f"/proc/{pid}/status").read_text()
    has_begun = bin(int(re.search(r"CapEff:\s+(\S+)", status)[1], 16)).count("1") < 10
    return has_begun and Path(f"/proc/{pid}/syscall").read_text().split()[0] == str(POLL)


def ours():
    """Lines of tracefs that recorders defined."""
    return [line for line in DEFINITIONS.read_text().splitlines() if line.startswith("p:stackpipe/")]


needs_tracefs = unittest.skipUnless(is_there(DEFINITIONS), f"{pipeline.NOT_HERE} us read {DEFINITIONS}")


@needs_tracefs
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
        self.assertEqual(names["call_one_time"], 2 * CHILDREN)
        self.assertEqual(names["run_thread"], CHILDREN)
        self.assertEqual(self.report(capture, FORKS)["summary"]["sum"], 2 * CHILDREN)
        faults = self.report(capture, FAULTS, "--symbol=^touch_pages$")
        self.assertEqual(faults["summary"]["sum"], PAGES)

    def test_every_nth_occurrence_is_sampled(self):
        calls = CALLS + 2 * CHILDREN
        for n, event, least in ((1, "page-faults", PAGES), (10, "page-faults", PAGES - 10),
                                (7, PROBE, calls - 6 * (1 + 2 * CHILDREN))):
            with self.subTest(event, n=n):
                text = self.run_on(self.record(f"-e{event}", f"-c{n}"), [pipeline.program("frame-dump")]).decode()
                weights = [int(weight) for weight in re.findall(r"(?m)^stack .* weight=(\d+) ", text)]
                self.assertEqual(set(weights), {n})
                self.assertGreaterEqual(sum(weights), least)

    def test_a_count_that_would_take_all_cpu_time_is_raised(self):
        ended = self.run_well([pipeline.program("perf-source"), "-ecpu-clock", "-c1000", "--", "true"],
                              stdout=subprocess.DEVNULL)
        self.assertIn("using 50000", "".join(ended[0].errors))

    def test_files_agree_with_the_stream(self):
        stream = self.record("-s1024", f"-ecpu-clock,{FAULTS}", f"-e{FORKS}", f"-e{PROBE}")
        capture, page = self.saved(stream, "out.syscap"), self.saved(stream, "out.html")
        again = self.directory / "again.html"
        self.run_well([pipeline.program("capture-source"), capture], [pipeline.program("capture-sink"), "-q", again])
        first, second = pages.read(page), pages.read(again)
        self.assertEqual(list(first.sums), ["samples", "cpu-clock", FAULTS, FORKS, PROBED])
        self.assertEqual((first.sums[FORKS], first.sums[PROBED]), (2 * CHILDREN, CALLS + 2 * CHILDREN))
        self.assertEqual({**second.sums, "cpu-clock": 0}, {**first.sums, "cpu-clock": 0})

    def test_one_option_per_event(self):
        stream = self.record("-s1024", "-ecpu-clock", "-epage-faults", f"-e{PROBE}", "--off-cpu")
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertIn('event number=2 kind=on-cpu unit=events name="uprobe:events:probed"', text)
        self.assertIn('event number=3 kind=off-cpu unit=nanoseconds name="off-cpu"', text)
        self.assertEqual(self.report(self.saved(stream, "out.syscap"), PROBED)["summary"]["sum"], CALLS + 2 * CHILDREN)

    def test_definitions_are_removed(self):
        self.record("-s1024", f"-e{PROBE}")
        self.assertEqual(ours(), [])

    def test_definitions_of_a_killed_recorder_are_removed(self):
        recording = self.start(self.source("-a", "-s1024", f"-e{PROBE}"))
        pid = recording.processes[0].pid
        pipeline.wait_for(lambda: any(f"/p{pid}_" in line for line in ours()), "the definition")
        os.kill(pid, signal.SIGKILL)
        recording.end()
        self.record("-s1024", f"-e{PROBE}")
        self.assertEqual(ours(), [])

    def test_invalid_events_are_reported(self):
        hostile = self.directory / "hostile"
        hostile.write_bytes(PROGRAM.read_bytes()[:3000])
        for event, why in [
                (f"uprobe:{PROGRAM}:no_such", "define no such function"), (f"uprobe:{hostile}:probed", "no "),
                ("uprobe:/etc/passwd:probed", "not a readable ELF file"), (f"uprobe:{self.directory}:x", "not a readable ELF file"),
                ("uprobe:/dev/zero:x", "not a readable ELF file"), ("uprobe:probed", "uprobe:FILE:SYMBOL"),
                ("cpu-clock,", "unknown event ''"),
                ("cpu-clock,cpu-clock", "two events have the name"), ("no:such", "unknown event"),
                (",".join(["cpu-clock"] * 17), "two events")]:
            with self.subTest(event=event):
                ended = self.start(self.source(f"-e{event}", "--", "true")).end()[0]
                self.assert_fails_in_one_line(ended, 2, why)

    def test_a_probed_file_with_an_odd_name(self):
        odd = self.directory / "a b:c,d"
        odd.write_bytes(PROGRAM.read_bytes())
        odd.chmod(0o700)
        stream = self.record("-s1024", f"-euprobe:{odd}:probed", command=(str(odd), "5", "0", "1"))
        self.assertEqual(self.report(self.saved(stream, "out.syscap"), "uprobe:a b:c,d:probed", "--weights")["summary"]["sum"], 5)


POLL = 7 if os.uname().machine == "x86_64" else 73  # ppoll there
SPIN = ["sh", "-c", "while :; do :; done"]


@pipeline.needs_root
class Filters(pipeline.RecordingTest):
    def spin(self, name):
        """Starts a process of that name that only spins."""
        copy = shutil.copy("/bin/sh", self.directory / name)
        process = subprocess.Popen([copy, *SPIN[1:]])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def recorded(self, *options, duration="0.5"):
        """TIDs of samples of all processes, and the number of filtered samples."""
        ended = self.run_well(self.source("-a", "-s1024", f"-d{duration}", *options), [pipeline.program("frame-dump")])
        tids = {int(tid) for tid in re.findall(r"(?m)^sample .*? tid=(\d+) ", ended[-1].output.decode())}
        return tids, self.stats("perf-source").get("samples", {}).get("not-wanted", 0)

    def test_other_samples_are_filtered(self):
        first, second = self.spin("first"), self.spin("second")
        spinning = {first, second}
        for text, wanted in [
                (f"pid=={first}", {first}), ("comm==second", {second}), (f"pid!={first},pid!={second}", set()),
                (f" pid == {first} || comm==second ", spinning), (f"uid==0,gid==0,tid=={second}||tid==1", {second}),
                (f"comm!=first,comm!=secondary", {second}), ("uid!=0", set())]:
            with self.subTest(text):
                tids, n_unwanted = self.recorded(f"--filter={text}")
                self.assertEqual(tids & spinning, wanted)
                if "!=" not in text:
                    self.assertEqual(tids, wanted)
                self.assertGreater(n_unwanted, 0)

    def test_a_filter_is_for_the_events_before_it(self):
        first, second = self.spin("first"), self.spin("second")
        ended = self.run_well(self.source("-a", "-s1024", "-d0.5", "-etask-clock", f"--filter=pid=={first}", "-ecpu-clock",
                                          f"--filter=pid=={second}"), [pipeline.program("frame-dump")])
        text = ended[-1].output.decode()
        found = set(re.findall(r"(?m)^sample .*? tid=(\d+) .*? event=(\d)", text))
        self.assertEqual(found, {(str(first), "0"), (str(second), "1")})
        self.assertIn(f'severity=info stage="perf-source" text="samples of cpu-clock are filtered: pid=={second}"', text)

    @needs_tracefs
    def test_tracepoints_have_the_kernels_own(self):
        done = self.start(self.source("-a", "-s1024", "-esched:sched_process_exit", '--filter=comm=="events"'),
                          [pipeline.program("frame-dump")])
        pipeline.wait_for(lambda: is_recording(done.processes[0].pid), "the events")
        subprocess.run(ARGUMENTS, check=True)
        done.processes[0].send_signal(signal.SIGINT)
        ended = done.end()
        self.assertEqual(ended[0].status, 0, ended)
        self.assertEqual(len(re.findall(r"(?m)^sample ", ended[-1].output.decode())), 1 + 2 * CHILDREN)

    def test_invalid_filters_are_reported(self):
        terms = "||".join(["pid==1"] * 17)
        for text, why in [
                ("x", "not 'x'"), ("pid=1", "not 'pid=1'"), ("pid==", "not 'pid=='"), ("comm==0123456789abcdef", "not 'comm"),
                ("cgroup==/no/such", "no such control group"), ("cgroup==../..", "not 'cgroup"), ("pid==1|uid==3", "not 'pid"),
                ("pid==4294967296", "not 'pid"), ("pid==-1", "not 'pid"), ("pid==1,", "not ''"), ("", "not ''"),
                (terms, "at most 16 terms")]:
            with self.subTest(text):
                ended = self.start(self.source("-a", f"--filter={text}")).end()[0]
                self.assert_fails_in_one_line(ended, 2, why)
        for options, why in [(("--off-cpu", "--filter=pid==1"), "mutually exclusive"),
                             (("--filter=pid==1", "-ecpu-clock"), "after the -e")]:
            ended = self.start(self.source("-a", *options)).end()[0]
            self.assert_fails_in_one_line(ended, 2, why)

    @needs_tracefs
    def test_filters_that_the_kernel_rejects_are_reported(self):
        ended = self.start(self.source("-a", "-esched:sched_switch", "--filter=nosuch==1")).end()[0]
        self.assert_fails_in_one_line(ended, 1, "rejected the filter of 'sched:sched_switch'")


if __name__ == "__main__":
    pipeline.main()
