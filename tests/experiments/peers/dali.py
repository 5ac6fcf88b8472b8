"""NVIDIA DALI on the CPU. plain: the accurate IDCT, bilinear; aa: resized with antialiasing. Its batches are whole (the last
one takes samples of the next epoch), so an epoch has as many as fit. Shards: tar files or TFRecord, with their indexes;
mapped, but not where they have to be cold, for the kernel keeps what is mapped."""
import numpy as np
import nvidia.dali
from nvidia.dali import fn, pipeline_def, tfrecord, types

import common

arguments = common.arguments(__doc__, ["plain", "aa"])
FILES = common.files(arguments.data)
SHUFFLE = dict(random_shuffle=not arguments.dump, initial_fill=1 if arguments.dump else common.WINDOW)


def from_shards():
    paths = common.shards(arguments.shards)
    indexes = common.shards(arguments.shards + "-index")
    how = dict(path=paths, index_path=indexes, dont_use_mmap=arguments.cold, **SHUFFLE)
    if paths[0].endswith(".tfrecord"):
        records = fn.readers.tfrecord(**how, features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                                                       "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
        return records["image/encoded"], records["image/class/label"]
    return fn.readers.webdataset(paths=how.pop("path"), index_paths=how.pop("index_path"), ext=["jpg", "cls"], **how)


def from_files():
    return fn.readers.file(files=[path for path, _ in FILES], labels=[label for _, label in FILES],
                           **{**SHUFFLE, "initial_fill": 1 if arguments.dump else 2048})


@pipeline_def(batch_size=common.BATCH, num_threads=arguments.workers, device_id=None, seed=common.SEED, prefetch_queue_depth=2)
def pipeline():
    encoded, labels = from_shards() if arguments.shards else from_files()
    images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
    images = fn.resize(images, resize_x=common.SIZE, resize_y=common.SIZE, interp_type=types.INTERP_LINEAR,
                       antialias=arguments.variant == "aa")
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in common.MEAN],
                                      std=[255 * s for s in common.STD])
    return images, labels


PIPELINE = pipeline()
PIPELINE.build()


def batches(_):
    for _ in range(len(FILES) // common.BATCH):
        yield common.BATCH, np.asarray(PIPELINE.run()[0].as_tensor())  # no copy


common.run(arguments, "dali-" + arguments.variant, batches, "DALI " + nvidia.dali.__version__)
