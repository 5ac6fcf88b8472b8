"""The wheel of the Python package, built as `pip install .` does and installed where nothing else of it is, works."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The compiler has the name by which CMake calls it elsewhere, so that the compiler's cache has the objects.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"CC": "cc", "CXX": "c++"}


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT | more)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class WheelTest(unittest.TestCase):
    def test_what_is_installed_works(self):
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        with tempfile.TemporaryDirectory() as work:
            run(*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", work)
            [wheel] = pathlib.Path(work).glob("*.whl")
            abi = "abi3" if sys.version_info >= (3, 12) else f"cp3{sys.version_info.minor}"
            self.assertRegex(wheel.name, rf"^stoker-[0-9.]+-cp3\d+-{abi}-linux_")
            python = pathlib.Path(work, "environment/bin/python")
            venv.create(python.parents[1])
            run(*pip, "--python", str(python), "install", "--no-index", str(wheel))
            # NumPy is that of the Python which runs this.
            said = run(str(python), str(ROOT / "tests/install/installed_package.py"),
                       PYTHONPATH=str(pathlib.Path(numpy.__file__).parents[1]))
            self.assertIn("9 batches", said)


if __name__ == "__main__":
    unittest.main()
