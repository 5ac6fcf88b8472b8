#!/usr/bin/env python3
"""`stoker compare` of runs of a week: memory does not grow with their rows."""
import csv
import os
import shutil
import subprocess
import unittest

from stoker import STOKER, StokerTest, configuration

ROWS = 600_000


class LongRunsTest(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 1}", training="{max_steps: 60}", evaluation="{enabled: false}",
                           metrics="{every_steps: 5, sinks: [{type: csv}]}")

    def longer(self, run, name):
        """The run with as many rows as it has in a week, and of its columns those that are compared."""
        other = self.dir / name
        shutil.copytree(run, other)
        with open(run / "steps.csv", encoding="utf-8") as file:
            rates = [row["images_per_s"] for row in csv.DictReader(file)][1:]
        with open(other / "steps.csv", "w", encoding="utf-8") as file:
            file.write("steps,wall_s,images_per_s,io_share,device.idle_share\n")
            file.writelines(f"{5 * i},{i + 0.5},{rates[i % len(rates)]},0.125,0.25\n" for i in range(ROWS))
        return other

    def compared(self, a, b):
        """(what it says, the most memory that it took in MB)"""
        with open(self.dir / "said", "w+", encoding="utf-8") as said:
            child = subprocess.Popen([STOKER, "compare", a, b], stdout=said, stderr=said)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read()
        self.assertEqual(child.returncode, 0, text)
        return text, used.ru_maxrss / 1024

    def test_memory_does_not_grow_with_the_rows(self):
        _, run = self.train()
        _, short = self.compared(run, run)
        text, most = self.compared(*(self.longer(run, name) for name in "ab"))
        self.assertIn(f"from {ROWS - 1} and {ROWS - 1} windows", text)
        self.assertLess(most - short, 64)


if __name__ == "__main__":
    unittest.main()
