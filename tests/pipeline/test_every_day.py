# SPDX-License-Identifier: GPL-3.0-or-later
"""Everyday use, typed into a terminal: its output and exit status."""
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

import pipeline

STACKPIPE = pipeline.program("stackpipe")
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink", "perfdata-source", "frame-dump", "stackpipe"
HOT = """\
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static unsigned hot(unsigned n)
{
	volatile unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum = sum * 1664525 + 1013904223;
	return sum;
}
__attribute__((noinline)) static void wait_long(unsigned ms)
{
	usleep(1000 * ms);
}
int main(int argc, char **argv)
{
	wait_long(argc > 2 ? atoi(argv[2]) : 0);
	return hot(atoi(argv[1])) == 1;
}
"""
CRASH = """
__attribute__((noinline)) static int broken(volatile int *nothing)
{
	for (volatile unsigned i = 0; i < 50000000; i++)
		;
	return *nothing;
}
int main(void)
{
	return broken(0);
}
"""
TEMPLATES = """
#include <string>
#include <vector>
template<class T> struct Stack { std::vector<T> items; __attribute__((noinline)) unsigned long work(T n) {
	volatile unsigned long sum = 0;
	for (T i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum; } };
int main() { return Stack<unsigned>().work(200000000) == 1; }
"""
HEAP = """
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *keep(size_t size) { return memset(malloc(size), 1, size); }
int main(void) { char *kept = keep(100000); for (int i = 0; i < 1000; i++) free(keep(100)); return kept[5] == 2; }
"""


