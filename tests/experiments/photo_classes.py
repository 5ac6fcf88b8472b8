"""How fast the loader is with photographs of each size and kind, beside libjpeg-turbo with the same files.

--folder is what tests/support/programs/photographs.py wrote. In each round every class runs `stoker bench loader` once, at 224 x
224 pixels, without scaled decoding (--scaled: with it; libjpeg-turbo decodes all at full size): one epoch that warms up
and two that count, then libjpeg-turbo alone in the same process, which reads and decodes. Small classes are linked
several times over, so that an epoch is long. Files are in the page cache. For docs/results.md, "A later measurement,
and on photographs".
"""
import os
import pathlib
import re

from frame import CannotMeasure, median, rows_of
from stoker import SOURCE

OPTIONS = {"folder": "", "workers": 1, "decoder": {"jpeg": 0, "turbojpeg": 0}, "scaled": False}
EPOCH, LARGEST_EPOCH = 256, 64  # images at least; MB, for classes of large files


def link(folder, rows, place):
    """The class's files in a folder of their own, as often as an epoch needs them."""
    total = sum(int(row["bytes"]) for row in rows)
    (place / "photographs").mkdir(parents=True)
    for row in rows:
        for copy in range(max(1, min(-(-EPOCH // len(rows)), int(LARGEST_EPOCH * 1e6 // total)))):
            name = pathlib.Path(row["file"])
            os.link(folder / name, place / "photographs" / f"{name.stem}-{copy}.jpg")


def load(lab, place):
    given = lab.given
    result = lab.json("bench", "loader", SOURCE / "configs/arena.yaml", f"storage.data.root={place}",
                      "loader.batch_size=64",
                      f"decoder.scaled_decode={str(given.scaled).lower()}", f"decoder.type={given.decoder}",
                      f"loader.workers={given.workers}", "--epochs=2", "--ceiling-samples=128")
    ours, theirs = median(result["rates"]), result["ceiling"]["read_decode"]["median"]
    return {f"{given.decoder}, images/s": ours, "libjpeg-turbo, images/s": theirs, "ratio": ours / theirs}


def run(lab):
    folder, found = pathlib.Path(lab.given.folder).resolve(), {}
    if not (folder / "photographs.csv").exists():
        raise CannotMeasure("--folder must name what tests/support/programs/photographs.py wrote")
    for row in rows_of(folder / "photographs.csv"):
        if re.search(lab.given.only, row["file"]):
            found.setdefault((row["size"], f"{row['coding']} {row['sampling']}"), []).append(row)
    variants = {}
    for key in sorted(found, key=lambda key: (["small", "medium", "large"].index(key[0]), key[1])):
        place = lab.folder / "-".join(key).replace(" ", "-")
        link(folder, found[key], place)
        kilobytes = median(int(row["bytes"]) for row in found[key]) / 1000
        variants[f"{' '.join(key)}: {len(found[key])} files, {kilobytes:.0f} KB"] = lambda place=place: load(lab, place)
    lab.measure("images/s of the loader", variants, wide=True, shuffle=True)
