"""The program under acceptance: experiments for it, its runs with a limit each, and what they leave."""
import collections
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = HERE.parent / "bench" / "peers"
STOKER = os.environ["STOKER"]
PACKAGE = ROOT / "python" if (ROOT / "python/stoker/_core.abi3.so").exists() else ROOT / "build/python"  # a bundle's, or the build's
DATA = next(path for name in ("caltech101-sample", "caltech101-mini") if (path := ROOT / "datasets" / name).is_dir())
FILES = len(list(DATA.glob("*/*.jpg")))
# images/s, device idle share, its main cause; and between which times since 1970 that was.
Steady = collections.namedtuple("Steady", "rate idle cause window")


def photographs():
    """A folder of classes: photographs of ImageNet's sizes where the bundle has them."""
    folder = ROOT / "datasets" / "photographs"
    return folder if folder.is_dir() else DATA


class Failed(Exception):
    """A command that did not do what it was asked for: what it said, its exit code (None: it was ended), all it wrote."""

    def __init__(self, text, code=None, log=""):
        super().__init__(f"exit code {code}: {text}" if code is not None else text)
        self.code = code
        self.log = log


class NotRun(Exception):
    """What a part needs and is not here."""


def started(words, cwd, env):
    return subprocess.Popen([str(word) for word in words], cwd=cwd, env=os.environ | dict(env), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def output_of(process, limit_s, codes=(0,)):
    """Ends it, and all that it started, when its time is over."""
    try:
        output, log = process.communicate(timeout=limit_s)
    except BaseException as ended:
        os.killpg(process.pid, signal.SIGKILL)
        output, log = process.communicate()
        if not isinstance(ended, subprocess.TimeoutExpired):
            raise
        raise Failed(f"not done after {limit_s:.0f} s: {' '.join(process.args[1:4])}", log=output + log) from None
    if process.returncode not in codes:
        lines = [line for line in (log or output).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        text = (errors or lines or ["no word"])[-1]
        raise Failed(re.sub(r"\S*/stoker-acceptance-[^/]+/", "", text), process.returncode,
                     f"{' '.join(process.args)}\n{output}{log}")
    return output


def command(words, limit_s, cwd, env=()):
    return output_of(started(words, cwd, env), limit_s)


class Run:
    """What a training left."""

    def __init__(self, summary, directory):
        self.summary = summary
        self.directory = directory

    def rows(self):
        with open(self.directory / "steps.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return [{name: float(value) if value else None for name, value in row.items()} for row in rows]

    def steady(self):
        """Of the later half of its reports: all is loaded by then."""
        rows = self.rows()
        if len(rows) < 3:
            raise Failed(f"only {len(rows)} reports: too slow for its time")
        rows = rows[(len(rows) - 1) // 2:]
        times = [later["wall_s"] - row["wall_s"] for row, later in zip(rows, rows[1:])]
        idle = {name: sum(row[name] * took for row, took in zip(rows[1:], times)) / sum(times)
                for name in rows[0] if name.startswith("device.idle_share")}
        share = idle.pop("device.idle_share")
        began = self.summary["started_unix_s"]
        return Steady((rows[-1]["images"] - rows[0]["images"]) / sum(times), share,
                      max(idle, key=idle.get).rsplit(".", 1)[1],
                      (began + rows[0]["wall_s"], began + rows[-1]["wall_s"]))

    def main_cause(self):
        causes = self.summary["device"]["idle_share_by_cause"]
        return max(causes, key=causes.get)


class Program:
    """Runs the program, and others, in a directory of its own; one at a time, and no longer than the part may take."""
    LIBRARIES = {"LD_LIBRARY_PATH": os.environ.get("STOKER_LIBRARIES", "")}

    def __init__(self, directory, limit_s):
        self.dir = pathlib.Path(directory)
        self.limit_s = limit_s
        self.deadline = float("inf")  # of the part
        self.count = 0

    def left(self):
        """Seconds that a command may take."""
        left = min(self.limit_s, self.deadline - time.monotonic())
        if left < 1:
            raise NotRun("the part's time was over")
        return left

    def tiers(self, sets):
        """The data's, and one for checkpoints in a folder of this name."""
        return {name: {"type": "posix", "root": str(root)} for name, root in
                (("data", DATA), ("sets", self.dir / sets))}

    def many(self, name, files):
        """The small files or the photographs, each as often as makes so many of them."""
        folder, source = self.dir / f"{name}-{files}", photographs() if name == "photographs" else DATA
        if not folder.exists():
            found = sorted(source.glob("*/*.jpg"))
            for file in found:
                first = folder / file.parent.name / f"{file.stem}-0.jpg"
                first.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, first)
                for number in range(1, files // len(found)):
                    os.link(first, first.with_name(f"{file.stem}-{number}.jpg"))
        return folder

    def experiment(self, name, sections):
        """A file of it; JSON is YAML."""
        self.count += 1
        path = self.dir / f"{name}-{self.count}.yaml"
        usual = {"run": {"name": name, "seed": 1, "dir": str(self.dir / f"runs-{self.count}")},
                 "storage": {"data": {"type": "posix", "root": str(DATA)}},
                 "dataset": {"type": "image_folder", "storage": "data"}, "evaluation": {"enabled": False}}
        path.write_text(json.dumps(usual | sections), encoding="utf-8")
        return path

    def json(self, *words, env=()):
        return json.loads(command([STOKER, *words, "--json"], self.left(), self.dir, self.LIBRARIES | dict(env)))

    def bench(self, what, sections, *arguments):
        return self.json("bench", what, self.experiment(what, sections), *arguments)

    def train(self, sections, *overrides, env=()):
        summary = self.json("train", self.experiment("train", sections), "--quiet", *overrides, env=env)
        return Run(summary, self.dir / summary["run_directory"])

    def train_for(self, seconds, sections):
        """As many steps as there are in so many seconds after its first report, but four reports."""
        path = self.experiment("train", sections)
        runs = self.dir / f"runs-{self.count}"
        end = time.monotonic() + self.left()
        process = started([STOKER, "train", path, "--quiet", "--json"], self.dir, self.LIBRARIES)
        first = None
        while process.poll() is None and (now := time.monotonic()) < end:
            reports = max((file.read_text().count("\n") - 1 for file in runs.glob("*/steps.csv")), default=0)
            first = first or (now if reports > 0 else None)
            if reports >= 4 and now > first + seconds:
                process.send_signal(signal.SIGTERM)
                break
            time.sleep(0.02)
        summary = json.loads(output_of(process, max(0.1, end - time.monotonic()), (0, 75)))
        return Run(summary, self.dir / summary["run_directory"])

    def python(self, script, *arguments):
        """The line of JSON of a script that needs torch."""
        output = command([sys.executable, "-B", script, *arguments], self.left(), self.dir, {"PYTHONPATH": f"{PEERS}:{PACKAGE}"})
        return json.loads(output.splitlines()[-1])
