# SPDX-License-Identifier: GPL-3.0-or-later
"""stackpipe, the front-end: its commands do the same as the pipelines that they show."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import pipeline
import reading

pipeline.mount_tracefs()

BUILD = Path(os.environ["STACKPIPE_BUILD"])
STACKPIPE = BUILD / "stackpipe" / "stackpipe"
CHAIN = pipeline.CHAIN
BUSY = [sys.executable, "-c", "import json\nfor i in range(150): json.dumps(list(range(20000)))"]
TERMINAL = (120, 40)
VIEWS_MAX = 12  # presses until any existing view must have been shown


def run(*arguments, status=0, **options):
    done = subprocess.run([STACKPIPE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == status, (arguments, done)
    return done


class Front(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.capture = self.directory / "out.syscap"

    def record_busy(self):
        run("record", "-q", "-o", self.capture, "--", *BUSY)

    def folded(self, capture):
        text = self.directory / "totals.folded"
        run("convert", "-q", "--force", capture, text)
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2]))
                for line in text.read_text().splitlines()]

    def test_the_shown_pipeline_does_the_same(self):
        shown = run("record", "--show-pipeline", "-q", "-F", "500", "-o", self.capture, "--", CHAIN, "once", "0.2").stdout
        stages = [shlex.split(each) for each in shown.split(" | ")]
        self.assertEqual([each[0] for each in stages], ["perf-source", "live-unwinder", "symbolizer", "capture-sink"])
        self.assertIn("500", stages[0])
        path = ":".join(str(BUILD / each[0]) for each in stages)
        subprocess.run(shown, shell=True, check=True, env=dict(os.environ, PATH=f"{path}:{os.environ['PATH']}"))
        self.assertGreater(self.capture.stat().st_size, 256)

    def test_all_but_the_source_get_the_sandbox_mode(self):
        mode = ["--sandbox", "required"]
        shown = run("record", "--show-pipeline", "--sandbox=required", "--", "true").stdout
        source, *others = [shlex.split(each) for each in shown.split(" | ")]
        self.assertNotIn(mode[0], source)
        for stage in others:
            self.assertEqual(stage[1:3], mode)
        shown = run("heap", "--show-pipeline", "--sandbox=required", "-o", "out.html", "--", "true").stdout
        for stage in shown.split(" | "):
            self.assertEqual(shlex.split(stage)[1:3], mode)
        run("record", "-q", "--sandbox=off", "-o", self.capture, "--", "true")
        run("record", "-q", "--sandbox=perhaps", "-o", self.capture, "--", "true", status=2)

    def test_a_command_keeps_its_status(self):
        run("record", "-q", "-o", self.capture, "--", "sh", "-c", "exit 7", status=7)

    def check_stopped(self, send):
        """A signal to the front-end ends the recording cleanly, wherever else it is delivered."""
        front = subprocess.Popen([STACKPIPE, "record", "-a", "-o", self.capture], stderr=subprocess.PIPE,
                                 text=True, start_new_session=True)
        pipeline.wait_for(lambda: pipeline.has_size(self.capture, 1), "the capture")
        send(front.pid)
        self.assertEqual(front.wait(pipeline.PATIENCE_S), 0)
        self.assertNotIn("incomplete", front.stderr.read())
        front.stderr.close()
        report = run("report", self.capture)
        self.assertEqual(report.stderr, "")
        self.assertRegex(report.stdout, r"samples, \d+ lost")

    def test_a_signal_to_the_front_end_ends_it(self):
        self.check_stopped(lambda pid: os.kill(pid, signal.SIGTERM))
        self.capture.unlink()
        self.check_stopped(lambda pid: os.kill(pid, signal.SIGINT))

    def test_a_signal_to_all_is_one_request(self):
        for _ in range(20):
            self.check_stopped(lambda pid: os.killpg(pid, signal.SIGINT))
            self.capture.unlink()

    def test_a_program_instead_of_a_command_is_recorded(self):
        run(CHAIN, "once", "0.2", cwd=self.directory)
        report = run("report", cwd=self.directory).stdout
        self.assertRegex(report, r"samples, \d+ lost")

    def test_an_existing_file_is_kept(self):
        self.capture.write_text("mine")
        done = run("record", "-q", "-o", self.capture, "--", "true", status=1)
        self.assertIn("exists", done.stderr)
        self.assertEqual(self.capture.read_text(), "mine")

    def test_a_report_counts_as_folded_stacks_do(self):
        self.record_busy()
        stacks = self.folded(self.capture)
        # What runs a script is in folded stacks, too.
        report = json.loads(run("report", "--json", "-n", "0", "--interpreter=show", self.capture).stdout)
        expected = {}
        for names, n in stacks:
            plain = [re.sub(r"_\[[kij]\]$", "", name) for name in names[1:]]
            for name in set(plain):
                expected.setdefault(name, [0, 0])[1] += n
            if plain:
                expected[plain[-1]][0] += n
        found = {}
        for each in report["functions"]:
            counts = found.setdefault(each["function"], [0, 0])
            counts[0] += each["self"]
            counts[1] += each["total"]
        self.assertEqual({name: counts[0] for name, counts in found.items()},
                         {name: counts[0] for name, counts in expected.items()})
        same = [name for name, counts in expected.items() if found[name] == counts]
        self.assertGreater(len(same), 0.9 * len(expected))  # a name in two files is two functions
        self.assertEqual(report["summary"]["samples"], sum(n for _, n in stacks))

    def looked_at(self, *options):
        return json.loads(run("report", "--json", *options, self.capture).stdout)["summary"]["looked_at"]

    def test_the_summary_counts_samples_of_rare_stacks(self):
        """There are more distinct stacks than the summary keeps."""
        text = self.directory / "rare.folded"
        text.write_text("".join(f"main;f{i % 97};g{i};{'hot' if i % 4 else 'warm'} 1\n" for i in range(80000)))
        said = run("convert", text, self.capture).stderr
        self.assertIn(" 75.00 %  hot", said)
        self.assertIn(" 25.00 %  warm", said)

    def test_a_recorded_stream_is_converted(self):
        """As it is, and symbolized where it has no names yet."""
        stream = self.directory / "recorded.stream"
        for stages in [], [self.stage("symbolizer")]:
            with stream.open("wb") as out:
                self.run_well(self.source("--", CHAIN, "once", "0.3"), self.stage("live-unwinder"), *stages, stdout=out)
            n = sum(n for names, n in self.folded(stream) if names[-4:] == ["main", "outer", "middle", "inner"])
            self.assertGreater(n, 100)

    def test_filters_leave_samples_out(self):
        self.record_busy()
        summary = json.loads(run("report", "--json", self.capture).stdout)["summary"]
        whole, seconds = summary["samples"], summary["seconds"]
        for options in (["--process=python"], ["--thread=python"], ["--symbol=PyEval"], [f"--time=0:{seconds + 1}"]):
            self.assertTrue(0 < self.looked_at(*options) <= whole, options)
        self.assertEqual(self.looked_at(f"--time=0:{seconds + 1}"), whole)
        for options in (["--process=nobody"], ["--symbol=nothing_is_called_so"], [f"--time={seconds + 1}:"]):
            self.assertEqual(self.looked_at(*options), 0, options)

    def test_processes_keep_their_pids(self):
        run("record", "-q", "-o", self.capture, "--", "sh", "-c", f"echo $$ > {self.directory}/pid; exec {shlex.join(BUSY)}")
        pid = int((self.directory / "pid").read_text())  # the same PID, now another process incarnation
        processes = json.loads(run("report", "--json", self.capture).stdout)["processes"]
        self.assertEqual(processes[0]["pid"], pid)

    def test_trees_lead_to_a_function_and_from_it(self):
        self.record_busy()
        tree = json.loads(run("report", "--json", "--callers=PyEval_EvalCode", "--min=0", self.capture).stdout)["tree"]
        self.assertEqual(tree[0]["function"], "PyEval_EvalCode")
        self.assertTrue(tree[0]["children"])
        tree = json.loads(run("report", "--json", "--tree", "--min=0", self.capture).stdout)["tree"]
        stacks = self.folded(self.capture)
        self.assertEqual(sum(each["total"] for each in tree), sum(n for names, n in stacks if len(names) > 1))

    def test_a_difference_is_shown_by_function(self):
        before, after = self.directory / "a.folded", self.directory / "b.folded"
        before.write_text("main;_start;slow 30\nmain;_start;same 10\n")
        after.write_text("main;_start;slow 10\nmain;_start;same 10\n")
        text = run("diff", before, after).stdout
        self.assertRegex(text, r" 30\.00\s+10\.00\s+-20\.00 .* slow\n")
        self.assertRegex(text, r" 10\.00\s+10\.00\s+\+0\.00 .* same\n")
        text = run("diff", "--shares", before, after).stdout
        self.assertRegex(text, r" 75\.00\s+50\.00\s+-25\.00 .* slow\n")
        self.assertRegex(text, r" 25\.00\s+50\.00\s+\+25\.00 .* same\n")
        found = json.loads(run("diff", "--json", before, after).stdout)
        self.assertEqual(found["samples"], [40, 20])
        page = self.directory / "diff.html"
        run("diff", "-o", page, before, after)
        self.assertIn('id="base-data"', page.read_text())

    def test_more_work_elsewhere_is_no_improvement(self):
        """A function that takes as long as before is shown as unchanged, though its share is smaller."""
        for name, ms in ("before", "300"), ("after", "900"):
            run("record", "-q", "-o", self.directory / f"{name}.syscap", "--", CHAIN, "once", f"{int(ms) / 1000}")
        found = json.loads(run("diff", "--json", "-n0", self.directory / "before.syscap", self.directory / "after.syscap").stdout)
        self.assertEqual(found["unit"], "nanoseconds")
        inner, = (each for each in found["functions"] if each["function"] == "inner")
        self.assertGreater(inner["self"][1], 2 * inner["self"][0])
        self.assertEqual([sum(each["self"][side] for each in found["functions"]) for side in (0, 1)], found["sums"])
        self.assertEqual([sum(each["self_samples"][side] for each in found["functions"]) for side in (0, 1)], found["samples"])
        text = run("diff", self.directory / "before.syscap", self.directory / "after.syscap").stdout
        self.assertRegex(text, r"(?m)^change +\+\d+\.\d\d %$")

    def test_incomparable_files_are_reported(self):
        self.record_busy()
        folded = self.directory / "a.folded"
        folded.write_text("main;_start;slow 30\n")
        done = run("diff", self.capture, folded, status=1)
        self.assertIn("use --view=samples", done.stderr)
        run("diff", "--view=samples", self.capture, folded)
        run("diff", "--view=nothing", self.capture, folded, status=1)

    def test_invalid_files_are_reported(self):
        garbage = self.directory / "garbage"
        garbage.write_bytes(bytes(range(256)) * 10)
        for arguments in (["report", self.directory / "nothing"], ["report", garbage], ["diff", garbage, garbage],
                          ["convert", garbage, self.directory / "out.html"]):
            done = run(*arguments, status=1)
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            self.assertTrue(lines, arguments)
        run("nonsense", "-x", status=2, cwd=self.directory)
        run("--nonsense", status=2)
        run("report", "--time=x", status=2)

    def assert_one_line(self, text, status, *arguments):
        """A stage whose neighbour has reported an error reports nothing."""
        done = run(*arguments, status=status, cwd=self.directory)
        errors = [line for line in done.stderr.splitlines()
                  if "hardware counter" not in line and "INCOMPLETE" not in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(text, errors[0])

    def test_errors_are_reported_once(self):
        (self.directory / "mine.syscap").write_text("mine")
        (self.directory / "empty.syscap").touch()
        for expected in (("exists", 1, "record", "-o", "mine.syscap", "--", "true"),
                         ("not 'abc'", 2, "record", "-F", "abc", "--", "true"),
                         ("unknown event 'nosuch'", 2, "record", "-e", "nosuch", "--", "true"),
                         ("process 4194305 does not exist", 1, "record", "-p", "4194305"),
                         ("could not run", 127, "record", "--", "./nosuch"),
                         ("not 'foo'", 2, "record", "--engine=foo", "--", "true"),
                         ("no format", 2, "record", "-o", "x.foo", "--", "true"),
                         ("neither a command", 2, "rcord"),
                         ("directory", 1, "report", "."),
                         ("empty", 1, "report", "empty.syscap"),
                         ("neither", 1, "report", "mine.syscap"),
                         ("not '5:2'", 2, "report", "--time=5:2", "mine.syscap")):
            with self.subTest(arguments=expected[2:]):
                self.assert_one_line(*expected)

    def test_a_stream_is_no_capture(self):
        stream = self.directory / "raw"
        stream.write_bytes(pipeline.SMALL_STREAM.read_bytes())
        self.assert_one_line("live-unwinder <", 1, "report", stream)

    def test_a_stage_that_is_killed_is_named(self):
        front = subprocess.Popen([STACKPIPE, "record", "-q", "-a", "-o", self.capture],
                                 stderr=subprocess.PIPE, text=True)
        pipeline.wait_for(lambda: "symbolizer" in pipeline.children_of(front), "the stages")
        pipeline.wait_for(lambda: pipeline.has_size(self.capture, 1), "the capture")
        for child in Path(f"/proc/{front.pid}/task/{front.pid}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text().strip() == "symbolizer":
                os.kill(int(child), signal.SIGKILL)
        self.assertEqual(front.wait(pipeline.PATIENCE_S), 1)
        errors = front.stderr.read().splitlines()
        front.stderr.close()
        self.assertEqual([line for line in errors if "hardware" not in line],
                         ["stackpipe: error: symbolizer was killed by signal 9 (Killed)"])

    @pipeline.needs_root
    def test_links_of_others_are_not_followed(self):
        """In directories that others can write to, like /tmp."""
        shared, precious = self.directory / "shared", self.directory / "precious"
        shared.mkdir()
        shared.chmod(0o1777)
        for name, command in (("stackpipe.heap", [STACKPIPE, "heap", "-q", "--", "ls"]),
                              ("a.heap", [STACKPIPE, "heap", "-q", "--force", "-o", "a.heap", "--", "ls"]),
                              ("stackpipe.syscap", [STACKPIPE, "record", "-q", "--", pipeline.CHAIN, "once", "0.2"]),
                              ("stats", [pipeline.program("frame-dump"), "--stats=stats"])):
            with self.subTest(name), pipeline.SMALL_STREAM.open("rb") as stdin:
                precious.write_text("precious", encoding="ascii")
                link = shared / name
                link.symlink_to(precious)
                os.lchown(link, 65534, 65534)
                subprocess.run(command, cwd=shared, check=True, stdin=stdin, stdout=subprocess.DEVNULL)
                self.assertEqual(precious.read_text(encoding="ascii"), "precious")
                self.assertFalse(link.is_symlink())
                self.assertEqual(link.stat().st_mode & 0o7777, 0o600)

    def test_top_needs_a_terminal(self):
        done = subprocess.run([STACKPIPE, "top", "--", "sleep", "600"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, start_new_session=True,
                              timeout=pipeline.PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "stackpipe top: error: the live view needs a terminal\n"))

    def test_the_doctor_reports_what_works(self):
        said = run("doctor").stdout
        self.assertRegex(said, r"(?m)^yes +record programs that you start$")
        self.assertRegex(said, rf"(?m)^{'no' if reading.refusal() else 'yes'} +record functions of scripts \(Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java, \.NET\)$")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Top(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        self.socket = self.directory / "tmux"
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, text):
        try:
            return pipeline.wait_for(lambda: re.search(text, self.screen()), f"'{text}' on the screen")
        except AssertionError as error:
            self.fail(f"{error}:\n{self.screen()}")

    def open_top(self, *arguments):
        command = shlex.join([str(each) for each in [STACKPIPE, "top", *arguments]])
        self.tmux("new-session", "-d", "-x", str(TERMINAL[0]), "-y", str(TERMINAL[1]),
                  f"{command}; echo status $?; sleep 1000")

    def test_top_filters_zooms_resizes_and_ends(self):
        self.open_top("--", CHAIN, "once", "1000")
        self.wait_for(r"\d\d\.\d\d %.*inner")
        self.tmux("send-keys", "s")
        self.wait_for("TOTAL")
        self.tmux("send-keys", "Enter")
        self.wait_for("callers")
        self.wait_for("callees")
        self.tmux("send-keys", "Escape")
        self.wait_for("function")
        self.tmux("send-keys", "/")
        self.tmux("send-keys", "nosuchname", "Enter")
        self.wait_for(r"/nosuchname/")
        self.wait_for(r": 0 samples")
        self.tmux("send-keys", "Escape")
        self.tmux("send-keys", "p")
        self.wait_for("process")
        self.tmux("send-keys", "Enter")
        self.tmux("send-keys", "Space")
        self.wait_for("FROZEN")
        self.tmux("resize-window", "-x", "70", "-y", "20")
        self.wait_for("FROZEN")
        self.tmux("send-keys", "Space")
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")

    def test_top_groups_by_control_group(self):
        self.open_top("--", CHAIN, "once", "1000")
        self.wait_for(r"\d\d\.\d\d %.*inner")
        self.tmux("send-keys", "c")
        self.wait_for("share   control group")
        group = self.wait_for(r"100\.00 %  (\S+)")[1]
        self.tmux("send-keys", "Enter")
        self.wait_for("group " + re.escape("" if group == "(none)" else group[:40]))
        self.wait_for(r"\d\d\.\d\d %.*inner")
        self.tmux("send-keys", "Escape")
        pipeline.wait_for(lambda: "group /" not in self.screen(), "all groups")
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")

    def test_top_counts_those_of_a_control_group(self):
        self.open_top("--cgroup=^/nobody/is/here$", "--", CHAIN, "once", "1000")
        self.wait_for(r"[1-9]\d* samples, ")
        self.wait_for(r"last 5 s: 0 samples")
        self.assertNotRegex(self.screen(), "inner")
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")

    def test_top_counts_all_whose_control_group_matches(self):
        self.open_top("--cgroup=^", "--", CHAIN, "once", "1000")
        self.wait_for(r"last 5 s: [1-9]\d* samples")
        self.wait_for("inner")
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")

    def test_top_shows_what_the_machine_does(self):
        self.open_top("--", CHAIN, "once", "1000")
        for gauge in r"CPU \d+ %", r"memory \d+\.\d GiB", r"\d+ switches/s":
            self.wait_for(gauge)
        if Path("/proc/net/dev").exists():
            self.wait_for(r"network \d+\.\d MiB/s")
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")

    def view(self):
        """The unit of the list's numbers."""
        found = re.search(r"(?m)^last \d+ s: [\d.]+ (.*)$", self.screen())
        return found and found[1].strip()

    def go_to(self, view):
        """Cycles through the views. A view without samples in the last seconds is skipped."""
        for _ in range(VIEWS_MAX):
            before = self.view()
            self.tmux("send-keys", "v")
            pipeline.wait_for(lambda: self.view() not in (None, before), "another view")
            if self.view() == view:
                return
        self.fail(f"no view is '{view}':\n{self.screen()}")

    def test_top_shows_waits(self):
        self.open_top("--off-cpu", "--", "sh", "-c", "while :; do sleep 0.02; done")
        self.wait_for(r"last \d+ s")
        self.go_to("ms on-cpu")
        self.go_to("ms off-cpu")
        self.wait_for(r"[1-9]\d*\.\d ms off-cpu")
        self.wait_for(r"\d+\.\d\d %.*(nanosleep|wait4)")  # on a busy machine it waits for a CPU, too
        self.assertNotRegex(self.screen(), "schedule")
        for view in "ms wakeups", "ms wall-clock", "samples":
            self.go_to(view)
        self.tmux("send-keys", "q")
        self.wait_for(r"status \d+")


if __name__ == "__main__":
    pipeline.main()
