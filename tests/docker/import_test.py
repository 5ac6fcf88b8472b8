#!/usr/bin/env python3
"""docker/grafana/import.py and a server that answers as Grafana's HTTP API does."""
import http.server
import json
import os
import subprocess
import sys
import threading
import unittest

from stoker import SOURCE, free_port

GRAFANA = SOURCE / "docker/grafana"
TOKEN, VIEWER = "glsa_editor", "glsa_viewer"


class Grafana(http.server.BaseHTTPRequestHandler):
    """POST /api/dashboards/db, below the path /grafana."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code, answer = self.answer_to(body)
        self.send_response(code)
        self.end_headers()
        self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def answer_to(self, body):
        if self.path == "/other/api/dashboards/db":
            return 200, "<html>Welcome</html>"
        if self.path != "/grafana/api/dashboards/db":
            return 404, {"message": "Not found"}
        token = self.headers["Authorization"].removeprefix("Bearer ")
        if token not in (TOKEN, VIEWER):
            return 401, {"message": "Invalid API key"}
        if token == VIEWER:
            return 403, {"message": "You'll need additional permissions"}
        dashboard = body["dashboard"]
        kept = self.server.dashboards.setdefault(dashboard["uid"], [])
        if kept and not body["overwrite"]:
            return 412, {"status": "version-mismatch"}
        kept.append(body)
        return 200, {"status": "success", "uid": dashboard["uid"], "url": f"/grafana/d/{dashboard['uid']}/x"}

    def log_message(self, *_):
        pass


class Import(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Grafana)
        self.server.dashboards = {}
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def run_it(self, *arguments, token=TOKEN):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return subprocess.run([sys.executable, "-B", GRAFANA / "import.py", *arguments], capture_output=True, text=True,
                              env=environment | {"GRAFANA_TOKEN": token}, timeout=60, check=False)

    def fails(self, address, *words, token=TOKEN):
        done = self.run_it(address, token=token)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith(("import.py: ", "hint: "))], [])
        self.assertEqual(self.server.dashboards, {})

    def test_every_dashboard_is_brought_and_the_next_time_replaced(self):
        files = {path.name: json.loads(path.read_text()) for path in (GRAFANA / "dashboards").glob("*.json")}
        for _ in range(2):
            done = self.run_it(f"{self.address}/grafana/")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.splitlines(),
                             [f"{self.address}/grafana/d/{files[name]['uid']}/x" for name in sorted(files)])
        self.assertEqual(set(self.server.dashboards), {file["uid"] for file in files.values()})
        for file in files.values():
            bodies = self.server.dashboards[file["uid"]]
            self.assertEqual(len(bodies), 2)
            self.assertEqual(bodies[0]["dashboard"], file | {"id": None})
            self.assertNotIn("folderUid", bodies[0])

    def test_a_folder_can_be_named(self):
        self.assertEqual(self.run_it(f"{self.address}/grafana", "team").returncode, 0)
        self.assertEqual({body["folderUid"] for bodies in self.server.dashboards.values() for body in bodies}, {"team"})

    def test_a_wrong_token_is_told(self):
        self.fails(f"{self.address}/grafana", "answers 401: ", "Invalid API key", "hint: GRAFANA_TOKEN is no valid token", token="x")

    def test_a_token_without_the_right_to_write_is_told(self):
        self.fails(f"{self.address}/grafana", "answers 403: ", "hint: ", "needs the role Editor", token=VIEWER)

    def test_a_wrong_address_is_told(self):
        self.fails(self.address, "answers 404: ", "hint: give Grafana's own address")
        self.fails(f"{self.address}/other", "does not answer as Grafana does", "hint: give Grafana's own address")
        self.fails("http://127.0.0.1:port", "does not answer as Grafana does")
        self.fails(f"http://127.0.0.1:{free_port()}", "Connection refused", "hint: can Grafana be reached")

    def test_without_an_address_or_a_token_it_says_how_it_is_called(self):
        for arguments, token in ((), TOKEN), ((self.address,), ""), (("grafana:3000",), TOKEN):
            done = self.run_it(*arguments, token=token)
            self.assertEqual(done.returncode, 2)
            self.assertIn("GRAFANA_TOKEN=TOKEN docker/grafana/import.py http://", done.stderr)


if __name__ == "__main__":
    unittest.main()