class EveryDay(pipeline.RecordingTest):
    def type(self, line, status=0, keys=b"", until=None):
        """Types a line into a shell on a terminal; returns its output. Sends `keys` after `until` was output."""
        path = os.pathsep.join([*(str(pipeline.program(name).parent) for name in STAGES), os.environ["PATH"]])
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execvpe("sh", ["sh", "-c", line], dict(os.environ, PATH=path, TERM="xterm", COLUMNS="120", LINES="40"))
        seen = b""
        while True:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
            if keys and re.search(until, seen):
                os.write(terminal, keys)
                keys = b""
        os.close(terminal)
        _, ended = os.waitpid(pid, 0)
        text = seen.decode(errors="replace").replace("\r\n", "\n")
        self.assertEqual(os.waitstatus_to_exitcode(ended), status, text)
        return text

    def build(self, name, source, *options, compiler="gcc"):
        suffix = ".cc" if compiler == "g++" else ".c"
        (self.directory / f"{name}{suffix}").write_text(source, encoding="ascii")
        subprocess.run([compiler, "-O1", *options, "-o", name, f"{name}{suffix}"], cwd=self.directory, check=True)

    def test_a_hot_line(self):
        self.build("prog", HOT, "-g")
        self.type("stackpipe record -- ./prog 150000000")
        self.assertRegex(self.type("stackpipe report"), r"(?m)^ +\d+\.\d\d % +\d+\.\d\d % +\d+  hot  prog$")
        self.assertRegex(self.type("stackpipe report --lines"), r"  hot prog\.c:[67]  prog\n")

    def test_the_command_has_the_terminal(self):
        """Its output appears as it does without us."""
        self.type("stackpipe record -q -- echo hello > out.txt")
        self.assertEqual((self.directory / "out.txt").read_text(), "hello\n")
        self.type("stackpipe heap -q -- sh -c 'ls / >/dev/null; echo hello' > out.txt")
        self.assertEqual((self.directory / "out.txt").read_text(), "hello\n")
        spin = "sh -c 'ls /; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'"
        self.assertEqual(self.type(f"stackpipe record -q --force -o - -f folded -- {spin} 2>/dev/null | tail -n 1 | grep -c ' [0-9]'"),
                         "1\n")

    def test_waits_of_a_program(self):
        self.build("prog", HOT, "-g")
        said = self.type("stackpipe record --off-cpu -- ./prog 10000000 700")
        self.assertRegex(said, r"(?m)^\d\.\d\d\d s on CPU, (0\.[789]|[1-9]\d*\.\d)\d\d s waiting; percentages are of wall-clock")
        text = self.type("stackpipe report")
        self.assertRegex(text, r"(?m)^waited +ms  for +in\n +\d+\.\d\d % +(?:[7-9]\d\d|\d{4,})\.\d  clock_nanosleep +wait_long$")
        for view in "off-cpu", "wall-clock":
            first = re.search(r"  function\n(.*)\n", self.type(f"stackpipe report --view={view}"))[1]
            self.assertNotIn("[kernel]", first)
        self.assertIn("schedule [kernel]", self.type("stackpipe report --view=off-cpu --kernel"))
        self.assertRegex(self.type("stackpipe record -q --off-cpu --view=off-cpu -o - -f folded -- ./prog 1000 300"),
                         r"wait_long.* 3\d\d\d\d\d\n")

    def test_changes_between_recordings(self):
        self.build("prog", HOT)
        for name, n in ("before", 60000000), ("after", 180000000):
            self.type(f"stackpipe record -q -o {name}.syscap -- ./prog {n}")
        text = self.type("stackpipe diff before.syscap after.syscap")
        self.assertRegex(text, r"(?m)^change +\+\d+\.\d\d %$")
        self.assertRegex(text, r"(?m)^ +[\d.]+ +[\d.]+ +\+[\d.]+ +\+[\d.]+ % +\+- *[\d.]+ .*  hot$")
        self.assertRegex(self.type("stackpipe diff --shares before.syscap after.syscap"), "self, %")

    def test_a_running_process(self):
        self.build("prog", HOT)
        said = self.type("./prog 2000000000 & stackpipe record -p $! -d 0.5; kill $!")
        self.assertRegex(said, r"\d+ samples in \d+\.\d s")
        said = self.type("sleep 2 & stackpipe record -p $!")
        self.assertRegex(said, r"perf-source: process \d+ exited")
        said = self.type("true & wait; stackpipe record -p $!", status=1)
        self.assertRegex(said, r"error: process \d+ does not exist")

    def test_memory(self):
        self.build("prog", HEAP, "-g")
        self.assertIn("stackpipe heap: wrote 'stackpipe.heap'", self.type("stackpipe heap -- ./prog"))
        text = self.type("stackpipe heap --leaks stackpipe.heap")
        self.assertRegex(text, r"never freed +97\.66 KiB in 1 blocks")
        self.assertRegex(text, r"100\.00 % +100000  keep  prog")
        self.assertNotRegex(text, r"\de-\d\d")

    def test_the_live_view(self):
        self.build("prog", HOT)
        # Curses leaves the terminal's description allocated at exit.
        said = self.type("ASAN_OPTIONS=detect_leaks=0 stackpipe top -- ./prog 2000000000", keys=b"q", until=rb"hot")
        self.assertNotIn("error", said)

    @unittest.skipUnless(shutil.which("perf"), f"perf {pipeline.NOT_INSTALLED}")
    def test_files_of_perf(self):
        self.build("prog", HOT)
        for options, ends in ("", "not-unwound 100.00 %"), ("-g", "not-unwound 100.00 %"), ("--call-graph dwarf", "complete"):
            self.type(f"perf record -q -e cpu-clock {options} -o perf.data -- ./prog 150000000")
            text = self.type("stackpipe report perf.data")
            self.assertIn(ends, text)
            self.assertRegex(text, r"(?m)^ +\d\d\.\d\d % +\d+\.\d\d % +\d+  hot  prog$")
        self.assertIn("hello", self.type("perfdata-source < perf.data | frame-dump | head -n 1"))

    def test_a_pipeline_by_hand(self):
        self.build("prog", HOT)
        said = self.type("perf-source -- ./prog 100000000 | live-unwinder | symbolizer | capture-sink out.folded")
        self.assertIn("out.folded: ", said)
        self.assertIn("main;hot", (self.directory / "out.folded").read_text())
        said = self.type("perf-source -q -- ./prog 100000 | live-unwinder | frame-dump > stream.txt; frame-dump < /dev/null", status=1)
        self.assertIn("ended before a stream began", said)
        self.assertEqual(self.type("perf-source -q -- ./prog 100000 > a.stream; frame-dump < a.stream | head -n 1 | wc -l"), "1\n")

    def test_templates_and_stripped_files(self):
        self.build("prog", TEMPLATES, "-g", compiler="g++")
        self.type("stackpipe record -q -- ./prog")
        self.assertIn("Stack<unsigned int>::work(unsigned int)", self.type("stackpipe report"))
        self.type("strip prog; stackpipe record -q -- ./prog")
        self.assertRegex(self.type("stackpipe report"), r"\[prog\+0x[0-9a-f]+\]")

    def test_a_crash(self):
        self.build("prog", CRASH)
        status = 128 + signal.SIGSEGV
        said = self.type("ulimit -c 0; stackpipe record -- ./prog", status=status)
        self.assertRegex(said, r"'\./prog' was killed by SIGSEGV\n")
        text = self.type("stackpipe report")
        self.assertRegex(text, r"(?m)^perf-source: '\./prog' was killed by SIGSEGV$")
        self.assertRegex(text, "  broken  prog")
        said = self.type("ulimit -c 0; stackpipe heap -- ./prog", status=status)
        self.assertIn("was killed by SIGSEGV", said)

    @pipeline.needs_root
    def test_no_permission(self):
        if pipeline.paranoid() < 1:
            self.skipTest(f"{pipeline.NOT_HERE} us be forbidden anything")
        self.directory.chmod(0o777)
        for name in *STAGES, "preload-source", "capture-source":
            pipeline.readable_copy(pipeline.program(name), self.directory)
        said = self.type(f"{shlex.join(pipeline.NOBODY)} ./stackpipe record -a -d 0.1", status=1)
        self.assertEqual(len([line for line in said.splitlines() if "error" in line]), 1, said)
        self.assertIn("run as root", said)
        self.assertFalse((self.directory / "stackpipe.syscap").exists())
        told = self.type(f"{shlex.join(pipeline.NOBODY)} ./stackpipe doctor", status=1)  # the copy has no preload library
        self.assertRegex(told, r"(?m)^yes +record programs that you start$")
        for what in "sample CPU cycles", "sample at 4999 Hz":
            reason = told[told.index(what):].split("\n", 2)[1]
            self.assertNotIn("all processes", reason)
        reason = told[told.index("record functions of scripts"):].split("\n", 2)[1]
        self.assertIn("CAP_BPF", reason)

    def test_wrong_options(self):
        """One line in the name of the typed command, and the command to be recorded does not run."""
        for options, text in (("-F 0", "-F takes a rate"), ("-o foo", "implies no format"), ("-e none", "unknown event 'none'"),
                              ("--engine=none", "--engine takes"), ("--sandbox=none", "--sandbox takes"), ("-s 7", "-s takes"),
                              ("--debuginfod=none", "--debuginfod takes")):
            said = self.type(f"stackpipe record -q {options} -- touch ran", status=2)
            self.assertIn(text, said)
            self.assertTrue(all(line.startswith(("stackpipe record:", "Try ")) for line in said.splitlines()), said)
        self.assertIn("No such file", self.type("stackpipe record -q -o nowhere/a.syscap -- touch ran", status=1))
        self.assertIn("No such file", self.type("stackpipe record -q --unwind-rules=none -- touch ran", status=1))
        self.assertFalse((self.directory / "ran").exists())

    def test_a_rate_that_is_too_high(self):
        said = self.type("stackpipe record -F 1000000 -- true")
        self.assertIn("1000000 Hz would leave programs little CPU time: using 20000", said)
        self.assertIn(" at 20000 Hz\n", self.type("stackpipe report"))

    def test_a_build(self):
        self.build("prog", HOT)
        names = [f"part{i}" for i in range(12)]
        (self.directory / "Makefile").write_text(
            "all: " + " ".join(f"{name}.o" for name in names) + "\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n", encoding="ascii")
        for name in names:
            (self.directory / f"{name}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + HOT.replace("main", name))
        self.type("stackpipe record -q -o build.syscap -- make -s -j2")
        text = self.type("stackpipe report build.syscap")
        self.assertRegex(text, r"cc1 \(\d+\)")
        # A virtual CPU that stood still for a while had no ticks: "left out" says so, and nothing of it was lost.
        self.assertRegex(text, r" 0 lost(, \d+ left out)?\n")
        self.assertTrue(all((self.directory / f"{name}.o").exists() for name in names))

    def test_colours_are_for_terminals(self):
        self.build("prog", HOT)
        self.type("stackpipe record -q -- ./prog 1000000")
        self.assertNotIn("\x1b", self.type("NO_COLOR=1 stackpipe report | cat"))


if __name__ == "__main__":
    sys.exit(pipeline.main())
