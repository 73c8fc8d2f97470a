# SPDX-License-Identifier: GPL-3.0-or-later
"""A compromised stage can only do what the stage does anyway."""
import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline  # noqa: E402
import streams  # noqa: E402

FORBIDDEN_CALL = pipeline.BUILD / "tests" / "sandbox" / "libforbidden-call.so"
TRY_SYSCALL = pipeline.BUILD / "tests" / "sandbox" / "try-syscall"
CALLS_MAX = 41
AT_FDCWD, O_WRONLY, O_CREAT = -100 & (2**64 - 1), 1, 0o100
PROT_READ_EXEC, MAP_PRIVATE_ANONYMOUS = 5, 0x22
NOWHERE = 2**64 - 1
PERMISSION, ACCESS, NO_SUCH_CALL = -1, -13, -38  # errors that refuse
FORBIDDEN = {
    "read a secret": ("openat", AT_FDCWD, ":/etc/shadow", 0),
    "read another's environment": ("openat", AT_FDCWD, ":/proc/1/environ", 0),
    "read another's mappings": ("openat", AT_FDCWD, ":/proc/1/maps", 0),
    "read a device": ("openat", AT_FDCWD, ":/dev/kmsg", 0),
    "read a directory of the machine": ("openat", AT_FDCWD, ":/etc", 0o200000),
    "write to a file": ("openat", AT_FDCWD, ":/etc/hostname", O_WRONLY),
    "make a file": ("openat", AT_FDCWD, ":/tmp/stackpipe-forbidden", O_WRONLY | O_CREAT, 0o600),
    "open a file the old way": ("open", ":/etc/shadow", 0),
    "open a file the new way": ("openat2", AT_FDCWD, ":/etc/shadow", 0, 24),
    "remove a file": ("unlink", ":/tmp/stackpipe-forbidden"),
    "link a file": ("symlink", ":/etc/shadow", ":/tmp/stackpipe-forbidden"),
    "make a directory": ("mkdir", ":/tmp/stackpipe-forbidden", 0o700),
    "change a mode": ("chmod", ":/tmp", 0o777),
    "open a socket of the network": ("socket", 2, 1, 0),
    "open a local socket": ("socket", 1, 1, 0),
    "listen": ("listen", 0, 1),
    "run a program": ("execve", ":/bin/sh", 0, 0),
    "run a program by descriptor": ("execveat", AT_FDCWD, ":/bin/sh", 0, 0, 0),
    "fork": ("clone", 17, 0, 0, 0, 0),
    "fork the old way": ("fork",),
    "fork the new way": ("clone3", 0, 88),
    "look into another process": ("ptrace", 16, 1, 0, 0),
    "read another's memory": ("process_vm_readv", 1, 0, 0, 0, 0, 0),
    "send a signal": ("kill", "PARENT", 0),
    "have a signal sent": ("fcntl", 0, 8, 1),
    "make code": ("mmap", 0, 4096, PROT_READ_EXEC, MAP_PRIVATE_ANONYMOUS, NOWHERE, 0),
    "make memory code": ("mprotect", 0, 4096, PROT_READ_EXEC),
    "make a file in memory": ("memfd_create", ":x", 0),
    "record": ("perf_event_open", 0, 0, NOWHERE, NOWHERE, 0),
    "load a program into the kernel": ("bpf", 0, 0, 0),
    "queue calls": ("io_uring_setup", 8, 0),
    "catch faults": ("userfaultfd", 0),
    "become dumpable": ("prctl", 4, 1, 0, 0, 0),
    "become somebody": ("setuid", 0),
    "take capabilities": ("capset", 0, 0),
    "mount": ("mount", ":none", ":/mnt", ":tmpfs", 0, 0),
    "leave a namespace": ("unshare", 0x10000000),
    "type into a terminal": ("ioctl", 0, 0x5412, 0),
    "use keys": ("keyctl", 0, 0, 0),
    "raise a limit": ("prlimit64", 0, 9, 0, 0),
    "load a module": ("init_module", 0, 0, ":"),
    "live on after a refused call": ("rt_sigaction", signal.SIGSYS.value, 0, 0, 8),
    "live on by a number that the kernel cuts": ("rt_sigaction", 1 << 32 | signal.SIGSYS, 0, 0, 8),
}
# Calls that helpers need, which open files and mappings of others.
HELPERS_MAY = {
    "read a secret", "read another's environment", "read another's mappings", "read a device",
    "read a directory of the machine", "open a file the new way"}
