# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded waits agree with programs that measure their own waits."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

import pipeline

WAITS = pipeline.BUILD / "tests" / "pipeline" / "waits"
WAIT_IN_TURNS = pipeline.BUILD / "tests" / "pipeline" / "wait-in-turns"
ROUNDS = 150
DISK_ROUNDS = 60
FEW_ROUNDS = 50  # less than half a second of waits
THRESHOLD_MAX_US = 1000000
TURNS = 1500
TURNS_THINNED = 6000  # a share of turns is sampled: a twentieth of their time is chance
FUNCTIONS = {"asleep": "wait_asleep", "for-pipe": "wait_for_pipe", "for-mutex": "wait_for_mutex",
             "for-futex": "wait_for_futex", "for-disk": "wait_for_disk"}
CALLS = {"asleep": "clock_nanosleep", "for-pipe": "read", "for-mutex": "futex", "for-futex": "futex",
         "for-disk": "pread64"}
DISK_BYTES_A_SECOND = 20_000_000  # a block of 1 MiB takes 50 ms, which dominates all other waits
BLKIO = Path("/sys/fs/cgroup/blkio")
# Two threads that wait for each other, and the main thread, which waits for both.
HANGING = """
import threading
a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(first, second):
    first.acquire()
    both.wait()
    second.acquire()
threads = [threading.Thread(target=take, args=each, daemon=True) for each in ((a, b), (b, a))]
for thread in threads:
    thread.start()
print("ready", flush=True)
threads[0].join()
"""
CLOCKS_NS = 10000  # maximum time between two readings of a clock for the same moment


def disk_of(path):
    """The number of the disk that a file lies on; None: there is none."""
    number = path.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if (block / "partition").exists():
        block = block.resolve().parent
    return (block / "dev").read_text().strip() if block.exists() else None


@contextlib.contextmanager
def slow_disk(path):
    """Start of a shell command that makes the following reads slow; skips where it cannot."""
    disk = disk_of(path)
    limit = BLKIO / "blkio.throttle.read_bps_device"
    if not disk or not limit.exists() or os.geteuid() != 0:
        raise unittest.SkipTest(f"{pipeline.NOT_HERE} anybody slow a disk down")
    group = BLKIO / f"stackpipe-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / limit.name).write_text(f"{disk} {DISK_BYTES_A_SECOND}")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        pipeline.wait_for(lambda: not (group / "cgroup.procs").read_text(), "the group to be empty")
        group.rmdir()


def pairs_in_kernel(pid):
    """Whether its BPF program is already running: proc(5), fdinfo of a link."""
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if re.search(r"(?m)^tp_name:\s+sched_switch$", file.read_text()):
                return True
    return False


pipeline.mount_tracefs()

# Of a thread of programs/waits.c, which also prints ready-ns, or of wait-in-turns.c.
SAID = re.compile(r"\S+( \d+){3,4}")


