"""checkpoint.snapshot: swap computes and saves, bit for bit, what the other modes do, and says where it cannot."""
import unittest

from checkpointed_run import CheckpointTest, slowed

STEPS = 5
EVERY_STEP = ["checkpoint.type=direct", "checkpoint.every_steps=1", "checkpoint.keep_last=99", "evaluation.enabled=false",
              f"training.max_steps={STEPS}"]


class Swap(CheckpointTest):
    def states(self, experiment, *overrides):
        """Losses and sets of a run, by step, and how many saves were left out."""
        process = experiment.train(*EVERY_STEP, *overrides)
        sets = {step: experiment.state_digest(step) for step in experiment.steps("slow")}
        result = process.losses(), sets, process.summary["checkpoints"]["skipped"]
        experiment.forget()
        return result

    def test_every_set_is_the_same_for_each_optimizer(self):
        run = self.experiment()
        for optimizer, model in [("{type: sgd, lr: 0.01, momentum: 0.9}", "linear"),
                                 ("{type: larc, inner: {type: adamw}}", "linear"),
                                 ("{type: sgd, lr: 0.01}", "two_layer_cnn")]:
            with self.subTest(optimizer):
                options = [f"optimizer={optimizer}", f"model.type={model}"]
                copied = self.states(run, *options, "checkpoint.snapshot=async")
                # A slow tier, and one buffer beside that of the state: each save waits for the one before.
                swapped = self.states(run, *options, "checkpoint.snapshot=swap", "checkpoint.slots=1",
                                      slowed("slow", 20, 2))
                self.assertEqual(len(copied[0]), STEPS)
                self.assertEqual(len(copied[1]), STEPS)
                self.assertEqual(swapped, copied)

    def test_a_save_that_is_left_out_changes_nothing(self):
        run = self.experiment()
        _, expected, _ = self.states(run)
        _, sets, skipped = self.states(run, "checkpoint.snapshot=swap", "checkpoint.slots=1", "checkpoint.on_backlog=skip",
                                       slowed("slow", 5, 20))
        self.assertGreater(skipped, 0)
        self.assertLess(len(sets), STEPS)
        self.assertIn(STEPS, sets)  # the last one waits
        self.assertEqual(sets, {step: expected[step] for step in sets})

    def test_an_emulated_device_saves_what_it_has(self):
        run = self.experiment()
        device = "device={type: emulated, step_ms: 1}"
        _, expected, _ = self.states(run, device)
        _, sets, _ = self.states(run, device, "checkpoint.snapshot=swap")
        self.assertEqual(len(sets), STEPS)
        self.assertEqual(sets, expected)

    def test_what_it_cannot_is_refused_with_the_way_out(self):
        run = self.experiment()
        process = run.train("checkpoint.snapshot=swap", "training.channels_last=true", code=2)
        self.assertRegex(process.log, r"checkpoint: 'snapshot' must not be swap where training\.channels_last is on, .*: set "
                                      r"checkpoint\.snapshot=async, or leave channels_last out")


if __name__ == "__main__":
    unittest.main()
