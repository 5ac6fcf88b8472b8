"""SIGTERM while a run waits: whatever it waits for, it ends with 75 and the state of its last finished step.

tests/run app/train/stop_in_waits_test                        each wait once, and some random instants (ctest)
tests/run app/train/stop_in_waits_test --count N [--seed S]   N random instants; each has to end within grace_seconds + 2 s
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from checkpointed_run import RESUMED, CheckpointTest, Experiment, RanksTraining, step_line
from shortages import silent_disk
from sick_server import INDEX, sick_server
from stoker import MINI, configuration, emulated, long, posix

SIGTERM_EXIT = 75
GRACE_S = 5
BATCH = 8
LOADERS = ("sync", "threaded", "prefetched", "device_prefetched", "device_resident")
WAITED = "stopped by a signal while waiting for data, after step {}"


def config(**sections):
    return configuration(
        tiers={"ck": posix("ck")}, **{
            "loader": f"{{type: prefetched, batch_size: {BATCH}, workers: 2, shuffle: false}}",
            "decoder": "{type: jpeg, size: 32}", "training": "{epochs: 50, threads: 1, deterministic: true}",
            "evaluation": "{enabled: false}", "metrics": "{every_steps: 1}",
            "checkpoint": f"{{type: direct, slow: ck, every_steps: 1000, resume: latest, grace_seconds: {GRACE_S}}}"} | sections)


def newest_set(experiment):
    """The step of the newest set, all of which must be intact; 0 where there is none."""
    rows, _ = experiment.verified()
    assert all(row["intact"] for row in rows), rows
    return max((row["step"] for row in rows), default=0)


class WaitTest(CheckpointTest):
    """self.server has the data of the run."""
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(sick_server(MINI))
        self.run = self.experiment(config=config())

    def start(self, *overrides, tier=None, **options):
        return self.started(self.run, f"storage.data={tier or self.server.tier(**options)}", *overrides)

    def stops(self, process, step=None, said=None, number=signal.SIGTERM, code=SIGTERM_EXIT):
        """It ends because of the signal, and its last step is saved."""
        process.send(number)
        self.assertEqual(process.wait(), code, process.log)
        last = process.summary["steps"]
        if step is not None:
            self.assertEqual(last, step, process.log)
        self.assertEqual(newest_set(self.run), last, process.log)
        self.assertEqual(process.summary["status"], "stopped")
        self.assertIn((said or WAITED).format(last), process.log)
        return process

    def trained(self, process, steps):
        self.assertTrue(process.wait_for(step_line(steps)), process.log)
        return process

    def sick(self, process):
        """Waits until the server is sick. Which batches its answers were for depends on the workers, and so does the last step."""
        process.until(lambda: self.server.sick_reads > 0)
        self.last_step(process)
        return process

    def last_step(self, process):
        """Once it makes no more."""
        steps = None
        while (now := len(re.findall(step_line(r"\d+"), process.log))) != steps:
            steps = now
            time.sleep(2)
        return steps


class OfData(WaitTest):
    def test_that_a_web_server_does_not_send(self):
        self.server.fall_sick("hangs", after=5 * BATCH)
        process = self.sick(self.start())
        self.assertTrue(process.wait_for(r"waiting for data for 1\d s: tier 'data' \(\d operations under way\)"), process.log)
        last = self.stops(process).summary["steps"]
        self.server.fall_sick(None)
        after = self.trained(self.start(f"training.max_steps={last + 2}"), last + 2)
        self.assertEqual((after.wait(), after.resumed_step), (0, last), after.log)

    @long
    def test_with_every_loader(self):
        for loader in LOADERS:
            with self.subTest(loader=loader):
                self.run.forget()
                shutil.rmtree(self.run.dir / "ck", ignore_errors=True)
                self.server.reads = self.server.sick_reads = 0
                self.server.fall_sick("hangs", after=5 * BATCH)
                other = ["device={type: emulated, step_ms: 5}"] if loader == "device_prefetched" else []
                self.stops(self.sick(self.start(f"loader.type={loader}", *other)))

    @long
    def test_that_a_server_promises_for_later(self):
        self.server.fall_sick("busy", after=3 * BATCH)
        self.stops(self.sick(self.start(retries=50)))

    @long
    def test_that_a_server_breaks_off_again_and_again(self):
        self.server.fall_sick("drops", after=3 * BATCH)
        self.stops(self.sick(self.start(retries=100)))

    def test_of_a_tier_that_is_slow(self):
        """30 s a read: there is no step, and the set is that of the beginning."""
        process = self.start(tier=emulated(read_latency_ms=30000, queue_depth=1))
        self.assertTrue(process.wait_for("training samples and .* test samples?"), process.log)
        self.stops(process, 0, "after step {}")  # it may come before the wait
        self.assertNotIn("tier 'ck'", process.log.split("stopped by a signal")[0])

    @long
    def test_of_copies_of_a_slow_tier(self):
        slow = emulated(read_latency_ms=30000, queue_depth=1)
        process = self.start(tier=f"{{type: cached, inner: {slow}, fill: both}}")
        self.assertTrue(process.wait_for("training samples and .* test samples?"), process.log)
        self.stops(process, 0, "after step {}")  # it may come before the wait

    @long
    def test_of_shards_that_are_read_ahead(self):
        self.run.stoker("dataset", "convert", self.run.config, "shards", "--format", "tar_shards", "--shard-size", "1MiB")
        process = self.start("dataset={type: tar_shards, storage: data, train: 'train-*.tar'}", "loader.shuffle=true",
                             "loader.order=shards", "loader.window=20",
                             tier=emulated(self.run.dir / "shards", read_latency_ms=1500, queue_depth=1))
        self.assertTrue(process.wait_for("training samples and .* test samples?"), process.log)
        self.stops(process, said="after step {}")  # it may come before the wait

    def test_in_the_evaluation(self):
        self.server.fall_sick("hangs", of=lambda key: self.server.reads > 3 * BATCH and key != INDEX)
        process = self.trained(self.start("training.max_steps=3", "evaluation.enabled=true", "loader.type=sync"), 3)
        self.stops(process, 3, said="stopped by a signal in the evaluation, which will be done anew")

    @long
    def test_by_other_signals(self):
        self.server.fall_sick("hangs", after=2 * BATCH)
        self.stops(self.sick(self.start()), number=signal.SIGUSR1)
        shutil.rmtree(self.run.dir / "ck")
        self.server.reads = self.server.sick_reads = 0
        self.stops(self.sick(self.start()), number=signal.SIGINT, code=130)


class OfCalls(WaitTest):
    """A system call cannot be interrupted: the run ends without the thread that is in it."""
    def test_of_a_file_system_that_is_gone(self):
        silent = silent_disk(self, self.here / "silent")
        data = self.run.dir / "data"
        data.symlink_to(MINI)
        process = self.trained(self.start("loader.workers=3", tier=posix("data")), 3)
        os.symlink(silent, self.run.dir / "other")
        os.replace(self.run.dir / "other", data)
        last = self.last_step(process)
        self.stops(process, last)

    @long
    def test_of_the_trainer_itself(self):
        """`sync` reads by the trainer's own thread: nothing is saved, and it ends all the same."""
        silent = silent_disk(self, self.here / "silent")
        data = self.run.dir / "data"
        data.symlink_to(MINI)
        process = self.trained(self.start("loader.type=sync", "checkpoint.grace_seconds=1", tier=posix("data")), 3)
        os.symlink(silent, self.run.dir / "other")
        os.replace(self.run.dir / "other", data)
        self.last_step(process)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), SIGTERM_EXIT, process.log)
        self.assertIn("has not ended within checkpoint.grace_seconds (1 s)", process.log)


