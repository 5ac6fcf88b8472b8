#!/usr/bin/env python3
"""Device idle and its causes against the truth: an emulated device, which knows its own time exactly, and
delays that are put into reading, decoding, copying and checkpoints, so that the idle time can be calculated.
A machine that is held up makes the delays longer, never shorter: the time observed has a lower bound, and
what the device did not work of it has one cause.
"""
import unittest

from stoker import StokerTest, configuration, emulated, slow_decoder

TOLERANCE = 0.03  # of the device time observed
BATCH = 4
STEPS = 20
STEP_S = 0.1


class IdleOracleTest(StokerTest):
    CONFIG = configuration(
        device=f"{{type: emulated, step_ms: {1e3 * STEP_S}}}",
        dataset="{type: image_folder, storage: data, split: {train_per_class: 10, test_per_class: 1}}",
        decoder="{type: turbojpeg, size: 32}", loader=f"{{type: sync, batch_size: {BATCH}}}",
        training=f"{{max_steps: {STEPS}}}", metrics="{every_steps: 5, sinks: []}")

    def summary_of(self, *overrides):
        summary, _ = self.train(*overrides)
        self.assert_ledger_closes(summary)
        return summary

    def assert_idle(self, shares, **expected):
        for cause, share in shares.items():
            self.assertAlmostEqual(share, expected.get(cause, 0), delta=TOLERANCE, msg=f"{cause}: {shares}")

    def assert_one_cause(self, summary, cause, at_least_s):
        observed = summary["device"]["observed_s"]
        self.assertGreater(observed, 0.999 * at_least_s)
        self.assert_idle(summary["device"]["idle_share_by_cause"],
                         **{cause: (observed - STEPS * STEP_S) / observed})

    def input_bound(self, *overrides):
        # The sync loader fills the next batch while the device works on the one before: the device waits for
        # what a batch takes longer than a step, and for all of the first one.
        summary = self.summary_of(*overrides)
        self.assert_one_cause(summary, "data", STEPS * 2 * STEP_S + STEP_S)
        self.assertAlmostEqual(summary["io_share"], 1 - STEP_S / summary["device"]["observed_s"], delta=TOLERANCE)
        return {stage: of["duration_s"]["sum"] for stage, of in summary["loaders"]["train"]["stages"].items()}

    def test_reading(self):
        delay_ms = 1e3 * 2 * STEP_S / BATCH
        cost = self.input_bound(f"storage.data={emulated(read_latency_ms=delay_ms)}")
        self.assertGreater(cost["read"], 10 * cost["decode"])

    def test_decoding(self):
        delay_ms = 1e3 * 2 * STEP_S / BATCH
        cost = self.input_bound(*slow_decoder(delay_ms, size=32))
        self.assertGreater(cost["decode"], 10 * cost["read"])

    def test_copying(self):
        # Copies follow each other on their own engine: a step may begin every copy_s.
        copy_s = 3 * STEP_S
        summary = self.summary_of(f"device.h2d_latency_us={1e6 * copy_s}", "loader.type=prefetched")
        self.assert_one_cause(summary, "h2d", STEPS * copy_s + STEP_S)

    def test_checkpoints(self):
        # A checkpoint waits for the device, then blocks the trainer until it is written; the last one comes
        # after the last step.
        saves = 3
        summary = self.summary_of(
            f"storage.slow={emulated('slow', write_mb_per_s=0.1)}",
            "checkpoint={type: direct, slow: slow, every_steps: 5, durability: none}")
        self.assertEqual(summary["checkpoints"]["saved"], saves + 1)
        save_s = summary["checkpoints"]["set_bytes"] / 1e5
        self.assertGreater(save_s, 5 * STEP_S)
        self.assert_one_cause(summary, "checkpoint", STEPS * STEP_S + saves * save_s)

    def test_nothing_to_wait_for(self):
        summary = self.summary_of("loader.type=prefetched")
        self.assert_idle(summary["device"]["idle_share_by_cause"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
