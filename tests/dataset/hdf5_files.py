"""HDF5 files for hdf5_test.cpp, written by h5py. hdf5_files.py DIRECTORY: name.h5 is one that is read, name.json what
h5py reads of it, sample by sample; refused-name.h5 is one that is not. hdf5_files.py FILE.h5: prints what it reads of
a file of ours."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from stoker import with_packages  # pylint: disable=wrong-import-position

with_packages("h5py", "numpy")
import h5py  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position

RNG = np.random.default_rng(17)
FILES = [RNG.bytes(int(size)) for size in RNG.integers(1, 3000, 24)]
# Smooth, so that deflate has something to do; 17 rows, so that the last chunk of 3 is not full.
IMAGES = np.add.outer(np.arange(17), np.add.outer(np.arange(8), np.arange(10 * 3))).reshape(17, 8, 10, 3).astype("u1")
FLOATS = RNG.normal(size=(7, 3, 6, 5)).astype("f4")
LABELS = np.arange(24) % 5


def offsets_of(files):
    return np.concatenate([[0], np.cumsum([len(file) for file in files])]).astype("u8")


def encoded(file, keys=True, **how):
    file.create_dataset("images", data=np.frombuffer(b"".join(FILES), "u1"), **how)
    file["offsets"] = offsets_of(FILES)
    file["labels"] = LABELS
    if keys:
        file["keys"] = np.array([f"class{label}/{i}.jpg".encode() for i, label in enumerate(LABELS)])


def rows(file, data=IMAGES, labels="i8", **how):
    file.create_dataset("images", data=data, **how)
    file["labels"] = np.arange(len(data)).astype(labels) % 3


def unfiltered_chunk(file):
    """One of its chunks was stored as it is, as deflate leaves what it can't make smaller."""
    rows(file, chunks=(1, 8, 10, 3), compression="gzip", shuffle=True)
    file["images"].id.write_direct_chunk((4, 0, 0, 0), IMAGES[9].tobytes(), filter_mask=3)


def climate(file, chunks):
    """As CDB: a file is a sample."""
    file.create_dataset("climate/data", data=FLOATS[0:2].reshape(6, 6, 5), chunks=chunks)
    file["climate/labels"] = np.array([4], "i2")


def map_file(file):
    """As CDB: a map of classes, and what is known of the channels."""
    file.create_dataset("climate/data", data=FLOATS[0:2].reshape(6, 6, 5), chunks=(6, 6, 5))
    file["climate/labels"] = np.arange(30, dtype="f4").reshape(6, 5) % 3
    file["climate/stats"] = RNG.normal(size=(6, 4)).astype("f4")


def map_rows(file):
    """A map for each row, in packed chunks beside an array in one piece."""
    rows(file, FLOATS)
    file.create_dataset("map", data=np.arange(7 * 30).reshape(7, 6, 5) % 4, dtype="i2", chunks=(3, 6, 5), compression="gzip")


READ = {
    "encoded": encoded,
    "encoded-chunked": lambda file: encoded(file, chunks=(1000,)),
    "encoded-packed": lambda file: encoded(file, False, chunks=(777,), compression="gzip", shuffle=True),
    "rows": rows,
    "rows-planes": lambda file: rows(file, IMAGES.transpose(0, 3, 1, 2)),
    "rows-grey": lambda file: rows(file, IMAGES[..., 0]),
    "rows-flat": lambda file: rows(file, IMAGES.reshape(17, -1)),
    "rows-float": lambda file: rows(file, FLOATS, "u1"),
    "rows-chunk-1": lambda file: rows(file, chunks=(1, 8, 10, 3), maxshape=(None, 8, 10, 3)),
    "rows-deflate": lambda file: rows(file, chunks=(3, 8, 10, 3), compression="gzip", compression_opts=9),
    "rows-shuffle": lambda file: rows(file, FLOATS, chunks=(2, 3, 6, 5), shuffle=True),
    "rows-both": lambda file: rows(file, FLOATS, chunks=(3, 3, 6, 5), shuffle=True, compression="gzip"),
    "rows-many": lambda file: rows(file, np.repeat(IMAGES, 60, 0), chunks=(1, 8, 10, 3), compression="gzip"),
    "rows-unfiltered": unfiltered_chunk,
    "climate": lambda file: climate(file, (6, 6, 5)),
    "climate-chunks": lambda file: climate(file, (1, 6, 5)),
    "map-file": map_file,
    "map-rows": map_rows,
}


def low_level(change):
    """Of a creation list that h5py's own words can't describe."""
    def write(file):
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        change(how)
        space = h5py.h5s.create_simple(IMAGES.shape)
        h5py.h5d.create(file.id, b"images", h5py.h5t.STD_U8LE, space, how)
    return write


def virtual(file):
    layout = h5py.VirtualLayout(IMAGES.shape, "u1")
    layout[:] = h5py.VirtualSource("rows.h5", "images", IMAGES.shape)
    file.create_virtual_dataset("images", layout)


