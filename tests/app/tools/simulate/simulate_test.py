"""stoker simulate: by a measured run; what it says of its inputs; bad ones."""
import os
import unittest

from stoker import MINI, StokerTest, configuration, emulated, flow, long


class Simulate(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 20}",
        tiers={"data": emulated(read_latency_ms=2, queue_depth=4), "slow": emulated("SLOW", metadata_latency_ms=1)},
        loader="{type: sync, batch_size: 16}", decoder="{type: turbojpeg, size: 32}",
        training="{max_steps: 12}", evaluation="{enabled: false}",
        checkpoint="{type: direct, slow: slow, every_steps: 6}")

    def setUp(self):
        super().setUp()
        self.config.write_text(self.config.read_text().replace("SLOW", str(self.dir / "slow")))

    def simulate(self, *arguments, code=0):
        return self.json("simulate", *arguments, code=code)

    def test_a_measured_run_is_predicted_and_its_inputs_are_named(self):
        summary, run = self.train()
        result = self.simulate("--run", run)
        baseline = result["results"][0]
        self.assertEqual(baseline["steps"], summary["steps"])
        self.assertEqual(baseline["checkpoints"]["saved"], summary["checkpoints"]["saved"])
        # No less than what the run measured of its parts; how well it is met is for bench/simulator.
        self.assertGreater(baseline["wall_s"], summary["device"]["busy_s"])
        self.assertGreater(baseline["data_wait_s"], 16 * 12 * 0.002)
        inputs = {each["input"]: each for each in result["inputs"]}
        self.assertIn("summary.json: loaders.train.stages.decode", inputs["workload.costs.decode_ms"]["from"])
        self.assertEqual(inputs["workload.data.tier"]["value"], "data")
        self.assertEqual(inputs["machine.storage.data.read_latency_ms"]["value"], "2")
        self.assertIn("config.yaml", inputs["machine.storage.data.read_latency_ms"]["from"])
        self.assertEqual(inputs["workload.costs.step_stdev"]["from"], "default")
        self.assertGreater(float(inputs["workload.set.operations"]["value"]), 8)

        # Twice: the same.
        again = self.simulate("--run", run)
        self.assertEqual(again["results"][0]["wall_s"], baseline["wall_s"])

        turned = self.simulate("--run", run, "--what-if", "storage=4x,compute=2x")["results"]
        self.assertEqual(turned[0]["wall_s"], baseline["wall_s"])
        self.assertEqual(turned[1]["what"], "storage=4x,compute=2x")
        self.assertLess(turned[1]["wall_s"], 0.7 * baseline["wall_s"])
        text = self.stoker("simulate", "--run", run, "--what-if", "decode=2x").stdout
        self.assertIn("SIMULATED", text)
        self.assertIn("decode=2x", text)

    @long
    def test_a_striped_tier_is_the_same_in_the_run_and_in_its_simulation(self):
        # One worker reads 200 KB at 2 MB/s of each device: 100 ms from one of them, 25 ms from four.
        measured, simulated = {}, {}
        self.stoker("dataset", "synth", "large", "--samples=64", "--classes=2", "--median-bytes=200000", "--sigma=0")
        for stripes in 1, 4:
            tier = emulated(self.dir / "large", read_mb_per_s=2, stripes=stripes, stripe_count=stripes, stripe_bytes="64KiB", queue_depth=64)
            summary, run = self.train(f"storage.data={tier}", "loader.batch_size=4",
                                      "training.max_steps=4", "checkpoint={type: none}")
            result = self.simulate("--run", run)
            measured[stripes], simulated[stripes] = summary["wall_s"], result["results"][0]["wall_s"]
            self.assertEqual({each["input"]: each["value"] for each in result["inputs"]}["machine.storage.data.stripe_count"], str(stripes))
            self.assertAlmostEqual(simulated[stripes] / measured[stripes], 1, delta=0.1)
        self.assertGreater(measured[1] / measured[4], 2.5)

    def test_a_file_says_everything(self):
        machine = self.dir / "machine.yaml"
        machine.write_text("workload: {data: {samples: 640}, costs: {decode_ms: 1, step_ms: 100}, loader: {type: sync}}\n"
                           "machine: {nodes: 2, ranks_per_node: 4}\n")
        result = self.simulate("--machine", machine)
        self.assertAlmostEqual(result["results"][0]["wall_s"], 10 * (0.1 + 0.008))
        self.assertGreater(result["results"][0]["simulation"]["rank_steps_per_s"], 0)
        one = self.simulate("--machine", machine, "machine.nodes=1")
        self.assertAlmostEqual(one["results"][0]["wall_s"], 10 * (0.1 + 0.016))

    def test_what_is_wrong_is_said(self):
        said = self.stoker("simulate", code=2).stderr
        self.assertIn("workload", said)
        self.assertIn("nowhere", self.stoker("simulate", "--run", self.dir / "nowhere", code=3).stderr)
        machine = self.dir / "machine.yaml"
        machine.write_text("workload: {data: {samples: 640, size: 3}}\n")
        self.assertIn("'size'", self.stoker("simulate", "--machine", machine, code=2).stderr)
        machine.write_text("workload: {data: {samples: 640}}\n")
        self.assertIn("no knob 'disks'", self.stoker("simulate", "--machine", machine, "--what-if", "disks=2", code=2).stderr)

    @long
    def test_four_ranks_on_the_cores_of_a_run_are_not_four_times_as_fast(self):
        # By a run that computed all the time: the same cores for four ranks.
        _, run = self.train("device={type: cpu}", "checkpoint={type: none}", "model={type: alexnet}", "decoder.size=64",
                            "training={max_steps: 6, threads: 1}", f"storage.data={flow(type='posix', root=MINI)}")
        one = self.simulate("--run", run)
        inputs = {each["input"]: each for each in one["inputs"]}
        self.assertEqual(int(inputs["machine.cores"]["value"]), os.cpu_count())
        self.assertIn("environment.json", inputs["machine.cores"]["from"])
        self.assertEqual(inputs["workload.costs.step_cores"]["value"], "1")
        self.assertGreater(float(inputs["workload.costs.core_share"]["value"]), 0)
        computing = ["workload.costs.core_share=1", "machine.ranks_per_node=8", "machine.cores=2"]
        limited = self.simulate("--run", run, *computing)["results"][0]
        free = self.simulate("--run", run, *computing[:2], "machine.cores=64")["results"][0]
        self.assertLess(limited["images_per_s"], 0.3 * free["images_per_s"])
        self.assertAlmostEqual(limited["busy_cores"], 2, delta=0.1)
        text = self.stoker("simulate", "--run", run, *computing).stdout
        self.assertIn("the 2 cores of each node are busy all the time and limit this", text)
        self.assertIn("it needs 8.0 busy cores", text)
        self.assertIn("busy cores on each node of its 64", self.stoker("simulate", "--run", run, *computing[:2], "machine.cores=64").stdout)

    @long
    def test_the_result_comes_first_in_words_of_the_user(self):
        machine = self.dir / "machine.yaml"
        machine.write_text("workload: {data: {samples: 640}, costs: {decode_ms: 1, read_ms: 20, step_ms: 1}, "
                           "loader: {type: prefetched, workers: 12}}\n")
        text = self.stoker("simulate", "--machine", machine, "--what-if", "workers=2x,workers=4x").stdout
        lines = text.splitlines()
        self.assertRegex(lines[0], "^what .*threads that read .*busy cores")
        self.assertEqual([line.split()[0] for line in lines[1:4]], ["baseline", "workers=2x", "workers=4x"])
        self.assertLess(len(lines), 10)  # no inputs, unless they are asked for
        for word in ("reads %", "steps of ranks a second", "idle for peers"):
            self.assertNotIn(word, text)
        self.assertIn("inputs that were measured or given, and", text)
        every = self.stoker("simulate", "--machine", machine, "--inputs").stdout
        self.assertGreater(every.index("workload.costs.decode_ms"), every.index("SIMULATED"))


if __name__ == "__main__":
    unittest.main()
