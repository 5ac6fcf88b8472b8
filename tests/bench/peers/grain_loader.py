"""Google's Grain; workers are threads. cv2: OpenCV decodes and resizes (plain bilinear); pil: Pillow does (antialiased)."""
import io
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import cv2  # noqa: E402
import grain  # noqa: E402
import numpy as np  # noqa: E402
from absl import flags  # noqa: E402
from PIL import Image  # noqa: E402

import common  # noqa: E402

arguments = common.arguments(__doc__, ["cv2", "pil"])
flags.FLAGS(["grain"])
cv2.setNumThreads(0)
FILES = common.files(arguments.data)
PIL = arguments.variant == "pil"


def load(place):
    with open(FILES[place][0], "rb") as file:
        encoded = file.read()
    size = (common.SIZE, common.SIZE)
    if PIL:
        image = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB").resize(size, Image.BILINEAR))
    else:
        image = cv2.resize(cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR_RGB), size,
                           interpolation=cv2.INTER_LINEAR)
    out = np.empty((3, *size), np.float32)
    for channel in range(3):
        plane = image[:, :, channel] if PIL else cv2.extractChannel(image, channel)
        np.multiply(plane, np.float32(common.SCALE[channel]), out=out[channel], casting="unsafe")
        out[channel] += np.float32(common.SHIFT[channel])
    return out


def batches(epoch):
    data = grain.MapDataset.source(range(len(FILES)))
    if not arguments.dump:
        data = data.shuffle(seed=common.SEED + epoch)
    reading = grain.ReadOptions(num_threads=arguments.workers, prefetch_buffer_size=256)
    for images in data.map(load).to_iter_dataset(reading).batch(common.BATCH):
        yield len(images), images


common.run(arguments, "grain-" + arguments.variant, batches, "grain " + grain.__version__)
