"""loaders.py LOADER VARIANT: a loader of the arena, measured, or (--dump) its first batch in sorted order.

Each is a function that gives (batches of an epoch, version) and imports what its environment alone has (setup.sh)."""
import argparse
import importlib.metadata
import io
import os
import pathlib
import tarfile
import warnings
from concurrent.futures import ThreadPoolExecutor

import common
from common import BATCH, SCALE, SEED, SHIFT, SIZE, WINDOW


def normalise(planes, out):
    import numpy as np
    for plane, to, scale, shift in zip(planes, out, SCALE, SHIFT):
        np.multiply(plane, np.float32(scale), out=to, casting="unsafe")
        to += np.float32(shift)
    return out


def cv2_image(encoded, out=None):
    """OpenCV, also for peers that leave the decoding to their users."""
    import cv2
    import numpy as np
    cv2.setNumThreads(0)
    image = cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR_RGB)
    image = cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    planes = (cv2.extractChannel(image, channel) for channel in range(3))
    return normalise(planes, np.empty((3, SIZE, SIZE), np.float32) if out is None else out)


def torch_normalise():
    import torch
    scale, shift = (torch.tensor(values).view(1, 3, 1, 1) for values in (SCALE, SHIFT))
    return lambda images: images.float().mul_(scale).add_(shift)


def stoker_python(given):
    """Stoker's loader in a Python loop: the experiment of configs/arena.yaml, batches without a copy."""
    import numpy as np

    import stoker
    loader = stoker.Loader(pathlib.Path(__file__).parents[3] / "configs/arena.yaml", [
        f"storage.data.root={given.data}", f"loader.workers={given.workers}", "decoder.output=float32",
        f"decoder.resize={given.variant}", f"loader.shuffle={str(not given.dump).lower()}"])
    return lambda _: ((len(labels), np.asarray(images)) for images, labels in loader), f"stoker {stoker.__version__}"


def cv2(given):
    """OpenCV by hand. ring: threads, into four batches that are used again and again, the strongest that can be written
    in Python; merge: into a fresh array for each batch."""
    import cv2
    import numpy as np
    paths, pool = common.files(given.data), ThreadPoolExecutor(given.workers)
    shape = (BATCH, 3, SIZE, SIZE)
    ring = [np.empty(shape, np.float32) for _ in range(4)] if given.variant == "ring" else []

    def load(places, out):
        for place, slot in zip(places, out):
            with open(paths[place][0], "rb") as file:
                cv2_image(file.read(), slot)

    def submit(places):
        if ring:
            ring.append(ring.pop(0))
        out = ring[-1][:len(places)] if ring else np.empty((len(places), *shape[1:]), np.float32)
        return out, [pool.submit(load, places[at:at + 4], out[at:at + 4]) for at in range(0, len(places), 4)]

    def batches(epoch):
        places = list(range(len(paths))) if given.dump else common.order(len(paths), epoch)
        waiting = [places[at:at + BATCH] for at in range(0, len(places), BATCH)]
        ahead = [submit(waiting.pop(0)) for _ in range(min(2, len(waiting)))]
        while ahead:
            out, tasks = ahead.pop(0)
            for task in tasks:
                task.result()
            if waiting:
                ahead.append(submit(waiting.pop(0)))
            yield len(out), out
    return batches, "OpenCV " + cv2.__version__


