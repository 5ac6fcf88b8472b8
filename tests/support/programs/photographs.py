#!/usr/bin/env python3
"""Photographs with the statistics of ImageNet's, made of a few real ones: crops of them, made smaller and encoded again.

SOURCE is an image, or a folder that is searched for images; `setup.sh FOLDER large` takes them from packages of Debian. Below
FOLDER there is a folder for each class of size and kind of file, as `image_folder` reads them, and photographs.csv, which says of
each file what it is. A file is a function of the seed, its number, the sources and the versions of Pillow and libjpeg-turbo.
Kinds and sizes are dealt out by their shares, so that few files have them, too. A file's bytes per pixel are drawn at random,
and the quality follows from them."""
import argparse
import bisect
import csv
import functools
import io
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import sys

from PIL import Image

COLUMNS = ["file", "size", "width", "height", "bytes", "sampling", "coding", "quality", "source"]
# Share of the files in %, bits a pixel (the median), (width, height): how often.
SIZES = {
    "small": (16, 5.8, {(250, 188): 3, (188, 250): 2, (320, 240): 2, (200, 200): 2, (160, 120): 1, (100, 75): 1}),
    "medium": (80, 5.2, {(500, 375): 45, (375, 500): 20, (500, 333): 17, (333, 500): 8, (500, 500): 3, (500, 400): 4, (640, 480): 3}),
    "large": (4, 3.0, {(1024, 768): 3, (1280, 960): 2, (1200, 1600): 2, (2048, 1536): 2, (2592, 1944): 1}),
}
KINDS = {  # (sampling, coding): share in %
    ("420", "baseline"): 46, ("444", "baseline"): 23, ("420", "optimised"): 9, ("444", "optimised"): 6,
    ("420", "progressive"): 8, ("444", "progressive"): 5, ("grey", "baseline"): 2, ("grey", "progressive"): 1,
}
SPREAD = 0.35  # of the bits a pixel: standard deviation of their logarithm
LEAST_DETAIL = 2.2  # bits a pixel of a source that is made DETAIL_SIDE pixels large, 4:2:0, quality 92; below it is a drawing or a sky
DETAIL_SIDE = 500
QUALITIES = [60, 70, 75, 80, 85, 88, 90, 92, 93, 94, 95, 96, 97, 98, 99]
TRIES = 6  # crops; one that does not come near its bits a pixel has too little in it, such as sky
SUFFIXES = {".jpg", ".jpeg"}


def dealt(shares, count):
    """`count` names, each as often as its share says, evenly mixed."""
    credit, total = dict.fromkeys(shares, 0.0), sum(shares.values())
    for _ in range(count):
        for name, share in shares.items():
            credit[name] += share / total
        name = max(credit, key=credit.get)
        credit[name] -= 1
        yield name


def detail(image):
    image.draft("RGB", (2 * DETAIL_SIDE, 2 * DETAIL_SIDE))
    small = image.convert("RGB")
    small.thumbnail((DETAIL_SIDE, DETAIL_SIDE), Image.LANCZOS, reducing_gap=3)
    return 8 * len(encode(small, 92, "420", "baseline")) / (small.width * small.height)


