#!/usr/bin/env python3
"""Device idle and its causes against the truth: an emulated device, which knows its own time exactly, and
delays that are put into reading, decoding, copying and checkpoints, so that the idle time can be calculated.

STOKER names the binary, SLOW_DECODER the plug-in of tests/plugins/slow_decoder.cpp.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

STOKER = os.environ.get("STOKER", "stoker")
SLOW_DECODER = os.environ["SLOW_DECODER"]
MINI = pathlib.Path(__file__).resolve().parents[3] / "datasets" / "caltech101-mini"
TOLERANCE = 0.02  # of the device time observed
BATCH = 4
STEPS = 20
STEP_S = 0.1
CONFIG = f"""
run:        {{name: oracle, seed: 1}}
device:     {{type: emulated, step_ms: {1e3 * STEP_S}}}
storage:
  data: {{type: posix, root: {MINI}}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: 10, test_per_class: 1}}}}
decoder:    {{type: jpeg, size: 32}}
loader:     {{type: sync, batch_size: {BATCH}}}
model:      {{type: linear}}
training:   {{max_steps: {STEPS}}}
metrics:    {{every_steps: 5, sinks: []}}
"""


class IdleOracleTest(unittest.TestCase):
    def train(self, *overrides):
        """summary.json, and the idle shares by cause."""
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "oracle.yaml"
            config.write_text(CONFIG)
            done = subprocess.run([STOKER, "train", "--json", config, f"run.dir={folder}/runs", *overrides],
                                  cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            summary = json.loads(done.stdout)
        device = summary["device"]
        self.assertLessEqual(summary["closure_error"], 0.001)
        return summary, {cause: idle / device["observed_s"] for cause, idle in device["idle_s_by_cause"].items()}

    def assert_idle(self, shares, **expected):
        for cause, share in shares.items():
            self.assertAlmostEqual(share, expected.get(cause, 0), delta=TOLERANCE, msg=f"{cause}: {shares}")

    def input_bound(self, *overrides):
        # The sync loader fills the next batch while the device works on the one before: the device waits for
        # what a batch takes longer than a step, and for all of the first one.
        summary, shares = self.train(*overrides)
        batch_s = 2 * STEP_S
        observed = STEPS * batch_s + STEP_S
        self.assertAlmostEqual(summary["device"]["observed_s"], observed, delta=TOLERANCE * observed)
        self.assert_idle(shares, data=(observed - STEPS * STEP_S) / observed)
        self.assertAlmostEqual(summary["io_share"], STEPS * batch_s / observed, delta=TOLERANCE)
        return summary["loader_cost"]

    def test_reading(self):
        delay_ms = 1e3 * 2 * STEP_S / BATCH
        cost = self.input_bound(f"storage.data={{type: emulated, read_mb_per_s: 1e6, write_mb_per_s: 1e6, "
                                f"read_latency_ms: {delay_ms}, inner: {{type: posix, root: {MINI}}}}}")
        self.assertGreater(cost["read_s"], 10 * cost["decode_s"])

    def test_decoding(self):
        delay_ms = 1e3 * 2 * STEP_S / BATCH
        cost = self.input_bound(f"plugins=[{SLOW_DECODER}]",
                                f"decoder={{type: slow, delay_ms: {delay_ms}, inner: {{type: jpeg, size: 32}}}}")
        self.assertGreater(cost["decode_s"], 10 * cost["read_s"])

    def test_copying(self):
        # Copies follow each other on their own engine: a step may begin every copy_s.
        copy_s = 3 * STEP_S
        _, shares = self.train(f"device.h2d_latency_us={1e6 * copy_s}", "loader.type=prefetched")
        observed = STEPS * copy_s + STEP_S
        self.assert_idle(shares, h2d=(observed - STEPS * STEP_S) / observed)

    def test_checkpoints(self):
        # A checkpoint waits for the device, then blocks the trainer until it is written; the last one comes
        # after the last step.
        saves = 3
        summary, shares = self.train(
            "storage.slow={type: emulated, read_mb_per_s: 1e6, write_mb_per_s: 0.1, inner: {type: posix, root: slow}}",
            "checkpoint={type: direct, slow: slow, every_steps: 5, durability: none}")
        self.assertEqual(summary["checkpoints"]["saved"], saves + 1)
        save_s = summary["checkpoints"]["set_bytes"] / 1e5
        self.assertGreater(save_s, 5 * STEP_S)
        observed = STEPS * STEP_S + saves * save_s
        self.assert_idle(shares, checkpoint=saves * save_s / observed)

    def test_nothing_to_wait_for(self):
        _, shares = self.train("loader.type=prefetched")
        self.assert_idle(shares)


if __name__ == "__main__":
    unittest.main(verbosity=2)
