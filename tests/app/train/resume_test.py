"""A run that was interrupted and resumed computes, bit for bit, what an uninterrupted one does."""
import math
import os
import random
import re
import shutil
import unittest

from checkpointed_run import (PER_EPOCH, SLOW_DATA, STEPS, CheckpointTest, TwelveSteps, on_two_tiers, slowed,
                              step_line)
from stoker import LOADERS, LONG, MINI, long

LATEST = "checkpoint.resume=latest"
LOGGED = re.compile(r" step (\d+)/\d+  loss (\S+) ")


class Resume(CheckpointTest):
    def check_losses(self, process, reference):
        """steps.csv, and the log, which alone tells of a killed process's last steps."""
        for step, loss in process.losses().items():
            self.assertEqual(loss, reference[step], f"step {step}\n{process.log}")
        logged = {int(step): loss for step, loss in LOGGED.findall(process.log)}
        for step, loss in logged.items():
            self.assertEqual(loss, f"{float(reference[step]):.4f}", f"step {step}\n{process.log}")
        return set(logged)

    def check_chain(self, experiment, processes, reference, steps=STEPS):
        """Every step was computed, each time with the same loss; the state at the end is the same."""
        expected, losses, digest = reference
        seen = set().union(*(self.check_losses(process, losses) for process in processes))
        self.assertEqual(seen, set(range(1, steps + 1)))
        end = processes[-1]
        self.assertEqual(sorted(end.losses()), list(range(end.resumed_step + 1, steps + 1)))
        self.assertEqual(experiment.state_digest(steps), digest)
        total = end.summary["total"]
        for key in ["steps", "images", "digest_chain"]:
            self.assertEqual(total[key], expected["total"][key])
        self.assertEqual(total["processes"], len(processes))

    def reference(self, experiment, *overrides, steps=STEPS):
        process = experiment.train(*overrides)
        result = process.summary, process.losses(), experiment.state_digest(steps)
        experiment.forget()
        return result


class Interruptions(Resume):
    """Each resumed by another loader, strategy and snapshot mode."""
    OF_EACH_KIND = 5 if LONG else 1
    expected = None

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.id())  # each kind takes other routes
        self.trial = self.experiment()
        if self.expected is None:
            type(self).expected = self.reference(self.trial)

    def route(self, last):
        pick = self.random.choice
        route = [f"checkpoint.type={pick(['direct', 'burst_buffer'])}",
                 f"checkpoint.snapshot={pick(['sync', 'async', 'swap'])}",
                 f"loader.type={pick(LOADERS)}", f"loader.workers={pick([1, 2, 4])}",
                 f"checkpoint.slots={pick([1, 2])}", LATEST]
        # The last set is compared as a file.
        return route if last else route + [pick(["checkpoint.shards=1", "checkpoint.shards=3",
                                                 "checkpoint.layout=tf_saver"])]

    def killed_after(self, pattern, *overrides):
        process = self.started(self.trial, *self.route(False), *overrides)
        self.assertTrue(process.wait_for(pattern), process.log)
        self.assertEqual(process.kill(), -9)
        return process

    def resumed(self, interrupt):
        for _ in range(self.OF_EACH_KIND):
            first = interrupt()
            newest = self.trial.newest_intact()
            second = self.trial.train(*self.route(True))
            self.assertEqual(second.resumed_step, newest, first.log + second.log)
            # A kill before the first save starts the count afresh.
            self.check_losses(first, self.expected[1])
            self.check_chain(self.trial, [first, second] if newest else [second], self.expected)
            self.check_evaluations(second)
            self.trial.forget()

    def check_evaluations(self, process):
        """Of whole epochs: a run that is ended early is evaluated once more."""
        def rows(summary):
            return [(e["step"], e["top1"], e["top5"]) for e in summary["evaluations"]
                    if e["step"] % PER_EPOCH == 0]
        self.assertEqual(rows(process.summary), rows(self.expected[0]))

    def test_killed_after_any_step(self):
        self.resumed(lambda: self.killed_after(step_line(self.random.randrange(1, STEPS))))

    @long
    def test_killed_in_the_evaluation(self):
        def interrupt():
            process = self.killed_after(step_line(PER_EPOCH), SLOW_DATA, "loader.type=sync")
            self.assertNotIn("top-1", process.log)
            return process
        self.resumed(interrupt)

    @long
    def test_killed_during_a_drain(self):
        def interrupt():
            step = self.random.randrange(5, STEPS, 5)
            process = self.killed_after(f"checkpoint of step {step}: .* on tier 'fast'",
                                        "checkpoint.type=burst_buffer", slowed("slow", 5))
            self.assertNotIn(step, self.trial.steps("slow"))
            return process
        self.resumed(interrupt)

    @long
    def test_ended_by_max_steps(self):
        self.resumed(lambda: self.trial.train(
            *self.route(False), f"training.max_steps={self.random.randrange(1, STEPS)}"))


