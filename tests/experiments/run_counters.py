"""What `stoker run` counts of readers of data sets, beside strace, or (--darshan) beside Darshan itself, file by file.

The readers are those of PyPI that --python has, and the programs of tests/app/tools/run_program/counters_test.py.
--darshan names libdarshan.so, built without MPI and with `--with-log-path-by-env=DARSHAN_LOGPATH`; every whole-number
counter of POSIX and STDIO is compared, but what the clock decides, a number made of a folder's name (RENAMED_FROM), and
what a preloaded Darshan does not see (MMAPS; STATS since glibc 2.33). Of a file that several processes have used, only
sums of calls are compared. For docs/promises.md and docs/results.md.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from frame import TESTS

sys.path.append(str(TESTS / "app/tools/run_program"))
import counters_test  # noqa: E402

ROUNDS = 1
OPTIONS = {"python": sys.executable, "darshan": (None, "the library")}
# name: (its program, the module that it needs)
OTHERS = {
    "webdataset": ("""
import io, tarfile, webdataset
with tarfile.open(f"{folder}/shard.tar", "w") as shard:
    for at in range(20):
        entry = tarfile.TarInfo(f"{at:03}.txt")
        entry.size = 100 * at
        shard.addfile(entry, io.BytesIO(bytes(entry.size)))
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
made = pipe(); made.build(); made.run()""", "nvidia.dali")}
# Sums of calls. The others are of one process's view of a file, and no sum.
SUMS = re.compile(r"\w+_(OPENS|FILENOS|DUPS|FDOPENS|READS|WRITES|SEEKS|FLUSHES|FSYNCS|FDSYNCS|BYTES_\w+|SIZE_\w+)$")
LEFT_OUT = re.compile(r"\w+_(MMAPS|STATS|MAX_(READ|WRITE)_TIME_SIZE|RENAMED_FROM)$")


def records_of(test, logs, data):
    """{file: the counters of each log that has it}"""
    files = collections.defaultdict(list)
    for log in test.json("darshan", *logs, "--records")["logs"]:
        for record in log["records"]:
            if record["path"].startswith(f"{data}/") and not os.path.isdir(record["path"]):
                files[record["path"][len(f"{data}/"):]].append({
                    key: value for module in ("POSIX", "STDIO") for key, value in record.get(module, {}).items()
                    if isinstance(value, int) and not LEFT_OUT.match(key)})
    return files


def beside_darshan(test, name, library):
    """(files, equal counters, those that differ)"""
    (test.dir / "logs").mkdir()
    (test.dir / "darshan.conf").write_text("MAX_RECORDS 50000 POSIX,STDIO\nMODMEM 256\nNAMEMEM 64\n")
    data, log = test.folder("darshan"), test.dir / "run.darshan"
    subprocess.run(test.words(name, data), check=True, capture_output=True, timeout=300, env=os.environ | {
        "LD_PRELOAD": library, "DARSHAN_ENABLE_NONMPI": "1", "DARSHAN_LOGPATH": str(test.dir / "logs"),
        "DARSHAN_CONFIG_PATH": str(test.dir / "darshan.conf")})
    theirs = records_of(test, sorted((test.dir / "logs").glob("*.darshan")), data)
    data = test.folder("run")
    test.stoker("run", "--log", log, "--", *test.words(name, data), timeout=300)
    ours = records_of(test, [log], data)
    equal, different = 0, [f"{path}: seen by one alone" for path in set(ours) ^ set(theirs) if "tmp" not in path]
    for path in sorted(set(ours) & set(theirs)):
        several = max(len(ours[path]), len(theirs[path])) > 1
        for key in sorted(set(ours[path][0]) | {key for one in theirs[path] for key in one}):
            if not several or SUMS.match(key):
                mine, other = (sum(one.get(key, 0) for one in side[path]) for side in (ours, theirs))
                equal += mine == other
                different += [f"{path}: {key} {mine}, Darshan {other}"] * (mine != other)
    return len(set(ours) & set(theirs)), equal, different


def compare(lab, name, module):
    if module and not counters_test.has(module.split(".")[0]):
        return "not installed"
    test = counters_test.CountersTest()
    with tempfile.TemporaryDirectory(dir=lab.folder) as folder:
        test.dir = pathlib.Path(folder)
        try:
            if not lab.given.darshan:
                test.compare(name)
                return "equal"
            files, equal, different = beside_darshan(test, name, os.path.abspath(lab.given.darshan))
            return "\n   ".join([f"{files} files, {equal} counters equal, {len(different)} not", *different])
        except unittest.SkipTest as skip:
            return f"skipped: {skip}"
        except Exception as error:  # pylint: disable=broad-except
            lab.left_out(name, f"differs: {error}")
            return "differs"


def run(lab):
    counters_test.python_here = lambda: lab.given.python
    for name, (_, module) in (counters_test.PROGRAMS | OTHERS).items():
        counters_test.PROGRAMS.setdefault(name, OTHERS.get(name))
        if lab.chosen([name]):
            lab.say(f"{name:16} {compare(lab, name, module)}")
