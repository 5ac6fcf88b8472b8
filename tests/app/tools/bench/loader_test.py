"""`stoker bench loader` as a user meets it: its figures, what it compares them with, the pixels it writes."""
import os
import re
import struct
import unittest

from stoker import MINI, StokerTest, configuration, long

IMAGES = len(list(MINI.glob("*/*.jpg")))
# Large enough to be streamed into the slot, which is no memcpy (io/core/system/memory.cpp).
PIXELS = ["dataset={type: decoded, inner: {type: image_folder, storage: data}, decoder: {type: jpeg, size: 128}}",
          "decoder={type: raw, height: 128, width: 128, size: 128}"]


def npy(path):
    """(type, shape, bytes) of a NumPy file, by the format's definition."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    length = struct.unpack("<H", content[8:10])[0]
    assert (10 + length) % 64 == 0
    header = eval(content[10:10 + length])  # what the format says a header is
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], content[10 + length:]


class BenchLoader(StokerTest):
    CONFIG = configuration(
        dataset="{type: image_folder, storage: data}", decoder="{type: jpeg, size: 64}",
        loader="{type: prefetched, batch_size: 32, workers: 2, prefetch_batches: 3, drop_last: false}",
        evaluation="{enabled: false}")

    def run_it(self, *arguments):
        return self.stoker("bench", "loader", self.config, *arguments).stdout

    def measure(self, *arguments):
        return self.json("bench", "loader", self.config, "--epochs", 2, *arguments)

    def test_every_figure_is_there_and_they_agree(self):
        result = self.measure()
        self.assertEqual((result["images"], result["workers"], result["epochs"]), (IMAGES, 2, 2))
        self.assertEqual(len(result["rates"]), 2)
        self.assertAlmostEqual(result["per_cpu_s"] * result["cpu_s_per_1000"], 1000)
        ceiling = result["ceiling"]
        self.assertEqual((ceiling["samples"], ceiling["left_out"], ceiling["threads"]), (IMAGES, 0, 2))
        self.assertAlmostEqual(ceiling["bytes_per_image"], result["bytes_per_image"])
        for kind in ("header", "entropy", "decode", "read_decode"):
            self.assertGreater(ceiling[kind]["min"], 0)
        self.assertIn("its rate is too high", result["remark"])
        self.assertNotIn("efficiency", result)  # a rate that is too high is compared with nothing
        self.assertGreater(result["switches_per_1000"]["voluntary"], 0)
        self.assertGreaterEqual(result["switches_per_1000"]["involuntary"], 0)
        self.assertAlmostEqual(result["queue_mb"], 4 * 32 * 64 * 64 * 3 * 1e-6)
        self.assertGreater(result["rss_mb"], result["queue_mb"])
        self.assertGreater(result["pss_mb"], 0)
        self.assertEqual(result["shape"], [32, 64, 64, 3])
        self.assertTrue(-3 < result["mean"] < 3)

    @long
    def test_a_warm_path_allocates_nothing_for_a_sample(self):
        result = self.measure("loader.batch_size=100")
        self.assertNotIn("not_counted", result)
        # Two for the file's path; the rest belongs to a batch: its labels, its order, its place in the queue.
        self.assertLess(result["allocations_per_image"], 2.5)
        self.assertGreater(result["allocations_per_image"], 0)  # so they are counted
        self.assertEqual(result["libjpeg_allocations_per_image"], 0)
        # libjpeg has pools that it fills for each image, which are known apart.
        result = self.measure("loader.batch_size=100", "decoder.type=turbojpeg")
        self.assertLess(result["allocations_per_image"] - result["libjpeg_allocations_per_image"], 2.5)
        self.assertGreater(result["libjpeg_allocations_per_image"], 1)

    @long
    def test_copies_are_what_happened(self):
        result = self.measure()
        files = result["bytes_per_image"]
        self.assertAlmostEqual(result["copied_bytes_per_image"]["read_calls"] / files, 1, delta=0.2)
        # Kept pixels are not read again.
        pixels = self.measure(*PIXELS)
        self.assertLess(pixels["copied_bytes_per_image"]["read_calls"], 0.2 * files)
        self.assertLess(pixels["copied_bytes_per_image"]["memory"], 1000)

    @long
    def test_what_is_no_jpeg_has_no_ceiling(self):
        result = self.measure(*PIXELS)
        self.assertNotIn("ceiling", result)
        self.assertNotIn("efficiency", result)
        self.assertNotIn("libjpeg-turbo", self.run_it("--epochs", 1, *PIXELS))

    def test_quick_measures_the_loader_only(self):
        result = self.measure("--quick")
        for key in ("ceiling", "efficiency", "allocations_per_image", "not_counted"):
            self.assertNotIn(key, result)
        self.assertGreater(result["images_per_s"]["median"], 0)

    @long
    def test_the_ceiling_takes_as_many_files_as_are_asked_for(self):
        result = self.measure("--ceiling-samples", 10, "loader.batch_size=2", "loader.prefetch_batches=1")
        rate, ceiling = result["images_per_s"]["median"], result["ceiling"]
        self.assertEqual(ceiling["samples"], 10)
        self.assertAlmostEqual(result["efficiency"]["decode"], rate / ceiling["decode"]["median"])
        self.assertAlmostEqual(result["efficiency"]["read_decode"], rate / ceiling["read_decode"]["median"])

    def test_for_people(self):
        text = self.run_it("--epochs", 1)
        self.assertRegex(text, r"prefetched: \d+ images/s \(median of 1 epoch of %d images" % IMAGES)
        self.assertRegex(text, r"libjpeg-turbo alone on \d+ of the same files, 2 threads: medians of 3 rounds")
        self.assertRegex(text, r"libjpeg-turbo: header, images/s +\d+ \( *\d+ \d+\)\n")
        self.assertRegex(text, r"libjpeg-turbo: entropy decoding +\d+ ")
        self.assertRegex(text, r"allocations per image +\d+\.\d\d\n")
        self.assertRegex(text, r"bytes copied per image by read calls +\d+\n")
        self.assertRegex(text, r"context switches per 1,000 images, voluntary +\d+\.\d\n")
        self.assertRegex(text, r"peak memory, MB +\d+\n")

    def test_the_first_batch_as_a_numpy_file(self):
        fixed = ["--quick", "--epochs", 1, "loader.shuffle=false"]
        self.run_it(*fixed, "--dump", "a.npy")
        self.run_it(*fixed, "--dump", "b.npy", "loader.workers=1", "loader.type=sync")
        kind, shape, pixels = npy(self.dir / "a.npy")
        self.assertEqual((kind, shape, len(pixels)), ("|u1", (32, 64, 64, 3), 32 * 64 * 64 * 3))
        self.assertEqual(npy(self.dir / "b.npy"), (kind, shape, pixels))
        self.assertGreater(len(set(pixels)), 200)
        self.assertEqual(sorted(os.listdir(self.dir)), ["a.npy", "b.npy", "trial.yaml"])

    @long
    def test_an_epoch_that_is_mostly_read_ahead_says_so(self):
        self.assertIn("may be ready before it begins", self.run_it("--quick"))
        self.assertIn("may be ready before it begins", self.measure("--quick")["remark"])
        self.assertNotIn("may be ready before it begins", self.measure("--quick", "loader.batch_size=16").get("remark", ""))

    @long
    def test_samples_that_stay_on_the_device_are_no_loading_rate(self):
        result = self.measure("--quick", "loader.type=device_resident")
        self.assertIn("samples stay where the device computes", result["remark"])

    @long
    def test_text_and_json_name_the_same_workers(self):
        self.assertEqual(self.measure("--quick", "loader.type=sync")["workers"], 1)
        self.assertTrue(re.search(r", 1 worker\n", self.run_it("--quick", "loader.type=sync")))


if __name__ == "__main__":
    unittest.main()
