"""arena.py with small programs in the place of peers: order, resuming, the table, pixels, what fails."""
import json
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import unittest

import make_shards
import page_cache
from stoker import MINI, STOKER, StokerTest, until

ARENA = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("arena.py")), "--stoker", STOKER, "arena.yaml"]
# Prints the line of JSON of a peer: its rate is RATE times its workers; appends its name to order.txt.
PEER = """
import json, sys, time
name, rate, workers, epochs = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
open("order.txt", "a").write(f"{name}:{workers}\\n")
print("a library says hello")
print(json.dumps(dict(name=name, workers=workers, images_per_s=rate * workers, rates=[rate * workers * f for f in (0.9, 1, 1.2)],
                      per_cpu_s=500, rss_mb=100 + workers, pss_mb=50, shape=[4, 3, 2, 2], layout="NCHW", version=f"{name} 1.0")))
"""
FILE = """
name: trial
work: nothing much
peers: %(dir)s
data: "%(dir)s/my data"
rounds: 2
epochs: 7
entries:
  - {name: slow, class: fast and slow, command: "{peers}/peer.py slow 100 {workers} {epochs}", buffers: fresh, note: rests a lot}
  - {name: quick, class: fast and slow, command: "{peers}/peer.py quick 300 {workers} {epochs}"}
  - {name: one, class: other, workers: [1], command: "{here}/peer.py one 10 {workers} {epochs}"}
"""


