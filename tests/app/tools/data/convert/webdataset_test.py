#!/usr/bin/env python3
"""tar_shards and webdataset, the package: each reads what the other wrote."""
import json
import sys
import unittest

from stoker import MINI, StokerTest, configuration, flow, posix, with_packages

with_packages("webdataset")

import webdataset  # noqa: E402

SAMPLES = {split: sorted(MINI.rglob("*.jpg"))[:count] for split, count in (("train", 40), ("test", 9))}


class Webdataset(StokerTest):
    CONFIG = configuration(dataset="{type: image_folder, storage: data, split: {train_per_class: 6, test_per_class: 2}}")

    def test_reads_what_we_wrote(self):
        self.stoker("dataset", "convert", self.config, "out", "--format", "tar_shards", "--shard-size", "200k")
        classes = (self.dir / "out/classes.txt").read_text().splitlines()
        for split, count in (("train", 60), ("test", 20)):
            shards = sorted(map(str, self.dir.glob(f"out/{split}-*.tar")))
            self.assertGreater(len(shards), 1)
            samples = list(webdataset.WebDataset(shards, shardshuffle=False, nodesplitter=lambda source: source))
            self.assertEqual(len(samples), count)
            keys = [sample["__key__"] for sample in samples]
            self.assertEqual(keys, sorted(keys))
            for sample in samples:
                self.assertEqual(sample["jpg"], (MINI / (sample["__key__"] + ".jpg")).read_bytes())
                self.assertEqual(classes[int(sample["cls"])], sample["__key__"].split("/")[0])

    def test_writes_what_we_read(self):
        classes = sorted({path.parent.name for path in SAMPLES["train"]})
        for split, paths in SAMPLES.items():
            with webdataset.ShardWriter(f"file:{self.dir}/{split}-%05d.tar", maxcount=16, verbose=0) as sink:
                for path in paths:
                    sink.write({"__key__": path.parent.name + "/\N{CAT FACE}" + path.stem, "jpg": path.read_bytes(),
                                "cls": classes.index(path.parent.name), "json": {"name": path.name}})
        (self.dir / "classes.txt").write_text("\n".join(classes))
        options = [f"storage.data={posix(self.dir)}", "dataset={type: tar_shards, storage: data}"]
        done = self.json("dataset", "convert", self.config, "back", "--format", "image_folder", *options)
        self.assertEqual(done["samples"], 49)
        for split, paths in SAMPLES.items():
            for path in paths:
                name = f"back/{split}/{path.parent.name}/\N{CAT FACE}{path.stem}.jpg"
                self.assertEqual((self.dir / name).read_bytes(), path.read_bytes())


if __name__ == "__main__":
    unittest.main()
