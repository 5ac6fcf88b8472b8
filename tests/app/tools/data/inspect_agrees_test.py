#!/usr/bin/env python3
"""`dataset inspect` beside training, on data sets of every format, decoder and damage: the same bad samples, for the same reasons."""
import concurrent.futures
import csv
import json
import shutil
import unittest

import images
from stoker import LONG, MINI, StokerTest, configuration, posix

SKIP = "dataset.on_error={policy: skip, budget: 100%}"
TRAIN = ["training.epochs=1", "loader.drop_last=false", "loader.shuffle=false", "loader.batch_size=4", "evaluation.enabled=false",
         "metrics.sinks=[]", "loader.workers=1", "training.threads=1"]
FILES = ("image_folder", "file_list", "tar_shards", "tfrecord", "lmdb", "hdf5")  # formats that keep the bytes of files
ALL = object()  # samples are bad, so that no training goes on


def flipped(data, at, mask=0x55):
    data = bytearray(data)
    data[at] ^= mask
    return bytes(data)


def rotten(data):
    """Some bits of the pixels."""
    for at in range(len(data) // 2, len(data) // 2 + 40, 7):
        data = flipped(data, at)
    return data


DAMAGE = {"rotten.jpg": rotten, "rotten_end.jpg": lambda data: flipped(data, len(data) - 30), "cut.jpg": lambda data: data[:-200],
          "head.jpg": lambda data: data[:100], "empty.jpg": lambda _: b"", "tables.jpg": lambda data: flipped(data, 30, 0xff),
          "stray.jpg": lambda data: data[:-2] + b"stray" + data[-2:]}
KINDS = {"1.png": images.png(), "2.bmp": images.bmp(), "3.webp": images.WEBP, "4_tiff.png": images.tiff(), "5_ppm.png": images.ppm(),
         "cut_1.png": images.png()[:-30], "cut_2.bmp": images.bmp()[:-100], "cut_3.webp": images.WEBP[:-3],
         "cut_4.png": images.tiff()[:200], "cut_5.png": images.ppm()[:-1], "zlib.png": images.png(packed=b"no zlib"),
         "checksum.png": flipped(images.png(), 60), "profile.png": images.png(before=images.WRONG_PROFILE),
         **{f"{name.replace(' ', '_')}.png": data for name, data in images.OTHERS.items()}}


class InspectAgrees(StokerTest):
    CONFIG = configuration(
        tiers={}, dataset="{type: image_folder, storage: data}", decoder="{type: jpeg, size: 32}",
        storage="{data: " + posix("good") + "}")

    def setUp(self):
        super().setUp()
        for name in ("good", "damaged", "kinds"):
            for folder in sorted(MINI.iterdir())[:2]:
                to = self.dir / name / folder.name
                to.mkdir(parents=True)
                for image in sorted(folder.iterdir())[:4]:
                    shutil.copy(image, to)
        whole = sorted(folder.iterdir())[0].read_bytes()
        for name, change in DAMAGE.items():
            (self.dir / "damaged" / folder.name / name).write_bytes(change(whole))
        for name, data in KINDS.items():
            (self.dir / "kinds" / folder.name / name).write_bytes(data)

    def written(self, source, form, *words):
        """The overrides for a folder's samples in that format."""
        if form == "image_folder":
            return [f"storage.data.root={source}"]
        to = "-".join((source, form, *(word.strip("-") for word in words)))
        self.stoker("dataset", "convert", self.config, to, "--format", form, f"storage.data.root={source}", *words, SKIP,
                    *(["--no-verify"] if form in FILES else []))
        return [f"storage.data.root={to}", f"dataset.type={form}"]

    def data_sets(self):
        """Name and overrides of each."""
        sets = {}
        for form in FILES if LONG else FILES[:1]:
            damaged, kinds = self.written("damaged", form), self.written("kinds", form)
            sets[f"damaged {form} jpeg"] = [*damaged, "decoder.type=jpeg"]
            sets[f"damaged {form} tolerated"] = [*damaged, "decoder.tolerance=as_libjpeg"]
            sets[f"kinds {form} jpeg"] = [*kinds, "decoder.type=jpeg"]
            sets[f"kinds {form} auto"] = [*kinds, "decoder.type=auto"]
        for name in ("damaged", "kinds"):
            for decoder in ("turbojpeg", "opencv", "bytes", "discard") if LONG else ("opencv",):
                size = "" if decoder == "discard" else ", size: 32"
                sets[f"{name} {decoder}"] = [f"storage.data.root={name}", f"decoder={{type: {decoder}{size}}}"]
        raw = "decoder={type: raw, height: 32, width: 32, size: 32}"
        packed = self.written("damaged", "packed")
        pixels = self.dir / "damaged-packed" / "train-00000.pixels"
        pixels.write_bytes(flipped(pixels.read_bytes(), 32 * 32 * 3 * 2 + 5))
        sets["packed pixels with another checksum"] = [*packed, raw]
        sets["pixels in lmdb"] = [*self.written("good", "lmdb", "--pixels"), raw]
        for name in ("damaged", "kinds") if LONG else ("damaged",):
            sets[f"decoded {name}"] = [f"storage.data.root={name}", "dataset={type: decoded, inner: {type: image_folder, storage: data}, "
                                       "decoder: {type: auto, size: 32}}", raw]
        sets["too large"] = ["decoder.limits.max_side=300"]
        sets["too many bytes"] = ["dataset.max_file_bytes=10k"]
        sets["on the device"] = ["storage.data.root=kinds", "decoder={type: auto, size: 32, on_device: resize}"]
        tar = self.written("good", "tar_shards")
        shard = self.dir / "good-tar_shards" / "train-00000.tar"
        shard.write_bytes(flipped(shard.read_bytes(), 5000))
        sets["a bit of a tar"] = tar
        records = self.written("good", "tfrecord")
        shard = next((self.dir / "good-tfrecord").glob("train-*"))
        shard.write_bytes(flipped(shard.read_bytes(), 5000))
        sets["a checksum of a tfrecord"] = records
        sets["labels of another name"] = [*records, "dataset.label=no/such/label"]
        return sets

    def trained(self, name, overrides):
        skip = SKIP.replace("dataset.", "dataset.inner.") if name.startswith("decoded") else SKIP
        done = self.stoker("train", self.config, *overrides, *TRAIN, skip, f"run.dir=runs/{name.replace(' ', '_')}", "--quiet", "--json",
                           code=None)
        if done.returncode == 4:
            self.assertIn("all bad", done.stderr, name)
            return ALL
        self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        self.assertRegex(done.stderr, r"\A(\d\d:\d\d:\d\d \w+ .*\n)*\Z", name)  # lines of the log, and no library's
        run = self.dir / json.loads(done.stdout)["run_directory"]
        if not (run / "skipped.csv").exists():
            return []
        with open(run / "skipped.csv", encoding="utf-8", newline="") as file:
            return sorted((row["sample"], row["reason"], row["message"]) for row in csv.DictReader(file))

    def check(self, name, overrides):
        done = self.stoker("dataset", "inspect", self.config, *overrides, "--json")
        report = json.loads(done.stdout)
        found = sorted((row["key"], row["reason"], row["message"]) for row in report["unreadable"])
        trained = self.trained(name, overrides)
        if trained is ALL:
            self.assertEqual(len(found), report["samples"], name)
        else:
            self.assertEqual(found, trained, name)
        self.assertEqual(done.stderr, "", name)
        self.assertEqual(report["looked_at"], report["samples"])
        self.assertEqual(sum(report["kinds"].values()), report["samples"] - len(found), name)
        return len(found)

    def test_on_many_data_sets(self):
        sets = self.data_sets()
        if LONG:
            self.assertGreaterEqual(len(sets), 40)
        bad = {}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, tried in [(name, pool.submit(self.check, name, overrides)) for name, overrides in sets.items()]:
                with self.subTest(name):
                    bad[name] = tried.result()
        self.assertGreater(sum(map(bool, bad.values())), len(sets) * 2 / 3, bad)


if __name__ == "__main__":
    unittest.main()