def variable_keys(file):
    rows(file)
    file["keys"] = [f"key {i}" for i in range(len(IMAGES))]


def without_offsets(file):
    encoded(file)
    del file["offsets"]


def other_names(file):
    file["train/image"] = IMAGES
    file["train/label"] = np.arange(17) % 3


def without_labels(file):
    file["images"] = IMAGES
    file["label"] = np.arange(17) % 3


def negative_labels(file):
    file["images"] = IMAGES
    file["labels"] = np.arange(17) % 3 - 1


def short_offsets(file):
    """Where each begins, and not where the last one ends."""
    encoded(file)
    del file["offsets"], file["labels"]
    file["offsets"] = offsets_of(FILES)[:-1]
    del file["keys"]
    file["keys"] = np.array([f"c/{i}.jpg".encode() for i in range(len(FILES) - 1)])


def float_labels(file):
    file["images"] = IMAGES
    file["labels"] = np.zeros(len(IMAGES), "f4")


def many_labels(file):
    file["images"] = IMAGES
    file["labels"] = np.zeros(len(IMAGES) + 1, "i4")


def few_labels(file):
    file["images"] = IMAGES
    file["labels"] = np.zeros(len(IMAGES) - 1, "i4")


def many_maps(file):
    rows(file, FLOATS)
    file["map"] = np.zeros((len(FLOATS) + 1, 6, 5), "u1")


REFUSED = {
    "external-link": lambda file: file.__setitem__("images", h5py.ExternalLink("rows.h5", "images")),
    "soft-to-external": lambda file: (file.__setitem__("away", h5py.ExternalLink("rows.h5", "images")),
                                      file.__setitem__("images", h5py.SoftLink("/away"))),
    "external-storage": low_level(lambda how: how.set_external(b"rows.h5", 0, IMAGES.nbytes)),
    "virtual": virtual,
    "lzf": lambda file: rows(file, chunks=(1, 8, 10, 3), compression="lzf"),
    "fletcher32": lambda file: rows(file, chunks=(1, 8, 10, 3), fletcher32=True),
    "scaleoffset": lambda file: rows(file, chunks=(1, 8, 10, 3), scaleoffset=0),
    "part-of-row": lambda file: rows(file, chunks=(1, 4, 10, 3)),
    "compact": low_level(lambda how: how.set_layout(h5py.h5d.COMPACT)),
    "big-endian": lambda file: rows(file, FLOATS.astype(">f4")),
    "strings": lambda file: file.__setitem__("images", np.array([[b"a"], [b"b"]])),
    "none": lambda file: file.__setitem__("other", IMAGES),
    "group": lambda file: file.__setitem__("images/data", IMAGES),
    "never-written": low_level(lambda how: how.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)),
    "without-offsets": without_offsets,
    "variable-keys": variable_keys,
    "float-labels": float_labels,
    "many-labels": many_labels,
    "few-labels": few_labels,
    "many-maps": many_maps,
    "other-names": other_names,
    "without-labels": without_labels,
    "negative-labels": negative_labels,
    "short-offsets": short_offsets,
}


def samples_of(path):
    """What h5py reads of it."""
    with h5py.File(path) as file:
        group = file.get("climate", file)
        if "stats" in group:
            return [{"bytes": b"".join(group[name][:].tobytes() for name in ("data", "labels", "stats")).hex(), "label": 0}]
        if "data" in group:
            return [{"bytes": group["data"][:].tobytes().hex(), "label": int(group["labels"][0])}]
        images, labels = file["images"], file["labels"][:]
        if "offsets" in file:
            places = file["offsets"][:]
            found = [images[begin:end].tobytes() for begin, end in zip(places, places[1:])]
        else:
            found = [images[i].tobytes() for i in range(len(images))]
        if "map" in file:
            found = [bytes_ + file["map"][i].tobytes() for i, bytes_ in enumerate(found)]
        names = [key.decode() for key in file["keys"][:]] if "keys" in file else []
    return [{"bytes": bytes_.hex(), "label": int(label)} | ({"key": names[i]} if names else {})
            for i, (bytes_, label) in enumerate(zip(found, labels))]


def main(argument):
    path = pathlib.Path(argument)
    if path.suffix == ".h5":
        return print(json.dumps(samples_of(path)))
    for name, write in READ.items():
        for libver in ("earliest", "v110"):
            target = path / f"{name}-{libver}.h5"
            with h5py.File(target, "w", libver=(libver, "v110")) as file:
                write(file)
            target.with_suffix(".json").write_text(json.dumps(samples_of(target)))
    for name, write in REFUSED.items():
        with h5py.File(path / f"refused-{name}.h5", "w") as file:
            write(file)
    with h5py.File(path / "refused-user-block.h5", "w", userblock_size=512) as file:
        rows(file)


if __name__ == "__main__":
    main(sys.argv[1])
