#!/usr/bin/env python3
"""A run directory on a disk that is full: the training goes on without what it cannot write there, says so once for
each sink, takes its last checkpoint, and ends with exit code 3.
"""
import json
import re
import unittest
import urllib.request

from shortages import small_disk
from stoker import StokerTest, configuration, free_port, posix

SINKS = ("csv", "jsonl", "timeline", "trace", "tensorboard", "prometheus")


class FullRunDirectoryTest(StokerTest):
    CONFIG = configuration(
        tiers={"slow": posix("checkpoints")},
        dataset="{type: synthetic, samples: 160, test_samples: 0, unique: 10}", training="{epochs: 1000, max_steps: 300}",
        decoder="{type: turbojpeg, size: 16}", loader="{type: prefetched, batch_size: 8, workers: 1, digest: true}",
        checkpoint="{type: direct, slow: slow, every_steps: 100, keep_last: 100}")

    def setUp(self):
        super().setUp()
        small_disk(self, self.dir / "runs", "192k")

    def test_training_goes_on(self):
        port = free_port()
        sinks = ", ".join(
            f"{{type: {kind}{more}}}" for kind, more in
            [("csv", ""), ("jsonl", ""), ("timeline", ", seconds: 0.01"), ("trace", ", steps: 1000000"), ("tensorboard", ""),
             ("prometheus", f", listen: '127.0.0.1:{port}', save_seconds: 1, linger: 60")])
        process = self.start("train", self.config, f"metrics={{every_steps: 1, sinks: [{sinks}]}}", "--json")
        process.until(lambda: re.search(r"^stoker_sinks_failed_total(\{.*\})? [1-9]", self.scrape(port), re.MULTILINE))
        process.until(lambda: not process.alive() or self.scrape(port) is None)  # who lingers wants to be scraped
        self.assertEqual(process.wait(), 3, process.log)
        summary = json.loads(process.output)
        self.assertEqual((summary["steps"], summary["exit_code"], summary["status"]), (300, 3, "failed"))
        self.assertEqual((summary["checkpoints"]["saved_step"], summary["checkpoints"]["failed"]), (300, 0))
        self.assertGreater(summary["sinks_failed"], 3)
        for sink in SINKS:
            self.assertLessEqual(process.log.count(f"goes on without the sink {sink}"), 1, process.log)
        self.assertEqual(process.log.count("goes on without digests.csv"), 1, process.log)
        self.assertIn("No space left on device: the training goes on without the sink csv", process.log)
        self.assertRegex(process.log, r"error: .*No space left")
        for rows in [*self.latest.glob("*.csv")]:
            text = rows.read_text()
            self.assertTrue(text == "" or text.endswith("\n"), (rows.name, text[-100:]))
            self.assertEqual(len({line.count(",") for line in text.splitlines()}), min(1, len(text)), rows.name)
        for line in (self.latest / "steps.jsonl").read_text().splitlines():
            json.loads(line)

    def scrape(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
            return reply.read().decode()


if __name__ == "__main__":
    unittest.main(verbosity=2)
