# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs pipelines of stages, and checks that each stage exits and leaves nothing behind."""
import atexit
import ctypes
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import weakref
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STACKPIPE_BUILD", TOP / "build"))
CHAIN = BUILD / "tests" / "pipeline" / "chain"
FORMATS = tuple(re.findall(r'^\t(?:FIRST|NEXT|LAST)\(\w+, "([^"]+)"\)', (TOP / "formats" / "format-list.h").read_text(), re.M))
SMALL_STREAM = TOP / "tests" / "data" / "small.stream"  # 66 KB, with all its images
PATIENCE_S = 30  # timeout: anything slower hangs
MESON_SKIPPED = 77
NOT_INSTALLED = "is not installed"  # part of a skip reason that is no error
NOT_HERE = "this machine does not let"  # likewise
MEMORY_MAX_KIB = 512 << 10  # limit for every stage and any input
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
TRACEFS = Path("/sys/kernel/tracing")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# perf hard-links all files that it has seen there, which changes their ctime: a recorded file then
# counts as another file.
os.environ["PERF_BUILDID_DIR"] = "/dev/null"

# Orphaned children of stages become our children, so that they can be detected and reaped.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def program(name):
    return BUILD / name / name


@functools.cache
def has_sanitizer():
    """Whether the programs of this build use additional memory and system calls for a sanitizer."""
    return b"__asan_init" in program("symbolizer").read_bytes()


def wait_for(condition, what):
    """Polls until `condition()` is true, and returns its value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.005)
    return value


def has_size(path, size):
    return path.exists() and path.stat().st_size >= size


def paranoid():
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())


def in_group(group):
    """Arguments for subprocess that put a process into a process group, 0 for a new one: Python 3.9 has no option."""
    if sys.version_info >= (3, 11):
        return {"process_group": group}
    return {"preexec_fn": functools.partial(os.setpgid, 0, group)}


class Ended:
    """The results of a stage that has exited."""

    def __init__(self, command, status, errors, output):
        self.name = Path(command[0]).name
        self.status = status
        self.errors = errors  # lines on stderr
        self.output = output  # bytes on stdout, captured from the last stage only

    def __repr__(self):
        return f"{self.name}: status {self.status}, stderr {self.errors}"


class Pipeline:
    """Commands connected by pipes, in a process group of their own, as a shell starts them."""

    all = weakref.WeakSet()

    def __init__(self, *commands, stdin=subprocess.DEVNULL, stdout=None):
        self.commands = [[str(part) for part in command] for command in commands]
        self.output = tempfile.TemporaryFile()
        self.errors = [tempfile.TemporaryFile() for _ in commands]
        self.processes = []
        self.all.add(self)
        try:
            for command, errors in zip(self.commands, self.errors):
                self._start(command, errors, stdin, stdout)
        except OSError:
            self.close()
            raise

    def _start(self, command, errors, stdin, stdout):
        before = self.processes[-1] if self.processes else None
        is_last = len(self.processes) + 1 == len(self.commands)
        self.processes.append(subprocess.Popen(
            command, stdin=before.stdout if before else stdin, stderr=errors,
            stdout=(stdout or self.output) if is_last else subprocess.PIPE,
            **in_group(self.group if before else 0)))
        if before:
            before.stdout.close()

    @property
    def group(self):
        return self.processes[0].pid

    def signal(self, number):
        """Sends a signal to the whole pipeline, as a terminal does."""
        os.killpg(self.group, number)

    def end(self):
        """Waits for every stage, and until nothing else is left. Returns [Ended, …] in order."""
        try:
            for process in self.processes:
                process.wait(PATIENCE_S)
            self._wait_until_nothing_is_left()
        except subprocess.TimeoutExpired as hanging:
            raise AssertionError(f"{Path(hanging.cmd[0]).name} hangs") from None
        finally:
            self.kill()
        self.output.seek(0)
        output = self.output.read()
        return [Ended(command, process.returncode, self._lines(errors), output)
                for command, process, errors in zip(self.commands, self.processes, self.errors)]

    @staticmethod
    def _lines(errors):
        errors.seek(0)
        return errors.read().decode().splitlines()

    def _wait_until_nothing_is_left(self):
        wait_for(self._is_group_empty, "what a stage left behind")

    def _is_group_empty(self):
        try:
            while os.waitpid(-self.group, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    def kill(self):
        """Kills what is left of it, after a failure."""
        if not self.processes:
            return
        for process in self.processes:
            if process.returncode is None:
                process.kill()
                process.wait()
        while not self._is_group_empty():
            os.killpg(self.group, signal.SIGKILL)
            time.sleep(0.005)

    def close(self):
        self.kill()
        for file in [self.output, *self.errors]:
            file.close()


@functools.cache
def refusal():
    """Why the kernel refuses recording here; "" where it does not. Determined by trying."""
    attempt = Pipeline([program("perf-source"), "-q", "--", "true"])
    ended = attempt.end()[0]
    attempt.close()
    text = "\n".join(ended.errors)
    refused = "not allowed" in text or "has no event" in text
    return text if ended.status == 1 and refused else ""


def is_output_full(process):
    """Whether the pipe that a process writes to has no room left: its next write blocks."""
    fd = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        return not poll.poll(0)
    finally:
        os.close(fd)


def has_taken_signals(process):
    """Whether no signal is pending: a second one would be merged with a pending one."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    pending = [line.split()[1] for line in status.splitlines() if "Pnd:" in line]
    return all(int(mask, 16) == 0 for mask in pending)


