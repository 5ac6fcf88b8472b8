"""PyTorch's DataLoader with torchvision.io.decode_jpeg and transforms v2; workers are processes. tvio: antialiased;
tvionoaa: plain bilinear; tviotuned: antialiased, uint8 to the batch, normalised once a batch in the main process."""
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset, Sampler
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import common

arguments = common.arguments(__doc__, ["tvio", "tvionoaa", "tviotuned"])
torch.set_num_threads(max(arguments.workers, 1))
TUNED = arguments.variant == "tviotuned"
FILES = common.files(arguments.data)
RESIZE = v2.Resize((common.SIZE, common.SIZE), antialias=arguments.variant != "tvionoaa")
NORMALISE = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(common.MEAN, common.STD, inplace=True)])
SCALE = torch.tensor(common.SCALE).view(1, 3, 1, 1)
SHIFT = torch.tensor(common.SHIFT).view(1, 3, 1, 1)


class Images(Dataset):
    def __len__(self):
        return len(FILES)

    def __getitem__(self, place):
        path, label = FILES[place]
        image = RESIZE(decode_jpeg(read_file(path), mode=ImageReadMode.RGB))
        return (image if TUNED else NORMALISE(image)), label


class Shuffled(Sampler):
    epoch = 0

    def __len__(self):
        return len(FILES)

    def __iter__(self):
        self.epoch += 1
        return iter(range(len(FILES)) if arguments.dump else common.order(len(FILES), self.epoch))


LOADER = DataLoader(Images(), batch_size=common.BATCH, sampler=Shuffled(), num_workers=arguments.workers,
                    persistent_workers=arguments.workers > 0, prefetch_factor=4 if arguments.workers else None)


def batches(_):
    for images, _labels in LOADER:
        if TUNED:
            images = images.float().mul_(SCALE).add_(SHIFT)
        yield len(images), images


common.run(arguments, "torch-" + arguments.variant, batches,
           f"torch {torch.__version__}, torchvision {torchvision.__version__}")
