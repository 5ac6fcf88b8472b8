#!/usr/bin/env python3
"""stoker.lightning: with PyTorch Lightning where it is installed, else with a package that has the class which it needs."""
import importlib.util
import pathlib
import resource
import sys
import tempfile
import threading
import types
import unittest

HAS_TORCH = importlib.util.find_spec("torch") is not None
REAL = importlib.util.find_spec("lightning") is not None


def stand_in():
    """As Lightning 2.5's: saves by torch.save, and loads and removes files."""
    import os

    import torch

    class TorchCheckpointIO:
        def save_checkpoint(self, checkpoint, path, storage_options=None):
            torch.save(checkpoint, path)

        def load_checkpoint(self, path, map_location=None, weights_only=None):
            return torch.load(path, map_location=map_location)

        def remove_checkpoint(self, path):
            os.unlink(path)

        def teardown(self):
            pass

    for name in ("lightning", "lightning.pytorch", "lightning.pytorch.plugins", "lightning.pytorch.plugins.io"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["lightning.pytorch.plugins.io"].TorchCheckpointIO = TorchCheckpointIO


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class LightningTest(unittest.TestCase):
    def setUp(self):
        if not REAL:
            stand_in()
        folder = tempfile.TemporaryDirectory(prefix="stoker-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_save_that_fails_is_lost_and_the_next_one_is_tried(self):
        import torch

        import stoker.lightning

        plugin = stoker.lightning.CheckpointIO()
        path = self.folder / "runs/1.ckpt"
        (self.folder / "runs").write_text("no folder")
        with self.assertLogs("stoker", "WARNING") as logs:
            plugin.save_checkpoint({"step": 1}, path)
        self.assertEqual(plugin.lost, 1)
        self.assertIn("runs", plugin.last_error)
        self.assertRegex(logs.output[0], "1.ckpt is lost")
        (self.folder / "runs").unlink()
        plugin.save_checkpoint({"step": 2, "weight": torch.ones(3)}, path)
        self.assertEqual(plugin.load_checkpoint(path)["step"], 2)
        self.assertEqual([each.name for each in path.parent.iterdir()], ["1.ckpt"])
        plugin.remove_checkpoint(path)
        self.assertFalse(path.exists())
        self.assertEqual(plugin.lost, 1)

    def lose(self, plugin, checkpoint, path):
        """A save without the space for it."""
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
        try:
            with self.assertLogs("stoker", "WARNING"):
                plugin.save_checkpoint(checkpoint, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    def there(self):
        return sorted(path.name for path in self.folder.iterdir() if path.exists())

    def test_the_last_good_file_stays_while_newer_ones_are_lost(self):
        """As ModelCheckpoint does it: it saves, removes the file before, and links to the new one."""
        import stoker.lightning

        plugin = stoker.lightning.CheckpointIO()
        one, two, three, four = (self.folder / f"{name}.ckpt" for name in range(1, 5))
        last, full = self.folder / "last.ckpt", {"optimizer_states": [1]}
        one.write_text("of the program before")
        for lost in (two, three):
            self.lose(plugin, full, lost)
            plugin.remove_checkpoint(one)
        self.assertEqual(self.there(), ["1.ckpt"])
        plugin.save_checkpoint(full, two)
        self.assertEqual(self.there(), ["2.ckpt"])
        self.lose(plugin, full, three)
        plugin.save_checkpoint({}, four)  # of weights alone: no training goes on from them
        plugin.remove_checkpoint(two)
        plugin.remove_checkpoint(three)
        last.symlink_to("3.ckpt")
        self.assertEqual(self.there(), ["2.ckpt", "4.ckpt"])
        plugin.remove_checkpoint(four)
        plugin.teardown()
        self.assertEqual(self.there(), ["2.ckpt", "last.ckpt"])  # nothing was lost after the fourth
        plugin.save_checkpoint(full, three)
        plugin.save_checkpoint(full, one)
        self.assertEqual(self.there(), ["1.ckpt", "3.ckpt", "last.ckpt"])
        self.assertEqual(plugin.lost, 3)

    def test_a_file_stays_while_another_thread_may_save_the_next_one(self):
        """As AsyncCheckpointIO does it."""
        import stoker.lightning

        plugin = stoker.lightning.CheckpointIO()
        one, two = self.folder / "1.ckpt", self.folder / "2.ckpt"
        for path, before in ((one, []), (two, ["1.ckpt"])):
            saving = threading.Thread(target=plugin.save_checkpoint, args=({}, path))
            self.assertEqual(self.there(), before)
            saving.start()
            saving.join()
            if path == one:
                plugin.remove_checkpoint(one)
        self.assertEqual(self.there(), ["2.ckpt"])

    @unittest.skipUnless(REAL, "Lightning is not here: pip install lightning, beside PyTorch 2.1 or newer, which Debian 12 has not")
    def test_a_trainer_saves_by_it(self):
        import lightning
        import torch

        import stoker.lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)

            def training_step(self, batch, _):
                return self.layer(batch[0]).mean()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)))
        plugin = stoker.lightning.CheckpointIO()
        trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", plugins=[plugin], default_root_dir=self.folder, logger=False,
                                    enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
        trainer.fit(Module(), data)
        (path,) = self.folder.glob("**/*.ckpt")
        self.assertIn("layer.weight", plugin.load_checkpoint(path)["state_dict"])


if __name__ == "__main__":
    unittest.main()
