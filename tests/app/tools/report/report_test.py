#!/usr/bin/env python3
"""`stoker report` in a real browser: a real run, two runs and a sweep.

tests/run app/tools/report/report_test                     (ctest)
tests/run app/tools/report/report_test --screenshots DIR   pictures of the pages, for people to look at
"""
import argparse
import csv
import json
import math
import pathlib
import re
import shutil
import tempfile

from browser import Browser, DESKTOP, NUMERIC, PHONE, complaints, reads_as
from darshan_logs import DXT_POSIX, POSIX, STDIO, counters_record, darshan_log, segments_record
from stoker import MINI, Process, configuration, emulated, read_summary
from stoker import stoker as run_stoker

HOSTILE = "</script><img src=x onerror=\"window.hit=1\"><!--<script>& '\""
CONFIG = configuration(
    tiers={"slow": emulated("slow", profile="hdd")}, run="{name: demo, seed: 1}",
    device="{type: emulated, step_ms: 20}", decoder="{type: jpeg, size: 64}", training="{max_steps: 120, epochs: 99}",
    checkpoint="{type: direct, slow: slow, every_steps: 30}",
    metrics="{every_steps: 5, sinks: [{type: csv}, {type: timeline, seconds: 0.25}]}")
READ = """(() => {
  if (!document.documentElement?.dataset.shown) return null;
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  return JSON.stringify({ kind: document.documentElement.dataset.shown, title: document.title, hit: window.hit ?? null,
    images: document.images.length,
    values: [...document.querySelectorAll("[data-key]")].map((e) => ({ key: e.dataset.key, value: e.dataset.value,
      format: e.dataset.format ?? "text", text: e.textContent, seen: seen(e) })),
    charts: [...document.querySelectorAll(".plot")].map((e) => ({ title: e.closest(".card").querySelector("h2").textContent,
      points: Number(e.dataset.points), colours: Math.max(0, ...[...e.querySelectorAll("canvas")].map((canvas) => {
        const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(image.data.buffer).filter((pixel) => pixel >>> 24 > 200)).size;
      })) })),
    plots: [...document.querySelectorAll(".area svg")].map((e) => ({ marks: e.querySelectorAll(".solid").length,
      published: e.querySelectorAll(".published").length, errors: e.querySelectorAll(".error").length })),
    looks: [...document.querySelectorAll(".area svg")].slice(0, 1).flatMap((plot) => [...plot.querySelectorAll(".trace:not(.dashed)")])
      .map((line) => `${getComputedStyle(line).stroke} ${getComputedStyle(line).strokeDasharray}`), parallel: document.querySelectorAll(".parallel .trace").length,
    overlaps: [...document.querySelectorAll(".parallel svg")].flatMap((plot) => {
      const boxes = [...plot.querySelectorAll(".tick")].map((e) => [e.textContent, e.getBoundingClientRect()]);
      return boxes.flatMap(([name, one], at) => boxes.slice(at + 1).filter(([, other]) => one.left < other.right && other.left < one.right
        && one.top < other.bottom && other.top < one.bottom).map(([other]) => `${name}|${other}`));
    }),
    rows: [...new Set([...document.querySelectorAll(".cells tbody tr")].map((e) => getComputedStyle(e).display))],
    text: document.body.innerText,
    scroll: document.documentElement.scrollWidth, width: document.documentElement.clientWidth,
    wide: [...document.body.querySelectorAll("*")].filter((e) => seen(e) && e.getClientRects().length
      && !e.closest("pre, .block, svg, .track") && e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      .map((e) => e.outerHTML.slice(0, 160)).slice(0, 3) });
})()"""


def stoker(folder, *arguments, code=0):
    return run_stoker(*arguments, cwd=folder, code=code).stdout


def train(folder, *overrides):
    (folder / "config.yaml").write_text(CONFIG)
    shutil.rmtree(folder / "slow", ignore_errors=True)  # checkpoints of the run before
    stoker(folder, "train", "config.yaml", "-q", *overrides)
    return (folder / "runs" / "latest").resolve()


def at(value, key):
    for name in key.split("."):
        value = value[int(name)] if isinstance(value, list) else (value or {}).get(name)
    return value