def dali(given):
    """NVIDIA DALI on the CPU. plain: the accurate IDCT, bilinear; aa: antialiased. Its batches are whole (the last one
    takes samples of the next epoch). Shards: tar files or TFRecord, with their indexes; mapped, but not where they have
    to be cold, for the kernel keeps what is mapped."""
    import numpy as np
    import nvidia.dali
    from nvidia.dali import fn, pipeline_def, tfrecord, types
    paths, shuffle = common.files(given.data), {"random_shuffle": not given.dump}

    def encoded():
        if not given.shards:
            return fn.readers.file(files=[path for path, _ in paths], labels=[label for _, label in paths],
                                   initial_fill=1 if given.dump else 2048, **shuffle)[0]
        shards, indexes = common.shards(given.shards), common.shards(given.shards + "-index")
        how = {"dont_use_mmap": given.cold, "initial_fill": 1 if given.dump else WINDOW, **shuffle}
        if shards[0].endswith(".tfrecord"):
            features = {"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                        "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)}
            return fn.readers.tfrecord(path=shards, index_path=indexes, features=features, **how)["image/encoded"]
        return fn.readers.webdataset(paths=shards, index_paths=indexes, ext=["jpg", "cls"], **how)[0]

    @pipeline_def(batch_size=BATCH, num_threads=given.workers, device_id=None, seed=SEED, prefetch_queue_depth=2)
    def pipeline():
        images = fn.decoders.image(encoded(), device="cpu", output_type=types.RGB)
        images = fn.resize(images, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_LINEAR,
                           antialias=given.variant == "aa")
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW",
                                        mean=[255 * m for m in common.MEAN], std=[255 * s for s in common.STD])
    built = pipeline()
    built.build()

    def batches(_):
        for _ in range(len(paths) // BATCH):
            yield BATCH, np.asarray(built.run()[0].as_tensor())  # no copy
    return batches, "DALI " + nvidia.dali.__version__


def tf_data(given):
    """plain: fancy upsampling and the accurate IDCT (Pillow's pixels), normalised per image; aa: the same, antialiased;
    tuned: the fast IDCT without fancy upsampling, normalised and transposed once a batch. Workers: calls in parallel
    and threads of the pool. Shards: TFRecord, shuffled, interleaved and shuffled again in a buffer, as its guide has
    it."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import tensorflow as tf
    workers, tuned, paths = given.workers, given.variant == "tuned", common.files(given.data)
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    tf.config.threading.set_intra_op_parallelism_threads(workers)
    scale, shift = tf.constant(SCALE), tf.constant(SHIFT)

    def load(what):
        if given.shards:
            features = {"image/encoded": tf.io.FixedLenFeature([], tf.string)}
            encoded = tf.io.parse_single_example(what, features)["image/encoded"]
        else:
            encoded = tf.io.read_file(what)
        image = tf.io.decode_jpeg(encoded, channels=3, fancy_upscaling=not tuned,
                                  dct_method="INTEGER_FAST" if tuned else "INTEGER_ACCURATE")
        image = tf.image.resize(image, [SIZE, SIZE], method="bilinear", antialias=given.variant == "aa")
        return image if tuned else tf.transpose(image * scale + shift, [2, 0, 1])

    def shuffled(data, count):
        return data if given.dump else data.shuffle(count, seed=SEED, reshuffle_each_iteration=True)
    names = common.shards(given.shards) if given.shards else [path for path, _ in paths]
    data = shuffled(tf.data.Dataset.from_tensor_slices(names), len(names))
    if given.shards:
        data = data.interleave(tf.data.TFRecordDataset, cycle_length=1 if given.dump else 4, num_parallel_calls=workers)
        data = shuffled(data, WINDOW)
    data = data.map(load, num_parallel_calls=workers).batch(BATCH, num_parallel_calls=workers)
    if tuned:
        data = data.map(lambda images: tf.transpose(images * scale + shift, [0, 3, 1, 2]), num_parallel_calls=workers)
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    options.threading.max_intra_op_parallelism = 1
    options.deterministic = True
    # One iterator for all epochs: taking one down takes seconds, and is no part of the work.
    iterator = iter(data.repeat().prefetch(2).with_options(options))

    def batches(_):
        for _ in range(-(-len(paths) // BATCH)):
            images = next(iterator)
            yield int(images.shape[0]), images
    return batches, "tensorflow " + tf.__version__


def grain(given):
    """Google's Grain; workers are threads. cv2: OpenCV decodes and resizes (plain bilinear); pil: Pillow does
    (antialiased). Shards: ArrayRecord, whose records are read one by one in Grain's order of all of them."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import grain
    import numpy as np
    from absl import flags
    from PIL import Image
    flags.FLAGS(["grain"])
    paths = common.files(given.data)
    source = grain.sources.ArrayRecordDataSource(common.shards(given.shards)) if given.shards else range(len(paths))

    def load(what):
        if given.shards:
            encoded = what[8:]  # after the label
        else:
            with open(paths[what][0], "rb") as file:
                encoded = file.read()
        if given.variant == "cv2":
            return cv2_image(encoded)
        image = Image.open(io.BytesIO(encoded)).convert("RGB").resize((SIZE, SIZE), Image.BILINEAR)
        return normalise(np.moveaxis(np.asarray(image), 2, 0), np.empty((3, SIZE, SIZE), np.float32))

    def batches(epoch):
        data = grain.MapDataset.source(source)
        data = data if given.dump else data.shuffle(seed=SEED + epoch)
        reading = grain.ReadOptions(num_threads=given.workers, prefetch_buffer_size=256)
        for images in data.map(load).to_iter_dataset(reading).batch(BATCH):
            yield len(images), images
    return batches, "grain " + grain.__version__


def torch_options(given):
    import torch
    torch.set_num_threads(max(given.workers, 1))
    return {"num_workers": given.workers, "persistent_workers": given.workers > 0,
            "prefetch_factor": 4 if given.workers else None}


def torch(given):
    """PyTorch's DataLoader with torchvision; workers are processes. tvio: antialiased; tvionoaa: plain bilinear;
    tviotuned: antialiased, uint8 to the batch, normalised once a batch in the main process."""
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    resize = v2.Resize((SIZE, SIZE), antialias=given.variant != "tvionoaa")
    each = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(common.MEAN, common.STD, inplace=True)])
    whole = lambda images: images
    if given.variant == "tviotuned":
        each, whole = whole, torch_normalise()
    images = common.Images(given.data, lambda path: each(resize(decode_jpeg(read_file(path), mode=ImageReadMode.RGB))))

    class Shuffled(torch.utils.data.Sampler):
        epoch = 0

        def __len__(self):
            return len(images)

        def __iter__(self):
            self.epoch += 1
            return iter(range(len(images)) if given.dump else common.order(len(images), self.epoch))
    loader = torch.utils.data.DataLoader(images, batch_size=BATCH, sampler=Shuffled(), **torch_options(given))
    return (lambda _: ((len(batch), whole(batch)) for batch, _labels in loader),
            f"torch {torch.__version__}, torchvision {torchvision.__version__}")


