"""Does a run grow? Resident memory of small trainings, with an evaluation after every fifth step, in eight settings.

Of each: the resident megabytes, without those of files, at the begin of its second fifth and at its end, and the slope
between them by least squares: megabytes an hour of a run of five steps a second. For docs/promises.md and
docs/notes/cpu-steps.md.
"""
import concurrent.futures
import pathlib
import re
import signal
import statistics
import time

from stoker import Process, configuration, emulated, posix, read_summary

ROUNDS = 1
OPTIONS = {"minutes": 10.0, "at_once": 2}
SINKS = ("[{type: csv}, {type: jsonl}, {type: timeline, seconds: 1}, {type: timelogger}, {type: trace}, "
         "{type: tensorboard}, {type: prometheus, port: auto}]")
SAVES = "every_steps: 200, keep_last: 3"
SETTINGS = {
    "sync": ["loader.type=sync"], "threaded, OpenCV": ["loader.type=threaded", "decoder.type=opencv"], "prefetched": [],
    "device_prefetched": ["loader.type=device_prefetched", "device={type: emulated, step_ms: 0.1}"],
    "direct checkpoints": [f"checkpoint={{type: direct, slow: ck, {SAVES}}}"],
    "burst buffer": [f"checkpoint={{type: burst_buffer, fast: fast, slow: ck, {SAVES}}}"],
    "all sinks": [f"metrics.sinks={SINKS}"],
    "emulated tier, I/O profiles": [f"storage.data={emulated(read_latency_ms=0.01)}",
                                    "metrics.io_profile={steps: 50, every_steps: 500}"]}


def resident_mb(pid):
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def grow(lab, name):
    folder, seconds = lab.folder / name.replace(" ", "-"), 60 * lab.given.minutes
    folder.mkdir()
    (folder / "run.yaml").write_text(configuration(
        tiers={"ck": posix("ck"), "fast": posix("fast")}, decoder="{type: jpeg, size: 32}",
        dataset="{type: image_folder, storage: data, split: {train_per_class: 10, test_per_class: 2}}",
        loader="{type: prefetched, batch_size: 20, workers: 1}", training="{epochs: 1000000000, threads: 1}",
        evaluation="{every_epochs: 1}", metrics="{every_steps: 100, sinks: [{type: csv}]}"))
    process = Process(["train", "run.yaml", "-q", *SETTINGS[name]], folder)
    begin, points = time.monotonic(), []
    while (passed := time.monotonic() - begin) < seconds:
        time.sleep(min(1, seconds / 100))
        assert process.alive(), process.log
        if passed > seconds / 5:
            points.append((passed, resident_mb(process.child.pid)))
    process.send(signal.SIGTERM)
    assert process.wait() == 75, process.log
    summary = read_summary(folder / "runs/latest")
    evaluation, slope = summary.get("evaluation", {}), statistics.linear_regression(*zip(*points)).slope
    return {"setting": name, "steps": summary["steps"],
            "evaluations": evaluation.get("images", 0) // evaluation.get("samples", 1), "MB at first": points[0][1],
            "MB at the end": points[-1][1], "MB an hour at 5 steps/s": slope * 5 * 3600 / (summary["steps"] / seconds)}


def run(lab):
    with concurrent.futures.ThreadPoolExecutor(lab.given.at_once) as pool:
        lab.table("resident memory", list(pool.map(lambda name: grow(lab, name), lab.chosen(SETTINGS))))
