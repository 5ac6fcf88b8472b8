#!/usr/bin/env python3
"""One system call on a file of a whole training fails once: of its configuration, data, run directory, sinks and tiers.

tests/run app/train/file_faults_test          a sample; with STOKER_LONG=1 every call with each error (ctest)
tests/run app/train/file_faults_test --table  every call, and how the runs ended, by place and error

The training goes on from a checkpoint. Whatever fails: it ends, by no signal and not as a bug; with exit code 0
everything is there that is there without the fault, else it says why; and what it calls saved is there, bit for bit.
"""
import collections
import concurrent.futures
import errno
import filecmp
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

import file_faults
from stoker import LONG, MINI, PATIENCE_S, STOKER, configuration, posix, read_summary

SAMPLE = 10
FIRST, LAST = 2, 4  # steps of the run before, and of this one
ENDS_WITH = {0, 3, 4, 5}
TIERS = ("fast", "slow")
CLASSES = ("Faces_easy", "ketch")
CONFIG = configuration(
    tiers={"data": posix("data"), "fast": posix("fast"), "slow": posix("slow")},
    dataset="{type: image_folder, storage: data, split: {train_per_class: 2, test_per_class: 1}}",
    decoder="{type: jpeg, size: 16}", loader="{type: sync, batch_size: 2, digest: true}", optimizer="{type: adam}",
    training="{epochs: 2, deterministic: true, threads: 1}",
    checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 1, threads: 1, "
               "retry_seconds: 0.01, resume: latest}",
    metrics="{every_steps: 1, sinks: [{type: console}, {type: csv}, {type: jsonl}, {type: timeline, seconds: 0.05}, "
            "{type: trace}, {type: timelogger}, {type: tensorboard}, {type: prometheus, port: auto, save_seconds: 1}]}")
PLACES = {"trial.yaml": "configuration", "data": "data", "fast": "checkpoints", "slow": "checkpoints"}
SINKS = ("steps.", "timeline.", "trace.", "timelogger.", "events.", "metrics.", "targets.", "/.tmp-")


def place(path):
    """What a file belongs to."""
    if path.startswith("runs/"):
        return "sinks" if any(sink in path for sink in SINKS) else "run directory"
    return PLACES.get(path.split("/")[0], "run directory")


