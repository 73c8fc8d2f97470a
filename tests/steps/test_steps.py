# SPDX-License-Identifier: GPL-3.0-or-later
"""
At every instruction of programs both engines give the true chain of calls, or part of it with an end reason.

single-step determines the truth without unwind information.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import pipeline  # noqa: E402
import steps  # noqa: E402

PROGRAMS = pipeline.BUILD / "tests" / "steps"
SINGLE_STEP = PROGRAMS / "single-step"
ENGINES = "table", "dwfl", "auto"
THUNKS = "__x86_indirect_thunk_", "__x86_return_thunk", "__llvm_retpoline_"
LEAST_PROGRAMS = 15

# A step is two switches between processes: 5 s alone may become minutes beside other load.
pipeline.PATIENCE_S = 300

# Share of the unwindable chains that may be lost: those of callers whose registers are saved nowhere; and OpenSSL's
# SHA-512 for AVX2 keeps its CFA below the stack pointer, where nothing is captured. (Callers whose CFA depends on rbx
# are counted apart: by_rbx in steps-by-hand.S, lazy binding. Their share depends on how long the dynamic linker
# looks for symbols.)
LOST_MAX = 0.004
LOST_MAX_OF_CRYPTO = 0.045
# Elfutils looks for popped registers below the stack pointer, too: it loses callers with frame pointers.
LOST_MAX_OF_DWFL = 0.045
LOST_MAX_OF_DWFL_AND_CRYPTO = 0.055
# Chains without a unique truth, of programs that jump and throw.
LEAVING_MAX = 0.03

# Options of single-step: not every instruction of slow programs is sampled.
OPTIONS = {"exceptions-O0": ["-n", "3"], "exceptions-O2": ["-n", "3"], "crypto": ["-n", "3"]}
# Programs of the system: their start, and the dynamic linker's work before it.
SYSTEM = {
    "true": (["-x", "-n", "3"], ["/bin/true"]),
    "ls": (["-n", "13", "-m", "7000"], ["/bin/ls", "-l", "/"]),
    "python3": (["-n", "17", "-m", "7000"], [sys.executable, "-S", "-c", "0"]),
}


def lost_max(name, engine):
    if engine == "dwfl":
        return LOST_MAX_OF_DWFL_AND_CRYPTO if name == "crypto" else LOST_MAX_OF_DWFL
    return LOST_MAX_OF_CRYPTO if name == "crypto" else LOST_MAX


class Steps(pipeline.PipelineTest):

    def step(self, options, command):
        """The stream of a program and its truth."""
        stream, truth = self.directory / "stream", self.directory / "truth"
        with stream.open("wb") as out:
            self.run_well([SINGLE_STEP, f"--truth={truth}", *options, "--", *command], stdout=out)
        return stream, steps.Truth(truth)

    def stacks(self, stream, engine):
        text = self.run_on(stream, self.stage("live-unwinder", f"--engine={engine}", "--no-cache"),
                           self.stage("symbolizer"), self.stage("frame-dump"))
        return steps.Stacks(text.decode(), knows_plts=engine != "dwfl")

    def compare(self, name, options, command):
        stream, truth = self.step(options, command)
        self.assertGreater(len(truth.chains), 1000)
        found = {engine: steps.Comparison(truth, self.stacks(stream, engine))
                 for engine in ENGINES}
        for engine, comparison in found.items():
            self.report(name, engine, comparison)
        for engine, comparison in found.items():
            self.judge(name, engine, comparison)
        self.assertEqual(found["auto"].stacks.chains, found["table"].stacks.chains)
        self.assertEqual(found["auto"].stacks.ends, found["table"].stacks.ends)
        self.assert_as_much(found["table"].stacks, found["dwfl"].stacks)

    def assert_as_much(self, stacks, of_dwfl):
        """Elfutils gives the same stack; less where a register was popped or no FDE applies; or uncertain frames."""
        for chain, end, chain_of_dwfl, end_of_dwfl in zip(stacks.chains, stacks.ends,
                                                          of_dwfl.chains, of_dwfl.ends):
            if end == "bad-unwind-info" and chain != chain_of_dwfl:
                last = chain.rsplit(" ", 1)[-1]
                self.assertIn(stacks.name(last), steps.INSTALL_HANDLERS)
                self.assertTrue(chain_of_dwfl.startswith(chain), (chain, chain_of_dwfl))
            elif chain == chain_of_dwfl:
                self.assertEqual(end, end_of_dwfl, chain)
            else:
                self.assertTrue(chain.startswith(chain_of_dwfl + " "), (chain, chain_of_dwfl))
                last = chain_of_dwfl.rsplit(" ", 1)[-1]
                self.assertEqual(end_of_dwfl, "stack-truncated" if of_dwfl.has_info(last)
                                 else "no-unwind-info", chain)

    def report(self, name, engine, comparison):
        counts = " ".join(f"{outcome} {n}" for outcome, n in comparison.counts.most_common())
        print(f"{name} {engine}: {len(comparison.outcomes)} samples: {counts}", flush=True)

    def judge(self, name, engine, comparison):
        self.assertEqual(comparison.counts[steps.WRONG], 0, comparison.examples(steps.WRONG))
        self.assertEqual(comparison.counts[steps.MISNAMED], 0,
                         comparison.examples(steps.MISNAMED))
        self.assertLessEqual(comparison.share(steps.LOST), lost_max(name, engine),
                             comparison.examples(steps.LOST))
        self.assertLessEqual(comparison.counts[steps.LEAVING],
                             LEAVING_MAX * len(comparison.outcomes),
                             comparison.examples(steps.LEAVING))
        self.assertLessEqual(comparison.counts[steps.INSTALLING],
                             LEAVING_MAX * len(comparison.outcomes),
                             comparison.examples(steps.INSTALLING))

    def compare_thunks(self, program):
        """The tables read the code of thunks; elfutils' stacks are cut in them."""
        stream, truth = self.step([], [program])
        self.assertGreater(len(truth.chains), 1000)
        for engine in ENGINES:
            comparison = steps.Comparison(truth, self.stacks(stream, engine))
            self.report(program.name, engine, comparison)
            if engine != "dwfl":
                self.judge(program.name, engine, comparison)
                continue
            for true, chain, outcome in zip(truth.chains, comparison.stacks.chains, comparison.outcomes):
                if outcome in (steps.WRONG, steps.MISNAMED):
                    self.assertTrue(comparison.stacks.name(true.split(" ", 1)[0]).startswith(THUNKS), true)
                    self.assertTrue(true.startswith(f"{chain} "), (true, chain))

    def test_enough_programs_are_built(self):
        self.assertGreater(len(built()), LEAST_PROGRAMS)


def built():
    has_avx2 = "avx2" in Path("/proc/cpuinfo").read_text().split()
    return [path for path in sorted(PROGRAMS.glob("steps-*"))
            if path.is_file() and (has_avx2 or "avx2" not in path.name)]


def add_test(name, options, command):
    def test(self):
        self.compare(name, options, command)
    setattr(Steps, f"test_{name.replace('-', '_')}", test)


def add_test_of_thunks(path):
    def test(self):
        self.compare_thunks(path)
    setattr(Steps, f"test_{path.name.replace('-', '_')}", test)


for thunks in sorted(path for path in PROGRAMS.glob("thunks-*") if path.is_file()):
    add_test_of_thunks(thunks)
for program in built():
    short = program.name.removeprefix("steps-")
    add_test(short, OPTIONS.get(short, []), [program])
for system_name, (system_options, system_command) in SYSTEM.items():
    add_test(system_name, system_options, system_command)

if __name__ == "__main__":
    pipeline.main()