class Arena(StokerTest):
    def setUp(self):
        super().setUp()
        self.write_program("peer.py", PEER)
        self.write(FILE % {"dir": self.dir})

    def write_program(self, name, text):
        (self.dir / name).write_text(f"#!{sys.executable}\n{text}")
        (self.dir / name).chmod(0o755)

    def write(self, text):
        (self.dir / "arena.yaml").write_text(text)

    def add(self, entry):
        self.write((self.dir / "arena.yaml").read_text() + f"  - {entry}\n")

    def arena(self, *arguments, code=0):
        done = subprocess.run([*ARENA, *map(str, arguments)], capture_output=True, text=True, cwd=self.dir, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json(self, *arguments, code=0):
        return json.loads(self.arena("--json", *arguments, code=code).stdout)

    def order(self):
        path = self.dir / "order.txt"
        return path.read_text().split() if path.exists() else []

    def rows(self):
        path = self.dir / "arenas/trial/results.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Running(Arena):
    def test_the_table(self):
        result = self.json()
        self.assertEqual([(line["class"], line["name"], line["workers"]) for line in result["lines"]],
                         [("fast and slow", "quick", 1), ("fast and slow", "slow", 1), ("fast and slow", "quick", 2),
                          ("fast and slow", "slow", 2), ("other", "one", 1)])
        quick = result["lines"][2]
        self.assertEqual((quick["images_per_s"], quick["min"], quick["max"]), (600, 540, 720))
        self.assertEqual((quick["cpu_s_per_1000"], quick["peak_mb"], quick["pss_mb"], quick["rounds"]), (2, 102, 50, 2))
        self.assertEqual(quick["batches"], "[4,3,2,2] NCHW")
        self.assertEqual((result["absent"], result["failed"], result["missing_runs"]), ([], [], 0))
        self.assertTrue(result["conditions"]["cpu"])
        self.assertEqual(len(result["conditions"]["load"]), 2)
        text = self.arena().stdout
        self.assertRegex(text, r"fast and slow +slow +2 +200 +180-240 +30\.0 % +2\.000 +102 +50 +0\.33 +- +fresh\n")
        self.assertIn("versions: one 1.0; quick 1.0; slow 1.0\n", text)
        self.assertIn("slow: rests a lot\n", text)
        self.assertIn("2 rounds of 7 epochs", text)

    def test_rounds_are_interleaved_and_the_order_is_the_seeds(self):
        self.arena("--rounds", 6)
        first = self.order()
        self.assertEqual(len(first), 30)
        rounds = [first[at:at + 5] for at in range(0, 30, 5)]
        for one in rounds:  # everything once before anything comes twice
            self.assertEqual(sorted(one), ["one:1", "quick:1", "quick:2", "slow:1", "slow:2"])
        self.assertGreater(len({tuple(one) for one in rounds}), 1)
        (self.dir / "order.txt").unlink()
        self.arena("--rounds", 6, "--restart")
        self.assertEqual(self.order(), first)
        (self.dir / "order.txt").unlink()
        self.arena("--rounds", 6, "--restart", "seed=2")
        self.assertNotEqual(self.order(), first)

    def test_a_selection(self):
        result = self.json("--only", "qui,other", "--workers", 1)
        self.assertEqual([line["name"] for line in result["lines"]], ["quick", "one"])
        self.assertEqual(len(self.order()), 4)
        self.assertIn("nothing is left to run", self.arena("--only", "nobody", code=2).stderr)

    def test_what_is_done_is_not_run_again(self):
        self.arena("--rounds", 1)
        rows = self.rows()
        self.assertEqual(len(rows), 5)
        self.arena("--rounds", 1)
        self.assertEqual(self.rows(), rows)
        self.arena("--rounds", 2)
        self.assertEqual(self.rows()[:5], rows)
        self.assertEqual(len(self.order()), 10)
        # Another command is another measurement.
        self.write((self.dir / "arena.yaml").read_text().replace("quick 300", "quick 330"))
        self.assertEqual(self.json()["lines"][0]["images_per_s"], 330)
        self.assertEqual(len(self.order()), 14)
        # A line that was broken off does not count, and does not harm the next.
        with open(self.dir / "arenas/trial/results.jsonl", "a") as file:
            file.write('{"entry": "slow", "wor')
        self.assertEqual(self.json("--rounds", 3)["missing_runs"], 0)
        self.assertEqual(len(self.order()), 19)

    def test_after_a_signal_it_goes_on(self):
        self.write_program("sleeper.py", "import time; open('here', 'w'); time.sleep(60)")
        self.add('{name: sleeper, class: other, workers: [1], command: "{here}/sleeper.py"}')
        process = subprocess.Popen([*ARENA, "--rounds", "1"], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        until((self.dir / "here").exists, lambda: "the sleeper does not run")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, out + err)
        self.assertIn("still to be done", out)
        self.assertNotIn("sleeper", {row["entry"] for row in self.rows()})
        self.write_program("sleeper.py", PEER.replace("sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])",
                                                      "'sleeper', 1, 1, 1"))
        done = len(self.order())
        self.assertEqual(self.json("--rounds", 1)["missing_runs"], 0)
        self.assertEqual(len(self.order()), 6)
        self.assertLess(done, 6)

    def test_ours_stand_beside_the_best_other(self):
        (self.dir / "trial.yaml").write_text(
            "dataset: {type: synthetic, samples: 64, classes: 2, test_samples: 0}\ndevice: {type: cpu}\n"
            "decoder: {type: jpeg, size: 32}\nloader: {type: prefetched, batch_size: 16, workers: 1}\n")
        self.add('{name: ours, class: fast and slow, workers: [1], command: '
                 '"{stoker} bench loader {here}/trial.yaml loader.workers={workers} --epochs {epochs} --quick --json"}')
        lines = {(line["name"], line["workers"]): line for line in self.json("--rounds", 1)["lines"]}
        ours = lines["ours", 1]
        self.assertTrue(ours["ours"])
        self.assertAlmostEqual(ours["ratio_to_best_other"], ours["images_per_s"] / 300)
        self.assertEqual(lines["quick", 1]["ratio_to_best_other"], 1)
        self.assertGreater(ours["peak_mb"], 0)
        self.assertGreater(ours["cpu_s_per_1000"], 0)
        self.assertEqual(ours["batches"], "[16,32,32,3] NHWC uint8")


    def test_ours_may_have_its_figures_in_a_row(self):
        self.write_program("rows.py", "import json; print(json.dumps(dict(results=[dict(threads=2, images_per_s=dict(median=70))])))")
        self.add('{name: rows, class: other, workers: [2], command: "{here}/rows.py"}')
        lines = {line["name"]: line for line in self.json("--rounds", 1, "--only", "rows")["lines"]}
        self.assertEqual(lines["rows"]["images_per_s"], 70)


class Shards(StokerTest):
    def make(self):
        shutil.copytree(MINI, self.dir / "data", ignore=shutil.ignore_patterns("README.md"))
        make_shards.tar(str(self.dir / "data"), str(self.dir / "tar"))

    def test_tar_files_and_their_index(self):
        (self.dir / "tar").mkdir()
        self.make()
        shards = sorted((self.dir / "tar").iterdir())
        self.assertEqual(len(shards), make_shards.SHARDS)
        count = 0
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
        self.assertEqual(count, len(list((self.dir / "data").rglob("*.jpg"))))

    def test_what_was_read_is_in_the_page_cache_and_what_is_kept_after_dropping_is_said(self):
        path = self.dir / "file"
        path.write_bytes(bytes(100000))
        with open(path, "rb") as file:
            self.assertEqual(page_cache.cached_bytes(file.fileno(), 100000), 100000)
        share = page_cache.drop([path])
        with open(path, "rb") as file:
            self.assertEqual(page_cache.cached_bytes(file.fileno(), 100000), round(share * 100000))

    def test_records_have_their_places(self):
        path = self.dir / "x.tfrecord"
        path.write_bytes(b"".join(struct.pack("<QI", size, 0) + bytes(size + 4) for size in (5, 0, 300)))
        self.assertEqual(list(make_shards.records(path)), ["0 21", "21 16", "37 316"])

    def test_the_arena_of_shards_lists_who_is_not_there(self):
        file = pathlib.Path(__file__).with_name("shards.yaml")
        done = subprocess.run([*ARENA[:-1], file, "--report-only", "--json", "--directory", self.dir, f"peers={self.dir}",
                               f"data={self.dir}/none"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = {(entry["name"], entry["class"]) for entry in json.loads(done.stdout)["absent"]}
        self.assertIn(("stoker-tar", "warm"), entries)
        self.assertIn(("mds-cold", "cold"), entries)


class Trouble(Arena):
    def test_who_is_not_there_is_listed(self):
        self.add('{name: far, class: other, command: "{peers}/v-far/run", needs: "{peers}/v-far", install: get it}')
        self.assertIn("not there: far (other): get it\n", self.arena().stdout)
        result = self.json()
        self.assertEqual(result["absent"], [{"name": "far", "class": "other", "install": "get it"}])
        self.assertEqual(result["missing_runs"], 0)
        (self.dir / "v-far").mkdir()
        shutil.copy(self.dir / "peer.py", self.dir / "v-far/run")
        self.write((self.dir / "arena.yaml").read_text().replace("v-far/run", "v-far/run far 1 {workers} 1"))
        self.assertEqual(self.json()["absent"], [])
        self.assertIn("far:2", self.order())

    def test_failures_are_shown_and_tried_again(self):
        self.write_program("bad.py", "import sys; sys.exit('first\\nModuleNotFoundError: no module named x')")
        self.write_program("mute.py", "print('nothing to say')")
        self.add('{name: bad, class: other, workers: [2], command: "{here}/bad.py"}')
        self.add('{name: mute, class: other, workers: [2], command: "{here}/mute.py"}')
        self.add('{name: gone, class: other, workers: [2], command: "{here}/gone.py"}')
        self.add('{name: endless, class: other, workers: [2], command: "sleep 600"}')
        result = self.json("--rounds", 1, "timeout_s=1", code=3)
        errors = {failure["name"]: failure["error"] for failure in result["failed"]}
        self.assertEqual(errors["bad"], "exit code 1: ModuleNotFoundError: no module named x")
        self.assertEqual(errors["mute"], "it printed no JSON with images_per_s")
        self.assertRegex(errors["gone"], "^exit code 127: .*not found")
        self.assertEqual(errors["endless"], "took longer than 1 s")
        self.assertEqual(len(result["lines"]), 5)  # the others are measured
        before = len(self.rows())
        self.assertIn("failed: bad workers=2 round 0: exit code 1: Module",
                      self.arena("--rounds", 1, "timeout_s=1", code=3).stdout)
        self.assertEqual(len(self.rows()), before + 4)

    def test_bad_files(self):
        def refused(text, message, code=2):
            self.write(text)
            self.assertRegex(self.arena(code=code).stderr, message)

        good = FILE % {"dir": self.dir}
        refused(good.replace("buffers", "bufers"), r"arena.yaml: entries.0: unknown key 'bufers' \(did you mean 'buffers'")
        refused(good.replace("name: quick", "name: slow"), "entries.1: 'name' must be given once, got 'slow' again")
        refused(good.replace("name: one,", "name: one, reference: true,"), "needs 'pixels'")
        refused(good.replace("rounds: 2", "rounds: 0"), "rounds")
        (self.dir / "arena.yaml").unlink()
        self.assertIn("arena.yaml", self.arena(code=3).stderr)

    def test_words_with_spaces_reach_the_command_whole(self):
        (self.dir / "my data").mkdir()
        self.add('{name: folder, class: other, workers: [1], command: "ls {data} && {here}/peer.py folder 1 {workers} 1"}')
        self.assertIn("folder", [line["name"] for line in self.json("--rounds", 1)["lines"]])


class Pixels(Arena):
    def write_npy(self, name, kind, shape, values):
        header = str({"descr": kind, "fortran_order": False, "shape": shape})
        header = header.ljust(127 - 10) + "\n"
        (self.dir / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)

    def test_differences_in_grey_levels_whatever_the_layout(self):
        # Two pixels of one image: (r, g, b) = (10, 20, 30) and (110, 120, 130).
        self.write_npy("levels.npy", "|u1", (1, 1, 2, 3), bytes([10, 20, 30, 110, 120, 130]))
        mean, std = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
        planes = [(level + 1 - m) / s for levels, m, s in zip(((10, 110), (20, 120), (30, 136)), mean, std)
                  for level in levels]
        self.write_npy("floats.npy", "<f4", (1, 3, 1, 2), struct.pack("<6f", *planes))
        entry = '{name: %s, class: pixels, workers: [1], command: "{here}/peer.py %s 1 1 1", pixels: "cp {here}/%s {dump}"%s}'
        self.add(entry % ("exact", "exact", "levels.npy", ", reference: true"))
        self.add(entry % ("other", "other", "floats.npy", ""))
        lines = {line["name"]: line for line in self.json("--rounds", 1, "--pixels", "--only", "pixels")["lines"]}
        self.assertEqual(lines["exact"]["pixels"], {"reference": "exact", "mean": 0, "p99": 0, "max": 0})
        self.assertAlmostEqual(lines["other"]["pixels"]["mean"], (5 * 1 + 7) / 6, places=4)
        self.assertAlmostEqual(lines["other"]["pixels"]["max"], 7, places=4)
        text = self.arena("--rounds", 1, "--only", "pixels").stdout  # compared before, shown again
        self.assertRegex(text, r"pixels +other .* 2\.000 +-\n")
        self.assertRegex(text, r"pixels +exact .* ref +-\n")

    def test_other_images_are_an_error(self):
        self.write_npy("a.npy", "|u1", (1, 1, 1, 3), b"abc")
        self.write_npy("b.npy", "|u1", (2, 1, 1, 3), b"abcdef")
        entry = '{name: %s, class: pixels, workers: [1], command: "{here}/peer.py x 1 1 1", pixels: "cp {here}/%s.npy {dump}"%s}'
        self.add(entry % ("a", "a", ", reference: true"))
        self.add(entry % ("b", "b", ""))
        self.add(entry % ("c", "c", ""))
        done = self.arena("--rounds", 1, "--pixels", "--only", "pixels", code=3)
        self.assertRegex(done.stdout, "failed: b .* pixels: 6 values against 3: not the same images")


if __name__ == "__main__":
    unittest.main()
