"""Encoded bytes -> a normalised image, by OpenCV: for peers that leave the decoding to their users."""
import cv2
import numpy as np

import common

cv2.setNumThreads(0)


def image_of(encoded):
    size = (common.SIZE, common.SIZE)
    image = cv2.resize(cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR_RGB), size,
                       interpolation=cv2.INTER_LINEAR)
    out = np.empty((3, *size), np.float32)
    for channel in range(3):
        np.multiply(cv2.extractChannel(image, channel), np.float32(common.SCALE[channel]), out=out[channel],
                    casting="unsafe")
        out[channel] += np.float32(common.SHIFT[channel])
    return out
