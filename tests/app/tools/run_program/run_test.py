#!/usr/bin/env python3
"""`stoker run`: what it counts of programs that fork, exec, spawn, have threads and are killed is what they did; it
passes signals and exit codes on, and disturbs nothing."""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import unittest

from stoker import STOKER, StokerTest, needed

SIZE = 100_000
Counted = collections.namedtuple("Counted", "opens reads bytes_read writes bytes_written")


class RunTest(StokerTest):
    def setUp(self):
        super().setUp()
        self.data = self.dir / "data"
        self.data.mkdir()
        for name in "abcd":
            (self.data / name).write_bytes(b"x" * SIZE)

    def python(self, text, *words, **options):
        """Runs this Python program under it: (what it has printed, {file: Counted} of self.data)."""
        script = self.dir / "program.py"
        script.write_text(textwrap.dedent(text))
        return self.counted(sys.executable, "-B", script, *words, **options)

    def counted(self, *command, code=0, log="log.darshan", env=()):
        done = self.stoker("run", "--log", log, "--", *command, code=code, env=env)
        return done, self.files(log)

    def records(self, log="log.darshan"):
        return self.json("darshan", log, "--records")["logs"][0]["records"]

    def files(self, log="log.darshan"):
        """Of all processes and both modules."""
        sums = collections.defaultdict(lambda: [0] * len(Counted._fields))
        for record in self.records(log):
            if not record["path"].startswith(f"{self.data}/"):
                continue
            for module in ("POSIX", "STDIO"):
                of = record.get(module, {})
                for at, name in enumerate(Counted._fields):
                    sums[record["path"][len(f"{self.data}/"):]][at] += of.get(f"{module}_{name.upper()}", 0)
        return {name: Counted(*values) for name, values in sums.items()}

    def test_threads_and_descriptors(self):
        _, files = self.python("""
            import os, sys, threading
            def work(name):
                fd = os.open(f"{sys.argv[1]}/{name}", os.O_RDONLY)
                for i in range(50):
                    os.pread(fd, 100, 100 * i)
                os.close(fd)
            threads = [threading.Thread(target=work, args=(name,)) for name in "abca"]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            """, self.data)
        self.assertEqual(files["a"], Counted(2, 100, 10000, 0, 0))
        self.assertEqual(files["b"], files["c"])
        self.assertEqual(files["b"], Counted(1, 50, 5000, 0, 0))

    def test_a_fork_reads_what_its_parent_has_opened_and_a_kill_loses_nothing(self):
        _, files = self.python("""
            import os, signal, sys
            fd = os.open(f"{sys.argv[1]}/a", os.O_RDONLY)
            if os.fork() == 0:
                os.pread(fd, 1000, 0)
                other = os.open(f"{sys.argv[1]}/b", os.O_RDONLY)
                os.read(other, 7)
                os.kill(os.getpid(), signal.SIGKILL)
            os.wait()
            if os.fork() == 0:
                os.pread(fd, 500, 0)
                os._exit(0)
            os.wait()
            """, self.data)
        self.assertEqual(files["a"], Counted(1, 2, 1500, 0, 0))
        self.assertEqual(files["b"], Counted(1, 1, 7, 0, 0))

    def test_shells_spawned_workers_and_an_environment_made_anew_are_followed(self):
        _, files = self.python("""
            import multiprocessing, os, subprocess, sys
            def work(name):
                with open(f"{sys.argv[1]}/{name}", "rb", buffering=0) as file:
                    while file.read(50000): pass
            if __name__ == "__main__":
                worker = multiprocessing.get_context("spawn").Process(target=work, args=("a",))
                worker.start()
                worker.join()
                assert worker.exitcode == 0
                subprocess.run(["sh", "-c", f"head -c 10 {sys.argv[1]}/b; exec head -c 20 {sys.argv[1]}/c"], check=True)
                subprocess.run(["head", "-c", "30", f"{sys.argv[1]}/d"], env={"PATH": "/usr/bin:/bin"}, check=True)
                os.execlp("env", "env", "-i", "/usr/bin/head", "-c", "40", f"{sys.argv[1]}/d")
            """, self.data)
        self.assertEqual(files["a"], Counted(1, 3, SIZE, 0, 0))
        self.assertEqual(files["b"], Counted(1, 1, 10, 0, 0))
        self.assertEqual(files["c"], Counted(1, 1, 20, 0, 0))
        self.assertEqual(files["d"], Counted(2, 2, 70, 0, 0))

    def test_a_child_of_a_vfork_takes_no_file_away(self):
        _, files = self.python("""
            import os, subprocess, sys
            fd = os.open(f"{sys.argv[1]}/a", os.O_RDONLY)
            for _ in range(3):
                subprocess.run(["true"], close_fds=True, stdin=subprocess.DEVNULL)
                os.pread(fd, 10, 0)
            """, self.data)
        self.assertEqual(files["a"], Counted(1, 3, 30, 0, 0))

    def test_mapped_files_and_an_executable_that_ends_at_once(self):
        self.python("""
            import mmap, os, sys
            fd = os.open(f"{sys.argv[1]}/a", os.O_RDWR)
            with mmap.mmap(fd, 0) as memory: sum(memory[::4096])
            os.pwrite(fd, b"xyz", 5)
            os._exit(3)
            """, self.data, code=3)
        [record] = [record for record in self.records() if record["path"] == f"{self.data}/a"]
        self.assertEqual(record["POSIX"]["POSIX_MMAPS"], 1)
        self.assertEqual(record["POSIX"]["POSIX_BYTES_WRITTEN"], 3)
        self.assertEqual([segment[:2] for segment in record["write_segments"]], [[5, 3]])

    def test_what_closes_all_descriptors_is_counted_on(self):
        _, files = self.python("""
            import os, sys
            os.closerange(3, 4096)
            fd = os.open(f"{sys.argv[1]}/a", os.O_RDONLY)
            assert fd == 3, fd
            os.read(fd, 11)
            """, self.data)
        self.assertEqual(files["a"], Counted(1, 1, 11, 0, 0))

    def test_output_errors_and_exit_codes_are_the_programs(self):
        done, _ = self.counted("sh", "-c", "echo out; echo err >&2; exit 7", code=7)
        self.assertEqual(done.stdout, "out\n")
        self.assertTrue(done.stderr.startswith("err\n"), done.stderr)
        self.counted("sh", "-c", "kill -9 $$", code=128 + signal.SIGKILL)
        for command, code, said in (("nosuch", 127, "there is no such program in PATH"),
                                    (self.data / "a", 126, "cannot be executed")):
            self.assertIn(said, self.stoker("run", "--", command, code=code).stderr)
        self.stoker("run", code=2)
        # A message of errno's own is not changed by what is counted.
        done, _ = self.counted("cat", self.data / "none", code=1)
        self.assertIn("No such file or directory", done.stderr)

    def test_json_is_the_last_line_and_the_log_has_the_programs_number(self):
        done = self.stoker("run", "--json", "--", "echo", "hello")
        first, last = done.stdout.splitlines()
        self.assertEqual(first, "hello")
        [log] = self.dir.glob("stoker-run-*.darshan")
        self.assertEqual(json.loads(last)["log"], log.name)

    def test_signals_are_passed_on_and_the_log_is_written(self):
        process = self.start("run", "--log", "log.darshan", "--", "sh", "-c",
                             f"trap 'echo asked; exit 5' TERM; head -c 9 {self.data}/a >/dev/null; echo ready; "
                             "for i in $(seq 300); do sleep 0.1; done")
        process.until(lambda: "ready" in process.output)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 5)
        self.assertIn("asked", process.output)
        self.assertEqual(self.files()["a"].bytes_read, 9)

    def test_a_static_program_runs_and_is_named(self):
        static = "/sbin/ldconfig"
        readelf = needed("readelf", package="binutils")
        if "INTERP" in subprocess.run([readelf, "-l", static], capture_output=True, text=True, check=True).stdout:
            self.skipTest("ldconfig is no static program here")
        done, _ = self.counted(static, "-p")
        self.assertIn("static programs cannot be counted", done.stderr)

    def test_nothing_is_left_in_memory(self):
        def folders():
            return {name for name in os.listdir("/dev/shm") if name.startswith(f"stoker-run-{os.getuid()}-")}
        before = folders()
        self.counted("sh", "-c", "sleep 0 & sleep 0; wait")
        self.assertFalse(folders() - before)


class PreloadTest(unittest.TestCase):
    LIBRARY = os.path.join(os.path.dirname(STOKER), "../lib/stoker/stoker_preload.so")

    def test_it_needs_libc_and_nothing_else(self):
        text = subprocess.run([needed("readelf", package="binutils"), "-d", self.LIBRARY], capture_output=True, text=True,
                              check=True).stdout
        libraries = {line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line}
        self.assertIn("libc.so.6", libraries)
        self.assertFalse({name for name in libraries if not name.startswith(("libc.so.6", "ld-linux"))})

    def test_without_a_folder_it_counts_nothing_and_harms_nothing(self):
        for env in ({}, {"STOKER_PRELOAD_LOG": "/nowhere"}, {"STOKER_PRELOAD_LOG": "relative"}):
            done = subprocess.run([shutil.which("python3"), "-c", "print(open('/proc/self/comm').read())"], check=True, text=True,
                                  env={**os.environ, **env, "LD_PRELOAD": self.LIBRARY}, capture_output=True)
            self.assertTrue(done.stdout.startswith("python"), done)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
