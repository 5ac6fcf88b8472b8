"""TurboLoader of PyPI: its threads read a tar file by mmap, in the way that PyTorch's users are shown. It takes all
processors that the process may use, so this process gets as many as `--workers` says. into: into six batches that are used
again and again, through its C++ half, which its Python half does not offer."""
import importlib.metadata
import os
import tarfile

import numpy as np

import common

arguments = common.arguments(__doc__, ["plain", "into"])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.workers])
import turboloader  # noqa: E402  # counts processors when it is loaded

TAR = os.path.join(arguments.cache, "turboloader-pixels.tar" if arguments.dump else "turboloader.tar")
if not os.path.exists(TAR):
    with tarfile.open(TAR + ".new", "w", format=tarfile.USTAR_FORMAT) as archive:
        for path, _ in common.files(arguments.data):
            archive.add(path, arcname=os.path.relpath(path, arguments.data))
    os.rename(TAR + ".new", TAR)
LOADER = turboloader.DataLoader(TAR, batch_size=common.BATCH, image_size=common.SIZE, output_format="pytorch",
                                transform=turboloader.ImageNetNormalize(), shuffle=not arguments.dump, prefetch_batches=4)
RING = [np.empty((common.BATCH, 3, common.SIZE, common.SIZE), np.float32) for _ in range(6)] if arguments.variant == "into" else []


def batches(epoch):
    if not RING:
        LOADER.set_epoch(epoch)
        for images, samples in LOADER:
            yield len(samples["indices"]), images
        return
    core = LOADER._impl._core
    core.begin_epoch(epoch, 0)
    while (made := core.next_batch_into(RING[0])) is not None:
        RING.append(RING.pop(0))
        yield made["batch_size"], RING[-1]


common.run(arguments, "turboloader-" + arguments.variant, batches,
           "turboloader " + importlib.metadata.version("turboloader"))
