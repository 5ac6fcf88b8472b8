"""What watching costs: the same run with all sinks and a scrape every second, and with none.

An emulated device takes --rate images/s; samples are raw pixels from the page cache, so that little but the program
itself is measured. For docs/results.md, "What the program itself costs".
"""
import threading
import urllib.request

from frame import raw_images, timed
from stoker import configuration, free_port, posix

ROUNDS = 5
OPTIONS = {"seconds": (10.0, "of a run"), "rate": 20000}
SIDE, FILES, BATCH = 32, 2000, 128
SINKS = ("{{type: csv}}, {{type: jsonl}}, {{type: tensorboard}}, {{type: trace}}, {{type: timelogger}}, "
         "{{type: prometheus, listen: '127.0.0.1:{port}'}}")


def scrape(port, stop):
    while not stop.wait(1):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()
        except OSError:
            pass


def watch(lab, watched):
    port, stop = free_port(), threading.Event()
    scraper = threading.Thread(target=scrape, args=(port, stop))
    if watched:
        scraper.start()
    try:
        (summary, _), _, cpu = timed(lambda: lab.train(
            "config.yaml", f"training.max_steps={int(lab.given.seconds * lab.given.rate / BATCH)}",
            f"metrics={{every_steps: 10, sinks: [{SINKS.format(port=port) if watched else ''}]}}"))
    finally:
        stop.set()
    return {"images/s": summary["images_per_s"], "CPU ms an image": 1000 * cpu / summary["images"],
            "device idle, share": summary["device"]["idle_share"], "measuring, share": summary["overhead_share"]}


def run(lab):
    raw_images(lab.folder / "data", FILES, SIDE, classes=10)
    (lab.folder / "config.yaml").write_text(configuration(
        {"data": posix(lab.folder / "data")}, device=f"{{type: emulated, images_per_s: {lab.given.rate}}}",
        dataset="{type: image_folder, storage: data, split: {train_per_class: 190, test_per_class: 1}}",
        decoder=f"{{type: raw, width: {SIDE}, height: {SIDE}, size: {SIDE}}}",
        loader=f"{{type: prefetched, batch_size: {BATCH}, workers: 2, prefetch_batches: 16}}",
        training="{epochs: 1000000}"))
    lab.measure("", {"none": lambda: watch(lab, False), "all sinks": lambda: watch(lab, True)}, reference="none",
                warm_up=1)
