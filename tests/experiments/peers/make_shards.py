"""make_shards.py DATA FOLDER FORMAT: the files of DATA in a mixed order as 16 shards of one format below FOLDER. What
is there is left alone. tar: WebDataset's, with DALI's index in tar-index; tfrecord: tf.data's, with DALI's index in
tfrecord-index; arrayrecord: Grain's; mds: MosaicML Streaming's. Each needs its peer's Python; tar needs nothing."""
import io
import os
import pathlib
import struct
import sys
import tarfile

import common

SHARDS = 16


def parts(data):
    """Of each shard: (number, bytes, label) of its samples. Mixed once, as shards should be."""
    images = common.Images(data, lambda path: pathlib.Path(path).read_bytes())
    order = common.order(len(images), 99)
    for shard in range(SHARDS):
        yield shard, ((place, *images[place]) for place in order[shard::SHARDS])


def index(folder, name, lines):
    os.makedirs(folder + "-index", exist_ok=True)
    with open(f"{folder}-index/{name}.idx", "w") as file:
        file.writelines(line + "\n" for line in lines)


def tar(data, folder):
    for shard, samples in parts(data):
        name, lines = f"train-{shard:05}.tar", []
        with tarfile.open(f"{folder}/{name}", "w", format=tarfile.USTAR_FORMAT) as out:
            for number, encoded, label in samples:
                line = []
                for extension, content in (("jpg", encoded), ("cls", str(label).encode())):
                    member = tarfile.TarInfo(f"{number:06}.{extension}")
                    member.size = len(content)
                    line += [extension, str(out.offset + tarfile.BLOCKSIZE), str(len(content)), member.name]
                    out.addfile(member, io.BytesIO(content))
                lines.append(" ".join(line))
        index(folder, name, [f"v1.2 {len(lines)}", *lines])  # as DALI's wds2idx


def tfrecord(data, folder):
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import tensorflow as tf
    for shard, samples in parts(data):
        name = f"train-{shard:05}-of-{SHARDS:05}.tfrecord"
        with tf.io.TFRecordWriter(f"{folder}/{name}") as out:
            for _, encoded, label in samples:
                feature = {"image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded])),
                           "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
                out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        index(folder, name, records(f"{folder}/{name}"))


def records(path):
    """Lines of "offset size", as DALI's tfrecord2idx writes them."""
    with open(path, "rb") as file:
        while header := file.read(12):
            size = struct.unpack("<Q", header[:8])[0] + 16
            yield f"{file.tell() - 12} {size}"
            file.seek(size - 12, os.SEEK_CUR)


def arrayrecord(data, folder):
    from array_record.python.array_record_module import ArrayRecordWriter
    for shard, samples in parts(data):
        out = ArrayRecordWriter(f"{folder}/train-{shard:05}.arrayrecord", "group_size:1")
        for _, encoded, label in samples:
            out.write(struct.pack("<q", label) + encoded)
        out.close()


def mds(data, folder):
    from streaming import MDSWriter
    limit = sum(os.path.getsize(path) for path, _ in common.files(data)) // SHARDS
    with MDSWriter(out=folder, columns={"image": "bytes", "label": "int"}, size_limit=max(limit, 1 << 20)) as out:
        for _, samples in parts(data):
            for _, encoded, label in samples:
                out.write({"image": encoded, "label": label})


def main(data, folder, form):
    done, target = f"{folder}/{form}.done", f"{folder}/{form}"
    if not os.path.exists(done):
        os.makedirs(target, exist_ok=True)
        {"tar": tar, "tfrecord": tfrecord, "arrayrecord": arrayrecord, "mds": mds}[form](data, target)
        open(done, "w", encoding="utf-8").close()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
