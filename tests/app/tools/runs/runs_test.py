#!/usr/bin/env python3
"""`stoker runs`, `stoker serve`, and what other commands make of a folder of runs."""
import csv
import json
import os
import pathlib
import re
import shutil
import unittest
import urllib.error
import urllib.parse
import urllib.request

from browser import Browser, DESKTOP, PHONE, complaints
from stoker import StokerTest, configuration, free_port, long, stoker

CONFIG = configuration(
    device="{type: emulated, step_ms: 5}", dataset="{type: synthetic, samples: 64, test_samples: 0, unique: 4}",
    decoder="{type: turbojpeg, size: 16}", loader="{type: prefetched, batch_size: 8, workers: 2}",
    training="{epochs: 100000, max_steps: 40}", metrics="{every_steps: 2, sinks: [{type: csv}]}")
ENDLESS = ("training.max_steps=1000000", "device.step_ms=20")


class Runs(StokerTest):
    CONFIG = CONFIG

    def ran(self, *overrides):
        return self.train(*overrides)[1].name

    def listed(self, *arguments):
        return {run["name"]: run for run in self.json("runs", *arguments)["runs"]}

    def killed(self):
        """A run that was killed, and its name."""
        before = set(os.listdir(self.dir / "runs")) if (self.dir / "runs").exists() else set()
        process = self.start("train", self.config, *ENDLESS)
        [name] = process.until(lambda: [name for name in set(os.listdir(self.dir / "runs")) - before - {"latest"}
                                        if (self.dir / "runs" / name / "steps.csv").read_text().count("\n") > 2])
        process.kill()
        return name


class Lists(Runs):
    def test_states_verdicts_and_what_differs(self):
        first = self.ran()
        other = self.ran("loader.type=sync")
        dead = self.killed()
        process = self.start("train", self.config, *ENDLESS, "metrics.sinks=[{type: csv}, {type: prometheus, port: auto}]")
        process.until(lambda: [run for run in self.listed().values() if run["state"] == "running" and run["figures"]])
        runs = self.listed()
        self.assertEqual([run["state"] for run in runs.values()], ["completed", "completed", "killed", "running"])
        self.assertEqual(list(runs)[:3], [first, other, dead])  # the oldest first
        summary = json.loads((self.dir / "runs" / first / "summary.json").read_text())
        self.assertEqual(runs[first]["verdict"], summary["verdict"]["level"])
        for name in ("images_per_s", "io_share"):
            self.assertEqual(runs[first]["figures"][name], summary[name])
        self.assertEqual(summary["device"]["idle_share"], runs[first]["figures"]["device.idle_share"])
        self.assertEqual(runs[other]["differs"]["loader.type"], "sync")
        self.assertNotIn("loader.type", runs[first]["differs"])  # most have it
        self.assertEqual(runs[dead]["figures"], {})
        [running] = [run for run in runs.values() if run["state"] == "running"]
        status = json.load(urllib.request.urlopen(f"http://{running['live']}/api/status"))
        self.assertEqual(pathlib.Path(status["run_directory"]).name, running["name"])
        process.kill()
        self.assertEqual(self.listed()[running["name"]]["state"], "killed")

    def test_a_table_csv_and_an_order(self):
        slow, fast = self.ran("device.step_ms=40", "training.max_steps=10"), self.ran()
        text = self.stoker("runs").stdout
        self.assertLess(text.index(slow), text.index(fast))
        self.assertIn("device.step_ms=40", text)
        text = self.stoker("runs", "--sort", "images_per_s").stdout
        self.assertLess(text.index(fast), text.index(slow))
        rows = list(csv.DictReader(self.stoker("runs", "runs", "--csv").stdout.splitlines()))
        self.assertEqual([(row["name"], row["device.step_ms"]) for row in rows], [(slow, "40"), (fast, "5")])
        self.assertIn("no run has a figure 'speed'", self.stoker("runs", "--sort", "speed", code=2).stderr)
        self.assertIn("nowhere is no folder", self.stoker("runs", "nowhere", code=3).stderr)

    @long
    def test_sweeps_are_rows_at_any_depth(self):
        self.ran()
        self.stoker("sweep", self.config, "loader.workers=1,2")
        runs = self.listed(".")
        sweep = runs["sweeps/trial-loader.workers"]
        self.assertEqual((sweep["kind"], sweep["state"], sweep["runs"]), ("sweep", "completed", {"done": 2, "planned": 2}))
        self.assertEqual(sweep["differs"], {"loader.workers": "1,2"})
        self.assertEqual(len(runs), 2)
        self.assertEqual([run["kind"] for run in self.listed("sweeps/trial-loader.workers").values()], ["sweep", "run", "run"])
        self.stoker("sweep", self.config, "loader.workers=1,2", "--only", "loader.workers=1", "--directory", "part")
        part = self.listed("part")
        self.assertEqual(len(part), 2)
        self.assertEqual(part["part"]["state"], "incomplete")

    @long
    def test_strange_folders_are_no_runs(self):
        self.ran()
        strange = self.dir / "runs" / "strange"
        strange.mkdir()
        (strange / "summary.json").write_text("[" * 100)
        (self.dir / "runs" / "data").mkdir()
        (self.dir / "runs" / "loop").symlink_to(".")
        self.assertEqual([run["state"] for run in self.listed().values()].count("completed"), 1)


