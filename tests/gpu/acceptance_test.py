"""The acceptance of a GPU, as its stand-in: all parts run, and what holds on any machine does. And the bundle for a
machine with a GPU, run from another folder and without this one's environment."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

import busy
from stoker import BUILD, STOKER, long

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 64 << 20
PATIENCE_S = 800  # for some 40 commands
PARTS = ["environment", "frames", "resume", "training", "idle", "checkpoint", "loader", "peers", "python"]


def libtorch():
    """The folder of the LibTorch in use."""
    linked = subprocess.run(["ldd", BUILD / "lib/libstoker.so"], capture_output=True, text=True, check=True).stdout
    return pathlib.Path(re.search(r"libtorch_cpu\.so => (\S+)", linked).group(1)).parents[2]


def acceptance(script, out, *arguments, env):
    done = subprocess.run([script, out, *arguments], env=env, timeout=PATIENCE_S, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {arguments}\n{done.stdout}{done.stderr}")
    return json.loads((out / "acceptance.json").read_text())


class IdleTest(unittest.TestCase):
    """A GPU's trace as LibTorch's profiler writes it, with ts in us from baseTimeNanoseconds on."""
    BEGAN_S = 1_700_000_000

    def work(self, kind, name, stream, begin, took):
        return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": took,
                "args": {"device": 0, "stream": stream}}

    def test_only_work_on_the_stream_of_the_steps_counts(self):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as folder:
            run = types.SimpleNamespace(directory=pathlib.Path(folder), summary={"started_unix_s": self.BEGAN_S - 1})
            profile = [self.work("kernel", "gemm", 7, 1000, 300), self.work("kernel", "relu", 7, 1200, 200),
                       self.work("gpu_memset", "Memset (Device)", 7, 1400, 100),
                       self.work("kernel", "gemm", 7, 1900, 100),
                       self.work("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 7, 1500, 300),
                       self.work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 13, 900, 2000),
                       {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 5, "tid": 5, "ts": 100, "dur": 900},
                       {"ph": "i", "name": "Record Window End", "ts": 5000}]
            (run.directory / "profile-10.json").write_text(
                json.dumps({"baseTimeNanoseconds": self.BEGAN_S * 10**9, "traceEvents": profile}))
            steps = [{"ph": "X", "cat": "device", "name": "step", "pid": 1, "tid": 2, "ts": 1e6 + begin, "dur": took}
                     for begin, took in ((500, 1050), (1900, 500))]  # a step begins before, one ends after
            starved = [steps[0] | {"name": "starved", "dur": 550}]  # of which 500 before the window
            (run.directory / "trace.json").write_text(json.dumps(steps + starved))
            ours, theirs, between = busy.idle_shares(run, gpu=True)
        self.assertAlmostEqual(ours, 1 - 600 / 1000)
        self.assertAlmostEqual(between, 1 - 650 / 1000)
        self.assertAlmostEqual(theirs, 1 - 600 / 1000)


class AcceptanceTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))

    def assert_passed(self, part, *names):
        outcomes = {check["name"]: check["outcome"] for check in part["checks"]}
        for name in names:
            self.assertEqual(outcomes.get(name), "passed", outcomes)

    @long
    def test_parts_run_on_the_stand_in(self):
        environment = os.environ | {"STOKER": STOKER}
        result = acceptance(HERE / "acceptance.sh", self.dir / "out", "--stand-in", "--only", *PARTS, env=environment)
        self.assertIn("says nothing about a GPU", result["title"])
        self.assertIn("says nothing about a GPU", (self.dir / "out/acceptance.md").read_text())
        parts = result["parts"]
        self.assertEqual(list(parts), PARTS)
        for name, part in parts.items():
            for check in part["checks"]:
                self.assertRegex(check["outcome"], r"^(passed|reported|not run: no \w+)$", f"{name}: {check}")
        self.assert_passed(parts["frames"], "nothing: largest difference from the loader's pixels, levels",
                           "resize: largest difference from the loader's pixels, levels",
                           "resize: losses equal those of nothing")
        self.assert_passed(parts["resume"], "linear: resumed is what was never stopped",
                           "resnet18: resumed is what was never stopped")
        self.assert_passed(parts["loader"], "batches are the same with any number of workers")
        self.assertEqual({row["made"] for row in parts["idle"]["rows"]}, {"data", "host", "checkpoint"})
        self.assertEqual({row["snapshot"] for row in parts["checkpoint"]["rows"]}, {"sync", "async"})
        rows = parts["training"]["rows"]
        self.assertEqual({row["loader"] for row in rows if "device_idle" in row},
                         {"sync", "threaded", "prefetched", "device_prefetched", "device_resident"})
        for row in rows:
            self.assertEqual(row["cuda_graph"], row.get("outcome", "").startswith("needs a GPU: exit code "), row)

    def test_without_a_gpu_it_ends_after_the_environment_and_fails(self):
        environment = os.environ | {"STOKER": STOKER, "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run([HERE / "acceptance.sh", self.dir / "out"], env=environment, timeout=PATIENCE_S,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("failed: libtorch_cuda works: no (limit yes)", done.stdout)
        self.assertEqual(list(json.loads((self.dir / "out/acceptance.json").read_text())["parts"]), ["environment"])

    @long
    def test_a_bundle_is_small_and_runs_elsewhere(self):
        made, bundle = self.dir / "made", self.dir / "else where"
        environment = {name: value for name, value in os.environ.items() if name != "STOKER_CALTECH101"}
        subprocess.run([HERE / "bundle.sh", made, BUILD], env=environment, check=True, timeout=PATIENCE_S,
                       stdout=subprocess.DEVNULL)
        self.assertLess(sum(path.stat().st_size for path in made.rglob("*") if path.is_file()), LIMIT)
        made.rename(bundle)
        path = f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"
        result = acceptance(bundle / "tests/gpu/acceptance.sh", self.dir / "out", "--stand-in", "--only", "environment",
                            "loader", env={"PATH": path, "STOKER_LIBTORCH": str(libtorch())})
        self.assertEqual(list(result["parts"]), ["environment", "loader"])
        self.assert_passed(result["parts"]["loader"], "batches are the same with any number of workers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
