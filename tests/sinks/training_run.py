"""A short training with sinks, and what it leaves. STOKER names the binary."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

STOKER = os.environ.get("STOKER", "stoker")
MINI = pathlib.Path(__file__).resolve().parents[2] / "datasets" / "caltech101-mini"
STEPS, BATCH = 40, 16
CONFIG = f"""
run:        {{name: recorded, seed: 1}}
device:     {{type: cpu}}
storage:
  data: {{type: posix, root: {MINI}}}
  slow: {{type: posix, root: slow}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: 30, test_per_class: 5}}}}
decoder:    {{type: turbojpeg, size: 48}}
loader:     {{type: prefetched, batch_size: {BATCH}, workers: 2}}
model:      {{type: linear}}
optimizer:  {{type: sgd, lr: 0.001}}
training:   {{max_steps: {STEPS}, epochs: 9}}
evaluation: {{every_epochs: 1}}
checkpoint: {{type: direct, slow: slow, every_steps: 15}}
"""
ENDLESS = ("device={type: emulated, step_ms: 2}", "training.max_steps=1000000", "training.epochs=100000",
           "checkpoint={type: none}")


class RunTest(unittest.TestCase):
    SINKS = ()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))
        (self.folder / "config.yaml").write_text(CONFIG)

    def command(self, *overrides):
        sinks = ", ".join(f"{{type: {sink}}}" for sink in self.SINKS)
        return [STOKER, "train", "config.yaml", f"metrics={{every_steps: 5, sinks: [{sinks}]}}", *overrides]

    def run_directory(self):
        return (self.folder / "runs" / "latest").resolve()

    def train(self, *overrides):
        done = subprocess.run(self.command(*overrides), cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.run_directory()

    def holds(self, condition):
        try:
            return condition(self.run_directory())
        except FileNotFoundError:  # not yet
            return False

    def kill_when(self, condition):
        """Kills an endless training once condition(run directory) holds."""
        process = subprocess.Popen(self.command(*ENDLESS), cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 120
            while not self.holds(condition):
                self.assertIsNone(process.poll(), "the training ended")
                self.assertLess(time.monotonic(), end, "timed out")
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        return self.run_directory()
