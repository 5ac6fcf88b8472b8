"""What lists and reports of many runs cost: `stoker runs`, `stoker serve` and `stoker report` of --runs runs.

By the clock and in CPU time. The runs are copies of one short run, whose seeds and learning rates differ. For
docs/promises.md.
"""
import pathlib
import re
import resource
import shutil
import time
import urllib.error
import urllib.request

from frame import timed
from stoker import SOURCE, Process

ROUNDS = 1
OPTIONS = {"runs": 10_000}


def make(lab):
    _, run_ = lab.train(SOURCE / "configs/quickstart.yaml", f"storage.data.root={SOURCE}/datasets/caltech101-mini",
                        "run.dir=one", "training.max_steps=16", "device={type: emulated, step_ms: 1}",
                        "metrics={every_steps: 4, sinks: [{type: csv}]}")
    config = (run_ / "config.yaml").read_text()
    for i in range(lab.given.runs):
        copy = lab.folder / "many" / f"run-{i}"
        shutil.copytree(run_, copy)
        text = re.sub(r"(?m)^  seed: .*", f"  seed: {i}", config)
        (copy / "config.yaml").write_text(re.sub(r"(?m)^  lr: .*", f"  lr: {1e-4 * (1 + i % 100):g}", text))


def command(lab, *words):
    _, seconds, cpu = timed(lambda: lab.stoker(*words))
    return {"s": seconds, "CPU s": cpu, "MiB at most": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024}


def ask(url, tags):
    begin = time.monotonic()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"If-None-Match": tags[-1]})) as reply:
            body, status = reply.read(), reply.status
            tags.append(reply.headers["ETag"])
    except urllib.error.HTTPError as error:
        body, status = b"", error.code
    return {"s": time.monotonic() - begin, "status": status, "bytes": len(body)}


def run(lab):
    make(lab)
    how = {f"runs, {when}": ("runs", "many", "--json") for when in ("first", "again")}
    how |= {f"report of {count}": ("report", *(f"many/run-{i}" for i in range(count)), "--output", "o.html")
            for count in (25, 100, 200, 400) if count <= lab.given.runs}
    lab.measure(f"commands, of {lab.given.runs} runs", lab.each(how, command), wide=True)
    server, tags = Process(["serve", "many"], lab.folder), [""]
    try:
        url = server.until(lambda: re.search(r"http://\S+", server.output))[0] + "api/runs"
        touched = lambda: (lab.folder / "many/run-1/summary.json").touch() or ask(url, tags)
        lab.measure("/api/runs", {"first": lambda: ask(url, tags), "nothing changed": lambda: ask(url, tags),
                                  "one file touched": touched}, wide=True)
        status = pathlib.Path(f"/proc/{server.child.pid}/status").read_text()
        lab.say("the server's memory: " + re.search(r"VmHWM:\s+(.*)", status)[1])
    finally:
        server.kill()
