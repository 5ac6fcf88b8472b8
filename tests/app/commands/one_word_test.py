"""Each one word of a YAML file: one step of training of configs/quickstart.yaml by two types, with STOKER_LONG=1 by each type
of each kind. The model is a linear one, but for the words about models: a step and the start of AlexNet take 1.5 s of a core.

WORDS lists the swaps that need more than the one word, and the words that the message of the refused run asks for.
tests/app/experiment/one_word_test.cpp checks the swaps on every configuration that ships.
"""
import concurrent.futures
import unittest

from stoker import LONG, SOURCE, StokerTest

QUICKSTART = SOURCE / "configs/quickstart.yaml"
SECTIONS = {"storage": "storage.data", "metric": "evaluation.metric", "sink": "metrics.sinks.0"}
# One sink, for two of a type would write one file.
STEP = ["model.type=linear", "loader.batch_size=8", "training.max_steps=1", "evaluation.enabled=false",
        "metrics.sinks=[{type: prometheus, port: auto}]"]
CONVERTED = "storage.data.root={}/"  # and the format
WORDS = {
    # The data have to be there in the format.
    "dataset.type=file_list": [CONVERTED + "file_list"],
    "dataset.type=tar_shards": [CONVERTED + "tar_shards"],
    "dataset.type=tfrecord": [CONVERTED + "tfrecord"],
    "dataset.type=hdf5": [CONVERTED + "hdf5"],
    "dataset.type=lmdb": [CONVERTED + "lmdb"],
    "dataset.type=packed": [CONVERTED + "packed", "decoder={{type: raw, height: 112, width: 112, size: 112}}"],
    "loader.type=lmdbio": ["dataset.type=lmdb", CONVERTED + "lmdb"],
    "decoder.type=raw": ["dataset.type=decoded"],
    "loader.type=device_resident": ["decoder.augment={{}}"],
    "schedule.type=step": ["schedule.every_epochs=30"],
}
# One that needs nothing else, and one that does.
FEW = ("loader.type=threaded", "dataset.type=tfrecord")
# A step of these needs what a test of its own has: a GPU, a server, objects in memory, pixels with a class each, planes,
# or arrays.
ELSEWHERE = {"device.type=cuda", "storage.data.type=http", "storage.data.type=s3", "storage.data.type=memory",
             "model.type=tiramisu", "loss.type=pixel_cross_entropy", "evaluation.metric.type=iou", "decoder.type=planes",
             "decoder.type=discard", "dataset.type=decoded", "dataset.type=indexed_binary", "dataset.type=parquet", "decoder.type=numpy"}


class OneWord(StokerTest):
    def train(self, swap, *words, code=0):
        runs = self.dir / swap.replace("=", "-").replace(".", "-") / str(len(words))
        return self.stoker("train", QUICKSTART, "--quiet", f"run.dir={runs}", *STEP, swap, *words, code=code, cwd=SOURCE)

    def try_swap(self, swap):
        if swap not in WORDS:
            self.train(swap)
            return
        words = [word.format(self.dir) for word in WORDS[swap]]
        refused = self.train(swap, code=None)
        self.assertIn(refused.returncode, (2, 3, 4), swap)
        self.assertRegex(refused.stderr.splitlines()[-1], r"\Aerror: ", swap)
        asked = words[0].split("=")[0] + "="
        self.assertIn(asked, refused.stderr.splitlines()[-1], swap)
        self.train(swap, *words)

    def test_every_type_trains_a_step(self):
        listed = self.json("list")
        listed.pop("plugins")
        swaps = [f"{SECTIONS.get(kind, kind)}.type={name}" for kind, types in listed.items() for name in types]
        self.assertEqual(ELSEWHERE - set(swaps), set())
        self.assertEqual(set(WORDS) - set(swaps), set())
        if not LONG:
            swaps = FEW
        for word in {word for swap in swaps for word in WORDS.get(swap, ()) if word.startswith(CONVERTED)}:
            form = word.removeprefix(CONVERTED)
            self.stoker("dataset", "convert", QUICKSTART, self.dir / form, "--format", form, cwd=SOURCE)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for swap, tried in [(swap, pool.submit(self.try_swap, swap)) for swap in swaps if swap not in ELSEWHERE]:
                with self.subTest(swap):
                    tried.result()


if __name__ == "__main__":
    unittest.main()
