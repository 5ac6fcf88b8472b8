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


def expected(report):
    """What the tags of a report should be, from its line of steps.jsonl."""
    shares = report["segments_s"]
    values = {"training/loss": report["loss"], "training/learning_rate": report["learning_rate"],
              "training/epoch": report["epoch"], "training/images_per_s": report["images_per_s"],
              "io/io_share": report["io_share"], "io/device_idle": report["device_idle"],
              "accuracy/top1": report.get("top1"), "accuracy/top5": report.get("top5")}
    values |= {f"device_idle/{cause}": share for cause, share in report["idle_by_cause"].items()}
    values |= {f"segments/{name}": time / sum(shares.values()) for name, time in shares.items()}
    checkpoints = report["checkpoints"]
    values |= {f"checkpoints/{name}": checkpoints[name]
               for name in ("saved", "failed", "skipped", "drained", "drains_left")}
    for name in ("saved", "durable"):
        if f"{name}_step" in checkpoints:
            values[f"checkpoints/steps_since_{name}"] = report["step"] - checkpoints[f"{name}_step"]
    if checkpoints["set_bytes"]:
        values["checkpoints/set_bytes"] = checkpoints["set_bytes"]
    return {tag: value for tag, value in values.items() if value is not None}


class TensorBoardTest(StokerTest):
    CONFIG = recorded("jsonl", "tensorboard")

    def test_every_report_is_read_back(self):
        _, run = self.train()
        scalars = read(run)
        reports = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
        self.assertEqual(reports[-1]["step"], STEPS)
        for report in reports:
            found = {tag: points[report["step"]] for tag, points in scalars.items() if report["step"] in points}
            wanted = expected(report)
            self.assertEqual(found.keys(), wanted.keys())
            for tag, value in wanted.items():
                self.assertAlmostEqual(found[tag], value, delta=1e-6 * max(1, abs(value)), msg=tag)
        self.assertEqual({step for points in scalars.values() for step in points}, {r["step"] for r in reports})
        self.assertTrue(any("top1" in report for report in reports))

    def test_a_killed_run_is_read_to_its_last_report(self):
        process = self.start("train", self.config, *ENDLESS)
        process.until(lambda: (self.latest / "steps.jsonl").stat().st_size > 5_000)
        process.kill()
        run = self.latest
        reports = len((run / "steps.jsonl").read_text().splitlines())
        steps = sorted(read(run)["io/io_share"])
        self.assertEqual(steps, list(range(5, 5 * len(steps) + 1, 5)))
        self.assertIn(len(steps), (reports - 1, reports))  # jsonl is written before

    def test_a_damaged_byte_ends_the_reading(self):
        # So that the test above would see a wrong checksum.
        _, run = self.train("training.max_steps=10", "evaluation.enabled=false")
        self.assertEqual(sorted(read(run)["io/io_share"]), [5, 10])
        path = event_file(run)
        data = bytearray(path.read_bytes())
        data[-20] ^= 1
        path.write_bytes(data)
        self.assertEqual(sorted(read(run)["io/io_share"]), [5])


if __name__ == "__main__":
    unittest.main()
