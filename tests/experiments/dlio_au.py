"""AU of DLIO's own run (dlio-benchmark 2.0.0 of PyPI, with PyTorch) beside that of the same workload file in Stoker.

On the same files on an emulated tier, which `stoker mount` serves to both; all reads are cold. The workloads are MLPerf
Storage's, reduced: fewer and smaller files, all as npz by PyTorch, for DLIO's TFRecord reader needs TensorFlow. Each is
run on a tier that is fast enough, on one that just is, and on one that is not. --packages: where dlio-benchmark and
what it needs are; without it, pip installs them. PyTorch and NumPy are Debian's. AU in points (percent). As root, for
the mount; all programs run at a high priority, so that other work of the machine disturbs little. For
app/tools/import_dlio/README.md and docs/results.md.
"""
import json
import os
import pathlib
import subprocess

from frame import CannotMeasure
from machine import mounted_tier, output
from stoker import emulated

ROUNDS = 2
OPTIONS = {"epochs": 2, "packages": (None, "folder of Python packages"), "part": (1.0, "of the files"),
           "data": (None, "folder for the data sets, which stay")}
PACKAGES = ("dlio-benchmark==2.0.0", "pydftracer==1.0.2", "hydra-core", "omegaconf", "antlr4-python3-runtime==4.9.3",
            "h5py==3.11.0", "mpi4py", "psutil", "pandas==2.0.3", "pillow", "python-dateutil", "pytz", "tzdata", "six",
            "packaging")
# files, bytes of a record, their deviation, batch, read threads, seconds of a step: MLPerf's (H100, H100, A100), but
# for the number of files, unet3d's bytes, cosmoflow's step (0.0035) and resnet50's batch (400)
CASES = {"unet3d": (112, 8_000_000, 3_700_000, 7, 4, 0.323), "cosmoflow": (40, 2_828_486, 71_311, 1, 4, 0.3),
         "resnet50": (960, 114_660, 0, 40, 8, 0.435)}
TIERS = {"fast": 3.0, "just": 1.1, "slow": 0.6}  # the tier's bandwidth over what the steps take


def workload(lab, name, folder):
    files, size, deviation, batch, threads, step = CASES[name]
    path = lab.folder / f"workload/{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"""
model: {name}
framework: pytorch
workflow: {{generate_data: False, train: True, checkpoint: False}}
dataset: {{data_folder: {folder}, format: npz, num_files_train: {round(files * lab.given.part)},
          num_samples_per_file: 1, record_length: {size}, record_length_stdev: {deviation},
          record_length_resize: 65536}}
reader: {{data_loader: pytorch, batch_size: {batch}, read_threads: {threads}, file_shuffle: seed, sample_shuffle: seed}}
train: {{epochs: {lab.given.epochs}, computation_time: {step}}}
metric: {{au: 0.9}}
""")
    return path


def dlio(lab, name, path):
    """AU of each epoch."""
    env = {**os.environ, "PYTHONPATH": path, "DFTRACER_ENABLE": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["/usr/bin/python3", "-c", "from dlio_benchmark.main import main; main()", f"workload={name}",
                           f"hydra.run.dir={lab.folder}/dlio", f"--config-dir={lab.folder}"], cwd=lab.folder, env=env,
                          capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        raise CannotMeasure(f"DLIO failed: {done.stdout[-300:]}{done.stderr[-300:]}")
    return [{"AU": au}
            for au in json.loads((lab.folder / "dlio/summary.json").read_text())["metric"]["train_au_percentage"]]


def ours(lab, file, causes):
    lab.stoker("import-dlio", file, "--to", "own.yaml")
    summary = lab.json("train", "own.yaml")
    result = lab.json("import-dlio", file, "--run", summary["run_directory"])
    (lab.folder / "own.yaml").unlink()
    causes.append(result["cause"])
    return [{"AU": 100 * au} for au in result["au"]]


def run(lab):
    os.setpriority(os.PRIO_PROCESS, 0, -19)  # what it starts has it, too
    place, apart = lab.given.packages or lab.folder / "packages", []
    if not lab.given.packages:
        output("/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, *PACKAGES)
    stand_in = lab.folder / "stand_in/tensorflow"  # which DLIO imports, and does not use
    stand_in.mkdir(parents=True)
    (stand_in / "__init__.py").touch()
    for name, (_, size, _, batch, _, step) in CASES.items():
        tiers = [tier for tier in TIERS if lab.chosen([f"{name} {tier}"])]
        data = pathlib.Path(lab.given.data or lab.folder).resolve() / f"{name}-data"
        if tiers:
            lab.stoker("import-dlio", workload(lab, name, "/nowhere"), "--generate", data, "--to", "unused.yaml")
        for tier in tiers:
            rate, at, causes = TIERS[tier] * batch * size / step / 1e6, lab.folder / f"{name}-{tier}", []
            slow = emulated(data, read_mb_per_s=rate, read_latency_ms=0.2, metadata_latency_ms=0)
            with mounted_tier(at, slow, "--mode", "drop", "--read-ahead", "1MiB"):
                file = workload(lab, name, at)
                got = lab.measure(f"{name}, {tier}, {rate:.0f} MB/s", {
                    "DLIO": lambda: dlio(lab, name, f"{stand_in.parent}:{place}"),
                    "Stoker": lambda: ours(lab, file, causes)})
            if len(got) == 2:
                means = [sum(of["AU"]) / len(of["AU"]) for of in (got["DLIO"], got["Stoker"])]
                apart.append(abs(means[1] - means[0]))
                lab.say(f"means {means[0]:.2f} and {means[1]:.2f}, {means[1] - means[0]:+.2f} points; {causes[-1]}")
    lab.say(f"largest difference: {max(apart):.2f} points" if apart else "nothing was compared")