@long
class OtherNetworks(Resume):
    def interrupted_after_three_of_five_steps(self, snapshot, *overrides):
        run = self.experiment()
        overrides += ("training.max_steps=5", "loader.batch_size=4", "checkpoint.every_steps=2",
                      "checkpoint.keep_last=1", "training.threads=2", "evaluation.enabled=false")
        expected = self.reference(run, *overrides, "checkpoint.type=direct", steps=5)
        first = self.started(run, *overrides, f"checkpoint.snapshot={snapshot}")
        self.assertTrue(first.wait_for(step_line(3)), first.log)
        self.assertEqual(first.kill(), -9)
        newest = run.newest_intact()
        second = run.train(*overrides, LATEST, "checkpoint.type=direct", "loader.type=sync")
        self.assertEqual(second.resumed_step, newest)
        if newest:
            self.check_chain(run, [first, second], expected, steps=5)
        self.assertEqual(run.state_digest(5), expected[2])

    def test_dropout_with_momentum(self):
        self.interrupted_after_three_of_five_steps(
            "async", "model.type=alexnet_lrn", "optimizer={type: sgd, lr: 0.01, momentum: 0.9}")

    def test_batch_normalisation_with_adam_and_a_schedule(self):
        self.interrupted_after_three_of_five_steps(
            "swap", "model.type=resnet18", "decoder.size=32",
            "schedule={type: cosine}")


class WhatIsResumed(TwelveSteps):
    def test_another_learning_rate_is_named(self):
        process = self.trial.train(LATEST, "optimizer.lr=0.002")
        self.assertIn("resuming with another configuration: optimizer.lr: 0.001 -> 0.002", process.log)

    def test_batches_of_another_size_go_on_at_the_same_sample(self):
        process = self.trial.train(LATEST, "loader.batch_size=8", "schedule={type: cosine}")
        # 192 samples of the first epoch were used, which is after 24 of its 37 batches of 8.
        self.assertEqual(process.resumed_step, 12)
        self.assertEqual(sorted(process.losses()), list(range(13, 13 + 13 + 37)))
        self.assertEqual(process.summary["total"]["images"], 192 + (13 + 37) * 8)
        epochs = [row["epoch"] for row in process.summary["evaluations"]]
        self.assertEqual(epochs, [0, 0, 1])  # the first one by the process before
        rates = process.column("learning_rate")
        for step, batch in ((13, 24), (62, 73)):
            self.assertAlmostEqual(float(rates[step]), 0.001 * (1 + math.cos(math.pi * batch / 74)) / 2, delta=1e-9)

    def test_a_sample_within_a_batch_of_another_size_is_refused(self):
        self.assertIn("checkpoint: it is from sample 192 of epoch 0, which is within a batch of 36: resume with a "
                      "loader.batch_size that divides 192, such as 16", self.refused(LATEST, "loader.batch_size=36"))

    @long
    def test_another_route_is_no_difference(self):
        process = self.trial.train(LATEST, "loader.type=sync", "loader.workers=1",
                                 "loader.pin_workers=true", "run.page_cache=warm", "checkpoint.type=direct",
                                 "metrics.every_steps=2")
        self.assertNotIn("another configuration", process.log)

    def refused(self, *overrides, code=2):
        process = self.trial.train(*overrides, code=code)
        self.assertIsNone(process.directory)  # a start that fails leaves none
        self.assertEqual(self.trial.newest_intact(), 12)
        return process.log

    def test_another_model_is_refused_by_the_name_of_a_tensor(self):
        self.assertRegex(self.refused(LATEST, "model.type=resnet18", "training.threads=2"),
                         r"error: checkpoint \S+step-0000000012: it has no tensor model\.conv1\.weight; "
                         r"it is that of another model or optimizer: resume with the configuration in "
                         r"its MANIFEST\.json")

    @long
    def test_another_image_size_is_refused_by_the_shape_of_a_tensor(self):
        self.assertIn("its tensor model.fc.weight is F32 [10, 12288], and F32 [10, 3072] is expected",
                      self.refused(LATEST, "decoder.size=32"))

    @long
    def test_another_optimizer_is_refused(self):
        self.assertRegex(self.refused(LATEST, "optimizer={type: sgd, lr: 0.01, momentum: 0.9}"),
                         r"it has no tensor optimizer\.fc\.(weight|bias)\.")

    def test_sets_in_the_way_of_a_run_that_does_not_resume_are_an_error(self):
        self.assertIn("fast/trial holds checkpoints up to step 12, and checkpoint.resume is none: go on "
                      "with checkpoint.resume=latest", self.refused())
        shutil.rmtree(next(self.trial.dir.rglob("fast/trial")))
        self.assertIn("slow/trial holds checkpoints up to step 12, ", self.refused())

    def test_no_sets_are_no_error_for_latest(self):
        process = self.trial.train(LATEST, "run.name=trial-two", "training.max_steps=1")
        self.assertEqual(process.resumed_step, 0)

    @long
    def test_an_older_set_of_ones_own_sets_the_newer_aside(self):
        process = self.trial.train(f"checkpoint.resume={self.trial.set_path('slow', 5)}")
        self.assertEqual(process.resumed_step, 5)
        self.assertRegex(process.log, r"checkpoint of step 12 .*: set aside as slow/trial/superseded-")
        self.assertTrue((self.trial.sets("fast") / "superseded-step-0000000010").exists())
        resumed = self.trial.state_digest()
        self.trial.forget()
        self.trial.train()
        self.assertEqual(self.trial.state_digest(), resumed)

    @long
    def test_a_set_of_another_run_begins_a_new_one(self):
        other = self.experiment("other")
        process = other.train(f"checkpoint.resume={self.trial.set_path('slow', 10)}")
        self.assertEqual(process.resumed_step, 10)
        digest = other.state_digest()
        other.forget()
        other.train()
        self.assertEqual(other.state_digest(), digest)

    @long
    def test_a_set_of_another_run_is_refused_where_there_are_own_ones(self):
        other = self.experiment("other")
        other.train("training.max_steps=1")
        process = other.train(f"checkpoint.resume={self.trial.set_path('slow', 10)}", code=2)
        self.assertIn("is another run's", process.log)

    def test_a_path_that_is_no_set_is_named(self):
        self.assertIn("checkpoint.resume: no/such is no checkpoint (no MANIFEST.json in it)",
                      self.refused("checkpoint.resume=no/such", code=3))


