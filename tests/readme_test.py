#!/usr/bin/env python3
"""The example of README.md: its commands are run as they stand there, and what it prints of them has to come of it.

Tier and device are emulated, so that its figures are those of their options, not of this machine. What a machine that
does much else takes from the tier, the run says, and is allowed for.
"""
import pathlib
import re
import shlex
import unittest

from stoker import SOURCE, StokerTest, read_summary

EXAMPLE = re.search(r"(?ms)^## An example.*?(?=^## )", (SOURCE / "README.md").read_text()).group()
LISTING = [line.strip() for line in re.findall(r"(?m)^ {4}(.+)$", EXAMPLE)]
COMMANDS = [shlex.split(line, comments=True) for line in LISTING if line.startswith("stoker ")]
RESULT = [line for line in LISTING if not line.startswith("stoker ")]
FIGURE = re.compile(r"(\S+) +([\d.]+)(?: %)? +([\d.]+)(?: %)? +[+-].* {2}(\D+)$")
# A part of the example is enough; its emulated disk is not shared with tests beside this one.
SHORTER = ["training.epochs=3", "storage.data.shared=false"]


def figures(lines):
    """name: (A, B, verdict)"""
    found = [FIGURE.fullmatch(line) for line in lines]
    return {match[1]: (float(match[2]), float(match[3]), match[4]) for match in found if match}


def delayed(run):
    """The share of its time by which the tier was slower than what it emulates."""
    summary = read_summary(pathlib.Path(run))
    return summary["tiers"]["data"]["overrun_s"] / summary["wall_s"]


class Example(StokerTest):
    def run_directory(self, command):
        """That of the page's training, whose output names it last."""
        done = self.stoker(*command[1:], *SHORTER, f"run.dir={self.dir}", cwd=SOURCE)
        return re.fullmatch(r"run directory: (.+)", done.stdout.splitlines()[-1])[1]

    def test_what_the_page_prints_comes_of_what_it_says(self):
        self.assertEqual([command[1] for command in COMMANDS], ["train", "train", "compare"])
        runs = {"RUN_A": self.run_directory(COMMANDS[0]), "RUN_B": self.run_directory(COMMANDS[1])}
        slack = 0.15 + max(map(delayed, runs.values()))
        lines = [line.strip() for line in
                 self.stoker(*[runs.get(word, word) for word in COMMANDS[2][1:]]).stdout.splitlines()]

        with self.subTest("all lines but those with figures are printed like that, whatever numbers are in them"):
            printed = [re.sub(r"\d+", "0", line) for line in lines]
            for line in RESULT:
                if not FIGURE.fullmatch(line):
                    self.assertIn(re.sub(r"\d+", "0", line), printed)

        here = figures(lines)
        for name, (a, b, verdict) in figures(RESULT).items():
            with self.subTest(name):
                for page, now in zip((a, b), here[name]):
                    self.assertAlmostEqual(now, page, delta=slack * (100 if name.endswith("share") else page))
                self.assertEqual(here[name][2], verdict)
        self.assertIn("images_per_s", figures(RESULT))

        with self.subTest("what the doctor says of the first run alone"):
            promised = r"try: (\S+) +\(at best \+(\d+) % images/s\)"
            page, now = (re.search(promised, text) for text in (EXAMPLE, self.stoker("doctor", runs["RUN_A"]).stdout))
            self.assertEqual(now[1], page[1])
            self.assertAlmostEqual(int(now[2]), int(page[2]), delta=slack * (100 + int(page[2])))


if __name__ == "__main__":
    unittest.main()
