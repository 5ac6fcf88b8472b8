#!/usr/bin/env python3
"""`stoker bench lmdb` as a user meets it."""
import json
import subprocess
import unittest

from stoker import LONG, StokerTest, configuration, emulated, flow, long, posix, why_no_mount

READERS = "lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed".split(",") if LONG else ["lmdb", "lmm", "lmm_dm"]
RANKS = (1, 2) if LONG else (2,)


class BenchLmdb(StokerTest):
    def setUp(self):
        super().setUp()
        self.json("dataset", "synth", "made", "--kind=datum", "--size=32", "--samples=1300", "--classes=5")
        self.config.write_text(self.experiment())
        (self.dir / "tmp").mkdir()

    def experiment(self, **sections):
        return configuration({"made": posix(self.dir / "made")}, **{
            "dataset": flow(type="lmdb", storage="made"), "decoder": "{type: raw, height: 32, width: 32, size: 32}",
            "loader": "{type: lmdbio, batch_size: 64, workers: 1, node_size: 1}", "distributed": "{}",
            "training": "{threads: 1}", "metrics": "{every_steps: 4}"} | sections)

    def bench(self, *arguments, code=0):
        done = self.stoker("bench", "lmdb", self.config, *arguments, code=code, env={"TMPDIR": str(self.dir / "tmp")})
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])  # no run directory stays behind
        return done

    def test_every_reader_is_run_on_every_number_of_ranks(self):
        result = json.loads(self.bench("--readers=" + ",".join(READERS), f"--ranks={','.join(map(str, RANKS))}", "--rounds=1", "--steps=8",
                                       "--json").stdout)
        for table in ("rates", "costs", "breakdown"):
            self.assertEqual([(row["ranks"], row["reader"]) for row in result[table]],
                             [(ranks, reader) for ranks in RANKS for reader in READERS])
        self.assertEqual(result["steps"], 8)
        self.assertEqual(result["record_bytes"], 3083)
        self.assertEqual(result["ranks_open"], "together")
        self.assertIs(result["read_ahead"], True)
        self.assertGreater(result["raw_mb_per_s"]["median"], 0)
        for row in result["rates"]:
            self.assertGreater(row["read_mb_per_s"]["median"], 0, row)
            self.assertEqual("speed_up" in row, row["reader"] != "lmdb")
        published = {row["reader"]: row.get("published") for row in result["rates"] if row["ranks"] == 2}
        self.assertEqual(published["lmm"], {"small_records": 1.75, "large_records": 20.88, "as_many_processes": 1.05})
        self.assertEqual(published["lmm_dm"], {"small_records": 1.87, "large_records": 2.33})
        for row in result["costs"]:
            self.assertGreaterEqual(row["wall_s"]["median"], row["sleep_s"]["median"])

    @long
    def test_the_parts_of_a_ranks_time_add_up_to_its_run_time(self):
        result = json.loads(self.bench("--readers=lmm", "--ranks=2", "--rounds=1", "--steps=8", "--json").stdout)
        parts = {name: value["median"] for name, value in result["breakdown"][0].items() if name.endswith("_s")}
        for name in ("read_s", "forward_s", "backward_s", "wait_before_sync_s", "sync_s", "update_s"):
            self.assertIn(name, parts)
        run = result["rates"][0]["run_s"]["median"]
        self.assertAlmostEqual(sum(parts.values()) / run, 1, delta=0.1)

    @long
    def test_an_emulated_device_has_one_part_for_its_steps(self):
        result = json.loads(self.bench("device={type: emulated, images_per_s: 20000}", "--readers=lmdb", "--ranks=2",
                                       "--rounds=2", "--steps=8", "--json").stdout)
        row = result["breakdown"][0]
        self.assertGreater(row["compute_s"]["median"], 0)
        self.assertNotIn("forward_s", row)

    @long
    def test_the_text_says_what_holds_for_the_figures(self):
        text = self.bench("--readers=lmdb,lmm", "--ranks=1", "--rounds=1", "--steps=4").stdout
        for words in ("1 round of 4 steps of 64 of 1300 records of 3083 bytes", "read-ahead of mapped files: yes",
                      "page cache: dropped of this file before each run", "ranks open the file together", "published: "):
            self.assertIn(words, text)

    @long
    def test_of_a_mounted_emulated_tier_it_says_so(self):
        if reason := why_no_mount():
            self.skipTest(reason)
        at = self.dir.resolve() / "at"
        at.mkdir()
        (self.dir / "mount.yaml").write_text("storage: " + flow(disk=emulated(self.dir / "made", read_latency_ms=1)) + "\n")
        mount = self.start("mount", "mount.yaml", "disk", at)
        self.addCleanup(subprocess.run, ["umount", "-l", at], check=False, capture_output=True)
        self.assertTrue(mount.wait_for("mounted tier"), mount.log)
        run = ("--readers=lmdb", "--ranks=1", "--rounds=1", "--steps=4")
        self.assertNotIn("EMULATED", self.bench(*run).stdout)
        self.config.write_text(self.experiment(storage=flow(made=posix(at))))
        text = self.bench(*run).stdout
        self.assertIn("tier made: posix, EMULATED: calculated, not measured", text)
        self.assertIn("tier made: its files are on the tier 'disk' that `stoker mount` serves, which is EMULATED", text)
        [tier] = json.loads(self.bench(*run, "--json").stdout)["tiers"]
        self.assertIs(tier["emulated"], True)

    def test_what_cannot_be_measured_is_refused(self):
        self.assertIn("no reader is called 'fast': lmdb, lmm, ", self.bench("--readers=fast", code=2).stderr)
        self.assertIn("an epoch has 20 steps", self.bench("--steps=21", code=2).stderr)
        self.config.write_text(self.experiment(loader="{type: prefetched, batch_size: 64}"))
        self.assertIn("unknown key 'reader'", self.bench(code=2).stderr)


if __name__ == "__main__":
    unittest.main()