class BadSamples(Resume):
    """They are counted over all processes of a run."""
    def setUp(self):
        super().setUp()
        data = self.here / "data"
        shutil.copytree(MINI, data, ignore=shutil.ignore_patterns("README.md"))
        first = data / "airplanes" / sorted(os.listdir(data / "airplanes"))[0]
        (data / "airplanes" / "a_cut.jpg").write_bytes(first.read_bytes()[:2000])
        (data / "bonsai" / "b_empty.jpg").write_bytes(b"")
        (data / "watch" / "w_text.jpg").write_bytes(b"hello")
        self.trial = self.experiment(config=on_two_tiers(data))
        self.all = ["dataset.split={}", "loader.drop_last=false", "training.epochs=1",
                    "dataset.on_error={policy: skip, budget: 1%}", "evaluation.enabled=false"]
        self.whole = self.trial.train(*self.all)
        table = (self.whole.directory / "skipped.csv").read_text().splitlines()[1:]
        self.steps = sorted(int(row.split(",")[1]) + 1 for row in table)
        self.digest = self.trial.state_digest(self.whole.summary["steps"])
        self.trial.forget()

    def test_both_processes_count(self):
        first = self.trial.train(*self.all, f"training.max_steps={self.steps[0]}").summary
        self.assertEqual(sum(first["skipped"].values()), self.steps.count(self.steps[0]))
        end = self.trial.train(*self.all, LATEST, "loader.type=sync").summary
        self.assertEqual(end["skipped"], {"empty": 1, "not_an_image": 1, "truncated": 1})
        self.assertEqual(self.trial.state_digest(end["steps"]), self.digest)

    @long
    def test_the_budget_is_for_all_processes(self):
        self.assertLess(self.steps[0], self.steps[-1])
        self.trial.train(*self.all, f"training.max_steps={self.steps[0]}")
        self.trial.train(*self.all, LATEST, "dataset.on_error={policy: skip, budget: 2}", code=4)


if __name__ == "__main__":
    unittest.main()