RINGS_NEED = {"make a file in memory"}  # shared with the traced programs
COPIES_NEED = {("image-server", "make a file in memory")}  # handed to stages instead of files that may hang
STAGES = "live-unwinder", "symbolizer", "capture-sink"
CONFINED = *STAGES, "capture-source", "perfdata-source", "preload-source", "frame-dump"
SMALL_PERF_DATA = pipeline.TOP / "tests" / "data" / "small.perf.data"


def is_confined(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return "Seccomp:\t2" in status and "State:\tS" in status


class Helper:
    """A process that is not our child."""

    def __init__(self, pid):
        self.pid = pid


def children(pid):
    """Children by name, once each has entered its sandbox; {} before."""
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    named = {Path(f"/proc/{child}/comm").read_text().strip(): Helper(int(child))
             for child in pids}
    ready = all(is_confined(process) for name, process in named.items() if name != "sleep")
    return named if ready and {"image-server", "process-opener", "sleep"} <= {*named} else {}


def is_idle(processes):
    """Whether all of them wait for input: read(2), poll(2)."""
    calls = [Path(f"/proc/{process.pid}/syscall").read_text().split()[0] for process in processes]
    return all(call in ("0", "7") for call in calls)


ENDED = "killed 0"  # the process ended by itself before the call was made


def is_alive(process):
    return not Path(f"/proc/{process.pid}/status").read_text().count("State:\tZ")


def attempt(process, call):
    """Makes a system call in a stage: returns its result, or "killed SIGNAL"."""
    arguments = [str(os.getpid()) if each == "PARENT" else str(each) for each in call]
    tried = subprocess.run([TRY_SYSCALL, str(process.pid), *arguments], check=False,
                           capture_output=True, text=True)
    if tried.returncode and not is_alive(process):
        return ENDED
    text = tried.stdout.split()
    assert not tried.returncode and text, tried
    if text[0] == "killed":
        return f"killed {text[1]}"
    return int(text[1])


def is_refused(outcome):
    return outcome in (f"killed {signal.SIGSYS.value}", PERMISSION, ACCESS, NO_SUCH_CALL)


def without_landlock():
    """In a child before exec: simulates a kernel without Landlock."""
    landlock_create_ruleset, enosys = 444, 38
    program = b"".join(struct.pack("<HBBI", *step) for step in [
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 0, 1, landlock_create_ruleset),
        (0x06, 0, 0, 0x50000 | enosys),
        (0x06, 0, 0, 0x7FFF0000)])  # allow
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.create_string_buffer(filter_, len(filter_)), 0, 0) == 0


