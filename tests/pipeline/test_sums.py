# SPDX-License-Identifier: GPL-3.0-or-later
"""Every sample is in every file, for any number of samples and stacks."""
import json
import random
import subprocess

import accounting
import pipeline
import sums

DEEP, DEPTH, NODES_MAX = 10_000, 500, 1 << 22
VICTIM = 12_000


class Sums(pipeline.PipelineTest):
    def folded(self, lines):
        path = self.directory / "in.folded"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def convert(self, path, ending):
        """Converts folded stacks, which may be damaged; returns what a file of that format holds."""
        out = self.directory / f"out.{ending}"
        ended = self.start(self.stage("capture-source", "-q", path),
                           self.stage("capture-sink", "-q", "--force", out)).end()
        self.assertEqual(ended[-1].status, 0, ended)
        self.assert_stats_add_up("capture-source", "capture-sink")
        return sums.READERS[ending](out)

    def report(self, path):
        ended = subprocess.run([pipeline.program("stackpipe"), "report", "--json", path], capture_output=True,
                               text=True, timeout=300)
        return ended, json.loads(ended.stdout)

    def test_counts_have_64_bits(self):
        path = self.folded(["a;b 20000000000", "c;d 5000000000"])
        for ending in set(sums.READERS) - {"syscap"}:
            found = self.convert(path, ending)
            self.assertEqual(sum(found.values()), 25000000000, ending)
            if "a" in found:
                self.assertEqual(found, {"a": 20000000000, "c": 5000000000}, ending)
        ended, report = self.report(path)
        self.assertEqual((ended.returncode, report["summary"]["samples"], report["summary"]["ends"]), (0, 25000000000, {"complete": 25000000000}))

    def test_a_large_count_is_one_record(self):
        path = self.folded(["a;b 9000000000000"])
        ended, = self.run_well(self.stage("capture-source", path))
        self.assertLess(len(ended.output), 4096)
        self.assertEqual(self.stats("capture-source")["samples_out"], 9000000000000)

    def test_an_independent_reader_agrees(self):
        stream = self.directory / "in.stream"
        for lines in (["a;b 2000", "c;d 3"], ["a;b 3", "no count", "c;d 4294967296000", "e;f 18446744073709551616"]):
            with stream.open("wb") as out:
                self.start(self.stage("capture-source", "-q", self.folded(lines)), stdout=out).end()
            if "no count" not in lines:
                accounting.check(self, stream)
            told = accounting.of_stream(stream)
            self.assertEqual((told["left_out"], told["adds_up"]), (2 * ("no count" in lines), True))

    def test_a_capture_repeats_samples_up_to_a_limit(self):
        path = self.folded(["a;b 3", "a;c 100000000"])
        found = self.convert(path, "syscap")
        left_out = self.stats("capture-sink")["dropped"]["more-copies-than-fit"]
        self.assertEqual(found.total() + left_out, 100000003)
        self.assertGreater(found.total(), 1 << 24)

    def test_lines_that_are_no_stacks_are_reported(self):
        path = self.folded(["a;b 3", "a;c 18446744073709551616", "a;d -5", "a;e 1e9", "no count"])
        ended, report = self.report(path)
        self.assertEqual((ended.returncode, report["summary"]["samples"], report["summary"]["left_out"]), (1, 3, 4))
        self.assertIn("4 lines were skipped", ended.stderr)
        for ending in sums.READERS:
            self.assertEqual(self.convert(path, ending).total(), 3)

    def deep(self, n_processes):
        """Processes whose stacks all differ need more nodes than there are; then another process follows."""
        choose = random.Random(1)
        lines = [f"deep{i % n_processes};" + ";".join(choose.choices("ab", k=DEPTH)) + " 1" for i in range(DEEP)]
        return self.folded([*lines, f"victim;main;work;spin {VICTIM}"])

    def check_deep(self, n_processes, endings):
        path = self.deep(n_processes)
        for ending in endings:
            found = self.convert(path, ending)
            self.assertEqual(found.total(), DEEP + VICTIM, ending)
            if "victim" in found:
                self.assertEqual(found["victim"], VICTIM, ending)
                self.assertEqual(found["deep0"], DEEP // n_processes, ending)
        return path

    def test_deep_stacks_displace_no_other_process(self):
        self.assertGreater(DEEP * DEPTH, NODES_MAX)
        path = self.check_deep(1, set(sums.READERS) - {"syscap"})
        ended, report = self.report(path)
        self.assertEqual((ended.returncode, report["summary"]["samples"], report["summary"]["left_out"]), (0, DEEP + VICTIM, 0))
        self.assertEqual({row["function"]: row["self"] for row in report["functions"]}["spin"], VICTIM)
        self.assertGreater(report["summary"]["ends"]["more-stacks-than-fit"], 0)
        self.assertEqual(sum(report["summary"]["ends"].values()), DEEP + VICTIM)

    def test_deep_stacks_of_many_processes(self):
        self.check_deep(1000, ["pb.gz"])


if __name__ == "__main__":
    pipeline.main()
