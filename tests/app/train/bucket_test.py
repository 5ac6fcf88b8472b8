"""Checkpoints on a tier without files, such as a bucket, as a user meets them."""
import json
import shutil
import signal
import tempfile
import unittest

from checkpointed_run import BucketExperiment, CheckpointTest, step_line

CONFIG, ENVIRONMENT, DAMAGED = 2, 3, 5
TO_BUCKET = "checkpoint={type: direct, slow: slow, every_steps: 5}"


class Bucket(CheckpointTest):
    """self.trial has sets of steps 5, 10 and 12 on both tiers."""
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="stoker-test-")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.template = BucketExperiment(directory)
        cls.summary = cls.template.train("training.max_steps=12").summary

    def setUp(self):
        super().setUp()
        shutil.copytree(self.template.dir, self.here / "trial", symlinks=True)
        self.trial = BucketExperiment(self.here / "trial")

    def rows(self, *arguments, code=0):
        return json.loads(self.trial.stoker("checkpoint", *arguments, "--json", code=code).stdout)

    def damage(self, step):
        path = self.trial.set_path("slow", step) / "state.safetensors"
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 1
        path.write_bytes(whole)

    def test_the_record_of_a_run_says_what_is_durable(self):
        checkpoints = self.summary["checkpoints"]
        self.assertEqual([checkpoints[name] for name in ("saved", "drained", "failed", "durable_step")], [3, 3, 0, 12])
        self.assertGreaterEqual(self.summary["tiers"]["slow"]["sync"]["duration_s"]["count"], 6)

    def test_sets_are_listed(self):
        rows = self.rows("list", self.trial.config)
        self.assertEqual([(row["tier"], row["step"], row["state"]) for row in rows],
                         [(tier, step, "committed") for tier in ("fast", "slow") for step in (5, 10, 12)])
        for row in rows[3:]:
            self.assertRegex(row["path"], rf"^slow:trial/step-{row['step']:010d}-[0-9a-f]{{16}}$")
            self.assertEqual(row["bytes"], rows[row["step"] // 5 - 1 if row["step"] < 12 else 2]["bytes"])

    def test_every_byte_is_verified_and_the_damaged_object_named(self):
        self.assertTrue(all(row["intact"] for row in self.rows("verify", self.trial.config, "--all")))
        self.damage(10)
        rows = self.rows("verify", self.trial.config, "--all", code=DAMAGED)
        damaged = [row for row in rows if not row["intact"]]
        self.assertEqual([(row["tier"], row["step"]) for row in damaged], [("slow", 10)])
        self.assertRegex(damaged[0]["damage"], r"^slow:trial/step-0000000010-\S+/state.safetensors: damaged in bytes")

    def test_a_damaged_set_is_set_aside_and_the_step_before_taken(self):
        shutil.rmtree(self.trial.dir / "fast")
        self.damage(12)
        process = self.trial.train("checkpoint.resume=latest", "training.max_steps=14")
        self.assertEqual(process.resumed_step, 10)
        self.assertIn("is damaged: set aside as slow:trial/step-0000000012-", process.log)
        self.assertIn("damaged", [row["state"] for row in self.rows("list", self.trial.config)])

    def test_a_set_that_was_copied_down_is_one_of_files(self):
        copy = self.trial.dir / "copy/step-0000000010"
        shutil.copytree(self.trial.set_path("slow", 10), copy)
        self.assertEqual([row["intact"] for row in self.rows("verify", copy)], [True])
        process = self.trial.train(f"checkpoint.resume={copy}", "checkpoint.directory=other", "training.max_steps=12")
        self.assertEqual(process.resumed_step, 10)

    def test_a_new_run_does_not_begin_on_old_sets(self):
        process = self.trial.train(TO_BUCKET, code=CONFIG)
        self.assertIn("slow:trial holds checkpoints up to step 12", process.log)

    def test_the_directory_of_another_run_is_refused(self):
        process = self.trial.train(TO_BUCKET, "checkpoint.directory=trial", "checkpoint.resume=latest", "run.name=mine",
                                   code=CONFIG)
        self.assertIn("holds checkpoints of run 'trial', and this is 'mine'", process.log)

    def test_a_second_process_is_refused(self):
        first = self.started(self.trial, TO_BUCKET, "checkpoint.resume=latest", "training.epochs=1000")
        first.wait_for(step_line(13))
        second = self.trial.train(TO_BUCKET, "checkpoint.resume=latest", code=ENVIRONMENT)
        self.assertIn(f"in use by another process (process {first.child.pid} on ", second.log)
        first.send(signal.SIGTERM)
        self.assertEqual(first.wait(), 75)
        self.assertNotIn("taken over", first.log)
        self.assertGreater(self.trial.steps("slow")[-1], 12)

    def test_the_benchmark_measures_it_and_leaves_nothing(self):
        done = self.trial.stoker("bench", "checkpoint", self.trial.config, "--rounds", 2, "--json")
        result = json.loads(done.stdout)
        for figure in ("read_s", "write_s"):
            self.assertGreater(result["tiers"]["slow"][figure]["min"], 0)
        self.assertEqual([path.name for path in (self.trial.dir / "slow").iterdir()], ["trial"])

    def test_memory_is_no_place_for_checkpoints(self):
        done = self.trial.stoker("check", self.trial.config, "storage.slow={type: memory}", code=CONFIG)
        self.assertIn("'checkpoint' must not name tier 'slow': it keeps its objects in memory", done.stderr)


if __name__ == "__main__":
    unittest.main()
