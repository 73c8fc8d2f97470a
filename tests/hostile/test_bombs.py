# SPDX-License-Identifier: GPL-3.0-or-later
"""
Hostile programs take more memory and time than their share, beside a good program: all samples of the
good one are recorded, no stage grows, the recording ends, and losses of the others are reported.
"""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import accounting  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402

PROGRAMS = pipeline.BUILD / "tests" / "hostile"
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"
SECONDS = "3"
NOBODY = 65534
LOST_MAX = 0.03
GOOD_MIN = 100  # samples of the good program needed to judge its stacks: it shares the CPUs with all others


class Bombs(pipeline.MachineTest):
    def setUp(self):
        super().setUp()
        self.start_busy()
        self.folded = self.directory / "all.folded"
        self.stream = self.directory / "all.stream"

    def start_bomb(self, *command, n=1, niceness=19):
        """
        Starts a program as another user; it is killed at the end. CPU contention is not the topic, so the program is
        niced, but only once it is ready: niced earlier, it would never be ready on a busy machine.
        """
        program = pipeline.readable_copy(command[0], self.directory)
        processes = []
        for _ in range(n):
            process = subprocess.Popen([program, *command[1:]], user=NOBODY, group=NOBODY, extra_groups=[],
                                       stdout=subprocess.PIPE, **pipeline.in_group(0))
            self.addCleanup(self.end_bomb, process)
            processes.append(process)
        for process in processes:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            os.setpriority(os.PRIO_PGRP, process.pid, niceness)

    def end_bomb(self, process):
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()
        for path in Path("/tmp").glob(f"*-{process.pid}*"):
            if path.owner() == "nobody":
                path.unlink()

    def record_all(self):
        """Returns the stages' statistics and all stacks; the good program's are complete."""
        self.run_well(self.source("-a", "-d", SECONDS), self.stage("live-unwinder", "-q"),
                      self.stage("symbolizer", "-q"), ["tee", self.stream],
                      self.stage("capture-sink", "-q", "-f", "folded", self.folded))
        self.assert_stats_add_up(*STAGES)
        stats = {name: self.stats(name) for name in STAGES}
        self.assert_memory_is_bounded(*STAGES)
        accounting.check(self, self.stream)
        source = stats["perf-source"]
        self.assertLess(sum(source["dropped"].values()), LOST_MAX * source["samples_in"], source)
        stacks = streams.folded_stacks(self.folded.read_text())
        good = [(names, n) for names, n in stacks if names[0] == "chain"]
        self.assertGreater(sum(n for _, n in good), GOOD_MIN)
        cut = sum(n for names, n in good if names[1].startswith("["))
        self.assertLessEqual(cut, 0.01 * sum(n for _, n in good), good)
        return stats, stacks


class Maps(Bombs):
    """Perf maps and jitdumps."""

    def check(self, *how, n=1):
        self.start_bomb(PROGRAMS / "telling", *how, "60", n=n)
        stats, _ = self.record_all()
        return stats["symbolizer"]

    def assert_not_all_was_read(self, stats, what="perf-map-bytes"):
        self.assertGreater(stats.get("refused", {}).get(what, 0) + stats["jit"].get("too-large", 0), 0)

    def test_a_map_of_500_megabytes(self):
        self.assert_not_all_was_read(self.check("lines", "500"))

    def test_a_map_that_is_constantly_replaced(self):
        self.assert_not_all_was_read(self.check("replaced", "300"))

    def test_a_map_that_is_constantly_cut_and_grows(self):
        """Whether much of the map is there when it is read is chance."""
        self.check("cut", "500")

    def test_lines_of_a_megabyte(self):
        self.assertGreater(self.check("names", "200")["jit"]["perf-maps"], 0)

    def test_a_line_that_never_ends(self):
        self.assertGreater(self.check("line", "500")["jit"]["perf-maps"], 0)

    def test_maps_of_fifty_processes(self):
        self.assert_not_all_was_read(self.check("lines", "20", n=50))

    def test_a_jitdump_of_500_megabytes(self):
        self.assert_not_all_was_read(self.check("dump", "500"), "jitdump-bytes")


class Mappings(Bombs):
    """Many mappings, of many processes."""

    def check(self, kind, n, what, k, **bomb):
        files = self.directory / "files"
        files.mkdir()
        files.chmod(0o777)
        self.start_bomb(PROGRAMS / "mapping", kind, str(n), what, str(k), "60", files, **bomb)
        stats, stacks = self.record_all()
        self.assertTrue([names for names, _ in stacks if names[0] == "mapping"])
        return stats, stacks

    def assert_bytes_less(self, stats, n):
        """Shared mappings are written once, not once per process."""
        self.assertLess(stats["perf-source"]["bytes_out"], n)

    def test_processes_that_share_60000_mappings(self):
        stats, _ = self.check("file", 60000, "sharers", 2000)
        self.assert_bytes_less(stats, 200 << 20)

    def test_processes_sharing_60000_anonymous_mappings(self):
        stats, _ = self.check("anonymous", 60000, "sharers", 500)
        self.assert_bytes_less(stats, 200 << 20)

    def test_forks_of_60000_mappings_with_one_of_their_own(self):
        stats, _ = self.check("file", 60000, "forks", 100)
        self.assert_bytes_less(stats, 200 << 20)

    def test_forks_with_60000_anonymous_mappings(self):
        """
        Each fork has its own locations in each anonymous mapping, so the processes reach the mapping limit, which is
        counted. A fork has locked memory and must finish during the recording, so it is not niced.
        """
        stats, stacks = self.check("anonymous", 60000, "forks", 30, niceness=0)
        self.assert_bytes_less(stats, 200 << 20)
        self.assertGreater(stats["perf-source"]["refused"]["mapping-limit"], 0)

    def test_20000_files(self):
        self.check("files", 20000, "sharers", 10)

    def test_thousands_of_threads_that_change_their_names(self):
        self.check("file", 10, "threads", 3000)

    def test_thousands_of_processes(self):
        self.check("file", 10, "forks", 3000)


if __name__ == "__main__":
    pipeline.main()