class Inside(pipeline.RecordingTest):
    """Makes calls in every stage of a live pipeline, and of replays."""

    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest(f"{pipeline.NOT_HERE} a user look into what is not dumpable")
        self.sleeper = self.start(["sleep", "1000"]).processes[0]
        folded = self.directory / "large.folded"
        folded.write_text("".join(f"a;b{i};c 1\n" for i in range(100000)))
        self.folded = folded

    def start_live(self):
        """
        Starts an idle pipeline; returns its stages by name, without the source. The last stage comes first: when it is
        killed, the stages before it have nothing to write.
        """
        stages = [[pipeline.program(name), "--sandbox=required"] for name in STAGES]
        started = self.start(
            [pipeline.program("perf-source"), "-q", "-p", self.sleeper.pid],
            *stages[:-1], [*stages[-1], "-q", "--force", self.directory / "out.syscap"])
        pipeline.wait_for(lambda: all(map(is_confined, started.processes[1:]))
                          and is_idle(started.processes), "an idle pipeline")
        return started, dict(zip(reversed(STAGES), reversed(started.processes)))

    def start_replays(self):
        """Starts replays, each of which waits: for more input, a pipe's first bytes, or a reader."""
        waiting, writing = os.pipe()
        self.addCleanup(os.close, waiting)
        self.addCleanup(os.close, writing)
        hello = streams.records(pipeline.SMALL_STREAM.read_bytes())[0]
        inputs = {name: hello for name in ("live-unwinder", "symbolizer", "frame-dump")}
        inputs["perfdata-source"] = b""
        stages = {}
        for name, data in inputs.items():
            arguments = ["-"] if name == "perfdata-source" else []
            process = subprocess.Popen(
                [pipeline.program(name), "--sandbox=required", *arguments],
                stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.DEVNULL)
            process.stdin.write(data)
            process.stdin.flush()
            stages[f"{name} of a recording"] = process
        stages["capture-source"] = subprocess.Popen(
            [pipeline.program("capture-source"), "--sandbox=required", self.folded],
            stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.DEVNULL)
        return stages

    def start_preloaded(self):
        """Starts preload-source and a program; returns the source and its children: its helpers and the program."""
        source = subprocess.Popen(
            [pipeline.program("preload-source"), "--sandbox=required", "--", "sleep", "1000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        helpers = {}
        pipeline.wait_for(lambda: helpers.update(children(source.pid)) or
                          (helpers and is_confined(source)), "a traced program")
        return source, helpers

    def end_preloaded(self, source, helpers):
        source.kill()
        os.kill(helpers["sleep"].pid, signal.SIGKILL)
        source.stdout.close()
        source.wait()

    def end_replays(self, stages):
        for process in stages.values():
            process.kill()
            process.wait()
            if process.stdin:
                process.stdin.close()

    def assert_refused(self, stages, what, call):
        for name, process in stages.items():
            pipeline.wait_for(lambda: process.poll() is not None or is_confined(process), name)
            self.assertIsNone(process.poll(), name)
            with self.subTest(stage=name, action=what):
                outcome = attempt(process, call)
                self.assertTrue(is_refused(outcome), f"{name}: {what}: {outcome}")

    def assert_refused_live(self, what, call, names):
        """Tries the call in stages of one pipeline; returns those that could not be judged, as they ended when
        a stage after them did."""
        started, stages = self.start_live()
        untold = set()
        for name in (name for name in stages if name in names):
            outcome = attempt(stages[name], call) if is_alive(stages[name]) else ENDED
            if outcome == ENDED:
                untold.add(name)
                continue
            with self.subTest(stage=name, action=what):
                self.assertTrue(is_refused(outcome), f"{name}: {what}: {outcome}")
        started.close()
        return untold

    def test_forbidden_in_a_live_pipeline(self):
        for what, call in FORBIDDEN.items():
            names = {*STAGES}
            for _ in STAGES:
                names = self.assert_refused_live(what, call, names)
            self.assertFalse(names, what)

    def test_forbidden_in_replays(self):
        for what, call in FORBIDDEN.items():
            stages = self.start_replays()
            try:
                self.assert_refused(stages, what, call)
            finally:
                self.end_replays(stages)

    def test_forbidden_to_the_reader_of_rings(self):
        for what in FORBIDDEN.keys() - RINGS_NEED:
            source, helpers = self.start_preloaded()
            try:
                self.assert_refused({"preload-source": source}, what, FORBIDDEN[what])
            finally:
                self.end_preloaded(source, helpers)

    def test_forbidden_to_helpers(self):
        for what in FORBIDDEN.keys() - HELPERS_MAY:
            source, helpers = self.start_preloaded()
            try:
                for name in ("image-server", "process-opener"):
                    if (name, what) in COPIES_NEED:
                        continue
                    outcome = attempt(helpers[name], FORBIDDEN[what])
                    self.assertTrue(is_refused(outcome), f"{name}: {what}: {outcome}")
            finally:
                self.end_preloaded(source, helpers)

    def test_the_unwinder_opens_no_file_while_it_is_served(self):
        started, stages = self.start_live()
        process = stages["live-unwinder"]
        pipeline.wait_for(lambda: is_confined(process), "a sandbox")
        self.assertEqual(attempt(process, ("openat", AT_FDCWD, ":/usr/bin/env", 0)), ACCESS)

    def test_allowed_calls_work(self):
        """Checks the trial itself: a call that a stage needs is made."""
        started, stages = self.start_live()
        for process in stages.values():
            pipeline.wait_for(lambda: is_confined(process), "a sandbox")
        for process in stages.values():
            self.assertEqual(attempt(process, ("write", 2, ":", 0)), 0)

    def test_no_capabilities_are_left(self):
        started, stages = self.start_live()
        for name, process in stages.items():
            pipeline.wait_for(lambda: is_confined(process), "a sandbox")
            status = Path(f"/proc/{process.pid}/status").read_text()
            for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertIn(f"{field}:\t0000000000000000\n", status, name)
            self.assertIn("NoNewPrivs:\t1\n", status, name)


class Killed(pipeline.PipelineTest):
    """A stage that makes an unlisted call reports which one, and is killed by SIGSYS all the same."""

    CALLS = {"getpgrp": 111, "sync": 162, "sched_yield": 24, "getcwd": 79}  # of x86-64

    def run_forbidden(self, name, call, command, **options):
        environment = dict(os.environ, LD_PRELOAD=str(FORBIDDEN_CALL), FORBIDDEN_NAME=name,
                           FORBIDDEN_CALL=str(call))
        return subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                              check=False, timeout=pipeline.PATIENCE_S, **options)

    def check(self, name, call, number, command, **options):
        with self.subTest(name, call=call):
            ended = self.run_forbidden(name, number, command, **options)
            self.assertEqual(ended.returncode, -signal.SIGSYS)
            self.assertEqual(ended.stderr.decode().splitlines(),
                             [f"{name}: error: the sandbox does not allow the system call {call}: "
                              "please report this; use --sandbox=off meanwhile"])

    def test_the_call_is_reported(self):
        for call in ("getpgrp", "sync", "sched_yield"):
            for name in (*STAGES, "frame-dump"):
                output = [self.directory / f"{call}.folded"] if name == "capture-sink" else []
                with pipeline.SMALL_STREAM.open("rb") as stdin:
                    self.check(name, call, self.CALLS[call],
                               [pipeline.program(name), *output], stdin=stdin)

    def test_a_number_without_a_name(self):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            self.check("live-unwinder", "511", 511, [pipeline.program("live-unwinder")], stdin=stdin)

    def test_a_call_refused_with_an_error_does_not_kill(self):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            ended = self.run_forbidden("live-unwinder", self.CALLS["getcwd"],
                                       [pipeline.program("live-unwinder")], stdin=stdin)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))

    def test_the_doctor_reports_killed_stages(self):
        for name in (*STAGES, "preload-source", "capture-source", "perfdata-source", "frame-dump"):
            with self.subTest(name):
                ended = self.run_forbidden(name, self.CALLS["sync"], [pipeline.program("stackpipe"), "doctor"])
                self.assertEqual(ended.returncode, 1)
                answers = re.findall(r"(?m)^(\w+) +run (\S+) in its sandbox$", ended.stdout.decode())
                self.assertEqual([answer for answer in answers if answer[0] != "yes"], [("NO", name)])
                self.assertIn(f"        {name}: error: the sandbox does not allow the system call sync: ",
                              ended.stdout.decode())

    def test_the_doctor_reports_killed_helpers(self):
        ended = self.run_forbidden("process-opener", self.CALLS["sync"],
                                   [pipeline.program("stackpipe"), "doctor"])
        self.assertRegex(ended.stdout.decode(), r"(?m)^no +run preload-source in its sandbox\n"
                         " +process-opener: error: the sandbox does not allow the system call sync: ")

    def test_the_doctor_reports_no_problem(self):
        ended = subprocess.run([pipeline.program("stackpipe"), "doctor"], capture_output=True, text=True,
                               check=True)
        self.assertEqual(len(re.findall(r"(?m)^yes +run \S+ in its sandbox$", ended.stdout)), 7, ended.stdout)

    def test_helpers_report_the_call_too(self):
        for name in ("image-server", "process-opener"):
            ended = self.run_forbidden(name, self.CALLS["sync"],
                                       [pipeline.program("preload-source"), "--", "true"])
            self.assertIn(f"{name}: error: the sandbox does not allow the system call sync",
                          ended.stderr.decode())