def webdataset(given):
    """WebDataset through its own loader (PyTorch's): tar shards mixed, then a shuffle buffer; OpenCV decodes."""
    import torch
    import webdataset
    shards, options = common.shards(given.shards), torch_options(given)
    data = webdataset.WebDataset(shards, shardshuffle=False if given.dump else len(shards), seed=SEED)
    data = data if given.dump else data.shuffle(WINDOW)
    data = data.map(lambda sample: (torch.from_numpy(cv2_image(sample["jpg"])), int(sample["cls"])))
    loader = webdataset.WebLoader(data.batched(BATCH, partial=True), batch_size=None, **options)
    return lambda _: ((len(images), images) for images, _labels in loader), f"webdataset {webdataset.__version__}"


def mds(given):
    """MosaicML Streaming, local MDS shards in its own shuffled order, in PyTorch's DataLoader; OpenCV decodes."""
    warnings.filterwarnings("ignore")
    import streaming
    import torch
    options = torch_options(given)

    class Images(streaming.StreamingDataset):
        def __getitem__(self, place):
            sample = super().__getitem__(place)
            return torch.from_numpy(cv2_image(sample["image"])), sample["label"]
    streaming.base.util.clean_stale_shared_memory()
    data = Images(local=given.shards, batch_size=BATCH, shuffle=not given.dump, shuffle_seed=SEED)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, **options)
    return lambda _: ((len(images), images) for images, _labels in loader), f"streaming {streaming.__version__}"


def ffcv(given):
    """FFCV; workers are threads. orig: its file holds the JPEG files' own bytes; raw256: pixels decoded beforehand, at
    most 256 wide and high, so nothing is decoded. Resized by INTER_AREA, FFCV's only way. The file is made first."""
    import cv2
    import ffcv.fields.rgb_image
    import numpy as np
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.decoders import IntDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, ToTensor, ToTorchImage
    from ffcv.writer import DatasetWriter
    from PIL import Image
    cv2.setNumThreads(0)

    def load(path):
        encoded = pathlib.Path(path).read_bytes()
        if given.variant == "orig":  # in the place of encoding the pixels again
            ffcv.fields.rgb_image.encode_jpeg = lambda image, quality: np.frombuffer(encoded, np.uint8)
        return np.array(Image.open(io.BytesIO(encoded)).convert("RGB"))
    images = common.Images(given.data, load)

    class WholeFrame(ffcv.fields.rgb_image.ResizedCropRGBImageDecoder):
        def __init__(self):
            super().__init__((SIZE, SIZE))
            self.scale, self.ratio = None, 1.0

        @property
        def get_crop_generator(self):
            return lambda height, width, _scale, _ratio: (0, 0, height, width)
    path = f"{given.cache}/ffcv-{given.variant}-{len(images)}.beton"
    if not os.path.exists(path):
        raw = {"write_mode": "raw", "max_resolution": 256} if given.variant == "raw256" else {"write_mode": "jpg"}
        fields = {"image": RGBImageField(**raw), "label": IntField()}
        DatasetWriter(path + ".new", fields, num_workers=2, page_size=1 << 25).from_indexed_dataset(
            images, shuffle_indices=False)
        os.rename(path + ".new", path)
    normal = NormalizeImage(255 * np.array(common.MEAN), 255 * np.array(common.STD), np.float32)
    loader = Loader(path, batch_size=BATCH, num_workers=given.workers, seed=SEED, os_cache=True, drop_last=False,
                    order=OrderOption.SEQUENTIAL if given.dump else OrderOption.RANDOM, batches_ahead=2,
                    pipelines={"image": [WholeFrame(), normal, ToTensor(), ToTorchImage(channels_last=False)],
                               "label": [IntDecoder(), ToTensor()]})
    return lambda _: ((len(labels), batch) for batch, labels in loader), "ffcv " + importlib.metadata.version("ffcv")


