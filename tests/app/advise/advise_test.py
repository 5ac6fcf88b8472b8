"""stoker advise: plans, what obeys them, and what is predicted beside what is achieved."""
import json
import os
import unittest

from stoker import MINI, StokerTest, configuration, emulated

STEPS = 18  # of an epoch


def size(path):
    return os.stat(path).st_size


class Advise(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 1}",
        tiers={"fast": emulated("FAST", profile="optane")},
        loader="{type: prefetched, batch_size: 16, workers: 2, digest: true}",
        training="{epochs: 2}", evaluation="{enabled: false}",
        metrics=f"{{every_steps: {STEPS}, sinks: [{{type: csv}}]}}")

    def setUp(self):
        super().setUp()
        self.fast = self.dir / "fast"
        self.config.write_text(self.config.read_text().replace("FAST", str(self.fast)))
        self.slow = f"storage.data={emulated(profile='hdd', seek_ms=2, metadata_latency_ms=0)}"
        self.plan = self.dir / "plan.json"

    def advise(self, *arguments, where=None, code=0):
        return self.json("advise", where or self.config, "--fast", "fast", *arguments, code=code)

    def planned(self):
        plan = json.loads(self.plan.read_text())
        self.assertEqual(plan["schema_version"], 1)
        self.assertEqual(plan["bytes"], sum(bytes for _, bytes in plan["objects"]))
        return plan

    def sample_sizes(self):
        """Of all files of the data set, by their keys."""
        return {str(path.relative_to(MINI)): size(path) for path in MINI.rglob("*") if path.is_file()}

    def test_the_rule_takes_all_files_below_a_size(self):
        advice = self.advise(self.slow, "--max-file", 10_000)
        small = {key for key, bytes in self.sample_sizes().items() if bytes < 10_000}
        self.assertEqual({key for key, _ in self.planned()["objects"]}, small)
        ways = {way["way"]: way for way in advice["ways"]}
        self.assertEqual(advice["planned"], "below 10000")
        self.assertEqual(ways["below 10000"]["objects"], len(small))
        self.assertLess(ways["most saved"]["run_s"], ways["nothing"]["run_s"])
        self.assertLessEqual(ways["most saved"]["run_s"], ways["below 10000"]["run_s"])
        for way in advice["ways"]:
            self.assertLess(way["run_low_s"], way["run_s"])
            self.assertLess(way["run_s"], way["run_high_s"])

    def test_what_no_epoch_reads_is_not_staged(self):
        without = "dataset.exclude=[ketch]"
        self.advise(self.slow, without, "--capacity", "10MiB")
        keys = {key for key, _ in self.planned()["objects"]}
        self.assertFalse([key for key in keys if key.startswith("ketch/")])
        self.assertTrue(9 * 28 < len(keys) <= 9 * 30, len(keys))  # of training; a few are dropped in each epoch
        self.advise(self.slow, without, "--capacity", "10MiB", "evaluation.enabled=true", "device={type: cpu}")
        self.assertEqual(len(self.planned()["objects"]), len(keys) + 9 * 5)

    def test_the_plan_is_in_the_order_of_the_first_epoch(self):
        self.advise(self.slow, "--capacity", "10MiB", "loader.shuffle=false")
        keys = [key for key, _ in self.planned()["objects"]]
        self.assertEqual(keys, sorted(keys))
        self.advise(self.slow, "--capacity", "10MiB")
        self.assertNotEqual([key for key, _ in self.planned()["objects"]], keys)

    def staged(self, fill="read"):
        return (f"storage.data={{type: cached, inner: {{type: posix, root: {MINI}}}, order: plan, fill: {fill}, "
                f"plan: {self.plan}, in: {{type: posix, root: {self.fast}}}}}")

    def test_a_training_reads_from_the_fast_tier_just_what_the_plan_says(self):
        self.advise(self.slow, "--max-file", 10_000)
        plan = self.planned()
        done = self.json("dataset", "stage", self.config, self.staged())
        self.assertEqual(done["copied"], {"objects": len(plan["objects"]), "bytes": plan["bytes"]})
        self.assertEqual({str(p.relative_to(self.fast)) for p in self.fast.rglob("*") if p.is_file()},
                         {key for key, _ in plan["objects"]})
        _, plain = self.train()
        summary, run = self.train(self.staged())
        self.assertEqual((run / "digests.csv").read_text(), (plain / "digests.csv").read_text())
        sizes = self.sample_sizes()
        read = summary["tiers"]["data.in"]["read"]
        most = max(bytes for key, bytes in sizes.items() if bytes < 10_000)
        self.assertGreater(read["bytes"], 0)
        self.assertLessEqual(read["bytes"] / read["duration_s"]["count"], most)
        self.assertEqual(summary["tiers"]["data"]["cache"]["hits"], read["duration_s"]["count"])
        self.assertEqual(summary["tiers"]["data"]["cache"]["held_bytes"], plan["bytes"])

    def test_a_run_that_is_resumed_goes_on_by_the_plan(self):
        self.advise(self.slow, "--max-file", 10_000)
        checkpoints = [f"storage.sets={{type: posix, root: {self.dir}/sets}}",
                       "checkpoint={type: direct, slow: sets, every_steps: 10}", "model={type: linear}"]
        _, whole = self.train(*checkpoints[:1], self.staged("both"))
        self.train(*checkpoints, self.staged("both"), "training.max_steps=20")
        summary, run = self.train(*checkpoints, self.staged("both"), "checkpoint.resume=latest")
        self.assertEqual(summary["steps"], 2 * STEPS)
        rows = [path.read_text().splitlines() for path in (whole / "digests.csv", run / "digests.csv")]
        self.assertEqual(rows[0][-10:], rows[1][-10:])
        self.assertGreater(summary["tiers"]["data"]["cache"]["hits"], 0)

    def test_a_stale_or_damaged_plan_is_an_error_that_says_what_to_do(self):
        self.advise(self.slow, "--max-file", 10_000)
        plan = self.planned()
        key = plan["objects"][0][0]
        plan["objects"][0][1] += 1
        plan["bytes"] += 1
        self.plan.write_text(json.dumps(plan))
        for command in ["train"], ["dataset", "stage"]:
            error = self.stoker(*command, self.config, self.staged(), code=2).stderr
            self.assertIn(f"{self.plan}: '{key}' has", error)
            self.assertIn("`stoker advise` makes a new one", error)
        self.plan.write_text(self.plan.read_text()[:-20])
        self.assertIn(str(self.plan), self.stoker("train", self.config, self.staged(), code=2).stderr)
        self.plan.unlink()
        self.assertIn("no such plan", self.stoker("train", self.config, self.staged(), code=3).stderr)

    def test_auto_trains_by_the_plan_and_shows_what_came_of_it(self):
        result = self.advise(self.slow, "--capacity", "10MiB", "training.epochs=3", "--auto")
        achieved = result["achieved"]
        self.assertEqual(len(achieved["epochs_s"]), 3)
        self.assertAlmostEqual(achieved["error"],
                               achieved["settled_epoch_s"] / achieved["predicted_epoch_s"] - 1)
        copied = {str(p.relative_to(self.fast)) for p in self.fast.rglob("*.jpg")}
        self.assertTrue(copied)
        self.assertLessEqual(copied, {key for key, _ in self.planned()["objects"]})
        again = self.json("advise", self.latest)
        self.assertEqual(again["achieved"]["epochs_s"], achieved["epochs_s"])
        text = self.stoker("advise", self.latest).stdout
        self.assertIn("the first epoch took", text)

    def test_advice_on_a_run_says_how_well_the_model_fits_it(self):
        _, run = self.train(self.slow)
        advice = self.advise("--capacity", "1MiB", where=run)
        self.assertGreater(advice["run"]["seconds"], 0)
        self.assertGreater(advice["decode_s"], 0)
        self.assertGreater(advice["run"]["modelled_s"], 0)
        self.assertIn("the run itself took", self.stoker("advise", run, "--fast", "fast", "--capacity",
                                                         "1MiB").stdout)

    def test_real_tiers_need_what_their_reads_cost(self):
        error = self.stoker("advise", self.config, "--fast", "fast", "--capacity", "1MiB", code=2).stderr
        self.assertIn("then --slow-fit FILE", error)
        fit = self.dir / "fit.json"
        fit.write_text(self.stoker("bench", "storage", self.config, "fast", "--fit", "--rounds", 1, "--threads", "1,2",
                                   "--block-size", "64KiB", "--transfer-size", "16KiB", "--json").stdout)
        advice = self.advise("--capacity", "1MiB", "--slow-fit", fit)
        self.assertIn("fitted", advice["slow"])

    def test_what_cannot_be_advised_on_says_why(self):
        for arguments, words in [
                ([], "--capacity 10GiB, or --max-file"),
                (["storage={}", "dataset={type: synthetic}", "--capacity", "1m"], "reads no tier"),
                (["--capacity", "1m", "--max-file", "1m"], "excludes")]:
            self.assertIn(words, self.stoker("advise", self.config, "--fast", "fast", self.slow, *arguments, code=2).stderr)
        self.assertIn("--fast TIER", self.stoker("advise", self.config, "--capacity", "1m", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