class Starts(Runs):
    @long
    def test_a_start_that_fails_leaves_no_directory_and_latest_alone(self):
        good = self.ran()
        before = sorted(os.listdir(self.dir / "runs"))
        for slip in ("dataset={type: image_folder, storage: data}", "metrics.sinks=[{type: prometheus, listen: '192.0.2.1:1'}]",
                     "loader.batch_size=1000"):
            self.stoker("train", self.config, "storage.data.root=nowhere", slip, code=None)
            self.assertEqual(sorted(os.listdir(self.dir / "runs")), before, slip)
            self.assertEqual(self.latest.name, good, slip)

    @long
    def test_the_newest_run_of_a_folder_is_taken(self):
        self.ran()
        newest = self.ran("loader.type=sync")
        self.killed()
        self.assertIn(newest, self.stoker("doctor", "runs").stderr)
        page = self.stoker("report", "runs").stdout.strip()
        self.assertNotEqual(pathlib.Path(page).parent.name, newest)  # the one that was killed is newer

    @long
    def test_many_runs_are_compared_with_the_first(self):
        names = [f"runs/{self.ran(f'device.step_ms={ms}', 'metrics.every_steps=1')}" for ms in (5, 5, 20)]
        both = self.json("compare", *names)
        self.assertEqual(both["runs"], names)
        self.assertEqual([one["b"] for one in both["comparisons"]], [[name] for name in names[1:]])
        self.assertEqual(both["config"], [{"key": "device.step_ms", "values": ["5", "5", "20"]}])
        self.assertEqual(both["comparisons"][1]["verdict"], "different")
        text = self.stoker("compare", *names, "--threshold", "50%", code=7).stdout
        self.assertIn("threshold missed: one of them", text)
        self.assertEqual(len(re.findall(r"^runs/", text, re.MULTILINE)), 3, text)
        self.assertIn("two run directories or more", self.stoker("compare", names[0], code=2).stderr)


class Removals(Runs):
    def names(self):
        return set(os.listdir(self.dir / "runs")) - {"latest"}

    def rm(self, *arguments, answer="", code=0):
        (self.dir / "answer").write_text(answer)
        before = ("bash", "-c", f'exec "$@" < {self.dir / "answer"}', "bash")
        return stoker("runs", "rm", *arguments, cwd=self.dir, code=code, before=before).stdout

    def test_it_asks_and_takes_what_failed(self):
        good, dead = self.ran(), self.killed()
        self.assertIn("nothing was removed", self.rm("--failed"))  # the end of the input is no
        self.assertIn("nothing was removed", self.rm("--failed", answer="n\n"))
        self.assertEqual(self.names(), {good, dead})
        self.assertIn("removed 1 run", self.rm("runs", "--failed", answer="y\n"))
        self.assertEqual(self.names(), {good})
        self.assertEqual(self.latest.name, good)  # which had led to the one that was killed
        self.assertIn("nothing to remove", self.rm("--failed"))

    @long
    def test_what_is_running_stays(self):
        for _ in range(2):
            self.ran()
        process = self.start("train", self.config, *ENDLESS)
        process.until(lambda: "running" in {run["state"] for run in self.listed().values()})
        running = next(name for name, run in self.listed().items() if run["state"] == "running")
        self.rm("--keep", "0", "--yes")
        self.assertEqual(self.names(), {running})
        self.assertTrue(process.alive())
        self.assertEqual(self.latest.name, running)

    @long
    def test_by_number_and_by_age(self):
        names = [self.ran() for _ in range(3)]
        self.rm("--older", "7d", "--yes")
        self.assertEqual(self.names(), set(names))
        summary = self.dir / "runs" / names[0] / "summary.json"
        text = json.loads(summary.read_text())
        text["started_unix_s"] -= 8 * 86400
        summary.write_text(json.dumps(text))
        self.rm("--older", "7d", "--yes")
        self.assertEqual(self.names(), set(names[1:]))
        self.rm("--keep", "1", "--yes")
        self.assertEqual(self.names(), {names[2]})

    def test_what_is_no_question(self):
        self.ran()
        for words in ((), ("--failed", "--keep", "1"), ("--older", "week")):
            self.rm(*words, code=2)
        self.assertEqual(len(self.names()), 1)


