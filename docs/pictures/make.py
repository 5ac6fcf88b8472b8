#!/usr/bin/env python3
"""Makes the pictures of README.md: docs/pictures/make.py, with the program built and Debian's chromium installed.

One run of configs/slow-tier.yaml: its status page while it goes on, and its report afterwards. STOKER names the
program, as for the tests. It takes a minute.
"""
import base64
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/support"))

from browser import Browser  # noqa: E402
from stoker import SOURCE, Process, stoker  # noqa: E402


def take(browser, url, ready, height, name):
    """The upper part of the page, once its text matches, at four fifths of its size on a desktop."""
    browser.screen((1280, height))
    browser.open(url)
    browser.until(f"/{ready}/.test(document.body?.innerText)")
    clip = {"x": 0, "y": 0, "width": 1280, "height": height, "scale": 0.8}
    (HERE / name).write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", clip=clip)["data"]))


def main():
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        run = Process(["train", "configs/slow-tier.yaml", f"run.dir={folder}"], SOURCE)
        try:
            # Two thirds of the way: enough to see, and time to take it.
            if not run.wait_for(r"step 38\b"):
                sys.exit(run.log)
            take(browser, re.search(r"http://\S+/", run.log)[0], r"images\/s\s+\d", 1330, "status.png")
            if run.wait() != 0:
                sys.exit(run.log)
        finally:
            run.kill()
        directory = pathlib.Path(folder, "latest").resolve()
        stoker("report", directory, cwd=SOURCE)
        take(browser, (directory / "report.html").as_uri(), "Reads by tier", 1180, "report.png")


if __name__ == "__main__":
    main()
