"""SIGTERM at any instant: the run ends with a state of its last finished step, within the grace it has.

tests/run app/train/preempt_test                        2 random instants, 10 with STOKER_LONG=1 (ctest)
tests/run app/train/preempt_test --count N [--seed S]   N of them, and how long it took to exit
"""
import argparse
import collections
import random
import signal
import sys
import tempfile
import time
import unittest

from checkpointed_run import (PER_EPOCH, SLOW_DATA, STEPS, CheckpointTest, Experiment, reached, slowed, step_line,
                              timed)
from stoker import LOADERS, LONG, long

SIGTERM_EXIT, SIGINT_EXIT = 75, 130
LATEST = "checkpoint.resume=latest"
SLOWED = [slowed("fast", 100, 2), slowed("slow", 20, 2)]


class Campaign:
    """Chains of processes that are told to end, each chain to its completion."""

    def __init__(self, directory, seed):
        self.random = random.Random(seed)
        self.experiment = Experiment(directory)
        self.signals = self.completed = 0
        self.seconds = []
        self.outcomes = collections.Counter()
        process, *self.times = timed(self.experiment)
        self.reference = self.result(process)
        self.begin_chain()

    def begin_chain(self):
        self.experiment.forget()
        self.newest = 0

    def result(self, process):
        return process.summary["total"]["digest_chain"], self.experiment.state_digest()

    def choice(self):
        pick = self.random.choice
        return [f"checkpoint.type={pick(['direct', 'burst_buffer'])}",
                f"checkpoint.snapshot={pick(['sync', 'async', 'swap'])}", f"loader.type={pick(LOADERS)}",
                f"checkpoint.every_steps={pick([3, 100])}", LATEST, *pick([[], SLOWED])]

    def run_one(self):
        process = self.experiment.start(*self.choice())
        signalled = None
        if reached(process, self.random, *self.times, self.newest, STEPS):
            process.send(signal.SIGTERM)
            signalled = time.monotonic()
        code = process.wait()
        error = self.check(process, code, signalled)
        if error:
            raise AssertionError(f"{error}; exit status {code}\n{process.overrides}\n{process.log}")

    def check(self, process, code, signalled):
        """What is wrong; nothing else."""
        if signalled:
            self.signals += 1
            self.seconds.append(time.monotonic() - signalled)
            self.outcomes[self.place(process, code)] += 1
        rows, _ = self.experiment.verified()
        newest = max((row["step"] for row in rows), default=0)
        if not all(row["intact"] for row in rows):
            return f"damaged: {rows}"
        if code == -signal.SIGTERM and signalled and not process.directory:
            return "" if newest == self.newest else "a set appeared or went"
        over = process.directory and (process.directory / "summary.json").exists()
        # 143: the signal came when everything was done, while the process unloaded its libraries.
        if not over or code not in ((0, SIGTERM_EXIT, -signal.SIGTERM) if signalled else (0,)):
            return "unexpected end"
        summary = process.summary
        if newest != summary["steps"] or newest < self.newest:
            return f"newest set: step {newest}, last finished step: {summary['steps']}"
        if process.resumed_step != self.newest:
            return f"resumed from step {process.resumed_step}, not {self.newest}"
        self.newest = newest
        if self.experiment.garbage():
            return f"garbage: {self.experiment.garbage()}"
        if summary["status"] == "completed":
            self.completed += 1
            if self.result(process) != self.reference:
                return "another result"
            self.begin_chain()
        return ""

    def place(self, process, code):
        if code != SIGTERM_EXIT:
            return "after everything" if process.trained else "before the program could know (143)"
        if "stopped by a signal in the evaluation" in process.log:
            return "in the evaluation"
        if not process.trained:
            return "before the first step"
        return "between steps" if process.summary["status"] == "stopped" else "at the end"

    def run(self, count):
        while self.signals < count:
            self.run_one()

    def report(self):
        times = sorted(self.seconds)
        print(f"{self.signals} signals, {self.completed} runs completed; to the exit: median "
              f"{times[len(times) // 2]:.3f} s, longest {times[-1]:.3f} s")
        for place, count in self.outcomes.most_common():
            print(f"{count:6}  {place}")


class RandomInstants(unittest.TestCase):
    def test_each_leaves_the_state_of_the_last_finished_step(self):
        count = 10 if LONG else 2
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            campaign = Campaign(directory, seed=4)
            campaign.run(count)
        campaign.report()
        self.assertEqual(campaign.signals, count)


