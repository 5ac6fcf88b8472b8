"""What our decoder of JPEG files and its parts cost, beside libjpeg-turbo's: us an image, by the processor's clock.

The parts are those of the program `parts` (build it: `cmake --build build --target parts`); each round of each is all files, in
memory. Ours: scan is the entropy decoder and the inverse DCT with the header, decode is everything, in RGB rows. Of
libjpeg-turbo's times differences count, because its parts are not to be had alone: decode - coefficients is everything behind
the entropy decoder, planes - coefficients the inverse DCT. blocks of 8, 4, 2 and 1: ns of the inverse DCT of a block of 8 x 8
coefficients to so many samples a side. For docs/notes/decoding.md.
"""
import pathlib

from frame import there
from machine import output
from stoker import BUILD, MINI

ROUNDS = 5
OPTIONS = {"folder": (str(MINI), "of JPEG files"), "files": 102, "parts": (str(BUILD / "tests/parts"), "the program")}
FILES = ("ours/scan", "ours/inverse_dct", "ours/rgb_rows", "ours/decode", "libjpeg/coefficients", "libjpeg/planes",
         "libjpeg/planes_to_rgb", "libjpeg/decode")


def run(lab):
    there(lab.given.parts, "cmake --build build --target parts")
    files = sorted(pathlib.Path(lab.given.folder).rglob("*.jpg"))
    chosen = files[::max(1, len(files) // lab.given.files)][:lab.given.files]
    part = lambda name, *words: float(output(lab.given.parts, "jpeg", name, *words))
    lab.measure(f"{len(chosen)} files", {name: lambda name=name: {"us an image": part(name, *chosen)} for name in FILES},
                reference="libjpeg/decode", shuffle=True)
    lab.measure("blocks", {f"blocks/{side}": lambda side=side: {"ns a block": part(f"blocks/{side}")} for side in (8, 4, 2, 1)},
                reference="blocks/8")
