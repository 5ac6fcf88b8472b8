#!/usr/bin/env python3
"""A tier that fails in the middle is no bad sample: whoever reads ends with exit code 5, and names sample, tier and cause."""
import os
import shutil
import unittest

from sick_server import sick_server
from stoker import LOADERS, LONG, MINI, StokerTest, configuration, long, posix

SKIP = "dataset.on_error={policy: skip, budget: 100%}"
FAILED = r"dataset: sample \S+\.jpg cannot be read, because tier 'data' fails: {}.*: see that the tier answers and may be read, and start it again"


class TierFailures(StokerTest):
    CONFIG = configuration(
        dataset="{type: image_folder, storage: data}", decoder="{type: jpeg, size: 32}",
        loader="{type: prefetched, batch_size: 8, workers: 2, shuffle: false}", evaluation="{enabled: false}")

    def setUp(self):
        super().setUp()
        self.server = self.enterContext(sick_server(MINI))

    def tier(self, **options):
        return f"storage.data={self.server.tier(retries=1, **options)}"

    def failed(self, how, cause, *words):
        self.server.reads = 0
        self.server.fall_sick(how, after=40)
        said = self.stoker(*words, code=5).stderr
        self.assertRegex(said, FAILED.format(cause))
        self.assertNotIn("repair or remove", said)
        return said

    def test_of_a_server_in_mid_run(self):
        ends = [("expired", r".*400 \(ExpiredToken: The provided token has expired\.\)"), ("denied", ".*403"),
                ("broken", ".*500 .after 2 attempts"), ("drops", "read http")]
        for how, cause in ends if LONG else ends[:1]:
            for policy in [], [SKIP]:
                with self.subTest(how=how, policy=policy):
                    self.failed(how, cause, "train", self.config, self.tier(), *policy)

    @long
    def test_with_every_loader(self):
        for loader in [*LOADERS, "device_resident"]:
            with self.subTest(loader=loader):
                self.failed("denied", ".*403", "train", self.config, self.tier(), SKIP, f"loader.type={loader}")

    def test_of_files_that_may_not_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read every file")
        shutil.copytree(MINI, self.dir / "data")
        for image in (self.dir / "data").rglob("image_00*.jpg"):
            image.chmod(0)
        said = self.stoker("train", self.config, f"storage.data={posix(self.dir / 'data')}", SKIP, code=5).stderr
        self.assertRegex(said, FAILED.format("open .*: Permission denied"))

    def test_of_a_sample_that_is_gone_is_a_bad_sample(self):
        shutil.copytree(MINI, self.dir / "data")
        gone = next((self.dir / "data").rglob("image_0001.jpg"))
        list_of = self.dir / "data/train.csv"
        list_of.write_text("".join(f"{path.relative_to(self.dir / 'data')},0\n" for path in (self.dir / "data").rglob("*.jpg")))
        gone.unlink()
        words = ["train", self.config, f"storage.data={posix(self.dir / 'data')}", "dataset={type: file_list, storage: data}"]
        self.assertIn(": missing: ", self.stoker(*words, code=4).stderr)
        summary, _ = self.train(*words[2:], SKIP.replace("100%", "3"))
        self.assertEqual(summary["skipped"], {"missing": 1})

    @long
    def test_of_formats_with_many_samples_in_an_object(self):
        for format in "tar_shards", "packed", "tfrecord", "lmdb":
            with self.subTest(format=format):
                self.stoker("dataset", "convert", self.config, self.dir / format, "--format", format, "--shard-size", "100KiB")
                with sick_server(self.dir / format) as server:
                    server.fall_sick("denied", after=10**9)
                    pixels = ["decoder={type: raw, height: 32, width: 32, size: 32}"] if format == "packed" else []
                    options = [f"storage.data={server.tier(retries=1)}", f"dataset={{type: {format}, storage: data}}", *pixels]
                    process = self.start("train", self.config, *options, SKIP, "training.epochs=1000", "metrics.every_steps=1",
                                         "loader.type=threaded")
                    self.assertTrue(process.wait_for(" step 3/"), process.log)
                    server.fall_sick("denied")
                    self.assertEqual(process.wait(), 5, process.log)
                    self.assertIn("tier 'data' fails", process.log)

    @long
    def test_of_a_conversion_which_goes_on_afterwards(self):
        for policy in [], [SKIP]:
            with self.subTest(policy=policy):
                target = self.dir / f"out-{len(policy)}"
                words = ["dataset", "convert", self.config, target, "--format", "tar_shards", "--shard-size", "100KiB",
                         self.tier(), *policy]
                self.failed("expired", ".*ExpiredToken", *words)
                self.server.fall_sick(None)
                done = self.json(*words)
                self.assertEqual((done["samples"], done["left_out"]), (500, 0))

    @long
    def test_of_a_benchmark(self):
        self.failed("denied", ".*403", "bench", "read", self.config, self.tier(), SKIP, "--stages", "read",
                    "--page-cache", "as_is")


class LeftOut(StokerTest):
    CONFIG = configuration(dataset="{type: image_folder, storage: data}")

    def test_what_a_conversion_leaves_out_is_listed(self):
        shutil.copytree(MINI, self.dir / "data")
        images = sorted((self.dir / "data" / "ketch").glob("*.jpg"))
        images[0].write_bytes(b"")
        images[1].write_bytes(images[1].read_bytes()[:300])
        words = ["dataset", "convert", self.config, "out", "--format", "packed", f"storage.data={posix(self.dir / 'data')}",
                 "dataset.on_error={policy: skip}", "decoder={type: jpeg, size: 32}"]
        said = self.stoker(*words).stdout
        self.assertRegex(said, r"498 samples, 0 of them damaged, 2 bad ones left out, .* verified\. Left out:\n"
                               rf"  ketch/{images[0].name}: empty: .*\n  ketch/{images[1].name}: truncated: .*\n\nTo train on them:\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
