#!/usr/bin/env python3
"""`stoker dataset convert`: killed at any time, it goes on, and the result is as if nothing had happened."""
import random
import re
import shutil
import signal
import time
import unittest

import yaml

from stoker import LOADERS, LONG, MINI, StokerTest, configuration, emulated, flow, long, posix

SLOW = emulated(read_latency_ms=8)
SHARDS = ("--shard-size", "150k")


def contents(folder):
    """Every file below it, hidden ones too."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class ConvertTest(StokerTest):
    CONFIG = configuration(dataset="{type: image_folder, storage: data, split: {train_per_class: 12, test_per_class: 3}}")

    def convert(self, to, *arguments, format="tar_shards", **options):
        return self.json("dataset", "convert", self.config, to, "--format", format, *SHARDS, *arguments, **options)


class Resumed(ConvertTest):
    def killed(self, format):
        """Kills it at random instants, until it has come to its end."""
        self.convert("whole", format=format)
        seed = time.time_ns()
        rng = random.Random(seed)
        shutil.rmtree(self.dir / "killed", ignore_errors=True)
        command = ("dataset", "convert", self.config, "killed", f"storage.data={SLOW}", "--format", format, *SHARDS)
        kills = 0
        while kills < (60 if LONG else 6):
            process = self.start(*command)
            time.sleep(rng.uniform(0.05, 0.9))
            if process.child.poll() is not None:
                self.assertEqual(process.child.returncode, 0, process.log)
                break
            process.kill()
            kills += 1
            # It may have come to its end, and was killed on its way out, with its lock still there.
            now = contents(self.dir / "killed")
            if now.keys() - {".tmp-convert.lock"} == contents(self.dir / "whole").keys():
                (self.dir / "killed" / ".tmp-convert.lock").unlink(missing_ok=True)
                break
        else:
            self.stoker(*command)
        self.assertGreater(kills, 0)
        whole, killed = contents(self.dir / "whole"), contents(self.dir / "killed")
        self.assertEqual(sorted(killed), sorted(whole), f"seed {seed}")
        self.assertEqual(killed, whole, f"seed {seed}")

    def test_shards(self):
        self.killed("tar_shards")

    @long
    def test_files(self):
        self.killed("image_folder")

    @long
    def test_pixels(self):
        self.killed("packed")

    def test_nothing_is_left_of_one_that_was_killed_before_its_plan_was_there(self):
        """Its first rename is that of the plan."""
        killer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2",
                  "-e", "inject=rename,renameat,renameat2:signal=KILL:when=1"]
        self.stoker("dataset", "convert", self.config, "out", "--format", "tar_shards", *SHARDS, before=killer, code=None)
        self.assertTrue(list((self.dir / "out").glob(".tmp-*")), "the first one was to leave something")
        self.convert("out")
        self.assertEqual(list((self.dir / "out").glob(".tmp-*")), [])

    def test_sigterm_is_a_request_to_stop(self):
        process = self.start("dataset", "convert", self.config, "out", f"storage.data={SLOW}",
                             "--format", "tar_shards", *SHARDS)
        process.until(lambda: (self.dir / "out/convert-train-00001.json").exists())
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertIn("the same command goes on", process.log)
        done = self.convert("out", f"storage.data={SLOW}")
        self.assertGreater(done["found"], 0)
        self.assertFalse((self.dir / "out/convert.json").exists())

    @long
    def test_one_process_at_a_time(self):
        first = self.start("dataset", "convert", self.config, "out", "--format", "tar_shards",
                           f"storage.data={emulated(read_latency_ms=100)}")
        first.until(lambda: (self.dir / "out/convert.json").exists())
        second = self.stoker("dataset", "convert", self.config, "out", "--format", "tar_shards", code=3)
        self.assertIn("another process writes to", second.stderr)
        first.send(signal.SIGINT)
        self.assertEqual(first.wait(), 130)


class Again(ConvertTest):
    def test_the_same_command_after_its_end_is_no_error(self):
        formats = ("tar_shards", "packed", "tfrecord", "hdf5", "lmdb", "image_folder", "file_list")
        for format in formats if LONG else formats[:2]:
            with self.subTest(format):
                command = ("dataset", "convert", self.config, format, "--format", format, *SHARDS)
                self.stoker(*command)
                before = contents(self.dir / format)
                self.assertRegex(self.stoker(*command).stdout, "^complete already: 150 samples")
                self.assertTrue(self.convert(format, format=format)["complete_before"])
                self.assertEqual(contents(self.dir / format), before)
                said = self.stoker(*command, "dataset.split.train_per_class=11", code=3)
                self.assertIn("nothing is written over", said.stderr)
                self.assertEqual(contents(self.dir / format), before)


class Converted(ConvertTest):
    def digests(self, *overrides):
        self.stoker("train", self.config, "loader.digest=true", "training.max_steps=12", *overrides)
        return (self.latest / "digests.csv").read_text()

    def test_what_it_prints_trains_with_the_same_batches(self):
        plain = self.digests()
        known = re.search(r"--format TEXT.*one of: (.*)\.", self.stoker("dataset", "convert", "--help").stdout)
        formats = known[1].split(", ")
        self.assertIn("lmdb", formats)
        for number, format in enumerate(formats if LONG else ("lmdb", "packed")):
            text = self.stoker("dataset", "convert", self.config, self.dir / format, "--format", format, *SHARDS).stdout
            said, experiment = text.split("To train on them:\n\n")
            self.assertRegex(said, r"^150 samples, 0 of them damaged, 0 bad ones left out, \d+ shards, \d+ bytes, verified\. $")
            experiment = yaml.safe_load(experiment)
            self.assertEqual(experiment.get("decoder", {}).get("type", ""), "raw" if format == "packed" else "")
            overrides = [f"{key}={flow(**value)}" for key, value in experiment.items() if key != "storage"]
            overrides.append(f"storage.converted={flow(**experiment['storage']['converted'])}")
            for loader in LOADERS if format == "tar_shards" else [LOADERS[number % 4]]:
                self.assertEqual(self.digests(*overrides, f"loader.type={loader}"), plain, (format, loader))

    @long
    def test_a_directory_and_a_tier_are_places_too(self):
        done = self.json("dataset", "convert", MINI, "tars", "--format", "tar_shards", "dataset.split.test_fraction=0.1")
        self.assertEqual(done["samples"], sum(1 for path in MINI.rglob("*.jpg")))
        self.assertEqual(done["experiment"]["dataset"], {"type": "tar_shards", "storage": "converted"})
        tier = f"storage.slow={posix('tier')}"
        done = self.convert("some/folder", tier, "--tier", "slow")
        self.assertEqual(done["experiment"]["dataset"]["train"], "some/folder/train-*.tar")
        self.assertTrue((self.dir / "tier/some/folder/train-00000.tar").exists())
        self.assertNotIn("storage", done["experiment"])
        said = self.stoker("dataset", "convert", self.config, "x", "--format", "packed", "--tier", "slo", tier, code=2)
        self.assertIn("unknown storage tier 'slo' (did you mean 'slow'?)", said.stderr)
        shutil.copytree(MINI, self.dir / "images")
        said = self.stoker("dataset", "convert", "images", "images/out", "--format", "packed", code=2)
        self.assertIn("lies in images, whose folders are its classes", said.stderr)

    def test_what_is_wrong_is_said(self):
        said = self.stoker("dataset", "convert", self.config, "out", "--format", "tar_shard", code=2)
        self.assertIn("unknown format 'tar_shard' (did you mean 'tar_shards'?)", said.stderr)
        self.stoker("dataset", "convert", self.config, "--format", "packed", code=2)
        said = self.stoker("dataset", "convert", self.config, "out", code=2)
        self.assertIn("name the format to write by --format", said.stderr)
        self.stoker("dataset", "convert", self.config, "out", "--format", "packed", "--shard-size", "x", code=2)
        said = self.stoker("dataset", "convert", self.config, "out", "--format", "packed", "decoder.output=float32", code=2)
        self.assertIn("must give pixels as uint8", said.stderr)
        self.assertFalse((self.dir / "out").exists())

    def test_a_damaged_shard_is_found(self):
        command = ("dataset", "convert", self.config, "out", f"storage.data={SLOW}", "--format", "tar_shards", *SHARDS)
        process = self.start(*command)
        process.until(lambda: (self.dir / "out/convert-train-00000.json").exists())
        process.kill()
        shard = self.dir / "out/train-00000.tar"
        good = shard.read_bytes()
        shard.write_bytes(good[:700] + bytes([good[700] ^ 1]) + good[701:])
        said = self.stoker(*command, code=5)
        self.assertRegex(said.stderr, r"sample \w+/image_\d+\.jpg of train-00000 does not read as it was written: its bytes are "
                                      r"others \(XXH3\): run the same command again")
        self.stoker(*command)
        self.assertEqual(shard.read_bytes(), good)


if __name__ == "__main__":
    unittest.main()
