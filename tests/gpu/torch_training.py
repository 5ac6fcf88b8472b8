"""torch_training.py LOADER FOLDER: trains AlexNet in PyTorch from one loader and prints its rate and the device's idle share.

LOADER is `stoker` (its Python package), `torch` (DataLoader with torchvision v2 in worker processes), `torch_gpu` (DataLoader
that reads, torchvision's nvJPEG decoding on the GPU) or `dali`. All resize to the same size and normalise; `torch` on the
device, which is faster than in the workers."""
import argparse
import importlib.util
import itertools
import json
import os
import pathlib
import statistics
import tempfile
import time

import torch
from torch import nn

import common



def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader", choices=["stoker", "torch", "torch_gpu", "dali"])
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm-up", type=int, default=40,
                        help="steps before the window: processes give their first batches all at once")
    parser.add_argument("--precision", default="bf16", choices=["bf16", "fp32"])
    parser.add_argument("--watch", action="store_true", help="with stoker.watch around the loop, and looking at its tensors")
    return parser.parse_args()


OPTIONS = parsed()
GPU = OPTIONS.device == "cuda"


class NotRun(Exception):
    pass


def alexnet(classes):
    """Krizhevsky 2014 (arXiv:1404.5997), one tower, as torchvision's."""
    layers, channels = [], 3
    for out, kernel, stride, padding, pooled in ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False),
                                                 (256, 3, 1, 1, False), (256, 3, 1, 1, True)):
        layers += [nn.Conv2d(channels, out, kernel, stride, padding), nn.ReLU(inplace=True)]
        layers += [nn.MaxPool2d(3, 2)] if pooled and OPTIONS.size >= 63 else []
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(6), nn.Flatten(), nn.Dropout(), nn.Linear(256 * 36, 4096),
                         nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(inplace=True),
                         nn.Linear(4096, classes))


def for_ever(loader):
    while True:
        yield from loader


def stoker_loader(**keywords):
    import stoker
    return stoker.Loader.of_folder(OPTIONS.folder, size=OPTIONS.size, batch_size=OPTIONS.batch, num_workers=OPTIONS.workers,
                                   **keywords)


def need(module):
    if importlib.util.find_spec(module) is None:
        raise NotRun(f"no {module}")


def torch_loader(on_gpu):
    need("torchvision")
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms.v2 import functional

    files = common.files(OPTIONS.folder)
    scale = torch.tensor(common.SCALE, device=OPTIONS.device).view(1, 3, 1, 1)
    shift = torch.tensor(common.SHIFT, device=OPTIONS.device).view(1, 3, 1, 1)

    def resized(image):
        return functional.resize(image, [OPTIONS.size, OPTIONS.size], antialias=True)

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, place):
            path, label = files[place]
            if on_gpu:  # bytes: each tensor from a worker would take a file descriptor
                return pathlib.Path(path).read_bytes(), label
            return resized(decode_jpeg(read_file(path), mode=ImageReadMode.RGB)), label

    def decoded(images):
        tensors = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in images]
        return torch.stack([resized(i) for i in decode_jpeg(tensors, mode=ImageReadMode.RGB, device=OPTIONS.device)])

    loader = torch.utils.data.DataLoader(
        Files(), batch_size=OPTIONS.batch, shuffle=True, drop_last=True, num_workers=OPTIONS.workers,
        pin_memory=GPU and not on_gpu, persistent_workers=True, prefetch_factor=4, collate_fn=list if on_gpu else None)
    for batch in for_ever(loader):
        images, labels = zip(*batch) if on_gpu else batch
        if on_gpu:
            images, labels = decoded(images), torch.tensor(labels)
        images = images.to(OPTIONS.device, non_blocking=True)
        yield images.float().mul_(scale).add_(shift), labels.to(OPTIONS.device, non_blocking=True)


def dali_loader():
    need("nvidia.dali" if importlib.util.find_spec("nvidia") else "nvidia")
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    @pipeline_def(batch_size=OPTIONS.batch, num_threads=OPTIONS.workers, device_id=0)
    def pipeline():
        data, labels = fn.readers.file(file_root=OPTIONS.folder, random_shuffle=True, name="files")
        images = fn.resize(fn.decoders.image(data, device="mixed"), size=[OPTIONS.size, OPTIONS.size])
        mean, std = ([255 * x for x in values] for values in (common.MEAN, common.STD))
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=mean, std=std), labels.gpu()

    for (batch,) in for_ever(DALIGenericIterator([pipeline()], ["x", "y"], reader_name="files", auto_reset=True,
                                                 last_batch_policy=LastBatchPolicy.DROP)):
        yield batch["x"], batch["y"].squeeze(1).long()


