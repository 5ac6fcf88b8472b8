#!/usr/bin/env python3
"""Several sweeps by study on one page: its figures, its Markdown, its short form; and the page in a real browser."""
import json
import unittest

from browser import DESKTOP, PHONE, Browser, complaints
from stoker import SOURCE, StokerTest, long

STUDIES = """
name: two
scratch: kept
title: Two studies
studies:
  - {title: Readers, published: "Reader et al. 2001", sweeps: [reads.yaml, machine.yaml]}
  - {title: Nobody, published: "nowhere", sweeps: [machine.yaml]}
"""
READS = """
name: reads
base: {dataset: {type: synthetic, samples: 64}, decoder: {type: turbojpeg, size: 32}, storage: {data: {type: posix, root: "${STOKER_SCRATCH:-scratch}"}}}
command: bench storage data
arguments: [--block-size=1MiB, --rounds=1, --threads=1]
matrix: {op: {read: [--op=read], write: [--op=write]}}
repeat: 2
findings:
  - {name: it reads, value: mb_per_s, of: {op: read}, published: 5, at_least: 1, mark: V, source: Reader et al. 2001}
  - {name: it cannot be so slow, value: mb_per_s, of: {op: write}, at_most: 0.001, note: memory is fast}
"""
MACHINE = """
name: machine
base: model.yaml
command: simulate
matrix: {nodes: {1: [machine.nodes=1], 2: [machine.nodes=2]}}
plots:
  - title: Idle
    x: nodes
    y: device.idle_s
    stack: [data, host]
    published: [{series: data, points: [[1, 0.25]], mark: V, source: S. Tack}]
findings: [{name: "two nodes, seconds", value: wall_s, of: {nodes: 2}, published: 1.08, tolerance: 1%, mark: S, source: S. Ource}]
"""
MODEL = """
workload: {data: {samples: 640}, costs: {decode_ms: 1, step_ms: 100}, loader: {type: sync}}
machine: {ranks_per_node: 4}
"""
READ = """(() => document.documentElement?.dataset.shown ? JSON.stringify({ kind: document.documentElement.dataset.shown,
  text: document.body.textContent, scroll: document.documentElement.scrollWidth, width: document.documentElement.clientWidth,
  plots: document.querySelectorAll(".area svg").length }) : null)()"""


class Studies(StokerTest):
    def setUp(self):
        super().setUp()
        for name, text in (("all", STUDIES), ("reads", READS), ("machine", MACHINE), ("model", MODEL)):
            (self.dir / f"{name}.yaml").write_text(text)

    def test_a_page_of_sweeps_alone(self):
        self.stoker("sweep", "all.yaml", code=7)
        page = json.loads(self.stoker("sweep", "all.yaml", "--report-only", "--json", code=7).stdout)
        rows = [row for study in page["studies"] for row in study["rows"]]
        self.assertEqual([row["verdict"] for row in rows], ["within", "outside", "within", "within"])
        self.assertEqual([row["how"] for row in rows], ["measured", "measured", "simulated", "simulated"])
        self.assertEqual([row["runs"] for row in rows], [2, 2, 1, 1])
        self.assertEqual(rows[0]["command"], "stoker sweep reads.yaml --only op=read")
        self.assertEqual(rows[3]["measured"], 1.08)
        text = (self.dir / "sweeps/two/studies.md").read_text()
        self.assertIn("| it reads | 5; at least 1 [V] | ", text)
        self.assertIn("| it cannot be so slow | at most 0.001 | ", text.split("## Readers")[0])  # among the contradictions
        self.assertIn("| memory is fast |", text)
        # What a row names makes its cells again.
        self.stoker(*rows[0]["command"].split()[1:], "--directory", "again")
        self.assertEqual(len(json.loads((self.dir / "again/results.json").read_text())["rows"]), 2)
        with Browser() as browser:
            for size in (DESKTOP, PHONE):
                browser.screen(size)
                browser.open((self.dir / "sweeps/two/studies.html").as_uri())
                shown = json.loads(browser.until(READ))
                self.assertEqual(complaints(browser.events)[0], [])
                self.assertEqual(shown["kind"], "studies")
                self.assertLessEqual(shown["scroll"], shown["width"])
                self.assertGreaterEqual(shown["plots"], 3)
                for words in ("Contradictions that are left", "memory is fast", "Reader et al. 2001", "simulated", "(S) S. Ource", "SIMULATED",
                              "25 %", "published (V): S. Tack"):
                    self.assertIn(words, shown["text"])

    @long
    def test_the_short_form_judges_nothing(self):
        self.stoker("sweep", "all.yaml", "--short")  # else 7
        text = (self.dir / "sweeps/two-short/studies.md").read_text()
        self.assertEqual(text.count("shortened, not judged"), 2)
        self.assertEqual(text.count("| within |"), 2)  # a simulation is not shortened
        self.assertNotIn("outside", text)
        self.assertNotIn("Contradictions", text)

    def test_what_is_of_one_sweep_is_refused(self):
        self.assertIn("--only", self.stoker("sweep", "all.yaml", "--only", "op=read", code=2).stderr)
        (self.dir / "all.yaml").write_text(STUDIES.replace("reads.yaml", "nowhere.yaml"))
        self.assertIn("nowhere.yaml", self.stoker("sweep", "all.yaml", code=3).stderr)
        self.assertFalse((self.dir / "sweeps").exists())
        (self.dir / "all.yaml").write_text(STUDIES.replace("scratch:", "scratc:"))
        self.assertIn("did you mean 'scratch'?", self.stoker("sweep", "all.yaml", "--check", code=2).stderr)

    def test_the_published_ones_are_whole(self):
        text = self.stoker("sweep", SOURCE / "configs/paper/all.yaml", "--check", cwd=SOURCE).stdout
        self.assertGreaterEqual(text.count(" runs of `stoker "), 17)
        for name in ("configs/paper", "configs/darshan"):
            named = (SOURCE / "configs/paper/all.yaml").read_text()
            for file in (SOURCE / name).glob("*.yaml"):
                if "\nmatrix:" in file.read_text():
                    self.assertIn(file.name, named)


if __name__ == "__main__":
    unittest.main()
