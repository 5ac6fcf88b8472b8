"""stoker try: folders of a user's own, the experiment that it writes, and commands that are given a folder instead of one."""
import io
import shutil
import tarfile
import unittest

from images import png
from stoker import MINI, StokerTest, long

# A small network on small images: what is measured here is not the point.
SMALL = ["decoder.size=32", "model={type: linear}", "loader.batch_size=4"]


class Try(StokerTest):
    def setUp(self):
        super().setUp()
        self.folder = self.dir / "photographs"
        self.folder.mkdir()

    def fill(self, name, count=4):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        files = sorted(MINI.rglob("*.jpg"))
        for i in range(count):
            shutil.copy(files[i * 7 % len(files)], folder / f"{i}.jpg")
        return folder

    def try_it(self, *arguments):
        return self.json("try", self.folder, *SMALL, *arguments)

    def dataset(self, result):
        """What the file that it wrote says of the data, as the program reads it."""
        return self.json("check", result["experiment"])["dataset"]

    def test_a_folder_of_classes(self):
        self.fill("cats", 12)
        self.fill("dogs", 12)
        with tarfile.open(self.folder / "old.tar", "w") as tar:  # that one of them was unpacked from
            tar.add(self.folder / "cats", "cats")
        result = self.try_it()
        self.assertIn("shards of tar lie there, too, and are passed over", str(result))
        self.assertEqual(result["experiment"], "photographs.yaml")
        self.assertEqual(sum(each["train"] for each in result["data"]["classes"]), 22)
        self.assertEqual(result["headspace"]["levels"][0]["level"], "device")
        self.assertIn("images/s", result["sentence"])
        self.assertEqual(self.dataset(result)["type"], "image_folder")
        # It trains.
        summary = self.json("train", "photographs.yaml", "training.max_steps=2")
        self.assertEqual(summary["steps"], 2)
        # The same again is no other file.
        self.try_it()
        text = self.stoker("try", self.folder, *SMALL).stdout
        for words in ("a folder of images for each class", "all are JPEG, which `jpeg` decodes", "page_cache", "Next: stoker train photographs.yaml"):
            self.assertIn(words, text)

    def test_nothing_of_the_users_is_replaced(self):
        self.fill("cats")
        self.fill("dogs")
        before = sorted(self.folder.rglob("*"))
        own = self.dir / "photographs.yaml"
        own.write_text("# mine\n")
        said = self.stoker("try", self.folder, *SMALL, code=3).stderr
        self.assertIn("--to FILE", said)
        self.assertEqual(own.read_text(), "# mine\n")
        self.assertEqual(self.try_it("--to", "other.yaml")["experiment"], "other.yaml")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    @long
    def test_images_without_classes(self):
        self.fill(".")
        result = self.try_it()
        self.assertEqual(result["what"], "images without classes")
        self.assertTrue(self.dataset(result)["one_class"])
        self.assertEqual([each["name"] for each in result["data"]["classes"]], ["images"])

    @long
    def test_parts_and_a_lone_folder_above_the_classes(self):
        for part in ("train", "val"):
            self.fill(f"ours/{part}/cats")
            self.fill(f"ours/{part}/dogs")
        dataset = self.dataset(self.try_it())
        self.assertEqual((dataset["folder"], dataset["test_folder"]), ("train", "val"))
        shutil.rmtree(self.folder / "ours" / "val")
        shutil.move(self.folder / "ours" / "train", self.folder / "ours" / "animals")
        result = self.try_it("--to", "lone.yaml")
        self.assertEqual({each["name"] for each in result["data"]["classes"]}, {"cats", "dogs"})

    @long
    def test_what_jpeg_does_not_decode_and_what_is_damaged(self):
        self.fill("cats", 8)
        self.fill("dogs", 8)
        for i in range(4):
            (self.folder / "cats" / f"{i}.png").write_bytes(png(64, 48, seed=i))
        (self.folder / "dogs" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more")
        result = self.try_it()
        self.assertEqual(len(result["data"]["unreadable"]), 1)
        self.assertEqual(self.dataset(result)["on_error"]["policy"], "skip")
        self.assertIn("16 JPEG files by `jpeg`, 4 others by `opencv`", self.stoker("try", self.folder, *SMALL).stdout)

    @long
    def test_shards(self):
        with tarfile.open(self.folder / "0001.tar", "w") as tar:
            for i, file in enumerate(sorted(MINI.rglob("*.jpg"))[:12]):
                for suffix, data in (("jpg", file.read_bytes()), ("cls", str(i % 3).encode())):
                    entry = tarfile.TarInfo(f"{i:04}.{suffix}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
        (self.folder / "train.txt").write_text("notes, and no shard")
        result = self.try_it()
        self.assertEqual(self.dataset(result)["type"], "tar_shards")
        self.assertEqual(result["data"]["samples"], 12)
        one = self.json("try", self.folder / "0001.tar", *SMALL, "--to", "one.yaml")
        self.assertEqual(one["data"]["samples"], 12)

    def test_what_is_no_data_is_said(self):
        (self.folder / "notes.txt").write_text("no image")
        said = self.stoker("try", self.folder, code=3).stderr
        self.assertIn("holds no images", said)
        self.assertIn("'notes.txt'", said)
        self.assertIn("cannot be found", self.stoker("try", self.dir / "nowhere", code=3).stderr)
        packed = self.folder / "train-000.tar.gz"
        packed.write_bytes(b"")
        self.assertIn("unpack it", self.stoker("try", self.folder, code=3).stderr)
        packed.unlink()
        (self.folder / "events.h5").write_text("")
        self.assertIn("only a configuration can describe", self.stoker("try", self.folder, code=3).stderr)

    @long
    def test_commands_that_are_given_a_folder_name_it(self):
        for command in (["train"], ["check"], ["headspace"], ["dataset", "inspect"], ["bench", "loader"]):
            said = self.stoker(*command, self.folder, code=2).stderr
            self.assertIn(f"`stoker try {self.folder}`", said)
            self.assertNotIn("Is a directory", said)
        (self.folder / "config.yaml").write_text("")
        self.assertIn(f"{self.folder}/config.yaml", self.stoker("train", self.folder, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
