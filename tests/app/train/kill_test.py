"""kill -9 at any instant: nothing committed is lost, nothing bad is resumed from, the result is the same.

tests/run app/train/kill_test                        3 kills, 50 with STOKER_LONG=1 (ctest)
tests/run app/train/kill_test --kills N [--jobs J]   N kills, J processes at a time, and where they hit;
                              [--seed S] [--size P]  size 208: 16 MB a set
                              [--bucket]  the slow tier has objects and no files
                              [--server moto|swift]  it is a bucket of that server
"""
import argparse
import collections
import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import unittest

import object_servers
from checkpointed_run import BucketExperiment, Experiment, ServerExperiment, reached, slowed, timed
from stoker import LOADERS, LONG, long, objects_only, posix

STEPS = 72
BURST = "checkpoint.type=burst_buffer"
FIXED = ["training.epochs=4", "checkpoint.every_steps=3"]


class Campaign:
    """Chains of killed processes, each to its completion. Collects violations instead of stopping."""

    def __init__(self, experiment, seed, size, slow=posix):
        self.random = random.Random(seed)
        self.experiment = experiment
        # Latencies widen the gaps between the operations of a commit, so that kills hit all of them.
        self.slowed = [slowed("fast", 100, 1), slowed("slow", 40, 2, over=slow)]
        self.types = [BURST, "checkpoint.type=direct"] if slow is posix else [BURST]
        self.fixed = [*FIXED, f"decoder.size={size}"]
        self.kills = self.completed = 0
        self.violations = []
        self.hits = collections.Counter()
        self.begin_chain()

    def begin_chain(self):
        self.experiment.forget()
        self.acknowledged = 0
        self.garbage = set()
        self.newest = 0

    def measure(self):
        """The uninterrupted run, with plain and with slowed tiers: the result, and how long a run takes."""
        self.times = {}
        for slow in (False, True):
            self.begin_chain()
            process, *self.times[slow] = timed(self.experiment, *self.fixed, *(self.slowed if slow else []))
        self.reference = self.result(process)
        self.begin_chain()

    def result(self, process):
        return process.summary["total"]["digest_chain"], self.experiment.state_digest(STEPS)

    def choice(self):
        pick = self.random.choice
        return [pick(self.types),
                f"checkpoint.snapshot={pick(['sync', 'async', 'swap'])}",
                f"loader.type={pick(LOADERS)}", f"loader.workers={pick([1, 2])}",
                "checkpoint.resume=latest"]

    def run_one(self):
        """A process that is killed somewhere in the time it needs, or gets to its end."""
        slow = self.random.random() < 0.6
        process = self.experiment.start(*self.fixed, *(self.slowed if slow else []), *self.choice())
        if reached(process, self.random, *self.times[slow], self.newest, STEPS):
            process.send(signal.SIGKILL)
        code = process.wait()
        before = len(self.violations)
        if code == -signal.SIGKILL:
            self.after_kill(process)
        else:
            self.after_end(process, code)
        if len(self.violations) > before:
            print(process.overrides, process.log, *self.violations[before:], sep="\n", file=sys.stderr)
            self.begin_chain()

    def finish(self):
        """The chain to its completion, without a kill: by chance alone it may take very long."""
        process = self.experiment.start(*self.fixed, *self.choice())
        self.after_end(process, process.wait())

    def expect(self, holds, what):
        if not holds:
            self.violations.append(f"kill {self.kills}: {what}")

    def common(self, process):
        """What holds after every process, however it ended."""
        self.expect("checkpoint not used" not in process.log, "a set was refused")
        self.expect("superseded" not in process.log, "a newer set was passed over")
        if process.trained:
            self.expect(process.resumed_step == self.newest,
                        f"resumed at step {process.resumed_step}; {self.newest} was there")
            left = self.garbage & self.experiment.garbage()
            self.expect(not left, f"garbage of an earlier process: {left}")
        self.acknowledged = max([self.acknowledged, *process.acknowledged])

    def after_kill(self, process):
        self.kills += 1
        self.hits[self.where(process)] += 1
        self.common(process)
        rows, code = self.experiment.verified()
        self.expect(code == (0 if rows else 3), f"checkpoint verify: exit code {code}")
        damaged = [row["damage"] for row in rows if not row["intact"]]
        self.expect(not damaged, f"damaged: {damaged}")
        self.newest = max((row["step"] for row in rows if row["intact"]), default=0)
        self.expect(self.newest >= self.acknowledged,
                    f"step {self.acknowledged} was acknowledged; the newest is {self.newest}")
        self.garbage = self.experiment.garbage()

    def after_end(self, process, code):
        self.common(process)
        self.expect(code == 0, f"exit status {code}")
        if code == 0:
            self.completed += 1
            self.expect(self.result(process) == self.reference, "another result")
            self.expect(not self.experiment.garbage(), "garbage after the end")
            self.expect(self.experiment.steps("slow")[-1:] == [STEPS], "not on the slow tier")
        self.begin_chain()

    def where(self, process):
        """What the process was doing, by what it left; the more telling first."""
        left = self.experiment.garbage() - self.garbage
        burst = BURST in process.overrides
        if any(name.startswith(".tmp-old") for _, name in left):
            return "removing an old set"
        if any(name.startswith(".tmp-latest") for _, name in left):
            return "pointing latest"
        unfinished = {tier for tier, name in left if name.startswith((".tmp-step", "step-"))}
        if unfinished:
            draining = burst and "slow" in unfinished
            saving = ("fast" if burst else "slow") in unfinished
            return "during a drain" if not saving else "during a save" + " and a drain" * draining
        if not process.trained:
            return "before training (start, restore)"
        if f" step {STEPS}/" in process.log:
            return "at the end (evaluation, last save, flush)"
        return "between saves" if process.acknowledged else "before the first save of this process"

    def run(self, kills):
        while self.kills < kills:
            self.run_one()
            if self.kills and self.kills % 100 == 0:
                print(f"{self.kills} of {kills} kills, {len(self.violations)} violations", file=sys.stderr, flush=True)
        return self


