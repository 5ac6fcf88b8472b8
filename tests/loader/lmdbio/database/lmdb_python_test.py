"""Databases and Python's lmdb: it reads what we write, and we read and train on what it writes."""
import collections
import json
import subprocess
import unittest

from stoker import BUILD, MINI, StokerTest, configuration, flow, posix, with_packages

with_packages("lmdb")
import lmdb  # noqa: E402

WRITER = BUILD / "tests/dataset_lmdb_writer"  # lmdb_writer.cpp
IMAGES = sorted(MINI.glob("*/*.jpg"))
IN_CLASS = collections.Counter(image.parent.name for image in IMAGES)
CLASSES = sorted(IN_CLASS)


def varint(number):
    low = bytes([number & 127 | (128 if number > 127 else 0)])
    return low + varint(number >> 7) if number > 127 else low


def datum(image, label):
    """Caffe's message for an image file."""
    return b"\x22" + varint(len(image)) + image + b"\x28" + varint(label) + b"\x38\x01"


class LmdbTest(StokerTest):
    CONFIG = configuration(dataset=flow(type="lmdb", storage="shards"))

    def setUp(self):
        super().setUp()
        self.shards = self.dir / "shards"
        self.config.write_text(configuration({"shards": posix(self.shards)}, dataset=flow(type="lmdb", storage="shards")))

    def write(self, name, entries):
        (self.shards / name).mkdir(parents=True)
        with lmdb.open(str(self.shards / name), map_size=1 << 30) as database:
            for begin in range(0, len(entries), 100):  # several transactions
                with database.begin(write=True) as transaction:
                    for key, value in entries[begin:begin + 100]:
                        transaction.put(key.encode(), value)
            with database.begin() as transaction:
                return list(transaction.cursor())

    def write_images(self, name, images):
        return self.write(name, [(f"{i:08}_{image.parent.name}/{image.name}",
                                  datum(image.read_bytes(), CLASSES.index(image.parent.name)))
                                 for i, image in enumerate(images)])

    def entries(self, folder):
        """All entries, and how many transactions wrote them."""
        with lmdb.open(str(folder), readonly=True, lock=False) as database, database.begin() as transaction:
            return list(transaction.cursor()), database.info()["last_txnid"]

    def test_it_reads_databases_of_pixels_that_we_generate(self):
        made = self.json("dataset", "synth", "made", "--kind=datum", "--size=32", "--samples=2100", "--classes=7")
        entries, transactions = self.entries(self.dir / "made/train_lmdb")
        self.assertEqual(len(entries), 2100)
        self.assertEqual(sum(len(value) for _, value in entries), made["bytes"])
        self.assertEqual(transactions, 3)  # of 1,000 records, as Caffe's
        for i, (key, value) in enumerate(entries):
            self.assertEqual(key.decode(), f"{i:08}_class_{i % 7:03}/{i:08}")
            self.assertEqual(value[:9], b"\x08\x03\x10\x20\x18\x20\x22\x80\x18")
            self.assertEqual(value[9 + 3 * 32 * 32:], b"\x28" + varint(i % 7))
        self.config.write_text(configuration({"made": posix(self.dir / "made")}, dataset=flow(type="lmdb", storage="made"),
                                             decoder="{type: raw, height: 32, width: 32, size: 32}"))
        classes = self.json("dataset", "inspect", self.config)["classes"]
        self.assertEqual([one["train"] for one in classes], [300] * 7)
        self.assertEqual(self.train("training.epochs=1")[0]["steps"], 2100 // 16)

    def test_images_become_pixels_of_one_size(self):
        made = self.json("dataset", "convert", MINI, "fixed", "--format=lmdb", "--pixels", "decoder.size=48")
        self.assertTrue(made["verified"])
        folder = next((self.dir / "fixed").glob("*train*"))
        entries, _ = self.entries(folder)
        self.assertEqual(len(entries), made["samples"])
        for _, value in entries:
            self.assertEqual(value[:10], b"\x08\x03\x10\x30\x18\x30\x22\x80\x36" + value[9:10])
            self.assertEqual(value[9 + 3 * 48 * 48:][:1], b"\x28")
        self.assertEqual(made["experiment"]["decoder"]["type"], "raw")
        self.assertIn("pixels", self.stoker("dataset", "convert", MINI, "other", "--format=tar_shards", "--pixels", code=2).stderr)

    def test_what_it_writes_is_trained_on(self):
        entries = self.write_images("mini_train_lmdb", IMAGES[::2])
        self.write_images("mini_test_lmdb", IMAGES[1::2])
        (self.shards / "classes.txt").write_text("\n".join(CLASSES))
        summary, _ = self.train("training.epochs=1")
        self.assertEqual(summary["steps"], len(entries) // 16)
        shard = self.shards / "mini_train_lmdb" / "data.mdb"
        bytes_of_shard = shard.read_bytes()
        rows = json.loads((shard.parent / "data.mdb.index.json").read_text())["index"]["samples"]
        self.assertEqual([bytes_of_shard[offset:offset + size] for _, _, offset, size in rows],
                         [value for _, value in entries])
        self.assertEqual([key for key, *_ in rows], [key[9:].decode() for key, _ in entries])

    def test_image_files_as_values_are_read(self):
        self.write("train", [(f"{image.parent.name}/{image.name}", image.read_bytes()) for image in IMAGES])
        found = self.json("dataset", "inspect", self.config)
        self.assertEqual({row["name"]: row["train"] for row in found["classes"]}, {name: IN_CLASS[name] for name in CLASSES})

    def test_it_reads_what_we_write(self):
        done = subprocess.run([WRITER, self.shards, *IMAGES], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with lmdb.open(str(self.shards / "train"), readonly=True, lock=False) as database, database.begin() as transaction:
            self.assertEqual(list(transaction.cursor()),
                             [(f"{i:08}_{image.name}".encode(), datum(image.read_bytes(), i))
                              for i, image in enumerate(IMAGES)])


if __name__ == "__main__":
    unittest.main()