class Sweep:
    """The run without a fault, and runs with one."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.template = self.dir / "template"
        for kind in CLASSES:
            (self.template / "data" / kind).mkdir(parents=True)
            for image in sorted((MINI / kind).iterdir())[:3]:
                shutil.copy(image, self.template / "data" / kind)
        (self.template / "trial.yaml").write_text(CONFIG)
        first = self.train(self.template, dict(os.environ), f"training.max_steps={FIRST}")
        if first.returncode != 0:
            raise AssertionError(first.stderr)
        shutil.rmtree(self.template / "runs")
        self.states = self.dir / "states"
        self.run_in(self.states, dict(os.environ), "checkpoint.keep_last=9")
        self.good, log = self.dir / "good", self.dir / "calls"
        done = self.run_in(self.good, file_faults.environment(self.good, log))
        if done.returncode == 125:
            raise unittest.SkipTest(f"this process may not filter system calls: {done.stderr.strip()}")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        self.faults = list(file_faults.all_faults(log))
        self.numbers = itertools.count()

    @staticmethod
    def train(where, environment, *overrides):
        return subprocess.run([STOKER, "train", "trial.yaml", *overrides], cwd=where, env=environment, timeout=PATIENCE_S,
                              capture_output=True, text=True, check=False)

    def run_in(self, where, environment, *overrides):
        shutil.copytree(self.template, where, symlinks=True)
        return self.train(where, environment, f"training.max_steps={LAST}", *overrides)

    def sample(self, count):
        """As many of each place; always the same."""
        taken = collections.Counter()

        def turn(fault):
            taken[place(fault.path)] += 1
            return taken[place(fault.path)]

        return sorted(sorted(self.faults, key=lambda fault: zlib.crc32(repr(fault).encode())), key=turn)[:count]

    def try_out(self, fault):
        """(exit code or None, what is wrong)"""
        where = self.dir / f"run-{next(self.numbers)}"
        log = where.with_suffix(".log")
        try:
            done = self.run_in(where, file_faults.environment(where, log, fault))
        except subprocess.TimeoutExpired:
            return None, [f"it did not end within {PATIENCE_S} s"]
        if not log.exists() or not log.read_text():
            return None, []  # threads came in another order: the call was not made
        wrong = list(self.violations(where, done, fault))
        if wrong:
            wrong.append(done.stdout + done.stderr)
        shutil.rmtree(where)
        log.unlink()
        return done.returncode, wrong

    def violations(self, where, done, fault):
        code = done.returncode
        if code not in ENDS_WITH:
            yield f"exit status {code}"
        if code != 0 and not re.search(r"^error: \S+ \S+", done.stderr, re.MULTILINE):
            yield f"exit code {code} without a reason"
        if fault.error == errno.EINTR and code != 0:
            yield "EINTR is no failure"
        run = next(iter((where / "runs").glob("trial-*")), None)
        summary = read_summary(run) if run and (run / "summary.json").exists() else {}
        if summary and summary["exit_code"] != code:
            yield f"exit code {code}, in the summary {summary['exit_code']}"
        yield from self.wrong_sets(where, summary)
        if code == 0:
            yield from self.missing(where, run, summary, done)

    def wrong_sets(self, where, summary):
        """What is on the tiers and is not as it would be without a fault; and what was called saved and is not there."""
        there = {tier: {int(path.name[5:]): path for path in (where / tier / "trial").glob("step-*")} for tier in TIERS}
        for tier, step, path in ((tier, step, path) for tier in TIERS for step, path in there[tier].items()):
            text = (path / "MANIFEST.json").read_text()
            covered, _, rest = text.rpartition('  "sha256"')
            if hashlib.sha256(covered.encode()).hexdigest() not in rest:
                yield f"{tier} {step}: the manifest is damaged"
            good = self.states / "slow/trial" / path.name
            if not filecmp.cmp(path / "state.safetensors", good / "state.safetensors", shallow=False):
                yield f"{tier} {step}: another state"
        every = {step for steps in there.values() for step in steps}
        report = summary.get("checkpoints", {})
        saved, durable = report.get("saved_step"), report.get("durable_step")
        if saved is not None and saved not in every:
            yield f"step {saved} was saved, and there are {sorted(every)}"
        if durable is not None and not any(step >= durable for step in there["slow"]):
            yield f"step {durable} was durable, and there are {sorted(there['slow'])}"
        if max(every, default=0) < FIRST:
            yield "what was saved before is gone"

    def missing(self, where, run, summary, done):
        """What exit code 0 promises and is not there."""
        if not summary or (summary["status"], summary["steps"]) != ("completed", LAST):
            yield "no summary of a completed run"
        if summary.get("checkpoints", {}).get("durable_step") != LAST:
            yield "the last step is not durable"
        good = next((self.good / "runs").glob("trial-*"))
        for path in good.iterdir():
            pattern = file_faults.general(path.name)
            found = next(iter(run.glob(pattern)), None)
            if found is None:
                yield f"{path.name} is missing"
            elif path.name in ("digests.csv", "overrides") and found.read_bytes() != path.read_bytes():
                yield f"{path.name} differs"
            elif path.name in ("steps.csv", "steps.jsonl") and lines(found) != lines(path):
                yield f"{path.name} has {lines(found)} lines"
            elif path.suffix == ".json":
                json.loads(found.read_text())
        if (where / "runs/latest").resolve() != run.resolve() and "latest is not its directory" not in done.stderr:
            yield "latest is another run"
        told = re.findall(r"^\d\d:\d\d:\d\d \w+ (.*)$", done.stderr, re.MULTILINE)
        written = [" ".join(line.split(" ")[2:]) for line in (run / "log.txt").read_text().splitlines()]
        if not set(told[-5:]) <= set(written):
            yield f"log.txt lacks {set(told[-5:]) - set(written)}"


def lines(path):
    return path.read_text().count("\n")


class FileFaultsTest(unittest.TestCase):
    def test_every_call_may_fail_once(self):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            sweep = Sweep(directory)
            chosen = sweep.faults if LONG else sweep.sample(SAMPLE)
            outcomes, wrong = collections.defaultdict(collections.Counter), []
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for fault, (code, violations) in zip(chosen, pool.map(sweep.try_out, chosen)):
                    outcomes[place(fault.path), file_faults.name(fault.error)][code] += 1
                    if violations:
                        wrong.append("\n".join([f"{fault}:", *violations]))
            print_table(outcomes, len(sweep.faults))
            self.assertEqual(wrong[:10], [], "\n\n".join(wrong[:10]))


def print_table(outcomes, faults):
    tried = sum(map(collections.Counter.total, outcomes.values()))
    print(f"{tried} of {faults} faults tried; exit code: runs (-: the call was not made)")
    for (where, error), codes in sorted(outcomes.items()):
        ends = ", ".join(f"{'-' if code is None else code}: {count}"
                         for code, count in sorted(codes.items(), key=lambda item: str(item[0])))
        print(f"{where:14} {error:7} {ends}")
    sys.stdout.flush()


if __name__ == "__main__":
    if "--table" in sys.argv:
        sys.argv.remove("--table")
        LONG = True
    unittest.main(verbosity=2)
