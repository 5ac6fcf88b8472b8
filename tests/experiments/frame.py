"""The frame of all experiments: their arguments, rounds in turns, medians, tables and JSON. See README.md.

An experiment is a module of this folder with `run(lab)`. Its docstring says what it measures; the first line is what
`run.py --list` prints. OPTIONS has its own options with their defaults, ROUNDS the number of rounds, BESIDE the folder
in which its temporary one is made, and WORDS what words behind the options mean.
"""
import argparse
import contextlib
import csv
import importlib
import json
import math
import os
import pathlib
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), str(TESTS / "support")]
from stoker import BUILD, STOKER, stoker  # noqa: E402  the program under test, of tests/support

NOT_MEASURED = 3  # the exit code where something could not be measured


class CannotMeasure(Exception):
    """Why something cannot be measured here."""


# What makes a variant be left out, and named. Anything else is a mistake of the experiment's.
FAILURES = (CannotMeasure, ImportError, OSError, AssertionError, RuntimeError, SystemExit, subprocess.SubprocessError)


def short(value):
    """Four digits that count."""
    if value is None or isinstance(value, float) and math.isnan(value):
        return "-"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    digits = 3 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def spread(values):
    """Median (least to most)."""
    values = [value for value in values if value is not None]
    if len(values) < 2:
        return short(values[0] if values else None)
    return f"{short(median(values))} ({short(min(values))} to {short(max(values))})"


