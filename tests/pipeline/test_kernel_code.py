# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel code that is loaded and unloaded during a recording: mainly BPF programs."""
import errno
import functools
import re
import signal
import subprocess
import unittest
from pathlib import Path

import kernel_code
import pipeline
import streams

BPF_SPIN = pipeline.BUILD / "tests" / "pipeline" / "bpf-spin"
NO_KSYMBOL = pipeline.BUILD / "tests" / "pipeline" / "libno-ksymbol.so"
JIT = Path("/proc/sys/net/core/bpf_jit_enable")
BPF_SPIN_SKIPPED = 77
N_PROGRAMS = 20  # in sequence, in each of two threads
N_ALL = 2 * (N_PROGRAMS + 1)
SECONDS = 0.05  # of CPU time, for each of them
BETWEEN = "between"  # name of a thread that is about to run the next program
THREAD = re.compile(r"(left|right)\d+")  # named after the program that it runs


class ByHand(pipeline.PipelineTest):
    """Names are valid for a time; the expected ones were worked out by hand."""

    def setUp(self):
        super().setUp()
        self.stream = self.directory / "stream"
        self.stream.write_bytes(kernel_code.stream())

    def test_symbols(self):
        text = self.run_on(self.stream, self.stage("symbolizer"), self.stage("frame-dump"))
        told = re.findall(r'^symbol .*offset=(\w+) start=(\w+) size=(\w+) name="(.*?)" '
                          r'module="(.*?)" file=""', text.decode(), re.M)
        caller, old, code = (hex(address) for address in (
            kernel_code.CALLER - 1, kernel_code.OLD, kernel_code.CODE))
        self.assertEqual(told, [
            (old, "0xffffffffc0001000", "0x1000", "bpf_prog_0_old", "bpf"),
            (caller, "0xffffffff81000000", "0x1000", "bpf_test_run", ""),
            (code, "0xffffffffc0003000", "0x6000", "behind", "module"),
            (old, old, "0x0", "", ""),
            (code, "0xffffffffc0004000", "0x40", "bpf_prog_1_first", "bpf"),
            (code, code, "0x0", "", ""),
            (code, "0xffffffffc0004000", "0x80", "bpf_prog_2_second", "bpf"),
            (code, "0xffffffffc0004010", "0x80", "bpf_prog_3_third", "bpf"),
            (code, "0xffffffffc0004000", "0x1000", "ftrace_trampoline", "__builtin__ftrace"),
        ])
        self.assertEqual(self.stats("symbolizer")["places"], {"distinct": 9, "named": 7, "inlined-calls": 0})

    def test_folded_stacks(self):
        text = self.run_on(self.stream, self.stage("symbolizer"),
                           self.stage("capture-sink", "-q", "-f", "folded", "-")).decode()
        stacks = {tuple(names): n for names, n in streams.folded_stacks(text)}
        self.assertEqual(stacks, {("[unknown]", "bpf_test_run_[k]", f"{name}_[k]"): n
                                  for name, n in (("bpf_prog_0_old", 2),
                                                  (f"[kernel+{kernel_code.OLD:#x}]", 12),
                                                  ("behind", 4),
                                                  ("bpf_prog_1_first", 2),
                                                  (f"[kernel+{kernel_code.CODE:#x}]", 2),
                                                  ("bpf_prog_2_second", 2),
                                                  ("bpf_prog_3_third", 2),
                                                  ("ftrace_trampoline", 2))})


    def test_a_calling_program_has_its_name_in_a_capture(self):
        self.stream.write_bytes(kernel_code.stream(kernel_code.calls))
        capture = self.directory / "out.syscap"
        self.run_on(self.stream, self.stage("symbolizer"), self.stage("capture-sink", "-q", capture))
        ended = self.run_well(self.stage("capture-source", capture), self.stage("capture-sink", "-q", "-f", "folded", "-"))
        stacks = [tuple(names) for names, _ in streams.folded_stacks(ended[-1].output.decode())]
        self.assertEqual(stacks, [("[unknown]", "bpf_prog_1_first_[k]", "bpf_test_run_[k]")])


def thread_of(program):
    """The name of the thread in which a program runs."""
    return program.removesuffix("_[k]").rsplit("_", 1)[-1]


