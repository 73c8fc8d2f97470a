# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of running programs."""
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pipeline
import streams

PROCESS_BEGINS = "_start", "_dl_start_user"  # the program's or the loader's; the loader's second part
CHAIN_CALLS = ["main", "outer", "middle", "inner"]
PYTHON_WORKLOAD = "sum(i * i for i in range(25_000_000))"

pipeline.mount_tracefs()


def file_id_of_kernel():
    """The kernel's file id, which is based on its build-id; None: the kernel has no build-id."""
    notes = Path("/sys/kernel/notes")
    found = re.search(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0(.{20})",
                      notes.read_bytes() if notes.exists() else b"", re.S)
    if not found:
        return None
    value = 0x6c62272e07bb014262b821756295c58d
    for digit in found[1].hex().encode():
        value = (value ^ digit) * 0x1000000000000000000013b % (1 << 128)
    return f"{value:032x}"

LARGE_FRAME = """
__attribute__((noinline)) static unsigned spin(volatile unsigned char *buffer)
{
	for (unsigned i = 0; i < 300000000; i++)
		buffer[i & 32767] += i;
	return buffer[1];
}
int main(void)
{
	unsigned char buffer[32768];
	return spin(buffer) == 1;
}
"""


class Live(pipeline.RecordingTest):
    def record_folded(self, *source_arguments):
        """[(names, n), …] of a whole pipeline in which every stage exits with 0."""
        out = self.directory / "out.folded"
        self.run_well(self.source(*source_arguments), self.stage("live-unwinder"),
                      self.stage("symbolizer"), self.stage("capture-sink", out))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        stacks = streams.folded_stacks(out.read_text())
        self.assertEqual(sum(n for _, n in stacks), self.stats("capture-sink")["samples_in"])
        return stacks

    @pipeline.needs_root
    def test_a_tracepoint_is_sampled_each_time(self):
        if not (pipeline.TRACEFS / "events/sched/sched_process_fork/id").exists():
            self.skipTest(f"{pipeline.NOT_HERE} tracepoints be found: tracefs is not mounted")
        forks = "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done"
        stacks = self.record_folded("-e", "sched:sched_process_fork", "--", "sh", "-c", forks)
        self.assertEqual(sum(n for _, n in stacks), 10)
        for names, _ in stacks:
            self.assertEqual(names[0], "sh")
            self.assertIn("kernel_clone_[k]", names)  # kernel/fork.c, on all kernels since 5.10

    def assert_nearly_all_complete(self):
        """99 % of the stacks with a user side are complete: the loader's first steps have no unwind information."""
        ends = self.stats("live-unwinder")["stacks"]
        n_user = sum(ends.values()) - ends["no-user-regs"]
        self.assertGreater(n_user, 100, ends)
        self.assertGreaterEqual(ends["complete"], 0.99 * n_user, ends)

    def assert_reach_their_beginning(self, stacks, thread):
        """Every stack of a main thread that is not marked as cut goes back to the start of its process."""
        for names, _ in stacks:
            user = streams.user_side(names)
            if names[0].startswith(thread) and user and not user[0].startswith("["):
                self.assertIn(user[0], PROCESS_BEGINS, names)

    def assert_hold_chain(self, stacks, thread, caller, share):
        """Every inner() is called through the whole chain, and this share of samples is in it."""
        of_thread = [(streams.user_side(names), n) for names, n in stacks if names[0] == thread]
        found = 0
        for user, n in of_thread:
            if "inner" in user:
                end = user.index("inner") + 1
                self.assertEqual(user[:end][-4:], [caller, *CHAIN_CALLS[1:]])
                found += n
        n_all = sum(n for _, n in of_thread)
        self.assertGreater(found, share * n_all, stacks)

    def test_a_command_of_python(self):
        stacks = self.record_folded("-F", "999", "--", sys.executable, "-S", "-c", PYTHON_WORKLOAD)
        self.assert_nearly_all_complete()
        self.assert_reach_their_beginning(stacks, "python")
        n_from_start = sum(n for names, n in stacks if names[1] == "_start" and len(names) > 5)
        self.assertGreater(n_from_start, 0.9 * sum(n for _, n in stacks))

    def test_a_command_with_a_known_chain_of_calls(self):
        stacks = self.record_folded("-F", "999", "--", pipeline.CHAIN, "once", "2")
        self.assert_nearly_all_complete()
        self.assert_reach_their_beginning(stacks, "chain")
        self.assert_hold_chain(stacks, "chain", "main", 0.9)

    def summary_of(self, *source_arguments):
        """The sink's summary of a recording of Python."""
        command = [sys.executable, "-c", PYTHON_WORKLOAD]
        *_, sink = self.start(
            self.source(*source_arguments, "--", *command), self.stage("live-unwinder"),
            self.stage("symbolizer"),
            self.stage("capture-sink", self.directory / "out.folded")).end()
        self.assertEqual(sink.status, 0, sink)
        return "\n".join(sink.errors)

    def test_cut_stacks_have_a_remedy(self):
        self.assertRegex(self.summary_of("-s", "512"),
                         r"record again with -s 65528: \d+ % of the stacks were cut")

    @pipeline.needs_root
    def test_a_frame_of_32_kib_needs_no_option(self):
        source, program = self.directory / "large.c", self.directory / "large"
        source.write_text(LARGE_FRAME, encoding="ascii")
        subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
        stacks = self.record_folded("--", program)
        self.assert_nearly_all_complete()
        self.assert_reach_their_beginning(stacks, "large")

    def test_complete_stacks_need_no_remedy(self):
        self.assertNotIn("were cut", self.summary_of())

    def test_summary_of_frame_dump_adds_up(self):
        summary = self.run_well(self.source("--", pipeline.CHAIN, "once", "0.2"),
                                self.stage("live-unwinder"), self.stage("symbolizer"),
                                self.stage("frame-dump", "--summary"))[-1].output.decode()
        self.assertEqual(summary.splitlines()[-1], "everything adds up")
        for name in "perf-source", "live-unwinder", "symbolizer":
            self.assertIn(f"  {name} ", summary)

    def test_file_ids_are_those_of_opentelemetry(self):
        text = self.run_well(self.source("--", pipeline.CHAIN, "once", "0.2"),
                             self.stage("live-unwinder"), self.stage("symbolizer"),
                             [pipeline.program("frame-dump")])[-1].output.decode()
        paths = dict(re.findall(r'^image image=(\d+) .* path="(.*)"$', text, re.M))
        told = re.findall(r'^image_id image=(\d+) .* file_id="([^"]*)"', text, re.M)
        ids = {paths[number]: file_id for number, file_id in told}
        self.assertEqual(len(ids), len(told), "an image's ids were emitted twice")
        self.assertEqual(ids[str(pipeline.CHAIN)], streams.file_id_of(pipeline.CHAIN.read_bytes()))
        for path in filter(os.path.isfile, ids):
            self.assertEqual(ids[path], streams.file_id_of(Path(path).read_bytes()), path)
        self.assertEqual(ids.get("[kernel]"), file_id_of_kernel())

    def test_stripped_functions_are_one_location_each(self):
        path = self.directory / "stripped"
        subprocess.run(["strip", "-s", "-o", path, pipeline.CHAIN], check=True)
        stacks = self.record_folded("--", path, "once", "0.5")
        places = {name for names, _ in stacks for name in names if name.startswith("[stripped+")}
        described = subprocess.run(["readelf", "--debug-dump=frames", path], check=True,
                                   capture_output=True, text=True).stdout
        starts = {f"[stripped+{int(start, 16):#x}]"
                  for start in re.findall(r"FDE .* pc=([0-9a-f]+)\.\.", described)}
        self.assertGreaterEqual(len(places), len(CHAIN_CALLS))
        self.assertLessEqual(places, starts)

    def test_two_threads_of_a_process(self):
        stacks = self.record_folded("--", pipeline.CHAIN, "threads", "0.5")
        for thread in "left", "right":
            self.assert_hold_chain(stacks, thread, thread, 0.9)

    def test_a_running_process_and_its_children(self):
        process = self.start_busy("forks")
        stacks = self.record_folded("-p", str(process.pid), "-d", "1")
        self.assert_hold_chain(stacks, "chain", "child", 0.3)
        self.assertIsNone(process.poll(), "the recording ended the process")

    def test_a_running_process_while_a_command_runs(self):
        """The command determines the duration, and is not recorded itself."""
        clock = self.directory / "clock"
        shutil.copy(pipeline.CHAIN, clock)
        process = self.start_busy("once")
        stacks = self.record_folded("-p", str(process.pid), "--", clock, "once", "0.5")
        self.assert_hold_chain(stacks, "chain", "main", 0.9)
        self.assertNotIn("clock", {names[0] for names, _ in stacks})
        self.assertIsNone(process.poll(), "the recording ended the process")

    def test_a_process_that_exits_by_itself(self):
        """It runs for longer than a recorder takes to begin, also with sanitizers."""
        process = self.start([pipeline.CHAIN, "once", "3"]).processes[0]
        stacks = self.record_folded("-p", str(process.pid))
        self.assert_hold_chain(stacks, "chain", "main", 0.9)

    def test_the_whole_machine_for_a_while(self):
        """The program has a unique name: other processes of the machine may run chain, too."""
        program = self.directory / f"chain-{os.getpid()}"
        shutil.copy(pipeline.CHAIN, program)
        self.start([program, "once", "1000000"])
        stacks = self.record_folded("-a", "-d", "0.5")
        self.assert_hold_chain(stacks, program.name, "main", 0.9)

    @pipeline.needs_root
    def test_the_whole_machine_while_a_command_runs(self):
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
            try:
                ended = self.start(self.source("-a", "--off-cpu", "-s1024", "--", "sh", "-c", "sleep 0.5; exit 3"),
                                   [pipeline.program("frame-dump")]).end()
            finally:
                other.kill()
        self.assertEqual(ended[0].status, 3, ended[0])
        text = ended[1].output.decode()
        self.assertRegex(text, rf"(?m)^sample .* tid={other.pid} ")
        self.assertRegex(text, rf'(?m)^process .* name="sleep"')

    def test_a_program_that_is_rewritten_in_place(self):
        """The same inode with another content is another image: each run has its own names."""
        program, names = self.directory / "program", ("first_name", "other_name")
        for name in names:
            self.compile_spinning(name, self.directory / name)
        script = " && ".join(f"cat {name} > program && chmod +x program && ./program 0.4"
                             for name in names)
        stacks = self.record_folded("--", "sh", "-c", f"cd {self.directory} && {script}")
        found = [sum(n for stack, n in stacks if name in stack) for name in names]
        of_program = sum(n for stack, n in stacks if stack[0] == program.name)
        self.assertGreater(min(found), 0.3 * of_program, stacks)

    def compile_spinning(self, function, path):
        """Functions of the same size and location, so that only the file determines which one ran."""
        subprocess.run(["cc", "-O1", f"-Dspin_here={function}", "-o", path,
                        pipeline.TOP / "tests" / "programs" / "spin.c"], check=True)

    def test_times_never_go_back(self):
        self.start_busy("forks")
        ended = self.run_well(self.source("-a", "-F", "4999", "-d", "1"),
                              self.stage("live-unwinder"), self.stage("symbolizer"),
                              self.stage("frame-dump"))
        text = ended[-1].output.decode(errors="replace")
        times = [int(time) for time in re.findall(r"^\w+ .*?\btime=(\d+)", text, re.MULTILINE)]
        self.assertGreater(len(times), 1000)
        self.assertEqual(times, sorted(times))

    def test_a_dead_process_is_reported(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        for command in (), ("--", "sleep", "1000000"):
            ended = self.start(self.source("-p", str(gone.pid), *command)).end()[0]
            self.assert_fails_in_one_line(ended, text=f"process {gone.pid} does not exist")


class CommandStatus(pipeline.RecordingTest):
    """The status of a recorded command is perf-source's own, as with a shell's `time`."""

    def end_of(self, *command):
        return self.start(self.source("--", *command)).end()[0]

    def test_of_an_exit(self):
        self.assertEqual(self.end_of("sh", "-c", "exit 7").status, 7)

    def test_of_a_signal(self):
        for number in signal.SIGKILL, signal.SIGTERM:
            ended = self.end_of("sh", "-c", f"kill -{number} $$")
            self.assertEqual(ended.status, 128 + number)

    def test_of_a_missing_command(self):
        ended = self.end_of("no-such-command")
        self.assert_fails_in_one_line(ended, 127, "no-such-command")

    def test_of_a_command_that_is_no_program(self):
        text = self.directory / "text"
        text.write_text("no program\n")
        self.assert_fails_in_one_line(self.end_of(text), 126, str(text))

    def test_output_of_the_command_is_not_in_the_stream(self):
        ended = self.end_of("echo", "hello from the command")
        self.assertEqual(ended.errors, ["hello from the command"])
        streams.records(ended.output)


if __name__ == "__main__":
    pipeline.main()
