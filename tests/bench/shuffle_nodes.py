#!/usr/bin/env python3
"""HEPCNNB's local and global shuffle with the kernel's own page cache: every rank is a node, with a copy of the files
that only it sees (a bind mount of its own), a cgroup that limits its memory to what it needs and a little more than its
share of the files, and reads of the disk throttled to what a node of the study had. Prints the share of reading by both
published methods and the blocking share, beside what was published, for docs/results.md.

tests/run bench/shuffle_nodes [--ranks 1,2,4,8] [--rounds 3] [--files 16] [--epochs 5] [--images-per-s 768] [--folder DIR]

As root, with the cgroup controllers memory and blkio (version 1) or memory and io (version 2).
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from stoker import STOKER, flow, free_port, stoker

SIDE, PER_FILE = 56, 709  # a sixteenth of the study's images, as many in a file
FILE_BYTES = PER_FILE * 3 * SIDE * SIDE * 4
MB_PER_S = 149  # of a node, of 64 (configs/paper/simulate/hepcnnb-local.yaml)
HEADROOM = 1.25
PUBLISHED = {"local": "3.60, 3.08, 3.17, 2.91, 1.44", "global": "8.01, 7.72, 6.83, 6.16, 1.49"}
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class Node:
    """A rank's machine."""

    def __init__(self, name, files, seen_as, limit=None):
        self.files, self.seen_as = files, seen_as
        number = os.stat(files).st_dev
        device = f"{os.major(number)}:{os.minor(number)}"
        self.old = (CGROUPS / "memory").is_dir()
        self.groups = [CGROUPS / kind / name for kind in (("memory", "blkio") if self.old else ("",))]
        for group in self.groups:
            group.mkdir()
        (self.groups[-1] / ("blkio.throttle.read_bps_device" if self.old else "io.max")).write_text(
            f"{device} {MB_PER_S * 10**6}" if self.old else f"{device} rbps={MB_PER_S * 10**6}")
        if limit:
            (self.groups[0] / ("memory.limit_in_bytes" if self.old else "memory.max")).write_text(str(limit))

    def start(self, words, **options):
        enter = "".join(f"echo $$ > {group}/cgroup.procs && " for group in self.groups)
        inside = f"{enter}mount --bind {self.files} {self.seen_as} && exec \"$@\""
        return subprocess.Popen(["unshare", "--mount", "sh", "-c", inside, "sh", *map(str, words)], **options)

    def anonymous_bytes(self):
        names = ("rss", "shmem") if self.old else ("anon", "shmem", "kernel")
        figures = dict(line.split() for line in (self.groups[0] / "memory.stat").read_text().splitlines())
        return sum(int(figures.get(name, 0)) for name in names)

    def remove(self):
        for group in self.groups:
            group.rmdir()