def embedded(page):
    """The data that the program put into the page."""
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL).group(1)
    return json.loads(text)


def open_page(browser, page, size=DESKTOP, scheme="light"):
    browser.screen(size, scheme)
    browser.open(page.as_uri())
    shown = json.loads(browser.until(READ))
    said, asked = complaints(browser.events)
    assert not said, said
    assert set(asked) <= {page.as_uri(), "data:,"}, asked
    assert shown["hit"] is None and shown["images"] == 0
    assert not re.search(r"\b(NaN|undefined|null|Infinity)\b|\[object", shown["text"] + shown["title"]), re.findall(
        r".{0,60}\b(?:NaN|undefined|null|Infinity)\b.{0,60}|.{0,60}\[object.{0,60}", shown["text"])
    assert shown["scroll"] <= shown["width"] and not shown["wide"], f"too wide at {size}: {shown['wide']}"
    return shown


def check_values(shown, data, required=()):
    found = set()
    for element in shown["values"]:
        key, text, value = element["key"], element["text"], at(data, element["key"])
        where = f"{key}: {value!r} is shown as {text!r}"
        if value is None or value == "":
            assert "value" not in element, where
            continue
        assert (float(element["value"]) == value if isinstance(value, (int, float)) else element["value"] == value), where
        if element["format"] in NUMERIC:
            assert reads_as(text, value), where
        elif element["format"] == "text" and isinstance(value, str):
            assert text == value, where
        if element["seen"]:
            found.add(key)
    for key in required:
        assert key in found, f"{key} is not shown"


RUN_VALUES = ("exposed_io_share", "images_per_s", "io_share", "device.idle_share", "device.au", "verdict.text", "steps", "images", "wall_s", "first_batch_s",
              "conditions.page_cache", "device.name", "closure_error", "checkpoints.saved", "checkpoints.save_s.median",
              "slowest_samples.read.0.key", "slowest_samples.read.9.seconds", "slowest_samples.decode.0.seconds")


def check_run(browser, run):
    page = pathlib.Path(stoker(run.parent, "report", run).strip())
    assert page == run / "report.html", page
    summary = read_summary(run)
    data = embedded(page)
    assert data["runs"][0]["summary"] == summary
    assert {tier["tier"] for tier in data["runs"][0]["tiers"]} == {"data", "slow"}
    for size in (DESKTOP, PHONE):
        for scheme in ("light", "dark"):
            shown = open_page(browser, page, size, scheme)
            assert shown["kind"] == "run"
            check_values(shown, data, [f"runs.0.summary.{key}" for key in RUN_VALUES])
            charts = {chart["title"]: chart for chart in shown["charts"]}
            for title in ("Where the step goes", "Device idle by cause", "Reads by tier, MB/s", "Writes by tier, MB/s", "Images/s"):
                assert charts[title]["points"] >= 4 and charts[title]["colours"] >= 1, charts
    for words in ("emulated storage", "slow: latency of a write", "data: size of a read", "training", "Configuration"):
        assert words in shown["text"], words


