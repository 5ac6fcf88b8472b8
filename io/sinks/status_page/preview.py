#!/usr/bin/env python3
"""Serves the status page with simulated runs, for work on the page and for its test.

preview.py [SCENARIO] [--port N]   then open the address it prints; without SCENARIO it lists them
"""
import argparse
import contextlib
import http.server
import json
import math
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "page"))
import embed  # noqa: E402

DYGRAPHS = pathlib.Path("/usr/share/javascript/dygraphs")
SEGMENTS = ("data_wait", "h2d", "compute", "checkpoint_stall", "eval", "log", "other", "paused")
OPERATIONS = (("list", 0.0008, 0), ("open", 0.00002, 0), ("read", 0.00031, 61000), ("stat", 0.000012, 0))


def points(seconds, count, shares, stalls=0.0, loss=4.6, rate=3000.0, seed=1):
    """A history; shares: of the segments but compute, idle of the device about the same."""
    rng = random.Random(seed)
    wall = seconds / count
    history = {"elapsed_s": [], "wall_s": [], "segments_share": {name: [] for name in SEGMENTS},
               "idle_share_by_cause": {name: [] for name in ("data", "h2d", "checkpoint", "host")},
               "images_per_s": [], "queue_fill": [], "loss": []}
    for at in range(count):
        part = {name: min(0.9, value * math.exp(rng.gauss(0, 0.35))) for name, value in shares.items()}
        part["checkpoint_stall"] = stalls * rng.uniform(0.7, 1.3) if at % 16 == 15 else 0.0
        part["eval"] = 0.6 if at % 40 == 39 else 0.0
        total = sum(part.values())
        if total > 1:
            part = {name: value / total for name, value in part.items()}
        busy = max(0.0, 1 - sum(part.values()))
        for name in SEGMENTS:
            history["segments_share"][name].append(busy if name == "compute" else part.get(name, 0.0))
        history["elapsed_s"].append((at + 1) * wall)
        history["wall_s"].append(wall)
        history["idle_share_by_cause"]["data"].append(0.9 * part.get("data_wait", 0))
        history["idle_share_by_cause"]["h2d"].append(0.5 * part.get("h2d", 0))
        history["idle_share_by_cause"]["checkpoint"].append(part["checkpoint_stall"])
        history["idle_share_by_cause"]["host"].append(part["eval"] + part.get("other", 0))
        history["images_per_s"].append(rate * busy)
        history["queue_fill"].append(max(0.0, min(1.0, 0.9 - 3 * part.get("data_wait", 0) + rng.gauss(0, 0.04))))
        history["loss"].append(loss * math.exp(-2.5 * at / count) + rng.gauss(0, 0.03) if at % 4 == 0 else None)
    return history


def mean(values):
    return sum(values) / len(values)


def duration(count, each, p99):
    return {"count": count, "sum": count * each, **({"mean": each, "p99": p99 * each} if count else {})}


