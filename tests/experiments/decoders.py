"""What one image costs one thread, from the bytes of its file to 224 x 224 pixels: ours, libjpeg-turbo's, OpenCV's.

`stoker bench decode` of the decoders with each of some settings, with the files in memory. With `random crop` (scale
0.08 to 1, with flip) ours decodes only what the crop needs; `whole image` is a crop of all of it. For docs/results.md.
"""
from stoker import MINI, SOURCE

ROUNDS = 7
OPTIONS = {"folder": (str(MINI), "of JPEG files, in a folder for each class"), "samples": 500}
CROP = ["decoder.scaled_decode=false", "decoder.augment.flip=true"]
SETTINGS = {"resize": [], "float32": ["decoder.output=float32"], "antialias": ["decoder.resize=antialias"],
            "frame": ["decoder.on_device=resize", "decoder.frame=512KiB"],
            "random crop": [*CROP, "decoder.augment.random_resized_crop={}"],
            "whole image": [*CROP, "decoder.augment.random_resized_crop={scale: [1, 1]}"]}
DECODERS = ("jpeg", "turbojpeg", "opencv")


def decode(lab, decoder, settings):
    [of] = lab.json("bench", "decode", SOURCE / "configs/arena.yaml", f"storage.data.root={lab.given.folder}",
                    f"decoder.type={decoder}", *settings, f"--samples={lab.given.samples}", "--rounds=3")
    return {"us an image": of["us_per_image"]["min"]}


def run(lab):
    for name in lab.chosen(SETTINGS):
        lab.measure(name, {decoder: lambda decoder=decoder: decode(lab, decoder, SETTINGS[name]) for decoder in DECODERS
                           if decoder != "opencv" or name in ("resize", "float32", "antialias")}, reference="turbojpeg")
