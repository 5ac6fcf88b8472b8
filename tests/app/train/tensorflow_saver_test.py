"""TensorFlow reads the sets of `layout: tf_saver`, and we read the checkpoints that TensorFlow writes."""
import json
import os
import struct
import unittest

from checkpointed_run import Experiment, TwelveSteps
from stoker import with_packages

with_packages(tensorflow="tensorflow-cpu==2.21.0")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
SAVER = ("training.max_steps=12", "checkpoint.layout=tf_saver")
TYPES = {"F32": "float32", "I64": "int64", "U8": "uint8", "BOOL": "bool", "BF16": "bfloat16", "DT_STRING": "string"}
DAMAGED, NO_CHECKPOINT = 5, 3


def safetensors(path):
    """{name: (type, shape, bytes)}"""
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    return {name: (TYPES[entry["dtype"]], entry["shape"], data[end:][slice(*entry["data_offsets"])])
            for name, entry in json.loads(data[8:end]).items() if name != "__metadata__"}


def by_tensorflow(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    types = reader.get_variable_to_dtype_map()
    return {name: (types[name].name, shape, reader.get_tensor(name).tobytes())
            for name, shape in reader.get_variable_to_shape_map().items()}


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


class BundleTest(TwelveSteps):
    def bundle(self, command, prefix, code=0):
        return json.loads(self.trial.stoker("checkpoint", command, prefix, "--json", code=code).stdout)


class SavedByUs(BundleTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = safetensors(cls.template.set_path("slow", 12) / "state.safetensors")
        cls.ours = Experiment(cls.template.dir / "saver")
        cls.ours.train(*SAVER)
        cls.prefix = cls.ours.set_path("slow", 12) / "model.ckpt"

    def test_every_tensor_is_what_the_other_layout_has(self):
        self.assertGreater(len(self.expected), 5)
        self.assertEqual(by_tensorflow(self.prefix), self.expected)
        self.assertEqual(tf.train.latest_checkpoint(str(self.ours.sets("slow"))), str(self.prefix))

    def test_a_saver_restores_from_the_meta_graph_and_saves_anew(self):
        again = str(self.here / "again/model.ckpt")
        with v1.Session(graph=tf.Graph()) as session:
            saver = v1.train.import_meta_graph(f"{self.prefix}.meta")
            saver.restore(session, str(self.prefix))
            variables = {variable.op.name: session.run(variable).tobytes() for variable in v1.global_variables()}
            saver.save(session, again)
        self.assertEqual(variables, {name: data for name, (_, _, data) in self.expected.items()})
        self.assertEqual(by_tensorflow(again), self.expected)
        rows = self.bundle("verify", again)
        self.assertEqual({row["tensor"]: TYPES[row["dtype"]] for row in rows},
                         {name: dtype for name, (dtype, _, _) in self.expected.items()})
        self.assertEqual({row["intact"] for row in rows}, {True})

    def test_both_see_a_changed_bit(self):
        copy = self.here / "copy"
        copy.mkdir()
        for file in self.prefix.parent.glob("model.ckpt.*"):
            (copy / file.name).write_bytes(file.read_bytes())
        flip(copy / "model.ckpt.data-00000-of-00001", 100)
        damaged = [row["tensor"] for row in self.bundle("verify", copy / "model.ckpt", DAMAGED) if not row["intact"]]
        self.assertEqual(len(damaged), 1)
        with self.assertRaisesRegex(tf.errors.OpError, "Checksum does not match"):
            tf.train.load_checkpoint(str(copy / "model.ckpt")).get_tensor(damaged[0])

    def test_a_training_goes_on_from_the_prefix(self):
        other = Experiment(self.here / "other")
        process = other.train(f"checkpoint.resume={self.prefix}", "training.max_steps=14")
        self.assertEqual(process.resumed_step, 12)


class SavedByTensorFlow(BundleTest):
    def described(self, prefix):
        """{name: (type, shape)} of what has bytes of its own, as we and as TensorFlow list it."""
        types = tf.train.load_checkpoint(str(prefix)).get_variable_to_dtype_map()
        return ({row["tensor"]: (TYPES[row["dtype"]], row["shape"]) for row in self.bundle("list", prefix)
                 if row["tensor"] != "(slice)"},
                {name: (types[name].name, str(shape)) for name, shape in tf.train.list_variables(str(prefix))})

    def checkpoint(self):
        class Module(tf.Module):
            def __init__(self):
                self.weight = tf.Variable(tf.random.normal([300, 7]))
                self.words = tf.Variable(["", "a", "many words" * 30])
                self.scalar = tf.Variable(3, dtype=tf.int64)
                self.flags = tf.Variable([True, False])
                self.half = tf.Variable(tf.ones([2, 0, 3], tf.bfloat16))
        return tf.train.Checkpoint(module=Module()).save(str(self.here / "objects/ckpt"))

    def test_a_checkpoint_of_objects(self):
        prefix = self.checkpoint()
        ours, theirs = self.described(prefix)
        self.assertEqual(ours, theirs)
        self.assertEqual(len(ours), 7)
        self.assertEqual({row["intact"] for row in self.bundle("verify", f"{prefix}.index")}, {True})
        text = self.trial.stoker("checkpoint", "list", prefix).stdout
        self.assertRegex(text, r"module/weight\S* +F32 +\[300, 7\] +8400 +ckpt-1.data-00000-of-00001")

    def test_a_changed_text_is_damage(self):
        prefix = self.checkpoint()
        data = self.here / "objects/ckpt-1.data-00000-of-00001"
        flip(data, data.read_bytes().index(b"many words") + 50)
        done = self.trial.stoker("checkpoint", "verify", prefix, code=DAMAGED)
        self.assertRegex(done.stdout + done.stderr, r"ckpt-1.data-00000-of-00001: tensor module/words\S*: damaged")

    def test_a_partitioned_variable_of_many_files(self):
        (self.here / "sharded").mkdir()
        prefix = str(self.here / "sharded/model.ckpt")
        with v1.Session(graph=tf.Graph(), config=v1.ConfigProto(device_count={"CPU": 2})) as session:
            with tf.device("/cpu:0"):
                v1.get_variable("parts", [400, 30], partitioner=v1.fixed_size_partitioner(3))
            with tf.device("/cpu:1"):
                v1.get_variable("whole", [5], use_resource=False)
            session.run(v1.global_variables_initializer())
            v1.train.Saver(sharded=True).save(session, prefix)
        ours, theirs = self.described(prefix)
        self.assertEqual(ours, theirs)
        rows = self.bundle("verify", prefix)
        self.assertEqual(sum(row["tensor"] == "(slice)" for row in rows), 3)
        self.assertGreater(len({row["file"] for row in rows}), 2)
        self.assertEqual({row["intact"] for row in rows if row["file"] != "in slices"}, {True})

    def test_no_training_goes_on_from_it(self):
        prefix = self.checkpoint()
        process = self.trial.train(f"checkpoint.resume={prefix}", code=NO_CHECKPOINT)
        self.assertIn(f"`stoker checkpoint list {prefix}` shows them", process.log)


if __name__ == "__main__":
    unittest.main()
