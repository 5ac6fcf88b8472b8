"""HEPCNNB's local and global shuffle with the kernel's own page cache, where every rank is a node of its own.

A node has a copy of the files that only it sees (a bind mount), a cgroup that limits its memory to what it needs and a
little more than its share of the files, and reads of the disk throttled to what a node of the study had. Printed are
the share of reading by both published methods and the blocking share, in percent. As root. For docs/results.md.
"""
import json
import os
import shutil
import subprocess
import time

from frame import CannotMeasure, evict
from machine import Group
from stoker import STOKER, flow, free_port, posix

OPTIONS = {"ranks": [1, 2, 4, 8], "files": 16, "epochs": 5, "images_per_s": 768}
SIDE, PER_FILE = 56, 709  # a sixteenth of the study's images, as many in a file
FILE_BYTES = PER_FILE * 3 * SIDE * SIDE * 4
MB_PER_S, HEADROOM = 149, 1.25  # of a node (configs/paper/simulate/hepcnnb-local.yaml); of its share of the files


def make(lab):
    (lab.folder / "data").mkdir()
    lab.stoker("dataset", "synth", "node-0", "--kind=hep", f"--size={SIDE}", f"--samples={lab.given.files}",
               "--test-files=1")
    for number in range(1, max(lab.given.ranks)):
        shutil.copytree(lab.folder / "node-0", lab.folder / f"node-{number}")
    device = flow(type="emulated", images_per_s=lab.given.images_per_s, allreduce_gb_per_s=8, queue_depth=0)
    (lab.folder / "hepcnnb.yaml").write_text(
        f"run: {{name: nodes, seed: 54321}}\ndevice: {device}\nstorage: {{data: {posix(lab.folder / 'data')}}}\n"
        "dataset: {type: hdf5, storage: data, images: data, labels: label, keys: '', samples: rows, access: whole, "
        "keep_shards: 1}\n"
        f"decoder: {{type: planes, height: {SIDE}, width: {SIDE}}}\n"
        "loader: {type: sync}\nmodel: {type: linear}\nloss: {type: cross_entropy}\nevaluation: {enabled: false}\n"
        f"training: {{epochs: {lab.given.epochs}, threads: 1}}\ndistributed: {{}}\n"
        "metrics: {every_steps: 1000, sinks: [{type: timelogger, reads: files}]}\n")


def train(lab, ranks, shuffle, anonymous=None, *overrides):
    """(run directory, the most anonymous memory that a rank had). anonymous: with it, memory is limited."""
    limit = int(anonymous + HEADROOM * -(-lab.given.files // ranks) * FILE_BYTES) if anonymous else None
    number, port = len(list(lab.folder.glob("runs/*"))), free_port()
    words = [STOKER, "train", "hepcnnb.yaml", f"loader.order={shuffle}_files", f"loader.batch_size={128 * ranks}",
             f"run.name={shuffle}-{ranks}-{number}", *overrides, "--json"]
    nodes, started, most = [], [], 0
    evict(*lab.folder.glob("node-*/*.h5"))
    with (lab.folder / "log").open("w+") as log:
        try:
            for i in range(ranks):
                files = lab.folder / f"node-{i}"
                nodes.append(Group(f"node-{i}", os.stat(files).st_dev, limit, rbps=MB_PER_S * 1e6))
                inside = ["unshare", "--mount", "sh", "-c", f'mount --bind {files} {lab.folder / "data"} && exec "$@"',
                          "sh"]
                rank = {"RANK": str(i), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(i), "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": str(port)}
                started.append(subprocess.Popen([*nodes[-1].words(), *inside, *words], cwd=lab.folder,
                                                env={**os.environ, **rank},
                                                stderr=log, stdout=subprocess.DEVNULL if i else subprocess.PIPE))
            while any(process.poll() is None for process in started):
                most = max([most, *(node.anonymous_bytes() for node in nodes)])
                time.sleep(0.25)
            if any(process.returncode for process in started):
                log.seek(0)
                raise CannotMeasure(f"exit codes {[process.returncode for process in started]}: {log.read()[-500:]}")
            return json.loads(started[0].stdout.read())["run_directory"], most
        finally:
            for process in started:
                process.kill()
                process.wait()
            for node in nodes:
                node.remove()


def shares(lab, *how):
    log = lab.json("timelogger", train(lab, *how)[0], f"--nodes={how[0]}")
    waited, iterations = (sum(of[key] for of in log["overlap"]) for key in ("waited_s", "iterations_s"))
    return {"nested sums, %": 100 * log["hepcnnb"]["read_share"], "merged intervals, %": 100 * log["cdb"]["index"],
            "blocking, %": 100 * waited / iterations, "reading of a node, s": log["hepcnnb"]["read_s"]}


def run(lab):
    make(lab)
    for ranks in lab.given.ranks:
        anonymous = train(lab, ranks, "local", None, "training.max_steps=12")[1]
        lab.measure(f"{ranks} nodes", {shuffle: lambda shuffle=shuffle: shares(lab, ranks, shuffle, anonymous)
                                       for shuffle in ("local", "global")}, wide=True)
