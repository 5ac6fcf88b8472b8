#!/usr/bin/env python3
"""The real TensorBoard, with the plug-in of its tab Profile, shows a run's sessions of the I/O profiler: figures, histograms and a
line for each file."""
import json
import os
import pathlib
import socket
import tempfile
import unittest

from browser import DESKTOP, Browser, complaints
from stoker import MINI, configuration, flow, posix, stoker, until
from tensorboard_server import DEEP, TensorBoard

SESSIONS = flow(every_steps=4, steps=4, exclude="[]", include="[]")
CONFIG = configuration(
    loader="{type: sync, batch_size: 16, shuffle: true}", training="{max_steps: 12}", evaluation="{enabled: false}",
    tiers={"data": flow(type="posix", read="tensorflow", root=MINI), "slow": posix("slow")},
    checkpoint="{type: direct, slow: slow, every_steps: 4, write: stdio, layout: tf_saver}",
    metrics=f"{{every_steps: 4, io_profile: {SESSIONS}, sinks: [{{type: tensorboard}}]}}")
FIGURES = ["read/mb_per_s", "write/mb_per_s", "read/operations", "posix/opens", "stdio/writes", "read/sequential_share",
           "read/consecutive_share"]
SIZES = ["file_sizes_log10", "read/sizes_log10", "write/sizes_log10"]


class TensorBoardPagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))
        (cls.dir / "trial.yaml").write_text(CONFIG)
        stoker("train", "trial.yaml", cwd=cls.dir)
        run = (cls.dir / "runs/latest").resolve()
        cls.run_name = run.name
        (cls.dir / "runs/latest").unlink()  # else each is there twice
        shown = json.loads(stoker("darshan", run, "--json", "--records", cwd=cls.dir).stdout)["logs"]
        # In the tab by their steps, not by letters.
        cls.sessions = {f"io_profile-{log['profile']['job']['steps'][0]:010}": log for log in shown}
        cls.server = cls.enterClassContext(TensorBoard(cls.dir / "runs"))
        cls.browser = cls.enterClassContext(Browser(scripts=[DEEP]))
        cls.browser.screen(DESKTOP)

    def points(self, plugin, tag):
        """{step: value} by TensorBoard's own service."""
        rows = json.loads(self.server.get(f"data/plugin/{plugin}/{plugin}", run=self.run_name, tag=f"io_profile/{tag}"))
        return {step: value for _, step, value in rows}

    def test_figures_of_sessions_are_its_scalars(self):
        until(lambda: "io_profile/read/mb_per_s" in self.server.get("data/plugin/scalars/tags"), self.server.said)
        for figure in FIGURES:
            part, name = figure.split("/")
            points = self.points("scalars", figure)
            self.assertEqual(sorted(points), [4, 8, 12], figure)
            for log in self.sessions.values():
                value, step = log["profile"][part][name], log["profile"]["job"]["steps"][1]
                self.assertAlmostEqual(points[step], value, delta=1e-6 * max(1, value), msg=figure)

    def test_sizes_are_its_histograms(self):
        until(lambda: "io_profile/file_sizes_log10" in self.server.get("data/plugin/histograms/tags"), self.server.said)
        for size in SIZES:
            points = self.points("histograms", size)
            self.assertEqual(sorted(points), [4, 8, 12], size)
            for log in self.sessions.values():
                place = log["profile"]
                for key in size.removesuffix("_log10").split("/"):
                    place = place[key]
                counted = sum(count for _, _, count in points[log["profile"]["job"]["steps"][1]])
                self.assertAlmostEqual(counted, sum(place["counts"]), places=6, msg=size)

    def trace(self, session):
        """What the plug-in makes of a session's file: ({line: events}, of all lines)."""
        tools = self.server.get("data/plugin/profile/run_tools", run=f"{self.run_name}/{session}")
        self.assertIn("trace_viewer@", tools)
        data = json.loads(self.server.get("data/plugin/profile/data", run=f"{self.run_name}/{session}", tag="trace_viewer@",
                                          host=socket.gethostname(), full_dma="true", resolution=1000000))
        names = {event["tid"]: event["args"]["name"] for event in data["traceEvents"] if event.get("name") == "thread_name"}
        names = {number: "/".join(reversed(name.split("  ", 1))) for number, name in names.items()}
        lines = {name: [] for name in names.values()}
        for event in data["traceEvents"]:
            if event.get("ph") == "X":
                lines[names[event["tid"]]].append(event)
        return lines

    def test_each_file_of_a_session_is_a_line_of_its_profile(self):
        runs = json.loads(self.server.get("data/plugin/profile/runs"))
        self.assertEqual(sorted(runs), [f"{self.run_name}/{name}" for name in self.sessions])
        for name, log in self.sessions.items():
            lines = self.trace(name)
            images = {record["path"]: record for record in log["records"] if record["path"].endswith(".jpg")}
            self.assertEqual(len(images), 64)
            self.assertLessEqual(images.keys(), lines.keys())
            for path, record in images.items():
                self.assertEqual([event["name"] for event in lines[path]], ["read", "read"], path)
                # Times are us since the session's begin, in the log s.
                (_, _, begin, end), (_, _, _, last) = record["read_segments"]
                self.assertAlmostEqual(lines[path][0]["dur"], 1e6 * (end - begin), delta=0.01)
                self.assertAlmostEqual(lines[path][1]["ts"] + lines[path][1]["dur"] - lines[path][0]["ts"], 1e6 * (last - begin), delta=0.01)
            streams = [path for path in lines if path.endswith(".data-00000-of-00001")]
            self.assertEqual({event["name"] for path in streams for event in lines[path]} & {"fwrite"}, {"fwrite"})

    def shows(self, text):
        self.browser.until(f"window.deepShows?.({json.dumps(text)})")

    def picture(self, name):
        """A picture of the page, which is more than a frame around nothing."""
        self.browser.evaluate("new Promise((done) => setTimeout(done, 1000))")  # charts come in slowly
        path = pathlib.Path(os.environ.get("STOKER_PICTURES") or self.dir) / f"{name}.png"
        self.browser.picture(path)
        self.assertGreater(path.stat().st_size, 20_000)

    def test_its_pages_show_both(self):
        self.browser.open(self.server.page("timeseries", tagFilter="io_profile/(read|write)/.*(mb_per_s|sizes)"))
        for tag in ("io_profile/read/mb_per_s", "io_profile/read/sizes_log10"):
            self.shows(tag)
        self.picture("figures")
        session = min(self.sessions)
        self.browser.open(self.server.page("profile", tool="trace_viewer@", run=f"{self.run_name}/{session}", host=socket.gethostname()))
        self.shows(f"{socket.gethostname()} /host:CPU (pid 1701)")
        self.browser.evaluate("deepFind('Expand All').click()")
        shown = max((record for record in self.sessions[session]["records"] if record["path"].endswith(".jpg")),
                    key=lambda record: record["path"])["path"]
        self.shows("  ".join(reversed(os.path.split(shown))))
        self.picture("timeline")
        said, asked = complaints(self.browser.events)
        # The plug-in wants fonts and charts of Google's, which it does without.
        self.assertEqual([line for line in said if "io_profile" in line or "xplane" in line], [])
        self.assertTrue(any("tag=trace_viewer" in address for address in asked), asked)


if __name__ == "__main__":
    unittest.main()
