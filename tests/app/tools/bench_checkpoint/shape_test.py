#!/usr/bin/env python3
"""`stoker bench checkpoint --shape` as a user meets it."""
import json
import signal
import unittest

from stoker import StokerTest, configuration, emulated, long

SMALL = ("--shape", "llama3-8b", "--scale", "1e-4", "--rounds", "2")


class BenchShape(StokerTest):
    CONFIG = configuration(tiers={"sets": "{type: posix, root: sets}"}, checkpoint="{type: direct, slow: sets, threads: 2}")

    def bench(self, *arguments, code=0):
        done = self.stoker("bench", "checkpoint", *arguments, code=code)
        self.assertEqual([path.name for path in self.dir.rglob("*") if path.name not in ("trial.yaml", "sets", "folder")], [])
        return done

    def result(self, *arguments):
        return json.loads(self.bench(*arguments, "--json").stdout)

    def test_ranks_save_and_load_their_share(self):
        result = self.result(self.config, *SMALL, "--rank", "0,3")
        self.assertEqual((result["ranks"], result["ranks_here"], result["tier"], result["division"]), (8, [0, 3], "sets", "open"))
        # 14 GB times the scale, and the headers; both have a part of every layer.
        for size in result["rank_bytes"]:
            self.assertAlmostEqual(size, 1.405e6, delta=1e5)
        self.assertEqual(result["rank_tensors"], [32 * 6 + 3 + 6] * 2)
        self.assertAlmostEqual(result["checkpoint_bytes"], 112.4e5, delta=5e4)
        for kind in ("save", "load"):
            figures = result[kind]
            self.assertEqual(len(figures["each_s"]), 2)
            self.assertEqual(figures["duration_s"]["max"], max(figures["each_s"]))
            slowest, together = figures["gib_per_s_of_slowest_rank"]["min"], figures["gib_per_s"]["min"]
            self.assertTrue(0 < slowest <= together, figures)
        self.assertGreater(result["made_bytes_per_s"]["share_of_memset"], 0.1)

    def test_a_folder_is_enough_and_turns_leave_one_set(self):
        (self.dir / "folder").mkdir()
        result = self.result("folder", *SMALL, "--in-turns", "--optimizer", "none", "checkpoint.durability=none")
        self.assertIn("each is loaded right after its save, and not after all saves", result["deviations"])
        self.assertIn("nothing is synced (checkpoint.durability: none)", result["deviations"])

    def test_the_text_names_what_was_measured(self):
        text = self.bench(self.config, *SMALL).stdout
        self.assertRegex(text, r"^llama3-8b: 1 of 8 ranks \(tp=1,pp=1,dp=8\), ZeRO 3, optimizer adamw, on tier sets\n")
        self.assertIn("MLPerf's table: 105 GB", text)
        self.assertRegex(text, r"(?m)^ +save, durable +[\d.]+ \(")
        self.assertRegex(text, r"the bytes are made at [\d.]+ GB/s, [\d.]+ of memset's")
        self.assertIn("OPEN, for: 1 of 8 ranks run", text)

    @long
    def test_an_emulated_tier_says_so(self):
        text = self.bench(self.config, *SMALL, f"storage.sets={emulated('sets', write_mb_per_s=50)}").stdout
        self.assertIn("on tier sets (EMULATED)", text)

    @long
    def test_a_signal_leaves_nothing_on_the_tier(self):
        process = self.start("bench", "checkpoint", self.config, *SMALL[:-1], "100000")
        process.until(lambda: list(self.dir.glob("sets/.stoker-bench*")))
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.log)
        self.assertIn("stopped: nothing is reported", process.log)
        self.assertEqual(list((self.dir / "sets").iterdir()), [])

    def test_what_does_not_go_together_is_an_error(self):
        for arguments, words in [(("--shape", "llama3-9b"), "there is no 'llama3-9b'"),
                                 ((*SMALL, "--parallel", "tp=x"), "is none of tp=N"),
                                 ((*SMALL, "--rank", "8"), "has ranks 0 to 7"),
                                 ((*SMALL, "--closed"), "CLOSED division does not allow this: 1 of 8 ranks run"),
                                 ((*SMALL, "--ranks", "1000000"), "65536"),
                                 ((*SMALL, "--loop"), "--loop"),
                                 (("--rank", "1"), "--shape")]:
            self.assertIn(words, self.bench(self.config, *arguments, code=2).stderr)
        self.assertIn("there is no such folder: make it first", self.bench(self.dir / "new", "--shape", "llama3-8b", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