class Privileged(pipeline.RecordingTest):
    """Privileged programs keep only the capabilities that they need (their numbers)."""

    SOURCE = {2, 5, 19, 38}  # DAC_READ_SEARCH, KILL, SYS_PTRACE, PERFMON
    WALKED = SOURCE | {39}  # and BPF, where the kernel walks stacks
    SERVER = {2, 19, 38, 40}  # and CHECKPOINT_RESTORE, without KILL

    @pipeline.needs_root
    def test_sources_and_servers_keep_what_they_need(self):
        for mode, kept in (("copy", self.SOURCE), ("auto", self.WALKED)):
            with self.subTest(mode):
                self.check_capabilities(mode, kept)

    def check_capabilities(self, mode, kept):
        sleeper = self.start(["sleep", "1000"]).processes[0]
        started = self.start(self.source(f"--unwind={mode}", "-p", sleeper.pid), [pipeline.program("frame-dump")])
        source = started.processes[0].pid
        pipeline.wait_for(lambda: self.permitted(source) <= kept, "capabilities to go")
        server, = Path(f"/proc/{source}/task/{source}/children").read_text().split()
        self.assertLessEqual(self.permitted(server), self.SERVER)
        self.assertIn(19, self.permitted(source) & self.permitted(server))

    @staticmethod
    def permitted(pid):
        status = Path(f"/proc/{pid}/status").read_text()
        mask = int(status.split("CapPrm:\t")[1].split()[0], 16)
        return {i for i in range(64) if mask >> i & 1}


