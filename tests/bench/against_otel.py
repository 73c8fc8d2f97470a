# SPDX-License-Identifier: GPL-3.0-or-later
"""How many stacks of a script are right, cut or wrong: ours, and those of OpenTelemetry's eBPF profiler.

    STACKPIPE_BUILD=build python3 against_otel.py PROFILER SECONDS COMMAND...

PROFILER is its program (otel.py tells what it needs). COMMAND runs
tests/programs/chains.py, .php, .js or .rb, or the class Chains, and gets SECONDS. The columns are stacks that are right, cut, wrong, and that have
none of the functions, as when the interpreter starts. Needs root.
"""
import collections
import os
import subprocess
import sys
import threading
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "pipeline"), str(TESTS / "bench")]
os.environ.setdefault("STACKPIPE_BUILD", "build")

import otel  # noqa: E402
from judge import judge  # noqa: E402

BUILD = Path(os.environ["STACKPIPE_BUILD"]).resolve()
RATE = "999"
FRAME_TYPES = "cpython", "php", "ruby", "v8js", "jvm"
LAST_REPORT_S = 12  # it reports every five seconds


class Verdicts(otel.Receiver):
    """How the stacks of one process are judged."""

    def __init__(self):
        super().__init__()
        self.counts, self.pid = collections.Counter(), None

    def take_sample(self, table, pids, sample):
        if self.pid not in pids:
            return
        names = [table.string_table[table.function_table[line.function_index].name_strindex]
                 for index in table.stack_table[sample.stack_index].location_indices
                 for line in table.location_table[index].lines if is_script(table, table.location_table[index])]
        self.counts[judge(names) or "without"] += otel.weight(sample)


def is_script(table, location):
    return any(table.attribute_table[index].value.string_value in FRAME_TYPES for index in location.attribute_indices)


def theirs(profiler, command):
    verdicts = Verdicts()
    with otel.running(profiler, RATE, verdicts):
        with subprocess.Popen(command) as program:
            verdicts.pid = program.pid
        threading.Event().wait(LAST_REPORT_S)
    return verdicts.counts


def ours(command):
    record = [BUILD / "stackpipe" / "stackpipe", "record", "-q", "-F", RATE, "-e", "cpu-clock", "--interpreter=hide", "-f", "folded",
              "-o", "-", "--", *command]
    verdicts = collections.Counter()
    for line in subprocess.run(record, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
        stack, _, n = line.rpartition(" ")
        verdicts[judge(stack.split(";")[:0:-1]) or "without"] += int(n)
    return verdicts


def main():
    profiler, seconds, *command = sys.argv[1:]
    for name, verdicts in (("stackpipe", ours([*command, seconds])), ("OpenTelemetry", theirs(profiler, [*command, seconds]))):
        print(f"| {name} | {verdicts['right']} | {verdicts['cut']} | {verdicts['wrong']} | {verdicts['without']} |", flush=True)


main()
