"""A web server of files on the loopback interface that takes its time, and for some answers very long."""
import contextlib
import http.server
import pathlib
import random
import threading
import time


class Tail:
    """How long each answer takes: `ms`, and for a share of them `factor` times that, by a seeded generator."""

    def __init__(self, ms, share, factor, seed=1):
        self.ms, self.share, self.factor = ms, share, factor
        self.random, self.lock, self.requests, self.slow = random.Random(seed), threading.Lock(), 0, 0

    def next_s(self):
        with self.lock:
            self.requests += 1
            if self.random.random() >= self.share:
                return self.ms / 1000
            self.slow += 1
            return self.ms * self.factor / 1000


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):  # clients that gave up
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    root, tail = None, None

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = self.root / self.path.lstrip("/")
        if self.path != "/index":
            time.sleep(self.tail.next_s())
        whole = self.index() if self.path == "/index" else path.read_bytes()
        first, last = 0, len(whole) - 1
        asked = self.headers.get("Range")
        if asked:
            begin, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(begin), min(int(end or last), last)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(whole)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", f'"{len(whole)}"')
        self.end_headers()
        self.wfile.write(whole[first:last + 1])

    def index(self):
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        return "".join(f"{path.stat().st_size}\t{path.relative_to(self.root)}\n" for path in files).encode()


@contextlib.contextmanager
def slow_server(root, tail):
    """Its URL. `index` there lists the files; it is never slow."""
    handler = type("Handler", (Handler,), {"root": pathlib.Path(root), "tail": tail})
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
