#!/usr/bin/env python3
"""decoder.tolerance: images of which libjpeg only warns are trained on, counted and listed, or are bad samples."""
import csv
import json
import re
import shutil
import unittest

from stoker import LOADERS, LONG, MINI, StokerTest, configuration, long, posix

AS_LIBJPEG = "decoder.tolerance=as_libjpeg"
CLASSES, IMAGES = 3, 12


def stray(image):
    return image[:-2] + b"stray" + image[-2:]


# libjpeg warns of the first ones, and refuses the others.
BLEMISHES = {"stray.jpg": stray, "cut.jpg": lambda image: image[:len(image) // 2],
             "short.jpg": lambda image: image[:-8] + b"\xff\xd9",
             "header.jpg": lambda image: image[:2] + b"\x01\x02\x03" + image[2:]}
ERRORS = {"text.jpg": lambda _: b"hello", "head.jpg": lambda image: image[:100],
          "twice.jpg": lambda image: stray(image)[:-2] + b"\xff\xd8\xff\xd9"}


class ToleranceTest(StokerTest):
    CONFIG = configuration(
        tiers={"data": posix("data"), "slow": posix("checkpoints")},
        dataset="{type: image_folder, storage: data, split: {}, on_error: {policy: skip, budget: 20}}",
        decoder="{type: jpeg, size: 32}", evaluation="{enabled: false}",
        loader="{type: prefetched, batch_size: 5, workers: 2, drop_last: false, digest: true}",
        training="{epochs: 2, threads: 1, deterministic: true}",
        metrics="{every_steps: 1, sinks: [{type: prometheus, port: auto}]}")

    def setUp(self):
        super().setUp()
        for folder in sorted(MINI.iterdir())[:CLASSES]:
            images = sorted(folder.iterdir())[:IMAGES]
            (self.dir / "data" / folder.name).mkdir(parents=True)
            for image in images:
                shutil.copy(image, self.dir / "data" / folder.name)
        self.damaged = []
        for number, (name, change) in enumerate({**BLEMISHES, **ERRORS}.items()):
            where = f"{folder.name}/{name}"
            (self.dir / "data" / where).write_bytes(change(images[number].read_bytes()))
            self.damaged.append(where)
        self.won = set(self.damaged[:len(BLEMISHES)])

    def rows(self, run, name):
        with open(run / name, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def exported(self, run, name):
        found = re.findall(rf"^stoker_loaders_{name}_total{{.*split=\"train\".*}} (\S+)$", (run / "metrics.prom").read_text(),
                           re.MULTILINE)
        return sum(map(float, found))

    def test_strict_is_the_default(self):
        summary, run = self.train()
        self.assertEqual(summary["tolerated"], 0)
        self.assertFalse((run / "tolerated.csv").exists())
        self.assertEqual({row["sample"] for row in self.rows(run, "skipped.csv")}, set(self.damaged))
        self.assertIn("tolerance: strict", (run / "config.yaml").read_text())
        self.stoker("train", self.config, "dataset.on_error={policy: fail}", code=4)

    def test_what_libjpeg_decodes_is_a_sample(self):
        text = self.stoker("train", self.config, AS_LIBJPEG).stdout
        run = self.latest
        summary = json.loads((run / "summary.json").read_text())
        listed = self.rows(run, "tolerated.csv")
        self.assertEqual({row["sample"] for row in listed}, self.won)
        self.assertEqual({row["sample"] for row in self.rows(run, "skipped.csv")}, set(self.damaged) - self.won)
        # The two epochs, and what replaced bad samples.
        self.assertGreaterEqual(min(int(row["times"]) for row in listed), 2)
        self.assertEqual(summary["tolerated"], sum(int(row["times"]) for row in listed))
        self.assertIn(f"  {summary['tolerated']} damaged samples used as libjpeg makes them, see tolerated.csv\n", text)
        self.assertEqual(self.exported(run, "tolerated"), summary["loaders"]["train"]["tolerated"])
        self.assertGreaterEqual(summary["loaders"]["train"]["tolerated"], summary["tolerated"])
        said = {row["sample"].split("/")[1]: row["message"] for row in listed}
        self.assertEqual(said["cut.jpg"], "Premature end of JPEG file")
        self.assertRegex(said["stray.jpg"], "^Corrupt JPEG data: . extraneous bytes before marker 0xd9$")
        self.assertEqual(said["header.jpg"], "Corrupt JPEG data: 3 extraneous bytes before marker 0xe0")

    def test_every_loader_and_decoder_gives_the_same(self):
        seen = set()
        for loader in LOADERS if LONG else LOADERS[:1]:
            for decoder in ("jpeg", "turbojpeg"):
                summary, run = self.train(AS_LIBJPEG, f"loader.type={loader}", f"decoder.type={decoder}")
                seen.add((summary["total"]["digest_chain"], (run / "tolerated.csv").read_text()))
        self.assertEqual(len(seen), 1)

    @long
    def test_a_resumed_run_counts_in_all_its_processes(self):
        whole, _ = self.train(AS_LIBJPEG)
        saved = "checkpoint={type: direct, slow: slow, every_steps: 3, resume: latest}"
        first, _ = self.train(AS_LIBJPEG, saved, "training.max_steps=6")
        self.assertGreater(first["tolerated"], 0)
        end, run = self.train(AS_LIBJPEG, saved)
        self.assertEqual((end["resumed"]["step"], end["steps"]), (6, whole["steps"]))
        self.assertEqual(end["tolerated"], whole["tolerated"])
        self.assertEqual(end["total"]["digest_chain"], whole["total"]["digest_chain"])
        self.assertEqual(sum(int(row["times"]) for row in self.rows(run, "tolerated.csv")) + first["tolerated"],
                         whole["tolerated"])
        # The pixels depend on it, so a resume with the other says so.
        text = self.stoker("train", self.config, saved, "training.epochs=3").stderr
        self.assertIn("decoder.tolerance: as_libjpeg -> strict", text)

    def packed(self, to, *overrides):
        done = self.json("dataset", "convert", self.config, to, "--format", "packed", *overrides)
        return done, ["storage.packed=" + posix(to), "dataset={type: packed, storage: packed}",
                      "decoder={type: raw, height: 32, width: 32, size: 32}"]

    @long
    def test_packed_pixels_hold_them_too(self):
        every = CLASSES * IMAGES + len(self.damaged)
        strict, _ = self.packed("strict")
        self.assertEqual((strict["samples"], strict["left_out"], strict["tolerated"]),
                         (every - len(self.damaged), len(self.damaged), []))
        done, packed = self.packed("tolerant", AS_LIBJPEG)
        self.assertEqual((done["samples"], done["left_out"]), (every - len(ERRORS), len(ERRORS)))
        self.assertEqual({sample["key"] for sample in done["tolerated"]}, self.won)
        for name in self.damaged[len(BLEMISHES):]:
            (self.dir / "data" / name).unlink()
        files, _ = self.train(AS_LIBJPEG)
        pixels, run = self.train(*packed)
        self.assertEqual(pixels["total"]["digest_chain"], files["total"]["digest_chain"])
        self.assertFalse((run / "tolerated.csv").exists())

    def test_inspect_says_what_would_be_won(self):
        report = self.json("dataset", "inspect", self.config)
        unreadable = {row["key"].split("/")[1]: row["decodable_as_libjpeg"] for row in report["unreadable"]}
        self.assertEqual(unreadable, {**dict.fromkeys(BLEMISHES, True), **dict.fromkeys(ERRORS, False)})
        self.assertEqual(report["decodable_as_libjpeg"], len(BLEMISHES))
        text = self.stoker("dataset", "inspect", self.config).stdout
        self.assertIn("\n  4 of these 7 are samples with decoder.tolerance=as_libjpeg\n", text)
        tolerant = self.json("dataset", "inspect", self.config, AS_LIBJPEG)
        self.assertEqual({row["key"] for row in tolerant["tolerated"]}, self.won)
        self.assertEqual({row["key"] for row in tolerant["unreadable"]}, set(self.damaged) - self.won)
        raw = self.json("dataset", "inspect", self.config, "decoder={type: raw}")
        self.assertNotIn("decodable_as_libjpeg", raw)


if __name__ == "__main__":
    unittest.main()
