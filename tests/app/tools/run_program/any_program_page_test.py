#!/usr/bin/env python3
"""docs/any-program.md: its script and its commands, as they stand there."""
import json
import os
import re
import unittest

from pages import PageTest
from programs.cases import PYTHON
from stoker import why_no_mount


class AnyProgramPage(PageTest):
    def setUp(self):
        super().setUp()
        if why := why_no_mount():
            self.skipTest(why)
        script, = re.findall(r"(?ms)^```python\n(.*?)^```", self.page("any-program.md"))
        (self.dir / "train.py").write_text(script)
        programs = self.dir / "programs"  # the page's python3 is one that has PyTorch
        programs.mkdir()
        (programs / "python3").symlink_to(PYTHON)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = f"{programs}:{path}"

    def record(self, name):
        return json.loads((self.dir / name).read_text())

    def test_its_commands(self):
        printed = self.run_commands("any-program.md")
        self.assertEqual(printed.count("trained"), 2)
        now, hdd = self.record("now.json"), self.record("hdd.json")
        self.assertEqual([tier["tier"] for tier in hdd["tiers"]], ["hdd"])
        self.assertNotIn("tiers", now)
        for record in (now, hdd):
            self.assertEqual(record["io"]["exit_code"], 0)
            self.assertTrue(record["verdict"]["what"])
        self.assertIn(hdd["verdict"]["what"], (self.dir / "hdd.html").read_text())
        images = list((self.dir / "datasets/caltech101-mini").rglob("*.jpg"))
        for record in (now, hdd):
            self.assertGreaterEqual(record["io"]["opens"], 2 * len(images))  # two epochs
        total, = re.findall(r"(?m)^total .*$", printed)[:1]
        self.assertEqual(int(total.split()[1]), len([f for f in (self.dir / "datasets/caltech101-mini").rglob("*") if f.is_file()]))


if __name__ == "__main__":
    unittest.main()
