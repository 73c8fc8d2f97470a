# SPDX-License-Identifier: GPL-3.0-or-later
"""What people see of a script: its own functions, without the interpreter's unless they want them."""
import collections
import json
import re
import subprocess
import sys

import erlang
import pipeline
import streams
from interpreters import CHAINS, FAKE, PROGRAMS, InterpreterTest, fetch_package

STACKPIPE = pipeline.program("stackpipe")
LOCKS = PROGRAMS / "locks.py"
LOOP = "_PyEval_EvalFrameDefault"
OLD_DOTNET = pipeline.BUILD / "tests" / "pipeline" / "libcoreclr.old"


class Views(InterpreterTest):
    def setUp(self):
        super().setUp()
        self.python = self.any_interpreter()
        self.capture = self.directory / "out.syscap"

    def record_view(self, program, *options):
        self.run_well([STACKPIPE, "record", "-q", *options, "-e", "cpu-clock", "-o", self.capture, "--",
                       self.python, program, "1"])

    def output_of(self, command, *arguments):
        return subprocess.run([STACKPIPE, command, *arguments], capture_output=True, text=True, check=True).stdout

    def folded(self, *options):
        out = self.directory / "out.folded"
        self.output_of("convert", "-q", "--force", *options, self.capture, out)
        return collections.Counter({tuple(names): n for names, n in streams.folded_stacks(out.read_text())})

    def test_a_report_shows_the_script(self):
        self.record_view(CHAINS)
        functions = json.loads(self.output_of("report", "--json", "-n", "0", self.capture))["functions"]
        of_script = [each for each in functions if each["kind"] == "script"]
        self.assertIn("spin", [each["function"] for each in of_script])
        self.assertEqual({each["image"] for each in of_script if re.match(r"f\d|spin$", each["function"])}, {str(CHAINS)})
        spin = next(each for each in of_script if each["function"] == "spin")
        total = sum(each["self"] for each in functions)
        self.assertGreater(spin["total"], total / 2)

    def test_what_runs_a_script_is_hidden_or_shown(self):
        self.record_view(CHAINS)
        hidden, shown = self.folded("--interpreter=hide"), self.folded("--interpreter=show")
        self.assertEqual(sum(hidden.values()), sum(shown.values()))
        with_script = [stack for stack in hidden if "f0" in stack]
        self.assertGreater(len(with_script), 20)
        for stack in with_script:
            self.assertEqual(stack[1], "<module>", stack)
            innermost = max(i for i, name in enumerate(stack) if re.match(r"<module>|spin|f\d", name))
            self.assertFalse([name for name in stack[:innermost] if LOOP in name], stack)
        for stack in shown:
            if "f0" in stack:
                self.assertTrue(any(LOOP in name for name in stack[:stack.index("f0")]), stack)
        tree = self.output_of("report", "--tree", self.capture)
        self.assertRegex(tree, r"\n +[0-9.]+ % +[0-9.]+ %  <module>\n")
        self.assertIn(LOOP, self.output_of("report", "--tree", "--interpreter=show", self.capture))

    def test_a_capture_has_all(self):
        self.record_view(CHAINS)
        again = self.directory / "again.syscap"
        self.output_of("convert", "-q", self.capture, again)
        first = self.folded("--interpreter=show")
        self.capture = again
        self.assertEqual(first, self.folded("--interpreter=show"))
        refused = subprocess.run([STACKPIPE, "convert", "--interpreter=hide", again, self.directory / "b.syscap"],
                                 capture_output=True, text=True, check=False)
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1), refused)

    def test_formats_say_what_a_frame_is(self):
        self.record_view(CHAINS)
        for name, pattern in ("a.otlp", rb"(?=.*profile\.frame\.type).*\x07cpython"), ("a.firefox.json", rb'"name":"Script"'):
            out = self.directory / name
            self.output_of("convert", "-q", self.capture, out)
            self.assertRegex(out.read_bytes(), re.compile(pattern, re.S), name)

    def test_waits_for_the_lock_of_the_interpreter(self):
        self.record_view(LOCKS, "--off-cpu")
        waits = re.findall(r"([0-9.]+)  Python's GIL +(\S+)", self.output_of("report", self.capture))
        self.assertIn("spin", [function for _, function in waits])
        self.assertGreater(sum(float(ms) for ms, _ in waits), 100)

    def test_nothing_is_recorded_of_it_if_that_is_not_wanted(self):
        self.record_view(CHAINS, "--no-interpreters")
        self.assertFalse([stack for stack in self.folded() if "<module>" in stack])

    def test_one_line_says_what_is_missing(self):
        """An ordinary user's recording is as it was, and of other programs there is no line."""
        if pipeline.paranoid() > 2:
            self.skipTest("kernel.perf_event_paranoid lets no ordinary user record")
        self.directory.chmod(0o755)
        source = pipeline.readable_copy(pipeline.program("perf-source"), self.directory)
        looks_like_one = pipeline.readable_copy(FAKE, self.directory)
        for command, n in ([looks_like_one, "0.5", "good"], 1), (["sleep", "0.1"], 0):
            done = subprocess.run([*pipeline.NOBODY, source, "-e", "cpu-clock", "--", *command], capture_output=True,
                                  check=False)
            lines = [line for line in done.stderr.decode().splitlines() if "functions of scripts" in line]
            self.assertEqual(len(lines), n, done.stderr)
            self.assertTrue(all(line.endswith("grant CAP_BPF and CAP_PERFMON") for line in lines), lines)

    def said_of(self, *command):
        return subprocess.run([pipeline.program("perf-source"), "-e", "cpu-clock", "--", *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=True).stderr

    def test_one_line_names_what_is_not_supported(self):
        self.assertRegex(self.said_of(OLD_DOTNET, "0.5", "good"),
                         r"functions in \.NET of process \d+ are not recorded: \.NET 6\.0\.36 is not known; known are 9 and 10\n")

    def test_one_line_names_a_build_with_small_pointers(self):
        root = fetch_package("luajit-bullseye", "bullseye", "luajit")
        if not root:
            self.skipTest("no LuaJIT could be fetched")
        self.assertRegex(self.said_of(root / "run", "luajit", "-e", "local t = os.clock() while os.clock() - t < 0.5 do end"),
                         r"functions in Lua of process \d+ are not recorded: LuaJIT is built in another way than those that are known: "
                         r"2\.1 \(GC64\)\n")

    def test_one_line_names_what_is_built_otherwise(self):
        """From OTP 28 on Debian's exports nothing of what is read."""
        erl = erlang.fetch_from("sid")
        if not erl:
            self.skipTest("no Erlang could be fetched")
        said = re.compile(r"functions in Erlang of process \d+ are not recorded: OTP is built in another way than those that are known: "
                          r"25 and 27$", re.M)
        command = pipeline.program("perf-source"), "-e", "cpu-clock", "--", erl, "-eval", 'io:get_line(""), halt().'
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as source:
            first = source.stderr.readline()  # before the program ends
            rest = source.communicate("\n", timeout=pipeline.PATIENCE_S)[1]
        self.assertRegex(first, said)
        self.assertEqual(rest, "")


if __name__ == "__main__":
    sys.exit(pipeline.main())
