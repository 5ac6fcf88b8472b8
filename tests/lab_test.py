#!/usr/bin/env python3
"""The lab of docs/lab.md: its commands are run as they stand there, and its runs come out in the ranges that it names.

Tier and device are emulated, so that figures are those of their options. What a machine that does much else takes from the
tier, the run says, and is allowed for.
"""
import re
import unittest

from pages import PageTest
from stoker import read_summary

RANGE = re.compile(r"(?m)^\| (\w+) \| (\d+) to (\d+) \| (\d+) to (\d+) % \|")
BESIDE = 0.1  # of the rate, and of the idle time: what other programs take besides


class Lab(PageTest):
    def test_its_runs_come_out_in_its_ranges(self):
        self.run_commands("lab.md")
        ranges = RANGE.findall(self.page("lab.md"))
        self.assertEqual(len(ranges), 11)
        for run, *limits in ranges:
            with self.subTest(run):
                least, most, least_idle, most_idle = map(float, limits)
                summary = read_summary(next(self.dir.glob(f"runs/{run}-*")))
                late = max(tier.get("overrun_s", 0) for tier in summary["tiers"].values()) / summary["wall_s"]
                allowed = min(late + BESIDE, 0.9)
                self.assertLessEqual(summary["images_per_s"], most)
                self.assertGreaterEqual(summary["images_per_s"], least * (1 - allowed))
                self.assertLessEqual(100 * summary["device"]["idle_share"], most_idle + 100 * allowed)
                self.assertGreaterEqual(100 * summary["device"]["idle_share"], least_idle)


if __name__ == "__main__":
    unittest.main()
