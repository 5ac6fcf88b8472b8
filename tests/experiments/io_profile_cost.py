"""What the I/O profiler costs a run, and what its sessions say beside the kernel: the same run with and without.

stream: reads alone, 76 kB a file, from an emulated hard disk; a session every five steps, as the study's STREAM.
lustre: the same from an emulated Lustre; one session over all of the run. fast: from a tier of 3.8 GB/s, 20 us a file.
training: AlexNet (67 pixels) on the processor, JPEG files from the page cache. cache: reads alone from the page cache,
where a file costs some microseconds; a session every five steps.

For each session of a second and more, the bytes of its reads beside rchar of /proc/PID/io, which this program looks at
every 2 ms. For docs/results.md, "The I/O profiler".
"""
import bisect
import pathlib
import threading
import time

from frame import spread, timed
from stoker import Process, configuration, flow

ROUNDS = 5
OPTIONS = {"steps": (1.0, "of a case's steps, this part"), "samples": 12800}
EVERY_FIVE = "metrics.io_profile={every_steps: 5, steps: 5}"
ALL = "metrics.io_profile={every_steps: 1000000, steps: 1000000}"
EVERY_S = 0.002  # between two looks of the observer
STREAM = {"device": "{type: emulated, images_per_s: 10000000}", "decoder": "{type: discard}",
          "optimizer": "{type: sgd, lr: 0.01}",
          "loader": "{type: prefetched, batch_size: 128, workers: 16, prefetch_batches: 10}"}
TRAINING = {"decoder": "{type: jpeg, size: 67}", "loader": "{type: prefetched, batch_size: 32, workers: 1}",
            "model": "{type: alexnet}", "optimizer": "{type: sgd, lr: 0.001}"}
# sections, figures of an emulated tier, steps, what switches the profiler on
CASES = {"stream": (STREAM, {"profile": "hdd"}, 30, EVERY_FIVE), "lustre": (STREAM, {"profile": "lustre"}, 200, ALL),
         "fast": (STREAM, {"read_mb_per_s": 3800, "write_mb_per_s": 3800}, 1000, ALL),
         "training": (TRAINING, None, 60, ALL), "cache": (STREAM, None, 1000, EVERY_FIVE)}


def write(lab, case):
    sections, figures, steps, _ = CASES[case]
    tier = flow(type="posix", read="tensorflow", root=lab.folder / "data")
    tier = flow(type="emulated", **figures, inner=tier) if figures else tier
    (lab.folder / "config.yaml").write_text(configuration(
        {"data": tier}, dataset="{type: image_folder, storage: data, split: {test_fraction: 0}}",
        evaluation="{enabled: false}",
        training=f"{{epochs: 1000, max_steps: {max(5, round(steps * lab.given.steps))}}}", metrics="{every_steps: 5}",
        **sections))


def train(lab, *switch):
    (summary, _), _, cpu = timed(lambda: lab.train("config.yaml", *switch))
    return {"images/s": summary["images_per_s"], "CPU ms an image": 1000 * cpu / summary["images"]}


class Observer(threading.Thread):
    """Bytes that a process has read, as the kernel says, every 2 ms: from outside, with our own clock."""

    def __init__(self, pid):
        super().__init__()
        self.file, self.seen = pathlib.Path(f"/proc/{pid}/io"), []
        self.start()

    def run(self):
        while True:
            try:
                self.seen.append((time.time(), int(self.file.read_text().split()[1])))
            except (OSError, IndexError):
                return
            time.sleep(EVERY_S)

    def read_until(self, moment):
        times = [at for at, _ in self.seen]
        place = min(max(bisect.bisect(times, moment), 1), len(times) - 1)
        (begin, low), (end, high) = self.seen[place - 1:place + 1]
        return low + (high - low) * min(max((moment - begin) / (end - begin), 0), 1)


def compare_sessions(lab, case):
    process = Process(["train", "config.yaml", "--quiet", "run.dir=seen", CASES[case][3]], lab.folder)
    observer, ratios, rates = Observer(process.child.pid), [], []
    process.wait(timeout=None)
    observer.join()
    for log in sorted((lab.folder / "seen/latest").glob("io_profile-*.darshan")):
        profile = lab.json("darshan", log)["logs"][0]["profile"]
        begin, seconds = profile["job"]["begin_unix_s"], profile["job"]["seconds"]
        if seconds >= 1:
            read = profile["posix"]["bytes_read"] + profile["stdio"]["bytes_read"]
            ratios.append(read / (observer.read_until(begin + seconds) - observer.read_until(begin)))
            rates.append(1e-6 * read / seconds)
    lab.say(f"{case}: {len(ratios)} sessions of a second or more, {spread(rates)} MB/s; over the kernel's count "
            f"{spread(ratios)}")


def run(lab):
    lab.stoker("dataset", "synth", "data", f"--samples={lab.given.samples}", "--median-bytes=76000")
    for case in lab.chosen(CASES):
        write(lab, case)
        lab.measure(case, {"without": lambda: train(lab), "with": lambda: train(lab, CASES[case][3])},
                    reference="without", warm_up=1)
        compare_sessions(lab, case)
