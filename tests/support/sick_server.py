"""A web server of a folder that falls sick when it is told to: it answers no more, or with an error."""
import contextlib
import http.server
import pathlib
import threading
import urllib.parse

from object_servers import ProxyServer
from stoker import flow

INDEX = "index.txt"
# What an answer is while it is sick: status, headers, body. Else it hangs.
ANSWERS = {"busy": (503, {"Retry-After": "100"}, b""),
           "broken": (500, {}, b""),
           "denied": (403, {}, b""),
           "expired": (400, {}, b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")}


class SickServer:
    """`how` is a key of ANSWERS, "hangs" or "drops"; it holds for reads from number `after` on, and for keys that `of` takes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.how, self.after, self.of = None, 0, lambda key: key != INDEX
        self.lock, self.reads, self.sick_reads = threading.Lock(), 0, 0
        self.over = threading.Event()
        keys = sorted(path.relative_to(root).as_posix() for path in self.root.rglob("*") if path.is_file())
        self.index = "".join(f"{(self.root / key).stat().st_size}\t{key}\n" for key in keys).encode()

    def fall_sick(self, how, after=0, of=None):
        self.how, self.after, self.of = how, after, of or self.of

    def is_sick(self, key):
        with self.lock:
            self.reads += key != INDEX
            sick = self.how is not None and self.of(key) and (key == INDEX or self.reads > self.after)
            self.sick_reads += sick
            return sick

    def tier(self, **options):
        return flow(type="http", url=self.url, index=INDEX, **options)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of = None

    def log_message(self, *_):
        pass

    def reply(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server_of
        key = urllib.parse.unquote(self.path).lstrip("/")
        if server.is_sick(key):
            if server.how in ANSWERS:
                return self.reply(*ANSWERS[server.how])
            if server.how == "hangs":
                server.over.wait()
            self.close_connection = True
            return None
        body = server.index if key == INDEX else (server.root / key).read_bytes()
        asked = self.headers.get("Range")
        if not asked:
            return self.reply(200, {}, body)
        first, last = (int(word or len(body) - 1) for word in asked.split("=")[1].split("-"))
        last = min(last, len(body) - 1)
        return self.reply(206, {"Content-Range": f"bytes {first}-{last}/{len(body)}"}, body[first:last + 1])


@contextlib.contextmanager
def sick_server(root):
    server = SickServer(root)
    with ProxyServer(("127.0.0.1", 0), type("Handler", (Handler,), {"server_of": server})) as listener:
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            listener.shutdown()
            thread.join()
