"""What staging brings, predicted and achieved, from an emulated hard disk to an emulated Optane.

Sizes as tf-Darshan's malware files have them (here every so-manieth): 40 % of the files below 2 MB, which are 8 % of
the bytes. A file is a small JPEG with zeros behind it, read as TensorFlow does (1 MiB pieces). Staging the files below
2 MB raised the study's bandwidth by 19 % with one thread. The predictions are made before anything has run. rule: all
files below 2 MB, the study's own choice. own: what `stoker advise` chooses for the same bytes. auto: own, staged while
the first epoch reads. Then: a third of the small files is of a class that is left out, and the rule stages them all the
same; and files of 0.6 to 1.4 MiB on `lustre`, of which one just above 1 MiB is one request more. For docs/studies.md.
"""
import pathlib
import random
import shutil
import tempfile

from frame import median, rows_of, timed
from stoker import MINI, emulated, flow

ROUNDS = 1
OPTIONS = {"files": 120, "readers": 1, "epochs": 5, "fast": ("/dev/shm", "where the files of the fast tier are")}
RULE, BATCH = 2_000_000, 4


def malware_sizes(count):
    """Quantiles: 40 % of files from 20 kB to 2 MB, mean 0.85 MB; 10 % to 4 MB; the rest to 11 MB."""
    for place in ((i + 0.5) / count for i in range(count)):
        if place < 0.4:
            yield round(20_000 + 1_980_000 * (place / 0.4) ** 1.4)
        elif place < 0.5:
            yield round(2_000_000 + 2_000_000 * (place - 0.4) / 0.1)
        else:
            yield round(4_000_000 + 7_100_000 * (place - 0.5) / 0.5)


def write(folder, sizes):
    """Files of three classes; each is an image with a hole behind it."""
    image = min(MINI.rglob("*.jpg"), key=lambda path: path.stat().st_size).read_bytes()
    order = list(range(len(sizes)))
    random.Random(1).shuffle(order)
    for number, size in zip(order, sizes):
        path = folder / f"class{number % 3}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        with path.open("r+b") as file:
            file.truncate(max(size, len(image)))


class Way:
    """A training of files of these sizes, and what staging makes of it."""

    def __init__(self, lab, fast, sizes, profile, *overrides):
        self.lab, self.fast, self.overrides = lab, fast, overrides
        shutil.rmtree(lab.folder / "data", ignore_errors=True)
        write(lab.folder / "data", sizes)
        steps = len(sizes) * (2 if overrides else 3) // 3 // BATCH
        files = lambda root: flow(type="posix", root=root, read="tensorflow")
        tier = lambda profile, root: emulated(root, tier=files, profile=profile)
        (lab.folder / "staging.yaml").write_text(
            "run: {name: staging}\ndevice: {type: emulated, step_ms: 0.1}\n"
            f"storage:\n  data: {tier(profile, lab.folder / 'data')}\n  fast: {tier('optane', fast)}\n"
            "dataset: {type: image_folder, storage: data}\ndecoder: {type: turbojpeg, size: 32}\n"
            f"loader: {{type: prefetched, batch_size: {BATCH}, workers: {lab.given.readers}}}\n"
            f"model: {{type: linear}}\ntraining: {{epochs: {lab.given.epochs}}}\nevaluation: {{enabled: false}}\n"
            f"metrics: {{every_steps: {steps}, sinks: [{{type: csv}}]}}\n")

    def advise(self, plan, *words):
        return self.lab.json("advise", "staging.yaml", *self.overrides, "--fast", "fast", "--output", plan, *words)

    def clear(self):
        shutil.rmtree(self.fast, ignore_errors=True)
        self.fast.mkdir()

    def epochs(self, *overrides):
        _, folder = self.lab.train("staging.yaml", *self.overrides, *overrides)
        times = [float(row["wall_s"]) for row in rows_of(folder / "steps.csv")]
        return [end - begin for begin, end in zip([0, *times], times)]

    def staged(self, advice):
        """Epochs of a training by a plan that was staged before, and how long that took."""
        self.clear()
        words = (*self.overrides, *advice["overrides"])
        _, took, _ = timed(lambda: self.lab.stoker("dataset", "stage", "staging.yaml", *words))
        return self.epochs(*advice["overrides"]), took

    def compare(self, what, max_file, with_auto=False):
        rule = self.advise("rule.json", "--max-file", max_file)
        own = self.advise("own.json", "--capacity", rule["capacity"])
        way = lambda advice, name: next(row for row in advice["ways"] if row["way"].startswith(name))
        rows = [("none", way(rule, "nothing"), self.epochs(), 0), ("rule", way(rule, "below"), *self.staged(rule)),
                ("own", way(own, "most saved"), *self.staged(own))]
        if with_auto:
            self.clear()
            auto = self.advise("auto.json", "--capacity", rule["capacity"], "--auto")["achieved"]["epochs_s"]
            rows.append(("auto", way(own, "most saved"), auto, 0))
        settled = [median(epochs[1:] or epochs) for _, _, epochs, _ in rows]  # the first epoch may have staged
        self.lab.table(what, [
            {"staged": name, "files %": 100 * predicted["share_of_objects"],
             "bytes %": 100 * predicted["share_of_bytes"], "predicted s": predicted["epoch_s"], "achieved s": achieved,
             "error %": 100 * (predicted["epoch_s"] / achieved - 1),
             "gain %": 100 * (settled[0] / achieved - 1), "first s": epochs[0], "before s": before}
            for (name, predicted, epochs, before), achieved in zip(rows, settled)])
        self.lab.say(f"own against the rule: {100 * (settled[1] / settled[2] - 1):+.1f} % in rate")


def run(lab):
    with tempfile.TemporaryDirectory(dir=lab.given.fast) as name:
        fast, sizes = pathlib.Path(name) / "fast", list(malware_sizes(lab.given.files))
        small = [size for size in sizes if size < RULE]
        lab.say(f"EMULATED hdd and optane; {len(sizes)} files, {sum(sizes) / 1e6:.0f} MB; below 2 MB "
                f"{100 * len(small) / len(sizes):.0f} % of files, {100 * sum(small) / sum(sizes):.1f} % of bytes")
        Way(lab, fast, sizes, "hdd").compare("all files read alike (the study: rule +19 %)", RULE, True)
        Way(lab, fast, sizes, "hdd", "dataset.exclude=[class2]").compare("counts: a class is left out", RULE)
        count = 3 * lab.given.files
        even = [round((0.6 + 0.8 * i / count) * 2**20) for i in range(count)]
        Way(lab, fast, even, "lustre").compare("sizes: requests of 1 MiB, lustre to optane", round(0.9 * 2**20))
