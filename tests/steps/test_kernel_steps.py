# SPDX-License-Identifier: GPL-3.0-or-later
"""
At every instruction of programs the kernel's engine gives the true chain of calls, or leaves it to live-unwinder.

A step is a switch to the tracer, of which perf-source takes a sample. With --all of all programs of test_steps.py.
"""
import re
import sys
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import pipeline  # noqa: E402
import reading  # noqa: E402
import steps  # noqa: E402
import test_steps  # noqa: E402

# The kernel has the tables after the first run. Stacks of processes that it does not know yet are copied.
RUNS = "1", "2", "3"
SAMPLE = re.compile(r"^sample time=(\d+) .*?tid=(\d+) ", re.MULTILINE)
STACK = re.compile(r"^stack time=(\d+) .*?tid=(\d+) ")
KERNEL_FRAMES = re.compile(r"0x[0-9a-f]+@\d+:kernel(\+exact)? ?")
WALKED_LEAST = 200
TRIES = 5  # on a busy machine it takes longer until the kernel knows a process
ALL = "--all" in sys.argv
SOME = {"O2", "realign", "lld", "static"}
OTHERS = {"by-hand", "exceptions-O2", "jumps-O2", "signals-O2", "threads-O2", "true"}


@pipeline.needs_root
class KernelSteps(pipeline.PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        refusal = reading.refusal()
        if refusal:
            raise unittest.SkipTest(refusal)

    def step(self, options, command):
        """What perf-source records of the steps; and of each run the stream that tells their times, and the truth."""
        stream = self.directory / "stream"
        script = f'for i in {" ".join(RUNS)}; do "$@" > {self.directory}/steps-$i 3> {self.directory}/truth-$i; done'
        step = [test_steps.SINGLE_STEP, "--truth=/dev/fd/3", *options, "--", *command]
        with stream.open("wb") as out:
            self.run_well(self.source("-e", "context-switches", "-c", "1", "--unwind=kernel", "--judge=0",
                                      "--no-interpreters", "--", "sh", "-c", script, "sh", *step), stdout=out)
        return stream, [(self.directory / f"steps-{i}", self.directory / f"truth-{i}") for i in RUNS]

    def stops(self, stream):
        """The time and the thread of each step."""
        dump = self.run_on(stream, self.stage("frame-dump")).decode()
        return [(int(time), int(tid)) for time, tid in SAMPLE.findall(dump)]

    def compare_until_walked(self, name, options, command):
        for _ in range(TRIES):
            counts = self.compare(options, command)
            print(f"{name}: {' '.join(f'{outcome} {n}' for outcome, n in counts.most_common())}", flush=True)
            if counts.total() > WALKED_LEAST:
                return
        self.fail(f"the kernel walked {counts.total()} stacks")

    def compare(self, options, command):
        stream, runs = self.step(options, command)
        text = self.run_on(stream, self.stage("live-unwinder", "--no-cache"), self.stage("symbolizer"),
                           self.stage("frame-dump")).decode()
        records = Records(text)
        counts = Counter()
        for steps_path, truth_path in runs:
            truth, stacks = records.select(steps.Truth(truth_path), self.stops(steps_path))
            comparison = steps.Comparison(truth, stacks)
            self.assertEqual(comparison.counts[steps.WRONG], 0, comparison.examples(steps.WRONG))
            self.assertEqual(comparison.counts[steps.MISNAMED], 0, comparison.examples(steps.MISNAMED))
            counts += comparison.counts
        return counts


class Records:
    """The stacks that the kernel walked, and what names their frames."""

    def __init__(self, text):
        self.walked, self.times, self.others = {}, {}, []
        for line in text.splitlines():
            if found := STACK.match(line):
                time, tid = int(found[1]), int(found[2])
                self.times.setdefault(tid, []).append(time)
                if " flags=kernel-walk " in line:
                    self.walked[time, tid] = KERNEL_FRAMES.sub("", line)
            else:
                self.others.append(line)

    def select(self, truth, stops):
        """
        Of the steps those that the kernel walked. The last switch of a thread before its step was looked at is the
        one to the tracer: both run on one CPU.
        """
        assert len(truth.chains) == len(stops)
        chosen, last, looked_at = [], {}, {}
        for i, (stop, tid) in enumerate(stops):
            times, at = self.times.get(tid, []), last.get(tid, 0)
            while at < len(times) and times[at] <= stop:
                at += 1
            last[tid] = at
            if at and times[at - 1] > looked_at.get(tid, 0) and (times[at - 1], tid) in self.walked:
                chosen.append((i, self.walked[times[at - 1], tid]))
            looked_at[tid] = stop
        for name in "chains", "n_captured", "is_leaving":
            setattr(truth, name, [getattr(truth, name)[i] for i, _ in chosen])
        return truth, steps.Stacks("\n".join(self.others + [line for _, line in chosen]), knows_plts=True)


def add_test(name, options, command):
    def test(self):
        self.compare_until_walked(name, options, command)
    setattr(KernelSteps, f"test_{name.replace('-', '_')}", test)


def is_wanted(name):
    return ALL or name in OTHERS or name.removeprefix("frames-") in SOME


for program in test_steps.built():
    short = program.name.removeprefix("steps-")
    if is_wanted(short):
        add_test(short, test_steps.OPTIONS.get(short, []), [program])
for system_name, (system_options, system_command) in test_steps.SYSTEM.items():
    if is_wanted(system_name):
        add_test(system_name, system_options, system_command)

if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each != "--all"]
    pipeline.main()
