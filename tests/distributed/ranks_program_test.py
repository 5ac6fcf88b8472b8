#!/usr/bin/env python3
"""Many ranks train one model: the same batches, the same losses, and all of them end together."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import time
import unittest

from stoker import LONG, MINI, Process, StokerTest, configuration, emulated, long, posix, read_summary, until

WITHIN = 2e-5  # of a loss: fp32 sums in another order, over some tens of steps


def threads_of(run):
    return json.loads((run / "environment.json").read_text())["threads"]


def listens_at(pid):
    """The addresses at which a process listens for TCP."""
    links = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    found = []
    for family, file in (socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{file}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in links:
                raw = bytes.fromhex(words[1].split(":")[0])
                swapped = b"".join(raw[i:i + 4][::-1] for i in range(0, len(raw), 4))
                found.append(socket.inet_ntop(family, swapped))
    return found


class RanksTest(StokerTest):
    CONFIG = configuration(
        dataset="{type: image_folder, storage: data, split: {train_per_class: 10, test_per_class: 5}}",
        decoder="{type: jpeg, size: 64, augment: {random_resized_crop: {}, flip: true}}",
        loader="{type: prefetched, batch_size: 30, workers: 1, digest: true, drop_last: false}",
        model="{type: linear}", optimizer="{type: sgd, lr: 0.01, momentum: 0.9}",
        training="{epochs: 1, threads: 1, deterministic: true}", metrics="{every_steps: 1, sinks: [{type: csv}]}",
        distributed="{timeout: 20s}")

    def launch(self, ranks, *overrides, code=0):
        done = self.stoker("launch", "--ranks", ranks, self.config, "--json", f"run.name=r{ranks}", *overrides, code=code)
        summary = json.loads(done.stdout)
        return summary, self.dir / summary["run_directory"]

    @staticmethod
    def losses(run):
        with open(run / "steps.csv", encoding="utf-8") as file:
            return [float(row["loss"]) for row in csv.DictReader(file)]

    def test_n_ranks_train_as_one_process_does(self):
        network = "model={type: alexnet, dropout: 0}" if LONG else "model={type: two_layer_cnn}"
        alone, alone_run = self.train("run.name=alone", network)
        self.assertEqual(alone["steps"], 4)  # the last batch has 10 samples
        for ranks in [2, 4] if LONG else [2]:
            with self.subTest(ranks=ranks):
                summary, run = self.launch(ranks, network)
                self.assertEqual((run / "digests.csv").read_text(), (alone_run / "digests.csv").read_text())
                for ours, theirs in zip(self.losses(run), self.losses(alone_run), strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=WITHIN * theirs)
                self.assertEqual(summary["evaluations"][0]["samples"], alone["evaluations"][0]["samples"])
                self.assertGreater(summary["segments_s"]["allreduce"], 0)
                self.assert_ledger_closes(summary)
                others = [read_summary(run / f"rank-{rank}") for rank in range(1, ranks)]
                each = [summary, *others]
                self.assertEqual(summary["all_ranks"]["images"], 100)
                self.assertEqual([summary["ranks"][str(rank)]["images"] for rank in range(ranks)],
                                 [rank["images"] for rank in each])
                for rank, own in enumerate(each):
                    told = summary["ranks"][str(rank)]["segments_s"]
                    for segment in ["data_wait", "compute", "allreduce"]:
                        self.assertAlmostEqual(told[segment], own["segments_s"][segment], places=6)
                slowest = summary["all_ranks"]["extremes"]["device_busy_s"]["most"]
                self.assertEqual(slowest["value"], max(rank["device"]["busy_s"] for rank in each))
        self.assertEqual(alone["segments_s"]["allreduce"], 0)
        self.assertNotIn("ranks", alone)
        self.assertEqual(alone["all_ranks"], {"breakdown_s": alone["breakdown_s"]})

    @long
    def test_more_ranks_than_the_last_batch_has_samples(self):
        options = ["loader.batch_size=33"]
        alone, alone_run = self.train("run.name=alone", *options)
        summary, run = self.launch(4, *options)  # 33, 33, 33 and 1
        self.assertEqual((run / "digests.csv").read_text(), (alone_run / "digests.csv").read_text())
        self.assertEqual(summary["evaluations"][0]["samples"], alone["evaluations"][0]["samples"])
        for ours, theirs in zip(self.losses(run), self.losses(alone_run), strict=True):
            self.assertAlmostEqual(ours, theirs, delta=WITHIN * theirs)

    def test_a_resume_with_another_number_of_ranks_is_as_if_nothing_had_happened(self):
        options = ["training.epochs=6", "optimizer.lr=0.0001"]
        tier = f"storage.slow={posix(self.dir / 'sets')}"
        alone, alone_run = self.train("run.name=alone", *options)
        saves = [*options, tier, "checkpoint={type: direct, slow: slow, every_steps: 5, directory: sets, resume: latest}"]
        losses = []
        for ranks, steps in [(2, 7), (4, 13), (1, 24)]:
            summary, run = self.launch(ranks, *saves, f"training.max_steps={steps}")
            losses += self.losses(run)
            written = [sum(done["bytes"] for done in read_summary(where)["checkpoints"]["operations"] if done["part"] == "write")
                       for where in [run, *(run / f"rank-{rank}" for rank in range(1, ranks))]]
            of = summary["checkpoints"]
            self.assertEqual(sum(written), of["saved"] * of["set_bytes"])  # each rank its share
        self.assertEqual(summary["total"]["digest_chain"], alone["total"]["digest_chain"])
        for ours, theirs in zip(losses, self.losses(alone_run), strict=True):
            self.assertAlmostEqual(ours, theirs, delta=WITHIN * theirs)

    @long
    def test_no_rank_reads_before_all_have_looked_at_the_cold_page_cache(self):
        shutil.copytree(MINI, self.dir / "data")
        options = [f"storage.data={posix(self.dir / 'data')}", "run.page_cache=cold", "training.max_steps=2", "evaluation.enabled=false"]
        summary, run = self.launch(2, *options)
        each = [summary["page_cache"], read_summary(run / "rank-1")["page_cache"]]
        if "missed" in summary["page_cache"]:  # this file system does not let go of its pages: no rank calls itself cold
            self.assertNotIn("cold", [rank["state"] for rank in each])
        else:
            self.assertEqual([rank["state"] for rank in each], ["cold", "cold"])
            self.assertEqual([rank["resident_before"] for rank in each], [0, 0])

    def packed(self):
        """Overrides: 160 training samples in four files of 40, read as a whole and kept, so that each that a rank
        ever needs is read once."""
        whole = ["dataset.split.train_per_class=16", "dataset.split.test_per_class=4"]
        self.stoker("dataset", "convert", self.config, "packed", *whole, "decoder={type: jpeg, size: 64}",
                    "--format", "packed", "--shard-size", 40 * 64 * 64 * 3)
        return [f"storage.data={posix(self.dir / 'packed')}", "evaluation.enabled=false",
                "dataset={type: packed, storage: data, access: whole, keep_shards: 4}",
                "decoder={type: raw, height: 64, width: 64, size: 64}", "loader.batch_size=16"]

    @long
    def test_files_stay_with_their_rank_or_are_dealt_anew(self):
        options = [*self.packed(), "training.epochs=8"]
        for order, files in [("local_files", 2), ("global_files", 4)]:
            with self.subTest(order=order):
                summary, run = self.launch(2, *options, f"loader.order={order}")
                for rank in [summary, read_summary(run / "rank-1")]:
                    self.assertEqual(rank["steps"], 80)
                    reads = rank["tiers"]["data"]["read"]["duration_s"]["count"]
                    self.assertEqual(reads, 1 + files)  # the first one is packed.json
        said = self.stoker("check", self.config, *options, code=2).stderr
        self.assertIn("'dataset' must not read whole files (access: whole) where loader.order is permutation", said)
        said = self.stoker("bench", "read", self.config, *options, "loader.order=local_files", code=2).stderr
        self.assertIn("by dataset.access whole each would read a whole file: use dataset.access=copy", said)

    @long
    def test_ranks_with_files_of_their_own_go_on_within_an_epoch_as_if_nothing_had_happened(self):
        options = [*self.packed(), "loader.order=global_files", "training.epochs=2"]
        expected, _ = self.launch(2, *options)
        saves = [*options, f"storage.slow={posix(self.dir / 'sets')}",
                 "checkpoint={type: direct, slow: slow, every_steps: 100, directory: sets, resume: latest}"]
        self.launch(2, *saves, "training.max_steps=13")
        said = self.stoker("train", self.config, *saves, "distributed={}", code=2).stderr
        self.assertIn("it is from within epoch 1 of 2 ranks, and by loader.order each has files of its own: "
                      "resume with 2 ranks", said)
        summary, _ = self.launch(2, *saves)
        self.assertEqual(summary["total"]["digest_chain"], expected["total"]["digest_chain"])
        summary, _ = self.launch(1, *saves, "training.epochs=3")  # from the end of an epoch
        self.assertEqual(summary["steps"], 30)

    @long
    def test_a_signal_to_one_rank_stops_all_after_the_same_step(self):
        for number in [signal.SIGTERM, signal.SIGUSR1]:
            with self.subTest(signal=number):
                under_way = self.begin_ranks(3)
                os.kill(self.pid_of(under_way, 2), number)
                self.assertEqual(under_way.wait(), 75)
                run = under_way.run
                steps = {read_summary(where)["steps"] for where in [run, run / "rank-1", run / "rank-2"]}
                self.assertEqual(len(steps), 1)

    def test_a_killed_rank_ends_the_others_and_is_named(self):
        for victim in [0, 1] if LONG else [0]:
            with self.subTest(victim=victim):
                under_way = self.begin_ranks(3)
                pid = self.pid_of(under_way, victim)
                os.kill(pid, signal.SIGKILL)
                self.assertEqual(under_way.wait(), 6)
                for survivor in {0, 1, 2} - {victim}:
                    self.assertRegex(under_way.log, rf"error: rank {survivor} of 3: rank {victim} \(pid {pid} on .*\) is gone")

    @long
    def test_a_rank_that_is_killed_in_the_final_drain_ends_the_others_in_the_middle_of_it(self):
        saves = [f"storage.fast={posix(self.dir / 'fast')}", f"storage.slow={emulated(self.dir / 'slow', write_mb_per_s=0.5)}",
                 "checkpoint={type: burst_buffer, fast: fast, slow: slow, every_steps: 100}"]
        under_way = Process(["launch", "-n", 2, self.config, "model={type: alexnet}", "training.max_steps=2",
                              "evaluation.enabled=false", *saves], self.dir)
        self.addCleanup(under_way.kill)
        under_way.wait_for("checkpoint of step 2:")  # its 228 MB take minutes to drain
        pid = self.pid_of(under_way, 1)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(under_way.wait(), 6)
        self.assertRegex(under_way.log, rf"error: rank 0 of 2: rank 1 \(pid {pid} on .*\) is gone")
        listed = self.json("checkpoint", "list", self.config, *saves)
        told = [(row["tier"], row["step"], row["path"].split("/")[-2], row["state"]) for row in listed if "step" in row]
        self.assertEqual(told, [("fast", 2, f"rank-{rank}", "on this tier only") for rank in (0, 1)], listed)
        self.stoker("checkpoint", "verify", self.config, "--all", *saves)

    def test_a_rank_that_cannot_go_on_says_why_to_the_others(self):
        done = self.stoker("launch", "-n", 2, self.config, "storage.data.root=/nowhere", code=3)
        self.assertIn("/nowhere", done.stderr)

    @long
    def test_a_stopped_rank_ends_the_others_after_the_timeout(self):
        under_way = self.begin_ranks(2, "distributed.timeout=3s")
        pid = self.pid_of(under_way, 1)
        os.kill(pid, signal.SIGSTOP)
        self.assertTrue(under_way.wait_for(rf"error: rank 0 of 2: rank 1 \(pid {pid} on .*\) is gone"))
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(under_way.wait(), 6)

    def test_a_rank_that_stands_still_in_a_checkpoint_is_waited_for(self):
        """As long as in a step: the others neither take it for gone nor go on without the set."""
        under_way = self.begin_ranks(2, "training.max_steps=8", f"storage.slow={emulated(self.dir / 'slow', write_mb_per_s=0.5)}",
                                     "checkpoint={type: direct, slow: slow, every_steps: 4}")
        pid = self.pid_of(under_way, 1)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(under_way.wait(), 0, under_way.log)
        self.assertEqual(len(re.findall(r"checkpoint of step [48]: .* on tier 'slow'", under_way.log)), 2, under_way.log)

    def test_many_ranks_have_to_be_asked_for(self):
        self.config.write_text(re.sub("distributed: .*\n", "", self.config.read_text()))
        environment = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        said = self.stoker("train", self.config, code=2, env=environment).stderr
        self.assertIn("the experiment has no `distributed:`", said)
        self.stoker("launch", "-n", 2, self.config, "training.max_steps=1")  # asks for them

    @long
    def test_the_ranks_of_a_machine_divide_its_cores(self):
        automatic = ["training.threads=auto", "loader.workers=auto", "training.max_steps=1"]
        alone, alone_run = self.train("run.name=alone", *automatic)
        summary, run = self.launch(2, *automatic)
        for where in [run, run / "rank-1"]:
            self.assertEqual(threads_of(where), max(1, threads_of(alone_run) // 2))
        self.assertEqual(summary["loaders"]["train"]["workers"], max(1, alone["loaders"]["train"]["workers"] // 2))

    def test_the_store_of_launch_listens_on_loopback_alone(self):
        under_way = self.begin_ranks(2)
        self.assertEqual(listens_at(under_way.child.pid), ["127.0.0.1"])
        under_way.send(signal.SIGTERM)
        self.assertEqual(under_way.wait(), 75)

    def test_signals_to_the_launcher_reach_all_ranks(self):
        under_way = self.begin_ranks(2)
        runs = [under_way.run.resolve(), under_way.run.resolve() / "rank-1"]
        under_way.send(signal.SIGUSR2)
        under_way.until(lambda: all("I/O profiler: attached" in (run / "log.txt").read_text() for run in runs))
        under_way.send(signal.SIGUSR2)
        under_way.until(lambda: all([*run.glob("io_profile-*.darshan")] for run in runs))
        under_way.send(signal.SIGHUP)
        self.assertEqual(under_way.wait(), 75)
        self.assertEqual([read_summary(run)["exit_code"] for run in runs], [75, 75])

    def test_a_launcher_that_a_signal_ends_leaves_no_rank_behind(self):
        for number in [signal.SIGALRM, signal.SIGQUIT, signal.SIGKILL] if LONG else [signal.SIGKILL]:
            with self.subTest(signal=number):
                under_way = self.begin_ranks(2)
                ranks = [pathlib.Path(f"/proc/{self.pid_of(under_way, rank)}/stat") for rank in (0, 1)]
                under_way.send(number)
                self.assertEqual(under_way.wait(), -number)

                def gone(rank):
                    try:
                        return rank.read_text().rsplit(")", 1)[1].split()[0] in "ZX"
                    except (FileNotFoundError, ProcessLookupError):
                        return True
                until(lambda ranks=ranks: all(map(gone, ranks)), lambda: "a rank runs on")

    def begin_ranks(self, ranks, *overrides):
        """Under way with a small model, some steps done."""
        runs = self.dir / f"runs-{len(list(self.dir.iterdir()))}"
        under_way = Process(["launch", "-n", ranks, self.config, "training.epochs=100000", "evaluation.enabled=false",
                             "model={type: linear}", f"run.dir={runs}", *overrides], self.dir)
        under_way.run = runs / "latest"
        under_way.until(lambda: len((under_way.run / "steps.csv").read_text().splitlines()) > 3)
        return under_way

    @staticmethod
    def pid_of(under_way, rank):
        children = pathlib.Path(f"/proc/{under_way.child.pid}/task/{under_way.child.pid}/children").read_text().split()
        for child in children:
            if f"RANK={rank}" in pathlib.Path(f"/proc/{child}/environ").read_text().split("\0"):
                return int(child)
        raise AssertionError(f"no rank {rank} among {children}")


if __name__ == "__main__":
    unittest.main()
