#!/usr/bin/env python3
"""The launchers that users have start ranks, and what each makes of their ends. Skipped where one is not installed."""
import json
import os
import shutil
import signal
import unittest

from stoker import Process, StokerTest, configuration, free_port, long, read_summary

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def environment():
    """With a port that no neighbour has, as the default may be."""
    return {**AS_ROOT, "MASTER_PORT": str(free_port())}


LAUNCHERS = {"Open MPI": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"],
             "PMI": ["mpirun.mpich", "-n", "2"]}


class LaunchersTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}", loader="{type: sync, batch_size: 16, digest: true}",
                           training="{epochs: 1, threads: 1}", metrics="{every_steps: 1, sinks: [{type: csv}]}",
                           distributed="{timeout: 20s}")

    def each(self):
        for name, words in LAUNCHERS.items():
            with self.subTest(launcher=name):
                if shutil.which(words[0]) is None:
                    self.skipTest(f"{words[0]} is not installed")
                yield name, words

    def test_they_start_ranks_that_train_one_model(self):
        alone, alone_run = self.train("run.name=alone")
        for name, words in self.each():
            done = self.stoker("train", self.config, "--json", f"run.dir={name}", before=words, env=environment())
            summary = json.loads(done.stdout)
            self.assertIn(f"rank 0 of 2 ({name}, store at 127.0.0.1:", done.stderr)
            run = self.dir / summary["run_directory"]
            self.assertEqual((run / "digests.csv").read_text(), (alone_run / "digests.csv").read_text())
            self.assertEqual(read_summary(run / "rank-1")["steps"], alone["steps"])

    @long
    def test_a_signal_that_they_pass_on_stops_all_ranks_with_75(self):
        for name, words in self.each():
            under_way = Process(["train", self.config, "training.epochs=1000000", f"run.dir={name}"], self.dir, environment(), words)
            run = self.dir / name / "latest"
            under_way.until(lambda: len((run / "steps.csv").read_text().splitlines()) > 3)
            under_way.send(signal.SIGUSR1)
            status = under_way.wait()
            codes = [read_summary(where)["exit_code"] for where in (run, run / "rank-1")]
            self.assertEqual(codes, [75, 75])
            # On a busy machine MPICH's Hydra may lose the codes of ranks that end at once.
            self.assertIn(status, [75] if name == "Open MPI" else [75, 0])


if __name__ == "__main__":
    unittest.main()
