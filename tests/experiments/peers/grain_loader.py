"""Google's Grain; workers are threads. cv2: OpenCV decodes and resizes (plain bilinear); pil: Pillow does (antialiased).
Shards: ArrayRecord, whose records are read one by one in Grain's order of all of them."""
import io
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import grain  # noqa: E402
import numpy as np  # noqa: E402
from absl import flags  # noqa: E402
from PIL import Image  # noqa: E402

import common  # noqa: E402
import cv2_decode  # noqa: E402

arguments = common.arguments(__doc__, ["cv2", "pil"])
flags.FLAGS(["grain"])
FILES = common.files(arguments.data)
PIL = arguments.variant == "pil"


def load(what):
    if arguments.shards:
        encoded = what[8:]  # after the label
    else:
        with open(FILES[what][0], "rb") as file:
            encoded = file.read()
    return pil_image(encoded) if PIL else cv2_decode.image_of(encoded)


def pil_image(encoded):
    size = (common.SIZE, common.SIZE)
    image = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB").resize(size, Image.BILINEAR))
    out = np.empty((3, *size), np.float32)
    for channel in range(3):
        np.multiply(image[:, :, channel], np.float32(common.SCALE[channel]), out=out[channel], casting="unsafe")
        out[channel] += np.float32(common.SHIFT[channel])
    return out


SOURCE = grain.sources.ArrayRecordDataSource(common.shards(arguments.shards)) if arguments.shards else range(len(FILES))


def batches(epoch):
    data = grain.MapDataset.source(SOURCE)
    if not arguments.dump:
        data = data.shuffle(seed=common.SEED + epoch)
    reading = grain.ReadOptions(num_threads=arguments.workers, prefetch_buffer_size=256)
    for images in data.map(load).to_iter_dataset(reading).batch(common.BATCH):
        yield len(images), images


common.run(arguments, "grain-" + arguments.variant, batches, "grain " + grain.__version__)
