#!/usr/bin/env python3
"""The pages for those who come with a question: their commands are known and have the options that they
name; with STOKER_LONG=1 they are run as they stand there."""
import itertools
import re
import unittest

from pages import PageTest
from stoker import long

PAGES = ("hardware.md", "reproduce.md", "lab.md", "pytorch.md")
OF_OTHER_TESTS = ("pip", "./run.sh")  # which install, and build
OUTPUT = ("cores", "storage", "tier", "binds")  # lines of `stoker size`, as a page shows them


class Pages(PageTest):
    @long
    def test_choosing_hardware(self):
        printed = self.run_commands("hardware.md")
        shown = re.findall(rf"(?m)^ {{4}}((?:{'|'.join(OUTPUT)}) .*)$", self.page("hardware.md"))
        self.assertEqual(len(shown), 4)
        for line in shown:  # whatever numbers are in it, and as far as the page shows it
            pieces = [re.escape(re.sub(r"\d[\d.,]*", "0", piece)) for piece in re.split(r"\.\.\.", line)]
            self.assertRegex(re.sub(r"\d[\d.,]*", "0", printed), "(?m)^" + ".*".join(pieces))

    @long
    def test_reproducing_a_study(self):
        self.run_commands("reproduce.md")
        self.assertIn("findings", (self.dir / "sweeps/short/report.html").read_text())

    def test_every_command_is_run_here_or_by_another_test(self):
        for name in PAGES:
            for line in re.findall(r"(?m)^ {4}(\S.*)$", re.sub(r"(?ms)^```.*?^```", "", self.page(name))):
                self.assertIn(line.split()[0], ("stoker", *OF_OTHER_TESTS, *OUTPUT))

    def test_every_command_has_the_options_that_a_page_gives_it(self):
        asked = {}
        for name in PAGES:
            for line in re.findall(r"(?m)^ {4}stoker (.+)$", self.page(name)):
                words = re.split(r" +[#|>&;]", line)[0].split()
                command = tuple(itertools.takewhile(lambda word: re.fullmatch("[a-z-]+", word) and word[0] != "-", words[:2]))
                asked.setdefault(command, set()).update(re.findall(r"(?<!\S)--[a-z-]+", line))
        self.assertGreater(len(asked), 5)
        for command, options in asked.items():
            with self.subTest(command):
                done = self.stoker(*command, "--help")
                self.assertEqual({option for option in options if not re.search(rf"{option}\b", done.stdout)}, set())


if __name__ == "__main__":
    unittest.main()