class Waits(pipeline.RecordingTest):
    def record_waits(self, *options, command):
        """Records a program; returns the stream and the times it prints: {name: (tid, off_ns, wall_ns, ready_ns)}."""
        stream = self.directory / "waits.stream"
        with stream.open("wb") as out:
            ended = self.run_well(self.source(*options, "--", *command), self.stage("live-unwinder"),
                                  self.stage("symbolizer"), stdout=out)
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer")
        said = [line.split() for line in ended[0].errors if SAID.fullmatch(line)]
        return stream, {name: tuple(map(int, numbers)) for name, *numbers in said}

    def report(self, stream, *options):
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n", "0", *options, stream],
                              capture_output=True, check=True)
        return json.loads(done.stdout)

    def assert_near(self, measured, truth, share, what):
        self.assertLessEqual(abs(measured - truth), share * truth,
                             f"{what}: {measured / 1e6:.3f} ms, in truth {truth / 1e6:.3f} ms")

    def check_waits(self, names, stream, said):
        report = self.report(stream, "--view=off-cpu")
        times = {thread["tid"]: thread for thread in report["thread_times"]}
        for name in names:
            tid, off_ns, wall_ns, _ = said[name]
            with self.subTest(name):
                of_thread = self.report(stream, "--view=off-cpu", f"--thread=^{name}$")
                totals = {row["function"]: row["total"] for row in of_thread["functions"]}
                self.check_stacks(name, totals, off_ns)
                self.assert_near(times[tid]["on_cpu_ns"] + times[tid]["off_cpu_ns"], wall_ns, 0.01,
                                 f"life of {name}")
                calls = [row["name"] for row in of_thread["waited_for"] if not row["name"].startswith(("[", "the CPU"))]
                self.assertEqual(calls[0], CALLS[name])
                self.assertEqual(of_thread["summary"]["sum"], times[tid]["off_cpu_ns"])

    def check_stacks(self, name, totals, off_ns):
        """On a busy machine some stacks find no room, which is reported; their time is not missing."""
        of_stack = totals.get(FUNCTIONS[name], 0)
        without = totals.get("[no-stack]", 0) + totals.get("[short-waits]", 0)
        self.assertGreater(of_stack, 0)
        self.assertLess(of_stack, 1.02 * off_ns, f"waits of {name} by stack")
        self.assertGreater(of_stack + without, 0.98 * off_ns, f"waits of {name}")

    def record_all(self, *options, command):
        """The same for a recording of all processes, whose switches are paired in the kernel."""
        stream = self.directory / "all.stream"
        with stream.open("wb") as out:
            started = self.start(self.source("-a", *options), self.stage("live-unwinder"), self.stage("symbolizer"),
                                 stdout=out)
            pipeline.wait_for(lambda: pairs_in_kernel(started.processes[0].pid), "the program in the kernel")
            ran = subprocess.run(command, check=True, capture_output=True, text=True)
            started.processes[0].send_signal(signal.SIGINT)
            for ended in started.end():
                self.assertEqual((ended.status, ended.errors), (0, []))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer")
        said = [line.split() for line in (ran.stdout + ran.stderr).splitlines() if SAID.fullmatch(line)]
        return stream, {name: tuple(map(int, numbers)) for name, *numbers in said}

    def check_short_waits(self, stream, said):
        """
        All waits together are shorter than the threshold, so no recorded wait stands for them. A thread whose CPU is
        taken by others can be off the CPU for longer.
        """
        for name in "asleep", "for-pipe":
            tid, off_ns, *_ = said[name]
            report = self.report(stream, "--view=off-cpu", f"--thread=^{name}$")
            selves = {row["function"]: row["self"] for row in report["functions"] if row["self"]}
            self.assertGreater(selves.pop("[short-waits]"), 0)
            self.assertFalse({name: ns for name, ns in selves.items() if ns < THRESHOLD_MAX_US * 1000})
            self.assertGreaterEqual(report["summary"]["sum"], 0.98 * off_ns)
            # A thread that is late does not wait; a sleep always waits.
            self.assertGreaterEqual(report["thread_times"][0]["waits"], FEW_ROUNDS if name == "asleep" else 1)

    def check_turns(self, stream, said):
        """Each kind of wait has its share, though single waits are not recorded."""
        report = self.report(stream, "--view=off-cpu", "--thread=^in-turns$")
        totals = {row["function"]: row["total"] for row in report["functions"]}
        little, more = totals["wait_little"], totals["wait_more"]
        in_truth = said["little"][1] / (said["little"][1] + said["more"][1])
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        n = len(re.findall(rf"(?m)^stack .* tid={said['little'][0]} .*flags=\S*sampled", text))
        print(f"a part of {little / (little + more):.3f} by {n} samples, in truth {in_truth:.3f}", flush=True)
        self.assertGreater(n, TURNS / 60)
        self.assertLess(abs(little / (little + more) - in_truth), 5 * (in_truth * (1 - in_truth) / n) ** 0.5)
        self.assertLess(totals.get("[short-waits]", 0), 0.3 * report["summary"]["sum"])
        self.assertEqual(report["summary"]["sum"], sum(each["off_cpu_ns"] for each in report["thread_times"]))

    def wakers(self, text, tid):
        """The waker of each wait of a thread that was not a wait for a CPU."""
        return [re.search(r"waker_tid=(\d+)", line)[1] for line in text.splitlines()
                if line.startswith("stack ") and f" tid={tid} " in line and "event=1" in line and "preempted" not in line
                and "end=short-waits" not in line and "end=no-stack" not in line]

    def assert_knows_wakers(self, stream, tid):
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        wakers = self.wakers(text, tid)
        main = max(set(wakers), key=wakers.count)
        self.assertGreater(wakers.count(main), 40, wakers)
        self.assertTrue(re.search(rf"(?m)^process process=(\d+) .*pid={main} .*waits", text), wakers)

    def stacks_of(self, stream):
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        for line in text.splitlines():
            if line.startswith("stack "):
                fields = dict(re.findall(r"(\w+)=(\S+)", re.sub(r"frames=\[.*?\]", "", line)))
                yield fields, int(fields["time"]) - int(fields["weight"])

    def check_wakeups(self, stream, said):
        """A wake-up by the main thread weighs what the wait had lasted by then; a wait for a CPU follows."""
        stacks = list(self.stacks_of(stream))
        main, _ = Counter(fields["waker_tid"] for fields, _ in stacks
                          if fields["tid"] == str(said["for-pipe"][0]) and fields["event"] == "1"
                          and fields["waker_tid"] != "0").most_common(1)[0]
        wakeups = sorted((begin, int(fields["weight"])) for fields, begin in stacks
                         if fields["event"] == "2" and fields["tid"] == main)
        for name in "for-pipe", "for-futex":
            waits = [(int(fields["weight"]), begin) for fields, begin in stacks
                     if fields["event"] == "1" and fields["tid"] == str(said[name][0]) and fields["waker_tid"] == main]
            nearest = [(weight, begin, *min(wakeups, key=lambda wakeup, begin=begin: abs(wakeup[0] - begin))) for weight, begin in waits]
            known = [(weight, until_woken) for weight, begin, other, until_woken in nearest if abs(other - begin) < CLOCKS_NS]
            self.assertGreater(len(known), 0.8 * len(waits), name)
            self.assertGreater(len(known), 10, name)
            self.assertTrue(all(until_woken <= weight + CLOCKS_NS for weight, until_woken in known), known)
        folded = self.run_on(stream, [pipeline.program("capture-sink"), "-q", "--force", "--view=wakeups", "-f", "folded", "-"])
        of_feed = [line for line in folded.decode().splitlines() if re.search(r";main;feed(_\[i\])?;", line)]
        for call in "write", "syscall":
            self.assertTrue([line for line in of_feed if re.search(rf"[;_]{call};.*_\[k\]", line)], call)
        innermost = {line.rsplit(" ", 1)[0].rsplit(";", 1)[1] for line in of_feed}
        self.assertEqual(innermost, {"try_to_wake_up_[k]"}, "our BPF programs are not in kernel stacks")


