"""LMDB's readers under many ranks, cold, on the disk, on a throttled loop device, and on mounted emulated tiers.

With records of 3 KB and of 192 KB: makes the databases, then runs `stoker bench lmdb` on each and prints its tables. As
root. Debian: fuse3, mount, e2fsprogs. For docs/results.md and configs/paper/README.md.
"""
import contextlib
import os

from frame import FAILURES
from machine import group, loop_disk, mounted_tier, output
from stoker import flow, posix

ROUNDS = 1
OPTIONS = {"ranks": "1,4", "full": (False, "larger databases, 1 to 8 ranks"), "kinds": ["small", "large"],
           "readers": "lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed", "where": ["disk", "loop", "hdd", "lustre"]}
WORDS = "settings of all runs: a.b=c"
KINDS = {"small": (32, 512, 4000), "large": (256, 64, 400)}  # side of the images, batch size, images/s of the device
LOOP_MB_PER_S, LOOP_IOPS = 160, 2000


def config(path, root, kind):
    side, batch, rate = KINDS[kind]
    path.write_text(
        f"run: {{name: lmdb}}\ndevice: {{type: emulated, images_per_s: {rate}}}\nstorage: {{data: {posix(root)}}}\n"
        f"dataset: {{type: lmdb, storage: data, train: '{kind}/*train*/data.mdb', test: '{kind}/*test*/data.mdb', "
        f"classes: {kind}/classes.txt}}\ndecoder: {{type: raw, height: {side}, width: {side}, size: {side}}}\n"
        f"loader: {{type: lmdbio, batch_size: {batch}, workers: 1, node_size: 2}}\nmodel: {{type: linear}}\n"
        "training: {threads: 1}\nevaluation: {enabled: false}\ndistributed: {}\nmetrics: {every_steps: 1000}\n")
    return path


@contextlib.contextmanager
def place(lab, where):
    """(folder of the databases there, what it is, the words that start a command there)"""
    data, at = lab.folder / "data", lab.folder / where
    if where == "disk":
        yield data, "the plain disk", []
    elif where == "loop":
        size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
        with loop_disk(lab.folder / "image", at, 1.2 * size + (128 << 20), "--direct-io=on") as device:
            output("cp", "-r", *data.iterdir(), at)
            os.sync()
            with group("lmdb", os.stat(device).st_rdev, rbps=LOOP_MB_PER_S * 1e6, riops=LOOP_IOPS) as limited:
                what = f"ext4 on {device}, throttled to {LOOP_MB_PER_S} MB/s, {LOOP_IOPS} requests/s"
                yield at, what, limited.words()
    else:
        with mounted_tier(at, flow(type="emulated", profile=where, inner=posix(data))):
            yield at, f"EMULATED {where}, mounted by stoker mount (mode cached)", []


def run(lab):
    given = lab.given
    ranks, steps = ("1,2,4,8", 32) if given.full else (given.ranks, 8)
    for kind in given.kinds:
        side, batch, _ = KINDS[kind]
        lab.stoker("dataset", "synth", f"data/{kind}", "--kind=datum", f"--size={side}", f"--samples={batch * steps}",
                   "--classes=10")
        # The index is made here, for a mounted tier is read-only.
        lab.stoker("dataset", "inspect", config(lab.folder / "index.yaml", lab.folder / "data", kind), "--samples=1",
                   "loader={type: sync}")
    for where in given.where:
        try:
            with place(lab, where) as (root, what, before):
                for kind in given.kinds:
                    path = config(lab.folder / f"{where}-{kind}.yaml", root, kind)
                    lab.say(f"\n## {kind} records, {what}\n\n" + lab.stoker(
                        "bench", "lmdb", path, f"--ranks={ranks}", f"--readers={given.readers}",
                        f"--rounds={given.rounds}", f"--steps={steps}", *given.words, before=before).stdout)
        except FAILURES as error:
            lab.left_out(where, error)
