# SPDX-License-Identifier: GPL-3.0-or-later
"""Many short processes: each stack is attributed to the right process."""
import churned
import pipeline

PROGRAM = pipeline.CHAIN.with_name("churn")
N_PROCESSES, SECONDS = "600", "3"
N_COPIES = 4


class Judged(pipeline.PipelineTest):
    """Tests the judge itself: the errors that it must find do not occur on demand."""

    def judge(self, *lines):
        return churned.Judgement("".join(f"{line} 1\n" for line in lines))

    def test_a_true_stack(self):
        judgement = self.judge("spin_17;_start;main;spin;call_17;spin_17;now")
        self.assertEqual((judgement.n_complete, judgement.wrong), (1, []))

    def test_the_function_of_another_process(self):
        judgement = self.judge("spin_17;_start;main;spin;call_20;spin_20",
                               "spin_17;[stack-truncated];spin_20")
        self.assertEqual(judgement.n_misattributed, 2)

    def test_a_frame_that_is_missing_from_a_complete_stack(self):
        judgement = self.judge("spin_17;_start;main;spin;spin_17",
                               "spin_17;main;spin;call_17;spin_17", "spin_17;_start;call_17;spin_17")
        self.assertEqual(judgement.n_false, 3)

    def test_a_name_that_came_too_late(self):
        self.assertEqual(self.judge("churn-3;_start;main;spin;call_17;spin_17").n_early, 1)


class Churn(pipeline.RecordingTest):
    def churn(self, variant, n_copies):
        copies = [churned.copy_of(PROGRAM, k, self.directory / f"churn-{k}") for k in range(n_copies)]
        command = [PROGRAM, variant, N_PROCESSES, SECONDS, *copies]
        out = self.directory / "out.folded"
        self.run_well(self.source("-F", "999", "-s", "4096", "--", *command),
                      self.stage("live-unwinder"), self.stage("symbolizer"),
                      self.stage("capture-sink", out))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        return churned.Judgement(out.read_text())

    def assert_each_has_its_own(self, judgement):
        """Complete, except for the last samples of a process: they are in its exit, without a user side."""
        self.assertEqual(judgement.wrong, [])
        self.assertEqual(judgement.n_early, 0)
        self.assertGreater(judgement.n, int(N_PROCESSES))
        self.assertEqual(len(judgement.by_function), churned.N_FUNCTIONS)
        n_in_exit = judgement.incomplete["no-user-regs", "exit"]  # exit takes an arbitrary time
        self.assertGreaterEqual(judgement.n_complete, 0.99 * (judgement.n - n_in_exit), judgement.incomplete)
        self.assertGreater(judgement.n_complete, n_in_exit)

    def test_forked_processes(self):
        self.assert_each_has_its_own(self.churn("fork", 0))

    def test_exec_at_the_same_addresses(self):
        self.assert_each_has_its_own(self.churn("exec", N_COPIES))

    @pipeline.needs_root
    def test_reused_pids(self):
        self.assert_each_has_its_own(self.churn("reuse", N_COPIES))


if __name__ == "__main__":
    pipeline.main()