def check_timeline(run):
    """What the rows say, summed, is what the run counted."""
    summary = read_summary(run)
    with open(run / "timeline.csv", newline="", encoding="utf-8") as file:
        rows = [{name: float(value) if value else None for name, value in row.items()} for row in csv.DictReader(file)]
    ends = [0.0] + [row["elapsed_s"] for row in rows]
    spans = [end - begin for begin, end in zip(ends, ends[1:])]
    assert ends == sorted(ends)

    def whole(name):
        return sum(span * (row[name] or 0) for span, row in zip(spans, rows))

    for tier, op in (("data", "read"), ("slow", "write")):
        counted, name = summary["tiers"][tier][op], f"tiers.{tier}.{op}"
        assert math.isclose(whole(f"{name}.mb_per_s"), 1e-6 * counted["bytes"], rel_tol=0.01), (name, counted["bytes"])
        assert math.isclose(whole(f"{name}.operations_per_s"), counted["duration_s"]["count"], rel_tol=0.01)
        assert math.isclose(counted["busy_mb_per_s"], 1e-6 * counted["bytes"] / counted["busy_s"])
        assert (sum(counted["duration_s"]["counts"]) == sum(counted["request_bytes"]["counts"])
                == counted["duration_s"]["count"])
    assert math.isclose(whole("images_per_s"), summary["images"], rel_tol=0.01)
    observed = [0.0] + [row["device.observed_s"] or 0 for row in rows]
    busy = sum((row["device.busy_share"] or 0) * (to - since) for row, since, to in zip(rows, observed, observed[1:]))
    assert math.isclose(busy, summary["device"]["busy_s"], rel_tol=0.01), (busy, summary["device"])
    for segment, seconds in summary["segments_s"].items():
        assert abs(whole(f"segments_share.{segment}") - seconds) <= 0.05 * summary["wall_s"], (segment, seconds)
    read = summary["slowest_samples"]["read"]
    assert [sample["seconds"] for sample in read] == sorted((sample["seconds"] for sample in read), reverse=True)
    assert all((MINI / sample["key"]).stat().st_size == sample["bytes"] for sample in read)
    parts = {operation["part"] for operation in summary["checkpoints"]["operations"]}
    assert {"blocked", "write"} <= parts, parts


def check_two(browser, run, other):
    page = run.parent / "two.html"
    stoker(run.parent, "report", run, other, "--output", page)
    data = embedded(page)
    assert [row["key"] for row in data["differences"]["config"]] == ["loader.type"], data["differences"]
    for size in (DESKTOP, PHONE):
        shown = open_page(browser, page, size)
        check_values(shown, data, [f"runs.{at}.summary.{key}" for at in (0, 1) for key in ("images_per_s", "io_share", "loader")[:2]])
        assert {"Images/s", "Waiting for data", "data: reads, MB/s"} <= {chart["title"] for chart in shown["charts"]}
        assert "loader.type" in shown["text"]


def check_hostile(browser, run):
    """Texts of files are texts: none becomes an element, none ends the script that holds it."""
    copy = run.parent / "hostile"
    shutil.copytree(run, copy)
    summary = read_summary(copy)
    summary.update(error=HOSTILE, model=HOSTILE, status="failed")
    summary["tiers"][HOSTILE] = summary["tiers"].pop("data")
    summary["tiers"]["slow"]["conditions"] = [HOSTILE]
    summary["slowest_samples"]["read"][0]["key"] = HOSTILE
    summary |= {"skipped": {"corrupt": 3}, "tolerated": 41}
    (copy / "summary.json").write_text(json.dumps(summary))
    config = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(re.sub(r"name: demo", "name: " + json.dumps(HOSTILE), config, count=1))
    (copy / "overrides").write_text(HOSTILE)
    page = pathlib.Path(stoker(copy, "report", copy).strip())
    assert "</script><img" not in page.read_text()
    for size in (DESKTOP, PHONE):
        shown = open_page(browser, page, size)
        assert shown["title"].startswith(HOSTILE) and shown["text"].count("<img src=x") >= 5, shown["title"]
        for words in ("3 samples replaced (corrupt), see skipped.csv", "41 damaged samples used", "tolerated.csv"):
            assert words in shown["text"], words


def profile_log(path):
    """A session in which one file was read by requests of 4 KiB, and another one was written by a stream."""
    read = [0] * 69
    read[0], read[3], read[14], read[16], read[18], read[20], read[30], read[31] = 1, 64, 262144, 262143, 62, 63, 1, 63
    read[49], read[53], read[57], read[61] = 4096, 62, 4096, 64
    segments = [(4096 * at, 4096, 0.1 * at, 0.1 * at + 0.05) for at in range(64)]
    modules = {POSIX: (4, [counters_record("<", 1, 0, read, [0.5] * 17)]),
               STDIO: (2, [counters_record("<", 2, 0, [1, 0, 0, 5, 0, 1, 500, 0, 0, 499] + 4 * [0], 15 * [0.25])]),
               DXT_POSIX: (1, [segments_record("<", 1, 0, "node7", [], segments)])}
    return darshan_log(modules, {1: path, 2: "/out/log"}, command=HOSTILE.replace("\n", " "), partial=(POSIX,),
                       metadata="lib_ver=3.5.0\nstoker_emulated=2.5 0 0.5 data 262144 0 4 0;\n")


