"""Headless Chromium for tests of pages: what they show, what they ask for, what the browser says of them."""
import base64
import contextlib
import fcntl
import json
import os
import re
import select
import subprocess
import tempfile
import time

from stoker import PATIENCE_S, needed, until

PHONE, DESKTOP, WALL = (360, 780), (1280, 900), (1920, 1080)


class Browser:
    """Headless Chromium with one page, over a pair of pipes. Use as a context."""

    def __init__(self, scripts=()):
        program = needed("chromium", "chromium-browser", "google-chrome", package="chromium")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.of, of_write = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, of_write)]
        # The protocol's pipes are descriptors 3 and 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", program, "--headless=new",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--hide-scrollbars"],
            pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, of_write, *theirs):
            os.close(end)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            self.call(f"{domain}.enable")
        for source in scripts:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=source)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        with contextlib.suppress(Exception):
            self.call("Browser.close")
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.of], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.of, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            message = self.message(deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def until(self, expression):
        return until(lambda: self.evaluate(expression),
                     lambda: f"{expression}; page: {self.evaluate('document.body.innerText')}")

    def screen(self, size, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size == PHONE)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)

    def picture(self, path):
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        path.write_bytes(base64.b64decode(data))


def complaints(events):
    """What the browser said against the page, and the addresses it asked for."""
    said, asked = [], []
    for event in events:
        method, detail = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown" or "contentSecurityPolicyIssueDetails" in str(detail):
            said.append(json.dumps(detail)[:400])
        elif method == "Runtime.consoleAPICalled" and detail["type"] in ("error", "warning", "assert"):
            said.append(str([argument.get("value") for argument in detail["args"]]))
        elif method == "Log.entryAdded" and detail["entry"]["level"] in ("error", "warning"):
            said.append(detail["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            asked.append(detail["request"]["url"])
    return said, asked


SCALES = {"": 1, "%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
          "TB": 1e12, "PB": 1e15, "/s": 1, "MB/s": 1, "GB/s": 1e3, "TB/s": 1e6, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1,
          "min": 60, "h": 3600, "d": 86400}
NUMERIC = ("count", "tally", "amount", "rate", "per_second", "number", "plain", "share", "fine_share", "seconds",
           "span", "bytes", "megabytes_per_second")
TERM = re.compile(r"(-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?) ?([^\d\s-]*)")


def reads_as(text, value):
    """Is the text that number, to within what its last digit, or the unit it leaves out, stands for?"""
    terms = TERM.findall(text)
    total = sum(float(number.replace(",", "")) * SCALES[unit] for number, unit in terms)
    number, unit = terms[-1]
    mantissa, _, exponent = number.partition("e")
    last = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) * SCALES[unit]
    slack = SCALES[unit] if unit in ("min", "h", "d") else 0.51 * last
    return abs(total - value) <= slack + 1e-9 * abs(value)
