"""FFCV; workers are threads. orig: its file holds the JPEG files' own bytes; raw256: pixels decoded beforehand, at most 256
wide and high, so nothing is decoded (class cached). Resized by INTER_AREA, FFCV's only way. The file is made first."""
import importlib.metadata
import io
import os

import cv2
import ffcv.fields.rgb_image
import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

import common

arguments = common.arguments(__doc__, ["orig", "raw256"])
cv2.setNumThreads(0)
FILES = common.files(arguments.data)
PATH = f"{arguments.cache}/ffcv-{arguments.variant}-{len(FILES)}.beton"


class Images:
    def __len__(self):
        return len(FILES)

    def __getitem__(self, place):
        with open(FILES[place][0], "rb") as file:
            encoded = file.read()
        if arguments.variant == "orig":  # in the place of encoding the pixels anew
            ffcv.fields.rgb_image.encode_jpeg = lambda image, quality: np.frombuffer(encoded, np.uint8)
        return np.array(Image.open(io.BytesIO(encoded)).convert("RGB")), FILES[place][1]


def whole(height, width, _scale, _ratio):
    return 0, 0, height, width


class WholeFrame(ffcv.fields.rgb_image.ResizedCropRGBImageDecoder):
    def __init__(self):
        super().__init__((common.SIZE, common.SIZE))
        self.scale, self.ratio = None, 1.0

    @property
    def get_crop_generator(self):
        return whole


if not os.path.exists(PATH):
    write = dict(write_mode="raw", max_resolution=256) if arguments.variant == "raw256" else dict(write_mode="jpg")
    writer = DatasetWriter(PATH + ".new", {"image": RGBImageField(**write), "label": IntField()}, num_workers=2, page_size=1 << 25)
    writer.from_indexed_dataset(Images(), shuffle_indices=False)
    os.rename(PATH + ".new", PATH)
NORMALISE = NormalizeImage(255 * np.array(common.MEAN), 255 * np.array(common.STD), np.float32)
LOADER = Loader(PATH, batch_size=common.BATCH, num_workers=arguments.workers, seed=common.SEED, os_cache=True, drop_last=False,
                order=OrderOption.SEQUENTIAL if arguments.dump else OrderOption.RANDOM, batches_ahead=2,
                pipelines={"image": [WholeFrame(), NORMALISE, ToTensor(), ToTorchImage(channels_last=False)],
                           "label": [IntDecoder(), ToTensor()]})


def batches(_):
    for images, labels in LOADER:
        yield len(labels), images


common.run(arguments, "ffcv-" + arguments.variant, batches, "ffcv " + importlib.metadata.version("ffcv"))