class Steps:
    """Trains, and notes when each step begins and ends: by CUDA events, or by the clock."""

    def __init__(self):
        self.model = alexnet(classes=1000).to(OPTIONS.device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.times = []

    def now(self):
        if not GPU:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def step(self, x, y):
        begin = self.now()
        with torch.autocast(OPTIONS.device, torch.bfloat16, enabled=OPTIONS.precision == "bf16"):
            loss = nn.functional.cross_entropy(self.model(x.to(memory_format=torch.channels_last)), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.times.append((begin, self.now()))

    def until(self, batches, enough):
        for x, y in batches:
            self.step(x, y)
            if enough():
                break
        if GPU:
            torch.cuda.synchronize()

    def idle(self, first):
        """(share, seconds) from that step's begin to the last one's end."""
        def seconds(begin, end):
            return begin.elapsed_time(end) / 1e3 if GPU else end - begin

        times = self.times[first:]
        span = seconds(times[0][0], times[-1][1])
        return 1 - sum(seconds(*step) for step in times) / span, span


def looked_at():
    """Whether memory is pinned, tensors are on the device, and have the loader's values."""
    (host, labels), = itertools.islice(stoker_loader(pin_memory=GPU, shuffle=False), 1)
    (x, y), = itertools.islice(stoker_loader(device=OPTIONS.device, shuffle=False), 1)
    host, labels = torch.from_dlpack(host), torch.from_dlpack(labels)
    return {"pinned": host.is_pinned() if GPU else False, "on_device": x.device.type == y.device.type == OPTIONS.device,
            "equal": torch.equal(host, x.cpu()) and torch.equal(labels, y.cpu())}


def loaded():
    """Whether a safetensors file comes to the device bit for bit, through a ring that is smaller than it."""
    from stoker import _torch
    whole = torch.randint(256, (40 << 20,), dtype=torch.uint8)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [whole.numel() // 2], "data_offsets": [0, whole.numel()]}}).encode()
    header += b" " * (-len(header) % 8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f")
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header + whole.numpy().tobytes())
        tensor = _torch._through_ring([path], torch.device(OPTIONS.device), 0, "auto", 16 << 20)["w"]
    return tensor.device.type == OPTIONS.device and torch.equal(tensor.cpu().view(torch.uint8), whole)


def main():
    found, steps = {}, Steps()
    if OPTIONS.loader == "stoker":
        need("stoker")
        import stoker
        loader = stoker_loader(device=OPTIONS.device)
        batches, versions = for_ever(loader), f"stoker {stoker.__version__}"
    elif OPTIONS.loader == "dali":
        batches, versions = dali_loader(), "DALI"
    else:
        batches, versions = torch_loader(on_gpu=OPTIONS.loader == "torch_gpu"), f"torch {torch.__version__}"
    if OPTIONS.watch:
        with stoker.watch(loader, steps.optimizer, quiet=True) as run:
            end = time.monotonic() + OPTIONS.seconds
            steps.until(batches, lambda: time.monotonic() > end)
        found = {"watch_idle": run.device_idle_share, "watch_level": run.level, "watch_verdict": run.verdict,
                 "whole_idle": steps.idle(0)[0], **looked_at(), "loaded": loaded()}
    else:
        steps.until(batches, lambda: len(steps.times) >= OPTIONS.warm_up)
        end = time.monotonic() + OPTIONS.seconds
        steps.until(batches, lambda: time.monotonic() > end and len(steps.times) > OPTIONS.warm_up + 1)
        share, span = steps.idle(OPTIONS.warm_up)
        count = len(steps.times) - OPTIONS.warm_up
        found = {"images_per_s": (count - 1) * OPTIONS.batch / span if count > 1 else None, "idle": share, "steps": count}
        durations = [b.elapsed_time(e) / 1e3 if GPU else e - b for b, e in steps.times[OPTIONS.warm_up:]]
        found["step_ms"] = 1e3 * statistics.median(durations)
    print(json.dumps(found | {"versions": versions}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except NotRun as reason:
        print(json.dumps({"not_run": str(reason)}), flush=True)