class BeforeTheFirstStep(WaitTest):
    def test_while_the_data_set_is_listed(self):
        self.server.fall_sick("hangs", of=lambda key: key == INDEX)
        process = self.start()
        process.until(lambda: self.server.sick_reads > 0)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), SIGTERM_EXIT, process.log)
        self.assertIn("stopped by a signal before the first step", process.log)

    @long
    def test_while_shards_are_scanned(self):
        self.run.stoker("dataset", "convert", self.run.config, "shards", "--format", "tar_shards", "--shard-size", "200KiB")
        for index in (self.run.dir / "shards").glob("*.index.json"):
            index.unlink()
        process = self.start("dataset={type: tar_shards, storage: data, train: 'train-*.tar'}",
                             tier=emulated(self.run.dir / "shards", read_latency_ms=30000, queue_depth=1))
        self.assertTrue(process.wait_for(r"waiting for the data set to be opened for 1\d s: tier 'data'"), process.log)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), SIGTERM_EXIT, process.log)


class OfRanks(WaitTest):
    """Two ranks of which one gets no data, while the other waits for its gradients."""
    SAID = "stopped by a signal while a rank was waiting for data, after step {}"

    def setUp(self):
        super().setUp()
        self.run = Experiment(self.here / "ranks", config(distributed="{timeout: 60s}"), RanksTraining)
        keys = sorted(path.relative_to(MINI).as_posix() for path in MINI.rglob("*.jpg"))
        names = sorted({key.split("/")[0] for key in keys})
        mixed = random.Random(1).sample(keys, 12 * BATCH)
        self.data = self.here / "data"
        shutil.copytree(MINI, self.data)
        (self.data / "train.csv").write_text("".join(f"{key},{names.index(key.split('/')[0])}\n" for key in mixed))
        (self.data / "classes.txt").write_text("".join(f"{name}\n" for name in names))
        self.keys = mixed
        self.server = self.enterContext(sick_server(self.data))

    def start(self, *overrides):
        # The network has buffers, which a step changes before its update.
        return super().start("dataset={type: file_list, storage: data}", "model={type: resnet18}", *overrides)

    def hangs_in_step(self, step, *overrides):
        """The second rank's part of that step is not sent."""
        lost = self.keys[(step - 1) * BATCH + BATCH // 2 + 1]
        self.server.fall_sick("hangs", of=lambda key: key == lost)
        process = self.start(*overrides)
        if step > 1:
            self.trained(process, step - 1)
        process.until(lambda: self.server.sick_reads > 0)
        return process

    @long
    def test_all_of_which_are_asked_to_stop(self):
        whole = self.start("training.max_steps=6", "checkpoint.directory=whole")
        self.assertEqual(whole.wait(), 0, whole.log)
        process = self.hangs_in_step(4)
        self.stops(process, 3, said=self.SAID)
        self.server.fall_sick(None)
        end = self.start("training.max_steps=6")
        self.assertEqual(end.wait(), 0, end.log)
        self.assertIn("step 3", RESUMED.search(end.log).group(0))
        sets = [sorted((self.run.dir / "ck" / name / "step-0000000006").glob("*.safetensors")) for name in ("whole", "trial")]
        for one, other in zip(*sets, strict=True):
            self.assertEqual(one.read_bytes(), other.read_bytes())

    @long
    def test_that_never_made_a_step(self):
        self.stops(self.hangs_in_step(1), 0, said=self.SAID)

    @long
    def test_that_compute_nothing(self):
        self.stops(self.hangs_in_step(3, "device={type: emulated, step_ms: 5}"), 2, said=self.SAID)

    def test_of_which_the_one_without_data_is_asked(self):
        process = self.hangs_in_step(3)
        ranks = pathlib.Path(f"/proc/{process.child.pid}/task/{process.child.pid}/children").read_text().split()
        os.kill(int(ranks[1]), signal.SIGTERM)
        self.assertEqual(process.wait(), SIGTERM_EXIT, process.log)
        self.assertEqual((process.summary["steps"], newest_set(self.run)), (2, 2), process.log)


class Campaign:
    """Runs whose tier hangs, is slow, or is asked again and again, stopped at random instants."""
    HOW = ("hangs", "busy", "broken", "drops", "slow", "well")

    def __init__(self, directory, seed):
        self.random = random.Random(seed)
        self.directory = pathlib.Path(directory)
        self.seconds = []

    def run_one(self, number, server):
        pick = self.random.choice
        how = pick(self.HOW)
        experiment = Experiment(self.directory / str(number), config())
        server.reads = 0
        server.fall_sick(None if how in ("slow", "well") else how, after=self.random.randrange(12 * BATCH))
        tier = server.tier(retries=100)
        if how == "slow":
            tier = emulated(read_latency_ms=pick([5, 50, 500, 5000, 30000]), queue_depth=pick([1, 4]))
        loader = pick(LOADERS)
        overrides = [f"storage.data={tier}", f"loader.type={loader}", f"checkpoint.snapshot={pick(['sync', 'async', 'swap'])}",
                     f"evaluation.every_epochs={pick([1, 100])}", "evaluation.enabled=true"]
        if loader == "device_prefetched":
            overrides += ["device={type: emulated, step_ms: 5}", "checkpoint.snapshot=sync"]
        process = experiment.start(*overrides)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.child.wait(self.random.uniform(0.3, 6))
        if not process.directory:  # it had not begun to look for signals
            process.kill()
            return False
        begin = time.monotonic()
        process.send(signal.SIGTERM)
        code = process.wait()
        took = time.monotonic() - begin
        told = f"{how} {overrides}\nexit status {code} after {took:.1f} s\n{process.log}"
        assert code == SIGTERM_EXIT, told
        opened = (process.directory / "summary.json").exists()
        assert opened or "before the first step" in process.log, told
        if opened:
            assert newest_set(experiment) == process.summary["steps"], told
        self.seconds.append(took)
        shutil.rmtree(experiment.dir)
        return True

    def run(self, count):
        with sick_server(MINI) as server:
            number = 0
            while len(self.seconds) < count:
                self.run_one(number, server)
                number += 1

    def report(self):
        times = sorted(self.seconds)
        print(f"{len(times)} signals; to the exit: median {times[len(times) // 2]:.3f} s, longest {times[-1]:.3f} s")
        return times[-1]


@long
class RandomInstants(unittest.TestCase):
    def test_each_leaves_the_state_of_the_last_finished_step(self):
        with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
            campaign = Campaign(directory, seed=5)
            campaign.run(4)
        campaign.report()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-test-") as directory:
        campaign = Campaign(directory, arguments.seed)
        campaign.run(arguments.count)
    return campaign.report() > GRACE_S + 2


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("--count"):
        sys.exit(main())
    unittest.main()
