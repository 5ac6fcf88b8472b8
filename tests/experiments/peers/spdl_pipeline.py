"""SPDL: chunks of 128 files through spdl.io.load_image_batch (FFmpeg decodes and scales), as in its example; workers: chunks
at a time, each on a thread."""
import importlib.metadata

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder

import common

arguments = common.arguments(__doc__, ["iobatch"])
torch.set_num_threads(1)
FILES = common.files(arguments.data)
FILTER = spdl.io.get_video_filter_desc(scale_width=common.SIZE, scale_height=common.SIZE, scale_algo="bilinear",
                                       scale_mode=None, pix_fmt="rgb24")
SCALE = torch.tensor(common.SCALE).view(1, 3, 1, 1)
SHIFT = torch.tensor(common.SHIFT).view(1, 3, 1, 1)


def load(paths):
    images = spdl.io.to_torch(spdl.io.load_image_batch(paths, width=None, height=None, filter_desc=FILTER))
    return images.permute(0, 3, 1, 2).contiguous().float().mul_(SCALE).add_(SHIFT)


def batches(epoch):
    places = range(len(FILES)) if arguments.dump else common.order(len(FILES), epoch)
    paths = [FILES[place][0] for place in places]
    chunks = [paths[at:at + common.BATCH] for at in range(0, len(paths), common.BATCH)]
    builder = PipelineBuilder().add_source(chunks).pipe(load, concurrency=arguments.workers, output_order="input")
    pipeline = builder.add_sink(2).build(num_threads=arguments.workers)
    with pipeline.auto_stop():
        for images in pipeline.get_iterator(timeout=60):
            yield images.shape[0], images


common.run(arguments, "spdl-iobatch", batches, "spdl " + importlib.metadata.version("spdl"))
