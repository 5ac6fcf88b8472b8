#!/usr/bin/env python3
"""The sinks `jsonl` and `timelogger` of a real run say what its summary says."""
import csv
import json
import unittest

from stoker import StokerTest, long, read_summary
from training_run import BATCH, ENDLESS, STEPS, recorded

MICROSECOND = 2e-6  # to which each record is cut


def records(run):
    with open(run / "time_logger_output" / "0", newline="") as file:
        return list(csv.DictReader(file))


class RecordsTest(StokerTest):
    CONFIG = recorded("csv", "jsonl", "timelogger")

    def of(self, description):
        return [r for r in self.records if r["Action Description"] == description]

    def total(self, description):
        return sum(float(r["Time Taken"]) for r in self.of(description))

    def assert_sums_to(self, description, seconds):
        self.assertAlmostEqual(self.total(description), seconds, delta=MICROSECOND * (1 + len(self.of(description))))

    def test_reports_and_records_agree_with_the_summary(self):
        summary, run = self.train()
        self.check_jsonl(run, summary)
        self.records = records(run)
        self.check_iterations(summary)
        self.check_checkpoints(summary)

    @long
    def test_the_summary_has_what_the_command_computes(self):
        for ranks in 1, 2:
            self.stoker("launch", "trial.yaml", f"--ranks={ranks}", "distributed={}", "loader.batch_size=10",
                        "checkpoint={type: none}", "--quiet")
            computed = self.json("timelogger", self.latest)
            for of_files in "files", "records", "bad_lines", "joined", "read_bytes", "read_mb_per_s":
                computed.pop(of_files)
            summary = read_summary(self.latest)
            self.assertEqual(summary["timelogger"], computed)
            self.assertEqual(summary["timelogger"]["nodes"], ranks)
            self.assertGreater(summary["timelogger"]["hepcnnb"]["read_share"], 0)
            self.assertGreater(summary["timelogger"]["cdb"]["index"], 0)
            if ranks > 1:
                self.assertNotIn("timelogger", read_summary(self.latest / "rank-1"))

    @long
    def test_an_emulated_device_evaluates_in_time_if_it_is_asked_to(self):
        emulated = ["device={type: emulated, step_ms: 10}", "checkpoint={type: none}"]
        summary, run = self.train(*emulated)
        self.records = records(run)
        validations = self.of("Validation")
        self.assertEqual([r["Epoch"] for r in validations], [str(epoch) for epoch in range(len(validations))])
        self.assertGreater(len(validations), 1)
        self.assert_sums_to("Validation", summary["segments_s"]["eval"])
        self.assertGreaterEqual(summary["segments_s"]["eval"], 0.010 * len(validations))
        self.assertEqual(summary.get("evaluations", []), [])
        self.assertLess(summary["timelogger"]["cdb"]["index_with_validation"], summary["timelogger"]["cdb"]["index"])
        self.stoker("launch", "trial.yaml", "--ranks=2", "distributed={}", "--quiet", *emulated)
        of_two = read_summary(self.latest)["segments_s"]["eval"]
        self.assertGreaterEqual(of_two, 0.010 * len(validations))
        summary, _ = self.train(*emulated, "evaluation={enabled: true}")
        self.assertEqual(summary["segments_s"]["eval"], 0)

    @long
    def test_without_the_sink_there_is_none(self):
        summary, _ = self.train("metrics.sinks=[{type: csv}]")
        self.assertNotIn("timelogger", summary)

    def check_jsonl(self, run, summary):
        reports = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
        self.assertEqual([r["steps"] for r in reports], list(range(5, STEPS + 1, 5)))
        with open(run / "steps.csv", newline="") as file:
            for report, row in zip(reports, csv.DictReader(file), strict=True):
                self.assertEqual((report["steps"], report["epoch"], report["images"]),
                                 (int(row["steps"]), int(row["epoch"]), int(row["images"])))
                self.assertAlmostEqual(report["loss"], float(row["loss"]), places=6)
                self.assertAlmostEqual(report["segments_s"]["data_wait"], float(row["segments_s.data_wait"]), places=5)
        self.assertEqual(reports[-1]["images"], summary["images"])
        self.assertEqual(reports[-1]["checkpoints"]["failed"], 0)
        shares = reports[-1]["device"]["idle_share_by_cause"].values()
        self.assertAlmostEqual(sum(shares), reports[-1]["device"]["idle_share"], places=9)

    def check_iterations(self, summary):
        iterations, waits = self.of("Training Iteration"), self.of("Call to Next Batch")
        self.assertEqual((len(iterations), len(waits)), (STEPS, STEPS))
        self.assert_sums_to("Call to Next Batch", summary["segments_s"]["data_wait"])
        self.assert_sums_to("Checkpoint Listener", summary["segments_s"]["checkpoint_stall"])
        self.assert_sums_to("Validation", summary["segments_s"]["eval"])
        self.assertGreater(len(self.of("Validation")), 0)
        for wait, iteration in zip(waits, iterations):
            self.assertEqual(wait["Start Time"], iteration["Start Time"])
            self.assertEqual(wait["Epoch"], iteration["Epoch"])
            self.assertLessEqual(float(wait["End Time"]), float(iteration["End Time"]))
        for before, after in zip(iterations, iterations[1:]):
            self.assertLessEqual(float(before["End Time"]), float(after["Start Time"]) + MICROSECOND)
        epochs = [int(r["Epoch"]) for r in iterations]
        per_epoch = epochs.count(0)
        self.assertEqual(epochs, [step // per_epoch for step in range(STEPS)])
        loop, = self.of("Training Loop")
        self.assertAlmostEqual(float(loop["Time Taken"]), summary["wall_s"], delta=0.01 * summary["wall_s"])
        # Batches that were read ahead are read, too.
        reads = self.of("Time to Read Single Image")
        self.assertGreaterEqual(len(reads), STEPS * BATCH)
        self.assertEqual({r["Epoch"] for r in reads}, {"-1"})
        self.assertEqual({r["Rank"] for r in self.records}, {"0"})
        self.assertEqual(len({r["Process ID"] for r in self.records}), 1)

    def check_checkpoints(self, summary):
        saved = sorted(int(r["Epoch"]) for r in self.of("Checkpoint Write"))
        self.assertEqual(saved, [15, 30, STEPS])
        self.assertEqual(summary["checkpoints"]["saved"], len(saved))

    def test_a_killed_run_leaves_whole_lines(self):
        process = self.start("train", self.config, *ENDLESS)
        process.until(lambda: (self.latest / "time_logger_output" / "0").stat().st_size > 100_000
                      and (self.latest / "steps.jsonl").stat().st_size > 5_000)
        process.kill()
        run = self.latest
        text = (run / "steps.jsonl").read_text()
        self.assertTrue(text.endswith("}\n"))
        self.assertEqual([json.loads(line)["steps"] for line in text.splitlines()],
                         list(range(5, 5 * text.count("\n") + 1, 5)))
        self.assertTrue((run / "time_logger_output" / "0").read_text().endswith("\n"))
        for record in records(run):
            self.assertEqual(len(record), 9)
            self.assertNotIn(None, record.values())


if __name__ == "__main__":
    unittest.main()