PROFILE_VALUES = ("job.seconds", "job.command", "remarks.0", "posix.reads", "stdio.writes", "read.bytes", "read.mb_per_s",
                  "read.under_way_mb_per_s", "emulated.0.bytes_read", "emulated.0.read_mb_per_s", "emulated.0.reading_s", "read.sequential_share",
                  "read.consecutive_share", "time_share.read", "access_sizes.0.value", "strides.0.count", "files.0.path", "files.0.seconds", "files.1.bytes_written", "directories.0.path")


def check_profiles(browser, run):
    """Sessions of the I/O profiler: the first in full, others folded, one that is damaged."""
    copy = run.parent / "profiled"
    shutil.copytree(run, copy)
    (copy / "io_profile-5.darshan").write_bytes(profile_log(f"/data/{HOSTILE}"))
    (copy / "io_profile-10.darshan").write_bytes(profile_log("/data/a.jpg"))
    (copy / "io_profile-15.darshan").write_bytes(profile_log("/data/b.jpg")[:-1])
    page = pathlib.Path(stoker(copy, "report", copy).strip())
    data = embedded(page)
    assert [session["file"] for session in data["runs"][0]["io_profiles"]] == [
        f"io_profile-{step}.darshan" for step in (5, 10, 15)]
    for size in (DESKTOP, PHONE):
        shown = open_page(browser, page, size)
        check_values(shown, data, [f"runs.0.io_profiles.0.profile.{key}" for key in PROFILE_VALUES]
                     + ["runs.0.io_profiles.1.profile.read.bytes", "runs.0.io_profiles.2.error"])
        [course] = [chart for chart in shown["charts"] if chart["title"] == "Read and written over the session, MB/s"]
        assert course["points"] > 20 and course["colours"] >= 1, course
        for words in ("read, EMULATED tier data", "tier 'data' is EMULATED", "Sizes of reads and writes", "Files by time lost", "POSIX is incomplete", "cut off"):
            assert words in shown["text"], words
    log = copy / "io_profile-10.darshan"
    page = pathlib.Path(stoker(copy, "report", log).strip())
    assert page == pathlib.Path(f"{log}.html"), page
    shown = open_page(browser, page, PHONE)
    assert shown["kind"] == "profiles" and shown["title"].startswith(str(log)), shown["title"]
    check_values(shown, embedded(page), [f"profiles.0.profile.{key}" for key in PROFILE_VALUES])
    stoker(copy, "report", copy, log, code=2)
    stoker(copy, "report", copy / "io_profile-15.darshan", code=4)


def check_killed(browser, folder):
    process = Process(["train", "config.yaml", "-q", "training.max_steps=100000", "training.epochs=100000",
                       "run.dir=killed", "checkpoint={type: none}"], folder)
    try:
        process.until(lambda: (folder / "killed/latest/timeline.csv").read_text().count("\n") >= 4)
    finally:
        process.kill()
    page = pathlib.Path(stoker(folder, "report", (folder / "killed" / "latest").resolve()).strip())
    shown = open_page(browser, page)
    assert "was killed" in shown["text"]
    assert all(chart["points"] >= 2 for chart in shown["charts"] if chart["title"] == "Images/s"), shown["charts"]