SHOWN = """document.documentElement?.dataset.shown !== "list" ? null : JSON.stringify({
  rows: [...document.querySelectorAll("#list tbody tr")].map((row) => row.innerText),
  links: [...document.querySelectorAll("#list tbody a")].map((link) => link.href), title: document.querySelector("h1").textContent,
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth })"""


class Served(Runs):
    def serve(self, folder="runs"):
        address = f"127.0.0.1:{free_port()}"
        process = self.start("serve", folder, "--listen", address)
        process.until(lambda: address in process.output)
        return f"http://{address}"

    def test_the_list_reports_and_a_comparison(self):
        names = [self.ran(), self.ran("loader.type=sync"), self.ran("run.name=a&b c")]
        running = self.start("train", self.config, *ENDLESS, "metrics.sinks=[{type: csv}, {type: prometheus, port: auto}]")
        running.until(lambda: [run for run in self.listed().values() if run.get("live")])
        address = self.serve()
        self.assertEqual([run["name"] for run in json.load(urllib.request.urlopen(f"{address}/api/runs"))["runs"]][:3], names)
        with Browser() as browser:
            for size in (DESKTOP, PHONE):
                browser.screen(size, "light")
                browser.open(f"{address}/")
                shown = json.loads(browser.until(SHOWN))
                self.assertEqual(len(shown["rows"]), 4)
                self.assertIn("running", shown["rows"][0])  # the newest first
                self.assertFalse(shown["wide"])
                judged = "[...document.querySelectorAll('#list [class^=say-]')].map((one) => one.className).join(' ')"
                self.assertRegex(browser.until(judged), "^say-(fine|moderate|bound)( say-(fine|moderate|bound))*$")
            self.assertEqual(len([link for link in shown["links"] if "/report?run=" in link]), 4)
            self.assertEqual(len([link for link in shown["links"] if "/report" not in link]), 1)  # the live page
            self.assertFalse(complaints(browser.events)[0])
            tick = "[...document.querySelectorAll('#list input')].slice(1, 3).forEach((box) => box.click())"
            browser.until(f"{tick}; document.getElementById('compare').click(); 'done'")
            kind = browser.until("document.documentElement?.dataset.shown === 'runs' ? document.querySelectorAll('thead th').length : null")
            self.assertGreaterEqual(kind, 3)
        for name in names:
            page = urllib.request.urlopen(f"{address}/report?run={urllib.parse.quote(name)}").read().decode()
            self.assertIn(json.dumps(name)[1:-1], page)

    def test_nothing_but_runs_can_be_read(self):
        self.ran()
        shutil.copytree(self.latest, self.dir / "elsewhere")
        address = self.serve()
        for query, code in (("", 400), ("?run=../elsewhere", 404), ("?run=%2e%2e%2felsewhere", 404), ("?run=/etc", 404)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{address}/report{query}")
            self.assertEqual(refused.exception.code, code, query)

    def test_a_folder_that_is_not_there(self):
        self.assertIn("nowhere is no folder", self.stoker("serve", "nowhere", code=3).stderr)
        self.assertIn("--listen: must be an address", self.stoker("serve", ".", "--listen", "here", code=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
