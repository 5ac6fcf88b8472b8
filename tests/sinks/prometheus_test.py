#!/usr/bin/env python3
"""The sink `prometheus` of a real run: what it serves, when, and what it leaves behind."""
import contextlib
import http.server
import json
import os
import re
import signal
import socket
import threading
import time
import unittest
import urllib.error
import urllib.request

from stoker import Ended, StokerTest, emulated, free_port, long, read_summary
from training_run import recorded

EMULATED = ("device={type: emulated, step_ms: 20}", "training.max_steps=100000", "training.epochs=100000",
            "checkpoint={type: none}")


def get(port, path):
    """(status, body) of a GET."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def value(text, series):
    """The value of a series that is written exactly so."""
    match = re.search("^" + re.escape(series) + r" (\S+)$", text, re.MULTILINE)
    return None if match is None else float(match.group(1))


def total(text, family):
    return sum(float(v) for v in re.findall(rf"^{family}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE))


def listening(pid):
    """The addresses at which a process accepts connections, as the kernel writes them: 0100007F:23F0."""
    own = set()
    for link in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            own.add(os.readlink(link.path))
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/{pid}/net/{table}").readlines()[1:]:
            _, address, _, state, *rest = line.split()
            if state == "0A" and f"socket:[{rest[5]}]" in own:
                yield address


class Pushgateway(http.server.BaseHTTPRequestHandler):
    pushed = []

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Pushgateway.pushed.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class PrometheusTest(StokerTest):
    CONFIG = recorded()

    def setUp(self):
        super().setUp()
        self.port = free_port()

    def get(self, path):
        return get(self.port, path)

    def arguments(self, *overrides, sink=""):
        listen = f"listen: '127.0.0.1:{self.port}'"
        return ["train", self.config, f"metrics.sinks=[{{type: prometheus, {listen}{sink}}}]", *overrides]

    def serving(self, *overrides, sink=""):
        return self.start(*self.arguments(*overrides, sink=sink))

    def healthcheck(self, *address, code, **options):
        self.stoker("healthcheck", *address, code=code, timeout=20, **options)

    def test_serves_the_end_of_the_run_until_it_is_scraped(self):
        process = self.serving(sink=", linger: 60")
        status = process.until(lambda: (s := json.loads(self.get("/api/status")[1]))["status"] == "completed" and s)
        page = self.get("/")[1]
        code, text = self.get("/metrics")
        self.assertEqual(code, 200)
        self.assertEqual(process.wait(timeout=30), 0)
        summary = read_summary(self.latest)
        wait = value(text, 'stoker_segments_seconds_total{segment="data_wait"}')
        segments, wall = total(text, "stoker_segments_seconds_total"), value(text, "stoker_wall_seconds_total")
        self.assertAlmostEqual(wait, summary["segments_s"]["data_wait"], places=6)
        self.assertAlmostEqual(wall, summary["wall_s"], places=6)
        self.assertLessEqual(abs(segments - wall), 0.001 * wall)
        self.assertAlmostEqual(value(text, "stoker_closure_error_ratio"), summary["closure_error"], places=9)
        self.assertLessEqual(summary["closure_error"], 0.001)
        idle, observed = total(text, "stoker_device_idle_seconds_total"), total(text, "stoker_device_observed_seconds_total")
        self.assertAlmostEqual(idle / observed, summary["device"]["idle_share"], places=6)
        for series, share in (("stoker_io_share_ratio", summary["io_share"]),
                              ("stoker_device_idle_ratio", summary["device"]["idle_share"])):
            self.assertAlmostEqual(value(text, series), share, places=9)
            self.assertRegex(text, rf"(?m)^# HELP {series} .*\bgpu\b.* as [a-z_.]+ in summary.json.$")
            self.assertIn(f"# TYPE {series} gauge\n", text)
            self.assertIn(series, page)
        self.assertEqual(value(text, "stoker_steps"), 40)
        self.assertEqual(value(text, "stoker_images_total"), summary["images"])
        self.assertEqual(value(text, "stoker_evaluation_images_total"), 50 * len(summary["evaluations"]))
        self.assertEqual(value(text, 'stoker_loaders_read_bytes_total{split="train"}') > 0, True)
        self.assertGreaterEqual(value(text, 'stoker_loaders_stages_duration_seconds_count{split="train",stage="decode"}'), 40 * 16)
        self.assertEqual(value(text, 'stoker_tiers_duration_seconds_count{tier="data",op="read"}'),
                         value(text, 'stoker_loaders_stages_duration_seconds_count{split="train",stage="read"}') +
                         value(text, 'stoker_loaders_stages_duration_seconds_count{split="test",stage="read"}'))
        self.assertEqual(value(text, "stoker_checkpoints_saved_total"), 3)  # 15, 30, 40
        self.assertEqual(value(text, "stoker_checkpoints_durable_step"), 40)
        self.assertGreater(value(text, 'stoker_tiers_bytes_total{tier="slow",op="write"}'),
                           3 * value(text, "stoker_checkpoints_set_bytes") - 1)
        self.assertGreater(value(text, 'stoker_overhead_seconds_total{part="spans"}'), 0)
        self.assertEqual(status["steps"], 40)
        self.assertEqual(status["evaluation"]["accuracy"]["top1"], summary["evaluations"][-1]["top1"])
        self.assertIn(status["page_cache"]["state"], ("cold", "mixed", "warm", "unknown"))
        self.assertEqual(sum(p is not None for p in status["history"]["images_per_s"]), len(status["history"]["elapsed_s"]))
        saved = (self.latest / "metrics.prom").read_text()
        self.assertEqual(value(saved, "stoker_steps"), 40)
        targets = json.loads((self.latest / "targets.json").read_text())
        self.assertEqual(targets, [{"targets": [f"127.0.0.1:{self.port}"],
                                    "labels": {"run": self.latest.name, "rank": "0",
                                               "loader": "prefetched"}}])

    @long
    def test_an_open_page_sees_the_end(self):
        process = self.serving()
        seen = []
        with contextlib.suppress(Ended):
            while process.until(lambda: seen.append(json.loads(self.get("/api/status")[1])["status"]) or True):
                time.sleep(1)  # as the page does
        self.assertEqual(process.wait(), 0)
        self.assertEqual(seen[-1], "completed")

    @long
    def test_a_sink_that_fails_at_the_end_is_in_the_summary(self):
        process = self.serving(*EMULATED[:1], "training.max_steps=20", "checkpoint={type: none}", sink=", linger: 60")
        process.until(lambda: json.loads(self.get("/api/status")[1])["status"] == "completed")
        (self.latest / "metrics.prom").mkdir()  # where the sink wants to leave a file
        self.get("/metrics")
        code = process.wait(timeout=30)
        self.assertNotEqual(code, 0)
        summary = read_summary(self.latest)
        self.assertEqual((summary["exit_code"], summary["status"], summary["verdict"]["level"]), (code, "failed", "failed"))
        self.assertIn("metrics.prom", summary["error"])

    def test_health_is_progress(self):
        # A tier that takes 30 s for a read: alive, and no training.
        stuck = self.serving(f"storage.data={emulated(read_latency_ms=30000)}", *EMULATED, sink=", stalled_seconds: 1")
        code, text = stuck.until(lambda: (r := self.get("/healthz"))[0] == 503 and r)
        self.assertIn("unhealthy: train, step 0", text)
        self.healthcheck(f"127.0.0.1:{self.port}", code=7)
        status = json.loads(self.get("/api/status")[1])
        self.assertEqual((status["health"]["healthy"], status["health"]["segment"], status["verdict"]["level"]),
                         (False, "data_wait", "stalled"))
        stuck.kill()
        process = self.serving(*EMULATED)
        process.until(lambda: "train, step 1" in self.get("/healthz")[1])
        self.healthcheck(code=0, env={"STOKER_LISTEN": f"127.0.0.1:{self.port}"})
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 75)
        self.healthcheck(f"127.0.0.1:{self.port}", code=3)

    def test_a_checkpoint_that_takes_long_is_no_stall(self):
        slow = f"storage.slow={emulated(self.dir / 'slow', write_mb_per_s=0.02)}"
        saving = self.serving(slow, EMULATED[0], "checkpoint={type: direct, slow: slow, every_steps: 5, snapshot: sync}",
                              sink=", stalled_seconds: 2")

        def long_save():
            status = json.loads(self.get("/api/status")[1])
            return (status["health"]["segment"] == "checkpoint_stall" and
                    status["now_unix_s"] - status["last_step_unix_s"] > 5 and status)
        health = saving.until(long_save)["health"]
        self.assertTrue(health["healthy"], health)
        self.assertEqual(self.get("/healthz")[0], 200)

    @long
    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.port))
            taken.listen()
            self.assertIn(f"127.0.0.1:{self.port}", self.stoker(*self.arguments(), code=3).stderr)
            process = self.serving(*EMULATED, sink=", port: auto")
            targets = process.until(lambda: json.loads((self.latest / "targets.json").read_text()))
            other = int(targets[0]["targets"][0].rsplit(":", 1)[1])
            self.assertNotEqual(other, self.port)
            self.assertIn("stoker_steps ", process.until(lambda: get(other, "/metrics")[1]))

    @long
    def test_a_public_address_is_warned_of(self):
        process = self.serving(*EMULATED)
        process.until(lambda: self.get("/healthz")[0] == 200)
        self.assertEqual(list(listening(process.child.pid)), [f"0100007F:{self.port:04X}"])
        process.kill()
        done = self.stoker("train", self.config, "training.max_steps=1", "checkpoint={type: none}",
                           f"metrics.sinks=[{{type: prometheus, listen: '0.0.0.0:{self.port}'}}]")
        self.assertIn("can be reached from other machines", done.stderr)

    @long
    def test_the_outcome_is_pushed(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Pushgateway)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            self.stoker(*self.arguments("training.max_steps=3", sink=f", pushgateway: '{url}'"))
        finally:
            server.shutdown()
            server.server_close()
        (path, body), = Pushgateway.pushed
        self.assertEqual(path, "/metrics/job/stoker/rank/0")
        self.assertEqual(value(body, 'stoker_run_status{status="completed"}'), 1)
        self.assertGreater(value(body, "stoker_run_last_success_timestamp_seconds"), time.time() - 600)

    def test_a_killed_run_leaves_its_last_state(self):
        process = self.serving(*EMULATED, sink=", save_seconds: 1")
        process.until(lambda: (value((self.latest / "metrics.prom").read_text(), "stoker_steps") or 0) > 0)
        process.kill()
        saved = (self.latest / "metrics.prom").read_text()
        self.assertGreater(value(saved, "stoker_device_observed_seconds_total"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
