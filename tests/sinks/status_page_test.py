#!/usr/bin/env python3
"""The status page in a real browser: what it shows is what /api/status says.

tests/run sinks/status_page_test                     with simulated runs (ctest)
tests/run sinks/status_page_test URL                 the page of a server that is running
tests/run sinks/status_page_test --screenshots DIR   pictures of the simulated runs, for people to look at
"""
import argparse
import contextlib
import json
import pathlib
import re
import sys
import threading
import urllib.parse

from browser import Browser, DESKTOP, NUMERIC, PHONE, WALL, complaints, reads_as
from stoker import SOURCE

sys.path.append(str(SOURCE / "io/sinks/status_page"))
import preview  # noqa: E402

BREAKS = ((701, 900), (1270, 900), (1271, 900))  # where the layout changes
WIDEST = ("checkpointing", "three_weeks")
# Not for people, or drawn.
UNSEEN = re.compile(r"schema_version|now_unix_s|history(\..*)?|verdict\.level|judged(\..*)?")
# Keeps the last status that the page was sent, for a comparison with what it shows of it.
SPY = """{
  const real = window.fetch;
  window.fetch = async (...request) => {
    const reply = await real(...request);
    if (reply.ok) window.sent = await reply.clone().text();
    return reply;
  };
}"""
READ = """(() => {
  if (!window.sent) return null;
  if (document.documentElement.dataset.shown !== String(JSON.parse(window.sent).now_unix_s)) return null;
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  return JSON.stringify({ sent: window.sent, title: document.title,
    level: document.getElementById("verdict").dataset.level,
    values: [...document.querySelectorAll("[data-key]")].map((e) => ({ key: e.dataset.key, value: e.dataset.value,
      format: e.dataset.format ?? "text", text: e.textContent, seen: seen(e), level: e.dataset.level })),
    charts: [...document.querySelectorAll("[data-history]")].map((e) => ({ name: e.dataset.history,
      points: Number(e.dataset.points), colours: Math.max(0, ...[...e.querySelectorAll("canvas")].map((canvas) => {
        const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(image.data.buffer).filter((pixel) => pixel >>> 24 > 200)).size;
      })) })),
    connection: document.getElementById("connection").textContent,
    cut: [...document.querySelectorAll(".legend li, .legend .name")].filter((e) => seen(e) && e.scrollWidth > e.clientWidth)
      .map((e) => e.textContent),
    empty: [...document.querySelectorAll(".card, .figure")].filter((e) => seen(e) && !e.querySelector("[data-value], canvas, dt"))
      .map((e) => e.textContent),
    scroll: document.documentElement.scrollWidth, width: document.documentElement.clientWidth,
    wide: [...document.body.querySelectorAll("*")].filter((e) => seen(e) && e.getClientRects().length
      && e.getBoundingClientRect().right > e.closest("body, .card, .figure").getBoundingClientRect().right + 0.5)
      .map((e) => e.outerHTML.slice(0, 120)).slice(0, 3) });
})()"""


def read(browser):
    return json.loads(browser.until(READ))


def leaves(value, key=""):
    if isinstance(value, (dict, list)):
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, f"{key}.{name}" if key else str(name))
    elif value is not None and value != "":
        yield key, value


def at(status, key):
    for name in key.split("."):
        status = status[int(name)] if isinstance(status, list) else (status or {}).get(name)
    return status


# In the page, but shown only when there is something to say.
QUIET = re.compile(r"health\.(healthy|stalled_after_s)|device\.emulated|tiers\.\w+\.emulated")


def without_unused(status):
    """What counts nothing, such as an operation that never ran, has no row."""
    if not isinstance(status, dict):
        return status
    return {name: without_unused(part) for name, part in status.items()
            if not (isinstance(part, dict) and part.get("duration_s", {"count": 1})["count"] == 0)}


def check_values(page, sent):
    shown = {}
    for element in page["values"]:
        key, text, value = element["key"], element["text"], at(sent, element["key"])
        where = f"{key}: {value!r} is shown as {text!r}"
        if value is None or value == "":
            assert "value" not in element and text in ("", "not measured", "stoker"), where
            continue
        expected = str(value).lower() if isinstance(value, bool) else value
        assert (float(element["value"]) == value if isinstance(expected, (int, float)) else
                element["value"] == expected), f"{key}: {value!r} is {element['value']!r}"
        if element["format"] in NUMERIC:
            assert reads_as(text, value), where
        elif element["format"] in ("text", "name"):
            assert text == (value.replace("_", " ") if element["format"] == "name" else str(value)), where
        shown[key] = shown.get(key, False) or element["seen"]
        if element.get("level"):
            assert element["level"] == at(sent, f"judged.{element['key']}.level"), where
    for key, value in leaves(without_unused(sent)):
        if not UNSEEN.fullmatch(key):
            assert shown.get(key) or (key in shown and QUIET.fullmatch(key)), f"{key}: {value!r} is not shown"


