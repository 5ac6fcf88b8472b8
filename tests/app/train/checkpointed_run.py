"""What the tests of checkpoints share: an experiment on two tiers, the processes that train it, and what
they leave.

STOKER names the binary.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

STOKER = os.environ.get("STOKER", "stoker")
SOURCE = pathlib.Path(__file__).resolve().parents[3]
MINI = SOURCE / "datasets" / "caltech101-mini"
STEPS = 36  # two epochs of CONFIG
PER_EPOCH = 18
TIERS = ("fast", "slow")
LOADERS = ("sync", "threaded", "prefetched", "device_prefetched")
CONFIG = """
run:        {name: trial, seed: 3}
device:     {type: cpu}
storage:
  data: {type: posix, root: %s}
  fast: {type: posix, root: fast}
  slow: {type: posix, root: slow}
dataset:    {type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 5}}
decoder:    {type: jpeg, size: 64, augment: {random_resized_crop: {}, flip: true}}
loader:     {type: prefetched, batch_size: 16, workers: 2, digest: true}
model:      {type: linear}
optimizer:  {type: adam, lr: 0.001}
training:   {epochs: 2, deterministic: true, threads: 1}
evaluation: {every_epochs: 1}
checkpoint: {type: burst_buffer, fast: fast, slow: slow, every_steps: 5, keep_last: 3}
metrics:    {every_steps: 1}
"""
# An evaluation lasts long enough to be hit.
SLOW_DATA = (f"storage.data={{type: emulated, read_mb_per_s: 100, write_mb_per_s: 100, read_latency_ms: 2, "
             f"inner: {{type: posix, root: {MINI}}}}}")
SAVED = re.compile(r"checkpoint of step (\d+): [\d.]+ MB on tier")
RESUMED = re.compile(r"resumed from \S+ \(step (\d+)")


def slowed(tier, write_mb_per_s, metadata_latency_ms=0, read_mb_per_s=2000):
    """The override that makes a tier a slower device over the same files."""
    return (f"storage.{tier}={{type: emulated, read_mb_per_s: {read_mb_per_s}, "
            f"write_mb_per_s: {write_mb_per_s}, metadata_latency_ms: {metadata_latency_ms}, "
            f"inner: {{type: posix, root: {tier}}}}}")


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


class Process:
    """A training process. A thread collects what it writes to stderr, so that a test can wait for a line."""

    def __init__(self, experiment, overrides):
        self.experiment = experiment
        self.overrides = overrides
        self.lines = []
        self.more = threading.Condition()
        self.ended = False
        self.child = subprocess.Popen(
            [STOKER, "train", experiment.config, *overrides], cwd=experiment.dir, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.collect)
        self.reader.start()

    def collect(self):
        for line in self.child.stderr:
            with self.more:
                self.lines.append(line.rstrip("\n"))
                self.more.notify_all()
        with self.more:
            self.ended = True
            self.more.notify_all()

    def wait_for(self, pattern, timeout=120):
        """False: the process ended without such a line."""
        seen = 0
        with self.more:
            while True:
                for line in self.lines[seen:]:
                    if re.search(pattern, line):
                        return True
                seen = len(self.lines)
                if self.ended:
                    return False
                if not self.more.wait(timeout):
                    raise AssertionError(f"no line '{pattern}' within {timeout} s:\n{self.log}")

    def send(self, number):
        self.child.send_signal(number)

    def wait(self, timeout=240):
        """The exit status. TimeoutExpired: it runs on."""
        code = self.child.wait(timeout)
        self.reader.join()
        self.child.stderr.close()
        return code

    def kill(self):
        self.send(signal.SIGKILL)
        return self.wait()

    @property
    def log(self):
        with self.more:
            return "\n".join(self.lines)

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
        return json.loads((self.directory / "summary.json").read_text())

    def losses(self):
        """By step, as text: bit for bit what the process computed."""
        path = self.directory and self.directory / "steps.csv"
        if not path or not path.exists():
            return {}
        whole = path.read_text()
        rows = [row.split(",") for row in whole[:whole.rfind("\n") + 1].splitlines()]
        column = rows[0].index("loss") if rows else 0
        return {int(row[0]): row[column] for row in rows[1:]}


class Experiment:
    """A configuration in a directory of its own, and everything that its processes leave there."""

    def __init__(self, directory, config=CONFIG % MINI):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.config = self.dir / "trial.yaml"
        self.config.write_text(config)

    def start(self, *overrides):
        return Process(self, overrides)

    def train(self, *overrides, code=0):
        process = self.start(*overrides)
        got = process.wait()
        if got != code:
            raise AssertionError(f"exit status {got}, not {code}: {overrides}\n{process.log}")
        return process

    def stoker(self, *arguments, code=0):
        done = subprocess.run([STOKER, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.dir, timeout=240)
        if done.returncode != code:
            raise AssertionError(f"exit status {done.returncode}, not {code}: {arguments}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def verified(self):
        """(rows of `checkpoint verify --all --json`, exit status); no rows where there are no sets."""
        done = subprocess.run([STOKER, "checkpoint", "verify", self.config, "--all", "--json"],
                              capture_output=True, text=True, cwd=self.dir, timeout=240)
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


@contextlib.contextmanager
def temporary_experiment(config=CONFIG % MINI):
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
        yield Experiment(directory, config)


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(prefix="stoker-test-"))
        self.addCleanup(shutil.rmtree, self.here)
        self.processes = []
        self.addCleanup(self.end_all)

    def experiment(self, name="experiment", config=CONFIG % MINI):
        return Experiment(self.here / name, config)

    def started(self, experiment, *overrides):
        """A process that does not outlive the test."""
        self.processes.append(experiment.start(*overrides))
        return self.processes[-1]

    def end_all(self):
        for process in self.processes:
            if process.child.poll() is None:
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
