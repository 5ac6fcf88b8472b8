#!/usr/bin/env python3
"""Makes the pictures of the pages: docs/pictures/make.py, with the program built, and Debian's chromium and python3-pil.

Of one run of configs/slow-tier.yaml: its status page while it goes on, and its report afterwards, as README.md shows
them. Of another run what TensorBoard shows of its I/O profiler's sessions. Of the script of docs/any-program.md, on an
emulated hard disk, the report; python3 has to have PyTorch for it. And pages/NAME.png for each kind of page: 1440 and 390
pixels wide, light and dark, at half its size. STOKER names the program, as for the tests. It takes three minutes.
"""
import base64
import io
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/support"))

from browser import Browser  # noqa: E402
from stoker import MINI, SOURCE, STOKER, Process, configuration, flow, posix, stoker  # noqa: E402
from tensorboard_server import DEEP, TensorBoard  # noqa: E402

VIEWS = [(width, scheme) for width in (1440, 390) for scheme in ("light", "dark")]
HEIGHT, GAP, COLOURS = 1500, 16, 64


def screenshot(browser, size, scale=1.0):
    """The upper part of the page."""
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": scale}
    data = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def of_readme(browser, height, name):
    browser.screen((1280, height))
    browser.evaluate("new Promise(requestAnimationFrame)")
    screenshot(browser, (1280, height), 0.8).save(HERE / name)


def of_page(browser, name):
    """The open page in each view, beside each other."""
    parts = []
    for width, scheme in VIEWS:
        browser.screen((width, HEIGHT), scheme)
        browser.evaluate("new Promise((done) => setTimeout(done, 500))")  # charts are drawn anew
        parts.append(screenshot(browser, (width, HEIGHT), 0.5))
    sheet = Image.new("RGB", (sum(part.width + GAP for part in parts) - GAP, HEIGHT // 2), "gray")
    left = 0
    for part in parts:
        sheet.paste(part, (left, 0))
        left += part.width + GAP
    (HERE / "pages").mkdir(exist_ok=True)
    sheet.quantize(COLOURS).save(HERE / "pages" / f"{name}.png", optimize=True)


def show(browser, url, ready):
    browser.open(url)
    browser.until(f"/{ready}/.test(document.body?.innerText)")


def of_run(browser, folder):
    run = Process(["train", "configs/slow-tier.yaml", f"run.dir={folder}"], SOURCE)
    try:
        # Two thirds of the way: enough to see, and time to take it.
        if not run.wait_for(r"step 38\b"):
            sys.exit(run.log)
        show(browser, re.search(r"http://\S+/", run.log)[0], r"images\/s\s+\d")
        of_readme(browser, 1330, "status.png")
        of_page(browser, "live")
        browser.until("/completed/.test(document.body.innerText)")
        of_page(browser, "ended")
        if run.wait() != 0:
            sys.exit(run.log)
    finally:
        run.kill()


def of_tensorboard(browser, folder):
    """Figures of sessions, and the timeline of one: beside each other."""
    folder.mkdir()
    shutil.copytree(MINI, folder / "caltech101")
    session = flow(every_steps=4, steps=4, include=[f"{folder}/"])
    (folder / "image-case.yaml").write_text(configuration(
        run="{name: image-case}", training="{max_steps: 48, epochs: 4}", evaluation="{enabled: false}",
        loader="{type: sync, batch_size: 8, shuffle: true}", device="{type: emulated, step_ms: 4}",
        tiers={"data": flow(type="posix", read="tensorflow", root="caltech101"), "slow": posix("checkpoints")},
        checkpoint="{type: direct, slow: slow, every_steps: 8, write: stdio, layout: tf_saver}",
        metrics=f"{{io_profile: {session}, sinks: [{{type: tensorboard}}]}}"))
    stoker("train", "image-case.yaml", cwd=folder)
    run = (folder / "runs/latest").resolve()
    (folder / "runs/latest").unlink()
    with TensorBoard(folder / "runs") as server:
        browser.screen((1000, 1020))
        browser.open(server.page("timeseries", tagFilter="io_profile/(read/(mb_per_s|sizes|sequential_share)|stdio/writes)"))
        browser.until("window.deepShows?.('io_profile/read/mb_per_s')")
        browser.evaluate("""[...deepElements(document)].find((one) => one.tagName === "BUTTON" && one.textContent.includes("Settings"))
          .click(); new Promise((done) => setTimeout(done, 3000))""")
        figures = screenshot(browser, (1000, 1020), 0.8)
        browser.screen((1100, 1020))
        browser.open(server.page("profile", tool="trace_viewer@", run=f"{run.name}/io_profile-0000000004", host=socket.gethostname()))
        browser.until(f"window.deepShows?.('{socket.gethostname()} /host:CPU (pid 1701)')")
        browser.evaluate("deepFind('Expand All').click(); new Promise((done) => setTimeout(done, 2000))")
        timeline = screenshot(browser, (1100, 1020), 0.8)
    sheet = Image.new("RGB", (figures.width + GAP + timeline.width, figures.height), "gray")
    sheet.paste(figures, (0, 0))
    sheet.paste(timeline, (figures.width + GAP, 0))
    sheet.quantize(COLOURS).save(HERE / "tensorboard.png", optimize=True)


def of_program(browser, folder):
    """docs/any-program.md: its script under `stoker run`, as the page has it."""
    folder.mkdir()
    shutil.copytree(SOURCE / "datasets", folder / "datasets")  # a link's target would be shown
    page = (SOURCE / "docs/any-program.md").read_text()
    (folder / "train.py").write_text(re.search(r"(?ms)^```python\n(.*?)^```", page)[1])
    for words in re.findall(r"(?m)^ {4}stoker ((?:run|report) .*hdd\.darshan.*)$", page):
        stoker(*words.split(), cwd=folder)
    show(browser, (folder / "hdd.html").as_uri(), "Files by time")
    size = (1180, 900)
    browser.screen(size)
    browser.evaluate("new Promise((done) => setTimeout(done, 500))")
    screenshot(browser, size).quantize(COLOURS).save(HERE / "any-program.png", optimize=True)


def main():
    with tempfile.TemporaryDirectory() as folder, Browser(scripts=[DEEP]) as browser:
        of_tensorboard(browser, pathlib.Path(folder, "tensorboard"))

    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        of_program(browser, pathlib.Path(folder, "program"))
        runs = pathlib.Path(folder, "runs")
        of_run(browser, runs)
        first = (runs / "latest").resolve()
        stoker("report", first, cwd=SOURCE)
        show(browser, (first / "report.html").as_uri(), "Reads by tier")
        of_readme(browser, 1180, "report.png")
        of_page(browser, "report")

        stoker("train", "configs/slow-tier.yaml", f"run.dir={runs}", "loader.type=prefetched", cwd=SOURCE)
        both = pathlib.Path(folder, "both.html")
        stoker("report", first, (runs / "latest").resolve(), "--output", both, cwd=SOURCE)
        show(browser, both.as_uri(), "Configuration of")
        of_page(browser, "comparison")

        sweep = pathlib.Path(folder, "sweep")
        stoker("sweep", "configs/slow-tier.yaml", "loader.type=sync,prefetched", "loader.workers=2,8",
               "--set", "training.max_steps=20", "--directory", sweep, cwd=SOURCE)
        show(browser, (sweep / "report.html").as_uri(), "workers")
        of_page(browser, "sweep")

        server = subprocess.Popen([STOKER, "serve", runs.name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            address = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)))[0]
            show(browser, address, "slow-tier")
            of_page(browser, "runs")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
