#!/usr/bin/env python3
"""What watching costs: the same run with all sinks, scraped every second, and with none, interleaved.

tests/run bench/metrics_overhead [--rounds 5] [--seconds 10] [--rate 20000]

An emulated device takes `rate` images/s; samples are raw pixels from the page cache, so that little but the
program itself is measured. Prints the loop's rate, and CPU seconds per 1,000 images of the whole process.
"""
import argparse
import json
import pathlib
import random
import resource
import statistics
import tempfile
import threading
import urllib.request

from stoker import free_port, posix, stoker

SIDE, FILES, BATCH = 32, 2000, 128
SINKS = ("{{type: csv}}, {{type: jsonl}}, {{type: tensorboard}}, {{type: trace}}, {{type: timelogger}}, "
         "{{type: prometheus, listen: '127.0.0.1:{port}'}}")


def make_data(folder):
    pixels = random.Random(1)
    for number in range(FILES):
        path = folder / f"class{number % 10}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pixels.randbytes(SIDE * SIDE * 3))


def scrape(port, stop):
    while not stop.wait(1):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()
        except OSError:
            pass


def run(options, folder, watched):
    port = free_port()
    steps = int(options.seconds * options.rate / BATCH)
    sinks = SINKS.format(port=port) if watched else ""
    stop = threading.Event()
    scraper = threading.Thread(target=scrape, args=(port, stop))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if watched:
        scraper.start()
    done = stoker("train", "config.yaml", "--quiet", "--json", f"training.max_steps={steps}",
                  f"metrics={{every_steps: 10, sinks: [{sinks}]}}", cwd=folder, timeout=None)
    stop.set()
    if watched:
        scraper.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rate": summary["images_per_s"], "cpu": 1000 * cpu / summary["images"], "idle": summary["device"]["idle_share"],
            "measuring": summary["overhead_share"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=int, default=20000)
    options = parser.parse_args()
    results = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as name:
        folder = pathlib.Path(name)
        make_data(folder / "data")
        (folder / "config.yaml").write_text(f"""
device:     {{type: emulated, images_per_s: {options.rate}}}
storage:    {{data: {posix(folder / 'data')}}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: 190, test_per_class: 1}}}}
decoder:    {{type: raw, width: {SIDE}, height: {SIDE}, size: {SIDE}}}
loader:     {{type: prefetched, batch_size: {BATCH}, workers: 2, prefetch_batches: 16}}
training:   {{epochs: 1000000}}
""")
        run(options, folder, False)  # warms the page cache
        for number in range(options.rounds):
            for watched in (False, True) if number % 2 == 0 else (True, False):
                results[watched].append(run(options, folder, watched))
    print(f"{options.rounds} interleaved rounds of {options.seconds:g} s at {options.rate} images/s; median (min to max)")
    median = {}
    for watched, runs in results.items():
        line = []
        for key in ("rate", "cpu", "idle", "measuring"):
            values = [result[key] for result in runs]
            median[watched, key] = statistics.median(values)
            line.append(f"{key} {median[watched, key]:.5g} ({min(values):.5g} to {max(values):.5g})")
        print(f"{'all sinks' if watched else 'none':<10} " + "; ".join(line))
    print(f"rate with / without: {median[True, 'rate'] / median[False, 'rate']:.4f}; "
          f"CPU time with / without: {median[True, 'cpu'] / median[False, 'cpu']:.3f}")


if __name__ == "__main__":
    main()
