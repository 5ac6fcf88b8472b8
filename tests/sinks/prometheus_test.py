#!/usr/bin/env python3
"""The sink `prometheus` of a real run: what it serves, when, and what it leaves behind.

STOKER names the binary.
"""
import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from training_run import MINI, STOKER, RunTest

EMULATED = ("device={type: emulated, step_ms: 20}", "training.max_steps=100000", "training.epochs=100000",
            "checkpoint={type: none}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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


class Pushgateway(http.server.BaseHTTPRequestHandler):
    pushed = []

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Pushgateway.pushed.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class PrometheusTest(RunTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()

    def command(self, *overrides, sink=""):
        return [STOKER, "train", "config.yaml",
                f"metrics={{every_steps: 5, sinks: [{{type: prometheus, listen: '127.0.0.1:{self.port}'{sink}}}]}}",
                *overrides]

    @contextlib.contextmanager
    def running(self, *overrides, sink=""):
        process = subprocess.Popen(self.command(*overrides, sink=sink), cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def until(self, condition, what):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                result = condition()
                if result:
                    return result
            time.sleep(0.05)
        self.fail("timed out: " + what)

    def test_serves_the_end_of_the_run_until_it_is_scraped(self):
        with self.running(sink=", linger: 60") as process:
            status = self.until(lambda: (s := json.loads(get(self.port, "/api/status")[1]))["phase"] == "done" and s,
                                "the end of the run")
            code, text = get(self.port, "/metrics")
            self.assertEqual(code, 200)
            self.assertEqual(process.wait(timeout=30), 0)
        summary = json.loads((self.run_directory() / "summary.json").read_text())
        wait = value(text, 'stoker_step_segment_seconds_total{segment="data_wait"}')
        segments, wall = total(text, "stoker_step_segment_seconds_total"), value(text, "stoker_loop_seconds_total")
        self.assertAlmostEqual(wait, summary["segments_s"]["data_wait"], places=6)
        self.assertAlmostEqual(wall, summary["wall_s"], places=6)
        self.assertLessEqual(abs(segments - wall), 0.001 * wall)
        self.assertAlmostEqual(value(text, "stoker_ledger_closure_error_ratio"), summary["closure_error"], places=9)
        self.assertLessEqual(summary["closure_error"], 0.001)
        idle, observed = total(text, "stoker_device_idle_seconds_total"), total(text, "stoker_device_observed_seconds_total")
        self.assertAlmostEqual(idle / observed, summary["device"]["idle_ratio"], places=6)
        self.assertEqual(value(text, 'stoker_steps_total{phase="train"}'), 40)
        self.assertEqual(value(text, 'stoker_samples_total{phase="train"}'), summary["images"])
        self.assertEqual(value(text, 'stoker_samples_total{phase="eval"}'), 50 * len(summary["evaluations"]))
        self.assertEqual(value(text, 'stoker_loader_read_bytes_total{split="train"}') > 0, True)
        self.assertGreaterEqual(value(text, 'stoker_loader_stage_items_total{split="train",stage="decode"}'), 40 * 16)
        self.assertEqual(value(text, 'stoker_io_operations_total{tier="data",type="posix",op="read"}'),
                         value(text, 'stoker_loader_stage_items_total{split="train",stage="read"}') +
                         value(text, 'stoker_loader_stage_items_total{split="test",stage="read"}'))
        self.assertEqual(value(text, 'stoker_checkpoint_saves_total{result="success"}'), 3)  # 15, 30, 40
        self.assertEqual(value(text, "stoker_checkpoint_durable_step"), 40)
        self.assertGreater(value(text, 'stoker_io_bytes_total{tier="slow",type="posix",op="write"}'),
                           3 * value(text, "stoker_checkpoint_size_bytes") - 1)
        self.assertGreater(value(text, 'stoker_observability_overhead_seconds_total{part="spans"}'), 0)
        self.assertEqual(status["progress"]["step"], 40)
        self.assertEqual(status["progress"]["accuracy"]["top1"], summary["evaluations"][-1]["top1"])
        self.assertIn(status["cache"]["verdict"], ("cold", "mixed", "warm", "unknown"))
        self.assertEqual(sum(p is not None for p in status["history"]["images_per_s"]), len(status["history"]["t"]))
        saved = (self.run_directory() / "metrics.prom").read_text()
        self.assertEqual(value(saved, "stoker_step"), 40)
        targets = json.loads((self.run_directory() / "targets.json").read_text())
        self.assertEqual(targets, [{"targets": [f"127.0.0.1:{self.port}"],
                                    "labels": {"run": self.run_directory().name, "rank": "0",
                                               "loader": "prefetched"}}])

    def test_health_is_progress(self):
        # A tier that takes 30 s for a read: alive, and no training.
        stuck = (f"storage.data={{type: emulated, read_mb_per_s: 100, write_mb_per_s: 100, read_latency_ms: 30000, "
                 f"inner: {{type: posix, root: {MINI}}}}}")
        with self.running(stuck, *EMULATED, sink=", stalled_seconds: 1"):
            code, text = self.until(lambda: (r := get(self.port, "/healthz"))[0] == 503 and r, "a stall")
            self.assertIn("unhealthy: train, step 0", text)
            check = subprocess.run([STOKER, "healthcheck", f"127.0.0.1:{self.port}"], capture_output=True, text=True,
                                   timeout=20, check=False)
            self.assertEqual(check.returncode, 7, check.stdout + check.stderr)
            status = json.loads(get(self.port, "/api/status")[1])
            self.assertEqual((status["health"]["healthy"], status["health"]["segment"], status["verdict"]["level"]),
                             (False, "data_wait", "stalled"))
        with self.running(*EMULATED) as process:
            self.until(lambda: "train, step 1" in get(self.port, "/healthz")[1], "a step")
            check = subprocess.run([STOKER, "healthcheck"], env={**os.environ, "STOKER_LISTEN": f"127.0.0.1:{self.port}"},
                                   capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=30), 75)
        check = subprocess.run([STOKER, "healthcheck", f"127.0.0.1:{self.port}"], capture_output=True, text=True,
                               timeout=20, check=False)
        self.assertEqual(check.returncode, 3, check.stdout + check.stderr)

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.port))
            taken.listen()
            refused = subprocess.run(self.command(), cwd=self.folder, capture_output=True, text=True, timeout=60,
                                     check=False)
            self.assertEqual(refused.returncode, 3)
            self.assertIn(f"127.0.0.1:{self.port}", refused.stderr)
            with self.running(*EMULATED, sink=", port: auto"):
                targets = self.until(lambda: json.loads((self.run_directory() / "targets.json").read_text()), "targets")
                other = int(targets[0]["targets"][0].rsplit(":", 1)[1])
                self.assertNotEqual(other, self.port)
                self.assertIn("stoker_step ", self.until(lambda: get(other, "/metrics")[1], "metrics"))

    def test_a_public_address_is_warned_of(self):
        with self.running(*EMULATED) as process:
            self.until(lambda: get(self.port, "/healthz")[0] == 200, "the server")
            listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=True).stdout
            own = [line.split()[3] for line in listening.splitlines() if f"pid={process.pid}," in line]
            self.assertEqual(own, [f"127.0.0.1:{self.port}"])
        done = subprocess.run([STOKER, "train", "config.yaml", "training.max_steps=1", "checkpoint={type: none}",
                               f"metrics.sinks=[{{type: prometheus, listen: '0.0.0.0:{self.port}'}}]"],
                              cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("can be reached from other machines", done.stderr)

    def test_the_outcome_is_pushed(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Pushgateway)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            subprocess.run(self.command("training.max_steps=3", sink=f", pushgateway: '{url}'"), cwd=self.folder,
                           capture_output=True, timeout=60, check=True)
        finally:
            server.shutdown()
            server.server_close()
        (path, body), = Pushgateway.pushed
        self.assertEqual(path, "/metrics/job/stoker/rank/0")
        self.assertEqual(value(body, 'stoker_run_phase{phase="done"}'), 1)
        self.assertGreater(value(body, "stoker_run_last_success_timestamp_seconds"), time.time() - 600)

    def test_a_killed_run_leaves_its_last_state(self):
        with self.running(*EMULATED, sink=", save_seconds: 1") as process:
            path = self.folder / "runs" / "latest" / "metrics.prom"
            self.until(lambda: (value(path.read_text(), "stoker_step") or 0) > 0, "a saved state")
            process.kill()
        self.assertGreater(value(path.read_text(), 'stoker_device_observed_seconds_total{device="emulated"}'), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
