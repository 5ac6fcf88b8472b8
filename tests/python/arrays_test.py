#!/usr/bin/env python3
"""Batches as arrays of PyTorch and of JAX: without a copy, whichever of the packages is imported first, both at once."""
import importlib.util
import unittest

from engine import long, run_python

# Of one batch, in either framework: the same numbers, at the same place.
PYTORCH = """
import numpy
loader = stoker.Loader(config(), ["decoder.output=float32"])
for images, labels in loader:
    x, y = torch.from_dlpack(images), torch.from_dlpack(labels)
    assert (x.shape, x.dtype, y.dtype) == ((16, 3, 32, 32), torch.float32, torch.int64)
    assert x.data_ptr() == numpy.asarray(images).__array_interface__["data"][0]
    assert torch.nn.Conv2d(3, 4, 3)(x).isfinite().all()
assert loader.epoch == 1
"""
JAX = """
import jax.numpy, numpy
loader = stoker.Loader(config(), ["decoder.output=float32"])
for images, labels in loader:
    x, y = jax.numpy.from_dlpack(images), jax.numpy.asarray(labels)
    assert x.unsafe_buffer_pointer() == numpy.asarray(images).__array_interface__["data"][0]
    assert abs(float(x.mean()) - numpy.asarray(images).mean(dtype="float64")) < 1e-4
    numpy.testing.assert_array_equal(y, labels)
assert loader.epoch == 1
"""


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return unittest.skipIf(missing, f"not here: {', '.join(missing)}")


class ArraysTest(unittest.TestCase):

    @needs("torch")
    def test_pytorch(self):
        for imports in ("import torch, stoker", "import stoker, torch"):
            with self.subTest(imports):
                run_python(PYTORCH, first=imports)

    @needs("jax")
    @long
    def test_jax(self):
        for imports in ("import jax, stoker", "import stoker, jax"):
            with self.subTest(imports):
                run_python(JAX, first=imports)

    @needs("torch", "jax")
    @long
    def test_both_in_one_process(self):
        run_python(PYTORCH + JAX, first="import jax, stoker, torch")


if __name__ == "__main__":
    unittest.main()
