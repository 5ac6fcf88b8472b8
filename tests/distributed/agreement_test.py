#!/usr/bin/env python3
"""Ranks that were told different things, or found different data, do not train: all of them say what differs, and end."""
import shutil
import signal
import unittest

from stoker import LONG, MINI, Process, StokerTest, configuration, free_port, long, posix, read_summary


class AgreementTest(StokerTest):
    CONFIG = configuration(
        dataset="{type: image_folder, storage: data, split: {train_per_class: 10, test_per_class: 2}}",
        decoder="{type: jpeg, size: 32}", loader="{type: prefetched, batch_size: 20, workers: 1, digest: true}",
        optimizer="{type: adam, lr: 0.001}", training="{epochs: 20, max_steps: 4, threads: 1}",
        checkpoint="{type: direct, every_steps: 2}", metrics="{every_steps: 2, sinks: [{type: csv}]}",
        distributed="{timeout: 60s}")

    def rank(self, rank, *overrides, port, world=2, env=()):
        """A rank of the job at this port."""
        process = Process(["train", self.config, *overrides], self.dir,
                          {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **dict(env)})
        self.addCleanup(process.kill)
        return process

    def pair(self, *overrides, both=(), code=0):
        """Two ranks, of which rank 1 has these overrides: both end with that code."""
        port = free_port()
        ranks = [self.rank(0, *both, port=port), self.rank(1, *both, *overrides, port=port)]
        self.assertEqual([rank.wait() for rank in ranks], [code, code], "".join(rank.log for rank in ranks))
        return ranks

    def assert_said(self, ranks, *words):
        for rank in ranks:
            for word in words:
                self.assertIn(word, rank.log)

    def test_another_configuration_is_named_by_its_key_and_nothing_is_trained(self):
        keys = [
                ("optimizer.lr=0.5", "optimizer.lr: 0.001 on rank 0, but 0.5 on rank 1"),
                ("run.seed=2", "run.seed: 3 on rank 0, but 2 on rank 1"),
                ("loader.batch_size=40", "loader.batch_size: 20 on rank 0, but 40 on rank 1"),
                ("loader.digest=false", "loader.digest: true on rank 0, but false on rank 1"),
                ("training.max_steps=3", "training.max_steps: 4 on rank 0, but 3 on rank 1"),
                ("training.precision=bf16", "training.precision: fp32 on rank 0, but bf16 on rank 1"),
                ("decoder.augment.flip=true", "decoder.augment.flip: false on rank 0, but true on rank 1"),
                ("model.type=two_layer_cnn", "model.type: linear on rank 0, but two_layer_cnn on rank 1"),
                ("evaluation.enabled=false", "evaluation.enabled: true on rank 0, but false on rank 1"),
                ("checkpoint.every_steps=3", "checkpoint.every_steps: 2 on rank 0, but 3 on rank 1"),
                ("checkpoint.type=none", "checkpoint.type: direct on rank 0, but none on rank 1"),
                ("metrics.every_steps=1", "metrics.every_steps: 2 on rank 0, but 1 on rank 1"),
                ("device={type: emulated, step_ms: 20}", "device.type: cpu on rank 0, but emulated on rank 1")]
        for override, told in keys if LONG else keys[:2]:
            with self.subTest(override):
                self.assert_said(self.pair(override, code=2), "error: the ranks were told different things: ", told)
        self.assertFalse((self.dir / "runs").exists(), "a run directory of a run that did not begin")

    def test_other_data_are_named(self):
        shutil.copytree(MINI, self.dir / "data")
        own = f"storage.data={posix(self.dir / 'data')}"
        self.pair(own)  # where the data lie may differ
        said = "error: the ranks see different data or devices: "
        lost = min((self.dir / "data/airplanes").iterdir())
        lost.rename(self.dir / "lost.jpg")
        all_train = ["dataset={type: image_folder, storage: data}", "evaluation.enabled=false"]
        self.assert_said(self.pair(own, both=all_train, code=3), said, "training samples: 500 (digest ", "but 499 (digest ",
                         "training samples of class 'airplanes': 50 on rank 0, but 49 on rank 1")
        (self.dir / "lost.jpg").rename(lost.with_stem("renamed"))
        if LONG:
            self.assert_said(self.pair(own, both=all_train, code=3), said, "training samples: 500 (digest ", "but 500 (digest ")
        shutil.rmtree(self.dir / "data/ketch")
        self.assert_said(self.pair(own, code=3), said, "classes: 10 (digest ", "but 9 (digest ",
                         "training samples of class 'ketch': 10 on rank 0, but absent on rank 1")

    @long
    def test_what_a_machine_has_for_itself_may_differ(self):
        self.pair("loader.workers=2", "loader.prefetch_batches=3", "training.threads=2", "run.hang_seconds=50",
                  "metrics.sinks=[{type: csv}, {type: timeline}]", f"storage.data={posix(MINI)}")
        summary = read_summary(self.latest)
        self.assertEqual((summary["status"], summary["all_ranks"]["images"]), ("completed", 80))

    def test_a_rank_of_another_job_is_refused_and_the_job_goes_on(self):
        port = free_port()
        ours = {"TORCHELASTIC_RUN_ID": "ours"}
        first = self.rank(0, port=port, env=ours)
        visitors = [(self.rank(1, port=port, env={"TORCHELASTIC_RUN_ID": "theirs"}), "it is of job 'theirs', and rank 0 of job 'ours'"),
                    (self.rank(2, port=port, world=3, env=ours), "it is rank 2 of 3, and rank 0 is one of 2")]
        for visitor, told in visitors:
            self.assertEqual(visitor.wait(), 3, visitor.log)
            self.assertIn("is none of the ranks that meet in the store at", visitor.log)
            self.assertIn(told, visitor.log)
        second = self.rank(1, port=port, env=ours)
        self.assertEqual([first.wait(), second.wait()], [0, 0], first.log + second.log)

    @long
    def test_a_rank_is_one_process(self):
        port = free_port()
        first, one = (self.rank(rank, port=port, world=3) for rank in (0, 1))
        other = self.rank(1, port=port, world=3)
        one.until(lambda: not (one.alive() and other.alive()))
        loser, winner = (one, other) if not one.alive() else (other, one)
        self.assertEqual(loser.wait(), 6, loser.log)
        self.assertIn("another process is rank 1 there", loser.log)
        last = self.rank(2, port=port, world=3)
        self.assertEqual([rank.wait() for rank in (first, winner, last)], [0, 0, 0], first.log + winner.log + last.log)

    @long
    def test_who_comes_to_a_job_under_way_is_told_so(self):
        port = free_port()
        job = [self.rank(rank, "training.max_steps=1000000", "training.epochs=1000000", port=port) for rank in (0, 1)]
        job[0].until(lambda: len((self.latest / "steps.csv").read_text().splitlines()) > 2)
        late = self.rank(1, "distributed.timeout=200s", port=port)
        self.assertEqual(late.wait(), 3, late.log)
        self.assertIn("the job there is under way with all its ranks", late.log)
        job[1].send(signal.SIGTERM)
        self.assertEqual([rank.wait() for rank in job], [75, 75])

    @long
    def test_two_jobs_at_one_port_do_not_train_together(self):
        port = free_port()
        ranks = [self.rank(rank, f"run.seed={seed}", f"run.dir=job-{seed}", "distributed.timeout=5s", port=port)
                 for rank in (0, 1) for seed in (1, 2)]
        codes = [rank.wait() for rank in ranks]
        logs = "".join(rank.log for rank in ranks)
        # One rank 0 serves the store. Which rank 1 comes to it first is chance: its own one, and that job is trained, or the other.
        self.assertEqual(codes.count(0), sum("completed" in rank.output for rank in ranks) * 2, logs)
        for seed in (1, 2):
            for summary in (self.dir / f"job-{seed}").glob("*/rank-1/summary.json"):
                self.assertIn(f"seed: {seed}\n", (summary.parent / "config.yaml").read_text())
                self.assertIn(f"seed: {seed}\n", (summary.parents[1] / "config.yaml").read_text())
        if codes.count(0) < 4:  # they did not run one after the other
            self.assertIn("MASTER_PORT of its own", logs)

    @long
    def test_a_process_without_a_launcher_says_that_it_is_alone(self):
        said = self.stoker("train", self.config, "training.max_steps=1", "checkpoint.type=none").stderr
        self.assertIn("no launcher that is known has started this process, so it trains alone", said)
        said = self.stoker("launch", "-n", 1, self.config, "training.max_steps=1", "checkpoint.type=none").stderr
        self.assertNotIn("no launcher", said)

    def test_launch_ends_with_what_all_ranks_did(self):
        said = self.stoker("launch", "-n", 2, self.config).stdout
        self.assertRegex(said, r"completed: 4 of 4 steps, 40 images in .*\n  all 2 ranks: 80 images \(\d+ images/s\)\n")


if __name__ == "__main__":
    unittest.main()
