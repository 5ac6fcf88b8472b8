#!/usr/bin/env python3
"""What `stoker run` counts of readers of data sets, beside strace, file by file: those of PyPI that are installed in the
Python that is named, and the programs of tests/app/tools/run_program/counters_test.py.

run_counters.py [--python PYTHON] [NAME...]
"""
import argparse
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/support"), str(SOURCE / "tests/app/tools/run_program")]
import counters_test  # noqa: E402

SHARDS = """
import io, tarfile
def write(path):
    with tarfile.open(path, "w") as shard:
        for at in range(20):
            entry = tarfile.TarInfo(f"{at:03}.txt")
            entry.size = 100 * at
            shard.addfile(entry, io.BytesIO(bytes(entry.size)))
"""
OTHERS = {
    "webdataset": (SHARDS + """
write(f"{folder}/shard.tar")
import webdataset
assert sum(1 for _ in webdataset.WebDataset(f"{folder}/shard.tar", shardshuffle=False)) == 20""", "webdataset"),
    "safetensors": ("""
import numpy, safetensors.numpy
safetensors.numpy.save_file({"x": numpy.arange(1000)}, f"{folder}/m.safetensors")
assert safetensors.numpy.load_file(f"{folder}/m.safetensors")["x"][7] == 7""", "safetensors"),
    "lmdb": ("""
import lmdb
base = lmdb.open(f"{folder}/base", map_size=1 << 20)
with base.begin(write=True) as change:
    for i in range(100): change.put(str(i).encode(), bytes(100))
base.close()""", "lmdb"),
    "pyarrow": ("""
import pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"x": list(range(1000))}), f"{folder}/t.parquet")
assert pyarrow.parquet.read_table(f"{folder}/t.parquet", memory_map=False).num_rows == 1000""", "pyarrow"),
    "tensorflow": ("""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow
with tensorflow.io.TFRecordWriter(f"{folder}/r.tfrecord") as out:
    for i in range(50): out.write(bytes(i))
assert sum(1 for _ in tensorflow.data.TFRecordDataset(f"{folder}/r.tfrecord")) == 50""", "tensorflow"),
    "grain": ("""
import grain.python as grain
class Files:
    def __len__(self): return 10
    def __getitem__(self, at): return len(open(f"{folder}/a", "rb").read(100 + at))
loader = grain.DataLoader(data_source=Files(), worker_count=0, sampler=grain.SequentialSampler(10, grain.NoSharding()))
assert sum(loader) == 1045""", "grain"),
    "dali": ("""
from nvidia.dali import pipeline_def, fn
import os
os.makedirs(f"{folder}/files")
for i in range(4): open(f"{folder}/files/{i}", "wb").write(bytes(1000 + i))
@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def pipe(): return fn.readers.file(file_root=folder, files=[f"{folder}/files/{i}" for i in range(4)])[0]
made = pipe(); made.build(); made.run()""", "nvidia.dali"),
    "h5py": counters_test.PROGRAMS["h5py"],
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("names", nargs="*")
    asked = arguments.parse_args()
    counters_test.python_here = lambda: asked.python
    counters_test.PROGRAMS.update(OTHERS)
    for name, (_, module) in counters_test.PROGRAMS.items():
        if asked.names and name not in asked.names:
            continue
        if module and not counters_test.has(module.split(".")[0]):
            print(f"{name:16} not installed", flush=True)
            continue
        test = counters_test.CountersTest()
        with tempfile.TemporaryDirectory() as folder:
            test.dir = pathlib.Path(folder)
            try:
                test.compare(name)
                print(f"{name:16} equal", flush=True)
            except unittest.SkipTest as skip:
                print(f"{name:16} {skip}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{name:16} differs: {error}", flush=True)


main()
