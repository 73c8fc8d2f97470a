# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every allocation in every stage's own code fails, once alone and once with all later ones:

	test_memory.py [--all]

A stage then does without or reports the failure, and leaves no unreadable output. Without --all every 10th
allocation is tried. In sinks, whose libraries tolerate it, allocations by libc and zlib for our calls
(open_memstream(3), deflateInit(3)) fail, too.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import faulted
from faulted import pipeline

EVERY = 1 if "--all" in sys.argv else 10
LIBRARY = pipeline.BUILD / "tests" / "faults" / "libfail-allocations.so"


def functions(*command):
    """(address, size, name) of functions that nm lists."""
    text = subprocess.run(["nm", "-S", "--defined-only", *command], capture_output=True, text=True,
                          check=False).stdout
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[2] in "tT":
            yield int(parts[0], 16), int(parts[1], 16), parts[3]


def own_code(name):
    """Address ranges of a program compiled from our sources: functions of its objects and our libraries."""
    objects = [each for room in (name, "common", "heap", "profile")
               for each in (pipeline.BUILD / room).rglob("*.o")]
    names = {function.split(".")[0] for _, _, function in functions(*objects)}
    return sorted((address, address + size) for address, size, function
                  in functions(pipeline.program(name)) if function.split(".")[0] in names)


class Memory(pipeline.RecordingTest):
    @staticmethod
    def run_case(stage, ranges, directory, **more):
        try:
            ended, out = stage.run(directory, LD_PRELOAD=str(LIBRARY), FAIL_IN=stage.name,
                                   OWN_CODE=str(ranges), **more)
        except subprocess.TimeoutExpired:
            return f"{stage.title()} {more}: it hangs"
        wrong = faulted.what_is_wrong(stage, ended, out)
        return wrong and f"{stage.title()} {more}: {wrong}: {faulted.said(ended)}"

    def try_each(self, stages, **more):
        tried, wrong = 0, []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for i, stage in enumerate(stages):
                ranges, count = self.directory / f"ranges{i}", self.directory / f"count{i}"
                ranges.write_text("".join(f"{start:x} {end:x}\n" for start, end in own_code(stage.name)))
                self.assertIsNone(self.run_case(stage, ranges, self.directory / f"all{i}", FAIL_COUNT=str(count), **more))
                n = int(count.read_text())
                self.assertGreater(n, 0, stage.title())
                print(f"{stage.title()}: {n} allocations", flush=True)
                cases = [(at, behind) for at in range(1, n + 1, EVERY) for behind in ({}, {"FAIL_FROM_THEN_ON": "1"})]
                tried += len(cases)
                wrong += [line for line in pool.map(lambda case: self.run_case(
                    stage, ranges, self.directory / f"{i}-{case[0]}-{len(case[1])}",
                    FAIL_AT=str(case[0]), **case[1], **more), cases) if line]
        print(f"{tried} cases tried, {len(wrong)} wrong", flush=True)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def unconfined(self):
        """Stages without a sandbox: one run per stage is enough."""
        return [stage for stage in faulted.stages(self.directory) if not stage.is_confined()]

    def test_each_allocation_fails(self):
        self.try_each(self.unconfined())

    def test_each_allocation_of_sink_and_libraries_fails(self):
        self.try_each([stage for stage in self.unconfined() if stage.name == "capture-sink"], FAIL_LIBRARIES="1")


if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each != "--all"]
    pipeline.main()
