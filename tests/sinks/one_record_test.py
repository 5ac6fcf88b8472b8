#!/usr/bin/env python3
"""One run, told once: a figure has the same name and value wherever it appears.

One real run with all sinks. The table of figures (`stoker list --figures`) says where each one stands in summary.json and
/api/status, what it is called in /metrics, steps.csv, timeline.csv and TensorBoard.
"""
import csv
import json
import math
import re
import unittest
import urllib.request

from stoker import StokerTest, emulated, free_port, read_summary, stoker
from training_run import recorded

# Whole epochs, so that no batch is read ahead that nobody takes.
OVERRIDES = (
    "training={max_steps: 36, epochs: 2}",
    "device={type: emulated, step_ms: 3}", f"storage.data={emulated(read_mb_per_s=200)}",
    f"storage.slow={emulated('slow', write_mb_per_s=50)}")
# Read anew each time: they go on after the run, or say when they were read.
MOVES = re.compile(r"now_unix_s|since_progress_s|overhead_s\..*|overhead_share|loaders\.\w+\.(queues\..*|workers.*|storage_bytes)")


def table():
    """[(name, kind, unit, name in /metrics)]"""
    text = stoker("list", "--figures", cwd="/").stdout
    rows = [[cell.strip() for cell in line.split(" | ")] for line in text.splitlines() if line.startswith("| `")]
    return [(re.search("`(.+?)`", row[0]).group(1), row[1].split(", ")[0], row[1].partition(", ")[2],
             row[-1].rstrip("|").strip().strip("`")) for row in rows]


def values_of(tree, name):
    """[(labels, value)] of a figure in a JSON object: every place that its name stands for."""
    found = [((), tree)]
    for part in name.split("."):
        step = []
        for labels, value in found:
            if not isinstance(value, dict):
                continue
            if part.startswith("{"):
                step += [((*labels, key), below) for key, below in value.items()]
            elif part in value:
                step.append((labels, value[part]))
        found = step
    leaf = (int, float)
    return {labels: value for labels, value in found
            if isinstance(value, leaf) or (isinstance(value, dict) and "count" in value and "sum" in value)}


def metrics(text):
    """{series: value} with sorted labels."""
    result = {}
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*?)\})? (\S+)$", text, re.MULTILINE):
        result[name, tuple(sorted(re.findall(r'(\w+)="(.*?)"', labels)))] = float(value)
    return result


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20) as reply:
        return reply.read().decode()


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


class OneRecord(StokerTest):
    CONFIG = recorded()

    def run_with_all_sinks(self):
        """Its directory, and what /metrics and /api/status said when it had ended."""
        port = free_port()
        sinks = ("{type: csv}, {type: jsonl}, {type: tensorboard}, {type: timeline, seconds: 0.2}, "
                 f"{{type: prometheus, listen: '127.0.0.1:{port}', linger: 60}}")
        process = self.start("train", self.config, *OVERRIDES, f"metrics.sinks=[{sinks}]")
        status = process.until(lambda: (s := json.loads(get(port, "api/status")))["status"] == "completed" and s)
        page = get(port, "metrics")
        self.assertEqual(process.wait(timeout=30), 0)
        return self.latest, status, page

    def test_a_figure_has_one_name_and_one_value(self):
        run, status, page = self.run_with_all_sinks()
        summary = read_summary(run)
        served = metrics(page)
        seen = {"summary": 0, "metrics": 0}
        for name, kind, _, exported in table():
            for labels, value in values_of(summary, name).items():
                at = ".".join(labels_in(name, labels))
                seen["summary"] += 1
                if not MOVES.fullmatch(at):
                    self.assert_same(at, value, values_of(status, name)[labels])
                if exported and not MOVES.fullmatch(at):
                    seen["metrics"] += self.assert_served(served, exported, kind, name, labels, value)
        self.assertGreater(seen["summary"], 150)
        self.assertGreater(seen["metrics"], 80)
        self.check_names_in_metrics(served)
        self.check_rows(run, summary)

    def assert_same(self, at, one, other):
        if isinstance(one, dict):
            one, other = (one["count"], one["sum"]), (other["count"], other["sum"])
            self.assertTrue(one[0] == other[0] and close(one[1], other[1]), f"{at}: {one} and {other}")
        else:
            self.assertTrue(close(one, other), f"{at}: {one} and {other}")

    def assert_served(self, served, exported, kind, name, labels, value):
        keys = tuple(sorted(zip(re.findall(r"\{(\w+)\}", name), labels)))
        if kind == "histogram":
            self.assertEqual(served[exported + "_count", keys], value["count"], name)
            self.assertTrue(close(served[exported + "_sum", keys], value["sum"]), name)
        else:
            self.assertTrue(close(served[exported, keys], value), f"{name}: {served[exported, keys]} and {value}")
        return 1

    def check_names_in_metrics(self, served):
        """Nothing is served that the table does not name, but words as labels."""
        words = {"stoker_build_info", "stoker_run_info", "stoker_tier_info", "stoker_run_status"}
        known = {exported for *_, exported in table()} | words
        for name, _ in served:
            self.assertIn(re.sub("_(bucket|sum|count)$", "", name) if name not in known else name, known)

    def check_rows(self, run, summary):
        """Columns are figures. In the last row of timeline.csv what is no quotient is what the summary says; the last
        row of steps.csv is of the last step, before what follows it."""
        kinds = {name: kind for name, kind, *_ in table()}
        for file, same in (("steps.csv", ("steps", "epoch", "images")), ("timeline.csv", ())):
            with open(run / file, newline="", encoding="utf-8") as rows:
                *_, last = csv.DictReader(rows)
            for column, text in last.items():
                figure = next((name for name in kinds if re.fullmatch(pattern(name), column)), None)
                self.assertIsNotNone(figure, f"{file}: {column}")
                if text and kinds[figure] != "quotient" and not MOVES.fullmatch(column) and (not same or column in same):
                    self.assertTrue(close(float(text), self.at(summary, column)), f"{file}: {column}")
        reports = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
        self.assertEqual(reports[-1]["images"], summary["images"])

    @staticmethod
    def at(tree, place):
        for part in place.split("."):
            tree = tree[part]
        return tree


def labels_in(name, labels):
    labels = iter(labels)
    return [next(labels) if part.startswith("{") else part for part in name.split(".")]


def pattern(name):
    return re.sub(r"\\\{\w+\\\}", "[^.]+", re.escape(name))


if __name__ == "__main__":
    unittest.main()
