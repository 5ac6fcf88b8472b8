#!/usr/bin/env python3
"""Two ranks on two hosts: network namespaces with a cable between them. Skipped where they may not be made."""
import json
import os
import subprocess
import unittest

from stoker import Process, StokerTest, configuration, long, posix, read_summary

ADDRESSES = ["10.77.0.1", "10.77.0.2"]


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class TwoHostsTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}", loader="{type: sync, batch_size: 16, digest: true}",
                           training="{epochs: 1, threads: 1}", metrics="{every_steps: 1, sinks: [{type: csv}]}",
                           distributed="{timeout: 3s}")

    def setUp(self):
        super().setUp()
        # Other programs that make network namespaces may be in the way for a moment.
        for attempt in range(3):
            self.hosts = [f"stoker-{os.getpid()}-{attempt}-{host}" for host in "ab"]
            try:
                for host in self.hosts:
                    ip("netns", "add", host)
                    self.addCleanup(ip, "netns", "del", host)
                    ip("netns", "exec", host, "true")  # not where the root is no mount point: in a plain chroot
            except OSError as error:
                self.skipTest(f"no network namespaces here: {error}")
            try:
                self.connect()
                return
            except OSError as error:
                problem = error
        self.fail(str(problem))

    def connect(self):
        a, b = self.hosts
        ip("link", "add", "cable", "netns", a, "type", "veth", "peer", "name", "cable", "netns", b)
        for host, address in zip(self.hosts, ADDRESSES):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "cable")
            for device in ["lo", "cable"]:
                ip("-n", host, "link", "set", device, "up")

    def cut(self):
        ip("-n", self.hosts[1], "link", "set", "cable", "down")

    def begin(self, masters, *overrides):
        """Both ranks. masters: what each is told to be rank 0's host."""
        environment = {"WORLD_SIZE": "2", "MASTER_PORT": "29512"}
        return [Process(["train", self.config, *overrides], self.dir,
                        {**environment, "RANK": str(rank), "MASTER_ADDR": masters[rank]}, ["ip", "netns", "exec", host])
                for rank, host in enumerate(self.hosts)]

    def test_they_meet_by_the_address_that_reaches_the_other(self):
        alone, alone_run = self.train("run.name=alone")
        # Kubeflow's PyTorchJob tells rank 0 `localhost`.
        for first in ["10.77.0.1", "localhost"]:
            with self.subTest(first=first):
                runs = self.dir / f"runs-{first}"
                ranks = self.begin([first, "10.77.0.1"], f"run.dir={runs}", "metrics.sinks=[{type: csv}, {type: prometheus, "
                                   "listen: '0.0.0.0:9464'}]")
                self.assertEqual([rank.wait() for rank in ranks], [0, 0], ranks[0].log + ranks[1].log)
                run = runs / "latest"
                self.assertEqual((run / "digests.csv").read_text(), (alone_run / "digests.csv").read_text())
                self.assertEqual(read_summary(run / "rank-1")["steps"], alone["steps"])
                targets = json.loads((run / "targets.json").read_text())
                self.assertEqual([target["targets"] for target in targets], [["10.77.0.1:9464"], ["10.77.0.2:9464"]])

    def test_a_host_that_is_cut_off_ends_both_sides_after_the_timeout(self):
        ranks = self.begin(["10.77.0.1"] * 2, "training.epochs=1000000", "evaluation.enabled=false")
        ranks[0].until(lambda: len((self.latest / "steps.csv").read_text().splitlines()) > 3)
        self.cut()
        self.assertEqual([rank.wait() for rank in ranks], [6, 6])
        self.assertRegex(ranks[0].log, r"error: rank 0 of 2: rank 1 \(pid \d+ on .*\) is gone")
        self.assertIn("error: rank 1 of 2: ", ranks[1].log)

    @long
    def test_a_rank_that_waits_for_the_store_of_a_cut_off_host_ends_all_the_same(self):
        # Threads that save sets talk to the store for most of the time; it answers a lost host after a quarter of an hour.
        saves = [f"storage.slow={posix(self.dir / 'sets')}", "checkpoint={type: direct, slow: slow, every_steps: 1}"]
        ranks = self.begin(["10.77.0.1"] * 2, "training.epochs=1000000", "evaluation.enabled=false", *saves)
        ranks[0].until(lambda: len((self.latest / "steps.csv").read_text().splitlines()) > 3)
        self.cut()
        self.assertEqual([rank.wait(60) for rank in ranks], [6, 6], ranks[0].log + ranks[1].log)
        self.assertIn("error: rank 1 of 2: ", ranks[1].log)


if __name__ == "__main__":
    unittest.main()
