# SPDX-License-Identifier: GPL-3.0-or-later
"""Both engines give the same stacks, whatever the cache of tables holds."""
import os
import sys

import pipeline

ENGINES = "dwfl", "table", "auto"
PYTHON_WORKLOAD = "sum(i * i for i in range(5_000_000))"
SIGNALS = pipeline.CHAIN.with_name("signal-chain")


class EnginesTest(pipeline.PipelineTest):
    """A test with a cache of its own."""

    def setUp(self):
        super().setUp()
        self.cache = self.directory / "cache"
        self.cache.mkdir()
        self.use_cache_home(self.cache)

    def use_cache_home(self, path):
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(path)
        if before is None:
            self.addCleanup(os.environ.pop, "XDG_CACHE_HOME", None)
        else:
            self.addCleanup(os.environ.__setitem__, "XDG_CACHE_HOME", before)

    def unwinder(self, *arguments):
        return self.stage("live-unwinder", *arguments)

    def unwound(self, stream, *arguments):
        return self.run_on(stream, self.unwinder(*arguments))

    def stacks(self, stream, engine):
        """The stacks of a stream by one engine, a line of text each."""
        text = self.run_on(stream, self.unwinder(f"--engine={engine}", "--no-cache"),
                           self.stage("frame-dump")).decode()
        return [line for line in text.splitlines() if line.startswith("stack ")]

    def count(self, group, name):
        return self.stats("live-unwinder")[group][name]

    def assert_engines_agree(self, stream):
        """… and each has done what it was asked for; returns the stacks."""
        judge = self.stacks(stream, "dwfl")
        self.assertGreater(len(judge), 0)
        self.assertEqual(self.count("engine", "table"), 0)
        for engine in "table", "auto":
            self.assertEqual(self.stacks(stream, engine), judge, engine)
            self.assertGreater(self.count("engine", "table"), 0.9 * len(judge), engine)
        return judge

    def cached(self):
        """Files of the cache."""
        return [path for path in self.cache.rglob("*") if path.is_file()]


class Small(EnginesTest):
    """On the recording that holds all that it needs."""

    def test_engines_agree(self):
        self.assert_engines_agree(pipeline.SMALL_STREAM)

    def test_all_that_is_verified_is_the_same(self):
        self.unwound(pipeline.SMALL_STREAM, "--verify=1")
        self.assertGreater(self.count("verify", "compared"), 0)
        self.assertEqual(self.count("verify", "compared"), self.count("engine", "table"))
        self.assertEqual(self.count("verify", "different"), 0)

    def test_what_is_verified_changes_no_stack(self):
        names = [line for line in self.stacks(pipeline.SMALL_STREAM, "auto")]
        text = self.run_on(pipeline.SMALL_STREAM, self.unwinder("--verify=2"),
                           self.stage("frame-dump")).decode()
        self.assertEqual([line for line in text.splitlines() if line.startswith("stack ")], names)

    def test_a_dump_without_differences_is_a_stream(self):
        dump = self.directory / "dump.stream"
        self.unwound(pipeline.SMALL_STREAM, "--verify=1", f"--verify-dump={dump}")
        summary = self.run_on(dump, self.stage("frame-dump", "--summary")).decode()
        self.assertEqual(summary.splitlines()[-1], "all adds up")

    def refused(self, *arguments):
        with pipeline.SMALL_STREAM.open("rb") as stdin:
            return self.start(self.unwinder(*arguments), stdin=stdin).end()[0]

    def test_a_dump_that_exists_is_left_alone(self):
        dump = self.directory / "dump.stream"
        dump.write_text("precious")
        ended = self.refused("--verify=1", f"--verify-dump={dump}")
        self.assert_fails_in_one_line(ended, text=f"'{dump}' exists: choose another name")
        self.assertEqual(dump.read_text(), "precious")

    def test_a_dump_that_cannot_be_written(self):
        ended = self.refused("--verify=1", "--verify-dump=/no-such-directory/dump")
        self.assert_fails_in_one_line(ended, text="/no-such-directory/dump")


class Live(EnginesTest, pipeline.RecordingTest):
    """On what was recorded here."""

    def recorded(self, *command):
        path = self.directory / "raw.stream"
        with path.open("wb") as out:
            self.run_well(self.source("-F", "999", "--", *command), stdout=out)
        return path

    def recorded_python(self):
        """python3 needs a table that is worth keeping: its own, or libpython's."""
        return self.recorded(sys.executable, "-S", "-c", PYTHON_WORKLOAD)

    def test_engines_agree_on_signals(self):
        stacks = self.assert_engines_agree(self.recorded(SIGNALS, "0.3"))
        interrupted = [line for line in stacks if line.count(":exact") >= 2]
        self.assertGreater(len(interrupted), 0.5 * len(stacks), stacks)

    def test_engines_agree_on_processes_that_come_and_go(self):
        self.assert_engines_agree(self.recorded(pipeline.CHAIN, "forks", "0.3"))

    def test_engines_agree_on_python(self):
        self.assert_engines_agree(self.recorded_python())

    def test_the_second_time_tables_come_from_disk_and_give_the_same(self):
        stream = self.recorded_python()
        cold = self.unwound(stream)
        self.assertGreater(self.count("tables", "compiled"), 0)
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertGreater(len(self.cached()), 0)
        warm = self.unwound(stream)
        self.assertEqual(self.count("tables", "from-disk"), len(self.cached()))
        self.assertEqual(warm, cold)

    def test_without_a_cache_nothing_is_kept(self):
        stream = self.recorded_python()
        with_cache = self.unwound(stream)
        n_cached = len(self.cached())
        for path in self.cached():
            path.unlink()
        self.assertEqual(self.unwound(stream, "--no-cache"), with_cache)
        self.assertEqual(self.cached(), [])
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertGreater(n_cached, 0)

    def test_a_damaged_cache_gives_the_same(self):
        stream = self.recorded_python()
        before = self.unwound(stream)
        for path in self.cached():
            path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        self.assertEqual(self.unwound(stream), before)
        self.assertEqual(self.count("tables", "from-disk"), 0)
        self.assertEqual(self.unwound(stream), before)  # they have been replaced
        self.assertEqual(self.count("tables", "from-disk"), len(self.cached()))

    def test_a_cache_that_cannot_be_made_is_no_failure(self):
        stream = self.recorded_python()
        before = self.unwound(stream)
        for home in "/proc/self", "/no-such-directory/no-such-directory", "/dev/null":
            self.use_cache_home(home)
            self.assertEqual(self.unwound(stream), before, home)
            self.assertEqual(self.count("tables", "from-disk"), 0)


if __name__ == "__main__":
    pipeline.main()
