"""OpenCV by hand: threads decode, resize and normalise plane by plane. ring: into four batches that are used again and
again, the strongest that can be written in Python; merge: into a fresh array for each batch."""
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np

import common

arguments = common.arguments(__doc__, ["ring", "merge"])
cv2.setNumThreads(0)
FILES = common.files(arguments.data)
SHAPE = (common.BATCH, 3, common.SIZE, common.SIZE)
RING = [np.empty(SHAPE, np.float32) for _ in range(4)] if arguments.variant == "ring" else []
POOL = ThreadPoolExecutor(arguments.workers)


def load(path, out):
    with open(path, "rb") as file:
        encoded = np.frombuffer(file.read(), np.uint8)
    image = cv2.resize(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), (common.SIZE, common.SIZE), interpolation=cv2.INTER_LINEAR)
    for channel in range(3):
        plane = cv2.extractChannel(image, channel)
        np.multiply(plane, np.float32(common.SCALE[channel]), out=out[channel], casting="unsafe")
        out[channel] += np.float32(common.SHIFT[channel])


def load_some(places, out):
    for place, slot in zip(places, out):
        load(FILES[place][0], slot)


def submit(places):
    if RING:
        RING.append(RING.pop(0))
    out = RING[-1][:len(places)] if RING else np.empty((len(places), *SHAPE[1:]), np.float32)
    return out, [POOL.submit(load_some, places[at:at + 4], out[at:at + 4]) for at in range(0, len(places), 4)]


def batches(epoch):
    places = list(range(len(FILES))) if arguments.dump else common.order(len(FILES), epoch)
    waiting = [places[at:at + common.BATCH] for at in range(0, len(places), common.BATCH)]
    ahead = [submit(waiting.pop(0)) for _ in range(min(2, len(waiting)))]
    while ahead:
        out, tasks = ahead.pop(0)
        for task in tasks:
            task.result()
        if waiting:
            ahead.append(submit(waiting.pop(0)))
        yield len(out), out


common.run(arguments, "cv2-" + arguments.variant, batches, "OpenCV " + cv2.__version__)