class Outside(pipeline.PipelineTest):
    """The sandbox is reported, and does not change the output."""

    def stages(self, mode, output):
        return [self.stage("live-unwinder", f"--sandbox={mode}"),
                self.stage("symbolizer", f"--sandbox={mode}"),
                self.stage("capture-sink", "-q", f"--sandbox={mode}", output)]

    def test_a_capture_is_the_same(self):
        captures = []
        for mode in ("required", "off"):
            output = self.directory / f"{mode}.syscap"
            self.run_on(pipeline.SMALL_STREAM, *self.stages(mode, output))
            captures.append(output.read_bytes())
        self.assertEqual(*captures)

    def test_parts_in_force_are_reported(self):
        out = self.run_on(pipeline.SMALL_STREAM, self.stage("live-unwinder"),
                          self.stage("symbolizer"), [pipeline.program("frame-dump")]).decode()
        told = [line for line in out.splitlines() if line.startswith("sandbox ")]
        self.assertEqual(len(told), 2, told)
        for line, name in zip(told, ("symbolizer", "live-unwinder")):  # each is written after that stage's hello
            self.assertIn(name, line)
            for part in ("no-capabilities", "no-new-privileges", "not-dumpable", "landlock",
                         "seccomp", "limits"):
                self.assertIn(part, line)
                self.assertEqual(self.stats(name)["sandbox"][part], 1)
            self.assertLessEqual(len(self.stats(name)["sandbox-calls"]), CALLS_MAX)

    def test_the_documented_calls_are_those_in_force(self):
        page = (pipeline.TOP / "docs" / "stackpipe.7.scd").read_text()
        section = page.split("\nAll of them\n", 1)[1].split("\n\n", 1)[0]
        of_all, *entries = section.split("\n*")
        folded = self.directory / "small.folded"
        folded.write_text("a;b 1\n")
        self.run_on(pipeline.SMALL_STREAM, *self.stages("auto", self.directory / "out.syscap"))
        for source in (["preload-source", "--", "true"], ["capture-source", folded],
                       ["perfdata-source", SMALL_PERF_DATA]):
            self.run_well(self.stage(*source), self.stage("frame-dump", "--summary"))
        self.assertEqual({entry.split("*")[0] for entry in entries}, {*CONFINED})
        for entry in entries:
            name, calls = entry.split("*\n")
            usually, _, with_debuginfod = calls.partition("; with *--debuginfod=on*")
            documented = {*of_all.split(), *usually.split()} - {"none"}
            with self.subTest(name):
                self.assertEqual(documented, {*self.stats(name)["sandbox-calls"]})
            if with_debuginfod:
                with unittest.mock.patch.dict(os.environ, {"DEBUGINFOD_URLS": "http://127.0.0.1:1"}):
                    self.run_on(pipeline.SMALL_STREAM, self.stage(name, "--debuginfod=on"))
                self.assertEqual(documented | {*with_debuginfod.split()},
                                 {*self.stats(name)["sandbox-calls"]}, name)

    def test_off_is_off(self):
        out = self.run_on(pipeline.SMALL_STREAM, self.stage("live-unwinder", "--sandbox=off"),
                          [pipeline.program("frame-dump")]).decode()
        self.assertNotIn("\nsandbox ", out)
        self.assertNotIn("sandbox", self.stats("live-unwinder"))

    def test_required_fails_where_a_part_is_missing(self):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            ended = subprocess.run([pipeline.program("live-unwinder"), "--sandbox=required"],
                                   stdin=stdin, capture_output=True, text=True,
                                   preexec_fn=without_landlock, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertIn("landlock", ended.stderr)

    def test_auto_uses_the_available_parts(self):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            subprocess.run(self.stage("live-unwinder", "--sandbox=auto"), stdin=stdin, check=True,
                           stdout=subprocess.DEVNULL, preexec_fn=without_landlock)
        sandbox = self.stats("live-unwinder")["sandbox"]
        self.assertEqual((sandbox["landlock"], sandbox["seccomp"]), (0, 1))

    def test_unreadable_files_of_others_are_reported(self):
        """Root without capabilities cannot read files of others."""
        if os.geteuid():
            self.skipTest(f"{pipeline.NOT_HERE} a user read what others may not")
        theirs = self.directory / "theirs"
        theirs.mkdir()
        copy = shutil.copy(pipeline.CHAIN, theirs)
        os.chown(theirs, 65534, 65534)
        theirs.chmod(0o700)
        stream = self.directory / "recorded.stream"
        stream.write_bytes(self.run_well(self.source("-F", "499", "--", copy, "once", "0.5"))[-1].output)
        for mode, n_denied in ("required", 1), ("off", 0):
            with stream.open("rb") as stdin:
                ended = self.run_well(self.stage("live-unwinder", f"--sandbox={mode}"),
                                      [pipeline.program("frame-dump"), "--summary"], stdin=stdin)[0]
            self.assertEqual(self.stats("live-unwinder").get("images", {}).get("denied", 0), n_denied)
            self.assertEqual(len(ended.errors), n_denied, ended.errors)
            if n_denied:
                self.assertIn(f"'{copy}': use --sandbox=off", ended.errors[0])

    def test_a_heap_is_the_same(self):
        heaps = []
        for mode in ("required", "off"):
            self.run_well(self.stage("preload-source", f"--sandbox={mode}", "--", "ls", "/"),
                          [pipeline.program("frame-dump"), "--summary"])
            heaps.append(self.stats("preload-source"))
        self.assertEqual(heaps[0]["samples_in"], heaps[1]["samples_in"])
        self.assertEqual(heaps[0]["heap"], heaps[1]["heap"])
        self.assertLessEqual(len(heaps[0]["sandbox-calls"]), CALLS_MAX)

    @pipeline.needs_root
    def test_users_have_a_sandbox_too(self):
        self.directory.chmod(0o755)
        copy = pipeline.readable_copy(pipeline.program("live-unwinder"), self.directory)
        self.run_on(pipeline.SMALL_STREAM, [*pipeline.NOBODY, copy, "--sandbox=required"])


if __name__ == "__main__":
    pipeline.main()
