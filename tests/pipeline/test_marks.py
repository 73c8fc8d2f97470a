# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs tell of themselves is where Sysprof and the page show it, with its own time."""
import re
import subprocess
import sys

import pages
import pipeline

INTEROP = pipeline.TOP / "tests" / "interop"
SYSPROF = pipeline.TOP / "build" / "sysprof-root"  # for all build directories
ROUNDS = 5
PROGRAM = f"""
import os, socket, time
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def tell(text):
    sender.sendto(text, os.environ["STACKPIPE_MARKS"])
for number in range({ROUNDS}):
    begun = time.monotonic_ns()
    sum(range(1000000))
    took = time.monotonic_ns() - begun
    tell(f"+{{took}}\\tround\\tnumber {{number}}".encode())
    print("took", took, begun + took, flush=True)
tell(b"\\x1b[31mred\\xff\\t</script>\\x07")
tell(b"")
tell(b"+x\\tround")
"""


class Marks(pipeline.RecordingTest):
    def record_marks(self):
        """A stream, and what the program says: [(duration, end), …]."""
        socket, stream = self.directory / "marks", self.directory / "marks.stream"
        with stream.open("wb") as out:
            ended = self.run_well(self.source(f"--marks={socket}", "--", sys.executable, "-c", PROGRAM),
                                  self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        self.assertFalse(socket.exists())
        said = [tuple(map(int, line.split()[1:])) for line in ended[0].errors if line.startswith("took ")]
        self.assertEqual(len(said), ROUNDS, ended)
        return stream, said

    def marks_of(self, stream):
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        return [(int(time), int(duration), name) for time, duration, name in re.findall(
            r'(?m)^mark time=(\d+) duration=(\d+) process=[1-9]\d* tid=0 group="application" name="(.*?)" ', text)]

    def test_they_are_in_the_stream(self):
        stream, said = self.record_marks()
        found = self.marks_of(stream)
        self.assertEqual([name for _, _, name in found[:ROUNDS]], ["round"] * ROUNDS)
        self.assertEqual(len(found), ROUNDS + 1, found)
        for (time, duration, _), (took, end) in zip(found, said):
            self.assertEqual(duration, took)
            self.assertLess(abs(time - end), 20_000_000)

    def test_sysprof_and_the_page_show_them(self):
        subprocess.run([INTEROP / "fetch-sysprof", SYSPROF], check=True)
        stream, said = self.record_marks()
        capture, page, again = (self.directory / name for name in ("out.syscap", "out.html", "again.html"))
        for path in capture, page:
            self.run_on(stream, [pipeline.program("capture-sink"), "-q", path])
        text = subprocess.run([SYSPROF / "run", "sysprof-cat", "--no-callgraph", "--no-counters", capture],
                              capture_output=True, check=True, text=True).stdout
        shown = re.findall(r'name: "round";\s+message: "number (\d)";\s+duration: (\d+);', text)
        self.assertEqual([(int(number), int(duration)) for number, duration in shown],
                         [(number, took) for number, (took, _) in enumerate(said)])
        marks = pages.read(page).marks
        self.assertEqual([(mark.name, mark.text, mark.duration) for mark in marks[:ROUNDS]],
                         [("round", f"number {number}", took // 1000) for number, (took, _) in enumerate(said)])
        self.assertEqual(len({mark.pid for mark in marks}), 1)
        self.assertNotIn("\x1b", marks[-1].name)
        self.assertIn("red", marks[-1].name)
        self.run_well([pipeline.program("capture-source"), capture], [pipeline.program("capture-sink"), "-q", again])
        self.assertEqual(pages.read(again).marks, marks)

    def test_a_path_that_cannot_be_used_is_told(self):
        taken = self.directory / "taken"
        taken.write_text("")
        ended = self.start(self.source(f"--marks={taken}", "--", "true")).end()[0]
        self.assert_fails_in_one_line(ended, 1, "something is there already")
        self.assertTrue(taken.exists())


if __name__ == "__main__":
    pipeline.main()
