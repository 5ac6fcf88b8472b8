"""TensorFlow reads the records that we write, and we read those that TensorFlow writes."""
import os
import pathlib
import random
import shutil
import subprocess
import unittest

from stoker import BUILD, MINI, StokerTest, configuration, flow, posix, with_packages

with_packages(tensorflow="tensorflow-cpu==2.21.0")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402

COPY = BUILD / "tests/dataset_copy"  # copy.cpp
TEXT = tf.io.FixedLenFeature([], tf.string)
FEATURES = {"image/encoded": TEXT, "image/class/label": tf.io.FixedLenFeature([], tf.int64), "image/class/text": TEXT,
            "image/filename": TEXT}


def copy(root, dataset, name, code=0):
    """Our copy of a data set as a TFRecord file of root."""
    done = subprocess.run([COPY, root, dataset, "tfrecord", name], capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise AssertionError(done.stderr)
    return done.stderr if code else root / name


def by_tensorflow(path):
    """[(image, label, class, file name)] by TensorFlow's own reader and parser."""
    rows = []
    for record in tf.data.TFRecordDataset(str(path)):
        one = tf.io.parse_single_example(record, FEATURES)
        rows.append(tuple(one[name].numpy() for name in FEATURES))
    return rows


def texts(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def numbers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def message(**features):
    named = {name.replace("_", "/"): value for name, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


def write(path, messages, compression=""):
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression_type=compression)) as file:
        for one in messages:
            file.write(one)


class TensorFlowTest(StokerTest):
    def test_tensorflow_reads_what_we_write(self):
        root = self.dir / "data"
        shutil.copytree(MINI, root)
        rows = by_tensorflow(copy(root, "{type: image_folder, storage: data}", "train.tfrecord"))
        files = sorted(path.relative_to(root) for path in root.rglob("*.jpg"))
        classes = sorted({path.parts[0] for path in files})
        self.assertEqual([name.decode() for *_, name in rows], [str(path) for path in files])
        for image, label, class_name, name in rows:
            self.assertEqual(image, (root / name.decode()).read_bytes())
            self.assertEqual(class_name.decode(), classes[label])
            self.assertEqual(pathlib.Path(name.decode()).parts[0], classes[label])

    def test_we_read_what_tensorflow_writes_as_image_net(self):
        chance = random.Random(1)
        images = [chance.randbytes(chance.choice((0, 1, 100, 70_000))) for _ in range(200)]
        for shard in range(4):
            write(self.dir / f"train-{shard:05}-of-00004",
                  [message(image_height=numbers(480, -1, -(1 << 63)), image_colorspace=texts(b"RGB"),
                           image_object_bbox_xmin=tf.train.Feature(float_list=tf.train.FloatList(value=(0.5, 0.25))),
                           image_object_bbox_label=numbers(), image_class_label=numbers(i + 1),
                           image_class_text=texts(f"class {i}".encode()), image_filename=texts(f"{i}.JPEG".encode()),
                           image_encoded=texts(images[i]))
                   for i in range(shard, len(images), 4)])
        copied = copy(self.dir, "{type: tfrecord, storage: data, train: 'train-*-of-*', label_offset: 1}", "copy.tfrecord")
        rows = sorted(by_tensorflow(copied), key=lambda row: row[1])
        self.assertEqual(rows, [(image, i, str(i + 1).encode(), f"class {i}/{i}.JPEG".encode())
                                for i, image in enumerate(images)])

    def test_messages_that_were_joined_are_read_as_protobuf_reads_them(self):
        # Joined messages are merged: keys come twice, numbers anywhere.
        chance = random.Random(2)
        joined = []
        while len(joined) < 300:
            part = [message(**{name: value for name, value in (
                ("image_encoded", texts(chance.randbytes(3))), ("image_class_label", numbers(chance.randrange(5))),
                ("image_class_text", texts(b"ignored")), ("other", numbers(*range(-3, chance.randrange(200)))))
                if chance.random() < 0.6}) for _ in range(3)]
            feature = tf.train.Example.FromString(b"".join(part)).features.feature
            if {"image/encoded", "image/class/label"} <= feature.keys():
                joined.append((b"".join(part), feature["image/encoded"].bytes_list.value[0],
                               feature["image/class/label"].int64_list.value[0]))
        write(self.dir / "train.tfrecord", [data for data, *_ in joined])
        rows = by_tensorflow(copy(self.dir, "{type: tfrecord, storage: data}", "copy.tfrecord"))
        self.assertEqual([row[:2] for row in rows], [row[1:] for row in joined])

    def test_compressed_files_are_refused(self):
        for compression in ("GZIP", "ZLIB"):
            write(self.dir / "train.tfrecord", [message(image_encoded=texts(b"x"))], compression)
            refusal = copy(self.dir, "{type: tfrecord, storage: data}", "copy.tfrecord", code=1)
            self.assertIn("train.tfrecord is a compressed file", refusal)

    def test_a_model_trains_on_them(self):
        files = sorted(MINI.rglob("*.jpg"))
        classes = sorted({path.parent.name for path in files})
        write(self.dir / "train.tfrecord", [message(image_encoded=texts(path.read_bytes()),
                                                    image_class_label=numbers(classes.index(path.parent.name)))
                                            for path in files])
        self.config.write_text(configuration(
            {"data": posix(self.dir)}, dataset=flow(type="tfrecord", storage="data"), training="{epochs: 1}",
            evaluation="{enabled: false}"))
        summary, _ = self.train()
        self.assertEqual(summary["images"], len(files) // 16 * 16)


if __name__ == "__main__":
    unittest.main()
