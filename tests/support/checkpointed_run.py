"""What the tests of checkpoints share: an experiment on two tiers, the processes that train it, and what they leave."""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from stoker import MINI, OBJECTS_ONLY, Process, configuration, emulated, flow, objects_only, posix, read_summary, stoker

STEPS = 36  # two epochs
PER_EPOCH = 18
TIERS = ("fast", "slow")


def on_two_tiers(data=MINI, slow=posix):
    """The configuration."""
    plugins = {"plugins": f"[{OBJECTS_ONLY}]"} if slow is objects_only else {}
    return configuration(
        tiers={"data": posix(data), "fast": posix("fast"), "slow": slow("slow")}, **plugins,
        decoder="{type: jpeg, size: 64, augment: {random_resized_crop: {}, flip: true}}",
        loader="{type: prefetched, batch_size: 16, workers: 2, digest: true}", optimizer="{type: adam, lr: 0.001}",
        training="{epochs: 2, deterministic: true, threads: 1}", evaluation="{every_epochs: 1}",
        checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 5, keep_last: 3}",
        metrics="{every_steps: 1}")


# An evaluation lasts long enough to be hit.
SLOW_DATA = f"storage.data={emulated(read_latency_ms=2)}"
SAVED = re.compile(r"checkpoint of step (\d+): [\d.]+ MB on tier")
RESUMED = re.compile(r"resumed from \S+ \(step (\d+)")


def slowed(tier, write_mb_per_s, metadata_latency_ms=0, read_mb_per_s=2000, over=posix):
    """The override that makes a tier a slower device over the same files (or objects)."""
    figures = {"read_mb_per_s": read_mb_per_s, "write_mb_per_s": write_mb_per_s, "metadata_latency_ms": metadata_latency_ms}
    return f"storage.{tier}={emulated(tier, over, **figures)}"


def timed(experiment, *overrides):
    """(an uninterrupted process, seconds to its first step, seconds to its end)."""
    begin = time.monotonic()
    process = experiment.start(*overrides)
    process.wait_for(step_line(1))
    first = time.monotonic() - begin
    if process.wait() != 0:
        raise AssertionError(process.log)
    return process, first, time.monotonic() - begin


def reached(process, generator, first, whole, done, steps):
    """Waits for a random instant of a process that goes on after `done` steps; False: it ended before.

    Steps are counted, as times say little on a busy machine. A fifth of the instants is in the start,
    a tenth in the end.
    """
    each = (whole - first) / steps
    part = generator.random()
    pause = generator.uniform(0, 2 * each)
    if part < 0.2:
        pause = generator.uniform(0, first)
    elif part < 0.9 and done < steps:
        process.wait_for(step_line(generator.randint(done + 1, steps)))
    else:
        process.wait_for(step_line(steps) if done < steps else RESUMED)
        pause = generator.uniform(0, 8 * each)
    try:
        process.child.wait(pause)
        return False
    except subprocess.TimeoutExpired:
        return True


def step_line(step):
    return rf" step {step}/\d+ "


class Training(Process):
    """A process of an experiment."""
    COMMAND = ("train",)

    def __init__(self, experiment, overrides):
        self.experiment = experiment
        self.overrides = overrides
        super().__init__([*self.COMMAND, experiment.config, *overrides], experiment.dir)

    @property
    def trained(self):
        return re.search(step_line(r"\d+"), self.log) is not None

    @property
    def acknowledged(self):
        """Steps whose sets are committed, as far as the process got round to saying so."""
        return [int(step) for step in SAVED.findall(self.log)]

    @property
    def resumed_step(self):
        found = RESUMED.search(self.log)
        return int(found.group(1)) if found else 0

    @property
    def directory(self):
        """Its run directory; None where it ended before it made one."""
        return next((self.experiment.dir / "runs").glob(f"trial-*-{self.child.pid}-????"), None)

    @property
    def summary(self):
        return read_summary(self.directory)

    def losses(self):
        """By step, as text: bit for bit what the process computed."""
        return self.column("loss")

    def column(self, name):
        """Of steps.csv, by step, as text."""
        path = self.directory and self.directory / "steps.csv"
        if not path or not path.exists():
            return {}
        whole = path.read_text()
        rows = [row.split(",") for row in whole[:whole.rfind("\n") + 1].splitlines()]
        column = rows[0].index(name) if rows else 0
        return {int(row[0]): row[column] for row in rows[1:]}


class RanksTraining(Training):
    """Two ranks of one."""
    COMMAND = ("launch", "--ranks", "2")

    @property
    def directory(self):
        latest = self.experiment.dir / "runs" / "latest"
        return latest.resolve() if latest.exists() else None


