"""bench read, dataset stage, headspace, and training through a cache, as a user meets them."""
import json
import shutil
import tempfile
import unittest

from stoker import LONG, MINI, StokerTest, configuration, emulated, long

DATASET = "{type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 5}}"


class Reading(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 5}",
        loader="{type: prefetched, batch_size: 16, workers: 2, digest: true}", training="{epochs: 2}",
        evaluation="{enabled: false}")

    def digests(self, *overrides):
        _, run = self.train(*overrides)
        return (run / "digests.csv").read_text()

    def cached(self, options):
        return f"storage.data={{type: cached, inner: {{type: posix, root: {MINI}}}, {options}}}"


class BenchRead(Reading):
    def read(self, *arguments, code=0):
        return self.json("bench", "read", self.config, "--repetitions", 3, *arguments, code=code)

    def test_a_figure_for_every_number_of_threads(self):
        result = self.read("--page-cache", "as_is", "--threads", "1,2")
        self.assertEqual(result["name"], "bench read")
        self.assertEqual(result["stages"], "read")
        self.assertFalse(result["emulated"])
        self.assertEqual(result["tiers"][0]["type"], "posix")
        self.assertEqual([r["threads"] for r in result["results"]], [1, 2])
        for row in result["results"]:
            self.assertEqual(row["images"], 300)
            self.assertEqual(len(row["repetitions"]), 2)
            self.assertNotIn("cold", row)
            for figure in ("images_per_s", "mb_per_s"):
                spread = row[figure]
                self.assertLessEqual(0, spread["min"])
                self.assertLessEqual(spread["min"], spread["median"])
                self.assertLessEqual(spread["median"], spread["max"])
            mean = row["bytes"] / row["images"]
            self.assertAlmostEqual(row["mb_per_s"]["max"] * 1e6 / row["images_per_s"]["max"] / mean,
                                   1, places=6)
        self.assertEqual(result["results"][0]["ratio_to_1"], 1)

    @long
    def test_without_one_thread_there_is_no_ratio(self):
        row = self.read("--page-cache", "as_is", "--threads", "2")["results"][0]
        self.assertNotIn("ratio_to_1", row)

    @long
    def test_every_stage(self):
        for stages in ("read", "decode", "resize"):
            result = self.read("--page-cache", "as_is", "--stages", stages, "--threads", 2,
                               "--batch", 20, "--batches", 2)
            self.assertEqual(result["stages"], stages)
            self.assertEqual(result["results"][0]["images"], 40)

    def test_cold_is_verified_or_gives_no_bandwidth(self):
        data = self.dir / "data"
        shutil.copytree(MINI, data)
        done = self.stoker("bench", "read", self.config, f"storage.data.root={data}", "--repetitions", 2,
                           "--threads", 2, "--json", code=None)
        row = json.loads(done.stdout)["results"][0]
        resident = [r["resident_before"] for r in row["repetitions"]]
        self.assertEqual(row["cold"], max(resident) <= 0.03)
        self.assertEqual("images_per_s" in row, row["cold"])
        self.assertEqual(done.returncode, 0 if row["cold"] else 3, done.stderr)

    @long
    def test_memory_of_a_file_system_is_never_cold(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as data:
            shutil.copytree(MINI, data, dirs_exist_ok=True)
            result = self.read(f"storage.data.root={data}", "--threads", 1, code=3)
            self.assertFalse(result["results"][0]["cold"])
            self.assertNotIn("images_per_s", result["results"][0])
            text = self.stoker("bench", "read", self.config, f"storage.data.root={data}",
                               "--repetitions", 2, "--threads", 1, code=3)
            self.assertIn("not measured", text.stdout)

    @long
    def test_an_emulated_tier_scales_as_its_model_says(self):
        # One device, one operation after the other, 250 a second: threads are no use. A thread that was late
        # before a pass makes up to 20 ms good in it.
        tier = f"storage.data={emulated(profile='ssd', read_latency_ms=4, queue_depth=1)}"
        result = self.read(tier, "--page-cache", "as_is", "--threads", "1,4", "--batches", 1)
        self.assertTrue(result["emulated"])
        one, four = result["results"]
        self.assertLess(one["images_per_s"]["max"], 350)
        self.assertLess(four["images_per_s"]["max"], 400)
        text = self.stoker("bench", "read", self.config, tier, "--page-cache", "as_is",
                           "--repetitions", 2, "--threads", 1, "--batches", 1).stdout
        self.assertIn("EMULATED", text)

    def test_what_is_not_possible_is_said(self):
        for arguments, words in [
                (["storage={}", "dataset={type: synthetic}"], "reads no files"),
                ([self.cached("limit: 1k")], "shows no files"),
                (["--stages", "decode", "decoder={type: raw}", "--page-cache", "as_is"],
                 "decoder.type is raw"),
                (["--batches", 100], "more than the 300 training samples")]:
            done = self.stoker("bench", "read", self.config, *arguments, code=2)
            self.assertIn(words, done.stderr)
        self.stoker("bench", "read", self.config, "--threads", 0, code=2)
        self.stoker("bench", "read", self.config, "--repetitions", 1, code=2)


class Caches(Reading):
    def test_batches_are_the_same_with_and_without_any_cache(self):
        plain = self.digests()
        self.assertGreater(len(plain.splitlines()), 30)
        caches = ["limit: 500k", f"in: {{type: posix, root: {self.dir}/fast}}, fill: ahead", "limit: 1GiB", "limit: 0", "below: 10k",
                  "fill: ahead", "fill: ahead, order: smallest, limit: 1MiB",
                  f"in: {{type: posix, root: {self.dir}/fast}}, limit: 1MiB"]
        for options in caches if LONG else caches[:2]:
            self.assertEqual(self.digests(self.cached(options)), plain, options)
        caches = ["limit: 500k", "limit: 1GiB", f"in: {{type: posix, root: {self.dir}/px}}"]
        for options in caches if LONG else caches[:1]:
            self.assertEqual(
                self.digests(f"dataset={{type: decoded, inner: {DATASET}, decoder: {{type: "
                             f"turbojpeg, size: 64}}, {options}}}",
                             "decoder={type: raw, height: 64, width: 64, size: 64}"), plain, options)

    @long
    def test_packed_pixels_give_the_same_batches_and_are_never_overwritten(self):
        plain = self.digests()
        packed = self.dir / "packed"
        done = self.json("dataset", "convert", self.config, packed, "--format", "packed", "--shard-size", "1m")
        self.assertEqual(done["left_out"], 0)
        self.assertEqual(done["bytes"], done["samples"] * 64 * 64 * 3)
        self.assertEqual(done["shards"], len(list(packed.glob("*.pixels"))))
        self.assertGreater(done["shards"], 1)
        again = self.stoker("dataset", "convert", self.config, packed, "--format", "packed", code=3)
        self.assertIn("packed.json already", again.stderr)
        for access in ["auto", "copy"]:
            self.assertEqual(
                self.digests(f"storage.packed={{type: posix, root: {packed}}}",
                             f"dataset={{type: packed, storage: packed, access: {access}}}",
                             "decoder={type: raw, height: 64, width: 64, size: 64}"), plain)

    @long
    def test_hits_and_misses_are_metrics(self):
        _, run = self.train(self.cached("limit: 1GiB"), "metrics.sinks=[{type: prometheus, port: auto}]")
        text = (run / "metrics.prom").read_text()
        cache = {line.split("{")[0]: float(line.split()[-1]) for line in text.splitlines()
                 if line.startswith("stoker_tiers_cache_")}
        self.assertEqual(sorted(cache), ["stoker_tiers_cache_held_bytes", "stoker_tiers_cache_hits_total",
                                         "stoker_tiers_cache_limit_bytes", "stoker_tiers_cache_misses_total"])
        misses = cache["stoker_tiers_cache_misses_total"]
        self.assertTrue(18 * 16 <= misses <= 300, misses)  # a batch more is left out in each epoch
        self.assertGreaterEqual(cache["stoker_tiers_cache_hits_total"] + misses, 2 * 18 * 16)
        self.assertEqual(cache["stoker_tiers_cache_limit_bytes"], 1 << 30)
        for tier in ("data", "data.inner", "data.in"):
            self.assertIn(f'tier="{tier}"', text)

    def test_stage_says_what_it_would_do_does_it_and_the_next_run_finds_it(self):
        fast = self.dir / "fast"
        tier = self.cached(f"in: {{type: posix, root: {fast}}}, below: 12k, limit: 1m, "
                           "order: smallest")
        plan = self.json("dataset", "stage", self.config, tier, "--dry-run")
        self.assertFalse(fast.exists())
        sizes = sorted(p.stat().st_size for p in MINI.rglob("*") if p.is_file())
        expected = []
        for size in sizes:
            if size < 12_000 and sum(expected) + size <= 1_000_000:
                expected.append(size)
        self.assertEqual(plan["planned"], {"objects": len(expected), "bytes": sum(expected)})
        self.assertEqual(plan["objects"], len(sizes))
        self.assertAlmostEqual(plan["staged"]["share_of_bytes"], sum(expected) / sum(sizes))
        self.assertAlmostEqual(plan["staged"]["share_of_objects"], len(expected) / len(sizes))
        done = self.json("dataset", "stage", self.config, tier)
        self.assertEqual(done["copied"], plan["planned"])
        self.assertEqual(done["unreadable"], 0)
        there = [p for p in fast.rglob("*") if p.is_file()]
        self.assertEqual(len(there), len(expected))
        for path in there[:20]:
            self.assertEqual(path.read_bytes(), (MINI / path.relative_to(fast)).read_bytes())
        again = self.stoker("dataset", "stage", self.config, tier).stdout
        self.assertIn(f"{len(expected)} objects, {sum(expected)} bytes were staged before", again)
        self.assertIn("copied 0 objects", again)

    @long
    def test_stage_takes_a_cached_tier_that_outlives_it(self):
        self.assertIn("is of type posix",
                      self.stoker("dataset", "stage", self.config, code=2).stderr)
        self.assertIn("dies with this process", self.stoker(
            "dataset", "stage", self.config, self.cached("limit: 1m"), code=2).stderr)
        self.stoker("dataset", "stage", self.config, self.cached("limit: 1m"), "--dry-run")
        self.assertIn("reads no tier", self.stoker(
            "dataset", "stage", self.config, "dataset={type: synthetic}", code=2).stderr)


class Headspace(Reading):
    def test_the_ladder_of_rates(self):
        tier = f"storage.data={emulated(profile='ssd', read_latency_ms=1, queue_depth=1)}"
        result = self.json("headspace", self.config, tier, "--epochs", 1, "--steps", 10)
        levels = {level["level"]: level for level in result["levels"]}
        self.assertEqual(list(levels), ["device", "decoded", "encoded", "page_cache", "cold"])
        device = levels["device"]
        self.assertTrue(device["emulated"])
        self.assertEqual(device["ratio_to_device"], 1)
        self.assertLessEqual(device["images_per_s"]["median"], 16 / 0.005)
        self.assertGreater(device["images_per_s"]["median"], 0)
        for name in ("decoded", "encoded", "page_cache"):
            self.assertFalse(levels[name]["emulated"])
            self.assertGreater(levels[name]["images_per_s"]["median"], 0)
        self.assertTrue(levels["cold"]["emulated"])
        self.assertLess(levels["cold"]["images_per_s"]["median"], 1001)
        self.assertIn("binds_first", result)
        text = self.stoker("headspace", self.config, tier, "--epochs", 1, "--steps", 5).stdout
        self.assertIn("EMULATED", text)
        self.assertIn("binds first", text)

    @long
    def test_a_level_that_cannot_be_measured_says_why(self):
        result = self.json("headspace", self.config, "storage={}",
                           "dataset={type: synthetic, samples: 64, classes: 4, unique: 8, "
                           "image: {median_bytes: 8KiB}}",
                           "--epochs", 1, "--steps", 2)
        levels = {level["level"]: level for level in result["levels"]}
        for name in ("page_cache", "cold"):
            self.assertEqual(levels[name]["absent"], "this data set reads no files")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as data:
            shutil.copytree(MINI, data, dirs_exist_ok=True)
            result = self.json("headspace", self.config, f"storage.data.root={data}", "--epochs", 1)
            cold = result["levels"][-1]
            self.assertIn("tmpfs cannot be cold", cold["absent"])
            self.assertNotIn("images_per_s", cold)

    @long
    def test_a_real_device_is_measured_alone(self):
        result = self.json("headspace", self.config, "device={type: cpu}", "--epochs", 1,
                           "--steps", 2)
        self.assertFalse(result["levels"][0]["emulated"])
        self.assertGreater(result["levels"][0]["images_per_s"]["median"], 0)


if __name__ == "__main__":
    unittest.main()