class OffCpu(Waits):
    def test_waits_have_the_right_length(self):
        file = self.directory / "read"
        stream, said = self.record_waits("--off-cpu=1", command=[WAITS, file, ROUNDS])
        self.check_waits(set(FUNCTIONS) - {"for-disk"}, stream, said)
        self.assertEqual(self.stats("perf-source")["waits"]["contradictions"], 0)

    def test_waits_for_a_disk_have_the_right_length(self):
        file = self.directory / "read"
        subprocess.run([WAITS, file, "1"], check=True, capture_output=True)
        with slow_disk(self.directory) as prefix:
            stream, said = self.record_waits("--off-cpu", command=[*prefix, WAITS, file, DISK_ROUNDS])
        self.check_waits(["for-disk"], stream, said)

    def test_short_waits_are_summed(self):
        stream, said = self.record_waits(f"--off-cpu={THRESHOLD_MAX_US}",
                                         command=[WAITS, self.directory / "read", FEW_ROUNDS])
        self.check_short_waits(stream, said)
        all_ns = self.report(stream, "--view=off-cpu")["summary"]["sum"]
        self.assertLessEqual(self.stats("perf-source")["waits"]["told"], all_ns // (THRESHOLD_MAX_US * 1000))

    def test_short_waits_are_sampled(self):
        self.check_turns(*self.record_waits("--off-cpu=1500", command=[WAIT_IN_TURNS, TURNS]))

    def test_unfinished_waits_are_recorded(self):
        """A sleep that outlasts the recording has the stack with which it began."""
        stream, _ = self.record_waits("--off-cpu", command=["sh", "-c", "sleep 3 & sleep 1"])
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        still = [line for line in text.splitlines() if line.startswith("stack ") and "flags=still-away" in line]
        self.assertEqual(len(still), 1, text[-2000:])
        report = self.report(stream, "--view=off-cpu")
        self.assertEqual(report["waited_for"][0]["name"], "clock_nanosleep")
        self.assertGreater(report["summary"]["sum"], 0.9e9)

    def test_a_capture_holds_waits_too(self):
        stream, _ = self.record_waits("--off-cpu=1", command=[WAITS, self.directory / "read", 20])
        capture = self.directory / "out.syscap"
        with stream.open("rb") as stdin:
            self.run_well([pipeline.program("capture-sink"), "-q", capture], stdin=stdin)
        for view in "samples", "on-cpu", "off-cpu", "wall-clock":
            of_stream, of_capture = (self.report(path, f"--view={view}") for path in (stream, capture))
            if view != "on-cpu" and view != "wall-clock":  # a capture stores the usual weight of each sample
                self.assertEqual(of_stream["summary"]["sum"], of_capture["summary"]["sum"], view)
            self.assertEqual([(row["function"], row["self"]) for row in of_stream["functions"] if view == "off-cpu"],
                             [(row["function"], row["self"]) for row in of_capture["functions"] if view == "off-cpu"])
        self.assertEqual(*(self.report(path, "--view=off-cpu")["waited_for"] for path in (stream, capture)))
        self.assertEqual(*(self.report(stream, f"--view={view}")["waited_for"] for view in ("off-cpu", "wall-clock")))
        self.assertEqual(of_stream["thread_times"], of_capture["thread_times"])
        self.assertTrue(set(FUNCTIONS) <= {row["name"] for row in of_capture["threads"]}, of_capture["threads"])
        self.assertEqual(self.report(stream, "--view=off-cpu", "--thread=^asleep$")["summary"]["sum"],
                         self.report(capture, "--view=off-cpu", "--thread=^asleep$")["summary"]["sum"])
        folded = self.run_on(stream, [pipeline.program("capture-sink"), "-q", "--view=off-cpu", "-f", "folded", "-"])
        microseconds = sum(int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines())
        off_cpu = self.report(stream, "--view=off-cpu")["summary"]["sum"]
        self.assert_near(microseconds * 1000, off_cpu, 0.001, "folded stacks")

    def test_folded_stacks_of_single_threads_in_each_view(self):
        stream, said = self.record_waits("--off-cpu=1", command=[WAITS, self.directory / "read", "20"])
        capture, folded = self.directory / "out.syscap", self.directory / "out.folded"
        self.run_on(stream, self.stage("capture-sink", capture))
        for view in "on-cpu", "off-cpu", "wall-clock":
            subprocess.run([pipeline.program("stackpipe"), "convert", "-q", "--force", "--tid", f"--view={view}",
                            capture, folded], check=True)
            for name in "asleep", "for-pipe":
                # Its first sample may precede its name.
                thread = re.compile(rf"[^;]+-\d+/{said[name][0]};.* (\d+)")
                found = filter(None, map(thread.fullmatch, folded.read_text().splitlines()))
                report = self.report(capture, f"--view={view}", f"--thread=^{name}$")
                self.assert_near(1000 * sum(int(each[1]) for each in found), report["summary"]["sum"], 0.01,
                                 f"{view} of {name}")

    def test_a_missing_view_is_reported(self):
        stream = self.record(self.directory / "plain.stream", self.stage("live-unwinder"), self.stage("symbolizer"))
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--view=off-cpu", stream], capture_output=True,
                              check=False, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no view 'off-cpu'; it has: samples", done.stderr)
        for command in ["capture-sink", "-q", "--force", "--view=off-cpu", "-f", "folded", "-"], \
                       ["stackpipe", "convert", "-q", "--view=off-cpu", stream, self.directory / "out.folded"]:
            with stream.open("rb") as records:
                done = subprocess.run([pipeline.program(command[0]), *command[1:]], stdin=records,
                                      capture_output=True, check=False, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no view 'off-cpu'; it has: samples", done.stderr)

    def test_a_recording_without_off_cpu_does_not_change(self):
        stream = self.record(self.directory / "plain.stream")
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertNotRegex(text, "(?m)^(event|thread_time) ")

    def test_wakers_of_waits_of_a_command(self):
        stream, said = self.record_waits("--off-cpu=1", command=[WAITS, self.directory / "read", "50"])
        self.assert_knows_wakers(stream, said["for-pipe"][0])
        self.check_wakeups(stream, said)

    def test_wakers_of_waits_of_a_process(self):
        waits = subprocess.Popen([WAITS, self.directory / "read", "500"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(waits.wait)
        self.addCleanup(waits.kill)
        names = pipeline.wait_for(lambda: self.threads_of(waits.pid, "for-pipe"), "its threads")
        stream = self.directory / "process.stream"
        with stream.open("wb") as out:
            self.run_well(self.source("--off-cpu=1", "-p", str(waits.pid), "-d", "2"), self.stage("live-unwinder"), stdout=out)
        self.assert_knows_wakers(stream, names[0])

    def test_a_hanging_process_is_recorded(self):
        """The kernel emits no event for a thread that is never switched, but it waited all the time."""
        hangs = subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE)
        self.addCleanup(hangs.stdout.close)
        self.addCleanup(hangs.wait)
        self.addCleanup(hangs.kill)
        hangs.stdout.readline()
        pipeline.wait_for(lambda: len(self.threads_of(hangs.pid, "")) == 3, "its threads")
        stream = self.directory / "hanging.stream"
        with stream.open("wb") as out:
            self.run_well(self.source("--off-cpu", "-p", str(hangs.pid), "-d", "0.5"), self.stage("live-unwinder"),
                          self.stage("symbolizer"), stdout=out)
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertIn("3 threads waited all the time, 3 in futex", text)
        report = self.report(stream, "--view=off-cpu")
        self.assertGreaterEqual(report["summary"]["sum"], 3 * 0.5e9)
        self.assertEqual(report["waits"][0]["for"] if "waits" in report else report["waited_for"][0]["name"], "[no-stack]")
        self.assertEqual(len(report["thread_times"]), 3)
        self.assertTrue(all(each["off_cpu_ns"] >= 0.5e9 for each in report["thread_times"]), report["thread_times"])

    @staticmethod
    def threads_of(pid, name):
        """The threads of a process with that name."""
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()
                if not name or (task / "comm").read_text().strip() == name]


@unittest.skipUnless(Path("/sys/kernel/btf/vmlinux").exists(), f"{pipeline.NOT_HERE} programs know the kernel's types")
@pipeline.needs_root
class OfAllProcesses(Waits):
    def test_waits_have_the_right_length(self):
        stream, said = self.record_all("--off-cpu=1", command=[WAITS, self.directory / "read", str(ROUNDS)])
        self.check_waits(set(FUNCTIONS) - {"for-disk"}, stream, said)
        self.assertEqual(self.stats("perf-source")["waits"]["pairs-in-kernel"], 1)

    def test_waits_for_a_disk_have_the_right_length(self):
        file = self.directory / "read"
        subprocess.run([WAITS, file, "1"], check=True, capture_output=True)
        with slow_disk(self.directory) as prefix:
            stream, said = self.record_all("--off-cpu", command=[*prefix, WAITS, file, str(DISK_ROUNDS)])
        self.check_waits(["for-disk"], stream, said)

    def test_short_waits_are_summed(self):
        stream, said = self.record_all(f"--off-cpu={THRESHOLD_MAX_US}",
                                       command=[WAITS, self.directory / "read", str(FEW_ROUNDS)])
        self.check_short_waits(stream, said)

    def test_short_waits_are_sampled(self):
        self.check_turns(*self.record_all("--off-cpu=1500", command=[WAIT_IN_TURNS, str(TURNS_THINNED)]))

    def test_waits_before_an_exec_have_the_old_name(self):
        after = shutil.copy("/bin/sleep", self.directory / "after")
        stream, _ = self.record_all("--off-cpu", command=["sh", "-c", f"sleep 0.3; exec {after} 3"])
        times = self.report(stream, "--view=off-cpu")["thread_times"]
        second = [row for row in times if row["name"] == "after"]
        first = [row for row in times if row["name"] == "sh" and row["tid"] == second[0]["tid"]]
        self.assertEqual((len(first), len(second)), (1, 1), times)
        self.assertTrue(0.3e9 <= first[0]["off_cpu_ns"] < 3e9, first)
        self.assertTrue(3e9 <= second[0]["off_cpu_ns"], second)

    def test_unfinished_waits_are_recorded(self):
        ours = shutil.copy("/bin/sleep", self.directory / "ours")
        stream, _ = self.record_all("--off-cpu", command=["sh", "-c", f"{ours} 3 >/dev/null 2>&1 & {ours} 0.3"])
        report = self.report(stream, "--view=off-cpu", "--process=^ours$")
        self.assertEqual(report["waited_for"][0]["name"], "clock_nanosleep", report["waited_for"])
        self.assertEqual(len(report["processes"]), 2)
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertRegex(text, "(?m)^stack .*flags=still-away")

    def test_wakers_of_waits(self):
        for _ in range(os.cpu_count()):  # otherwise the timer interrupt that ends a sleep interrupts no thread
            self.start_busy()
            self.start(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"])  # always in system calls
        stream, said = self.record_all("--off-cpu=1", command=[WAITS, self.directory / "read", "50"])
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        wakers, of_sleep = (self.wakers(text, said[name][0]) for name in ("for-pipe", "asleep"))
        self.assertGreater(len(of_sleep), 10)
        self.assertEqual(set(of_sleep), {"0"}, "an interrupted thread is not a waker")
        main = max(set(wakers), key=wakers.count)
        self.assertGreater(wakers.count(main), 10, wakers)
        process = re.search(rf"(?m)^process process=(\d+) .*pid={main} .*waits", text)
        self.assertTrue(process, "the waker is the main thread, which writes to the pipe")
        report = self.report(stream, "--view=off-cpu", "--thread=^for-pipe$")
        self.assertTrue(report["woken_by"], report["threads"] or self.report(stream, "--view=off-cpu")["threads"])
        self.assertEqual((report["woken_by"][0]["name"], report["woken_by"][0]["tid"]), ("waits", int(main)))
        self.check_wakeups(stream, said)

    def test_wakeups_of_short_waits_are_sampled(self):
        stream, said = self.record_all("--off-cpu=20000", command=[WAITS, self.directory / "read", "500"])
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        process = re.search(r"(?m)^process process=(\d+) .*waits", text)[1]
        weights = [int(weight) for weight in re.findall(
            rf"(?m)^stack .* process={process} .* weight=(\d+) .* event=2 flags=sampled ", text)]
        woken = [said[name] for name in ("for-pipe", "for-futex", "for-mutex")]
        woken_ns = sum(off_ns - ready_ns for _, off_ns, _, ready_ns in woken)  # until they are woken
        self.assertGreater(len(weights), woken_ns / 20e6 / 5)
        self.assertLess(sum(weights), 1.3 * woken_ns)
        self.assertGreater(sum(weights), 0.7 * woken_ns)


if __name__ == "__main__":
    pipeline.main()
