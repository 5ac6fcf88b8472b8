"""The Python of docs/pytorch.md, run as it stands there, but on the CPU, on the images that ship, and for one epoch."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IMAGES = SOURCE / "datasets/caltech101-mini"
KNOWN = f"""
import torch
def train_one_epoch(): open("{IMAGES}/README.md").read()
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 224 * 224, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
"""
HERE = (("photos/", str(IMAGES)), ('device="cuda"', 'device="cpu"'), (", 90)", ", 1)"))


class PytorchPage(unittest.TestCase):
    def test_its_blocks_run_one_after_the_other(self):
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```", (SOURCE / "docs/pytorch.md").read_text())
        self.assertEqual(len(blocks), 4)
        blocks[3] = f"try:\n    import torch.distributed.checkpoint.staging\nexcept ImportError:\n    raise SystemExit\n{blocks[3]}"
        script = "".join(blocks)
        for there, here in HERE:
            self.assertIn(there, script)
            script = script.replace(there, here)
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))
        (folder / "sets.yaml").write_text("checkpoint: {type: burst_buffer, snapshot: async}\n")
        done = subprocess.run([sys.executable, "-c", KNOWN + script], cwd=folder, env=os.environ, capture_output=True,
                              text=True, check=False)
        if "No module named 'torch'" in done.stderr:
            self.skipTest("no PyTorch here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("device", done.stdout)
        self.assertTrue((folder / "out.darshan").exists())
        self.assertTrue((folder / "model.pt").exists())
        if "STOKER" in os.environ and any((folder / "runs").rglob("step-*")):
            subprocess.run([os.environ["STOKER"], "checkpoint", "verify", "sets.yaml", "--all"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
