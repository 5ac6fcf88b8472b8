"""A small network trained in PyTorch with Stoker's loader and with PyTorch's, until an epoch's mean loss is --loss.

The same images, network, seed and rate of learning, each in a process of its own; wall-clock time from the first batch
asked for. Both loaders have --workers of their own: threads, and processes. Needs torch and torchvision, as
peers/setup.sh FOLDER torch installs them. For docs/results.md.
"""
import pathlib
import statistics
import sys
import time

from frame import HERE, wheel
from stoker import MINI

OPTIONS = {"data": (str(MINI), "a folder of JPEG files for each class"), "loss": 3.0, "workers": 2, "most_epochs": 30}
SIZE, BATCH = 96, 64


def network(classes):
    from torch import nn
    layers = [layer for planes, more in ((3, 16), (16, 32), (32, 64)) for layer in (
        nn.Conv2d(planes, more, 3, stride=2, padding=1), nn.BatchNorm2d(more), nn.ReLU())]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(64 * 9, classes))


def from_stoker(folder, workers):
    import torch

    loader = wheel().Loader.of_folder(folder, size=SIZE, batch_size=BATCH, num_workers=workers, augment="flip")
    return lambda: ((torch.from_dlpack(images), torch.from_dlpack(labels)) for images, labels in loader)


def from_torch(folder, workers):
    import torch
    from torch.utils.data import DataLoader
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    sys.path.insert(0, str(HERE / "peers"))
    import common
    transform = v2.Compose([v2.Resize((SIZE, SIZE), antialias=True), v2.RandomHorizontalFlip(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(common.MEAN, common.STD, inplace=True)])
    images = common.Images(folder, lambda path: transform(decode_jpeg(read_file(path), mode=ImageReadMode.RGB)))
    loader = DataLoader(images, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers, prefetch_factor=4,
                        persistent_workers=True, generator=torch.Generator().manual_seed(1))
    return lambda: iter(loader)


LOADERS = {"torch": from_torch, "stoker": from_stoker}


def train(name, folder, workers, limit, most_epochs):
    import torch
    torch.manual_seed(1)
    net, done, waited = network(sum(path.is_dir() for path in pathlib.Path(folder).iterdir())), 0, 0.0
    epoch, optimizer = LOADERS[name](folder, workers), torch.optim.AdamW(net.parameters(), lr=2e-3)
    begin = time.perf_counter()
    for number in range(1, most_epochs + 1):
        losses, asked = [], time.perf_counter()
        for images, labels in epoch():
            waited += time.perf_counter() - asked
            loss = torch.nn.functional.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            done, asked = done + len(labels), time.perf_counter()
        if statistics.mean(losses) <= limit:
            break
    took = time.perf_counter() - begin
    return {"s": took, "epochs": number, "loss": statistics.mean(losses), "images/s": done / took,
            "waiting, %": 100 * waited / took}


def run(lab):
    how = lab.given.data, lab.given.workers, lab.given.loss, lab.given.most_epochs
    lab.measure("", {name: lambda name=name: lab.child(train, name, *how) for name in LOADERS}, reference="torch")
