"""Servers of objects on the loopback interface: nginx, moto's S3, OpenStack Swift's S3, and a proxy that makes faults.

All are contexts. Nothing they need lies outside of a temporary directory; no service of the system is touched."""
import contextlib
import hashlib
import hmac
import http.client
import http.server
import os
import pathlib
import random
import re
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from stoker import environment, free_port, needed, until

PATIENCE_S = 60
# Those that moto and Swift are told; no others are used anywhere.
KEY_ID, SECRET = "test:tester", "testing"


def ready(url):
    """Whether the server there answers anything."""
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        pass
    return True


@contextlib.contextmanager
def process(words, log, **options):
    with open(log, "wb") as output:
        child = subprocess.Popen(list(map(str, words)), stdout=output, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, **options)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def await_server(child, url, log):
    until(lambda: ready(url), lambda: pathlib.Path(log).read_text(errors="replace"), PATIENCE_S,
          lambda: child.poll() is None)


NGINX = """daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 2048; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  keepalive_requests 10000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location {location} {{ root {root}; autoindex on; autoindex_format json; }}
  }}
}}
"""


@contextlib.contextmanager
def nginx(root, location="/"):
    """The URL of the files below root, whose names begin with location."""
    binary = needed("nginx", "/usr/sbin/nginx", package="nginx")
    with tempfile.TemporaryDirectory(prefix="stoker-nginx-") as folder:
        port = free_port()
        user = "user root;" if os.geteuid() == 0 else ""
        config = pathlib.Path(folder, "nginx.conf")
        config.write_text(NGINX.format(folder=folder, port=port, root=root, location=location, user=user))
        log = f"{folder}/error.log"
        with process([binary, "-e", log, "-p", folder, "-c", config], f"{folder}/output") as child:
            url = f"http://127.0.0.1:{port}"
            await_server(child, url + location, log)
            yield url


def request(url, method="GET", body=b"", **headers):
    with urllib.request.urlopen(urllib.request.Request(url, body or None, headers, method=method), timeout=60) as answer:
        return answer.read()


class Bucket:
    """A bucket to use: how a tier says it, and the environment that holds its credentials."""

    def __init__(self, endpoint, name, key_id, secret, token=""):
        self.endpoint, self.name = endpoint, name
        self.environment = {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret} | (
            {"AWS_SESSION_TOKEN": token} if token else {})

    def tier(self, endpoint=None, **options):
        return {"type": "s3", "endpoint": endpoint or self.endpoint, "bucket": self.name} | options

    def ask(self, method, key="", query=""):
        path = urllib.parse.quote(f"/{self.name}" + (key and f"/{key}"))
        url = f"{self.endpoint}{path}" + (query and f"?{query}")
        return request(url, method, **signed(self, method, path, query))

    def etags(self):
        """By key, of up to 1,000 objects."""
        listed = self.ask("GET", query="list-type=2").decode()
        return dict(re.findall(r"<Key>(.*?)</Key>.*?<ETag>(.*?)</ETag>", listed, re.DOTALL))


def moto_user(url):
    """A user that may all, of moto's IAM; its key."""
    scope = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, "
                              "Signature=x", "Content-Type": "application/x-www-form-urlencoded"}
    policy = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'

    def iam(action, **fields):
        text = urllib.parse.urlencode({"Action": action, "Version": "2010-05-08", "UserName": "tester"} | fields)
        return request(url, "POST", text.encode(), **scope).decode()
    iam("CreateUser")
    iam("PutUserPolicy", PolicyName="all", PolicyDocument=policy)
    key = iam("CreateAccessKey")
    return (key.split(f"<{name}>")[1].split("<")[0] for name in ("AccessKeyId", "SecretAccessKey"))


@contextlib.contextmanager
def moto(bucket="contract"):
    """A Bucket. Signatures are checked."""
    python = environment("moto", "flask", "flask_cors")
    with tempfile.TemporaryDirectory(prefix="stoker-moto-") as folder:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        with process([python, "-m", "moto.server", "-H", "127.0.0.1", "-p", port], f"{folder}/log") as child:
            await_server(child, url + "/moto-api/data.json", f"{folder}/log")
            request(f"{url}/{bucket}", "PUT")
            key_id, secret = moto_user(url)
            request(f"{url}/moto-api/reset-auth", "POST", b"0", **{"Content-Type": "text/plain"})
            yield Bucket(url, bucket, key_id, secret)


SWIFT_PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
[filter:slo]
use = egg:swift#slo
"""
SWIFT_PART = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
SWIFT_CONF = """[swift-hash]
swift_hash_path_prefix = stoker
swift_hash_path_suffix = test
[storage-policy:0]
name = one
default = yes
"""
# One process that reads Swift's code, makes its rings and becomes its four servers: for each NAME=PORT.
SWIFT_START = """import os
import signal
import sys
import swift.common.utils
folder, *servers = sys.argv[1:]
swift.common.utils.SWIFT_CONF_FILE = folder + "/swift.conf"
from swift.common.ring import RingBuilder
from swift.common.wsgi import run_wsgi
for name, port in (server.split("=") for server in servers[:3]):
    builder = RingBuilder(2, 1, 0)
    builder.add_dev(dict(id=0, region=1, zone=1, ip="127.0.0.1", port=int(port), device="d1", weight=1.0,
                         replication_ip="127.0.0.1", replication_port=int(port), meta=""))
    builder.rebalance()
    builder.get_ring().save(f"{folder}/{name}.ring.gz")
