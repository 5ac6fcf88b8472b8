#!/usr/bin/env python3
"""Signals as terminals, shells and schedulers send them: what a run keeps, and with which exit code it ends."""
import json
import os
import pathlib
import signal
import time
import unittest

from stoker import StokerTest, configuration, emulated, long, posix, read_summary

SIGTERM_EXIT, SIGINT_EXIT = 75, 130


class SignalsTest(StokerTest):
    CONFIG = configuration(tiers={"ck": posix("ck")}, training="{epochs: 1000000, threads: 1}", evaluation="{enabled: false}",
                           checkpoint="{type: direct, slow: ck, every_steps: 1000000, resume: latest}",
                           metrics="{every_steps: 1}")

    def steps(self):
        return (self.latest / "steps.csv").read_text().count("\n") - 1

    def running(self, *overrides, before=()):
        process = self.start("train", self.config, *overrides, before=before)
        process.until(lambda: self.steps() > 2)
        return process

    def goes_on(self, process):
        done = self.steps()
        process.until(lambda: self.steps() > done + 2)

    def assert_saved(self, process, code=SIGTERM_EXIT):
        self.assertEqual(process.wait(), code, process.log)
        summary = read_summary(self.latest)
        self.assertEqual((summary["status"], summary["exit_code"]), ("stopped", code))
        rows = self.json("checkpoint", "verify", self.config, "--all")
        self.assertEqual(max(row["step"] for row in rows if row["intact"]), summary["steps"])
        return summary


class Terminals(SignalsTest):
    # The terminal signals the whole group. tee ends at once, and the run writes to a pipe that nobody reads.
    def test_ctrl_c_of_a_run_and_its_tee_saves(self):
        script = 'trap : INT; "$@" 2>&1 | tee log >/dev/null; exit ${PIPESTATUS[0]}'
        process = self.running(before=["setsid", "--wait", "bash", "-c", script, "bash"])
        os.killpg(process.child.pid, signal.SIGINT)
        self.assert_saved(process, SIGINT_EXIT)

    def test_a_terminal_that_goes_away_is_a_reason_to_save(self):
        process = self.running()
        process.send(signal.SIGHUP)
        self.assert_saved(process)

    def test_with_nohup_it_is_none(self):
        process = self.running(before=["nohup"])
        process.send(signal.SIGHUP)
        self.goes_on(process)
        process.send(signal.SIGTERM)
        self.assert_saved(process)


class Repeats(SignalsTest):
    # coreutils' timeout signals its child, and then its group with the child in it.
    def ended_by_timeout(self, number, code=SIGTERM_EXIT):
        process = self.running(before=["timeout", "600"])
        process.send(number)
        self.assert_saved(process, code)

    def test_sigterm_of_timeout_is_one_request(self):
        self.ended_by_timeout(signal.SIGTERM)

    @long
    def test_sigint_of_timeout_is_one_request(self):
        self.ended_by_timeout(signal.SIGINT, SIGINT_EXIT)

    @long
    def test_sighup_of_timeout_is_one_request(self):
        self.ended_by_timeout(signal.SIGHUP)


class Profiles(SignalsTest):
    # LibTorch is loaded for a fifth of a second before the training begins, and the signal has to wait then.
    def test_a_signal_to_begin_one_may_come_before_the_training(self):
        process = self.start("train", self.config)
        maps = pathlib.Path(f"/proc/{process.child.pid}/maps")
        process.until(lambda: "libtorch_cpu.so" in maps.read_text())
        process.send(signal.SIGUSR2)
        self.assertTrue(process.wait_for("I/O profiler: attached"), process.log)
        process.until(lambda: self.steps() > 2)
        process.send(signal.SIGTERM)
        self.assert_saved(process)


class Pauses(SignalsTest):
    def test_what_the_process_was_stopped_is_a_segment_of_its_own(self):
        process = self.running("device={type: emulated, step_ms: 20}")
        process.send(signal.SIGSTOP)
        time.sleep(3)
        process.send(signal.SIGCONT)
        self.goes_on(process)
        process.send(signal.SIGTERM)
        summary = self.assert_saved(process)
        paused = summary["segments_s"]["paused"]
        self.assertGreater(paused, 2.5)
        self.assert_ledger_closes(summary)
        self.assertLessEqual(summary["device"]["observed_s"], summary["wall_s"] - paused + 0.1)
        self.assertIn("the process stood still for ", json.dumps(summary["verdict"]))

    @long
    def test_a_tier_is_not_blamed_for_what_the_process_was_stopped(self):
        slow = emulated("ck", write_mb_per_s=0.5)  # a save takes seconds
        process = self.start("train", self.config, f"storage.ck={slow}", "checkpoint.every_steps=5", "checkpoint.hang_seconds=5")
        process.until(lambda: self.steps() >= 5)
        process.send(signal.SIGSTOP)
        time.sleep(7)
        process.send(signal.SIGCONT)
        self.assertTrue(process.wait_for("checkpoint of step 10: .* on tier"), process.log)
        process.send(signal.SIGTERM)
        self.assert_saved(process)
        self.assertNotIn("does not answer", process.log)


if __name__ == "__main__":
    unittest.main()
