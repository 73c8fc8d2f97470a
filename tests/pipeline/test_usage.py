# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures are reported in one line: status 2 for an error in the command line, else 1."""
import os
import pty

import pipeline

FILTERS_AND_SINKS = "live-unwinder", "symbolizer", "capture-sink", "frame-dump"
PROGRAMS = "perf-source", "perfdata-source", *FILTERS_AND_SINKS

WRONG_COMMAND_LINES = [
    *((name, "--no-such-option") for name in PROGRAMS),
    *((name, "--stats") for name in PROGRAMS),
    *((name, "stray") for name in ("live-unwinder", "symbolizer", "frame-dump")),
    ("perf-source", "-F"),
    ("perf-source", "-F", "0"),
    ("perf-source", "-F", "fast"),
    ("perf-source", "-c", "0"),
    ("perf-source", "-c", "1", "-F", "99"),
    ("perf-source", "-s", "7"),
    ("perf-source", "-s", "1M"),
    ("perf-source", "-p", "1,x"),
    ("perf-source", "-p", "0"),
    ("perf-source", "-d", "soon"),
    ("perf-source", "-m", "1"),
    ("perf-source", "-e", "no-such-event"),
    ("perf-source", "-a", "-p", "1"),
    ("live-unwinder", "--engine=none"),
    ("live-unwinder", "--engine="),
    ("live-unwinder", "--verify=0"),
    ("live-unwinder", "--verify=often"),
    ("live-unwinder", "--verify=-1"),
    ("live-unwinder", "--verify="),
    ("live-unwinder", "--engine=dwfl", "--unwind-rules=file"),
    ("live-unwinder", "--max-frames=0"),
    ("live-unwinder", "--max-frames=1x"),
    ("capture-sink",),
    ("capture-sink", "one.syscap", "two.syscap"),
    ("capture-sink", "-f", "no-such-format", "out"),
    ("capture-sink", "name-without-format"),
    ("capture-sink", "--heap=most", "out.folded"),
    ("capture-sink", "--heap=peak:pages", "out.folded"),
    ("capture-sink", "--base=before.html", "out.folded"),
    ("capture-sink", "--tid", "out.html"),
]

OLD_SPELLINGS = [
    ("perf-source", "--frequency=0"),
    ("perf-source", "--buffer-size=1"),
    ("live-unwinder", "--engine=dwfl", "--intervals=file"),
]


class Usage(pipeline.PipelineTest):
    def end_of(self, *command, **options):
        return self.start(command, **options).end()[0]

    def test_wrong_command_lines(self):
        for name, *arguments in WRONG_COMMAND_LINES:
            with self.subTest(program=name, arguments=arguments):
                ended = self.end_of(pipeline.program(name), *arguments)
                self.assert_fails_in_one_line(ended, status=2)
                self.assertEqual(ended.output, b"")

    def test_old_spellings_are_options(self):
        for name, *arguments in OLD_SPELLINGS:
            ended = self.end_of(pipeline.program(name), *arguments)
            self.assertEqual(ended.status, 2)
            self.assertNotIn("unrecognized option", "".join(ended.errors))
            self.assertNotIn("ambiguous", "".join(ended.errors))

    def test_help_and_version(self):
        for name in PROGRAMS:
            for option in "--help", "--version":
                ended = self.end_of(pipeline.program(name), option)
                self.assertEqual((ended.status, ended.errors), (0, []), ended)
                self.assertIn(name.encode(), ended.output)

    def refused_rules(self, text):
        path = self.directory / "rules"
        path.write_text(text)
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            return self.end_of(pipeline.program("live-unwinder"), f"--unwind-rules={path}",
                               stdin=stdin)

    def test_malformed_rules(self):
        good = "build-id:0123 0x1000-0x2000 fp\n"
        for text, where in (
            ("what\n", ":1:"),
            (good + "\n" + good, ":3:"),
            (good + "build-id:0123 0x2000-0x3000 sp\n", ":2:"),
        ):
            with self.subTest(text=text):
                self.assert_fails_in_one_line(self.refused_rules(text), text=f"/rules'{where}")

    def test_an_unreadable_file_of_rules(self):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            ended = self.end_of(pipeline.program("live-unwinder"), "--unwind-rules=/no-such-rules",
                                stdin=stdin)
        self.assert_fails_in_one_line(ended, text="/no-such-rules")

    def test_unwritable_statistics(self):
        for name in FILTERS_AND_SINKS:
            arguments = ["-f", "folded", "-"] if name == "capture-sink" else []
            ended = self.end_of(pipeline.program(name), "--stats=/no-such-directory/s", *arguments)
            self.assert_fails_in_one_line(ended, text="/no-such-directory/s")