def check_charts(page, sent):
    history = sent.get("history") or {}
    assert len(page["charts"]) == 5
    for chart in page["charts"]:
        data = history.get(chart["name"]) or []
        columns = list(data.values()) if isinstance(data, dict) else [data]
        measured = any(value is not None for column in columns for value in column)
        assert (chart["points"] >= len(history["elapsed_s"]) and chart["colours"] >= 1) if measured else (
            chart["points"] == 0), chart
        if isinstance(data, dict) and measured:
            drawn = sum(any(value and value > 0.05 for value in column) for column in columns)
            assert chart["colours"] >= drawn, (chart, drawn)


def check(browser, url):
    page = read(browser)
    sent = json.loads(page["sent"])
    check_values(page, sent)
    check_charts(page, sent)
    words = browser.evaluate("document.body.innerText") + page["title"]
    assert not re.search(r"\b(NaN|undefined|null|Infinity)\b|\[object", words), words
    assert page["level"] == ((sent.get("verdict") or {}).get("level") or "unknown")
    assert page["scroll"] <= page["width"] and not page["wide"], f"too wide: {page['wide']}"
    assert not page["cut"], f"a legend that does not fit: {page['cut']}"
    assert not page["empty"], f"cards that say nothing: {page['empty']}"
    said, asked = complaints(browser.events)
    assert not said, said
    path = urllib.parse.urljoin(url, "api/status")
    assert set(asked) <= {url, path, "data:,"} and path in asked, asked
    return page


def check_lost(browser, server):
    """The page keeps its last values and says so, and goes on when the server is back."""
    browser.open(server.url)
    before = read(browser)["values"]
    state, server.state = server.state, None
    text = browser.until("(t => t.includes('connection lost, last seen') && t)"
                         "(document.getElementById('connection').textContent)")
    assert re.search(r"last seen \d\d:\d\d:\d\d \(\d+\.\d s ago\)", text), text
    assert read(browser)["values"] == before
    server.state = state | {"schema_version": 3}
    browser.until("document.getElementById('connection').title.includes('schema_version 3')")
    server.state = state
    browser.until("document.getElementById('connection').textContent === 'live'")


def check_ended(browser, server):
    """A run that has ended is no lost connection: the page says how it ended, and which command makes its report."""
    state = preview.finished()
    server.state = state
    browser.open(server.url)
    said = f"completed, report: stoker report {state['run_directory']}"
    assert read(browser)["connection"] == said
    server.state = None
    browser.until("document.getElementById('connection').title !== ''")
    assert browser.evaluate("document.getElementById('connection').textContent") == said
    assert browser.evaluate("document.documentElement.dataset.connection") == "ended"
    server.state = state


def check_cursor(browser, server):
    """All charts tell of the moment under the mouse."""
    browser.open(server.url)
    read(browser)
    box = json.loads(browser.evaluate("JSON.stringify(document.querySelector('#chart-segments_share .plot')"
                                      ".getBoundingClientRect())"))
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + box["width"] / 2, y=box["y"] + 40)
    texts = browser.until("(t => t.every(Boolean) && t.join('|'))"
                          "([...document.querySelectorAll('.charts .at')].map(e => e.textContent))").split("|")
    assert len(texts) == 5 and all(" at " in text for text in texts), texts
    said, _ = complaints(browser.events)
    assert not said, said


@contextlib.contextmanager
def serving(state):
    server = preview.Server(state)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def check_live(browser, url, sizes=(DESKTOP, PHONE)):
    for size in sizes:
        browser.screen(size)
        browser.open(url)
        check(browser, url)


def check_simulated(browser):
    with serving(None) as server:
        for name, scenario in preview.SCENARIOS.items():
            server.state = scenario()
            try:
                check_live(browser, server.url, (DESKTOP, PHONE, WALL, *BREAKS) if name in WIDEST else (DESKTOP, PHONE))
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
        server.state = preview.running()
        browser.screen(DESKTOP, "dark")
        check_cursor(browser, server)
        check_lost(browser, server)
        check_ended(browser, server)


def take_pictures(browser, directory, names):
    directory.mkdir(parents=True, exist_ok=True)
    with serving(None) as server:
        for name in names:
            server.state = preview.SCENARIOS[name]()
            for size, screen in ((PHONE, "phone"), (DESKTOP, "desktop"), (WALL, "wall")):
                for scheme in ("light", "dark"):
                    browser.screen(size, scheme)
                    browser.open(server.url)
                    read(browser)
                    browser.picture(directory / f"{name}-{screen}-{scheme}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=preview.SCENARIOS, default=list(preview.SCENARIOS))
    options = parser.parse_args()
    with Browser([SPY]) as browser:
        if options.url:
            check_live(browser, options.url.rstrip("/") + "/")
        elif options.screenshots:
            take_pictures(browser, options.screenshots, options.only)
        else:
            check_simulated(browser)


if __name__ == "__main__":
    main()
