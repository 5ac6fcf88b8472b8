"""kill -9 and SIGTERM of one rank, of the first, of all, of the launcher, at any instant: nothing acknowledged is lost, after SIGTERM
no finished step is, and the result is the same.

tests/run distributed/rank_kills_test              2 kills and 2 SIGTERM, 20 of each with STOKER_LONG=1 (ctest)
tests/run distributed/rank_kills_test --kills N    N kills, and whom they hit; [--seed S]
tests/run distributed/rank_kills_test --terms N    the same with SIGTERM

--direct does without a fast tier, whose drains take long on a busy machine.
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

from stoker import LONG, Process, configuration, long, posix

RANKS = 2
STEPS = 30
STOPPED = 75
# How a launch that was struck may end. 6: a rank died, and if it was by SIGTERM, before it could take that.
CODES = {signal.SIGKILL: (0, 6), signal.SIGTERM: (0, STOPPED, 6, -signal.SIGTERM)}
CONFIG = configuration(
    dataset="{type: image_folder, storage: data}", decoder="{type: jpeg, size: 64}",
    loader="{type: prefetched, batch_size: 16, workers: 1, digest: true}", model="{type: linear}",
    optimizer="{type: sgd, lr: 0.001, momentum: 0.9}", training=f"{{epochs: 100, max_steps: {STEPS}, threads: 1}}",
    evaluation="{enabled: false}", distributed="{timeout: 20s}",
    checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 2, snapshot: async, slots: 2, "
               "directory: sets, resume: latest, keep_last: 3}")


class Campaign:
    """Runs of two ranks, killed and started again until they complete. Collects violations."""

    def __init__(self, directory, seed, number=signal.SIGKILL, direct=False):
        self.number = number
        self.first_tier = "slow" if direct else "fast"
        self.directory = pathlib.Path(directory)
        self.random = random.Random(seed)
        self.config = self.directory / "trial.yaml"
        self.config.write_text(CONFIG)
        self.kills = self.completed = self.chain = 0  # kills: signals of either kind
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
        if self.first_tier == "slow":
            own.append("checkpoint.type=direct")
        return Process(["launch", "-n", RANKS, self.config, *own, f"checkpoint.snapshot={snapshot}"], self.directory)

    def result(self):
        """Every byte of the last set on the slow tier, but for what names the process."""
        last = self.tiers() / "slow" / "sets" / f"step-{STEPS:010}"
        return [file.read_bytes() for file in sorted(last.glob("*.safetensors"))]

    def expect(self, holds, what, process):
        if not holds:
            self.violations.append(f"{self.number.name} {self.kills}: {what}\n{process.log}")

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
        targets = [("the first", ranks[:1]), ("another", ranks[1:]), ("all", ranks)]
        if self.number == signal.SIGTERM:
            targets.append(("the launcher", [process.child.pid]))
        whom, victims = self.random.choice(targets)
        for victim in victims:
            os.kill(victim, self.number)
        self.kills += 1
        when = "between saves" if f"on tier '{self.first_tier}'" in process.log else "before a save"
        self.hits[f"{whom}, {when}"] += 1

    def run_one(self, strikes=True):
        process = self.start(self.random.choice(["async", "swap"]))
        if not strikes:
            process.wait()
        elif self.random.random() < 0.5:  # else in the start, where that takes long
            process.wait_for(f"on tier '{self.first_tier}'")
            time.sleep(self.random.uniform(0, 0.2) * self.takes)
        else:
            time.sleep(self.random.uniform(0.2, 1.1) * self.takes)
        struck = self.kills
        if process.child.poll() is None:
            self.strike(process)
        code = process.wait()
        log = process.log
        resumed = re.search(r"resumed from .* \(step (\d+)", log)
        begun = int(resumed[1]) if resumed else 0
        if "steps" in log or resumed:
            self.expect(begun >= self.acknowledged, f"begun at step {begun}, {self.acknowledged} was acknowledged", process)
        saved = [int(step) for step in re.findall(rf"checkpoint of step (\d+): .* on tier '{self.first_tier}'", log)]
        stopped = [int(step) for step in re.findall(r"stopped by a signal .*after step (\d+)", log)]
        self.expect(code in CODES[self.number], f"exit code {code}", process)
        self.acknowledged = max([self.acknowledged, *saved, *stopped])
        if struck == self.kills or code == 0:
            self.expect(code == 0, f"exit code {code}", process)
            self.expect(self.result() == self.reference, "another result", process)
            self.completed += 1
            self.begin_chain()

    def run(self, kills):
        while self.kills < kills:
            self.run_one()
        if self.completed == 0:  # by chance alone it may take very long
            self.run_one(strikes=False)
        return self


class RankKills(unittest.TestCase):
    def check(self, *how):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            campaign = Campaign(directory, 1, *how).run(20 if LONG else 2)
        self.assertEqual(campaign.violations, [])

    def test_no_kill_of_any_rank_loses_anything(self):
        self.check(signal.SIGKILL)

    @long
    def test_a_request_to_end_loses_no_finished_step(self):
        self.check(signal.SIGTERM, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    number = parser.add_mutually_exclusive_group(required=True)
    number.add_argument("--kills", type=int)
    number.add_argument("--terms", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--direct", action="store_true")
    arguments = parser.parse_args()
    number = signal.SIGKILL if arguments.kills else signal.SIGTERM
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
        campaign = Campaign(directory, arguments.seed, number, arguments.direct).run(arguments.kills or arguments.terms)
    print(f"{campaign.kills} {number.name}, {campaign.completed} runs completed, {len(campaign.violations)} violations")
    for place, count in campaign.hits.most_common():
        print(f"{count:6}  {place}")
    print(*campaign.violations, sep="\n")
    return 1 if campaign.violations else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith(("--kills", "--terms")):
        sys.exit(main())
    unittest.main()
