# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks that programs send appear in Sysprof and the page, with the program's own time."""
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
        """A stream, and the program's own times: [(duration, end), …]."""
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

    def test_marks_are_in_the_stream(self):
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
        self.assertEqual(len({mark.process for mark in marks}), 1)
        self.assertNotIn("\x1b", marks[-1].name)
        self.assertIn("red", marks[-1].name)
        self.run_well([pipeline.program("capture-source"), capture], [pipeline.program("capture-sink"), "-q", again])
        self.assertEqual(pages.read(again).marks, marks)

    def test_an_unusable_path_is_reported(self):
        taken = self.directory / "taken"
        taken.write_text("")
        ended = self.start(self.source(f"--marks={taken}", "--", "true")).end()[0]
        self.assert_fails_in_one_line(ended, 1, "the path already exists")
        self.assertTrue(taken.exists())


TURNS = """
import os, time
os.sched_setaffinity(0, {0})
begun = time.thread_time_ns()
while time.thread_time_ns() - begun < 200_000_000:
    pass
time.sleep(0.05)
lived = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - int(open("/proc/self/stat").read().split()[21]) * 10_000_000
print("ran", os.getpid(), time.thread_time_ns(), lived + 20_000_000, flush=True)
"""


class Scheduler(pipeline.RecordingTest):
    def marks_of(self, stream, group):
        """[(time, duration, process, tid, name, text), …]"""
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        return [(int(time), int(duration), int(process), int(tid), name, how) for time, duration, process, tid, name, how in
                re.findall(rf'(?m)^mark time=(\d+) duration=(\d+) process=(\d+) tid=(\d+) group="{group}" name="(.*?)" '
                           r'text="(.*?)"', text)]

    def record_turns(self, *options):
        stream = self.directory / "turns.stream"
        with stream.open("wb") as out:
            ended = self.run_well(self.source("--scheduler", *options, "--", sys.executable, "-c", TURNS),
                                  self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
        said = next(line.split() for line in ended[0].errors if line.startswith("ran "))
        return stream, int(said[1]), int(said[2]), int(said[3])

    def check_turns(self, stream, pid, ran_ns, lived_ns):
        runs = [run for run in self.marks_of(stream, "scheduler") if run[3] == pid]
        on_first = [run for run in runs if run[4] == "CPU 0"]
        self.assertGreater(sum(run[1] for run in on_first), 0.9 * 0.2e9)  # as in the next line
        self.assertGreater(sum(run[1] for run in runs), 0.9 * ran_ns)  # less where the host takes CPU time away
        self.assertLess(sum(run[1] for run in runs), lived_ns)
        self.assertTrue(all(run[5].startswith(f"thread {pid}") for run in runs), runs)
        for before, after in zip(runs, runs[1:]):
            self.assertLessEqual(before[0], after[0] - after[1])
        lives = [life for life in self.marks_of(stream, "process") if life[2] == runs[-1][2]]
        self.assertEqual([(life[4], life[5]) for life in lives], [("life", "exit")])
        self.assertGreater(lives[0][1], 0.25e9)

    def test_runs_on_cpus_are_recorded(self):
        self.check_turns(*self.record_turns())

    def test_runs_and_waits_are_recorded_together(self):
        self.check_turns(*self.record_turns("--off-cpu"))

    @pipeline.needs_root
    def test_marks_name_the_process_that_runs(self):
        for options in (), ("--off-cpu",):
            stream = self.directory / "all.stream"
            with stream.open("wb") as out:
                self.run_well(self.source("-a", "--scheduler", "-d0.5", *options), stdout=out)
            runs = {}
            for time, duration, _, tid, name, _ in self.marks_of(stream, "scheduler"):
                runs.setdefault(name, []).append((time - duration, time, tid))
            self.assertTrue(runs)
            for of_cpu in runs.values():
                of_cpu.sort()
                self.assertTrue(all(tid for _, _, tid in of_cpu))
                for (_, end, _), (begin, _, _) in zip(of_cpu, of_cpu[1:]):
                    self.assertLessEqual(end, begin)


if __name__ == "__main__":
    pipeline.main()
