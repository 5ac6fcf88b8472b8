#!/usr/bin/env python3
"""One record, one verdict: the end of a run, its live page, its report and the doctor say the same words. Real runs that
are starved of data, cold, emulated, shared, short, bound by decoding, like a GPU; some of them, all where STOKER_LONG is set.

one_verdict_runs_test.py --record FILE: makes all of them and writes what they left, for one_verdict_test.cpp.
"""
import json
import multiprocessing
import os
import re
import shutil
import sys
import unittest
import urllib.request

from doctor_test import CASES, SYNC, DoctorRuns, tier
from stoker import LONG, MINI, SOURCE, emulated, free_port

MANY = "training={epochs: 200, max_steps: 1500}"
COSTLY = "decoder={type: turbojpeg, size: 256, augment: {color_jitter: {hue: 0.1}}}"
RUNS = {name: overrides for name, (_, overrides) in CASES.items() if name != "steps of nothing"} | {
    "hidden waits of a queue before the device": [
        "device={type: emulated, step_ms: 40}", "loader.type=device_prefetched", "training={max_steps: 30}"],
    "reads that are just in time": [tier(read_latency_ms=8), "training={max_steps: 60}"],
    "cold in the first epoch": [
        f"storage.data={{type: cached, inner: {emulated(read_latency_ms=20)}}}", "training={epochs: 6}"],
    "the whole network on this processor": ["device={type: cpu}", MANY],
    "nothing ahead on this processor": ["device={type: cpu}", SYNC, MANY],
    "one worker of four cores' work": ["loader.workers=1", "device.step_ms=1", COSTLY, "training={epochs: 20, max_steps: 400}"],
}
SHARED = {"a tier that another run uses": [tier(read_mb_per_s=1), "training={max_steps: 40}"]}
STARVED = {"starved by neighbours": ["device.step_ms=1", COSTLY, "training={epochs: 20, max_steps: 300}"],
           "one worker beside neighbours": ["loader.workers=1", "device.step_ms=1", COSTLY, "training={epochs: 20, max_steps: 200}"]}
# What is made where nobody asks for all.
FEW = ("device busy", "one worker, slow reads", "hidden waits of a queue before the device", "three steps")
DROPPED = ("bounds", "counts", "slowest_samples", "evaluations", "total", "build", "operations", "digest_chain", "system_s", "verdict", "judged")


def spin(stop):
    while not stop.is_set():
        pass


def trimmed(value):
    if isinstance(value, dict):
        return {key: trimmed(one) for key, one in value.items() if key not in DROPPED}
    return [trimmed(one) for one in value] if isinstance(value, list) else value


class OneVerdictTest(DoctorRuns):
    def embedded(self, page):
        return json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1))

    def words_of(self, overrides):
        """Of one run: its directory, and the verdict as each of the four shows it."""
        for sets in ("slow", "fast"):
            shutil.rmtree(self.dir / sets, ignore_errors=True)
        port = free_port()
        sinks = f"metrics.sinks=[{{type: csv}}, {{type: prometheus, listen: '127.0.0.1:{port}', linger: 60}}]"
        process = self.start("train", self.config, *overrides, sinks)
        url = f"http://127.0.0.1:{port}"

        def ended():
            with urllib.request.urlopen(f"{url}/api/status", timeout=10) as reply:
                status = json.load(reply)
            return status if status["status"] in ("completed", "stopped", "failed") else None

        status = process.until(ended)
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as reply:
            self.assertIn(b"stoker_exposed_io_seconds_total", reply.read())
        self.assertEqual(process.wait(), 0, process.log)
        run = self.latest
        self.stoker("report", run)
        report = self.embedded((run / "report.html").read_text())["runs"][0]["summary"]["verdict"]
        return run, process.output, status["verdict"], report, self.json("doctor", run), self.stoker("doctor", run).stdout

    def check(self, name, overrides):
        run, end, page, report, doctor, told = self.words_of(overrides)
        with self.subTest(name):
            self.assertEqual(json.loads((run / "summary.json").read_text())["verdict"], doctor)
            self.assertEqual(page, doctor)
            self.assertEqual(report, doctor)
            for text in (doctor["title"], doctor["text"], *doctor["evidence"]):
                self.assertIn(text, end)
                self.assertIn(text, told)
            self.assertIn(doctor["next"], end)
        print(f"{name}: {doctor['title']} ({doctor['cause']}): {doctor['text']} {doctor['next']}", flush=True)
        return run

    def runs(self):
        for name, overrides in RUNS.items():
            if LONG or name in FEW:
                yield name, self.check(name, overrides)
        [(name, overrides)] = SHARED.items()
        other = self.start("train", self.config, *overrides, "training={epochs: 100000, max_steps: 100000}")
        other.wait_for("images/s|steps")
        run = self.check(name, overrides)
        other.kill()
        self.assertIn("is used by 1 process beside this run", (run / "log.txt").read_text())
        self.assertEqual(self.json("doctor", run)["cause"], "shared_tier")
        yield name, run
        if not LONG:
            return
        stop = multiprocessing.Event()
        spinning = [multiprocessing.Process(target=spin, args=(stop,)) for _ in range(3 * os.cpu_count())]
        for process in spinning:
            process.start()
        for name, overrides in STARVED.items():
            yield name, self.check(name, overrides)
        stop.set()
        for process in spinning:
            process.join()

    def test_four_places_say_the_same_words(self):
        made = []
        for name, run in self.runs():
            summary = trimmed(json.loads((run / "summary.json").read_text()))
            environment = json.loads((run / "environment.json").read_text())
            text = json.dumps({"name": name, "summary": summary, "environment": {"cpu": environment["cpu"]},
                               "config": (run / "config.yaml").read_text()}, separators=(",", ":"))
            made.append(text.replace(str(MINI), "mini").replace(str(SOURCE), "source").replace(str(self.dir), "dir"))
        if RECORD:
            with open(RECORD, "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in made)


RECORD = ""
if __name__ == "__main__":
    if "--record" in sys.argv:
        RECORD, LONG = sys.argv.pop(), True
        sys.argv.pop()
    unittest.main(verbosity=2)
