#!/usr/bin/env python3
"""Files of a run that somebody changed, cut or made up: the commands that read them name the file, and never call it a
bug of the program's.
"""
import json
import os
import shutil
import unittest

from stoker import StokerTest, configuration

DEEP = "[" * 400_000


class StrangeFilesTest(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 1}", training="{max_steps: 20}",
                           metrics="{every_steps: 5, sinks: [{type: csv}, {type: trace, steps: 1000}]}")

    def setUp(self):
        super().setUp()
        _, self.run_dir = self.train()
        self.good = shutil.copytree(self.run_dir, self.dir / "good")

    def refused(self, *command, codes=(4, 5), names="summary.json"):
        done = self.stoker(*command, code=None)
        self.assertIn(done.returncode, codes, (command, done.stderr[:300]))
        self.assertIn(names, done.stderr)

    def test_summaries_of_other_types(self):
        summary = json.loads((self.good / "summary.json").read_text())
        commands = {"report": (), "doctor": (), "compare": (self.good,), "trace": ()}
        changes = [{"resumed": 5}, {"device": 3}, {"device": []}, {"loaders": {"train": 1}}, {"tiers": "x"}, {"verdict": 1},
                   {"segments_s": [1]}, {"conditions": 1}, {"evaluation": {"history": 1}}, {"checkpoint": "none"}]
        for text in ["[]", "5", "null", *(json.dumps(summary | change) for change in changes)]:
            (self.run_dir / "summary.json").write_text(text)
            for command, others in commands.items():
                done = self.stoker(command, self.run_dir, *others, code=None)
                self.assertIn(done.returncode, (0, 4), (command, text[:80], done.stderr[:300]))
                if done.returncode:
                    self.assertIn("summary.json", done.stderr)

    def test_summaries_that_are_too_deep_or_cut(self):
        for text in ('{"notes": ' + DEEP, '{"notes": ' + DEEP + "]" * 400_000 + "}", "{"):
            (self.run_dir / "summary.json").write_text(text)
            for command in ("report", "doctor", "trace"):
                self.refused(command, self.run_dir)

    def test_what_others_put_there_is_neither_waited_for_nor_read_without_end(self):
        for name, commands in (("summary.json", ("report", "doctor", "trace")), ("config.yaml", ("report", "doctor")),
                               ("steps.csv", ("report",)), ("trace.json", ("trace",)), ("overrides", ("report",))):
            for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
                (self.run_dir / name).unlink()
                make(self.run_dir / name)
                for command in commands:
                    self.refused(command, self.run_dir, names=name)
                self.stoker("runs", self.dir / "runs")
                (self.run_dir / name).unlink()
                shutil.copy(self.good / name, self.run_dir / name)

    def test_traces_with_times_out_of_this_world(self):
        def event(**times):
            return json.dumps({"ph": "X", "cat": "trainer", "name": "data_wait", **times})
        for times in ({"ts": 0, "dur": 9e15}, {"ts": -9e300, "dur": 1}, {"ts": 1, "dur": -5}, {"ts": 1e18, "dur": 1e18}):
            end = json.dumps({"ph": "M", "name": "trace_end", "args": {"dropped": 1e300, "whole_run": True}})
            (self.run_dir / "trace.json").write_text(f"[\n{event(**times)}\n,{event(**times)}\n,{end}\n]\n")
            found = self.json("trace", self.run_dir)
            self.assertEqual((found["bad_lines"], found["events"], found["complete"]), (2, 0, False), times)
            self.assertEqual(found["trace"]["wall_s"], 0)
        (self.run_dir / "trace.json").write_text('[\n{"a": ' + DEEP + "\n]\n")
        self.assertEqual(self.json("trace", self.run_dir)["bad_lines"], 1)

    def test_time_logs_without_any_time(self):
        log = self.dir / "tl.csv"
        log.write_text("Epoch,Rank,Tag,Action Description,Start Time,End Time,Time Taken,Device,Notes\n"
                       "0,0,x,Time to Read Single Image,1.0,1.0,0.0,d,n\n0,0,x,Training Iteration,1.5,1.5,0.0,d,n\n")
        self.assertIn("no reads or no training iterations", self.stoker("timelogger", log).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