class Experiment:
    """A configuration in a directory of its own, and everything that its processes leave there."""

    def __init__(self, directory, config=on_two_tiers(), training=Training):
        self.training = training
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.config = self.dir / "trial.yaml"
        self.config.write_text(config)

    def start(self, *overrides):
        return self.training(self, overrides)

    def train(self, *overrides, code=0):
        process = self.start(*overrides)
        got = process.wait()
        if got != code:
            raise AssertionError(f"exit status {got}, not {code}: {overrides}\n{process.log}")
        return process

    def stoker(self, *arguments, code=0):
        return stoker(*arguments, cwd=self.dir, code=code)

    def verified(self):
        """(rows of `checkpoint verify --all --json`, exit status); no rows where there are no sets."""
        done = self.stoker("checkpoint", "verify", self.config, "--all", "--json", code=None)
        return (json.loads(done.stdout) if done.stdout else []), done.returncode

    def newest_intact(self):
        """0 where there is none."""
        return max((row["step"] for row in self.verified()[0] if row["intact"]), default=0)

    def sets(self, tier):
        return self.dir / tier / "trial"

    def steps(self, tier):
        return sorted(int(path.name[5:]) for path in self.sets(tier).glob("step-*"))

    def set_path(self, tier, step):
        return self.sets(tier) / f"step-{step:010d}"

    def garbage(self):
        """Names of what no committed set consists of, by tier."""
        return {(tier, path.name) for tier in TIERS for path in self.sets(tier).glob(".tmp-*")}

    def state_digest(self, step=STEPS):
        """The one digest of the state of that step on all tiers that have it."""
        found = {hashlib.md5(path.read_bytes()).hexdigest()
                 for tier in TIERS
                 if (path := self.set_path(tier, step) / "state.safetensors").exists()}
        if len(found) != 1:
            raise AssertionError(f"{len(found)} different states of step {step} in {self.dir}")
        return found.pop()

    def forget(self):
        for tier in (*TIERS, "runs"):
            shutil.rmtree(self.dir / tier, ignore_errors=True)


class BucketExperiment(Experiment):
    """The slow tier has no files; its objects lie below the same directory."""

    def __init__(self, directory, slow=objects_only):
        super().__init__(directory, on_two_tiers(slow=slow))
        self.make_bucket()

    def make_bucket(self):
        (self.dir / "slow").mkdir(exist_ok=True)

    def forget(self):
        super().forget()
        self.make_bucket()

    def committed(self):
        """The directories of the sets in the bucket, by step."""
        return {int(path.name[5:15]): path for path in self.sets("slow").glob("step-*")
                if (path / "MANIFEST.json").exists() and not [*path.glob("aside.*")]}

    def steps(self, tier):
        return sorted(self.committed()) if tier == "slow" else super().steps(tier)

    def set_path(self, tier, step):
        return self.committed().get(step, self.dir / "none") if tier == "slow" else super().set_path(tier, step)

    def garbage(self):
        """An object that was not committed is none: what the files below leave of it does not count."""
        whole = self.committed().values()
        unfinished = {("slow", path.name) for path in self.sets("slow").glob("step-*")
                      if path not in whole and [*path.glob("[!.]*")] and not [*path.glob("aside.*")]}
        return unfinished | {(tier, name) for tier, name in super().garbage() if tier == "fast"}


class ServerExperiment(BucketExperiment):
    """The slow tier is a bucket of a server (object_servers.Bucket), below the directory a copy of its objects."""

    def __init__(self, directory, bucket):
        self.bucket, self.copied = bucket, {}
        super().__init__(directory, self.slow)

    def slow(self, _root):
        return flow(**self.bucket.tier())

    def sets(self, tier):
        if tier == "slow":
            self.copy()
        return super().sets(tier)

    def copy(self):
        there = self.bucket.etags()
        for key in self.copied.keys() - there:
            (self.dir / "slow" / key).unlink()
        for key in there:
            if there[key] != self.copied.get(key):
                path = self.dir / "slow" / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.bucket.ask("GET", key))
        self.copied = there

    def make_bucket(self):
        """Of an empty one."""
        for key in self.bucket.etags():
            self.bucket.ask("DELETE", key)
        super().make_bucket()
        self.copied = {}


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="stoker-test-"))
        self.addCleanup(shutil.rmtree, self.here)
        self.processes = []
        self.addCleanup(self.end_all)

    def experiment(self, name="experiment", config=on_two_tiers()):
        return Experiment(self.here / name, config)

    def started(self, experiment, *overrides):
        """A process that does not outlive the test."""
        self.processes.append(experiment.start(*overrides))
        return self.processes[-1]

    def end_all(self):
        for process in self.processes:
            process.kill()


class TwelveSteps(CheckpointTest):
    """self.trial has sets of steps 5, 10 and 12 on both tiers."""
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="stoker-test-")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.template = Experiment(directory)
        cls.template.train("training.max_steps=12")

    def setUp(self):
        super().setUp()
        shutil.copytree(self.template.dir, self.here / "experiment", symlinks=True)
        self.trial = self.experiment()
