#!/usr/bin/env python3
"""TensorBoard reads the event file of a real run."""
import json
import unittest

from stoker import StokerTest, with_packages
from training_run import ENDLESS, STEPS, recorded

with_packages("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator  # noqa: E402


def read(directory):
    """{tag: {step: value}} by TensorBoard's own reader."""
    events = EventAccumulator(str(directory), size_guidance={SCALARS: 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def event_file(run):
    path, = run.glob("events.out.tfevents.*")
    return path


def expected(report, prefix=""):
    """The tags of a report, from its line of steps.jsonl: its places, with slashes."""
    values = {}
    for name, value in report.items():
        values |= expected(value, f"{prefix}{name}/") if isinstance(value, dict) else {prefix + name: value}
    return values


class TensorBoardTest(StokerTest):
    CONFIG = recorded("jsonl", "tensorboard")

    def test_every_report_is_read_back(self):
        _, run = self.train()
        scalars = read(run)
        reports = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
        self.assertEqual(reports[-1]["steps"], STEPS)
        for report in reports:
            found = {tag: points[report["steps"]] for tag, points in scalars.items() if report["steps"] in points}
            wanted = expected(report)
            self.assertEqual(found.keys(), wanted.keys())
            for tag, value in wanted.items():
                self.assertAlmostEqual(found[tag], value, delta=1e-6 * max(1, abs(value)), msg=tag)
        self.assertEqual({step for points in scalars.values() for step in points}, {r["steps"] for r in reports})
        self.assertTrue(any("evaluation" in report for report in reports))

    def test_a_killed_run_is_read_to_its_last_report(self):
        process = self.start("train", self.config, *ENDLESS)
        process.until(lambda: (self.latest / "steps.jsonl").stat().st_size > 5_000)
        process.kill()
        run = self.latest
        reports = len((run / "steps.jsonl").read_text().splitlines())
        steps = sorted(read(run)["io_share"])
        self.assertEqual(steps, list(range(5, 5 * len(steps) + 1, 5)))
        self.assertIn(len(steps), (reports - 1, reports))  # jsonl is written before

    def test_a_damaged_byte_ends_the_reading(self):
        # So that the test above would see a wrong checksum.
        _, run = self.train("training.max_steps=10", "evaluation.enabled=false")
        self.assertEqual(sorted(read(run)["io_share"]), [5, 10])
        path = event_file(run)
        data = bytearray(path.read_bytes())
        data[-20] ^= 1
        path.write_bytes(data)
        self.assertEqual(sorted(read(run)["io_share"]), [5])


if __name__ == "__main__":
    unittest.main()
