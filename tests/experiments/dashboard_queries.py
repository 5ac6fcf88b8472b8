"""What a refresh of the dashboards costs a Prometheus that has --days of a run: the seconds of all panels' queries.

A short run gives the series; each gets a sample every --step seconds, and so do those that the recording rules make of
it (the rules themselves record every second). For docs/results.md.
"""
import json
import re
import sys
import time

from frame import TESTS
from machine import output
from stoker import configuration, emulated, posix

sys.path.insert(0, str(TESTS / "docker"))
ROUNDS = 1
OPTIONS = {"days": 7.0, "step": 60}
TARGET = 'job="stoker",instance="127.0.0.1:9464"'
RUN = configuration(
    tiers={"data": emulated(), "fast": posix("fast"), "slow": posix("slow")},
    loader="{type: prefetched, batch_size: 16, workers: 1}",
    training="{epochs: 3, threads: 1}", metrics="{sinks: [{type: prometheus, port: auto, linger: 0}]}",
    checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 10}")


def series_of(lab, rules):
    """(name, labels, value) of a run's last state; and what the rules of whole runs make of them: another name, the
    run's label."""
    _, folder = lab.train(RUN)
    text = (folder / "metrics.prom").read_text()
    found = re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)
    series = [(name, labels, float(value)) for name, labels, value in found]
    (run_,) = [re.search('run="[^"]*"', labels)[0] for name, labels, _ in series if name == "stoker_run_info"]
    named = re.findall(r"record: (run:\S+)\n\s+expr: (\w+) \* on", rules)
    return series + [(record, f"{labels},{run_}" if labels else run_, value)
                     for record, of in named for name, labels, value in series if name == of]


def write(path, series, times):
    """Counters grow from 0 to a thousand times what they are at the end of the short run."""
    with open(path, "w", encoding="utf-8") as file:
        for name, labels, value in sorted(series):
            head = f"{name}{{{TARGET}{',' + labels if labels else ''}}} "
            grows = re.search("_(total|sum|count|bucket)(:last)?$", name)
            file.write(f"# TYPE {name} unknown\n")
            grown = lambda i: value * 1000 * i / len(times) if grows else value
            file.writelines(f"{head}{grown(i)} {at}\n" for i, at in enumerate(times))
        file.write("# EOF\n")


def ask(prometheus, target, begin, end):
    """(seconds that one query takes, as Grafana asks it for a panel of 1000 points; how many series answer)"""
    step = max(1, (end - begin) // 1000)
    expr = target["expr"].replace("$__rate_interval", f"{4 * step}s").replace("$__range", f"{end - begin}s")
    expr, started = re.sub(r"\$(job|instance|run)\b", ".*", expr), time.monotonic()
    when = {"time": end} if target["instant"] else {"start": begin, "end": end, "step": step}
    result = prometheus.get("query" if target["instant"] else "query_range", query=expr, **when)["result"]
    return time.monotonic() - started, len(result)


def refresh(lab, prometheus, dashboard, begin, end):
    from dashboards_test import queries
    took = [(*ask(prometheus, target, begin, end), panel["title"]) for panel, target in queries(dashboard)]
    slowest = ", ".join(f"{title} {seconds:.2f} s" for seconds, _, title in sorted(took, reverse=True)[:3])
    return {"s": sum(seconds for seconds, _, _ in took), "queries": len(took),
            "with an answer": sum(bool(found) for _, found, _ in took), "slowest": slowest}


def run(lab):
    from dashboards_test import dashboards, queries
    from live_prometheus import PROMTOOL, RULES, Prometheus
    used = json.dumps([target["expr"] for dashboard in dashboards().values() for _, target in queries(dashboard)])
    used = set(re.findall(r"[\w:]+", used))
    series = [each for each in series_of(lab, (RULES / "rules.yml").read_text()) if each[0] in used]
    end = int(time.time()) // 7200 * 7200
    begin = end - int(lab.given.days * 86400)
    write(lab.folder / "samples", series, range(begin, end, lab.given.step))
    output(PROMTOOL, "tsdb", "create-blocks-from", "--max-block-duration=240h", "openmetrics", "-q",
           lab.folder / "samples", lab.folder / "prometheus")
    prometheus = Prometheus(lab.folder, "127.0.0.1:1")
    try:
        lab.measure(f"{len(series)} series, a sample every {lab.given.step} s for {lab.given.days:g} days", {
            name: lambda dashboard=dashboard: refresh(lab, prometheus, dashboard, begin, end - lab.given.step)
            for name, dashboard in dashboards().items()}, wide=True)
    finally:
        prometheus.stop()
