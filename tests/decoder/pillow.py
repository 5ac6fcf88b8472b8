"""Decodes and resizes images with Pillow: the reference for `resize: antialias`.

usage: pillow.py SIZE OUT FILE...   writes SIZE x SIZE RGB pixels of every file, one after another
"""

import sys

from PIL import Image

size = int(sys.argv[1])
with open(sys.argv[2], "wb") as out:
    for path in sys.argv[3:]:
        with Image.open(path) as image:
            pixels = image.convert("RGB").resize((size, size), Image.BILINEAR)
        out.write(pixels.tobytes())
