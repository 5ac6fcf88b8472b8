#!/usr/bin/env python3
"""Standard streams that are closed, full, or that nobody reads any more: the exit code stays what is documented."""
import fcntl
import json
import os
import pty
import subprocess
import time
import unittest

from stoker import STOKER, StokerTest, configuration, read_summary, until

CLOSED = ("2>&-", ">&- 2>&-", "<&- >&- 2>&-", "1</dev/null 2</dev/null", "2>/dev/full", ">/dev/full 2>/dev/full")


class Streams(StokerTest):
    CONFIG = configuration(device="{type: emulated, step_ms: 1}", training="{epochs: 1, max_steps: 5}",
                           metrics="{every_steps: 1}")

    def through(self, script, *arguments, **options):
        """By a shell, for which "$@" is the program."""
        return self.stoker(*arguments, before=["bash", "-c", script, "bash"], **options)

    def test_closed_and_full_ones_change_no_exit_code(self):
        expected = self.stoker("check", "nope.yaml", code=None).returncode
        self.assertIn(expected, (2, 3))
        for streams in CLOSED:
            with self.subTest(streams):
                self.through(f'"$@" {streams}', "check", "nope.yaml", code=expected)

    def test_closed_ones_do_not_become_files_of_a_run(self):
        for streams in CLOSED[:-1]:
            with self.subTest(streams):
                self.through(f'"$@" {streams}', "train", self.config)
                self.assertEqual(read_summary(self.latest)["status"], "completed")
                rows = (self.latest / "steps.csv").read_text().splitlines()
                self.assertEqual([row.split(",")[0] for row in rows[1:]], ["1", "2", "3", "4", "5"])

    def test_a_training_goes_on_without_its_reader(self):
        done = self.through('"$@" 2>&1 | head -1; exit ${PIPESTATUS[0]}', "train", self.config)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertEqual(read_summary(self.latest)["status"], "completed")
        for streams in ("", "2>&1"):
            self.through(f'{{ sleep 0.5; "$@" --json {streams}; }} | true; exit ${{PIPESTATUS[0]}}', "train", self.config)
            self.assertEqual(read_summary(self.latest)["status"], "completed")

    def trained(self, output, *arguments):
        """The process of a training whose summary is written, and whose standard output that is."""
        child = subprocess.Popen([STOKER, "train", self.config, *arguments], cwd=self.dir, stdout=output, stderr=subprocess.DEVNULL)
        os.close(output)
        until((self.latest / "summary.json").exists, lambda: f"exit status {child.poll()}")
        return child

    def test_an_output_that_somebody_made_non_blocking_is_written_whole(self):
        reader, output = os.pipe2(os.O_NONBLOCK)
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, 4096)
        child = self.trained(output, "--json")
        time.sleep(0.5)  # the pipe is full
        os.set_blocking(reader, True)
        with open(reader, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["status"], "completed")
        self.assertEqual(child.wait(), 0)

    def test_a_terminal_that_is_gone_costs_the_output(self):
        master, terminal = pty.openpty()
        os.close(master)
        self.assertEqual(self.trained(terminal).wait(), 0)

    def test_other_commands_end_quietly_without_their_reader(self):
        for arguments in (["list"], ["list", "--json"], ["describe", "dataset", "image_folder"], ["--help"], ["train", "--help"]):
            with self.subTest(arguments):
                done = self.through('{ sleep 0.5; "$@"; } | true; exit ${PIPESTATUS[0]}', *arguments, code=None)
                self.assertIn(done.returncode, (0, 141))  # 141: it was cut off
                self.assertEqual(done.stderr, "")

    def test_an_error_is_told_by_the_exit_code_where_nobody_reads_it(self):
        self.through('{ sleep 0.5; "$@" 2>&1; } | true; exit ${PIPESTATUS[0]}', "train", self.config, "model.type=nope", code=2)


if __name__ == "__main__":
    unittest.main()
