"""stoker tune: what it chooses for runs that are slow for a known reason, what it writes, and how it ends. No time is asserted."""
import signal
import unittest

from stoker import MINI, StokerTest, configuration, emulated, flow, long, posix, slow_decoder


class Tune(StokerTest):
    # 80 images of 30 samples a class; a batch of 8.
    CONFIG = configuration(
        device=flow(type="emulated", step_ms=40), decoder="{type: turbojpeg, size: 32}",
        loader="{type: sync, batch_size: 8}", training="{epochs: 50}", evaluation="{enabled: false}")

    def tune(self, *arguments, seconds=9):
        answer = self.json("tune", self.config, "--seconds", seconds, *arguments)
        # No device takes more than it can.
        for trial in answer["tried"]:
            self.assertLessEqual(trial.get("images_per_s", 0), 1.02 * answer.get("device_images_per_s", 1e9), trial)
        return answer

    def test_slow_reads_want_workers_and_batches_ahead(self):
        tier = f"storage.data={emulated(read_latency_ms=25, queue_depth=64)}"
        # Copies in memory would be another right answer.
        answer = self.tune(tier, "training.epochs=1", "--write", "tuned.yaml")
        self.assertTrue(answer["overrides"], answer)
        self.assertEqual(answer["changes"], "")
        self.assertIn(answer["binds"], ("device", "storage"))
        if "as_configured" in answer:
            self.assertGreater(answer["images_per_s"]["value"], answer["as_configured"]["value"])
        self.assertLessEqual(answer["images_per_s"]["low"], answer["images_per_s"]["high"])
        # What it says is what it wrote, which is an experiment.
        told = self.json("check", self.config, tier, "training.epochs=1", *answer["overrides"])
        self.assertEqual(self.json("check", "tuned.yaml"), told)
        self.assertNotEqual(told["loader"]["type"], "sync")
        # Nothing is left of its runs.
        self.assertFalse((self.dir / "runs").exists())

    @long
    def test_slow_decoding_binds(self):
        # No number of workers that it may have feeds a device of 1 ms.
        done = self.stoker("tune", self.config, "--seconds", 20, *slow_decoder(60, 32), "device.step_ms=1", "training.epochs=1",
                           "--write", "-")
        self.assertIn("what binds: decoding", done.stderr)
        self.assertIn("short runs", done.stderr)
        (self.dir / "chosen.yaml").write_text(done.stdout)
        self.assertEqual(self.json("check", "chosen.yaml")["decoder"]["type"], "slow")

    @long
    def test_other_tiers_with_the_same_data_are_tried(self):
        slow = emulated(read_latency_ms=60, queue_depth=1)
        answer = self.tune(f"storage={flow(data=slow, other=posix(MINI))}", "training.epochs=1", "--same-results", seconds=60)
        self.assertEqual(answer["data"], "tier other", answer)
        self.assertIn("dataset.storage=other", answer["overrides"])
        self.assertIn(answer["binds"], ("device", "decoding", "trainer"))

    def test_what_cannot_be_is_said(self):
        self.assertIn("no.yaml", self.stoker("tune", "no.yaml", code=3).stderr)
        self.assertIn("--or needs", self.stoker("tune", self.config, "--or", " ", code=2).stderr)

    def test_a_signal_ends_it_and_leaves_nothing(self):
        process = self.start("tune", self.config, "--seconds", 60)
        process.wait_for("measuring the stages")
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertFalse((self.dir / "runs").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