children = []
for server in servers:
    name = server.split("=")[0]
    child = os.fork()
    if child == 0:
        sys.exit(run_wsgi(f"{folder}/{name}.conf", name + "-server"))
    children.append(child)
def end(*_):
    for child in children:
        os.kill(child, signal.SIGTERM)
signal.signal(signal.SIGTERM, end)
for child in children:
    os.waitpid(child, 0)
"""


def swift_missing():
    """Why Swift cannot run here, or nothing."""
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.setxattr(file.name, "user.stoker", b"1")
        except OSError as error:
            return f"Swift needs extended attributes: {error}"
    return ""


@contextlib.contextmanager
def swift(bucket="contract"):
    """A Bucket."""
    with tempfile.TemporaryDirectory(prefix="stoker-swift-", ignore_cleanup_errors=True) as folder:
        at = pathlib.Path(folder)
        (at / "devices/d1").mkdir(parents=True)
        (at / "swift.conf").write_text(SWIFT_CONF)
        (at / "start.py").write_text(SWIFT_START)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        ports = {name: free_port() for name in ("account", "container", "object", "proxy")}
        url = f"http://127.0.0.1:{ports['proxy']}"
        for name, port in list(ports.items())[:3]:
            (at / f"{name}.conf").write_text(SWIFT_PART.format(port=port, user=user, folder=folder, name=name))
        (at / "proxy.conf").write_text(
            SWIFT_PROXY.format(port=ports["proxy"], user=user, folder=folder, secret=SECRET))
        words = [environment("swift"), at / "start.py", folder, *(f"{name}={port}" for name, port in ports.items())]
        with process(words, at / "log") as child:
            for port in ports.values():  # the proxy avoids for a minute what it could not reach once
                await_server(child, f"http://127.0.0.1:{port}", at / "log")
            made = Bucket(url, bucket, KEY_ID, SECRET)
            make_bucket(made)
            yield made


def signed(bucket, method, path, query=""):
    """The headers of a request without a body, by AWS's Signature Version 4."""
    def mac(key, text):
        return hmac.new(key, text.encode(), hashlib.sha256).digest()
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    headers = {"host": bucket.endpoint.split("//")[1], "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": now}
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = "\n".join([method, path, query, lines, ";".join(headers), "UNSIGNED-PAYLOAD"])
    key = f"AWS4{bucket.environment['AWS_SECRET_ACCESS_KEY']}".encode()
    for word in scope.split("/"):
        key = mac(key, word)
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    return headers | {"Authorization": f"AWS4-HMAC-SHA256 Credential={bucket.environment['AWS_ACCESS_KEY_ID']}/{scope},"
                      f"SignedHeaders={';'.join(headers)},Signature={mac(key, text).hex()}"}


def make_bucket(bucket):
    """Swift's parts are ready one after the other."""
    until(lambda: bucket.ask("PUT") is not None, lambda: f"{bucket.endpoint} does not make a bucket", PATIENCE_S)


class Faults:
    """Which requests go wrong: a share of them, by a seeded generator; and how: the kinds in turn."""

    def __init__(self, share, kinds, seed=1):
        self.share, self.kinds, self.random = share, kinds, random.Random(seed)
        self.lock, self.requests, self.made = threading.Lock(), 0, {}

    def next(self, method):
        with self.lock:
            self.requests += 1
            if self.random.random() >= self.share:
                return None
            kind = self.kinds[sum(self.made.values()) % len(self.kinds)]
            if kind == "damage" and method != "PUT":
                return None
            self.made[kind] = self.made.get(kind, 0) + 1
            return kind


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream, faults, stall_s = None, None, 0

    def log_message(self, *_):
        pass

    def ask(self, body):
        connection = http.client.HTTPConnection(self.upstream, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def reply(self, status, headers, body, cut=False):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = next((value for name, value in headers if name.lower() == "content-length"), len(body))
        if status != 204:
            self.send_header("Content-Length", length if self.command == "HEAD" else len(body))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def serve(self):
        fault = self.faults.next(self.command) if self.faults else None
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault and fault.isdigit():
            extra = [("Retry-After", "1")] if fault == "429" else []
            return self.reply(int(fault), extra, b"<Error><Code>SlowDown</Code></Error>")
        if fault == "drop":
            self.close_connection = True
            return None
        if fault == "stall":
            time.sleep(self.stall_s)
        if fault == "damage" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        status, headers, content = self.ask(body)
        if fault == "etag":
            headers = [(name, '"other"' if name.lower() == "etag" else value) for name, value in headers]
        return self.reply(status, headers, content, cut=fault == "cut")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve


class ProxyServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # whoever asked has gone


@contextlib.contextmanager
def proxy(url, faults, stall_s=5):
    """The URL of a proxy before that server, with these faults: a status, cut, drop, stall, etag or damage."""
    handler = type("Handler", (Proxy,), {"upstream": url.split("//")[1], "faults": faults, "stall_s": stall_s})
    with ProxyServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
