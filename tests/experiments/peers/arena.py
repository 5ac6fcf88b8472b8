#!/usr/bin/env python3
"""Loaders side by side: runs the commands of an arena file (arena.yaml here), interleaved, one at a time, and prints a table.

arena.py [ARENA.yaml] [key=value ...] [--rounds N] [--workers 1,2] [--only a,b] [--pixels] [--report-only] [--restart] [--json]

Each command measures itself and says so in a line of JSON, the last of its output that begins with {:
  images_per_s       a number, or an object with `median`; with the others, perhaps, in the only element of `results`
  rates              images/s of each measured epoch
  cpu_s_per_1000     CPU seconds of its whole process tree per 1,000 images; or per_cpu_s, images per CPU second
  rss_mb, pss_mb     memory: the sum of the peaks of its processes; shared pages by their share
  mean, shape, layout, version
What it does not say is shown as "-". Results go to DIRECTORY/results.jsonl, a line per command as it ends; the same call goes on
where it was interrupted, and tries failures again. Exit codes: 0, 2 (arena file or arguments), 3 (a command failed, a file is
missing), 75 and 130 (stopped by SIGTERM, SIGINT). Needs PyYAML."""
import argparse
import dataclasses
import difflib
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import List

import yaml

from arena_table import compare_pixels, make_table, print_table, rate_of

HERE = pathlib.Path(__file__).resolve().parent
KILL_AFTER_S = 10


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# In commands, which /bin/sh runs from the current directory, are replaced: {workers} {epochs}, {data} (in `pixels`: the folder
# of the few files that are compared), {peers}, {stoker}, {here} (the arena file's folder) and in `pixels` {dump}, the .npy file.
@dataclasses.dataclass
class Entry:
    name: str
    work_class: str                 # entries of one class do the same work and are compared
    command: str
    workers: List[int] = ()    # instead of the arena's
    needs: str = ""            # a path; where it is absent, so is the entry
    install: str = ""          # what makes it be there, in words
    pixels: str = ""           # command that writes the pixels of the same files in sorted order
    reference: bool = False    # its class's pixels are compared with those of this entry
    buffers: str = ""          # of its batches: reused or fresh
    note: str = ""             # what else differs
    ours: bool = False         # it is Stoker's, as every command with {stoker} is

    def __post_init__(self):
        self.ours = self.ours or "{stoker}" in self.command


@dataclasses.dataclass
class Arena:
    name: str
    entries: List[Entry]
    data: str = ""
    peers: str = ""
    pixel_data: str = ""
    workers: List[int] = (1, 2)
    epochs: int = 3
    rounds: int = 3            # every command once in each, in an order of its own
    seed: int = 1              # of the orders
    timeout_s: float = 1200
    work: str = ""             # what every entry does, for the reader of the table


@dataclasses.dataclass(frozen=True)
class Run:
    entry: Entry
    workers: int
    round: int
    command: str
    hash: str  # of the command and, where it is ours, of the program: another build is measured anew

    __hash__ = object.__hash__

    def key(self):
        return self.entry.name, self.workers, self.round, self.hash


