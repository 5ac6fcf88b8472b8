"""stoker advise: plans, what obeys them, and what is predicted beside what is achieved."""
import json
import os
import unittest

from darshan_logs import POSIX, counters_record, darshan_log
from stoker import MINI, StokerTest, configuration, emulated, long

STEPS = 18  # of an epoch
OPENS, READS, BYTES_READ = 0, 3, 14  # of PosixCounters in io/profiler/profile.h


def sessions(every, steps):
    # The tests may lie where the defaults look away.
    return f"metrics.io_profile={{every_steps: {every}, steps: {steps}, exclude: [], include: []}}"


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

    @long
    def test_what_no_epoch_reads_is_not_staged(self):
        without = "dataset.exclude=[ketch]"
        self.advise(self.slow, without, "--capacity", "10MiB")
        keys = {key for key, _ in self.planned()["objects"]}
        self.assertFalse([key for key in keys if key.startswith("ketch/")])
        self.assertTrue(9 * 28 < len(keys) <= 9 * 30, len(keys))  # of training; a few are dropped in each epoch
        self.advise(self.slow, without, "--capacity", "10MiB", "evaluation.enabled=true", "device={type: cpu}")
        self.assertEqual(len(self.planned()["objects"]), len(keys) + 9 * 5)

    @long
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
        # When the loop ends, either of the two workers may be between the read of a copy and its count as a hit.
        self.assertIn(read["duration_s"]["count"] - summary["tiers"]["data"]["cache"]["hits"], range(3))
        self.assertEqual(summary["tiers"]["data"]["cache"]["held_bytes"], plan["bytes"])

    @long
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

    @long
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

    @long
    def test_advice_on_a_run_says_how_well_the_model_fits_it(self):
        _, run = self.train(self.slow)
        advice = self.advise("--capacity", "1MiB", where=run)
        self.assertGreater(advice["run"]["seconds"], 0)
        self.assertGreater(advice["decode_s"], 0)
        self.assertGreater(advice["run"]["modelled_s"], 0)
        self.assertIn("the run itself took", self.stoker("advise", run, "--fast", "fast", "--capacity",
                                                         "1MiB").stdout)

    def keys(self):
        return {key for key, _ in self.planned()["objects"]}

    @long
    def test_a_runs_own_profile_says_what_was_read(self):
        _, run = self.train(self.slow, sessions(STEPS, STEPS))
        advice = self.advise("--capacity", "10MiB", where=run)
        self.assertEqual(advice["reads"], f"seen by 2 logs of the I/O profiler in {run}, in {2 * STEPS} steps of {2 * STEPS}")
        seen = self.keys()
        self.assertEqual(self.advise("--capacity", "10MiB", "--profile", "none", where=run)["reads"], "by the configuration")
        self.assertIn("reads: seen by", self.stoker("advise", run, "--fast", "fast", "--capacity", "10MiB").stdout)
        self.assertEqual(self.advise(self.slow, "--capacity", "10MiB")["reads"], "by the configuration")
        self.assertEqual(self.keys(), seen)

    @long
    def test_a_profile_of_one_epoch_stands_for_all(self):
        _, run = self.train(self.slow, sessions(1000, STEPS))
        ten = "training.epochs=10"
        seen = self.advise(ten, "--capacity", "10MiB", where=run)
        self.assertIn(f"seen by 1 log of the I/O profiler in {run}, in {STEPS} steps of {10 * STEPS}", seen["reads"])
        expected = self.advise(self.slow, ten, "--capacity", "10MiB", "--profile", run / "io_profile-0.darshan")
        self.assertAlmostEqual(expected["epochs"], 10)
        # As many reads as the configuration says, of other samples.
        configured = self.advise(self.slow, ten, "--capacity", "10MiB")
        for with_profile, without in zip(expected["ways"], configured["ways"]):
            self.assertAlmostEqual(with_profile["run_s"] / without["run_s"], 1, delta=0.05)

    @long
    def test_what_the_profile_of_another_run_did_not_see_is_not_staged(self):
        _, run = self.train(self.slow, "dataset.exclude=[ketch]", sessions(STEPS, STEPS))
        self.advise(self.slow, "--capacity", "10MiB", "--profile", run)
        self.assertTrue(self.keys())
        self.assertFalse([key for key in self.keys() if key.startswith("ketch/")])

    def test_any_log_of_darshan_says_what_was_read(self):
        read = sorted(self.sample_sizes())[:3]
        values = [0] * 69
        values[OPENS], values[READS], values[BYTES_READ] = 10, 20, 10_000
        log = self.dir / "other.darshan"
        log.write_bytes(darshan_log({POSIX: (4, [counters_record("<", at, 0, values, [0.0] * 17) for at in (1, 2, 3)])},
                                    {at + 1: str(MINI / key) for at, key in enumerate(read)}))
        advice = self.advise(self.slow, "--capacity", "10MiB", "--profile", log)
        self.assertIn("which counts as a whole run", advice["reads"])
        self.assertEqual(self.keys(), set(read))

    @long
    def test_a_profile_that_did_not_see_all_is_left_and_says_why(self):
        _, run = self.train(self.slow, sessions(6, 2))
        advice = self.advise("--capacity", "10MiB", where=run)
        why = f"it saw 2 steps on end, and an epoch has {STEPS}"
        self.assertTrue(advice["reads"].startswith("by the configuration, for: "), advice["reads"])
        self.assertIn(why, advice["reads"])
        asked = ["advise", self.config, "--fast", "fast", self.slow, "--capacity", "10MiB", "--profile"]
        self.assertIn(why, self.stoker(*asked, run, code=2).stderr)
        _, mapped = self.train(self.slow.replace("type: posix", "type: posix, read: mmap"), sessions(STEPS, STEPS))
        self.assertIn("it saw no read below", self.stoker(*asked, mapped, code=2).stderr)
        self.assertIn("has no io_profile*.darshan", self.stoker(*asked, self.dir, code=2).stderr)
        self.assertIn("there is no such file", self.stoker(*asked, self.dir / "none.darshan", code=3).stderr)
        _, staged = self.train(self.staged(), sessions(STEPS, STEPS))
        self.assertIn("the run read copies", self.stoker(*asked, staged, code=2).stderr)

    @long
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
