# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters agree with /proc: in the stream, in Sysprof and in the page."""
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pages
import pipeline

INTEROP = pipeline.TOP / "tests" / "interop"
SYSPROF = pipeline.TOP / "build" / "sysprof-root"  # for all build directories
CPU_COUNTED = 8  # user to steal: user and nice already include guests


def cpu_ticks():
    """(busy, all) of all CPUs."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]][:CPU_COUNTED]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def memory_used():
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return (int(lines["MemTotal"].split()[0]) - int(lines["MemAvailable"].split()[0])) * 1024


def received(interface="lo"):
    found = re.search(rf"(?m)^ *{interface}: *(\d+)", Path("/proc/net/dev").read_text())
    return int(found[1])


def send_to_ourselves(n_bytes=1_000_000, piece=1000):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(n_bytes // piece):
            sender.sendto(bytes(piece), ("127.0.0.1", 9))


def counters_of_text(text):
    """Counters of frame-dump's text, as Counters.read() returns them."""
    named = {int(number): (category, name, int(divisor)) for number, divisor, category, name in re.findall(
        r'(?m)^counter number=(\d+) divisor=(\d+) category="(.*?)" name="(.*?)" ', text)}
    start = int(re.search(r"start_time=(\d+)", text)[1])
    found = {}
    for time, values in re.findall(r"(?m)^counter_values time=(\d+) values=\[(.*)\]$", text):
        for value in values.split():
            number, value = map(int, value.split(":"))
            category, name, divisor = named[number]
            found.setdefault((category, name), []).append((int(time) // 1000 - start // 1000, value / divisor))
    return found


def counters_of_sysprof(path):
    """{(category, name): [value, …]} as listed by sysprof-cat."""
    text = subprocess.run([SYSPROF / "run", "sysprof-cat", "--no-callgraph", "--no-marks", path], capture_output=True,
                          check=True, text=True).stdout
    found = {}
    for part in text.split("counter {")[1:]:
        category, name = re.search(r'category: "(.*?)"', part)[1], re.search(r'name: "(.*?)"', part)[1]
        found[category, name] = [float(value) for value in re.findall(r"\bvalue: ([-0-9.e+]+)", part)]
    return found


class Counters(pipeline.RecordingTest):
    def record_machine(self, *prefix):
        """A stream of two busy seconds, and /proc's values before and after it."""
        stream = self.directory / "all.stream"
        with stream.open("wb") as out:
            started = self.start([*prefix, *self.source("-a", "--counters=100")], self.stage("live-unwinder"),
                                 self.stage("symbolizer"), stdout=out)
            pipeline.wait_for(lambda: pipeline.has_size(stream, 1), "the stream")
            before = cpu_ticks(), received()
            subprocess.run([pipeline.CHAIN, "once", "1"], check=True)
            send_to_ourselves()
            subprocess.run([pipeline.CHAIN, "once", "1"], check=True)
            used, behind = memory_used(), (cpu_ticks(), received())
            started.processes[0].send_signal(signal.SIGINT)
            for ended in started.end():
                self.assertEqual(ended.status, 0, ended)
        return stream, used, before, behind

    def read(self, stream):
        return counters_of_text(self.run_on(stream, [pipeline.program("frame-dump")]).decode())

    def test_counters_agree_with_proc(self):
        stream, used, before, behind = self.record_machine()
        told = self.read(stream)
        busy = 100 * (behind[0][0] - before[0][0]) / (behind[0][1] - before[0][1])
        values = [value for _, value in told["CPU Percent", "Combined"]]
        self.assertGreaterEqual(len(values), 15)
        # One more reading at either end: a tenth of the time, at most all or nothing.
        self.assertLess(abs(sum(values) / len(values) - busy), 15, (values, busy))
        self.assertLess(abs(told["Memory", "Used"][-1][1] - used), 0.1 * used + (256 << 20))
        n_cpus = os.cpu_count()
        self.assertEqual(sum(category == "CPU Percent" for category, _ in told), n_cpus + 1)
        for number in range(n_cpus):
            self.assertIn(("CPU Percent", f"Total CPU {number}"), told)
        rates = told["Network", "RX Bytes (lo)"]
        in_all = sum(value * (time - last) / 1e6 for (last, _), (time, value) in zip(rates, rates[1:]))
        truth = behind[1] - before[1]
        self.assertGreater(truth, 1_000_000)
        self.assertLess(abs(in_all - truth), 0.1 * truth, rates)

    def test_sysprof_and_the_page_agree(self):
        subprocess.run([INTEROP / "fetch-sysprof", SYSPROF], check=True)
        stream, *_ = self.record_machine()
        told = self.read(stream)
        capture, page, again = (self.directory / name for name in ("out.syscap", "out.html", "again.html"))
        for path in capture, page:
            with stream.open("rb") as stdin:
                self.run_well([pipeline.program("capture-sink"), "-q", path], stdin=stdin)
        self.assertEqual(pages.read(page).counters, told)
        sysprof = counters_of_sysprof(capture)
        self.assertLess(set(told), set(sysprof))
        for key, values in told.items():
            shown = sysprof[key]
            self.assertEqual(len(shown[-len(values):]), len(values), key)
            for (_, value), other in zip(values, shown[-len(values):]):
                self.assertAlmostEqual(value, other, delta=0.01 + 1e-5 * value, msg=str(key))
        self.run_well([pipeline.program("capture-source"), capture], [pipeline.program("capture-sink"), "-q", again])
        self.assertEqual(pages.read(again).counters, told)

    @pipeline.needs_root
    def test_damaged_proc_files_do_no_harm(self):
        empty, garbage, nothing = (self.directory / name for name in ("empty", "garbage", "nothing"))
        empty.write_bytes(b"")
        garbage.write_bytes(bytes(range(256)) * 64)
        nothing.mkdir()
        script = (f"mount --bind {empty} /proc/meminfo && mount --bind {garbage} /proc/diskstats && "
                  f'mount --bind {nothing} /proc/pressure && exec "$@"')
        if subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", "true"], capture_output=True,
                          check=False).returncode:
            self.skipTest(f"{pipeline.NOT_HERE} files of /proc be covered")
        stream, *_ = self.record_machine("unshare", "--mount", "sh", "-c", script, "sh")
        told = self.read(stream)
        categories = {category for category, _ in told}
        self.assertFalse({"Memory", "Disk", "Pressure"} & categories, categories)
        self.assertLessEqual({"CPU Percent", "Scheduler", "Network"}, categories)
        self.assertGreater(self.stats("symbolizer")["samples_out"], 1000)
        self.assertEqual(self.stats("perf-source")["dropped"]["kernel-lost"], 0)


if __name__ == "__main__":
    pipeline.main()
