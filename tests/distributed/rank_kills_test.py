"""kill -9 of one rank, of the first, of all, at any instant: nothing acknowledged is lost, the result is the same.

tests/run distributed/rank_kills_test              3 kills, 20 with STOKER_LONG=1 (ctest)
tests/run distributed/rank_kills_test --kills N    N kills, and whom they hit; [--seed S]
"""
import argparse
import collections
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time
import unittest

from stoker import LONG, Process, configuration, posix

RANKS = 2
STEPS = 30
CONFIG = configuration(
    dataset="{type: image_folder, storage: data}", decoder="{type: jpeg, size: 64}",
    loader="{type: prefetched, batch_size: 16, workers: 1, digest: true}", model="{type: linear}",
    optimizer="{type: sgd, lr: 0.001, momentum: 0.9}", training=f"{{epochs: 100, max_steps: {STEPS}, threads: 1}}",
    evaluation="{enabled: false}", distributed="{timeout: 20s}",
    checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 2, snapshot: async, slots: 2, "
               "directory: sets, resume: latest, keep_last: 3}")


class Campaign:
    """Runs of two ranks, killed and started again until they complete. Collects violations."""

    def __init__(self, directory, seed):
        self.directory = pathlib.Path(directory)
        self.random = random.Random(seed)
        self.config = self.directory / "trial.yaml"
        self.config.write_text(CONFIG)
        self.kills = self.completed = self.chain = 0
        self.violations = []
        self.hits = collections.Counter()
        begin = time.monotonic()
        process = self.start()
        if process.wait() != 0:
            raise AssertionError(process.log)
        self.takes = time.monotonic() - begin
        self.reference = self.result()
        self.begin_chain()

    def begin_chain(self):
        self.chain += 1
        self.acknowledged = 0

    def tiers(self):
        return self.directory / f"tiers-{self.chain}"

    def start(self, snapshot="async"):
        own = [f"storage.{tier}={posix(self.tiers() / tier)}" for tier in ("fast", "slow")]
        return Process(["launch", "-n", RANKS, self.config, *own, f"checkpoint.snapshot={snapshot}"], self.directory)

    def result(self):
        """Every byte of the last set on the slow tier, but for what names the process."""
        last = self.tiers() / "slow" / "sets" / f"step-{STEPS:010}"
        return [file.read_bytes() for file in sorted(last.glob("*.safetensors"))]

    def expect(self, holds, what, process):
        if not holds:
            self.violations.append(f"kill {self.kills}: {what}\n{process.log}")

    def ranks(self, process):
        """The process numbers of the ranks that run."""
        try:
            children = pathlib.Path(f"/proc/{process.child.pid}/task/{process.child.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in children.split()]

    def strike(self, process):
        ranks = self.ranks(process)
        if len(ranks) < RANKS:
            return
        whom, victims = self.random.choice([("the first", ranks[:1]), ("another", ranks[1:]), ("all", ranks)])
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        self.kills += 1
        when = "between saves" if "on tier 'fast'" in process.log else "before a save"
        self.hits[f"{whom}, {when}"] += 1

    def run_one(self):
        process = self.start(self.random.choice(["async", "swap"]))
        waited = self.random.uniform(0.2, 1.1) * self.takes
        time.sleep(waited)
        struck = self.kills
        if process.child.poll() is None:
            self.strike(process)
        else:
            self.takes = min(self.takes, waited)  # the first run was on a busier machine
        code = process.wait()
        log = process.log
        resumed = re.search(r"resumed from .* \(step (\d+)", log)
        begun = int(resumed[1]) if resumed else 0
        if "steps" in log or resumed:
            self.expect(begun >= self.acknowledged, f"begun at step {begun}, {self.acknowledged} was acknowledged", process)
        saved = [int(step) for step in re.findall(r"checkpoint of step (\d+): .* on tier 'fast'", log)]
        self.acknowledged = max([self.acknowledged, *saved])
        if struck == self.kills or code == 0:
            self.expect(code == 0, f"exit code {code}", process)
            self.expect(self.result() == self.reference, "another result", process)
            self.completed += 1
            self.begin_chain()

    def run(self, kills):
        while self.kills < kills or self.completed == 0:
            self.run_one()
        return self


class RankKills(unittest.TestCase):
    def test_no_kill_of_any_rank_loses_anything(self):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            campaign = Campaign(directory, seed=1).run(20 if LONG else 3)
        self.assertEqual(campaign.violations, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
        campaign = Campaign(directory, arguments.seed).run(arguments.kills)
    print(f"{campaign.kills} kills, {campaign.completed} runs completed, {len(campaign.violations)} violations")
    for place, count in campaign.hits.most_common():
        print(f"{count:6}  {place}")
    print(*campaign.violations, sep="\n")
    return 1 if campaign.violations else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("--kills"):
        sys.exit(main())
    unittest.main()
