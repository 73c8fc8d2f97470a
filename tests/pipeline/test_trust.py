# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of other users cannot change a report."""
import os
import re
import shutil
import subprocess
import unittest.mock
from pathlib import Path

import pipeline
import test_names

NOBODY, SOMEBODY = 65534, 4711
SOURCE = "static __attribute__((noinline, used)) int hidden(void) { __asm__ volatile(\"nop\"); return 1; } " \
         "__attribute__((noinline)) int shown(void) { return hidden(); } int main(void) { return shown(); }"


class DebugFiles(test_names.PlacesTest):
    """A stripped program of root's, and a debug file of another user that would name its function."""

    def setUp(self):
        super().setUp()
        self.directory.chmod(0o777)
        (self.directory / "program.c").write_text(SOURCE)
        full = self.compile("full", "-O1", "-Wl,--build-id=sha1", self.directory / "program.c")
        self.address = self.addresses(full)["hidden"]
        self.program = self.directory / "program"
        self.full = full
        self.debug = self.directory / "program.debug"
        subprocess.run(["objcopy", "--only-keep-debug", full, self.debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={self.debug}", full, self.program], check=True)

    def name(self, *options, program=None):
        return self.names_at(program or self.program, [self.address], *options)[0]

    def n_refused(self):
        return self.stats("symbolizer").get("refused", {}).get("untrusted-files", 0)

    def assert_refused(self, *options):
        self.assertEqual(self.name(*options), "")
        self.assertGreater(self.n_refused(), 0)

    def assert_believed(self, *options):
        self.assertEqual(self.name(*options), "hidden")
        self.assertEqual(self.n_refused(), 0)

    def put_by_build_id(self, form):
        """Moves the debug file to a path that contains the build-id."""
        identifier = test_names.build_id_of(self.program)
        path = self.directory / form.format(identifier[:2], identifier[2:])
        path.parent.mkdir(parents=True)
        return self.debug.rename(path)

    def test_an_own_file_is_trusted(self):
        self.assert_believed()

    @pipeline.needs_root
    def test_a_file_of_another_user(self):
        os.chown(self.debug, NOBODY, NOBODY)
        self.assert_refused()
        os.chown(self.program, SOMEBODY, SOMEBODY)
        self.assert_refused()

    @pipeline.needs_root
    def test_a_file_of_the_programs_owner(self):
        for path in self.debug, self.program:
            os.chown(path, SOMEBODY, SOMEBODY)
        self.assert_believed()
        for path in self.debug, self.program:
            path.chmod(0o775)  # as with umask 002
        self.assert_believed()
        self.program.chmod(0o755)
        self.assert_refused()

    def test_a_world_writable_file(self):
        self.debug.chmod(0o666)
        self.assert_refused()

    @pipeline.needs_root
    def test_a_group_writable_file(self):
        self.debug.chmod(0o664)
        os.chown(self.debug, 0, NOBODY)
        self.assert_refused()

    @pipeline.needs_root
    def test_a_link_to_another_users_file(self):
        real = self.debug.rename(self.directory / "real.debug")
        os.chown(real, NOBODY, NOBODY)
        self.debug.symlink_to(real)
        os.chown(self.debug, 0, 0, follow_symlinks=False)
        self.assert_refused()

    @pipeline.needs_root
    def test_own_file_in_another_users_directory(self):
        os.chown(self.directory, NOBODY, NOBODY)
        self.assert_believed()

    @pipeline.needs_root
    def test_a_named_directory_is_trusted(self):
        debug = self.put_by_build_id("elsewhere/.build-id/{}/{}.debug")
        os.chown(debug, NOBODY, NOBODY)
        self.assert_believed(f"--debug-dir={self.directory}/elsewhere")

    @pipeline.needs_root
    def test_downloads_of_another_user(self):
        debug = self.put_by_build_id("cache/{}{}/debuginfo")
        cache = self.directory / "cache"
        cache.chmod(0o777)
        environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(cache)}
        with unittest.mock.patch.dict(os.environ, environment):
            self.assert_believed()
            os.chown(debug, NOBODY, NOBODY)
            self.assert_refused()

    @pipeline.needs_root
    def test_one_line_shows_the_remedy(self):
        os.chown(self.debug, NOBODY, NOBODY)
        self.name()
        stream = self.directory / "stream"
        with stream.open("rb") as stdin:
            ended = self.run_well(self.stage("symbolizer"), stdin=stdin)[0]
        self.assertEqual(len(ended.errors), 1, ended)
        self.assertRegex(ended.errors[0], rf"untrusted debug files were refused .*, first '{self.debug}': .*--debug-dir")


class SplitFiles(test_names.PlacesTest):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o777)
        (self.directory / "program.c").write_text(
            "volatile int sink; static inline __attribute__((always_inline)) void inlined_one(void) { sink = 1; } "
            "__attribute__((noinline)) void shown(void) { inlined_one(); } int main(void) { shown(); return 0; }")
        built = self.directory / "built"
        built.mkdir()
        subprocess.run(["cc", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf", "-o", "program", "../program.c"],
                       cwd=built, check=True)
        self.program = (built / "program").rename(self.directory / "program")
        self.split, = built.glob("*.dwo")
        self.address = self.addresses(self.program)["shown"]

    def inlined(self, *options):
        """Functions inlined at the function's first bytes."""
        self.names_at(self.program, [self.address + i for i in range(8)], *options)
        text = self.run_on(self.directory / "stream", self.stage("symbolizer", *options), self.stage("frame-dump"))
        return set(re.findall(r'^inlined .* name="(\w+)"', text.decode(), re.M))

    def test_an_own_file_is_trusted(self):
        self.assertEqual(self.inlined(), {"inlined_one"})

    @pipeline.needs_root
    def test_another_users_file_in_the_compile_directory(self):
        os.chown(self.split, NOBODY, NOBODY)
        self.assertEqual(self.inlined(), set())
        self.assertEqual(self.stats("symbolizer")["refused"]["untrusted-files"], 1)
        self.assertEqual(self.inlined(f"--debug-dir={self.split.parent}"), {"inlined_one"})

    @pipeline.needs_root
    def test_a_file_of_the_programs_owner(self):
        for path in self.program, self.split:
            os.chown(path, SOMEBODY, SOMEBODY)
        self.assertEqual(self.inlined(), {"inlined_one"})

    def test_a_world_writable_file(self):
        self.split.chmod(0o666)
        self.assertEqual(self.inlined(), set())

    @pipeline.needs_root
    def test_a_package_of_another_user(self):
        """The package beside the program is looked for first."""
        package = Path(shutil.copy(self.split, self.directory / "program.dwp"))
        os.chown(package, NOBODY, NOBODY)
        self.assertEqual(self.inlined(), set())
        self.assertEqual(self.stats("symbolizer")["refused"]["untrusted-files"], 1)


class Replays(pipeline.RecordingTest):
    """A recorded stream whose program's path has another content now."""

    def setUp(self):
        super().setUp()
        self.program = self.directory / "program"
        self.forged = self.directory / "forged"
        source = self.directory / "program.c"
        for path, name in (self.program, "honest"), (self.forged, "forged"):
            source.write_text(
                f"__attribute__((noinline)) void {name}(void) {{ __asm__ volatile(\"\"); }} "
                f"int main(void) {{ for (long i = 0; i < 300000000; i++) {name}(); return 0; }}")
            subprocess.run(["cc", "-O1", "-static", f"-Wl,--build-id=0x{12:040x}", "-o", path, source], check=True)
        self.assertEqual(self.program.stat().st_size, self.forged.stat().st_size)
        self.stream = self.record(self.directory / "raw", command=[self.program])
        self.before = self.program.stat()

    def names(self, stream=None):
        """The names of the program's own functions, and whether its image was unavailable."""
        ended = self.start(*([["cat", stream or self.stream]]), self.stage("live-unwinder", "-q", "--no-cache"),
                           self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", "-f", "folded", "-")).end()
        text = ended[-1].output.decode()
        return {name for name in ("honest", "forged", "[image-unavailable]") if name in text}

    def put_times_back(self):
        os.utime(self.program, ns=(self.before.st_atime_ns, self.before.st_mtime_ns))

    def test_the_recorded_file(self):
        self.assertEqual(self.names(), {"honest"})

    def test_written_over_in_place(self):
        with self.program.open("r+b") as file:
            file.write(self.forged.read_bytes())
        self.put_times_back()
        after = self.program.stat()
        self.assertEqual((after.st_ino, after.st_size, after.st_mtime_ns),
                         (self.before.st_ino, self.before.st_size, self.before.st_mtime_ns))
        self.assertEqual(self.names(), {"[image-unavailable]"})

    def test_cut_and_written_anew(self):
        self.program.write_bytes(self.forged.read_bytes())
        self.put_times_back()
        self.assertEqual(self.names(), {"[image-unavailable]"})

    def test_another_file_in_its_place(self):
        self.forged.rename(self.program)
        self.put_times_back()
        self.assertEqual(self.names(), {"[image-unavailable]"})

    def test_a_link_in_its_place(self):
        self.program.unlink()
        self.program.symlink_to(self.forged)
        os.utime(self.forged, ns=(self.before.st_atime_ns, self.before.st_mtime_ns))
        self.assertEqual(self.names(), {"[image-unavailable]"})

    @pipeline.needs_root
    def test_a_build_id_that_was_copied(self):
        """The stream contains the build-id: our copy with that build-id is trusted, another user's is not."""
        stream = self.directory / "unwound"
        stream.write_bytes(self.run_on(self.stream, self.stage("live-unwinder", "-q", "--no-cache")))
        self.program.rename(self.directory / "moved")
        shutil.copy(self.directory / "moved", self.program)
        symbolize = [self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", "-f", "folded", "-")]
        self.assertIn(b";honest ", self.run_on(stream, *symbolize))
        os.chown(self.program, NOBODY, NOBODY)
        self.assertNotIn(b";honest ", self.run_on(stream, *symbolize))
        self.assertGreater(self.stats("symbolizer")["refused"]["untrusted-files"], 0)


if __name__ == "__main__":
    pipeline.main()