def print_columns(rows):
    """Rows of cells under each other: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip(), flush=True)


class Measured(dict):
    """{variant: {figure: [its value in each round]}}"""

    def add(self, variant, got):
        for figures in got if isinstance(got, list) else [got]:
            for figure, value in figures.items():
                self.setdefault(variant, {}).setdefault(figure, []).append(value)

    def values_of(self, variant, figure):
        return [value for value in self.get(variant, {}).get(figure, []) if value is not None]

    def median(self, variant, figure):
        return median(self.values_of(variant, figure) or [math.nan])

    def ratios(self, variant, reference, figure):
        """Round by round."""
        pairs = zip(self.get(variant, {}).get(figure, []), self.get(reference, {}).get(figure, []))
        return [a / b for a, b in pairs if isinstance(a, (int, float)) and b]


class Lab:
    """What run() gets: its options (`given`), a temporary folder, and how to measure, to print and to fail."""

    def __init__(self, name, given, folder):
        self.name, self.given, self.folder = name, given, folder
        self.record = {"experiment": name, "options": {key: str(value) for key, value in vars(given).items()},
                       "conditions": conditions(), "measured": [], "tables": [], "notes": [], "failed": []}

    def chosen(self, names):
        """Those that --only names."""
        return [name for name in names if re.search(self.given.only, name)]

    def each(self, cases, function):
        """Variants for measure(): function(lab, *case) of each case that --only names."""
        return {name: lambda name=name: function(self, *cases[name]) for name in self.chosen(cases)}

    def say(self, text):
        print(text, flush=True)
        self.record["notes"].append(text)

    def left_out(self, what, why):
        """Something could not be measured: the experiment goes on, and its exit code says so."""
        print(f"not measured: {what}: {why}", flush=True)
        self.record["failed"].append({"what": what, "why": str(why)})

    def measure(self, what, variants, *, rounds=None, warm_up=0, reference=None, wide=False, shuffle=False, show=True):
        """Calls every variant once a round, forwards and backwards in turns, or in an order of the seed's (shuffle),
        and prints what they gave. A variant gives {figure: value}, or a list of these. Rounds of warm_up do not
        count."""
        rounds, measured, alive = rounds or self.given.rounds, Measured(), dict(variants)
        with contextlib.suppress(KeyboardInterrupt):  # what there is by then is printed
            for number in range(-warm_up, rounds):
                order = list(alive) if number % 2 == 0 else list(reversed(alive))
                if shuffle:
                    random.Random(1000003 * self.given.seed + number).shuffle(order)
                for name in order:
                    try:
                        got = alive[name]()
                    except FAILURES as error:
                        self.left_out(f"{what}, {name}" if what else name, explain(error))
                        del alive[name]
                        continue
                    if number >= 0:
                        measured.add(name, got)
        measured = Measured({name: measured[name] for name in variants if name in measured})
        self.keep(what, measured, reference, wide, show)
        return measured

    def keep(self, what, measured, reference=None, wide=False, show=True):
        """What was measured, also elsewhere: for the JSON, and as a table."""
        self.record["measured"].append({"what": what, "reference": reference, "variants": measured})
        if show:
            self.show(what, measured, reference, wide)

    def show(self, what, measured, reference=None, wide=False):
        """A table of each figure with the ratio to the reference, or (wide) one table with a row for each variant."""
        if not measured:
            return
        figures = list(dict.fromkeys(figure for of in measured.values() for figure in of))
        if wide:
            print(f"\n{what}".rstrip())
            print_columns([["", *figures], *([name, *(spread(measured[name].get(figure, [])) for figure in figures)]
                                             for name in measured)])
            return
        for figure in figures:
            compared = any(measured.ratios(name, reference, figure) for name in measured)
            ratio = f"ratio to {reference}" if compared else ""
            rows = [[f"\n{what + ', ' if what else ''}{figure}", "least", "median", "most", ratio]]
            for name in measured:
                values = measured.values_of(name, figure)
                if not all(isinstance(value, (int, float)) for value in values):
                    rows.append([f"  {name}", "", str(values[-1]), "", ""])
                elif values:
                    ratios = measured.ratios(name, reference, figure) if ratio and name != reference else []
                    rows.append([f"  {name}", *map(short, (min(values), median(values), max(values))),
                                 spread(ratios) if ratios else ""])
            print_columns(rows)

    def table(self, what, rows):
        """A table of dictionaries that have the same keys."""
        self.record["tables"].append({"what": what, "rows": rows})
        print(f"\n{what}")
        if rows:
            print_columns([list(rows[0]), *([short(value) for value in row.values()] for row in rows)])

    def stoker(self, *words, **more):
        """The program's command in the temporary folder, to its end."""
        return stoker(*words, **{"cwd": self.folder, "timeout": None} | more)

    def json(self, *words, **more):
        return json.loads(self.stoker(*words, "--json", **more).stdout)

    def train(self, config, *overrides, ranks=1, **more):
        """(summary, run directory) of a training; config: a file's name, or the text for one."""
        if "\n" in str(config):
            (self.folder / "experiment.yaml").write_text(config)
            config = "experiment.yaml"
        how = ["launch", "--ranks", ranks] if ranks > 1 else ["train", "--quiet"]
        summary = self.json(*how, config, *overrides, **more)
        return summary, self.folder / summary["run_directory"]

    def child(self, function, *arguments, python=None, env=()):
        """What a function of the experiment's module gives in a Python process of its own."""
        words = [python or sys.executable, "-B", HERE / "run.py", "--child", self.name, function.__name__,
                 json.dumps(arguments)]
        done = subprocess.run(list(map(str, words)), env={**os.environ, **dict(env)}, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise CannotMeasure(f"exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout.splitlines()[-1])


def explain(error):
    return str(error)[-700:] or type(error).__name__


def conditions():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"cpu": cpu[1] if cpu else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "load": os.getloadavg()[0], "program": STOKER,
            "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000}


def timed(call):
    """(what it gives, seconds, seconds of the processors in child processes)."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before, begin = used(), time.monotonic()
    result = call()
    return result, time.monotonic() - begin, used() - before


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def raw_images(folder, count, side, classes=4):
    """Files of raw pixels, named as if they were images."""
    noise = random.Random(1)
    for number in range(count):
        path = folder / f"class{number % classes}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise.randbytes(side * side * 3))


def cached(path):
    """The share of a file, or of all files below a folder, that is in the page cache."""
    return json.loads(stoker("cold", path, "--json", cwd="/").stdout)["total"]["cached_share"]


def evict(*paths):
    """Drops files from the page cache; CannotMeasure where some stay."""
    done = stoker("cold", "--evict", *paths, cwd="/", code=None)
    if done.returncode:
        raise CannotMeasure(f"not cold: {done.stdout}{done.stderr}"[-500:])


def wheel():
    """Our Python package, of the build beside the program, in the place of the module of tests/support."""
    for name in [name for name in sys.modules if name.split(".")[0] == "stoker"]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if path != str(TESTS / "support")]
    sys.path.insert(0, str(BUILD / "python"))
    return importlib.import_module("stoker")


def add_option(parser, name, default):
    text = None
    if isinstance(default, tuple):
        default, text = default
    flag = "--" + name.replace("_", "-")
    how = {"default": default, "type": str if default is None else type(default)}
    if isinstance(default, bool):
        how = {"action": "store_true"}
    elif isinstance(default, dict):
        how = {"default": next(iter(default)), "choices": default}
    elif isinstance(default, list):
        how = {"default": default, "type": type(default[0]), "nargs": "+"}
    parser.add_argument(flag, help=text, **how)


def arguments(name, module, words):
    parser = argparse.ArgumentParser(f"run.py {name}", description=module.__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=getattr(module, "ROUNDS", 3), help="each variant once in each")
    parser.add_argument("--only", default="", help="what has this regular expression in its name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", default=getattr(module, "BESIDE", None), help="where the temporary folder is made")
    parser.add_argument("--json", type=pathlib.Path, help="writes all values into this file")
    for option, default in getattr(module, "OPTIONS", {}).items():
        add_option(parser, option, default)
    if hasattr(module, "WORDS"):
        parser.add_argument("words", nargs="*", help=module.WORDS)
    return parser.parse_intermixed_args(words)


def experiment(name, words):
    """Runs one; the exit code."""
    module = importlib.import_module(name)
    given = arguments(name, module, words)
    if given.dir:
        os.makedirs(given.dir, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"stoker-{name}-", dir=given.dir, ignore_cleanup_errors=True) as folder:
        lab = Lab(name, given, pathlib.Path(folder).resolve())
        print(f"{name}: {given.rounds} round(s) on {lab.record['conditions']}", flush=True)
        try:
            module.run(lab)
        except FAILURES as error:
            lab.left_out(name, explain(error))
        finally:
            lab.record["load_after"] = os.getloadavg()[0]
            if given.json:
                given.json.write_text(json.dumps(lab.record, indent=1, default=str))
    print(f"load {lab.record['conditions']['load']:.1f} before, {lab.record['load_after']:.1f} after")
    return NOT_MEASURED if lab.record["failed"] else 0
