#!/usr/bin/env python3
"""Does a run grow? Resident memory of small trainings, each with an evaluation after every fifth step, in eight settings.

python3 tests/bench/memory_growth.py [--minutes 10] [--at-once 2] [SETTING...]

Prints for each the resident megabytes, without those of files, at the begin of its second fifth and at its end, and the slope between
them by least squares: megabytes an hour of a run of five steps a second. STOKER names the program, else it is that of build/.
"""
import argparse
import concurrent.futures
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from stoker import Process, configuration, emulated, posix, read_summary  # noqa: E402

TIERS = {"ck": posix("ck"), "fast": posix("fast")}
SINKS = ("[{type: csv}, {type: jsonl}, {type: timeline, seconds: 1}, {type: timelogger}, {type: trace}, {type: tensorboard}, "
         "{type: prometheus, port: auto}]")
SAVES = "every_steps: 200, keep_last: 3"
SETTINGS = {
    "sync": ["loader.type=sync"],
    "threaded, OpenCV": ["loader.type=threaded", "decoder.type=opencv"],
    "prefetched": [],
    "device_prefetched": ["loader.type=device_prefetched", "device={type: emulated, step_ms: 0.1}"],
    "direct checkpoints": [f"checkpoint={{type: direct, slow: ck, {SAVES}}}"],
    "burst buffer": [f"checkpoint={{type: burst_buffer, fast: fast, slow: ck, {SAVES}}}"],
    "all sinks": [f"metrics.sinks={SINKS}"],
    "emulated tier, I/O profiles": [f"storage.data={emulated(read_latency_ms=0.01)}",
                                    "metrics.io_profile={steps: 50, every_steps: 500}"],
}


def slope(points):
    """Of y over x, by least squares."""
    xs, ys = zip(*points)
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x in xs)


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no RssAnon")


def measure(name, seconds):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "run.yaml").write_text(configuration(
            tiers=TIERS, decoder="{type: jpeg, size: 32}", dataset="{type: image_folder, storage: data, "
            "split: {train_per_class: 10, test_per_class: 2}}", loader="{type: prefetched, batch_size: 20, workers: 1}",
            training="{epochs: 1000000000, threads: 1}", evaluation="{every_epochs: 1}",
            metrics="{every_steps: 100, sinks: [{type: csv}]}"))
        process = Process(["train", "run.yaml", "-q", *SETTINGS[name]], folder)
        begin, points = time.monotonic(), []
        while (passed := time.monotonic() - begin) < seconds:
            time.sleep(min(1, seconds / 100))
            if passed > seconds / 5:
                points.append((passed, resident_mb(process.child.pid)))
        process.send(signal.SIGTERM)
        assert process.wait() == 75, process.log
        summary = read_summary(folder / "runs/latest")
    steps, evaluation = summary["steps"], summary.get("evaluation", {})
    evaluations = evaluation.get("images", 0) // evaluation.get("samples", 1)
    per_hour = slope(points) / (steps / seconds) * 5 * 3600
    return (f"{name:28} {steps:8} steps {evaluations:7} evaluations {points[0][1]:8.1f} {points[-1][1]:8.1f} MB "
            f"{per_hour:+8.2f} MB an hour at 5 steps/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), choices=[*SETTINGS, list(SETTINGS)], metavar="SETTING")
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        for line in pool.map(lambda name: measure(name, 60 * arguments.minutes), arguments.settings):
            print(line, flush=True)


if __name__ == "__main__":
    main()
