"""A small network trained in PyTorch with Stoker's loader and with PyTorch's: the same images, network, seed and rate of
learning, until the mean loss of an epoch is at most --loss. Each in a process of its own, in turns; wall-clock time from the
first batch asked for. Both loaders have --workers of their own: threads, and processes.

train_cnn.py --data FOLDER [--loss 3.0] [--rounds 3] [--workers 2]   in the environment that setup.sh calls torch"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

SIZE, BATCH, MOST_EPOCHS = 96, 64, 30


def network():
    torch.manual_seed(1)
    layers = []
    for planes, more in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(planes, more, 3, stride=2, padding=1), nn.BatchNorm2d(more), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(64 * 9, 102))


def from_stoker(folder, workers):
    import stoker
    loader = stoker.Loader.of_folder(folder, size=SIZE, batch_size=BATCH, num_workers=workers, augment="flip")

    def epoch():
        for images, labels in loader:
            yield torch.from_dlpack(images), torch.from_dlpack(labels)
    return epoch


def from_torch(folder, workers):
    import common
    from torch.utils.data import DataLoader, Dataset
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    transform = v2.Compose([v2.Resize((SIZE, SIZE), antialias=True), v2.RandomHorizontalFlip(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(common.MEAN, common.STD, inplace=True)])
    files = common.files(folder)

    class Images(Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, place):
            path, label = files[place]
            return transform(decode_jpeg(read_file(path), mode=ImageReadMode.RGB)), label

    loader = DataLoader(Images(), batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers, prefetch_factor=4,
                        persistent_workers=True, generator=torch.Generator().manual_seed(1))
    return lambda: iter(loader)


LOADERS = {"stoker": from_stoker, "torch": from_torch}


def train(options):
    net, done = network(), 0
    epoch = LOADERS[options.loader](options.data, options.workers)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    begin, waited = time.perf_counter(), 0.0
    for number in range(1, MOST_EPOCHS + 1):
        losses, asked = [], time.perf_counter()
        for images, labels in epoch():
            waited += time.perf_counter() - asked
            loss = nn.functional.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            done += len(labels)
            asked = time.perf_counter()
        if statistics.mean(losses) <= options.loss:
            break
    took = time.perf_counter() - begin
    print(json.dumps(dict(epochs=number, loss=statistics.mean(losses), seconds=took, images_per_s=done / took,
                          waited=waited / took)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--loss", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--loader", choices=LOADERS, help="train once with this one")
    options = parser.parse_args()
    if options.loader:
        train(options)
        return
    rows = {name: [] for name in LOADERS}
    for number in range(options.rounds):
        for name in sorted(LOADERS, reverse=number % 2 == 1):
            done = subprocess.run([sys.executable, "-B", __file__, *sys.argv[1:], "--loader", name], check=True, text=True,
                                  stdout=subprocess.PIPE)
            rows[name].append(json.loads(done.stdout.splitlines()[-1]))
    for name, row in rows.items():
        seconds = [one["seconds"] for one in row]
        print(f"{name:<8} {statistics.median(seconds):7.1f} s ({min(seconds):.1f} to {max(seconds):.1f})  to a loss of "
              f"{row[0]['loss']:.3f} after {', '.join(str(one['epochs']) for one in row)} epochs; "
              f"{statistics.median(one['images_per_s'] for one in row):.0f} images/s, waiting for data "
              f"{100 * statistics.median(one['waited'] for one in row):.1f} % of the time")


if __name__ == "__main__":
    main()
