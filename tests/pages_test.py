#!/usr/bin/env python3
"""The pages for those who come with a question: their commands are run as they stand there."""
import re
import unittest

from pages import PageTest

OF_OTHER_TESTS = ("pip", "./run.sh")  # which install, and build
OUTPUT = ("cores", "storage", "tier", "binds")  # lines of `stoker size`, as a page shows them


class Pages(PageTest):
    def test_choosing_hardware(self):
        printed = self.run_commands("hardware.md")
        shown = re.findall(rf"(?m)^ {{4}}((?:{'|'.join(OUTPUT)}) .*)$", self.page("hardware.md"))
        self.assertEqual(len(shown), 4)
        for line in shown:  # whatever numbers are in it, and as far as the page shows it
            pieces = [re.escape(re.sub(r"\d[\d.,]*", "0", piece)) for piece in re.split(r"\.\.\.", line)]
            self.assertRegex(re.sub(r"\d[\d.,]*", "0", printed), "(?m)^" + ".*".join(pieces))

    def test_reproducing_a_study(self):
        self.run_commands("reproduce.md")
        self.assertIn("findings", (self.dir / "sweeps/short/report.html").read_text())

    def test_every_command_is_run_here_or_by_another_test(self):
        for name in ("hardware.md", "reproduce.md", "lab.md", "pytorch.md"):
            for line in re.findall(r"(?m)^ {4}(\S.*)$", re.sub(r"(?ms)^```.*?^```", "", self.page(name))):
                self.assertIn(line.split()[0], ("stoker", *OF_OTHER_TESTS, *OUTPUT))


if __name__ == "__main__":
    unittest.main()