def children_of(process):
    """Names of a process's children."""
    pids = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]


def unrepeated(pairs):
    """An object of JSON. Most readers keep only the last of two members of one name."""
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


class PipelineTest(unittest.TestCase):
    """A test with a directory for its files."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="stackpipe-test-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def stage(self, name, *arguments):
        """
        The command of a stage, whose statistics are read by self.stats(name). $STACKPIPE_SANDBOX selects the
        sandbox of stages that have one, unless the test selects it.
        """
        mode = os.environ.get("STACKPIPE_SANDBOX")
        says = not mode or name == "perf-source" or any(str(each).startswith("--sandbox=") for each in arguments)
        sandbox = [] if says else [f"--sandbox={mode}"]
        return [program(name), f"--stats={self.directory / name}.json", *sandbox, *arguments]

    def source(self, *arguments):
        return self.stage("perf-source", "-q", *arguments)

    def stats(self, name):
        return json.loads((self.directory / f"{name}.json").read_text(), object_pairs_hook=unrepeated)

    def start(self, *commands, **options):
        pipeline = Pipeline(*commands, **options)
        self.addCleanup(pipeline.close)
        return pipeline

    def run_well(self, *commands, **options):
        """Runs a pipeline in which every stage must exit with 0."""
        ended = self.start(*commands, **options).end()
        for stage in ended:
            self.assertEqual(stage.status, 0, stage)
        return ended

    def run_on(self, stream, *commands):
        """Like run_well() with a recorded stream as input; returns the output."""
        with stream.open("rb") as stdin:
            return self.run_well(*commands, stdin=stdin)[-1].output

    def start_busy(self, mode="once"):
        """Starts a process that spins in chain.c until the test ends."""
        return self.start([CHAIN, mode, "1000000"]).processes[0]

    def assert_fails_in_one_line(self, ended, status=1, text=""):
        self.assertEqual(ended.status, status, ended)
        self.assertEqual(len(ended.errors), 1, ended)
        self.assertTrue(ended.errors[0].startswith(f"{ended.name}: "), ended)
        self.assertIn(text, ended.errors[0])

    def assert_stats_add_up(self, *names):
        for name in names:
            stats = self.stats(name)
            self.assertEqual(stats["stage"], name)
            self.assertEqual(stats["samples_in"],
                             stats["samples_out"] + sum(stats["dropped"].values()), name)
        for before, after in zip(names, names[1:]):
            self.assertEqual(self.stats(before)["samples_out"], self.stats(after)["samples_in"])

    def assert_memory_is_bounded(self, *names):
        for name in names:
            if not has_sanitizer():
                self.assertLess(self.stats(name)["max_rss_kib"], MEMORY_MAX_KIB, name)


class RecordingTest(PipelineTest):
    """A test that records; skipped only where the kernel refuses it."""

    @classmethod
    def setUpClass(cls):
        if refusal():
            raise unittest.SkipTest(f"the kernel refuses perf events: {refusal()}")

    def record(self, path, *stages, seconds="0.3", command=None):
        """Records chain.c for a moment, or another command, into a file."""
        command = command or [CHAIN, "once", seconds]
        with path.open("wb") as out:
            self.run_well(self.source("--", *command), *stages, stdout=out)
        return path


class MachineTest(RecordingTest):
    """A test that records the whole machine; its directory is readable by others."""

    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest(f"{NOT_HERE} a user record all processes")
        self.directory.chmod(0o755)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "only root may do what this test needs")(test)


def readable_copy(path, directory):
    """A copy that an unprivileged user can run, wherever the build directory lies."""
    copy = Path(shutil.copy(path, directory))
    copy.chmod(0o755)
    return copy


def _exit_status(result):
    n_skipped = sum(isinstance(test, unittest.TestCase) for test, _ in result.skipped)
    if not result.wasSuccessful():
        return 1
    unexpected = [reason for _, reason in result.skipped
                  if NOT_INSTALLED not in reason and NOT_HERE not in reason]
    if unexpected and not refusal() and os.geteuid() == 0:
        print("tests were skipped although perf events work here")
        return 1
    return MESON_SKIPPED if result.skipped and result.testsRun == n_skipped else 0


@atexit.register
def _kill_all():
    """Meson kills tests on timeout; their process groups must not outlive them."""
    for pipeline in Pipeline.all:
        pipeline.kill()


def mount_tracefs():
    """Mounts tracefs if it is not mounted (systemd does so): for this process and its children, if allowed."""
    if os.geteuid() or (TRACEFS / "events").is_dir():
        return
    if ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False)


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"build directory: {BUILD}", flush=True)
    sys.exit(_exit_status(unittest.main(exit=False, verbosity=2).result))