def sweep_results(title="Read bandwidth by threads"):
    def points(base, gain):
        return [{"x": threads, "median": base * gain(threads), "min": 0.93 * base * gain(threads),
                 "max": 1.05 * base * gain(threads), "n": 5} for threads in (1, 2, 4, 8)]
    threads = [{"series": "hdd", "of": ["hdd"], "points": points(20, lambda n: 1 + 1.3 * (1 - 1 / n))},
               {"series": "ssd", "of": ["ssd"], "points": points(60, lambda n: n ** 0.7)}]
    bars = [{"series": "sync", "points": [{"x": tier, "median": 10 * at + 12, "min": 10 * at + 11, "max": 10 * at + 14, "n": 3}
                                          for at, tier in enumerate(("hdd", "ssd", "a tier with a long name"))]},
            {"series": "prefetched", "points": [{"x": tier, "median": 11, "min": 11, "max": 11, "n": 1}
                                                for tier in ("hdd", "ssd", "a tier with a long name")]}]
    return {
        "schema_version": 1, "name": "paper-2018", "command": "train", "repeat": 5,
        "axes": [{"key": "storage.data", "values": ["hdd", "ssd"]}, {"key": "loader.workers", "values": [1, 2, 4, 8]}],
        "machine": {"cpu": {"model": "Xeon", "cores": 2}, "kernel": "Linux 6.1"},
        "rows": [{"cell": {"storage.data": tier, "loader.workers": workers}, "repeat": repeat, "seconds": 3.5,
                  "status": "failed" if (tier, workers, repeat) == ("ssd", 8, 1) else "ok", "conditions": {"page_cache": "cold"},
                  **({"error": "no space left on device"} if (tier, workers, repeat) == ("ssd", 8, 1) else {}),
                  "figures": {} if (tier, workers, repeat) == ("ssd", 8, 1) else {"read.mb_per_s": 20.5 * workers, "io_share": 0.25}}
                 for tier in ("hdd", "ssd") for workers in (1, 2, 4, 8) for repeat in (0, 1)],
        "plots": [
            {"title": title, "x": "loader.workers", "y": "read.mb_per_s", "series": "storage.data", "scale": "linear",
             "relative_to": {}, "note": "Emulated tiers.", "data": threads,
             "published": [{"series": "hdd", "points": [[1, 22], [8, 50.6]], "mark": "S", "source": "Chien et al. 2018"}]},
            {"title": "The same, logarithmic", "x": "loader.workers", "y": "read.mb_per_s", "series": "storage.data", "scale": "log",
             "note": "", "data": threads, "published": []},
            {"title": "Run time by tier", "x": "tier", "y": "wall_s", "series": ["loader.type"], "scale": "linear",
             "relative_to": "loader.type=sync", "note": "", "data": bars,
             "published": [{"series": "sync", "points": [["hdd", 15]], "mark": "V", "source": "the same"}]},
            {"title": "Nothing", "x": "tier", "y": "wall_s", "series": [], "data": [], "published": []}],
        "findings": [
            {"name": "threads help at most 2.3x on a hard disk", "measured": 2.14, "low": 2.0, "high": 2.31, "published": 2.3,
             "tolerance": 0.15, "verdict": "within", "mark": "V", "source": "Chien et al. 2018, abstract"},
            {"name": "prefetching hides reading", "measured": 0.31, "low": 0.3, "high": 0.35, "at_most": 0.05, "verdict": "outside",
             "mark": "V", "source": "the same"},
            {"name": "a checkpoint takes 15 % of the run", "measured": 0.151, "published": 0.15, "tolerance": 0.1, "verdict": "put in",
             "fitted": "device.step_ms", "mark": "S", "source": "notes"},
            {"name": "on Lustre 7.8x", "published": 7.8, "tolerance": 0.15, "verdict": "not measured", "mark": "V", "source": ""}]}


def write_sweep(folder, name, results):
    (folder / name).mkdir()
    (folder / name / "results.json").write_text(json.dumps(results))
    return pathlib.Path(stoker(folder, "report", folder / name).strip())