def sources(paths):
    """{path: (width, height)} of all that Pillow can read and that have enough in them, each file once."""
    found = {}
    for path in map(pathlib.Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix.lower() not in SUFFIXES or not file.is_file() or file.is_symlink():
                continue
            try:
                with Image.open(file) as image:
                    size = image.size
                    if detail(image) >= LEAST_DETAIL:
                        found[str(file)] = size
            except OSError:
                print(f"no image: {file}", file=sys.stderr)
    return found


def plan(found, count, seed):
    """What is to be made of which source: {source: [(number, size class, width, height, sampling, coding)]}."""
    work, kinds = {}, {size: dealt(KINDS, count) for size in SIZES}
    for number, size in enumerate(dealt({size: share for size, (share, _, _) in SIZES.items()}, count)):
        draw = random.Random(f"{seed} {number}")
        shapes = SIZES[size][2]
        width, height = draw.choices(list(shapes), list(shapes.values()))[0]
        fitting = sorted(path for path, (w, h) in found.items() if w >= width and h >= height)
        if not fitting:
            sys.exit(f"no source has {width} x {height} pixels")
        work.setdefault(draw.choice(fitting), []).append((number, size, width, height, *next(kinds[size])))
    return work


def crop(image, width, height, draw):
    """A part of the image with this shape, of random size and place, made `width` wide. At least half of what fits: a photograph
    that is made small has more in it than a piece of a large one."""
    largest = min(image.width / width, image.height / height)
    scale = math.exp(draw.uniform(math.log(max(1, largest / 2)), math.log(largest)))
    w, h = width * scale, height * scale
    x, y = draw.uniform(0, image.width - w), draw.uniform(0, image.height - h)
    return image.resize((width, height), Image.LANCZOS, box=(x, y, x + w, y + h), reducing_gap=3)


def encode(image, quality, sampling, coding):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, subsampling={"420": 2, "444": 0, "grey": -1}[sampling],
               optimize=coding != "baseline", progressive=coding == "progressive")
    return out.getvalue()


def make(image, width, height, bits, sampling, coding, draw):
    """(quality, file): as near to so many bits a pixel as the qualities allow."""
    wanted, best = bits * width * height / 8, None
    for _ in range(TRIES):
        part = crop(image, width, height, draw)
        part = part.convert("L") if sampling == "grey" else part
        file = functools.cache(lambda quality: encode(part, quality, sampling, coding))
        at = min(bisect.bisect_left(QUALITIES, wanted, key=lambda quality: len(file(quality))), len(QUALITIES) - 1)
        for quality in QUALITIES[max(at - 1, 0):at + 1]:
            miss = abs(math.log(len(file(quality)) / wanted))
            if best is None or miss < best[0]:
                best = miss, quality, file(quality)
        if best[0] < 0.25:
            break
    return best[1:]


def from_source(job):
    folder, seed, source, items = job
    with Image.open(source) as opened:
        image = opened.convert("RGB")
    rows = []
    for number, size, width, height, sampling, coding in items:
        draw = random.Random(f"{seed} {number} pixels")
        bits = SIZES[size][1] * math.exp(draw.gauss(0, SPREAD)) * (0.7 if sampling == "grey" else 1)
        quality, data = make(image, width, height, bits, sampling, coding, draw)
        name = f"{size}-{coding}-{sampling}/{number:05}.jpg"
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        rows.append([name, size, width, height, len(data), sampling, coding, quality, os.path.basename(source)])
    return rows


def summary(rows):
    for size in ["", *SIZES]:
        chosen = [dict(zip(COLUMNS, row)) for row in rows if size in ("", row[1])]
        if chosen:
            lengths = [row["bytes"] for row in chosen]
            bits = statistics.median(8 * row["bytes"] / (row["width"] * row["height"]) for row in chosen)
            print(f"{size or 'all':7} {len(chosen):5} files, median {statistics.median(lengths) / 1000:5.0f} KB, mean "
                  f"{statistics.mean(lengths) / 1000:5.0f} KB, {bits:.1f} bits a pixel")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("source", nargs="+")
    parser.add_argument("--files", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.folder.exists():
        sys.exit(f"{options.folder} is there already")
    work = plan(sources(options.source), options.files, options.seed)
    new = options.folder.with_name(options.folder.name + ".new")
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        jobs = [(new, options.seed, source, items) for source, items in sorted(work.items())]
        rows = sorted(row for rows in pool.imap_unordered(from_source, jobs) for row in rows)
    with open(new / "photographs.csv", "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(rows)
    new.rename(options.folder)
    summary(rows)


if __name__ == "__main__":
    main()
