#!/usr/bin/env python3
"""How fast the loader is with photographs of each size and kind, beside libjpeg-turbo's reading and decoding of the same files.

tests/run bench/photo_classes FOLDER [--rounds 3] [--workers 1] [--only medium-progressive] [--decoder jpeg] [--scaled]

FOLDER is what tests/bench/peers/photographs.py wrote. In each round every class runs `stoker bench loader` once, in an order of the
round's own, at 224 x 224 pixels, without scaled decoding (--scaled: with it; libjpeg-turbo
decodes all the same at full size): one warm-up epoch and two measured ones, then libjpeg-turbo alone in the
same process. Small classes are linked several times over, so that an epoch is long. Files are in the page cache. The table has medians
over the rounds, and of the ratio also the least and the most."""
import argparse
import csv
import json
import os
import pathlib
import random
import statistics
import tempfile

from stoker import SOURCE, stoker

EPOCH = 256         # images at least
LARGEST_EPOCH = 64  # MB, for classes of large files
CEILING = 128       # files that libjpeg-turbo decodes, three times


def classes(folder):
    """{(size, kind): [row of photographs.csv]}"""
    found = {}
    with open(folder / "photographs.csv", newline="") as table:
        for row in csv.DictReader(table):
            found.setdefault((row["size"], f"{row['coding']} {row['sampling']}"), []).append(row)
    return found


def link(folder, rows, place):
    """The class's files in a folder of their own, as often as an epoch needs them."""
    total = sum(int(row["bytes"]) for row in rows)
    times = max(1, min(-(-EPOCH // len(rows)), int(LARGEST_EPOCH * 1e6 // total)))
    (place / "photographs").mkdir(parents=True)
    for row in rows:
        for copy in range(times):
            name = pathlib.Path(row["file"])
            os.link(folder / name, place / "photographs" / f"{name.stem}-{copy}.jpg")


def measure(root, options):
    done = stoker("bench", "loader", SOURCE / "configs/arena.yaml", f"storage.data.root={root}", f"decoder.scaled_decode={str(options.scaled).lower()}",
                  f"decoder.type={options.decoder}", f"loader.workers={options.workers}", "loader.batch_size=64", "--epochs=2",
                  f"--ceiling-samples={CEILING}", "--json", cwd=root)
    result = json.loads(done.stdout)
    ours, theirs = statistics.median(result["rates"]), result["ceiling"]["read_decode"]["median"]
    return ours, theirs, ours / theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="classes whose folder begins so")
    parser.add_argument("--decoder", default="jpeg", choices=["jpeg", "turbojpeg"])
    parser.add_argument("--scaled", action="store_true", help="with scaled decoding")
    options = parser.parse_args()
    found = {key: rows for key, rows in classes(options.folder).items() if rows[0]["file"].startswith(options.only)}
    results = {key: [] for key in found}
    with tempfile.TemporaryDirectory(dir=options.folder.parent) as scratch:
        places = {key: pathlib.Path(scratch, "-".join(key).replace(" ", "-")) for key in found}
        for key, rows in found.items():
            link(options.folder, rows, places[key])
        for number in range(options.rounds):
            order = list(found)
            random.Random(number).shuffle(order)
            for key in order:
                results[key].append(measure(places[key], options))
    print(f"| size | kind | files | median KB | {options.decoder}, images/s | libjpeg-turbo, images/s | ratio | least, most |")
    print("|---|---|---|---|---|---|---|---|")
    sizes = ["small", "medium", "large"]
    for key in sorted(found, key=lambda key: (sizes.index(key[0]), key[1])):
        ours, theirs, ratios = map(list, zip(*results[key]))
        kilobytes = statistics.median(int(row["bytes"]) for row in found[key]) / 1000
        print(f"| {key[0]} | {key[1]} | {len(found[key])} | {kilobytes:.0f} | {statistics.median(ours):,.0f} | "
              f"{statistics.median(theirs):,.0f} | {statistics.median(ratios):.2f} | {min(ratios):.2f}, {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
