# SPDX-License-Identifier: GPL-3.0-or-later
"""User rules lead through code without unwind information."""
import re
import subprocess
from pathlib import Path

import pipeline
import streams

PROGRAM = pipeline.BUILD / "tests" / "pipeline" / "nocfi"
ROUNDS = 10_000
# Intervals of each function, as offsets from its start (negative: from its end), and the CFA's offset from rsp.
LOOP = [(0, 1, 8), (1, -1, 16), (-1, 0, 8)]
CALL = [(0, 4, 8), (4, -1, 48), (-1, 0, 8)]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def build_id():
    return "build-id:" + re.search(r"Build ID: (\w+)", output("readelf", "-n", PROGRAM))[1]


def file_id():
    return "file-id:" + streams.file_id_of(Path(PROGRAM).read_bytes())


def rules(image):
    lines = []
    for name, parts in ("nocfi_loop", LOOP), ("nocfi_call", CALL):
        start, size = (int(word, 16) for word in re.search(
            rf"^(\w+) (\w+) T {name}$", output("nm", "-S", PROGRAM), re.M).groups())
        for first, last, depth in parts:
            first, last = (start + offset + (size if offset < 0 or end and offset == 0 else 0)
                           for offset, end in ((first, False), (last, True)))
            lines.append(f"{image} {first:#x}-{last:#x} cfa=rsp+{depth} ra=cfa-8\n")
    return "".join(lines)


class Intervals(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.stream = self.record(self.directory / "stream", command=[PROGRAM, str(ROUNDS)])

    def stacks(self, *options):
        text = self.run_on(self.stream, self.stage("live-unwinder", *options),
                           self.stage("symbolizer"), self.stage("capture-sink", "-q", "-f",
                                                                "folded", "-"))
        return streams.folded_stacks(text.decode())

    def share(self, stacks, end, function):
        of_function = [(names, n) for names, n in stacks if function in names]
        matching = sum(n for names, n in of_function if end in names)
        return matching / sum(n for _, n in of_function)

    def test_without_rules_stacks_are_cut(self):
        stacks = self.stacks()
        for function in "nocfi_loop", "nocfi_call":
            self.assertGreater(self.share(stacks, "[no-unwind-info]", function), 0.95)

    def test_with_rules_stacks_are_complete(self):
        for image in build_id(), file_id():
            with self.subTest(image=image):
                path = self.directory / "rules"
                path.write_text("# of a program of the tests\n" + rules(image))
                stacks = self.stacks(f"--unwind-rules={path}", "--verify=1")
                for function in "nocfi_loop", "nocfi_call":
                    self.assertGreater(self.share(stacks, "outer", function), 0.99)
                    self.assertGreater(self.share(stacks, "_start", function), 0.99)
                verified = self.stats("live-unwinder")["verify"]
                self.assertGreater(verified["compared"], 100)
                self.assertEqual(verified["different"], 0)

    def test_rules_of_another_file_change_nothing(self):
        path = self.directory / "rules"
        path.write_text(rules("build-id:00112233"))
        self.assertEqual(self.stacks(f"--unwind-rules={path}"), self.stacks())


if __name__ == "__main__":
    pipeline.main()