class Kill(unittest.TestCase):
    def test_no_kill_loses_anything(self):
        self.survives(50 if LONG else 3)

    @long
    def test_no_kill_loses_anything_where_sets_drain_to_objects(self):
        self.survives(50, bucket=True)

    def survives(self, kills, bucket=False):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            campaign = (Campaign(BucketExperiment(directory), 1, 64, objects_only) if bucket
                        else Campaign(Experiment(directory), 1, 64))
            campaign.measure()
            campaign.run(kills)
            self.assertEqual(campaign.kills, kills)
            campaign.finish()
        self.assertEqual(campaign.violations, [])


def campaign_of(arguments, directory, job, stack):
    at, how = pathlib.Path(directory) / str(job), (arguments.seed + job, arguments.size)
    if arguments.server:
        bucket = stack.enter_context(getattr(object_servers, arguments.server)())
        os.environ.update(bucket.environment)
        experiment = ServerExperiment(at, bucket)
        return Campaign(experiment, *how, experiment.slow)
    if arguments.bucket:
        return Campaign(BucketExperiment(at), *how, objects_only)
    return Campaign(Experiment(at), *how)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--bucket", action="store_true")
    parser.add_argument("--server", choices=("moto", "swift"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory, contextlib.ExitStack() as stack:
        campaigns = [campaign_of(arguments, directory, job, stack) for job in range(arguments.jobs)]

        def campaign(job):
            campaigns[job].measure()
            return campaigns[job].run(arguments.kills // arguments.jobs + (job < arguments.kills % arguments.jobs))

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(campaign, range(arguments.jobs)))
    violations = [violation for one in campaigns for violation in one.violations]
    print(f"{sum(one.kills for one in campaigns)} kills, {sum(one.completed for one in campaigns)} runs completed, "
          f"{len(violations)} violations")
    for place, count in sum((one.hits for one in campaigns), collections.Counter()).most_common():
        print(f"{count:6}  {place}")
    print(*violations, sep="\n")
    return 1 if violations else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("--kills"):
        sys.exit(main())
    unittest.main()
