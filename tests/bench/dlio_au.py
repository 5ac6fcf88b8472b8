#!/usr/bin/env python3
"""AU of DLIO's own run (dlio-benchmark 2.0.0 of PyPI, with PyTorch) beside that of the same workload file in Stoker, on the same
files on an emulated tier, which `stoker mount` serves to both. DLIO and Stoker run in turn, round after round, and all reads are cold.

tests/run bench/dlio_au [--rounds 2] [--epochs 2] [--cases unet3d cosmoflow resnet50] [--packages DIR] [--data DIR]

The workloads are MLPerf Storage's, reduced: fewer and smaller files, all as npz by PyTorch, for DLIO's TFRecord reader needs TensorFlow.
Each is run on a tier that is fast enough, on one that just is, and on one that is not. --packages: where dlio-benchmark and what it needs
are; without it, pip installs them. PyTorch and NumPy are Debian's. As root, for the mount. Prints AU in points (percent), and at the
end the largest difference. All programs run at a high priority, so that other work of the machine disturbs little.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

from stoker import Process, emulated, stoker

PACKAGES = ("dlio-benchmark==2.0.0", "pydftracer==1.0.2", "hydra-core", "omegaconf", "antlr4-python3-runtime==4.9.3", "h5py==3.11.0", "mpi4py",
            "psutil", "pandas==2.0.3", "pillow", "python-dateutil", "pytz", "tzdata", "six", "packaging")
# files, bytes of a record, their deviation, batch, read threads, seconds of a step: MLPerf's (H100, H100, A100), but for the number of files,
# unet3d's bytes, cosmoflow's step (0.0035) and resnet50's batch (400)
CASES = {"unet3d": (112, 8_000_000, 3_700_000, 7, 4, 0.323),
         "cosmoflow": (40, 2_828_486, 71_311, 1, 4, 0.3),
         "resnet50": (960, 114_660, 0, 40, 8, 0.435)}
# The tier's bandwidth over what the steps take.
TIERS = {"fast": 3.0, "just": 1.1, "slow": 0.6}
WORKLOAD = """
model: {name}
framework: pytorch
workflow: {{generate_data: False, train: True, checkpoint: False}}
dataset: {{data_folder: {folder}, format: npz, num_files_train: {files}, num_samples_per_file: 1, record_length: {bytes},
          record_length_stdev: {stdev}, record_length_resize: 65536}}
reader: {{data_loader: pytorch, batch_size: {batch}, read_threads: {threads}, file_shuffle: seed, sample_shuffle: seed}}
train: {{epochs: {epochs}, computation_time: {step}}}
metric: {{au: 0.9}}
"""


def listed(epochs):
    return ", ".join(f"{au:.1f}" for au in epochs)


def packages(given, directory):
    """A path of Python's with DLIO, and a module for the TensorFlow that it imports and does not use."""
    place = given
    if not place:
        place = directory / "packages"
        subprocess.run(["python3", "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, *PACKAGES], check=True)
    (directory / "stand_in/tensorflow").mkdir(parents=True)
    (directory / "stand_in/tensorflow/__init__.py").touch()
    return f"{directory / 'stand_in'}:{place}"


class Case:
    def __init__(self, name, arguments, directory):
        self.name, self.arguments = name, arguments
        self.files, self.bytes, self.stdev, self.batch, self.threads, self.step = CASES[name]
        self.directory = directory / name
        self.data = pathlib.Path(arguments.data or self.directory) / f"{name}-data"
        self.directory.mkdir()
        self.workload("/nowhere")
        said = stoker("import-dlio", self.file, "--generate", self.data, "--to", self.directory / "unused.yaml", cwd=self.directory).stderr
        print(name + ":", next(line for line in said.splitlines() if line.startswith("generated")), flush=True)

    @property
    def file(self):
        return self.directory / f"workload/{self.name}.yaml"

    def workload(self, folder):
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(WORKLOAD.format(name=self.name, folder=folder, files=self.files, bytes=self.bytes, stdev=self.stdev, batch=self.batch,
                                             threads=self.threads, epochs=self.arguments.epochs, step=self.step))

    def dlio(self, path):
        """AU of each epoch."""
        out = self.directory / "dlio"
        env = {**os.environ, "PYTHONPATH": path, "DFTRACER_ENABLE": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        code = "import sys; from dlio_benchmark.main import main; main()"
        done = subprocess.run(["/usr/bin/python3", "-c", code, f"workload={self.name}", f"hydra.run.dir={out}", f"--config-dir={self.directory}"],
                              cwd=self.directory, env=env, capture_output=True, text=True, check=False, timeout=900)
        if done.returncode != 0:
            sys.exit(f"DLIO failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return json.loads((out / "summary.json").read_text())["metric"]["train_au_percentage"]

    def ours(self):
        """AU of each epoch, and what the run says beside it."""
        stoker("import-dlio", self.file, "--to", self.directory / f"{self.name}-x.yaml", cwd=self.directory)
        summary = json.loads(stoker("train", f"{self.name}-x.yaml", "--json", cwd=self.directory, timeout=900).stdout)
        result = json.loads(stoker("import-dlio", self.file, "--run", summary["run_directory"], "--json", cwd=self.directory).stdout)
        (self.directory / f"{self.name}-x.yaml").unlink()
        return [100 * au for au in result["au"]], result

    def on(self, tier, path):
        """A row: AU of both on a tier."""
        rate = TIERS[tier] * self.batch * self.bytes / self.step / 1e6
        config, at = self.directory / f"{tier}.yaml", self.directory / f"at-{tier}"
        at.mkdir()
        config.write_text(f"storage: {{tier: {emulated(self.data, read_mb_per_s=rate, read_latency_ms=0.2, metadata_latency_ms=0)}}}\n")
        mount = Process(["mount", config, "tier", at, "--mode", "drop", "--read-ahead", "1MiB"], self.directory)
        if not mount.wait_for("mounted tier"):
            sys.exit(mount.log)
        try:
            self.workload(at)
            theirs, own, said = [], [], {}
            for _ in range(self.arguments.rounds):
                theirs += self.dlio(path)
                au, said = self.ours()
                own += au
        finally:
            mount.send(signal.SIGTERM)
            mount.wait()
        difference = statistics.mean(own) - statistics.mean(theirs)
        print(f"{self.name:10} {tier:5} {rate:7.0f} MB/s   DLIO {statistics.mean(theirs):6.2f} ({listed(theirs)})   "
              f"Stoker {statistics.mean(own):6.2f} ({listed(own)})   difference {difference:+.2f}   {said['cause']}", flush=True)
        return difference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--tiers", nargs="+", default=list(TIERS), choices=list(TIERS))
    parser.add_argument("--packages")
    parser.add_argument("--data", help="folder for the data sets; the default is a temporary one")
    arguments = parser.parse_args()
    os.setpriority(os.PRIO_PROCESS, 0, -19)  # what it starts has it, too
    with tempfile.TemporaryDirectory(prefix="dlio-au-") as directory:
        directory = pathlib.Path(directory)
        path = packages(arguments.packages, directory)
        differences = [case.on(tier, path) for name in arguments.cases for case in [Case(name, arguments, directory)] for tier in arguments.tiers]
        print(f"largest difference: {max(map(abs, differences)):.2f} points")


if __name__ == "__main__":
    main()
