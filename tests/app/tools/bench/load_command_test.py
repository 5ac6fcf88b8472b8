"""`stoker bench load` as a user meets it."""
import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

from stoker import StokerTest, configuration, emulated, flow, posix

MIB = 1 << 20


def write(path, megabytes):
    """A safetensors file of one tensor."""
    size = int(megabytes * MIB)
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + os.urandom(size))


class BenchLoad(StokerTest):
    CONFIG = ""

    def setUp(self):
        super().setUp()
        self.file = self.dir / "model.safetensors"
        write(self.file, 12.5)

    def load(self, *arguments, code=0):
        return json.loads(self.stoker("bench", "load", *arguments, "--json", code=code).stdout)

    def test_files_are_loaded_in_turn_with_the_same_reads_alone(self):
        other = self.dir / "other.safetensors"
        header = b'{"v":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}'
        other.write_bytes(len(header).to_bytes(8, "little") + header + b"1234")
        report = self.load(self.file, other, "--rounds", 2, "--threads", 3, "--access", "direct")
        self.assertFalse(report["set"])
        self.assertGreaterEqual(report["bytes"], 12.5 * MIB)
        self.assertEqual(report["threads"], 3)
        self.assertEqual([row["what"] for row in report["results"]], ["load", "read alone"])
        for row in report["results"]:
            self.assertEqual(len(row["rounds"]), 2)
            self.assertLessEqual(row["seconds"]["min"], row["seconds"]["max"])
        self.assertGreater(report["rate_share"]["min"], 0)
        text = self.stoker("bench", "load", self.file, "--rounds", 1).stdout
        self.assertIn("of the rate by itself", text)

    def test_cold_is_verified_or_gives_no_figure(self):
        report = self.load(self.file, "--rounds", 2, "--cold", code=None)
        for row in report["results"]:
            for round_ in row["rounds"]:
                self.assertEqual(round_["counts"], round_["cached_before"] <= 0.03)
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            path = pathlib.Path(memory, "f")
            write(path, 1)
            report = self.load(path, "--rounds", 1, "--cold", code=3)
            self.assertNotIn("rate_share", report)
            self.assertIn("did not begin cold", self.stoker("bench", "load", path, "--rounds", 1, "--cold", code=3).stdout)

    def test_a_set_is_loaded_with_its_checksums(self):
        self.config.write_text(configuration(
            {"disk": posix(self.dir)}, training="{max_steps: 1}", evaluation="{enabled: false}",
            checkpoint="{type: direct, slow: disk, directory: sets}"))
        self.stoker("train", self.config)
        (found,) = (self.dir / "sets").glob("step-*")
        report = self.load(found, "--rounds", 1)
        self.assertTrue(report["set"])
        self.assertEqual(report["results"][0]["what"], "load and verify")
        (state,) = found.glob("*.safetensors")
        damaged = bytearray(state.read_bytes())
        damaged[-1] ^= 1
        state.write_bytes(damaged)
        done = self.stoker("bench", "load", found, "--rounds", 1, code=5)
        self.assertIn("damaged in bytes", done.stderr)

    def test_an_emulated_tier_takes_no_longer_than_its_rate_says(self):
        self.config.write_text("storage: " + flow(slow=emulated(self.dir, read_mb_per_s=100)) + "\n")
        report = self.load("model.safetensors", "--config", self.config, "--tier", "slow", "--rounds", 1)
        self.assertTrue(report["tiers"][0]["emulated"])
        self.assertAlmostEqual(report["ideal_s"], report["bytes"] / 100e6)
        self.assertGreaterEqual(report["results"][0]["seconds"]["min"], 0.9 * report["ideal_s"])
        self.assertGreaterEqual(report["results"][0]["ideal_share"]["min"], 0.9)

    def test_what_can_not_be_loaded_is_said(self):
        self.assertIn("No such file", self.stoker("bench", "load", self.dir / "nothing", code=3).stderr)
        self.assertIn("no safetensors file", self.stoker("bench", "load", self.config, code=5).stderr)
        self.config.write_text("storage: " + flow(disk=posix(self.dir)) + "\n")
        done = self.stoker("bench", "load", "f", "--config", self.config, "--tier", "dsik", code=2)
        self.assertIn("did you mean 'disk'", done.stderr)
        self.stoker("bench", "load", "f", "--tier", "disk", code=2)

    def test_a_tier_that_hangs_can_be_given_up(self):
        self.config.write_text("storage: " + flow(slow=emulated(self.dir, read_latency_ms=60_000)) + "\n")
        process = self.start("bench", "load", "model.safetensors", "--config", self.config, "--tier", "slow")
        process.until(lambda: len(os.listdir(f"/proc/{process.child.pid}/task")) > 1)  # one listens for signals
        time.sleep(0.3)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.log)


if __name__ == "__main__":
    unittest.main()
