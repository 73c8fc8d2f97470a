# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks deeper than the kernel copies: a BPF program reads the rest at the moment of the sample."""
import re
import signal
import subprocess
import sys

import pipeline
import reading
import streams

DEEP = reading.DEEP
SECONDS = "0.5"
MANY_FRAMES = 10_000, 16  # about a MiB of stack
LARGE_FRAMES = 20, 122 * 1024
READ_FROM = 65440  # bytes from the stack pointer on, which the first part has
SAMPLE, STACK_PART = 15, 40  # types of records
LARGEST_SAMPLE = 65536  # bytes of a ring
CUT = "[stack-truncated]", "[stack-absent]"
BOTTOM = re.compile(r"spin_at_the_bottom$")


@pipeline.needs_root
class DeepStacks(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        refusal = reading.refusal()
        if refusal:
            self.skipTest(refusal)

    def record_deep(self, depth, frame, *options, thread=()):
        stream = self.directory / "deep.stream"
        with stream.open("wb") as out:
            self.run_well(self.source(*(() if "-e" in options else ("-e", "cpu-clock")), *options, "--", DEEP, str(depth), str(frame), SECONDS, *thread),
                          stdout=out)
        return stream

    def folded(self, stream, *options):
        return streams.folded_stacks(self.run_on(
            stream, self.stage("live-unwinder", "--max-frames=15000", *options), self.stage("symbolizer"),
            self.stage("capture-sink", "-q", "-f", "folded", "-")).decode())

    def check_chains(self, stream, depth, begin):
        """Each stack of the bottom has all calls, one below the other; none has any other number of them."""
        at_bottom = [(names, n) for names, n in self.folded(stream) if any(map(BOTTOM.search, names))]
        complete = sum(n for names, n in at_bottom if names[1] not in CUT)
        for names, _ in at_bottom:
            calls = [name for name in names if name == "descend"]
            if names[1] in CUT:
                self.assertLessEqual(len(calls), depth)
                continue
            self.assertEqual(len(calls), depth, names[:5])
            self.assertIn(begin, names[1:8])
            first = names.index("descend")
            self.assertEqual(names[first - 1], "run")
            self.assertEqual(names[first:first + depth], ["descend"] * depth)
        self.assertGreater(complete, 20)
        cut = self.stats("perf-source")["deep-stacks"]
        n_cut = sum(n for reason, n in cut.items() if reason not in ("end", "absent"))
        self.assertGreaterEqual(complete + n_cut, 0.999 * sum(n for _, n in at_bottom), cut)

    def test_many_frames_of_the_first_thread(self):
        self.check_chains(self.record_deep(*MANY_FRAMES), MANY_FRAMES[0], "main")

    def test_many_frames_of_another_thread(self):
        self.check_chains(self.record_deep(*MANY_FRAMES, thread=("thread",)), MANY_FRAMES[0], "run")

    def test_large_frames(self):
        self.check_chains(self.record_deep(*LARGE_FRAMES), LARGE_FRAMES[0], "main")

    def test_several_events_read_stacks(self):
        """Each has room in the ring again once its records are read. How much depends on how fast that is."""
        stream = self.record_deep(*MANY_FRAMES, "-e", "cpu-clock,task-clock")
        for event in 0, 1:
            cuts = re.findall(rf"(?m)^sample .* event={event} .* stack_cut=(\S+)",
                              self.run_on(stream, [pipeline.program("frame-dump")]).decode())
            self.assertGreater(cuts.count("end"), 20)
            self.assertGreater(cuts.count("end"), cuts.count("room"))

    def test_both_engines_see_the_same_stacks(self):
        stream = self.record_deep(100, 2000)
        self.run_on(stream, self.stage("live-unwinder", "--verify=1"))
        verified = self.stats("live-unwinder")["verify"]
        self.assertGreater(verified["compared"], 20)
        self.assertEqual(verified["different"], 0)

    def test_without_it_deep_stacks_are_cut(self):
        stream = self.record_deep(*MANY_FRAMES, "--stack-limit=0")
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        self.assertNotRegex(text, r"(?m)^stack_part ")
        ends = {names[1] for names, _ in self.folded(stream) if any(map(BOTTOM.search, names))}
        # The kernel moves pages now and then, and one that is being moved cannot be copied.
        self.assertEqual(ends - {"[stack-absent]"}, {"[stack-truncated]"})

    def test_a_stack_size_of_the_user_is_the_limit(self):
        text = self.run_on(self.record_deep(*MANY_FRAMES, "-s", "8192"), [pipeline.program("frame-dump")]).decode()
        self.assertNotRegex(text, r"(?m)^stack_part ")
        self.assertLessEqual(max(int(size) for size in re.findall(r"(?m)^sample .* stack=(\d+):", text)), 8192)

    def test_a_limit_cuts_and_says_so(self):
        limit = 200_000
        text = self.run_on(self.record_deep(*MANY_FRAMES, f"--stack-limit={limit}"),
                           [pipeline.program("frame-dump")]).decode()
        cut = re.findall(r"(?m)^sample .* stack_parts=(\d+) stack_cut=limit\b", text)
        self.assertGreater(len(cut), 20)
        for parts in re.findall(r"(?m)((?:^stack_part .*\n)+)^sample .* stack_cut=limit\b", text):
            sizes = [int(size) for size in re.findall(r" bytes=(\d+):", parts)]
            self.assertEqual(sum(sizes), limit - READ_FROM)
        self.assertGreater(self.stats("perf-source")["deep-stacks"]["limit"], 20)

    def test_a_ring_holds_stacks_and_no_more(self):
        """While nobody reads it, a ring has several times as many samples as stacks of the largest size."""
        begun, done, stream = (self.directory / name for name in ("begun", "done", "stream"))
        ring = 8 << 20  # a small stack is at most 5 KB long, by where it begins
        command = f"touch {begun}; env -i {DEEP} 3 16 1; touch {done}"
        with stream.open("wb") as out, subprocess.Popen(
                self.source("-e", "cpu-clock", f"-m{ring}", "--", "sh", "-c", command), stdout=out) as source:
            pipeline.wait_for(begun.exists, "the program to begin")
            source.send_signal(signal.SIGSTOP)
            pipeline.wait_for(done.exists, "the program to end")
            source.send_signal(signal.SIGCONT)
        n = sum(streams.record_type(record) == SAMPLE for record in streams.records(stream.read_bytes()))
        self.assertGreater(n, 5 * ring // LARGEST_SAMPLE)
        self.assertEqual(self.stats("perf-source")["dropped"]["kernel-lost"], 0)

    def test_a_recorded_stream_gives_the_same_each_time(self):
        stream = self.record_deep(300, 1000)
        first, second = (self.run_on(stream, self.stage("live-unwinder")) for _ in range(2))
        self.assertEqual(first, second)

    def test_lost_parts_cut_the_stack_and_no_more(self):
        """Each part in turn is left out of a stream: no stack has a call that is not true."""
        stream = self.record_deep(300, 1000)
        *records, end = streams.records(stream.read_bytes())
        parts = [i for i, record in enumerate(records) if streams.record_type(record) == STACK_PART]
        self.assertGreater(len(parts), 40)
        left_out = set(parts[::3])
        kept = [record for i, record in enumerate(records) if i not in left_out]
        shorter = self.directory / "shorter.stream"
        hello, *middle = kept
        shorter.write_bytes(streams.between(hello, middle, end))
        for names, _ in self.folded(shorter):
            if any(map(BOTTOM.search, names)) and names[1] not in CUT:
                self.assertEqual(names.count("descend"), 300)
        self.assertGreater(self.stats("live-unwinder")["refused"]["stack-parts"], 10)


if __name__ == "__main__":
    sys.exit(pipeline.main())
