#!/usr/bin/env python3
"""The notebook of the pages: each cell runs, with what the checkout has."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/python.ipynb"


class NotebookTest(unittest.TestCase):

    def test_every_cell_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "markdown", "--execute", "--output-dir", folder, NOTEBOOK],
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = pathlib.Path(folder, "python.md").read_text(encoding="utf-8")
        self.assertIn("(32, 3, 112, 112) float32 (32,) int64", page)
        self.assertIn("restored step 1 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]", page)


if __name__ == "__main__":
    unittest.main()