def forget(folder):
    """Its files leave the page cache."""
    for path in folder.glob("*.h5"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Bench:
    def __init__(self, directory, options):
        self.directory, self.options = directory, options
        self.data = directory / "data"
        self.copies = [directory / f"node-{i}" for i in range(max(options.ranks))]
        self.data.mkdir()
        stoker("dataset", "synth", self.copies[0], "--kind=hep", f"--size={SIDE}", f"--samples={options.files}",
               "--test-files=1", cwd=directory, timeout=None)
        for copy in self.copies[1:]:
            shutil.copytree(self.copies[0], copy)
        os.sync()
        self.config = directory / "hepcnnb.yaml"
        device = flow(type="emulated", images_per_s=options.images_per_s, allreduce_gb_per_s=8, queue_depth=0)
        self.config.write_text(
            f"run: {{name: nodes, seed: 54321}}\ndevice: {device}\n"
            f"storage: {{data: {{type: posix, root: {self.data}}}}}\n"
            "dataset: {type: hdf5, storage: data, images: data, labels: label, keys: '', samples: rows, access: whole, keep_shards: 1}\n"
            f"decoder: {{type: planes, height: {SIDE}, width: {SIDE}}}\n"
            "loader: {type: sync}\nmodel: {type: linear}\nloss: {type: cross_entropy}\nevaluation: {enabled: false}\n"
            f"training: {{epochs: {options.epochs}, threads: 1}}\ndistributed: {{}}\n"
            "metrics: {every_steps: 1000, sinks: [{type: timelogger, reads: files}]}\n")

    def run(self, ranks, shuffle, anonymous=None, *overrides):
        """What `stoker timelogger` says, and the most anonymous memory that a rank had. anonymous: with it, memory is limited."""
        share = -(-self.options.files // ranks) * FILE_BYTES
        limit = int(anonymous + HEADROOM * share) if anonymous else None
        nodes = [Node(f"stoker-node-{os.getpid()}-{i}", self.copies[i], self.data, limit) for i in range(ranks)]
        name = f"{shuffle}-{ranks}-{len(list(self.directory.glob('runs/*')))}"
        port = free_port()
        words = [STOKER, "train", self.config, f"loader.order={shuffle}_files", f"loader.batch_size={128 * ranks}",
                 f"run.name={name}", *overrides, "--json"]
        for copy in self.copies:
            forget(copy)
        log, started = (self.directory / "log").open("w+"), []
        try:
            for i, node in enumerate(nodes):
                of_rank = {"RANK": str(i), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(i), "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": str(port)}
                started.append(node.start(words, cwd=self.directory, env={**os.environ, **of_rank}, stderr=log,
                                          stdout=subprocess.PIPE if i == 0 else subprocess.DEVNULL))
            most = 0
            while any(process.poll() is None for process in started):
                most = max([most, *(node.anonymous_bytes() for node in nodes)])
                time.sleep(0.25)
            if any(process.returncode for process in started):
                log.seek(0)
                sys.exit(f"{name}: exit codes {[process.returncode for process in started]}\n{log.read()}")
            run = self.directory / json.loads(started[0].stdout.read())["run_directory"]
        finally:
            for process in started:
                process.kill()
                process.wait()
            for node in nodes:
                node.remove()
            log.close()
        return json.loads(stoker("timelogger", run, f"--nodes={ranks}", "--json", cwd=self.directory, timeout=None).stdout), most


def figures(log):
    waited = sum(of["waited_s"] for of in log["overlap"])
    iterations = sum(of["iterations_s"] for of in log["overlap"])
    return {"nested": log["hepcnnb"]["read_share"], "merged": log["cdb"]["index"], "blocking": waited / iterations,
            "read_s": log["hepcnnb"]["read_s"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images-per-s", type=int, default=768)
    parser.add_argument("--folder", help="of the files; default: the one for temporary files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-nodes-", dir=options.folder) as name:
        bench = Bench(pathlib.Path(name), options)
        print(f"{options.files} files of {FILE_BYTES / 1e6:.1f} MB, {options.epochs} epochs, {MB_PER_S} MB/s and a page cache of "
              f"{HEADROOM} shares for each node; percent: median (least to most) of {options.rounds} rounds\n")
        print("| nodes | shuffle | nested sums | merged intervals | blocking share | reading of a node, s |\n|---|---|---|---|---|---|", flush=True)
        for ranks in options.ranks:
            anonymous = bench.run(ranks, "local", None, "training.max_steps=12")[1]
            rows = {"local": [], "global": []}
            for _ in range(options.rounds):
                for shuffle, seen in rows.items():
                    seen.append(figures(bench.run(ranks, shuffle, anonymous)[0]))
            for shuffle, seen in rows.items():
                def cell(key, unit):
                    values = [unit * row[key] for row in seen]
                    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
                print(f"| {ranks} | {shuffle} | {cell('nested', 100)} | {cell('merged', 100)} | {cell('blocking', 100)} | {cell('read_s', 1)} |", flush=True)
        for shuffle, shares in PUBLISHED.items():
            print(f"Published, {shuffle}, nested sums, on 64, 128, 256, 512, 1,024 nodes: {shares} %.")


if __name__ == "__main__":
    main()
