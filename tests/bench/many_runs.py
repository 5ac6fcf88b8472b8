#!/usr/bin/env python3
"""What lists and reports of many runs cost: `stoker runs`, `stoker serve` and `stoker report` of N runs, by the clock and in CPU time.

    tests/bench/many_runs.py [N]

The runs are copies of one short run, whose seeds, learning rates and names differ.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOKER = os.environ.get("STOKER", str(ROOT / "build/bin/stoker"))


def timed(*command):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([STOKER, *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.monotonic() - begin:.2f} s, {cpu:.2f} s of CPU, at most {after.ru_maxrss // 1024} MiB"


def ask(url, tag=""):
    begin = time.monotonic()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"If-None-Match": tag})) as reply:
            body, status, tag = reply.read(), reply.status, reply.headers["ETag"]
    except urllib.error.HTTPError as error:
        body, status = b"", error.code
    return f"{status}, {len(body):,} bytes, {time.monotonic() - begin:.3f} s", tag


def make(folder, count):
    subprocess.run([STOKER, "train", ROOT / "configs/quickstart.yaml", f"run.dir={folder}/one", f"storage.data.root={ROOT}/datasets/caltech101-mini",
                    "training.max_steps=16", "device={type: emulated, step_ms: 1}", "metrics={every_steps: 4, sinks: [{type: csv}]}"],
                   check=True, capture_output=True)
    run = (folder / "one/latest").resolve()
    config = (run / "config.yaml").read_text()
    for i in range(count):
        copy = folder / "many" / f"run-{i}"
        shutil.copytree(run, copy)
        text = re.sub(r"(?m)^  seed: .*", f"  seed: {i}", config)
        (copy / "config.yaml").write_text(re.sub(r"(?m)^  lr: .*", f"  lr: {1e-4 * (1 + i % 100):g}", text))
    return folder / "many"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        runs = make(pathlib.Path(folder), count)
        print(f"{count} runs, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for name in ("first", "again"):
            print(f"stoker runs, {name}: {timed('runs', runs, '--json')}")
        for number in (25, 100, 200, 400):
            chosen = [runs / f"run-{i}" for i in range(min(number, count))]
            print(f"stoker report of {len(chosen)}: {timed('report', *chosen, '--output', f'{folder}/o.html')}")
        server = subprocess.Popen([STOKER, "serve", runs], stdout=subprocess.PIPE, text=True)
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        tag = ""
        for name in ("first", "nothing changed", "nothing changed"):
            said, tag = ask(url + "api/runs", tag)
            print(f"/api/runs, {name}: {said}")
        (runs / "run-1/summary.json").touch()
        print(f"/api/runs, one file touched: {ask(url + 'api/runs', tag)[0]}")
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        print("the server's memory: " + re.search(r"VmHWM:\s+(.*)", status)[1])
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