def spdl(given):
    """SPDL: chunks of 128 files through load_image_batch (FFmpeg decodes and scales); workers: chunks at a time."""
    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder
    torch.set_num_threads(1)
    paths, whole = common.files(given.data), torch_normalise()
    scaled = spdl.io.get_video_filter_desc(scale_width=SIZE, scale_height=SIZE, scale_algo="bilinear", scale_mode=None,
                                           pix_fmt="rgb24")

    def load(chunk):
        images = spdl.io.to_torch(spdl.io.load_image_batch(chunk, width=None, height=None, filter_desc=scaled))
        return whole(images.permute(0, 3, 1, 2).contiguous())

    def batches(epoch):
        places = range(len(paths)) if given.dump else common.order(len(paths), epoch)
        names = [paths[place][0] for place in places]
        chunks = [names[at:at + BATCH] for at in range(0, len(names), BATCH)]
        builder = PipelineBuilder().add_source(chunks).pipe(load, concurrency=given.workers, output_order="input")
        pipeline = builder.add_sink(2).build(num_threads=given.workers)
        with pipeline.auto_stop():
            for images in pipeline.get_iterator(timeout=60):
                yield images.shape[0], images
    return batches, "spdl " + importlib.metadata.version("spdl")


def turboloader(given):
    """TurboLoader of PyPI: its threads read a tar file by mmap, in the way that PyTorch's users are shown. It takes all
    processors that the process may use, so this process gets as many as workers. into: into six batches that are used
    again and again, through its C++ half, which its Python half does not offer."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:given.workers])
    import numpy as np
    import turboloader  # counts processors when it is loaded
    tar = os.path.join(given.cache, "turboloader-pixels.tar" if given.dump else "turboloader.tar")
    if not os.path.exists(tar):
        with tarfile.open(tar + ".new", "w", format=tarfile.USTAR_FORMAT) as archive:
            for path, _ in common.files(given.data):
                archive.add(path, arcname=os.path.relpath(path, given.data))
        os.rename(tar + ".new", tar)
    loader = turboloader.DataLoader(tar, batch_size=BATCH, image_size=SIZE, output_format="pytorch", prefetch_batches=4,
                                    transform=turboloader.ImageNetNormalize(), shuffle=not given.dump)
    ring = [np.empty((BATCH, 3, SIZE, SIZE), np.float32) for _ in range(6)] if given.variant == "into" else []

    def batches(epoch):
        if not ring:
            loader.set_epoch(epoch)
            yield from ((len(samples["indices"]), images) for images, samples in loader)
            return
        core = loader._impl._core
        core.begin_epoch(epoch, 0)
        while (made := core.next_batch_into(ring[0])) is not None:
            ring.append(ring.pop(0))
            yield made["batch_size"], ring[-1]
    return batches, "turboloader " + importlib.metadata.version("turboloader")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader")
    parser.add_argument("variant")
    parser.add_argument("--data", required=True, help="folder with a folder of JPEG files per class")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs, after one that is dropped")
    parser.add_argument("--dump", help="instead: write the first batch, in sorted order, into this .npy file")
    parser.add_argument("--cache", help="folder for files in a format of its own")
    parser.add_argument("--shards",
                        help="read the same files from shards in this folder, as make_shards.py writes them")
    parser.add_argument("--cold", action="store_true", help="empty the page cache of the shards before each epoch")
    given = parser.parse_args()
    common.run(given, *globals()[given.loader](given))


if __name__ == "__main__":
    main()