class Grace(CheckpointTest):
    def setUp(self):
        super().setUp()
        self.trial = self.experiment()

    def stopped(self, process, number=signal.SIGTERM, code=SIGTERM_EXIT):
        process.send(number)
        self.assertEqual(process.wait(), code, process.log)
        return process

    def test_one_slow_save_costs_no_later_signal_its_work(self):
        grace = 20  # what a busy machine may need for a save of a second
        process = self.started(self.trial, "checkpoint.type=direct", "checkpoint.every_steps=10", slowed("slow", 5),
                               f"checkpoint.grace_seconds={grace}")
        self.assertTrue(process.wait_for(step_line(10)), process.log)
        process.send(signal.SIGSTOP)  # in the save, or just after it
        time.sleep(grace + 1)
        process.send(signal.SIGCONT)
        self.assertTrue(process.wait_for(step_line(12)), process.log)
        self.stopped(process)
        self.assertEqual(self.trial.newest_intact(), process.summary["steps"])

    def told_what_is_left(self, process):
        process.send(signal.SIGTERM)
        self.assertTrue(process.wait_for("not every set is on its last tier"), process.log)

    def test_a_save_that_is_not_done_in_time_leaves_the_set_before_it(self):
        self.trial.train("training.max_steps=5")
        process = self.started(self.trial, "checkpoint.type=direct", slowed("slow", 0.2), LATEST,
                               "checkpoint.every_steps=100", "checkpoint.grace_seconds=0.5")
        self.assertTrue(process.wait_for(step_line(8)), process.log)
        self.told_what_is_left(process)
        self.assertEqual(process.wait(), SIGTERM_EXIT)
        self.assertRegex(process.log, rf"warning checkpoint of step {process.summary['steps']}: ")
        self.assertIn("newest set: step 5, on the last tier: step 5", process.log)
        self.assertEqual((self.trial.newest_intact(), self.trial.steps("slow")), (5, [5]))
        end = self.trial.train(LATEST)
        self.assertEqual(end.resumed_step, 5)
        self.assertEqual(self.trial.garbage(), set())

    @long
    def test_what_is_not_drained_in_time_is_drained_by_the_next_process(self):
        process = self.started(self.trial, slowed("slow", 0.2), "checkpoint.grace_seconds=0.5")
        self.assertTrue(process.wait_for(r"checkpoint of step 5: .* on tier 'fast'"), process.log)
        self.told_what_is_left(process)
        self.assertEqual(process.wait(), SIGTERM_EXIT)
        self.assertEqual(self.trial.steps("slow"), [])
        steps = process.summary["steps"]
        self.assertRegex(process.log, rf"newest set: step {steps}, on the last tier: step -1, "
                                      r"left to drain: \d")
        self.assertEqual(self.trial.newest_intact(), steps)
        self.trial.train(LATEST, f"training.max_steps={steps}")
        self.assertIn(steps, self.trial.steps("slow"))

    @long
    def test_in_the_evaluation_it_ends_before_it_and_does_it_anew(self):
        whole = self.trial.train("loader.type=sync")
        expected = self.trial.state_digest(), [e["top1"] for e in whole.summary["evaluations"]]
        self.trial.forget()
        process = self.started(self.trial, SLOW_DATA, "loader.type=sync")
        self.assertTrue(process.wait_for(step_line(PER_EPOCH)), process.log)
        self.stopped(process)
        self.assertIn("stopped by a signal in the evaluation, which will be done anew", process.log)
        self.assertEqual(self.trial.newest_intact(), PER_EPOCH)
        end = self.trial.train(LATEST)
        self.assertEqual(end.resumed_step, PER_EPOCH)
        self.assertEqual(expected, (self.trial.state_digest(),
                                    [e["top1"] for e in end.summary["evaluations"]]))

    @long
    def test_in_a_save_it_ends_after_it(self):
        process = self.started(self.trial, "checkpoint.type=direct", slowed("slow", 5))
        self.assertTrue(process.wait_for(step_line(5)), process.log)
        self.stopped(process)
        steps = process.summary["steps"]
        self.assertEqual(self.trial.newest_intact(), steps)
        self.assertIn(f"checkpoint of step {steps}: ", process.log)

    @long
    def test_in_the_restore_nothing_changes(self):
        self.trial.train("training.max_steps=5")
        process = self.started(self.trial, LATEST, slowed("fast", 100, read_mb_per_s=2))
        self.assertTrue(process.wait_for("dataset: ignored"), process.log)
        self.stopped(process)
        self.assertEqual((process.resumed_step, process.summary["steps"]), (5, 5))
        self.assertEqual((self.trial.steps("fast"), self.trial.newest_intact()), ([5], 5))

    def test_a_second_signal_ends_it_at_once(self):
        process = self.started(self.trial, slowed("slow", 0.1), "checkpoint.grace_seconds=600")
        self.assertTrue(process.wait_for(r"checkpoint of step 5: .* on tier 'fast'"), process.log)
        process.send(signal.SIGTERM)
        self.assertTrue(process.wait_for("stopped by a signal"), process.log)

        def ended():  # within a second it is the same request
            process.send(signal.SIGTERM)
            return not process.alive()
        process.until(ended)
        self.assertEqual(process.wait(), -signal.SIGTERM)
        self.assertGreaterEqual(self.trial.newest_intact(), 5)
        self.assertGreaterEqual(self.trial.train(LATEST).resumed_step, 5)

    @long
    def test_sigint_leaves_a_checkpoint_too(self):
        process = self.started(self.trial, "checkpoint.every_steps=100")
        self.assertTrue(process.wait_for(step_line(7)), process.log)
        self.stopped(process, signal.SIGINT, SIGINT_EXIT)
        self.assertGreaterEqual(process.summary["steps"], 7)
        self.assertEqual(self.trial.newest_intact(), process.summary["steps"])

    def test_a_run_without_checkpoints_ends_with_75_as_well(self):
        process = self.started(self.trial, "checkpoint={type: none}")
        self.assertTrue(process.wait_for(step_line(3)), process.log)
        self.stopped(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
        campaign = Campaign(directory, arguments.seed)
        campaign.run(arguments.count)
    campaign.report()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("--count"):
        sys.exit(main())
    unittest.main()
