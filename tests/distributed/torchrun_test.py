#!/usr/bin/env python3
"""torchrun starts ranks, and starts them anew where one is lost: the job goes on from the last checkpoint. Skipped where
no `torchrun` that works is on PATH: that of Debian 12 fails on its own Python."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from stoker import LONG, Process, StokerTest, configuration, free_port, posix, read_summary

TORCHRUN = shutil.which("torchrun")
WORKS = TORCHRUN and subprocess.run([TORCHRUN, "--nproc_per_node=1", f"--master_port={free_port()}", "--no_python", "true"],
                                    capture_output=True, check=False).returncode == 0


def family(pid):
    """The process and all that descend from it."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def rank_of(agent, rank):
    """The process of that rank among an agent's children; absent before it is started."""
    for pid in family(agent.child.pid)[1:]:
        if f"RANK={rank}" in pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0"):
            return pid
    return None


def lose_node(agent):
    for pid in reversed(family(agent.child.pid)):
        os.kill(pid, signal.SIGKILL)
    agent.wait()


@unittest.skipUnless(WORKS, "no torchrun that works is here (pip install torch)")
class TorchrunTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}", loader="{type: prefetched, batch_size: 16, digest: true}",
                           optimizer="{type: sgd, lr: 0.0001}", training="{epochs: 1000}", evaluation="{enabled: false}",
                           metrics="{every_steps: 1, sinks: [{type: csv}]}", distributed="{timeout: 20s}")

    def setUp(self):
        super().setUp()
        self.saves = [f"storage.slow={posix(self.dir / 'sets')}",
                      "checkpoint={type: direct, slow: slow, every_steps: 20, resume: latest}"]

    def agent(self, *options, steps, env=()):
        """torchrun under way, with a training of so many steps that goes on from the newest set."""
        agent = Process(["train", self.config, *self.saves, f"training.max_steps={steps}"], self.dir, env,
                        before=[TORCHRUN, "--monitor_interval=0.1", *options, "--no_python"])
        self.addCleanup(lambda: agent.alive() and lose_node(agent))
        return agent

    def steps_done(self):
        """Of the run that is under way."""
        return len((self.latest / "steps.csv").read_text().splitlines()) - 1

    def saved_after(self, agent, earlier):
        """Until another run than `earlier` has saved a set."""
        agent.until(lambda: self.latest != earlier and self.steps_done() > 40)
        return self.latest

    def assert_trained_on(self, steps):
        summary = read_summary(self.latest)
        alone, _ = self.train("run.name=alone", f"training.max_steps={steps}", "run.dir=alone")
        self.assertEqual(summary["total"]["digest_chain"], alone["total"]["digest_chain"])
        self.assertEqual(summary["total"]["steps"], steps)
        self.assertGreater(summary["total"]["processes"], 1)
        return summary

    def test_it_starts_ranks_that_train_one_model(self):
        alone, alone_run = self.train("training.max_steps=40", "run.name=alone")
        done = self.stoker("train", self.config, "--json", "training.max_steps=40", "run.dir=both",
                           before=[TORCHRUN, "--nproc_per_node=2", f"--master_port={free_port()}", "--no_python"])
        self.assertRegex(done.stderr, r"rank 0 of 2 \(torchrun, store at .*\)")
        run = self.dir / json.loads(done.stdout)["run_directory"]
        self.assertEqual((run / "digests.csv").read_text(), (alone_run / "digests.csv").read_text())
        self.assertEqual(read_summary(run / "rank-1")["steps"], alone["steps"])
        # It sets OMP_NUM_THREADS to 1 for its children; threads are the cores, divided among them.
        threads = [json.loads((where / "environment.json").read_text())["threads"] for where in (alone_run, run)]
        self.assertEqual(threads[1], max(1, threads[0] // 2))

    def test_after_a_rank_was_killed_all_go_on_from_the_last_checkpoint(self):
        agent = self.agent("--nproc_per_node=2", "--max_restarts=1", f"--master_port={free_port()}", steps=400)
        self.saved_after(agent, None)
        os.kill(rank_of(agent, 1), signal.SIGKILL)
        self.assertEqual(agent.wait(), 0, agent.log)
        self.assertRegex(agent.log, "error: rank 0 of 2: rank 1 .* is gone|SIGTERM")
        self.assert_trained_on(400)

    @unittest.skipUnless(LONG, "STOKER_LONG=1: torchrun takes a minute to notice what becomes of a node")
    def test_nodes_come_and_go(self):
        def node(serves):
            # The store that its agents share makes the whole job fail when a node joins (PyTorch 2.11).
            return self.agent("--nnodes=1:2", "--nproc_per_node=1", "--max_restarts=5", "--rdzv_backend=c10d", "--rdzv_id=job",
                              f"--rdzv_endpoint=127.0.0.1:{port}", f"--rdzv_conf=is_host={serves}", "--local_addr=127.0.0.1",
                              steps=3000, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
        port = free_port()
        first = node(serves="true")  # the rendezvous, so it has to stay
        second = node(serves="false")
        both = self.saved_after(first, None)
        self.assertTrue((both / "rank-1").is_dir())
        lose_node(second)
        alone = self.saved_after(first, both)
        self.assertFalse((alone / "rank-1").exists())
        third = node(serves="false")
        both = self.saved_after(first, alone)
        self.assertTrue((both / "rank-1").is_dir())
        self.assertEqual([first.wait(), third.wait()], [0, 0], first.log + third.log)
        self.assert_trained_on(3000)


if __name__ == "__main__":
    unittest.main()