def check_sweep(browser, folder):
    page = write_sweep(folder, "sweep", sweep_results())
    for size in (DESKTOP, PHONE):
        for scheme in ("light", "dark"):
            shown = open_page(browser, page, size, scheme)
            assert shown["kind"] == "sweep"
            assert [plot["marks"] for plot in shown["plots"]] == [8, 8, 6], shown["plots"]
            assert [plot["published"] for plot in shown["plots"]] == [2, 0, 1]
            assert [plot["errors"] for plot in shown["plots"]] == [8, 8, 3]
            assert "Nothing" not in shown["text"]  # a plot without points
            assert shown["parallel"] == 8, shown["parallel"]  # a trace for each cell
            assert not shown["overlaps"], shown["overlaps"]
            assert shown["rows"] == ["table-row"], shown["rows"]
            for words in ("put in, no finding", "1 of 2 findings within", "1 failed", "(S): Chien et al. 2018", "no space left on device",
                          "2.3 ± 15 %", "(2 to 2.31)", "loader.workers", "Xeon"):
                assert words in shown["text"], words
    many = sweep_results()
    points = [{"x": count, "median": count, "min": count, "max": count, "n": 1} for count in (1, 2)]
    many["plots"][0] |= {"series": ["tier", "how"], "published": [], "data": [
        {"series": f"{tier}, {how}", "of": [tier, how], "points": points} for tier in "abcd" for how in ("pipeline", "reads", "IOR")]}
    looks = open_page(browser, write_sweep(folder, "many-series", many))["looks"]  # colours of tiers, dashes of ways to read
    assert len(set(looks)) == 12 and [len(set(part)) for part in zip(*(look.split(") ") for look in looks))] == [4, 3], looks
    hostile = sweep_results(HOSTILE)
    hostile["name"] = hostile["findings"][0]["name"] = hostile["plots"][0]["published"][0]["source"] = HOSTILE
    hostile["plots"][2]["data"][0]["points"][0]["x"] = HOSTILE
    shown = open_page(browser, write_sweep(folder, "hostile-sweep", hostile), PHONE)
    assert shown["title"].startswith(HOSTILE)
    both = folder / "both.html"
    stoker(folder, "report", folder / "sweep", folder / "hostile-sweep", "--output", both)
    shown = open_page(browser, both)
    assert shown["kind"] == "sweeps"
    assert [plot["marks"] for plot in shown["plots"]] == 2 * [8, 8, 6], shown["plots"]
    assert shown["text"].count("1 of 2 findings within") == 2 and shown["text"].count("put in, no finding") >= 2
    (folder / "sweep" / "results.json").write_text('{"schema_version": 9}')
    stoker(folder, "report", folder / "sweep", code=3)


def check_compare(run, other):
    same = json.loads(stoker(run.parent, "compare", run, run, "--json", "--threshold", "5%"))
    assert same["verdict"] == "same" and same["metrics"][0]["difference"] == 0 and not same["config"], same
    both = json.loads(stoker(run.parent, "compare", run, other, "--json"))
    assert {row["key"] for row in both["config"]} == {"loader.type"}, both["config"]
    assert [row["name"] for row in both["metrics"]][:4] == ["images_per_s", "exposed_io_share", "io_share", "device.idle_share"]
    assert "windows of a run are not independent" in stoker(run.parent, "compare", run, other)
    stoker(run.parent, "compare", run, run.parent, code=3)
    stoker(run.parent, "compare", run, other, "--metric", "speed", code=2)
    for no_share in ("much", "5", "-1%"):
        stoker(run.parent, "compare", run, other, "--threshold", no_share, code=2)


def check(browser, folder):
    run = train(folder)
    other = train(folder, "loader={type: threaded, batch_size: 16, workers: 2}")
    check_timeline(run)
    check_compare(run, other)
    check_run(browser, run)
    check_two(browser, run, other)
    check_hostile(browser, run)
    check_profiles(browser, run)
    check_killed(browser, folder)
    check_sweep(browser, folder)


def take_pictures(browser, folder, directory):
    directory.mkdir(parents=True, exist_ok=True)
    run = train(folder, "training.max_steps=900")
    other = train(folder, "loader={type: sync, batch_size: 16}", "training.max_steps=600")
    two = folder / "two.html"
    stoker(folder, "report", run, other, "--output", two)
    for name, page in (("run", pathlib.Path(stoker(folder, "report", run).strip())), ("two", two),
                       ("sweep", write_sweep(folder, "sweep", sweep_results()))):
        for size, screen in ((PHONE, "phone"), (DESKTOP, "desktop")):
            for scheme in ("light", "dark"):
                browser.screen(size, scheme)
                browser.open(page.as_uri())
                browser.until(READ)
                browser.picture(directory / f"{name}-{screen}-{scheme}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as folder, Browser() as browser:
        if options.screenshots:
            take_pictures(browser, pathlib.Path(folder), options.screenshots)
        else:
            check(browser, pathlib.Path(folder))


if __name__ == "__main__":
    main()