def loader(wall, workers=8, busy=5.8, items=412160):
    def stage(count, each, workers_in=0.0):
        return {"duration_s": duration(count, each, 4.1), "busy_workers": workers_in}
    queue = {"items": 7, "capacity": 8, "fill_share": 7 / 8, "empty_share": 0.011, "full_share": 0.74}
    return {"workers": workers, "workers_busy": 6,
            "stages": {"read": stage(items, 0.00031, 0.3 * busy) | {"capacity_per_s": workers / 0.00031},
                       "decode": stage(items, 0.00157, 0.7 * busy) | {"capacity_per_s": workers / 0.00157},
                       "digest": stage(0, 0.001), "copy": stage(items // 64, 0.0021),
                       "wait": stage(items // 64, 0.4 * wall / items * 64)},
            "queues": {"ready": queue}, "errors": {"corrupt": 0, "missing": 0}, "skipped": {"corrupt": 0},
            "read_bytes": items * 61000, "storage_bytes": 9144 * 61000, "hidden_share": 0.987}


def tier(kind, emulated, operations, errors=()):
    """operations: (name, count, seconds of one, bytes of one); errors: (name, errno, count)."""
    result = {"type": kind, "emulated": emulated, "in_flight": 0, "conditions": [],
              **({"overruns": 12, "overrun_s": 0.043} if emulated else {})}
    for op, count, each, size in operations:
        moved = {"bytes": count * size, "busy_mb_per_s": 1e-6 * size / each} if size else {}
        result[op] = {"duration_s": duration(count, each, 3.7), **moved}
    for op, number, count in errors:
        result.setdefault(op, {})["errors"] = {number: count}
    return result


def checkpoints(step, failing=False):
    def part(count, each):
        return {"duration_s": duration(count, each, 1.6), **({"last_s": 1.1 * each} if count else {})}
    return {"saved": 32, "failed": 2 if failing else 0, "skipped": 0, "replaced": 0, "drained": 31,
            "drain_retries": 6 if failing else 0, "drains_left": 1, "saved_step": step - 40, "durable_step": step - 240,
            "steps_at_risk": 240, "drain_limit_bytes": 61000000, "drain_slowdown_share": 0.004, "set_bytes": 489341952, "degraded": int(failing),
            **({"last_error": "tier slow: write step-0000006200/state.safetensors: No space left on device"} if failing
               else {}),
            "parts": {"blocked": part(32, 0.212), "snapshot": part(32, 0.188), "write": part(32, 0.61),
                      "save": part(32, 0.83), "drain": part(31, 4.9), "restore": part(0, 0)}}


def status(history, verdict, **changes):
    wall, planned = history["elapsed_s"][-1], 9000
    rate = mean(history["images_per_s"])
    step = int(rate * wall / 64)
    shares = {name: mean(values) for name, values in history["segments_share"].items()}
    idle = {name: mean(values) for name, values in history["idle_share_by_cause"].items()}
    now = time.time()
    history["images_per_s_recent"] = history["images_per_s"][-1]
    result = {
        "schema_version": 2, "now_unix_s": now, "name": "alexnet-caltech101",
        "run_directory": "runs/alexnet-caltech101-20261121-120006-6522-df3f", "config_hash": "9f31c07ad2b84e10",
        "model": "alexnet", "dataset": "caltech101", "loader": "device_prefetched", "checkpoint": "burst_buffer",
        "precision": "fp32", "batch_size": 64, "rank": 0, "world_size": 1, "started_unix_s": now - wall - 3,
        "build": {"version": "0.1.0", "revision": "299f7ea324", "torch": "2.11.0", "compiler": "GCC 12.2.0",
                  "build_type": "Release"},
        "status": "train", "health": {"healthy": True, "stalled_after_s": 120, "segment": "compute"},
        "steps": step, "steps_planned": max(planned, int(1.6 * step)), "epoch": step * 64 // 9144, "images": step * 64,
        "wall_s": wall, "eta_s": 0.6 * wall, "first_batch_s": 0.21, "last_step_unix_s": now - 0.02,
        "since_progress_s": 0.021, "images_per_s": rate, "step_duration_s": {"p50": 0.0208, "p99": 0.0412},
        "loss": next(v for v in reversed(history["loss"]) if v is not None), "learning_rate": 0.001,
        "evaluation": {"step": step - step % 500, "samples": 1530, "accuracy": {"top1": 0.6127, "top5": 0.8431}},
        "segments_s": {name: wall * share for name, share in shares.items()}, "segments_share": shares,
        "io_share": shares["data_wait"], "exposed_io_share": idle["data"], "closure_error": 2.1e-8,
        "device": {"name": "NVIDIA H100 80GB HBM3", "timing_method": "events", "emulated": False, "observed_s": wall,
                   "busy_s": wall * (1 - sum(idle.values())),
                   "idle_s": {name: wall * share for name, share in idle.items()}, "idle_share": sum(idle.values()),
                   "idle_share_by_cause": idle, "au": 1 - sum(idle.values()) * 0.98},
        "loaders": {"train": loader(wall)},
        "page_cache": {"files_looked_at": 512, "resident_before": 0.021, "resident": 0.994, "state": "warm",
                       "text": "2.2 % of what was asked for came from the block device: this run measures the page cache."},
        "tiers": {"data": tier("posix", False, [(op, 412160, each, size) for op, each, size in OPERATIONS]),
                  "fast": tier("posix", False, [("write", 960, 0.0041, 16777216), ("sync", 64, 0.021, 0)]),
                  "slow": tier("emulated", True, [("write", 930, 0.084, 16777216), ("rename", 31, 0.002, 0)])},
        "checkpoints": checkpoints(step),
        "overhead_s": {"spans": 0.0021 * wall, "step": 0.0003 * wall, "sinks": 0.0002 * wall, "scrape": 0.0001 * wall},
        "overhead_share": 0.0027, "verdict": verdict, "history": history}
    for path, value in changes.items():
        *way, last = path.split("__")
        section = result
        for name in way:
            section = section[name]
        section[last] = value
    result["judged"] = {"bounds": [0.05, 0.2], "exposed_io_share": judged(result["exposed_io_share"]),
                        "device": {"idle_share": judged(result["device"]["idle_share"])}}
    return result


TITLES = {"peers_bound": "Held up by another rank", "unknown": "Not known yet"}


def verdict(level, text, *evidence, next=""):
    title = TITLES.get(level, level.capitalize().replace("_", "-"))
    return {"level": level, "title": title, "text": text, "next": next, "evidence": list(evidence)}


def judged(share):
    level = "bound" if share > 0.2 else "moderate" if share >= 0.05 else "fine"
    return {"level": level, "text": {"fine": "fine, under 5 %", "moderate": "moderate, 5 to 20 %", "bound": "bound, over 20 %"}[level]}


CALM = {"data_wait": 0.006, "h2d": 0.004, "log": 0.001, "other": 0.004}


def running():
    return status(points(148, 148, CALM, rate=3170), verdict(
        "fine", "The device is fed: it lost 0.5 % of its time to late data.",
        "I/O share 0.6 %, device idle caused by data 0.5 %",
        "the queue before the trainer is full 74 % of the time: the loader is faster than the device"),
        device__idle_share=0.021, device__au=0.979)


def finished():
    return status(points(154.8, 155, CALM | {"data_wait": 0.07}, rate=3170), verdict(
        "moderate", "The trainer waited 7 % of its time for data; most of it was the device's, too.",
        "device idle by cause: data 6.7 %, host 1.6 %"), status="completed", eta_s=0,
        steps=9000, steps_planned=9000, health__segment="other")


def input_bound():
    return status(points(61, 122, {"data_wait": 0.55, "h2d": 0.01, "log": 0.001, "other": 0.004}, rate=5200), verdict(
        "input_bound", "The trainer waits for data half of the time; reading is what is slow.",
        "stage read: 7.6 of 8 workers busy, capacity 1,960 images/s; the device could take 5,200",
        "tier data: mean 3.9 ms a read, p99 14 ms", "the page cache held 2 % of the data set: these are cold reads",
        next="loader.workers=32 (at best +120 % images/s)"),
        device__emulated=True, device__name="emulated, 12 ms a step", device__timing_method="emulated",
        loader="prefetched", page_cache__state="cold", page_cache__resident=0.31,
        page_cache__text="97 % of what was asked for came from the block device.", checkpoints=None, checkpoint="none",
        segments_share__checkpoint_stall=0.0)


def stalled():
    return status(points(402, 200, CALM, rate=3170), verdict(
        "stalled", "No step for 3 min 14 s: the trainer waits for its next batch.",
        "all 8 workers are in a read of tier data, the oldest for 194 s",
        "the newest checkpoint is 240 steps old"), health__healthy=False, since_progress_s=194.2,
        health__segment="data_wait", history__images_per_s_recent=0.0, eta_s=None)


def checkpointing():
    state = status(points(320, 256, CALM, stalls=0.8, rate=3170), verdict(
        "checkpoint_bound", "Checkpoints cost 5 % of the run, and the slow tier does not take them.",
        "two sets were given up: No space left on device"), status="flush", health__segment="checkpoint_stall")
    state["checkpoints"] = checkpoints(state["steps"], failing=True)
    state["tiers"]["slow"] = tier("emulated", True, [("write", 930, 0.084, 16777216)],
                                 [("write", "ENOSPC", 2), ("sync", "EIO", 4)])
    return state


def three_weeks():
    return status(points(21 * 86400, 512, CALM, stalls=0.3, rate=3170), verdict(
        "fine", "The device is fed.", "I/O share 0.6 %"), evaluation=None,
        loaders={"train": loader(21 * 86400, items=5469494208)},
        tiers={"data": tier("posix", False, [(op, 5469494208, each, size) for op, each, size in OPERATIONS])})


def failed():
    return status(points(12, 24, CALM, rate=3170), verdict("failed", "The run has ended with an error."),
                  status="failed", error="<b>dataset</b>: crab/image_0042.jpg: premature end of the file (offset 8192)",
                  health__segment="other", eta_s=None)


def minimal():
    return {"schema_version": 2, "now_unix_s": time.time(), "name": "minimal", "status": "setup",
            "steps": 0, "checkpoints": None, "loaders": {}, "tiers": None, "history": None,
            "device": {"idle_share": None}, "verdict": {"level": "unknown", "text": "", "evidence": []}}


SCENARIOS = {make.__name__: make for make in (running, finished, input_bound, stalled, checkpointing, three_weeks,
                                              failed, minimal)}


class Server(http.server.ThreadingHTTPServer):
    """state: what /api/status answers, or None to refuse."""
    daemon_threads = True

    def __init__(self, state, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.page = embed.page(DYGRAPHS, embed.read_spec(HERE / "page.json")).encode()
        self.state = state
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            self.reply("text/html; charset=utf-8", self.server.page)
        elif self.path == "/api/status" and self.server.state is not None:
            self.reply("application/json", json.dumps(self.server.state).encode())
        else:
            self.send_error(503 if self.path == "/api/status" else 404)

    def reply(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the page was left meanwhile
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("scenario", nargs="?", choices=SCENARIOS)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.scenario is None:
        print("\n".join(SCENARIOS))
        return
    server = Server(SCENARIOS[options.scenario](), options.port)
    print(server.url)
    server.serve_forever()


if __name__ == "__main__":
    main()
