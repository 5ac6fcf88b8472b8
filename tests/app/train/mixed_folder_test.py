#!/usr/bin/env python3
"""Folders with files of several kinds: images that train, and those of which a message says what they are."""
import shutil
import unittest

import images
from stoker import LOADERS, LONG, MINI, StokerTest, configuration, long

# libpng warns of a profile that is wrong, of a checksum in front of the pixels and of bytes behind them.
REMARKABLE = {"profile.png": images.png(before=images.WRONG_PROFILE), "text.png": images.png(before=images.WRONG_CHECKSUM),
              "gamma.png": images.png(before=images.chunk(b"gAMA", b"\0\0\0\0"))}
DECODERS = ("auto", "opencv") if LONG else ("auto",)
OURS = r"\A(\d\d:\d\d:\d\d \w+ .*\n)*\Z"  # lines of the log


class MixedFolder(StokerTest):
    CONFIG = configuration(
        storage="{data: {type: posix, root: data}}", decoder="{size: 32}", evaluation="{enabled: false}",
        dataset="{type: image_folder, storage: data, extensions: [.jpg, .png, .bmp, .webp, .tif, .ppm]}",
        loader="{type: prefetched, batch_size: 4, workers: 2, drop_last: false, digest: true}", metrics="{sinks: []}")

    def setUp(self):
        super().setUp()
        self.folder = self.dir / "data" / "one"
        self.folder.mkdir(parents=True)
        for image in sorted((MINI / "watch").iterdir())[:5]:
            shutil.copy(image, self.folder)
        (self.dir / "data" / "two").mkdir()
        shutil.copy(image, self.dir / "data" / "two")

    def put(self, **files):
        for name, data in files.items():
            (self.folder / name).write_bytes(data)

    def test_it_trains_by_default(self):
        self.put(**{"a.png": images.png(), "b.bmp": images.bmp(), "c.tif": images.tiff(), "d.ppm": images.ppm(), "e.webp": images.WEBP})
        digests = set()
        for loader in LOADERS if LONG else ("prefetched",):
            summary, run = self.train(f"loader.type={loader}", "decoder.augment={flip: true, random_resized_crop: {}}")
            digests.add(summary["total"]["digest_chain"])
        self.assertEqual(len(digests), 1)
        self.assertEqual(summary["images"], 11)
        self.assertIn("type: auto", (run / "config.yaml").read_text())
        kinds = self.json("dataset", "inspect", self.config)["kinds"]
        self.assertEqual({name: kinds.get(name) for name in ("png", "bmp", "tiff", "pnm", "webp")},
                         dict.fromkeys(("png", "bmp", "tiff", "pnm", "webp"), 1))

    @long
    def test_formats_with_the_same_pixels_give_the_same_batches(self):
        chains = set()
        for name, make in (("png", images.png), ("png", lambda seed: images.png(seed=seed, interlaced=True)), ("bmp", images.bmp),
                           ("tif", images.tiff), ("tif", lambda seed: images.tiff(seed=seed, order=">")), ("ppm", images.ppm)):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            self.put(**{f"{seed}.{name}": make(seed=seed) for seed in range(6)})
            chains.add(self.train()[0]["total"]["digest_chain"])
        self.assertEqual(len(chains), 1)

    @long
    def test_a_decoder_says_what_the_file_is_and_who_reads_it(self):
        self.put(**{"a.png": images.png()})
        done = self.stoker("train", self.config, "decoder.type=jpeg", code=4)
        self.assertIn("dataset: one/a.png: unsupported: it is a PNG image: set decoder.type=auto, which reads it (to go on without it, "
                      "set dataset.on_error={policy: skip})", done.stderr)
        for word, data in images.OTHERS.items():
            self.put(**{"a.png": data})
            done = self.stoker("train", self.config, code=4)
            self.assertRegex(done.stderr.splitlines()[-1], f"one/a.png: (not_an_image|unsupported): it is .*{word}.*: .*set dataset.on_error")

    def test_libraries_print_nothing_of_an_image(self):
        self.put(**REMARKABLE)
        for decoder in DECODERS:
            done = self.stoker("train", self.config, f"decoder.type={decoder}", "training.epochs=3", "--json")
            self.assertRegex(done.stderr, OURS)
        # Nor of what is damaged: the message of the bad sample is ours.
        whole = images.tiff()
        damaged = {"zlib.png": images.png(packed=b"no zlib"), "short.png": images.png(packed=b"x\x9cc\0\0\0\1\0\1"),
                   "cgbi.png": images.png(before=images.chunk(b"CgBI", b"\x50\0\x20\2")), "cut.bmp": images.bmp()[:-9],
                   "bits.bmp": images.bmp()[:28] + b"\7" + images.bmp()[29:], "run.bmp": images.bmp()[:30] + b"\1" + images.bmp()[31:]}
        # Those OpenCV 4.6 refuses and OpenCV 4.10 decodes.
        doubtful = {
            "web.webp": images.WEBP[:25] + bytes(9), "letters.ppm": b"P3 2 2 255\nx y z",
            "kind.tif": whole.replace(b"\x06\x01\x03\x00\x01\x00\x00\x00\x02", b"\x06\x01\x03\x00\x01\x00\x00\x00\x77")}
        self.put(**damaged, **doubtful)
        jpeg = next(self.folder.glob("*.jpg"))
        self.put(**{"rotten.jpg": jpeg.read_bytes()[:3000] + b"\xff\x13" * 20 + jpeg.read_bytes()[3040:]})
        for decoder in DECODERS:
            done = self.stoker("train", self.config, f"decoder.type={decoder}", "dataset.on_error={policy: skip, budget: 100%}", "--json")
            self.assertRegex(done.stderr, OURS)
            skipped = (self.latest / "skipped.csv").read_text()
            for name in (*damaged, "rotten.jpg"):
                with self.subTest(name):
                    self.assertIn(f'"one/{name}",', skipped)


if __name__ == "__main__":
    unittest.main()
