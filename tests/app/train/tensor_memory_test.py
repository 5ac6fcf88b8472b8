#!/usr/bin/env python3
"""A training takes its tensors by malloc: by posix_memalign, a run with many evaluations grows (docs/notes/cpu-steps.md)."""
import unittest

from stoker import BUILD, StokerTest, configuration


class TensorMemory(StokerTest):
    CONFIG = configuration(
        dataset="{type: synthetic, samples: 40, test_samples: 20, unique: 4}", loader="{type: sync, batch_size: 20}",
        training="{epochs: 20, threads: 1}", evaluation="{every_epochs: 1}")

    def test_no_tensor_of_a_step_or_an_evaluation_is_an_aligned_block(self):
        count = self.dir / "count"
        counting = {"LD_PRELOAD": str(BUILD / "tests/libaligned_blocks.so"), "ALIGNED_BLOCKS": str(count)}
        summary = self.json("train", self.config, env=counting)
        self.assertEqual((summary["steps"], len(summary["evaluations"])), (40, 20))
        self.assertLess(int(count.read_text()), 20)  # those of the start


if __name__ == "__main__":
    unittest.main()