def build(kind, where, given):
    """A dataclass from what the file says, or a Failure that names the place."""
    if not isinstance(given, dict):
        raise Failure(2, f"{where}: expected keys and values")
    given = {"work_class" if key == "class" else key: value for key, value in given.items()}
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key, value in given.items():
        if key not in fields:
            close = difflib.get_close_matches(key, fields, 1)
            raise Failure(2, f"{where}: unknown key '{key}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
        wanted = {List[int]: list, List[Entry]: list, float: (int, float)}.get(fields[key].type, fields[key].type)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise Failure(2, f"{where}: '{key}' must not be {value!r}")
    for key, field in fields.items():
        if key not in given and field.default is dataclasses.MISSING:
            raise Failure(2, f"{where}: '{key.replace('work_class', 'class')}' is missing")
    return kind(**given)


def read_arena(path, overrides):
    try:
        root = yaml.safe_load(path.read_text())
        for assignment in overrides:
            key, equals, value = assignment.partition("=")
            if not equals or not isinstance(root, dict):
                raise Failure(2, f"{assignment}: expected key=value")
            root[key] = yaml.safe_load(value)
    except OSError as error:
        raise Failure(3, f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise Failure(2, f"{path}: {error}") from error
    arena = build(Arena, path.name, root)
    arena.entries = [build(Entry, f"{path.name}: entries.{i}", entry) for i, entry in enumerate(arena.entries)]
    check(arena, path.name)
    for key in ("data", "peers", "pixel_data"):
        value = re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda m: os.environ.get(m[1]) or m[2] or "", getattr(arena, key))
        setattr(arena, key, os.path.abspath(value) if value else "")
    return arena


def check(arena, where):
    if not re.fullmatch(r"[^./][^/]{0,99}", arena.name):
        raise Failure(2, f"{where}: 'name' must be usable as the name of a directory, got '{arena.name}'")
    for key in ("rounds", "epochs", "timeout_s"):
        if getattr(arena, key) < 1:
            raise Failure(2, f"{where}: '{key}' must be at least 1")
    names, references = set(), set()
    for i, entry in enumerate(arena.entries):
        at = f"{where}: entries.{i}"
        if not entry.name or entry.name in names:
            raise Failure(2, f"{at}: 'name' must be given once, got '{entry.name}' again")
        names.add(entry.name)
        if entry.reference and not entry.pixels:
            raise Failure(2, f"{at}: 'reference' needs 'pixels', which writes them")
        if entry.reference and entry.work_class in references:
            raise Failure(2, f"{at}: 'reference' must be said once in a class, got two in '{entry.work_class}'")
        if entry.reference:
            references.add(entry.work_class)
    if not names:
        raise Failure(2, f"{where}: 'entries' must not be empty")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def replaced(text, values, quote=shlex.quote):
    return re.sub(r"\{(\w+)\}", lambda m: quote(str(values[m[1]])) if m[1] in values else m[0], text)


class Plan:
    """The runs in their order, and who is there."""

    def __init__(self, arena, arguments):
        self.arena, self.arguments = arena, arguments
        self.values = dict(data=arena.data, peers=arena.peers, here=arguments.file.resolve().parent, epochs=arena.epochs,
                           stoker=arguments.stoker)

    def selected(self, entry):
        return not self.arguments.only or any(part in entry.name or part == entry.work_class for part in self.arguments.only)

    def is_there(self, entry):
        return not entry.needs or os.path.exists(replaced(entry.needs, self.values, str))

    def build(self):
        """Tells builds of ours apart."""
        program = pathlib.Path(self.arguments.stoker)
        if not program.exists():
            return ""
        libraries = re.findall(r"=> (\S*libstoker\S*)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout)
        return str([os.stat(path).st_mtime_ns for path in (program, *libraries)])

    def runs(self):
        """Every selected command once a round, each round in another order, which is a function of the seed."""
        every, own = [], self.build()
        for entry in filter(self.selected, self.arena.entries):
            for workers in entry.workers or self.arena.workers:
                if self.arguments.workers and workers not in self.arguments.workers:
                    continue
                command = replaced(entry.command, {**self.values, "workers": workers})
                every.append(Run(entry, workers, 0, command, digest(command + own * entry.ours)))
        if not every:
            raise Failure(2, f"arena '{self.arena.name}': nothing is left to run; see the names, classes and workers of its "
                             "file for --only and --workers")
        for number in range(self.arena.rounds):
            order = [dataclasses.replace(run, round=number) for run in every]
            random.Random(self.arena.seed * 1000003 + number).shuffle(order)
            yield from order

    def pixel_runs(self, file_of):
        """The selected entries with `pixels`, once each, and the references of their classes."""
        classes = {entry.work_class for entry in self.arena.entries if self.selected(entry)}
        for entry in self.arena.entries:
            if entry.pixels and (self.selected(entry) or (entry.reference and entry.work_class in classes)):
                values = {**self.values, "data": self.arena.pixel_data, "workers": 1, "dump": file_of(entry)}
                yield Run(entry, 1, 0, replaced(entry.pixels, values), "")


class Results:
    """A line of JSON per run, appended. A line that was broken off is left out, and stays alone on its line."""

    def __init__(self, path):
        self.path, self.rows = path, []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                self.rows.append(json.loads(line))
            except ValueError:
                pass

    def add(self, row):
        broken = self.path.exists() and not self.path.read_text().endswith("\n") and self.path.stat().st_size > 0
        with open(self.path, "a") as file:
            file.write("\n" * broken + json.dumps(row) + "\n")
        self.rows.append(row)

    def of(self, run):
        """The row of a run: the one that went well, else the last that failed, else None."""
        same = [row for row in self.rows if (row["entry"], row["workers"], row["round"], row["hash"]) == run.key()]
        return next((row for row in same if not row["error"]), same[-1] if same else None)


def last_object(text):
    for line in reversed(text.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows = value.get("results")  # `stoker bench read` has a row for each number of threads
            return {**value, **rows[0]} if isinstance(rows, list) and len(rows) == 1 else value
    return {}


class Runner:
    """Runs commands, one at a time. A failure is a result. `stopped`: the signal that ended it, else None."""

    def __init__(self, arena, directory):
        self.arena, self.directory, self.stopped = arena, directory, None
        for folder in ("logs", "pixels"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)

    def stop(self, number, _):
        self.stopped = number

    def run(self, run, log):
        """The row, or None where a signal came."""
        row = dict(entry=run.entry.name, workers=run.workers, round=run.round, hash=run.hash, load=os.getloadavg()[0])
        begun, asked, late, output = time.monotonic(), None, False, self.directory / "output.txt"
        with open(log, "w") as errors, open(output, "w") as out:
            # A process group, which ends with this script: nothing that a peer leaves behind may disturb the next.
            child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", run.command], stdout=out, stderr=errors,
                                     start_new_session=True)
            while child.poll() is None:
                time.sleep(0.05)
                late = late or time.monotonic() - begun > self.arena.timeout_s
                if asked is None and (late or self.stopped):
                    os.killpg(child.pid, signal.SIGTERM)
                    asked = time.monotonic()
                if asked is not None and time.monotonic() - asked > KILL_AFTER_S:
                    os.killpg(child.pid, signal.SIGKILL)
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.stopped:
            return None
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        said = (log.read_text(errors="replace").split("\n") if code else [])
        said = next((line.strip() for line in reversed(said) if line.strip()), "said nothing")
        error = f"took longer than {self.arena.timeout_s:g} s" if late else f"exit code {code}: {said}" if code else ""
        return dict(row, exit_code=code, error=error, seconds=time.monotonic() - begun,
                    output=last_object(output.read_text(errors="replace")))

    def measure(self, plan, runs, results):
        """Everything that is there and has not been run well."""
        for number, run in enumerate(runs):
            done = results.of(run)
            if not plan.is_there(run.entry) or (done and not done["error"]):
                continue
            place = self.arena.entries.index(run.entry)
            row = self.stopped or self.run(run, self.directory / f"logs/{place:03}-{run.workers}-{run.round}.log")
            if self.stopped:
                return
            if not row["error"] and rate_of(row["output"]) is None:
                row["error"] = "it printed no JSON with images_per_s"
            results.add(row)
            outcome = f"FAILED, {row['error']}" if row["error"] else f"{rate_of(row['output']):.0f} images/s"
            say(f"[{number + 1}/{len(runs)}] {run.entry.name} workers={run.workers} round {run.round}: {outcome} "
                f"({row['seconds']:.0f} s)")

    def write_pixels(self, plan, file_of):
        """The failures."""
        for run in plan.pixel_runs(file_of):
            if not plan.is_there(run.entry):
                continue
            file_of(run.entry).unlink(missing_ok=True)
            row = self.stopped or self.run(run, self.directory / f"logs/{self.arena.entries.index(run.entry):03}-pixels.log")
            if self.stopped:
                return
            error = row["error"] or ("" if file_of(run.entry).exists() else "it wrote no pixels")
            say(f"pixels of {run.entry.name}: " + (f"FAILED, {error}" if error else "written"))
            if error:
                yield dict(name=run.entry.name, workers=1, round=0, error="pixels: " + error)


def say(line):
    print(line, file=sys.stderr, flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="ARENA.yaml | key=value", help="the arena file; values in the place of its own")
    parser.add_argument("--stoker", default=shutil.which("stoker") or str(HERE.parents[2] / "build/bin/stoker"))
    parser.add_argument("--rounds", type=int, help="every command once in each")
    parser.add_argument("--epochs", type=int, help="measured epochs of each command")
    parser.add_argument("--workers", type=lambda text: [int(n) for n in text.split(",")], help="only these numbers: 1,2")
    parser.add_argument("--only", type=lambda text: text.split(","), help="only these: parts of names, or classes")
    parser.add_argument("--directory", type=pathlib.Path, help="of the results; default arenas/NAME")
    parser.add_argument("--pixels", action="store_true", help="first compare the pixels of each with its class's reference")
    parser.add_argument("--restart", action="store_true", help="throw away what was measured and begin anew")
    parser.add_argument("--report-only", action="store_true", help="run nothing; print what is there")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_intermixed_args()
    arguments.overrides = [word for word in arguments.words if "=" in word]
    arguments.overrides += [f"{key}={value}" for key in ("rounds", "epochs") if (value := getattr(arguments, key)) is not None]
    files = [word for word in arguments.words if "=" not in word]
    if len(files) > 1:
        parser.error(f"one arena file, not {len(files)}")
    arguments.file = pathlib.Path(files[0] if files else HERE / "arena.yaml")
    return arguments


def main():
    arguments = parse()
    arena = read_arena(arguments.file, arguments.overrides)
    plan = Plan(arena, arguments)
    runs = list(plan.runs())
    directory = arguments.directory or pathlib.Path("arenas") / arena.name
    file_of = lambda entry: (directory / f"pixels/{digest(entry.name)}.npy").absolute()
    if arguments.restart:
        (directory / "results.jsonl").unlink(missing_ok=True)
    results, failed, stopped = Results(directory / "results.jsonl"), [], None
    if not arguments.report_only:
        runner = Runner(arena, directory)
        if arguments.pixels:
            failed += runner.write_pixels(plan, file_of)
        runner.measure(plan, runs, results)
        stopped = runner.stopped
    compared = directory / "pixels/differences.json"
    if arguments.pixels and not stopped:
        compared.parent.mkdir(parents=True, exist_ok=True)
        compared.write_text(json.dumps(compare_pixels(arena, file_of)))
    pixels = json.loads(compared.read_text()) if compared.exists() else {}
    table = make_table(arena, plan, runs, results, pixels, failed)
    if arguments.json:
        print(json.dumps(table))
    else:
        print_table(arena, table)
        print(f"results: {results.path}")
    return {None: 3 if table["failed"] else 0, signal.SIGTERM: 75, signal.SIGINT: 130}[stopped]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        say(f"error: {failure}")
        sys.exit(failure.code)
