#!/usr/bin/env python3
"""Standard streams that are closed, full, or that nobody reads any more: the exit code stays what is documented."""
import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
import unittest

from stoker import STOKER, StokerTest, configuration, long, read_summary, until

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

    @long
    def test_a_terminal_that_is_gone_costs_the_output(self):
        master, terminal = pty.openpty()
        os.close(master)
        self.assertEqual(self.trained(terminal).wait(), 0)

    def on_a_terminal(self, columns, *arguments, env=()):
        """What the program writes to a terminal of that width."""
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        child = subprocess.Popen([STOKER, *map(str, arguments)], cwd=self.dir, stdout=terminal, stderr=terminal,
                                 env={**os.environ, "TERM": "xterm", **dict(env)})
        os.close(terminal)
        written = b""
        with contextlib.suppress(OSError), open(master, "rb", buffering=0) as reader:  # EIO: nobody writes any more
            while piece := reader.read(1 << 16):
                written += piece
        self.assertEqual(child.wait(), 0)
        return written.decode()

    @long
    def test_progress_takes_one_line_of_a_terminal_however_narrow(self):
        for arguments, words in ((["train", self.config, "metrics.sinks=[{type: console}]"], "step 5/5"),
                                 (["bench", "loader", self.config, "--quick", "--epochs=1"], "batches 36 of 36 (100 %)")):
            for columns in (100, 80, 40):
                written = self.on_a_terminal(columns, *arguments)
                # Each is written over the one before.
                lines = [line.split("\r")[0] for line in written.split("\r\x1b[K")[1:]]
                lines = [line for line in lines if line.startswith(words.split()[0])]
                self.assertIn(words[:columns - 1], lines[-1])
                self.assertLess(max(map(len, lines)), columns)

    @long
    def test_the_end_of_a_run_has_colours_where_a_terminal_takes_them(self):
        verdict = re.compile(r"\x1b\[1mVerdict: \x1b\[0m\x1b\[1(;3[123])?m[A-Z]")
        self.assertRegex(self.on_a_terminal(80, "train", self.config), verdict)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            written = self.on_a_terminal(80, "train", self.config, env=env)
            self.assertRegex(written, "\r\nVerdict: [A-Z]")
            self.assertNotIn("\x1b[1m", written)
        self.assertRegex(self.stoker("train", self.config).stdout, "(?s)\nVerdict: .*\nWhy:     .*\nNext:    .*"
                         "stoker report runs/latest\n         stoker doctor runs/latest\nrun directory: runs/trial-")

    @long
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
