#!/usr/bin/env python3
"""stoker.watch: where the time of a loop goes; stoker.runs: finished runs."""
import contextlib
import importlib.util
import io
import json
import os
import logging
import pathlib
import re
import tempfile
import time
import unittest
import unittest.mock
import urllib.request

import stoker
from engine import config, slow

HAS_PANDAS = importlib.util.find_spec("pandas") is not None


class Optimizer:
    """What watch() needs of PyTorch's."""

    def __init__(self):
        self.hooks = []

    def register_step_post_hook(self, hook):
        self.hooks.append(hook)
        return self

    def remove(self):
        self.hooks.clear()

    def step(self):
        for hook in self.hooks:
            hook(self, (), {})


class WatchTest(unittest.TestCase):

    def test_a_loop_that_waits_for_its_data(self):
        with stoker.Loader(config(storage=slow(2)), ["loader.type=sync"]) as loader:
            with stoker.watch(loader, quiet=True) as run:
                for _ in loader:
                    pass
        self.assertEqual(run.level, "input_bound")
        self.assertIn("does nothing ahead", run.verdict)
        self.assertIn("loader.type=prefetched", run.next)
        self.assertGreater(run.data_wait_share, 0.5)
        self.assertGreater(run.device_idle_share, 0.5)
        self.assertTrue(any("of its time for data" in line for line in run.evidence))
        self.assertEqual(run.summary["steps"], 18)
        self.assertEqual(run.summary["status"], "completed")

    def test_a_step_begins_on_the_device_behind_the_copy_of_its_batch(self):
        order = []

        class Clock:
            def begin(self):
                order.append("begin")

            def end(self):
                pass

            def finished(self, wait):
                return []

        with stoker.Loader(config()) as loader, unittest.mock.patch("stoker._watch._clock_of", lambda _: Clock()):
            loader._to_device = lambda batch: order.append("copy") or batch
            with stoker.watch(loader, quiet=True):
                for _ in loader:
                    pass
            self.assertEqual(order, ["copy", "begin"] * len(loader))

    def test_a_loop_that_computes(self):
        optimizer = Optimizer()
        with stoker.Loader(config()) as loader, stoker.watch(loader, optimizer, quiet=True) as run:
            for number, _ in enumerate(loader):
                time.sleep(0.05)
                optimizer.step()
                if number == 4:
                    break
            self.assertEqual(run.summary["steps"], 5)
        self.assertGreater(run.images_per_s, 0)
        self.assertEqual(optimizer.hooks, [])

    def test_prints_its_verdict_and_says_what_failed(self):
        text = io.StringIO()
        with stoker.Loader(config()) as loader, contextlib.redirect_stdout(text):
            with self.assertRaises(ZeroDivisionError), stoker.watch(loader) as run:
                for _ in loader:
                    1 / 0  # noqa: B018
        self.assertIn("The run failed: ZeroDivisionError: division by zero", text.getvalue())
        self.assertEqual(run.level, "failed")

    def test_one_at_a_time_and_closing_the_loader_ends_it(self):
        loader = stoker.Loader(config())
        with stoker.watch(loader, quiet=True) as run:
            with self.assertRaisesRegex(RuntimeError, "watched already"), stoker.watch(loader):
                pass
            next(iter(loader))
            loader.close()
        self.assertEqual(run.summary["steps"], 1)

    def test_answers_while_the_loop_runs(self):
        with stoker.Loader(config()) as loader, self.assertLogs("stoker", logging.INFO) as logs:
            with stoker.watch(loader, port=0, quiet=True, name="mine"):
                address = re.search(r"http://[\d.]+:\d+", "\n".join(logs.output)).group()
                next(iter(loader))
                loader.set_epoch(0)
                for number, _ in enumerate(loader):
                    if number == 3:
                        status = json.load(urllib.request.urlopen(address + "/api/status"))
                        metrics = urllib.request.urlopen(address + "/metrics").read().decode()
                        page = urllib.request.urlopen(address).read().decode()
        self.assertEqual(status["name"], "mine")
        self.assertTrue("\nstoker_steps 4\n" in metrics and 'run="mine"' in metrics)
        self.assertTrue("<html" in page)


class RunsTest(unittest.TestCase):

    def test_are_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, name in enumerate(("b", "a")):
                run = pathlib.Path(folder) / name
                run.mkdir()
                (run / "summary.json").write_text(json.dumps({"started_unix_s": number, "device": {"idle_share": number / 4}}))
            for name, text in {"list": "[1]", "deep": '{"a":' * 100_000, "cut": "{", "text": "\xff", "unfinished": None}.items():
                (pathlib.Path(folder) / name).mkdir()
                if text:
                    (pathlib.Path(folder) / name / "summary.json").write_text(text, encoding="latin-1")
            for name, make in (("fifo", os.mkfifo), ("endless", lambda path: os.symlink("/dev/zero", path))):
                (pathlib.Path(folder) / name).mkdir()
                make(pathlib.Path(folder) / name / "summary.json")
            rows = stoker.runs(folder, frame=False)
            self.assertEqual([(pathlib.Path(row["run"]).name, row["device.idle_share"]) for row in rows],
                             [("b", 0), ("a", 0.25)])
            if HAS_PANDAS:
                self.assertEqual(list(stoker.runs(folder)["device.idle_share"]), [0, 0.25])


if __name__ == "__main__":
    unittest.main()
