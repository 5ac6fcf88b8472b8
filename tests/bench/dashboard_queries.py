#!/usr/bin/env python3
"""What a refresh of the dashboards costs a Prometheus that has days of a run: the seconds of all panels' queries, one after the other.

python3 tests/bench/dashboard_queries.py [--days 7] [--step 60]

A short run gives the series; each gets a sample every --step seconds, and so do those that the recording rules make of it (the rules
themselves record every second). STOKER names the program, else it is that of build/.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "docker")]
from dashboards_test import dashboards, queries  # noqa: E402
from live_prometheus import PROMTOOL, RULES, Prometheus  # noqa: E402
from stoker import configuration, emulated, posix, stoker  # noqa: E402

TARGET = 'job="stoker",instance="127.0.0.1:9464"'
RUN = configuration(
    tiers={"data": emulated(), "fast": posix("fast"), "slow": posix("slow")}, loader="{type: prefetched, batch_size: 16, workers: 1}",
    training="{epochs: 3, threads: 1}", metrics="{sinks: [{type: prometheus, port: auto, linger: 0}]}",
    checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 10}")


def series_of(folder):
    """(name, labels, value) of a run's last state."""
    (folder / "run.yaml").write_text(RUN)
    stoker("train", "run.yaml", "-q", cwd=folder)
    text = (folder / "runs/latest/metrics.prom").read_text()
    return [(name, labels, float(value)) for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)]


def recorded(series, rules):
    """What the rules of whole runs make of them: another name, and the label of the run."""
    named = re.findall(r"record: (run:\S+)\n\s+expr: (\w+) \* on", rules)
    (run,) = [re.search('run="[^"]*"', labels)[0] for name, labels, _ in series if name == "stoker_run_info"]
    return [(record, f"{labels},{run}" if labels else run, value)
            for record, of in named for name, labels, value in series if name == of]


def write(path, series, times):
    """Counters grow from 0 to a thousand times what they are at the end of the short run."""
    with open(path, "w", encoding="utf-8") as file:
        for name, labels, value in sorted(series):
            head = f"{name}{{{TARGET}{',' + labels if labels else ''}}} "
            grows = re.search("_(total|sum|count|bucket)(:last)?$", name)
            file.write(f"# TYPE {name} unknown\n")
            file.writelines(f"{head}{value * 1000 * i / len(times) if grows else value} {at}\n" for i, at in enumerate(times))
        file.write("# EOF\n")


def ask(prometheus, target, begin, end):
    """The seconds that one query takes, as Grafana asks it for a panel of 1000 points."""
    step = max(1, (end - begin) // 1000)
    expr = target["expr"].replace("$__rate_interval", f"{4 * step}s").replace("$__range", f"{end - begin}s")
    expr = re.sub(r"\$(job|instance|run)\b", ".*", expr)
    started = time.monotonic()
    if target["instant"]:
        result = prometheus.get("query", query=expr, time=end)["result"]
    else:
        result = prometheus.get("query_range", query=expr, start=begin, end=end, step=step)["result"]
    return time.monotonic() - started, len(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--step", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as place:
        folder = pathlib.Path(place)
        series = series_of(folder)
        expressions = [target["expr"] for dashboard in dashboards().values() for _, target in queries(dashboard)]
        used = set(re.findall(r"[\w:]+", json.dumps(expressions)))
        series = [each for each in series + recorded(series, (RULES / "rules.yml").read_text()) if each[0] in used]
        end = int(time.time()) // 7200 * 7200
        begin = end - int(arguments.days * 86400)
        write(folder / "samples", series, range(begin, end, arguments.step))
        subprocess.run([PROMTOOL, "tsdb", "create-blocks-from", "--max-block-duration=240h", "openmetrics", "-q", folder / "samples",
                        folder / "prometheus"], check=True)
        (folder / "samples").unlink()
        prometheus = Prometheus(folder, "127.0.0.1:1")
        try:
            print(f"{len(series)} series, a sample every {arguments.step} s for {arguments.days:g} days")
            for name, dashboard in dashboards().items():
                seconds = [(*ask(prometheus, target, begin, end - arguments.step), panel["title"]) for panel, target in queries(dashboard)]
                slowest = sorted(seconds, reverse=True)[:3]
                print(f"{name}: {len(seconds)} queries, {sum(found > 0 for _, found, _ in seconds)} with an answer, "
                      f"{sum(took for took, _, _ in seconds):.1f} s; " + ", ".join(f"{title} {took:.2f} s" for took, _, title in slowest))
        finally:
            prometheus.stop()


if __name__ == "__main__":
    main()
