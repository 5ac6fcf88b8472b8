"""What the peers share: their command line, the files, measuring, and the line of JSON that arena.py reads.

The work is the same for all: read a file -> decode it to RGB -> resize it to 224 x 224, bilinear -> float32, normalised by
ImageNet's mean and deviation -> batches of 128, NCHW, in an order shuffled anew each epoch."""
import argparse
import glob
import json
import os
import random
import statistics
import sys
import time

import page_cache

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SCALE = [1 / (255 * s) for s in STD]              # level of 0 to 255 -> normalised: level * SCALE + SHIFT
SHIFT = [-m / s for m, s in zip(MEAN, STD)]
SIZE, BATCH, SEED = 224, 128, 1234
WINDOW = 1000  # samples that a shuffle of shards mixes with one another, where a peer has such a number
HZ = os.sysconf("SC_CLK_TCK")


def arguments(text, variants):
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--data", required=True, help="folder with a folder of JPEG files per class")
    parser.add_argument("--variant", default=variants[0], choices=variants)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs, after one that is dropped")
    parser.add_argument("--dump", help="instead: write the first batch, in sorted order, into this .npy file")
    parser.add_argument("--cache", help="folder for files in a format of its own (FFCV)")
    parser.add_argument("--shards", help="read the same files from shards in this folder, as make_shards.py writes them")
    parser.add_argument("--cold", action="store_true", help="empty the page cache of the shards before each measured epoch")
    return parser.parse_args()


def files(folder):
    """(path, label) in bytewise order: as torchvision's ImageFolder and Stoker's image_folder have it."""
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    return [(f"{folder}/{name}/{file}", label) for label, name in enumerate(classes)
            for file in sorted(os.listdir(f"{folder}/{name}")) if file.lower().endswith((".jpg", ".jpeg"))]


def shards(folder):
    """Its files, without indexes, which Stoker and MDS keep beside them."""
    return sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and not entry.name.endswith(".json"))


def order(count, epoch):
    places = list(range(count))
    random.Random(SEED * 1000 + epoch).shuffle(places)
    return places


def tree(pid):
    """This process and its descendants."""
    found = [pid]
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                for child in file.read().split():
                    found += tree(int(child))
        except OSError:
            pass  # it has ended
    return found


def of_tree(value):
    total = 0
    for pid in tree(os.getpid()):
        try:
            total += value(pid)
        except OSError:
            pass
    return total


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / HZ  # its own, and of children it waited for


def megabytes(name, file):
    def of(pid):
        with open(f"/proc/{pid}/{file}") as lines:
            return next((int(line.split()[1]) * 1024e-6 for line in lines if line.startswith(name)), 0)
    return of


def measure(arguments, name, batches, version, layout="NCHW"):
    """batches(epoch) gives (number of images, batch). Epoch 0 is dropped; memory is looked at in it, and the first batches."""
    import numpy as np
    rates, cpu, total, count, shape, pss, images, said = [], 0.0, 0.0, 0, None, 0.0, 0, {}
    for epoch in range(arguments.epochs + 1):
        if arguments.cold and epoch > 0:
            said["cached_before"] = page_cache.drop(shards(arguments.shards))
            if said["cached_before"] > 0.01:
                sys.exit(f"not cold: the kernel keeps {said['cached_before']:.0%} of the shards in its page cache")
        began, cpu_before, images = time.perf_counter(), of_tree(cpu_seconds), 0
        for number, (size, batch) in enumerate(batches(epoch)):
            images += size
            if epoch == 0 and number < 8:
                values = np.asarray(batch.numpy() if hasattr(batch, "numpy") else batch)[:size]
                assert values.dtype == np.float32, values.dtype
                shape = shape or list(values.shape)
                total, count = total + float(values.sum(dtype=np.float64)), count + values.size
            if epoch == 0 and number == 40:
                pss = of_tree(megabytes("Pss:", "smaps_rollup"))
        if epoch > 0:
            rates.append(images / (time.perf_counter() - began))
            cpu += of_tree(cpu_seconds) - cpu_before
    print(json.dumps(dict(
        name=name, workers=arguments.workers, images_per_s=statistics.median(rates), rates=rates, epochs=arguments.epochs,
        images=images, cpu_s_per_1000=1000 * cpu / (images * arguments.epochs),
        rss_mb=of_tree(megabytes("VmHWM:", "status")), pss_mb=pss or of_tree(megabytes("Pss:", "smaps_rollup")),
        mean=total / count, shape=shape, layout=layout, version=version, **said)), flush=True)


def run(arguments, name, batches, version, layout="NCHW"):
    """Measures, or writes the first batch. Leaves without the slow end of thread pools and worker processes."""
    if arguments.dump:
        import numpy as np
        size, batch = next(iter(batches(0)))
        values = np.asarray(batch.numpy() if hasattr(batch, "numpy") else batch, np.float32)[:size]
        np.save(arguments.dump, np.ascontiguousarray(values))
    else:
        measure(arguments, name, batches, version, layout)
    os._exit(0)