def threads_of(pid):
    return {path.read_text().strip() for path in Path(f"/proc/{pid}/task").glob("*/comm")}


@functools.cache
def bpf_refusal():
    """Why no BPF program runs as machine code here; "" where one does."""
    if not JIT.exists() or JIT.read_text().strip() == "0":
        return f"the compiler of BPF {pipeline.NOT_INSTALLED}: {JIT} is 0 or not there"
    attempt = subprocess.run([BPF_SPIN, "0.001", "0"], capture_output=True, text=True)
    if attempt.returncode == BPF_SPIN_SKIPPED:
        return f"BPF {pipeline.NOT_INSTALLED} in this kernel: {attempt.stderr}"
    return ""


@pipeline.needs_root
class Live(pipeline.RecordingTest):
    def setUp(self):
        super().setUp()
        if bpf_refusal():
            self.skipTest(bpf_refusal())
        self.stream = self.directory / "stream"

    def spin(self):
        return [BPF_SPIN, str(SECONDS), str(N_PROGRAMS)]

    def record_stream(self, *source_arguments):
        with self.stream.open("wb") as out:
            self.run_well(*self.stages(*source_arguments), stdout=out)

    def stages(self, *source_arguments):
        return (self.source(*source_arguments), self.stage("live-unwinder"),
                self.stage("symbolizer"))

    def wait_for_samples(self, stream):
        """Until a recording has read what existed before it: that precedes all samples."""
        def has_samples():
            with stream.open("rb") as begun:
                ended = subprocess.run(self.stage("frame-dump"), stdin=begun, capture_output=True)
            return re.search(rb"^(sample|stack) ", ended.stdout, re.M)
        pipeline.wait_for(has_samples, "samples")

    def kernel_symbols(self):
        """[(address, size, flags, name), …]"""
        text = self.run_on(self.stream, self.stage("frame-dump")).decode()
        return [(int(address, 16), int(size, 16), flags, name) for address, size, flags, name in
                re.findall(r'^kernel_symbol time=\d+ address=(\w+) size=(\w+) flags=(\S+) '
                           r'kind=bpf name="(.*)"$', text, re.M)]

    def folded(self):
        text = self.run_on(self.stream, self.stage("capture-sink", "-q", "-f", "folded", "-"))
        return streams.folded_stacks(text.decode())

    def assert_programs_have_their_names(self, n_programs):
        """Each program runs in a thread of its name; nearly all samples of it are in the program.
        Returns the programs that were found."""
        n_all, n_right, found = 0, 0, set()
        for names, n in self.folded():
            # A thread from before the recording has the name that it had when /proc was read, shortly after the start.
            if names[0] in (BPF_SPIN.name, BETWEEN):
                continue
            programs = [name for name in names if name.startswith("bpf_prog_")
                        and THREAD.fullmatch(thread_of(name))]
            for program in programs:
                self.assertRegex(program, rf"^bpf_prog_[0-9a-f]{{16}}_{names[0]}_\[k\]$", names)
            found.update(map(thread_of, programs))
            if THREAD.fullmatch(names[0]):
                n_all += n
                n_right += n if programs else 0
        self.assertGreater(n_right, 0.9 * n_all)
        self.assertGreater(n_all, 0.3 * 999 * SECONDS * n_programs)
        self.assertGreater(len(found), 0.9 * n_programs)
        print(f"{n_right} of {n_all} samples in {len(found)} programs", flush=True)
        return found

    def assert_addresses_are_used_again(self, n_programs):
        """Otherwise the test would show nothing."""
        came = [(start, start + size, name) for start, size, flags, name in self.kernel_symbols()
                if flags == "-"]
        again = sum(any(start < end_before and start_before < end and name != name_before
                        for start_before, end_before, name_before in came[:i])
                    for i, (start, end, name) in enumerate(came))
        self.assertGreaterEqual(len(came), n_programs)
        self.assertGreater(again, n_programs / 3, came)
        print(f"{again} of {len(came)} programs lie where another was", flush=True)

    def test_programs_of_a_command(self):
        self.record_stream("--", *self.spin())
        self.assert_addresses_are_used_again(N_ALL)
        self.assert_programs_have_their_names(N_ALL)

    def test_programs_of_the_whole_machine(self):
        with self.stream.open("wb") as out:
            recording = self.start(*self.stages("-a"), stdout=out)
        self.wait_for_samples(self.stream)
        self.run_well(self.spin())
        recording.signal(signal.SIGINT)
        for stage in recording.end():
            self.assertEqual(stage.status, 0, stage)
        self.assert_addresses_are_used_again(N_ALL)
        self.assert_programs_have_their_names(N_ALL)

    def test_programs_beside_a_later_recorder(self):
        """The kernel reports the newest first, and those before it with a wrong size."""
        with self.stream.open("wb") as out:
            recording = self.start(*self.stages("-a"), stdout=out)
        self.wait_for_samples(self.stream)
        beside = self.directory / "beside"
        with beside.open("wb") as out:
            later = self.start(self.source("-a"), stdout=out)
        self.wait_for_samples(beside)
        self.run_well(self.spin())
        for pipe in (recording, later):
            pipe.signal(signal.SIGINT)
            for stage in pipe.end():
                self.assertEqual(stage.status, 0, stage)
        self.assert_addresses_are_used_again(N_ALL)
        self.assert_programs_have_their_names(N_ALL)

    def test_programs_loaded_before_the_recording(self):
        """kallsyms lists them at the start, and they are not forgotten."""
        spinning = self.start(self.spin())
        pid = spinning.processes[0].pid
        pipeline.wait_for(lambda: all(map(THREAD.fullmatch, threads_of(pid) - {BPF_SPIN.name})) and
                          len(threads_of(pid)) == 3, "the first programs")
        self.record_stream("-p", str(pid))
        self.assert_addresses_are_used_again(N_ALL / 2)
        self.assertLessEqual({"left0", "right0"}, self.assert_programs_have_their_names(N_ALL / 2))
        flags = {flags for _, _, flags, name in self.kernel_symbols()
                 if thread_of(name) in ("left0", "right0")}
        self.assertEqual(flags, {"gone"})

    def test_programs_loaded_by_other_processes(self):
        """A recorded program may run programs that others have loaded."""
        done = self.directory / "done"
        with self.stream.open("wb") as out:
            recording = self.start(*self.stages("--", "sh", "-c", f"until [ -e {done} ]; do :; done"), stdout=out)
        self.wait_for_samples(self.stream)
        self.run_well(self.spin())
        done.touch()
        for stage in recording.end():
            self.assertEqual(stage.status, 0, stage)
        flags = {flags for _, _, flags, name in self.kernel_symbols()
                 if THREAD.fullmatch(thread_of(name))}
        self.assertEqual(flags, {"-", "gone"})


