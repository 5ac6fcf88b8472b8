"""What the peers share: the files, their order, measuring, and the line of JSON that arena.py reads.

The work is the same for all: read a file -> decode it to RGB -> resize it to 224 x 224, bilinear -> float32, normalised
by ImageNet's mean and deviation -> batches of 128, NCHW, in an order that is shuffled again for each epoch."""
import glob
import json
import os
import random
import statistics
import subprocess
import time

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SCALE = [1 / (255 * s) for s in STD]              # level of 0 to 255 -> normalised: level * SCALE + SHIFT
SHIFT = [-m / s for m, s in zip(MEAN, STD)]
SIZE, BATCH, SEED = 224, 128, 1234
WINDOW = 1000  # samples that a shuffle of shards mixes with one another, where a peer has such a number


def files(folder):
    """(path, label) in bytewise order: as torchvision's ImageFolder and Stoker's image_folder have it."""
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    return [(f"{folder}/{name}/{file}", label) for label, name in enumerate(classes)
            for file in sorted(os.listdir(f"{folder}/{name}")) if file.lower().endswith((".jpg", ".jpeg"))]


class Images:
    """They as a sequence of (what load() makes of a path, label)."""

    def __init__(self, folder, load):
        self.files, self.load = files(folder), load

    def __len__(self):
        return len(self.files)

    def __getitem__(self, place):
        path, label = self.files[place]
        return self.load(path), label


def shards(folder):
    """Its files, without indexes, which Stoker and MDS keep beside them."""
    return sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and not entry.name.endswith(".json"))


def order(count, epoch):
    places = list(range(count))
    random.Random(SEED * 1000 + epoch).shuffle(places)
    return places


def of_tree(value, pid=None):
    """The sum of value(pid) over this process and its descendants."""
    pid, total = pid or os.getpid(), 0
    try:
        total = value(pid)
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            with open(path, encoding="utf-8") as file:
                total += sum(of_tree(value, int(child)) for child in file.read().split())
    except OSError:
        pass  # it has ended
    return total


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and of children it waited for


def megabytes(name, file):
    def of(pid):
        with open(f"/proc/{pid}/{file}", encoding="utf-8") as lines:
            return next((int(line.split()[1]) * 1024e-6 for line in lines if line.startswith(name)), 0)
    return of


def evict(paths):
    """Ends the program where some stay in the page cache."""
    subprocess.run([os.environ["STOKER"], "cold", "--evict", *paths], check=True, stdout=subprocess.DEVNULL)


def pixels_of(batch, size):
    import numpy as np
    return np.asarray(batch.numpy() if hasattr(batch, "numpy") else batch)[:size]


def measure(given, batches, version):
    """batches(epoch) gives (number of images, batch). Epoch 0 is dropped; memory is looked at in it."""
    rates, cpu, pss, images, shape = [], 0.0, 0.0, 0, None
    for epoch in range(given.epochs + 1):
        if given.cold and epoch > 0:
            evict(shards(given.shards))
        began, cpu_before, images = time.perf_counter(), of_tree(cpu_seconds), 0
        for number, (size, batch) in enumerate(batches(epoch)):
            images += size
            if shape is None:
                values = pixels_of(batch, size)
                shape = list(values.shape)
                assert str(values.dtype) == "float32", values.dtype
            if epoch == 0 and number == 40:
                pss = of_tree(megabytes("Pss:", "smaps_rollup"))
        if epoch > 0:
            rates.append(images / (time.perf_counter() - began))
            cpu += of_tree(cpu_seconds) - cpu_before
    return {"images_per_s": statistics.median(rates), "rates": rates, "shape": shape, "layout": "NCHW",
            "version": version,
            "cpu_s_per_1000": 1000 * cpu / (images * given.epochs), "rss_mb": of_tree(megabytes("VmHWM:", "status")),
            "pss_mb": pss or of_tree(megabytes("Pss:", "smaps_rollup"))}


def run(given, batches, version):
    """Measures, or writes the first batch. Leaves without the slow end of thread pools and worker processes."""
    if given.dump:
        import numpy as np
        size, batch = next(iter(batches(0)))
        np.save(given.dump, np.ascontiguousarray(pixels_of(batch, size), np.float32))
    else:
        print(json.dumps(measure(given, batches, version)), flush=True)
    os._exit(0)
