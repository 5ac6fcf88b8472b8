"""stoker size: what GPUs need, of a format, of a folder, of a run; tiers of a file; what is missing is said."""
import json
import unittest

from stoker import MINI, StokerTest, configuration, emulated, flow, long


class Size(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 20}", tiers={"data": emulated(read_latency_ms=2, queue_depth=4)},
                           loader="{type: prefetched, batch_size: 16}", decoder="{type: turbojpeg, size: 32}",
                           training="{max_steps: 12}", evaluation="{enabled: false}")

    def size(self, *arguments, **options):
        return self.json("size", *arguments, **options)

    def tier(self, name, **figures):
        path = self.dir / f"{name}.yaml"
        path.write_text(flow(**{"read_mb_per_s": 1e6, "write_mb_per_s": 1e6} | figures))
        return path

    def test_gpus_need_what_can_be_calculated_by_hand(self):
        asked = ["--images-per-s", 1000, "--gpus", 4, "--data", "jpeg,100KB", "--decode-ms", 4, "--batch-size", 50]
        sized = self.size(*asked)
        self.assertAlmostEqual(sized["images_per_s"], 4000, delta=1)
        self.assertAlmostEqual(sized["busy_cores"], 16, delta=0.01)
        self.assertEqual(sized["cores"], 20)  # and one for each GPU's own thread
        self.assertAlmostEqual(sized["mb_per_s"], 400, delta=0.1)
        self.assertAlmostEqual(sized["requests_per_s"], 4000, delta=1)
        self.assertEqual(sized["batch_bytes"], 4 * 50 * 4 * 224 * 224 * 3)
        # 1,000 images/s of 4 ms each: four at one time.
        self.assertIn(sized["in_memory"]["workers"], (4, 5))
        self.assertTrue(sized["in_memory"]["holds"])
        self.assertEqual(self.size(*asked, "--trainer-cores", 0)["cores"], 16)

    @long
    def test_a_tier_holds_with_the_workers_that_its_latency_needs(self):
        asked = ["--images-per-s", 100, "--gpus", 2, "--data", "raw,100KB", "--batch-size", 20]
        far = self.tier("far", read_latency_ms=100, queue_depth=1000)
        narrow = self.tier("narrow", read_mb_per_s=10)
        sized = self.size(*asked, "--tier", far, "--tier", narrow)
        first, second = sized["tiers"][:2]
        self.assertEqual((first["tier"], first["holds"], first["binds"]), ("far", True, "the GPUs"))
        self.assertIn(first["workers"], (10, 11))  # 100 images/s of 100 ms each
        self.assertEqual((second["holds"], second["binds"]), (False, "the tier"))
        self.assertAlmostEqual(second["images_per_s"], 100, delta=1)  # 10 MB/s of 100 KB
        self.assertIn(second["devices"], (2, 3))
        self.assertEqual(sized["binds_first"], "tier narrow")
        self.assertEqual([tier["tier"] for tier in sized["tiers"][2:]], ["hdd", "ssd", "optane", "lustre", "nfs", "s3-like"])
        fewer = self.size(*asked, "--tier", far, "--workers", 5)["tiers"][0]
        self.assertAlmostEqual(fewer["images_per_s"], 100, delta=2)  # two GPUs of five at 100 ms
        self.assertEqual(fewer["binds"], "the workers")

    @long
    def test_too_few_cores_bind_first(self):
        sized = self.size("--images-per-s", 1000, "--gpus", 4, "--data", "jpeg,100KB", "--decode-ms", 4, "--cores", 12)
        self.assertEqual(sized["binds_first"], "cores")
        # 8 of them load: 250 images/s each.
        self.assertAlmostEqual(sized["in_memory"]["images_per_s"], 2000, delta=20)

    @long
    def test_a_table_has_a_sentence_for_each_row(self):
        text = self.stoker("size", "--images-per-s", 2500, "--gpus", 8, "--data", "jpeg,110KB").stdout
        lines = text.splitlines()
        self.assertEqual([line.split("  ")[0] for line in lines[1:7]], ["images/s", "cores", "workers", "memory", "storage", "requests"])
        self.assertIn("8 GPUs of 2,500 images/s each", lines[1])
        self.assertIn("assumed: 90 MB of JPEG files a second and core", lines[2])
        self.assertRegex(text, r"(?m)^binds first  ")
        self.assertIn("not measured", lines[-1])

    def test_a_folder_is_counted_and_decoded_here(self):
        sized = self.size("--images-per-s", 50, "--gpus", 1, "--batch-size", 8, "--data", MINI, "--measure")
        self.assertIn("measured on this machine", sized["decoding"])
        self.assertGreater(sized["decode_ms"], 0)
        self.assertEqual(sized["batch_bytes"], 4 * 8 * 224 * 224 * 3)

    @long
    def test_a_fit_of_bench_storage_is_a_tier(self):
        fit = self.stoker("bench", "storage", self.config, "data", "--fit", "--threads", "1,2", "--block-size", "256KiB", "--transfer-size",
                          "64KiB", "--rounds", 1, "--seconds", 1, f"storage.data={flow(type='emulated', read_mb_per_s=50, write_mb_per_s=50, inner='{type: memory}')}",
                          "--json").stdout
        for name, text in (("report", fit), ("line", json.loads(fit)["yaml"])):
            path = self.dir / f"{name}.yaml"
            path.write_text(text)
            sized = self.size("--images-per-s", 10, "--data", "raw,100KB", "--batch-size", 4, "--tier", path)
            self.assertEqual(sized["tiers"][0]["tier"], name)

    def test_a_run_says_what_it_reads_and_costs(self):
        _, run = self.train()
        sized = self.size("--run", run)
        self.assertEqual(sized["tiers"][0]["tier"], "data")
        self.assertAlmostEqual(sized["images_per_s"], 16 / 0.02, delta=80)  # as fast as its device
        self.assertIn("measured by the run", sized["decoding"])
        four = self.size("--run", run, "--gpus", 4)
        self.assertAlmostEqual(four["images_per_s"] / sized["images_per_s"], 4, delta=0.1)
        # A queue of four reads of 2 ms.
        self.assertAlmostEqual(four["tiers"][0]["images_per_s"], 2000, delta=100)
        self.assertEqual(four["binds_first"], "tier data")

    @long
    def test_a_tier_that_could_not_be_fitted_is_said_to_be_uncertain(self):
        fitted = self.dir / "disk.json"
        fitted.write_text(json.dumps({"fits": False, "why": "8 threads: 40 % off",
                                      "yaml": "{read_mb_per_s: 1000, write_mb_per_s: 500}"}))
        said = self.stoker("size", "--images-per-s", 5, "--data", "jpeg,1KB", "--tier", fitted).stderr
        self.assertIn("disk.json: what was fitted does not behave like the tier (8 threads: 40 % off)", said)

    def test_what_is_missing_is_said(self):
        said = self.stoker("size", code=2).stderr
        self.assertIn("--data FORMAT,SIZE", said)
        self.assertIn("--images-per-s", self.stoker("size", "--data", "jpeg,1KB", code=2).stderr)
        self.assertIn("--decode-ms", self.stoker("size", "--images-per-s", 5, "--data", "webp,1KB", code=2).stderr)
        self.assertIn("jpeg,110KB", self.stoker("size", "--images-per-s", 5, "--data", "nowhere", code=2).stderr)
        bad = self.dir / "bad.yaml"
        bad.write_text("{read_mb_per_s: 1}")
        self.assertIn("write_mb_per_s", self.stoker("size", "--images-per-s", 5, "--data", "jpeg,1KB", "--tier", bad, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
