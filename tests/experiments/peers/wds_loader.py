"""WebDataset through its own loader (PyTorch's DataLoader): tar shards mixed, then a shuffle buffer; OpenCV decodes. Workers are
processes, beside the main one. The last batch of each worker is smaller."""
import torch
import webdataset

import common
import cv2_decode

arguments = common.arguments(__doc__, ["cv2"])
torch.set_num_threads(max(arguments.workers, 1))


def load(sample):
    return torch.from_numpy(cv2_decode.image_of(sample["jpg"])), int(sample["cls"])


SHARDS = common.shards(arguments.shards)
DATA = webdataset.WebDataset(SHARDS, shardshuffle=False if arguments.dump else len(SHARDS), seed=common.SEED)
if not arguments.dump:
    DATA = DATA.shuffle(common.WINDOW)
DATA = DATA.map(load).batched(common.BATCH, partial=True)
LOADER = webdataset.WebLoader(DATA, batch_size=None, num_workers=arguments.workers,
                              persistent_workers=arguments.workers > 0, prefetch_factor=4 if arguments.workers else None)


def batches(_):
    for images, _labels in LOADER:
        yield len(images), images


common.run(arguments, "webdataset", batches, f"webdataset {webdataset.__version__}, torch {torch.__version__}")