class Refused(pipeline.RecordingTest):
    """On an older kernel, or without permission, one line reports it, and everything else is as before."""

    def end_of(self, error, *stages):
        preload = ["env", f"LD_PRELOAD={NO_KSYMBOL}", "ASAN_OPTIONS=verify_asan_link_order=0",
                   f"NO_KSYMBOL={error}"]
        return self.start([*preload, pipeline.program("perf-source"), "--", pipeline.CHAIN, "once",
                           "0.3"], self.stage("live-unwinder"), self.stage("symbolizer"),
                          self.stage("capture-sink", "-f", "folded", "-")).end()

    def test_each_refusal(self):
        for error, reason in ((errno.EINVAL, "this kernel (before 5.1)"),
                              (errno.EACCES, "grant CAP_PERFMON"), (errno.EPERM, "grant CAP_PERFMON"),
                              (errno.EMFILE, "Too many open files")):
            ended = self.end_of(error)
            self.assertEqual([stage.status for stage in ended], [0] * len(ended), ended)
            said = [line for line in ended[0].errors if "BPF programs" in line]
            self.assertEqual(len(said), 1, ended[0])
            self.assertIn(reason, said[0])
            chains = [n for names, n in streams.folded_stacks(ended[-1].output.decode())
                      if streams.user_side(names)[-4:] == ["main", "outer", "middle", "inner"]]
            self.assertGreater(sum(chains), 50)


if __name__ == "__main__":
    pipeline.main()