class Output(pipeline.PipelineTest):
    """capture-sink's file."""

    def setUp(self):
        super().setUp()
        self.path = self.directory / "out.syscap"

    def sink(self, *arguments):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            return self.start(self.stage("capture-sink", "-q", *arguments), stdin=stdin).end()[0]

    def test_is_private_to_its_owner(self):
        self.addCleanup(os.umask, os.umask(0))
        self.assertEqual(self.sink(self.path).status, 0)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)

    def test_an_existing_file_is_kept(self):
        self.path.write_text("precious")
        self.assert_fails_in_one_line(self.sink(self.path), text="--force")
        self.assertEqual(self.path.read_text(), "precious")

    def test_a_file_created_meanwhile_is_kept(self):
        read_end, write_end = os.pipe()
        with open(write_end, "wb") as stream:
            with open(read_end, "rb") as stdin:
                started = self.start(self.stage("capture-sink", "-q", self.path), stdin=stdin)
            waits_in = pipeline.Path(f"/proc/{started.processes[0].pid}/wchan")
            pipeline.wait_for(lambda: "poll" in waits_in.read_text(), "the sink to wait for its input")
            self.path.write_text("precious")
            stream.write(pipeline.SMALL_STREAM.read_bytes())
        self.assert_fails_in_one_line(started.end()[0], text="--force")
        self.assertEqual(self.path.read_text(), "precious")

    def test_an_existing_file_is_replaced_by_force(self):
        self.path.write_text("not precious")
        ended = self.sink("--force", self.path)
        self.assertEqual((ended.status, ended.errors), (0, []))
        self.assertGreater(self.path.stat().st_size, 256)

    def test_is_not_written_through_a_link(self):
        target = self.directory / "target"
        target.write_text("precious")
        self.path.symlink_to(target)
        self.assert_fails_in_one_line(self.sink(self.path), text=str(self.path))
        self.assertEqual(self.sink("--force", self.path).status, 0)
        self.assertFalse(self.path.is_symlink())
        self.assertEqual(target.read_text(), "precious")

    def test_is_no_directory(self):
        self.assert_fails_in_one_line(self.sink("-f", "folded", self.directory), text="Is a directory")

    def test_is_only_compared_with_a_page(self):
        base = self.directory / "before.html"
        self.assert_fails_in_one_line(self.sink(f"--base={base}", self.directory / "out.html"), text="No such file")
        base.write_text("<html>")
        self.assert_fails_in_one_line(self.sink("--force", f"--base={base}", self.directory / "out.html"),
                                      text="is not a page written by stackpipe")

    def test_in_a_missing_directory(self):
        path = self.directory / "none" / "out.syscap"
        self.assert_fails_in_one_line(self.sink(path), text=str(path))

    @pipeline.needs_root
    def test_in_a_directory_of_another_user(self):
        path = "/out-of-nobody.syscap"
        sink = pipeline.readable_copy(pipeline.program("capture-sink"), self.directory)
        self.directory.chmod(0o755)
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            ended = self.start([*pipeline.NOBODY, sink, path], stdin=stdin).end()[0]
        ended.name = "capture-sink"
        self.assert_fails_in_one_line(ended, text=path)


class Terminal(pipeline.PipelineTest):
    """Binary streams are not written to terminals."""

    def setUp(self):
        super().setUp()
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.terminal = slave

    def end_of(self, *command, stdin, stdout=None):
        return self.start(command, stdin=stdin, stdout=stdout).end()[0]

    def test_as_the_output(self):
        for name, *arguments in (("perf-source", "--", "true"), ("live-unwinder",),
                                 ("symbolizer",), ("capture-sink", "-f", "syscap", "-")):
            with pipeline.SMALL_STREAM.open("rb") as stdin:
                ended = self.end_of(pipeline.program(name), *arguments, stdin=stdin,
                                    stdout=self.terminal)
            self.assert_fails_in_one_line(ended, 2, "standard output is a terminal")

    def test_as_the_input(self):
        for name in FILTERS_AND_SINKS:
            arguments = ["-f", "folded", "-"] if name == "capture-sink" else []
            ended = self.end_of(pipeline.program(name), *arguments, stdin=self.terminal)
            self.assert_fails_in_one_line(ended, 2, "standard input is a terminal")

    def test_text_may_be_written_to_a_terminal(self):
        stage = [pipeline.program("frame-dump"), "--summary"]
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            ended = self.end_of(*stage, stdin=stdin, stdout=self.terminal)
        self.assertEqual((ended.status, ended.errors), (0, []))


if __name__ == "__main__":
    pipeline.main()
