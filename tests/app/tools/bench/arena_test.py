"""The frame and the arena with small programs in the place of peers: order, the table, what fails, pixels, shards."""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import unittest

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[3] / "experiments"
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "peers")]
import arena  # noqa: E402
import frame  # noqa: E402
import make_shards  # noqa: E402
from stoker import MINI, StokerTest  # noqa: E402


class Frame(StokerTest):
    def lab(self, **given):
        return frame.Lab("trial", argparse.Namespace(**{"rounds": 4, "seed": 1, "only": ""} | given), self.dir)

    def order(self, **how):
        seen = []
        seed = how.pop("seed", 1)
        self.lab(seed=seed).measure("", {name: lambda name=name: seen.append(name) or {"s": 1.0} for name in "abc"},
                                    **how)
        return ["".join(seen[at:at + 3]) for at in range(0, len(seen), 3)]

    def test_rounds_are_interleaved(self):
        self.assertEqual(self.order(), ["abc", "cba", "abc", "cba"])
        shuffled = self.order(shuffle=True)
        self.assertEqual({"".join(sorted(one)) for one in shuffled}, {"abc"})
        self.assertEqual(self.order(shuffle=True), shuffled)
        self.assertNotEqual(self.order(shuffle=True, seed=2), shuffled)

    def test_what_does_not_count_and_what_is_compared(self):
        values = iter([9, 1, 2, 3, 4])
        got = self.lab().measure("", {"a": lambda: {"s": next(values)}, "b": lambda: {"s": 2}}, warm_up=1,
                                 reference="b")
        self.assertEqual((got["a"]["s"], got.median("a", "s"), got.ratios("a", "b", "s")), ([1, 2, 3, 4], 2.5, [0.5, 1,
                                                                                                                1.5, 2]))

    def test_who_fails_is_left_out_and_named(self):
        def fails():
            raise frame.CannotMeasure("it is not here")
        lab = self.lab()
        got = lab.measure("trial", {"bad": fails, "good": lambda: {"s": 1}})
        self.assertEqual((list(got), lab.record["failed"]), (["good"], [{"what": "trial, bad",
                                                                         "why": "it is not here"}]))

    def test_every_experiment_says_what_it_is(self):
        words = [sys.executable, "-B", frame.HERE / "run.py"]
        listed = subprocess.run([*words, "--list"], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            self.assertRegex(line, r"^\w+ +\S.{20}")
        self.assertEqual(subprocess.run([*words, "none"], capture_output=True, check=False).returncode, 2)


class Arena(StokerTest):
    def arena(self, *words, code=0):
        done = subprocess.run([sys.executable, "-B", frame.HERE / "run.py", "arena", "--peers", self.dir, "--data",
                               MINI,
                               "--json", self.dir / "said.json", *words], capture_output=True, text=True, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads((self.dir / "said.json").read_text())

    def test_ours_is_measured_and_who_is_not_there_is_listed(self):
        said = self.arena("--only", "^(stoker|dali)$", "--rounds", "1", "--epochs", "1", "--workers", "1",
                          code=frame.NOT_MEASURED)
        [row] = said["tables"][0]["rows"]
        self.assertEqual((row["name"], row["ratio"]), ("stoker *", None))
        self.assertGreater(min(row[name] for name in ("images/s", "CPU-s/1000", "peak MB", "PSS MB")), 0)
        self.assertEqual([failed["what"] for failed in said["failed"]], ["dali"])

    def test_the_arena_of_shards(self):
        said = self.arena("--arena", "shards", "--data", self.dir / "none", code=frame.NOT_MEASURED)
        self.assertGreater({failed["what"] for failed in said["failed"]}, {"stoker-tar", "stoker-tfrecord-cold",
                                                                           "mds-cold"})


class Pixels(StokerTest):
    def levels(self, name, kind, shape, values):
        header = str({"descr": kind, "fortran_order": False, "shape": shape}).ljust(127 - 10) + "\n"
        (self.dir / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)
        return arena.grey_levels(self.dir / name)

    def test_differences_in_grey_levels_whatever_the_layout(self):
        # Two pixels of one image: (r, g, b) = (10, 20, 30) and (110, 120, 130).
        exact = self.levels("levels.npy", "|u1", (1, 1, 2, 3), bytes([10, 20, 30, 110, 120, 130]))
        planes = [(level + 1 - m) / s for levels, m, s in zip(((10, 110), (20, 120), (30, 136)), arena.MEAN, arena.STD)
                  for level in levels]
        mean, most = arena.difference(self.levels("floats.npy", "<f4", (1, 3, 1, 2), struct.pack("<6f", *planes)),
                                      exact)
        self.assertAlmostEqual(mean, (5 * 1 + 7) / 6, places=4)
        self.assertAlmostEqual(most, 7, places=4)
        with self.assertRaisesRegex(AssertionError, "3 values against 6: not the same images"):
            arena.difference(self.levels("other.npy", "|u1", (1, 1, 1, 3), b"abc"), exact)


class Shards(StokerTest):
    def test_tar_files_and_their_index(self):
        (self.dir / "tar").mkdir()
        (self.dir / "data").symlink_to(MINI)
        make_shards.tar(str(self.dir / "data"), str(self.dir / "tar"))
        shards, count = sorted((self.dir / "tar").iterdir()), 0
        self.assertEqual(len(shards), make_shards.SHARDS)
        for shard in shards:
            content = shard.read_bytes()
            first, *lines = (self.dir / "tar-index" / f"{shard.name}.idx").read_text().splitlines()
            self.assertEqual(first, f"v1.2 {len(lines)}")
            count += len(lines)
            for line in lines:
                jpg, offset, size, name, cls, label, digits, _ = line.split()
                self.assertEqual((jpg, cls, name[-4:]), ("jpg", "cls", ".jpg"))
                image = content[int(offset):int(offset) + int(size)]
                self.assertEqual((image[:2], image[-2:]), (b"\xff\xd8", b"\xff\xd9"))
                self.assertTrue(content[int(label):int(label) + int(digits)].isdigit())
        self.assertEqual(count, len(list(MINI.rglob("*.jpg"))))

    def test_records_have_their_places(self):
        path = self.dir / "x.tfrecord"
        path.write_bytes(b"".join(struct.pack("<QI", size, 0) + bytes(size + 4) for size in (5, 0, 300)))
        self.assertEqual(list(make_shards.records(path)), ["0 21", "21 16", "37 316"])


if __name__ == "__main__":
    unittest.main()
