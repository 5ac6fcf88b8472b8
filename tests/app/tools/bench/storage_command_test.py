"""`stoker bench storage` as a user meets it."""
import json
import os
import signal
import tempfile
import unittest

from stoker import MINI, StokerTest

TIERS = """
storage:
  disk:   {type: posix, root: root}
  direct: {type: direct, root: root}
  ring:   {type: uring, root: root}
  memory: {type: memory}
  slow:   {type: emulated, read_mb_per_s: 50, write_mb_per_s: 50, inner: {type: memory}}
  copied: {type: cached, in: {type: memory}, inner: {type: emulated, read_mb_per_s: 50, write_mb_per_s: 50, inner: {type: memory}}}
dataset: {type: synthetic}
"""


class BenchStorage(StokerTest):
    CONFIG = TIERS

    def setUp(self):
        super().setUp()
        self.root = self.dir / "root"
        self.root.mkdir()

    def bench(self, *arguments, code=0):
        done = self.stoker("bench", "storage", self.config, *arguments, code=code)
        self.assertEqual(list(self.root.iterdir()), [])
        return done

    def test_every_tier_reports_reads_and_writes(self):
        for tier in ["disk", "direct", "ring", "memory", "slow"]:
            done = self.bench(tier, "--op", "both", "--threads", "1,3", "--block-size", "64KiB", "--transfer-size",
                              "4KiB", "--rounds", 2, "--json")
            report = json.loads(done.stdout)
            self.assertEqual(report["tier"], tier)
            self.assertEqual(report["emulated"], tier == "slow")
            self.assertEqual(report["through"], "objects" if tier in ("memory", "slow") else "files")
            self.assertEqual(report["direct"], tier == "direct")
            self.assertEqual([(r["op"], r["threads"]) for r in report["results"]],
                             [("read", 1), ("read", 3), ("write", 1), ("write", 3)])
            for result in report["results"]:
                self.assertEqual([r["bytes"] for r in result["rounds"]], [result["threads"] * 65536] * 2)
                self.assertLessEqual(result["mb_per_s"]["min"], result["mb_per_s"]["max"])
                self.assertLessEqual(result["p50_ms"]["median"], result["p99_ms"]["median"])
                self.assertAlmostEqual(result["iops"]["median"] * 4096e-6, result["mb_per_s"]["median"],
                                       delta=1e-3 * result["mb_per_s"]["median"])

    def test_an_emulated_tier_is_none_the_less_one_inside_another(self):
        few = ["--threads", 1, "--block-size", "8KiB", "--transfer-size", "4KiB", "--rounds", 1]
        report = json.loads(self.bench("copied", *few, "--json").stdout)
        self.assertTrue(report["emulated"])
        self.assertIn(("copied.inner", True), [(tier["name"], tier["emulated"]) for tier in report["tiers"]])
        self.assertIn("EMULATED", self.bench("copied", *few).stdout)

    def test_objects_are_read_the_way_of_the_tier(self):
        for tier, direct in (("ring", False), ("direct", True)):
            report = json.loads(self.bench(tier, "--objects", "--threads", 2, "--block-size", "40000",
                                           "--transfer-size", "400", "--pattern", "random", "--json").stdout)
            self.assertEqual((report["through"], report["direct"]), ("objects", direct))
            self.assertEqual([r["transfers"] for r in report["results"][0]["rounds"]], [200] * 3)

    def test_a_round_that_was_not_cold_gives_no_bandwidth(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            done = self.bench("disk", f"storage.disk.root={memory}", "--cold", "--threads", 1, "--block-size", "64KiB",
                              "--transfer-size", "4KiB", "--json")
            result = json.loads(done.stdout)["results"][0]
            self.assertNotIn("mb_per_s", result)
            self.assertEqual([(r["counts"], r["cached_before"]) for r in result["rounds"]], [(False, 1.0)] * 3)
            text = self.bench("disk", f"storage.disk.root={memory}", "--cold", "--threads", 1, "--block-size", "64KiB",
                              "--transfer-size", "4KiB").stdout
            self.assertIn("round 3 did not begin cold and is left out: 100 % was cached", text)
            done = self.bench("disk", f"storage.disk.root={memory}", "--fit", "--threads", 1, "--block-size", "64KiB",
                              "--transfer-size", "16KiB", code=3)
            self.assertIn("nothing to fit", done.stderr)
            self.assertEqual(os.listdir(memory), [])

    def test_a_fit_prints_the_yaml_of_an_emulated_tier(self):
        report = json.loads(self.bench("slow", "--fit", "--threads", "1,2", "--block-size", "1MiB", "--transfer-size",
                                       "256KiB", "--rounds", 1, "--seconds", 1, "--json").stdout)
        self.assertTrue(report["yaml"].startswith("{type: emulated, read_mb_per_s: "))
        self.assertEqual(len(report["points"]), 7)
        self.assertLessEqual(report["mean_error"], report["worst_error"])

    def test_what_is_wrong_is_said(self):
        self.assertIn("unknown storage tier 'dis' (did you mean 'disk'?)", self.bench("dis", code=2).stderr)
        self.assertIn("must be a multiple of", self.bench("disk", "--block-size", "5k", code=2).stderr)
        self.assertIn("--transfer-size must be", self.bench("disk", "--transfer-size", "lots", code=2).stderr)
        self.assertIn("could be evicted", self.bench("memory", "--cold", code=2).stderr)

    def test_nobody_who_trains_from_the_tier_meanwhile_sees_it(self):
        for name in "cat", "dog":
            (self.root / name).mkdir()
            (self.root / name / "1.jpg").write_bytes(next(MINI.rglob("*.jpg")).read_bytes())
        process = self.start("bench", "storage", self.config, "disk", "--rounds", 1000000, "--block-size", "1MiB")
        process.until(lambda: list(self.root.glob(".stoker-bench-*/read-*")))
        done = self.stoker("dataset", "inspect", self.config, "dataset={type: image_folder, storage: disk}", "--json")
        self.assertEqual([one["name"] for one in json.loads(done.stdout)["classes"]], ["cat", "dog"])
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75, process.log)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["cat", "dog"])

    def test_what_a_killed_one_left_is_removed_by_the_next(self):
        process = self.start("bench", "storage", self.config, "disk", "--rounds", 1000000, "--block-size", "1MiB")
        process.until(lambda: list(self.root.glob(".stoker-bench-*/read-*")))
        process.kill()
        self.assertNotEqual(list(self.root.iterdir()), [])
        self.bench("disk", "--threads", 1, "--block-size", "4KiB", "--transfer-size", "4KiB", "--rounds", 1)

    def test_a_directory_of_the_tier_can_be_chosen(self):
        process = self.start("bench", "storage", self.config, "disk", "--rounds", 1000000, "--block-size", "1MiB",
                             "--directory", "./a/b/")
        process.until(lambda: list(self.root.glob("a/b/.stoker-bench-*/read-*")))
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.log)
        self.assertEqual(list(self.root.iterdir()), [])
        self.assertIn("--directory must be a relative path", self.bench("disk", "--directory", "../x", code=2).stderr)

    def test_a_stop_leaves_nothing(self):
        for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75)):
            process = self.start("bench", "storage", self.config, "disk", "--op", "both", "--rounds", 1000000,
                                 "--block-size", "1MiB")
            process.until(lambda: list(self.root.glob("*/*")))
            process.send(stop)
            self.assertEqual(process.wait(), code, process.log)
            self.assertEqual(process.output, "")
            self.assertIn("stopped", process.log)
            self.assertEqual(list(self.root.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
