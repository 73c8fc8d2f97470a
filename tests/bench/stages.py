# SPDX-License-Identifier: GPL-3.0-or-later
"""The live, system-wide pipeline of the benchmarks: runs it, watches it, and reads its statistics."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

BUILD = Path(os.environ.get("STACKPIPE_BUILD", "build")).resolve()
STAGES = ["perf-source", "live-unwinder", "symbolizer", "capture-sink"]


class Pipeline:
    """All stages, connected; their statistics are in `directory` after they have ended."""

    def __init__(self, directory, source_options, sink_options, whom=("-a",)):
        self.directory = Path(directory)
        options = {STAGES[0]: [*source_options, *whom], STAGES[-1]: sink_options}
        self.processes = []
        for name in STAGES:
            command = [BUILD / name / name, "-q", f"--stats={self.directory / name}.json",
                       *options.get(name, [])]
            stdin = self.processes[-1].stdout if self.processes else subprocess.DEVNULL
            stdout = None if name == STAGES[-1] else subprocess.PIPE
            self.processes.append(subprocess.Popen(command, stdin=stdin, stdout=stdout))
            if len(self.processes) > 1:
                stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def end(self):
        statuses = [process.wait() for process in self.processes]
        if any(statuses):
            sys.exit(f"stages failed: {statuses}")

    def stop(self):
        """Sends SIGINT to the source only, the one stage that acts on it."""
        self.processes[0].send_signal(signal.SIGINT)
        self.end()

    def pids(self):
        """{name: pid}, including the image server, a child of the source."""
        pids = dict(zip(STAGES, [process.pid for process in self.processes]))
        source = pids[STAGES[0]]
        for child in Path(f"/proc/{source}/task/{source}/children").read_text().split():
            pids["image-server"] = int(child)
        return pids

    def stats(self):
        return {name: json.loads((self.directory / f"{name}.json").read_text()) for name in STAGES}

    def cost(self):
        """Statistics of all stages, combined."""
        stats = self.stats()
        source = stats[STAGES[0]]
        n = source["samples_in"]
        return {
            "samples": n,
            "lost": sum(source["dropped"].values()),
            "cpu_us": sum(cpu_seconds(each) for each in stats.values()) / n * 1e6,
            "cpu_us_by_stage": {name: cpu_seconds(each) / n * 1e6 for name, each in stats.items()},
            "complete": stats["live-unwinder"]["stacks"]["complete"] / n,
            "adds_up": all(each["samples_in"] == each["samples_out"] + sum(each["dropped"].values())
                           for each in stats.values()),
        }


def cpu_seconds(stats):
    return stats["cpu_user_s"] + stats["cpu_sys_s"]


def memory_and_descriptors(pid):
    """(RSS in KiB, open descriptors); None if the process does not exist."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        n_descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        return int(status.split("VmRSS:")[1].split()[0]), n_descriptors
    except (OSError, IndexError):
        return None


class Watch(threading.Thread):
    """Polls the stages: {name: [(seconds, RSS, descriptors), …]}."""

    def __init__(self, pipeline, interval_s, tell=lambda name, seen: None):
        super().__init__(daemon=True)
        self.seen = {name: [] for name in pipeline.pids()}
        self._pids = pipeline.pids()
        self._interval_s = interval_s
        self._tell = tell
        self._begun = time.monotonic()
        self._is_over = threading.Event()
        self.start()

    def look(self):
        """Polls once: {name: (seconds, RSS, descriptors)}."""
        now = time.monotonic() - self._begun
        found = {}
        for name, pid in self._pids.items():
            what = memory_and_descriptors(pid)
            if what:
                found[name] = (now, *what)
                self.seen[name].append(found[name])
                self._tell(name, found[name])
        return found

    def run(self):
        while not self._is_over.wait(self._interval_s):
            self.look()

    def end(self):
        self._is_over.set()
        self.join()
