"""tests/support/programs/photographs.py on a photograph pasted together from the small data set: what it says of its files is so."""
import collections
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

from PIL import Image
from stoker import MINI, StokerTest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "support/programs/photographs.py"
# Codes of each length for luma's AC coefficients in T.81, table K.5: tables made for one file hardly ever have these.
T81_COUNTS = bytes([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d])
SAMPLINGS = {(0x22, 0x11, 0x11): "420", (0x11, 0x11, 0x11): "444", (0x11,): "grey"}


def segments(data):
    """{marker: payload} of the segments before the first scan, which comes last."""
    found, at = {}, 2
    while True:
        marker, end = data[at + 1], at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        found.setdefault(marker, b"")
        found[marker] += data[at + 4:end]
        if marker == 0xda:
            return found
        at = end


class Photographs(StokerTest):
    @classmethod
    def setUpClass(cls):
        cls.sources = cls.enterClassContext(tempfile.TemporaryDirectory())
        source = Image.new("RGB", (2592, 1944))
        for i, path in enumerate(sorted(MINI.rglob("*.jpg"))[:432:4]):
            with Image.open(path) as image:
                source.paste(image.resize((216, 216)), (i % 12 * 216, i // 12 * 216))
        source.save(pathlib.Path(cls.sources, "many.jpg"), quality=95)

    def make(self, name, *options):
        subprocess.run([sys.executable, "-B", SCRIPT, self.dir / name, self.sources, *options], check=True,
                       stdout=subprocess.DEVNULL)
        with open(self.dir / name / "photographs.csv", newline="") as table:
            return list(csv.DictReader(table))

    def test_the_table_says_what_the_files_are(self):
        rows = self.make("all", "--files", "25")
        for row in rows:
            data = (self.dir / "all" / row["file"]).read_bytes()
            found = segments(data)
            frame = found.get(0xc0) or found[0xc2]
            self.assertEqual(len(data), int(row["bytes"]))
            self.assertEqual([int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big")],
                             [int(row["width"]), int(row["height"])])
            self.assertEqual(SAMPLINGS[tuple(frame[7::3])], row["sampling"])
            self.assertEqual(0xc2 in found, row["coding"] == "progressive")
            self.assertEqual(T81_COUNTS in found[0xc4], row["coding"] == "baseline", row)
        self.check_statistics(rows)
        self.check_inspection(rows)

    def check_statistics(self, rows):
        sizes = {size: sum(row["size"] == size for row in rows) for size in ("small", "medium", "large")}
        self.assertEqual(sizes, {"small": 4, "medium": 20, "large": 1})
        kinds = {(row["sampling"], row["coding"]) for row in rows if row["size"] == "medium"}
        self.assertGreaterEqual(kinds, {(s, c) for s in ("420", "444") for c in ("baseline", "optimised", "progressive")})
        sides = [{row["width"], row["height"]} for row in rows if row["size"] == "medium"]
        self.assertGreater(sum(side == {"500", "375"} for side in sides), 6)
        median = statistics.median(int(row["bytes"]) for row in rows)
        self.assertTrue(70_000 < median < 150_000, median)

    def check_inspection(self, rows):
        (self.dir / "read.yaml").write_text(
            "storage: {data: {type: posix, root: all}}\ndataset: {type: image_folder, storage: data}\n")
        text = self.stoker("dataset", "inspect", "read.yaml").stdout
        counts = collections.Counter((row["coding"] == "progressive", row["sampling"]) for row in rows)
        self.assertRegex(text, rf"\b{counts[True, '420']} progressive YCbCr 4:2:0")
        self.assertRegex(text, rf"\b{counts[False, '444']} baseline YCbCr 4:4:4")

    def test_a_seed_gives_the_same_bytes_again_and_another_one_others(self):
        files = {}
        for name, seed in (("one", "3"), ("same", "3"), ("other", "4")):
            rows = self.make(name, "--files", "2", "--seed", seed)
            files[name] = [(row["file"], (self.dir / name / row["file"]).read_bytes()) for row in rows]
        self.assertEqual(files["one"], files["same"])
        self.assertNotEqual(files["one"], files["other"])


if __name__ == "__main__":
    unittest.main()
