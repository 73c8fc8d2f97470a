# SPDX-License-Identifier: GPL-3.0-or-later
"""
Programs of another user trigger one kind of kernel event over and over, beside a good program: its samples
are recorded, with complete stacks, and events not recorded one by one are counted and reported.
"""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import accounting  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402
from test_hostile import is_intact  # noqa: E402

STORM = pipeline.BUILD / "tests" / "hostile" / "storm"
STORMS = ("mmap", "turns", "protect", "remap", "anonymous", "name", "fork", "exec", "thread", "children")
GOOD = f"good-{os.getpid()}"
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"
N_PROCESSES = "4"
SECONDS = "2.5"  # of a recording
LOST = 0.03  # maximum share of all samples
NICENESS = -10
SMALL_RING = 128 << 10


def niceness(pid):
    """Niceness of a process's main thread: proc_pid_stat(5), field 19."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


def child_of(process, name):
    """The PID of a child with that name; None: there is none."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next((pid for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == name), None)


class Storms(pipeline.MachineTest):
    def setUp(self):
        super().setUp()
        self.program = pipeline.readable_copy(STORM, self.directory)
        good = self.directory / GOOD  # a name that no other test uses
        good.write_bytes(pipeline.CHAIN.read_bytes())
        good.chmod(0o755)
        self.good = good
        self.stream = self.directory / "all.stream"

    def storm(self, what, seconds=60):
        """Runs it in our session: every session has its share of the CPUs at any priority (sched(7), autogroups)."""
        storm = subprocess.Popen([*pipeline.NOBODY, self.program, what, str(seconds), N_PROCESSES],
                                 **pipeline.in_group(0))
        self.addCleanup(storm.wait)
        self.addCleanup(subprocess.run, ["kill", "-KILL", "--", f"-{storm.pid}"], check=True)

    def record(self, *options):
        """The folded stacks of the good program, and all statistics of the source."""
        folded = self.directory / "all.folded"
        started = self.start(self.source("-a", "-d", SECONDS, *options), self.stage("live-unwinder"),
                             self.stage("symbolizer"), ["tee", self.stream],
                             self.stage("capture-sink", "-q", "-f", "folded", folded))
        for ended in started.end():
            self.assertEqual(ended.status, 0, ended)
        self.assert_stats_add_up(*STAGES)
        self.assert_memory_is_bounded(*STAGES)
        accounting.check(self, self.stream)
        stacks = [(names, n) for names, n in streams.folded_stacks(folded.read_text()) if names[0] == GOOD]
        self.assertGreater(sum(n for _, n in stacks), 50)
        return stacks, self.stats("perf-source")

    def assert_none_is_wrong(self, stacks):
        """Stacks marked complete are correct."""
        wrong = [names for names, _ in stacks if not names[1].startswith("[") and not is_intact(names)]
        self.assertFalse(wrong)

    def check_storm(self, what):
        self.start([self.good, "once", "1000000"])
        self.storm(what)
        stacks, stats = self.record()
        self.assert_none_is_wrong(stacks)
        self.assertLessEqual(stats["dropped"]["kernel-lost"], LOST * stats["samples_in"])
        told = b"too often to record each change" in self.stream.read_bytes()
        self.assertEqual(told, sum(stats.get("over-budget", {}).values()) > 0)

    def test_stacks_after_lost_mappings_are_not_complete(self):
        """Small rings lose mapping records."""
        self.start([self.good, "once", "1000000"])
        self.storm("turns")
        stacks, stats = self.record("-m", str(SMALL_RING), "-s", "1024")
        self.assertGreater(stats["events"]["side-band-lost"], 0)
        self.assertGreater(self.stats("live-unwinder")["stacks"]["mappings-lost"], 0)
        self.assert_none_is_wrong(stacks)

    def test_only_a_live_pipeline_has_priority(self):
        raw = self.directory / "raw.stream"
        started = self.start(self.source("--", pipeline.CHAIN, "once", "1"), ["tee", raw],
                             self.stage("live-unwinder"))
        source, _, unwinder = started.processes
        pipeline.wait_for(lambda: [niceness(process.pid) for process in (source, unwinder)] == 2 * [NICENESS],
                          "the priority of stages")
        program = pipeline.wait_for(lambda: child_of(source, "chain"), "the command")
        self.assertEqual(niceness(program), 0)
        started.end()


for name in STORMS:
    setattr(Storms, f"test_a_storm_of_{name}_costs_others_no_samples",
            lambda self, what=name: self.check_storm(what))


if __name__ == "__main__":
    pipeline.main()
