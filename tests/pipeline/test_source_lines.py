# SPDX-License-Identifier: GPL-3.0-or-later
"""Source lines are in captures and their conversions, as they were during the recording."""
import gzip
import json
import subprocess
from pathlib import Path

import pipeline

STACKPIPE = pipeline.program("stackpipe")
SOURCE = """\
#include <stdlib.h>
static inline __attribute__((always_inline)) unsigned step(unsigned x)
{
	return x * 1664525 + 1013904223; /* line 4 */
}
__attribute__((noinline)) static unsigned spin(unsigned n)
{
	volatile unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum = step(sum); /* line 10 */
	return sum;
}
int main(int argc, char **argv)
{
	return spin(atoi(argv[1])) == 1; /* line 15 */
}
"""


class SourceLines(pipeline.RecordingTest):
    def build(self, *options):
        source, program = self.directory / "lines.c", self.directory / "lines"
        source.write_text(SOURCE, encoding="ascii")
        subprocess.run(["gcc", "-O2", *options, "-o", program, source], check=True)
        return program

    def run_front(self, *arguments):
        return subprocess.run([STACKPIPE, *arguments], cwd=self.directory, check=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE).stdout.decode()

    def record(self, program, *options):
        stream, capture = self.directory / "a.stream", self.directory / "a.syscap"
        with stream.open("wb") as out:
            self.run_well(self.source("--", program, "400000000"), self.stage("live-unwinder"), self.stage("symbolizer", *options),
                          stdout=out)
        self.run_on(stream, self.stage("capture-sink", "-q", capture))
        return stream, capture

    def lines_of(self, file, *options):
        found = json.loads(self.run_front("report", "--json", "--lines", "-n0", *options, file))["functions"]
        return {(f["function"], f.get("file"), f.get("line"), f["self"], f["total"]) for f in found}

    def test_the_hot_line_is_found(self):
        stream, capture = self.record(self.build("-g"))
        lines = self.lines_of(capture)
        hot = max((line for line in lines), key=lambda line: line[3])
        self.assertIn((hot[0], Path(hot[1]).name, hot[2]), {("step", "lines.c", 4), ("spin", "lines.c", 10),
                                                            ("spin", "lines.c", 9)})
        self.assertEqual({line[2] for line in lines if line[0] == "main"}, {15})
        self.assertEqual(lines, self.lines_of(stream))
        self.assertRegex(self.run_front("report", "--lines", "-t", capture), r"main lines\.c:15\n.* spin lines\.c:\d+")
        # Lines are shown only on request.
        self.assertNotIn("lines.c", self.run_front("report", capture))

    def test_conversions_of_a_capture_have_lines(self):
        stream, capture = self.record(self.build("-g"))
        for name in "pb.gz", "otlp", "firefox.json":
            direct, converted = self.directory / f"direct.{name}", self.directory / f"converted.{name}"
            self.run_on(stream, self.stage("capture-sink", "-q", direct))
            self.run_front("convert", "-q", capture, converted)
            for path in direct, converted:
                content = path.read_bytes()
                self.assertIn(b"lines.c", gzip.decompress(content) if name == "pb.gz" else content, path)

    def test_a_capture_of_a_capture_has_the_same_lines(self):
        _, capture = self.record(self.build("-g"))
        again = self.directory / "again.syscap"
        self.run_front("convert", "-q", capture, again)
        self.assertEqual(self.lines_of(again), self.lines_of(capture))

    def test_missing_lines_are_reported(self):
        _, capture = self.record(self.build("-g"), "--no-inlines")
        told = self.run_front("report", "--lines", capture)
        self.assertRegex(told, r"(?m)^no source lines: ")
        self.assertRegex(told, r"(?m)^ +\d+\.\d\d % +\d+\.\d\d % +\d+  spin  lines$")


if __name__ == "__main__":
    pipeline.main()
