"""Stoker's loader in a Python loop: the experiment of configs/arena.yaml, batches as NumPy arrays without a copy."""
import pathlib

import numpy as np

import common
import stoker

arguments = common.arguments(__doc__, ["bilinear", "antialias"])
EXPERIMENT = pathlib.Path(__file__).parents[3] / "configs/arena.yaml"
LOADER = stoker.Loader(EXPERIMENT, [
    f"storage.data.root={arguments.data}", f"loader.workers={arguments.workers}", "decoder.output=float32",
    *(["decoder.resize=antialias"] if arguments.variant == "antialias" else []),
    *(["loader.shuffle=false"] if arguments.dump else [])])


def batches(_):
    for images, labels in LOADER:
        yield len(labels), np.asarray(images)


common.run(arguments, "stoker-python", batches, f"stoker {stoker.__version__} from Python")
