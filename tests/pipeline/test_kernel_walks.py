# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks that the kernel walks: the words that it keeps lead where the whole stack does."""
import os
import re
import subprocess
import unittest.mock

import pipeline
import reading
import streams

SECONDS = 0.8, 4, 20  # of CPU, one after the other until it suffices: on a busy machine tables take long
SIGNALS = pipeline.CHAIN.with_name("signal-chain")
MOVING = pipeline.CHAIN.with_name("moving")
LIBRARIES = [pipeline.CHAIN.with_name(f"libmoving-{name}.so") for name in ("alpha", "beta")]
RULES = pipeline.TOP / "tests" / "programs" / "rules.c"
CPU = min(os.sched_getaffinity(0))
DEEPER_THAN_A_WALK = "2000"  # calls
CLOCK = """
    #include <stdlib.h>
    #include <time.h>
    int main(int argc, char **argv)
    {
        struct timespec now, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        do {
            for (int i = 0; i < 100000; i++)
                clock_gettime(CLOCK_MONOTONIC, &now);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        } while (now.tv_sec - end.tv_sec + (now.tv_nsec - end.tv_nsec) / 1e9 < atof(argv[1]));
    }"""


@pipeline.needs_root
class KernelWalks(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)

    def recorded(self, *command, options=()):
        stream = self.directory / "walked.stream"
        with stream.open("wb") as out:
            self.run_well(self.source("-e", "cpu-clock", "-F", "2999", "--unwind=kernel", *options, "--", *command),
                          stdout=out)
        return stream

    def recorded_until(self, suffices, command, options=("--judge=0",)):
        """Records a command, which is told for how long it is to run, until that suffices."""
        for seconds in SECONDS:
            stream = self.recorded(*command(str(seconds)), options=options)
            if suffices(stream):
                return stream
        self.fail(f"{command(str(SECONDS[-1]))} is not walked: {self.stats('perf-source')['kernel-walks']}")

    def n_from_disk(self):
        return self.stats("perf-source").get("kernel-tables", {}).get("from-disk", 0)

    def is_walked(self, _):
        return self.stats("perf-source")["kernel-walks"].get("walked", 0) > 100

    def test_tables_that_live_unwinder_has_kept_are_used(self):
        """bash has a large one. Damaged files are not used, nor those of a directory of others."""
        cache = self.directory / "cache"
        kept = cache / "stackpipe" / "unwind"

        def record(*options):
            return self.recorded_until(self.is_walked, lambda s: ("bash", "-c", f"while (( SECONDS < {float(s):.0f} + 1 )); do :; done"),
                                       options=("--judge=0", *options))

        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):
            stream = record()
            self.assertEqual(self.n_from_disk(), 0)
            self.run_on(stream, self.stage("live-unwinder"))
            files = sorted(kept.iterdir())
            if not files:
                self.skipTest("tables of files on this file system are not kept")
            record()
            self.assertGreater(self.n_from_disk(), 0)
            record("--no-cache")
            self.assertEqual(self.n_from_disk(), 0)
            kept.chmod(0o777)
            record()
            self.assertEqual(self.n_from_disk(), 0)
            kept.chmod(0o700)
            for file in files:
                data = bytearray(file.read_bytes())
                data[len(data) // 2] ^= 1
                file.write_bytes(data)
            record()
            self.assertEqual(self.n_from_disk(), 0)

    def folded(self, stream):
        return streams.folded_stacks(self.run_on(
            stream, self.stage("live-unwinder", "-q", "--max-frames=4000"), self.stage("symbolizer", "-q"),
            self.stage("capture-sink", "-q", "-f", "folded", "-")).decode())

    def n_walked(self):
        return self.stats("perf-source")["kernel-walks"].get("walked", 0)

    def check_judged(self, command, n_min=500):
        """All stacks that the kernel walks are copied, too, and both lead the same way."""
        stream = self.recorded_until(lambda stream: self.n_walked() >= n_min, command, options=("--judge=1",))
        self.run_on(stream, self.stage("live-unwinder", "-q"), ["cat"])
        judge = self.stats("live-unwinder").get("judge", {"compared": 0})
        self.assertEqual(judge.get("different", 0), 0, judge)
        self.assertEqual(judge["compared"], self.n_walked())

    def rules(self, size):
        """The program with the frames of a size; its code has the same addresses with any."""
        program = self.directory / f"rules-{size}"
        subprocess.run(["cc", "-O2", "-fno-pie", "-no-pie", f"-DSIZE={size}", "-D_GNU_SOURCE", "-o", program, RULES],
                       check=True)
        return program

    def lines(self, stream, pattern):
        return re.findall(pattern, self.run_on(stream, [pipeline.program("frame-dump")]).decode(), re.M)

    def test_frames_of_all_kinds_are_as_in_the_copy(self):
        program = self.rules(64)
        self.check_judged(lambda seconds: [program, seconds])

    def test_programs_with_the_same_addresses_are_told_apart(self):
        programs = [self.rules(size) for size in (64, 1024)]
        self.check_judged(lambda seconds: ["sh", "-c", "".join(
            f"taskset -c {CPU} {program} {seconds} & " for program in programs) + "wait"], n_min=1500)

    def test_a_program_that_executes_itself_is_walked_again(self):
        program = self.rules(64)

        def is_walked(stream):
            last = self.lines(stream, r"^process process=(\d+) .* origin=executed ")[-1]
            return len(self.lines(stream, rf"^sample .* process={last} .* flags=kernel-walk ")) > 500
        self.recorded_until(is_walked, lambda seconds: ["setarch", "-R", program, "again", seconds])

    def test_calls_are_as_in_the_copy(self):
        self.check_judged(lambda seconds: [pipeline.CHAIN, "once", seconds])

    def test_signals_are_as_in_the_copy(self):
        self.check_judged(lambda seconds: [SIGNALS, seconds])

    def test_short_processes_are_as_in_the_copy(self):
        self.check_judged(lambda seconds: [pipeline.CHAIN, "forks", seconds], n_min=0)

    def test_code_that_is_replaced_is_as_in_the_copy(self):
        for way in ("map-over-part", "map-in-turns", "move-part"):
            with self.subTest(way):
                self.check_judged(lambda _, way=way: [MOVING, way, *LIBRARIES], n_min=0)

    def test_stacks_are_complete_without_a_copy(self):
        stream = self.recorded_until(lambda stream: self.n_walked() > 1000,
                                     lambda seconds: [pipeline.CHAIN, "once", seconds])
        samples = self.lines(stream, r"^sample .* stack=(\d+):.* flags=(\S+) .* words=\[(.*)\]$")
        walked = [i for i, (_, flags, _) in enumerate(samples) if flags == "kernel-walk"]
        late = samples[walked[100]:]  # the first ones may be of the dynamic linker, whose table came first
        self.assertGreater(len(walked[100:]), 0.95 * len(late))
        for size, _, words in (samples[i] for i in walked):
            self.assertEqual(size, "0")
            self.assertTrue(words)
        for names, _ in self.folded(stream):
            if "inner" in names:
                self.assertEqual(streams.user_side(names)[-4:], ["main", "outer", "middle", "inner"], names)
        stats = self.stats("live-unwinder")
        self.assertEqual(stats["engine"]["kernel-walk"], self.n_walked())
        self.assertGreaterEqual(stats["stacks"]["complete"], 0.99 * len(samples))

    def test_frames_of_the_vdso_are_walked(self):
        program, stacks = self.directory / "clock", []
        subprocess.run(["cc", "-O1", "-x", "c", "-o", program, "-"], input=CLOCK, text=True, check=True)

        def is_walked(stream):
            text = self.run_on(stream, self.stage("live-unwinder", "-q"), [pipeline.program("frame-dump")]).decode()
            vdso = re.search(r"(?m)^mapping mapping=(\d+) .* image=2$", text)[1]
            stacks[:] = re.findall(rf"(?m)^stack .* end=(\S+) frames=\[0x[0-9a-f]+@{vdso}:exact .* flags=kernel-walk ",
                                   text)
            return len(stacks) > 200
        self.recorded_until(is_walked, lambda seconds: [program, seconds])
        self.assertEqual(set(stacks), {"complete"})

    def test_deeper_stacks_are_copied(self):
        stream = self.recorded_until(lambda stream: self.stats("perf-source")["kernel-walks"].get("left-limit", 0) > 100,
                                     lambda seconds: [reading.DEEP, DEEPER_THAN_A_WALK, "16", seconds])
        self.assertTrue([names for names, _ in self.folded(stream) if names.count("descend") > 1024])

    def test_without_it_all_stacks_are_copied(self):
        with (self.directory / "copied.stream").open("wb") as out:
            self.run_well(self.source("--unwind=copy", "--", pipeline.CHAIN, "once", "0.3"), stdout=out)
        self.assertNotIn("kernel-walks", self.stats("perf-source"))

    def test_without_rights_it_is_an_error_only_if_it_must_be(self):
        source = pipeline.readable_copy(pipeline.program("perf-source"), self.directory)
        self.directory.chmod(0o755)
        for mode, status in (("kernel", 1), ("auto", 0)):
            with self.subTest(mode):
                ended = self.start(["setpriv", "--reuid=65534", "--clear-groups", source, "-q", f"--unwind={mode}",
                                    "--", "true"]).end()[0]
                if status:
                    self.assertEqual((ended.status, len(ended.errors)), (status, 1), ended)
                    self.assertIn("perf-source: error: stacks cannot be unwound in the kernel: ", ended.errors[0])
                elif pipeline.paranoid() <= 2:
                    self.assertEqual(ended.status, 0, ended)


if __name__ == "__main__":
    pipeline.main()
