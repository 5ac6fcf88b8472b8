#!/usr/bin/env python3
"""What `stoker run` says of real programs whose bottleneck is known, in short; all cases: tests/experiments/run_verdicts.py.

A verdict is of what was there: where other programs took the cores that a case needs, it may say so.
"""
import json
import pathlib
import tempfile
import unittest

from browser import DESKTOP, PHONE, Browser, complaints
from stoker import long, stoker, why_no_mount
from programs.cases import PYTHON, Case, Places, crowded, judge, load, said, shell

READ = """(() => document.documentElement?.dataset.shown ? JSON.stringify({ text: document.body.innerText,
  scroll: document.documentElement.scrollWidth, width: document.documentElement.clientWidth,
  verdict: document.querySelector("#verdict h2").textContent,
  charts: [...document.querySelectorAll(".plot")].map((e) => [e.closest(".card").querySelector("h2").textContent, Number(e.dataset.points)])
}) : null)()"""
SHORT = {"seconds": 1.5}


class VerdictsOfRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="stoker-test-", ignore_cleanup_errors=True))
        cls.places = cls.enterClassContext(Places(pathlib.Path(directory) / "all"))

    def check(self, name, expected, words, **options):
        """The record. A machine that does much else may hide for once what is to be seen."""
        case = Case(name, expected, words, **options)
        for _ in range(3):
            if (record := judge(self.places, case)) is None:
                self.skipTest("this process may not make a cgroup")
            if said(record) in expected or crowded(record, case):
                return record
        self.fail(f"{name}: not {expected}, but {json.dumps(record['verdict'], indent=1)}")

    def mounted(self):
        if why := why_no_mount():
            self.skipTest(why)

    def test_a_main_thread_that_waits_for_files_is_held_up_by_storage_which_is_named(self):
        self.mounted()
        record = self.check("main thread", ("storage",), load(read="{slow}", how="file", **SHORT))
        if said(record) == "storage":
            self.assertIn(str(self.places["slow"]), record["verdict"]["where"])
            self.assertIn("emulated:slow", record["verdict"]["where"])

    @long
    def test_workers_behind_a_shell_that_wait_for_files_are_storage(self):
        self.mounted()
        self.check("workers", ("storage",), shell(*load(read="{slow}", how="file", loader="fork", decode_ms=1, **SHORT)))

    @long
    def test_faults_of_a_mapping_are_storage(self):
        self.mounted()
        self.check("faults", ("storage",), load(read="{slow_drop}", how="map", **SHORT))

    @long
    def test_a_worker_that_decodes_is_not_storage(self):
        self.check("decodes", ("workers",), load(read="{data}", how="file", loader="fork", workers=1, decode_ms=8, **SHORT))

    @long
    def test_a_slow_main_loop_is_the_main_process(self):
        self.check("main loop", ("main_process",), load(read="{data}", how="file", loader="fork", workers=1, main_ms=15, **SHORT))

    def test_copies_from_the_page_cache_are_not_storage(self):
        for path in (self.places.directory / "data").iterdir():
            path.read_bytes()
        record = self.check("copies", ("main_process",), load(read="{data}", how="file", **SHORT))
        self.assertNotEqual(said(record), "storage")

    @long
    def test_a_limit_of_a_cgroup_is_too_few_cores(self):
        record = self.check("cgroup", ("cores",), load(decode_ms=5, **SHORT), cores=0.3)
        self.assertIn("cgroup", " ".join(record["verdict"]["evidence"]) + record["verdict"]["next"])

    @long
    def test_ranks_wait_for_the_slow_one(self):
        self.check("slow rank", ("peers",), load(ranks=2, slow_rank=1, main_ms=1, slow_main_ms=20, **SHORT))

    def test_of_a_short_program_nothing_is_said_and_its_exit_code_is_passed_on(self):
        record = judge(self.places, Case("short", ("nothing",), [PYTHON, "-S", "-c", "0"]))
        self.assertEqual(said(record), "nothing")
        self.assertEqual(record["exit_code"], 0)

    @long
    def test_the_page_of_the_log_shows_the_verdict_without_a_network(self):
        log = self.places.directory / "page.darshan"
        stoker("run", "--log", log, "--", *load(read=self.places["data"], how="file", loader="fork", workers=1, **SHORT),
               cwd=self.places.directory)
        record = json.loads(log.with_suffix(".json").read_text())
        page = pathlib.Path(stoker("report", log, cwd=self.places.directory).stdout.strip())
        with Browser() as browser:
            for size in (DESKTOP, PHONE):
                browser.screen(size)
                browser.open(page.as_uri())
                shown = json.loads(browser.until(READ))
                wrong, asked = complaints(browser.events)
                self.assertEqual(wrong, [])
                self.assertLessEqual(set(asked), {page.as_uri(), "data:,"})
                self.assertLessEqual(shown["scroll"], shown["width"])
                self.assertIn(record["verdict"]["what"], shown["text"])
                self.assertIn("Files by time", shown["text"])
                charts = dict(shown["charts"])
                self.assertGreaterEqual(charts["What main threads did: threads by kind of time"], 2)
                self.assertGreaterEqual(charts["What all threads did"], 2)


if __name__ == "__main__":
    unittest.main()
