"""MosaicML Streaming, local MDS shards in its own shuffled order, in PyTorch's DataLoader; OpenCV decodes. Workers are processes,
beside the main one. The last batch of each worker is smaller."""
import warnings

warnings.filterwarnings("ignore")
import streaming  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import common  # noqa: E402
import cv2_decode  # noqa: E402

arguments = common.arguments(__doc__, ["cv2"])
torch.set_num_threads(max(arguments.workers, 1))


class Images(streaming.StreamingDataset):
    def __getitem__(self, place):
        sample = super().__getitem__(place)
        return torch.from_numpy(cv2_decode.image_of(sample["image"])), sample["label"]


streaming.base.util.clean_stale_shared_memory()
DATA = Images(local=arguments.shards, batch_size=common.BATCH, shuffle=not arguments.dump, shuffle_seed=common.SEED)
LOADER = DataLoader(DATA, batch_size=common.BATCH, num_workers=arguments.workers,
                    persistent_workers=arguments.workers > 0, prefetch_factor=4 if arguments.workers else None)


def batches(_):
    for images, _labels in LOADER:
        yield len(images), images


common.run(arguments, "mds", batches, f"streaming {streaming.__version__}, torch {torch.__version__}")
