#!/usr/bin/env python3
"""A machine that runs short of something, at the start of a training or while it runs: it ends with exit code 3 or 5 and
says why, or goes on without and says so; and what it calls saved is there. STOKER_LONG=1: with more values of each limit.
"""
import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from shortages import Cgroup, in_mount_namespace, limit, small_disk
from stoker import LONG, MINI, StokerTest, configuration, emulated, flow, long, posix, slow_decoder

DIRECT = "checkpoint={type: direct, slow: slow, every_steps: 1, keep_last: 100, retry_seconds: 0.01}"
BURST = "checkpoint={type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 100, retry_seconds: 0.01}"
STEPS = 8
LIMIT_ENDS = {0, 3}
LOADING = 127  # the dynamic linker could not load the program


HOG = "taken = []\nwhile True: taken.append(b'x' * (1 << 22))"


def of_kernel(process, file):
    return pathlib.Path(f"/proc/{process.child.pid}/{file}").read_text()


class ShortageTest(StokerTest):
    """Sets of 490 kB each."""
    CONFIG = configuration(
        tiers={"fast": posix("fast"), "slow": posix("slow")},
        dataset="{type: synthetic, samples: 64, test_samples: 0, unique: 8}", decoder="{type: turbojpeg, size: 64}",
        loader="{type: prefetched, batch_size: 8, workers: 2}", training=f"{{max_steps: {STEPS}, threads: 2}}",
        metrics="{every_steps: 1, sinks: [{type: console}, {type: csv}, {type: timeline}, {type: trace}, "
                "{type: prometheus, port: auto}]}")

    def expect_end(self, process, codes):
        """The summary, where there is one."""
        code = process.wait()
        self.assertIn(code, codes, process.log)
        if code != 0:
            self.assertRegex(process.log, r"(?m)^error: \S+ \S+|warning checkpoints: ")
        self.assertNotIn("bug of stoker", process.log)
        summary = json.loads(process.output[process.output.index("{"):]) if "{" in process.output else {}
        self.expect_sets(summary)
        return summary

    def expect_sets(self, summary):
        """All intact, and among them what was called saved."""
        there = {path.name for tier in ("fast", "slow") for path in (self.dir / tier / "trial").glob("step-*")}
        saved = summary.get("checkpoints", {}).get("saved_step")
        if saved is not None:
            self.assertIn(f"step-{saved:010d}", there)
        if there:
            self.stoker("checkpoint", "verify", self.config, "--all", BURST)

    def clear(self):
        for tier in ("fast", "slow"):
            for path in (self.dir / tier).glob("*"):
                shutil.rmtree(path)

    def run_short(self, *overrides, codes, before=()):
        self.clear()
        process = self.start("train", self.config, *overrides, "--json", before=before)
        return self.expect_end(process, codes), process

    def slowed(self, *overrides, before=(), ms=20):
        """A training that has done its second step and has more to do."""
        self.clear()
        process = self.start("train", self.config, *overrides, *slow_decoder(ms, 64), "--json", before=before)
        self.assertTrue(process.wait_for(" step 2/"), process.log)
        return process


class FullDiskTest(ShortageTest):
    def test_under_the_only_tier_of_checkpoints(self):
        small_disk(self, self.dir / "slow", "1800k")
        summary, process = self.run_short(DIRECT, codes={5})
        self.assertEqual(summary["steps"], STEPS)
        self.assertGreater(summary["checkpoints"]["failed"], 0)
        self.assertIn("No space left on device", process.log)

    @long
    def test_under_the_fast_tier_gives_room_to_newer_sets(self):
        small_disk(self, self.dir / "fast", "1800k")
        report = self.run_short(BURST, codes={0, 5})[0]["checkpoints"]
        self.assertEqual(report["durable_step"], report["saved_step"])

    @long
    def test_under_the_slow_tier_leaves_sets_on_the_fast_one(self):
        small_disk(self, self.dir / "slow", "1800k")
        summary, _ = self.run_short(BURST, codes={5})
        self.assertEqual(summary["checkpoints"]["saved_step"], STEPS)
        self.assertLess(summary["checkpoints"]["durable_step"], STEPS)

    @long
    def test_under_the_copies_of_data_ends_the_copying(self):
        small_disk(self, self.dir / "copies", "64k")
        cached = flow(type="cached", inner=posix(MINI), **{"in": posix("copies")})
        summary, process = self.run_short(
            f"storage.data={cached}", "dataset={type: image_folder, storage: data, split: {train_per_class: 5}}",
            "evaluation.enabled=false", codes={0})
        self.assertEqual(summary["steps"], 6)
        self.assertIn("no more copies are made", process.log)

    @long
    def test_under_what_is_staged_and_converted(self):
        small_disk(self, self.dir / "copies", "64k")
        data = "dataset={type: image_folder, storage: data, split: {train_per_class: 5}}"
        cached = flow(type="cached", inner=posix(MINI), **{"in": posix("copies")})
        for command in (("stage", f"storage.data={cached}", data), ("convert", "copies/packed", data, "--format", "packed")):
            done = self.stoker("dataset", *command[:1], self.config, *command[1:], code=3)
            self.assertIn("No space left on device", done.stderr)

    @long
    def test_under_shared_memory(self):
        before = in_mount_namespace(self, "mount -t tmpfs -o size=4k tmpfs /dev/shm\nprintf x >/dev/shm/full")
        _, process = self.run_short(f"storage.slow={emulated('slow')}", DIRECT, codes={0}, before=before)
        self.assertIn("cannot share the emulated device between processes", process.log)

    @long
    def test_under_the_standard_output(self):
        done = self.stoker("train", self.config, "--json", code=3, before=["sh", "-c", 'exec "$@" >/dev/full', "sh"])
        self.assertIn("error: write standard output: No space left on device", done.stderr)


class ReadOnlyTest(ShortageTest):
    def test_root(self):
        before = in_mount_namespace(self, "mount -o remount,bind,ro /")
        _, process = self.run_short(codes={3}, before=before)
        self.assertIn("Read-only file system", process.log)

    @long
    def test_root_beside_a_disk_for_what_the_run_writes(self):
        small_disk(self, self.dir / "runs", "4m")
        before = in_mount_namespace(self, "mount -o remount,bind,ro /")
        self.run_short(codes={0}, before=before)
        _, process = self.run_short(DIRECT, codes={3}, before=before)
        self.assertIn("Read-only file system", process.log)


class DescriptorsTest(ShortageTest):
    def test_few_at_the_start(self):
        for descriptors in range(4, 40) if LONG else (14,):
            with self.subTest(descriptors=descriptors):
                before = ["prlimit", f"--nofile={descriptors}"]
                _, process = self.run_short(DIRECT, codes=LIMIT_ENDS, before=before)
                if process.wait() != 0:
                    self.assertIn("Too many open files", process.log)

    def test_none_from_the_second_step_on(self):
        data = "dataset={type: image_folder, storage: data, split: {train_per_class: 5}}"
        for overrides, end in (([data], {3}), ([BURST], {5}))[:2 if LONG else 1]:
            with self.subTest(overrides=overrides):
                process = self.slowed(*overrides)
                limit(process, resource.RLIMIT_NOFILE, 3)
                self.expect_end(process, end)
                self.assertIn("Too many open files", process.log)


class ThreadsTest(ShortageTest):
    def test_few_at_the_start(self):
        group = Cgroup(self, "pids")
        for threads in range(1, 20) if LONG else (6,):
            with self.subTest(threads=threads):
                group.limit(threads)
                _, process = self.run_short(DIRECT, codes=LIMIT_ENDS, before=group.words)
                if process.wait() != 0:
                    self.assertIn("no more threads can be started", process.log)

    def test_no_new_one_from_the_second_step_on(self):
        group = Cgroup(self, "pids")
        process = self.slowed(BURST, before=group.words)
        group.limit(1)
        self.expect_end(process, {0})


class MemoryTest(ShortageTest):
    def address_space(self):
        """Of a run without a limit, in bytes: before its first step, and at most."""
        process = self.slowed()
        peak = re.search(r"VmPeak:\s+(\d+) kB", of_kernel(process, "status")).group(1)
        process.kill()
        return int(peak) << 10

    def test_little_address_space_at_the_start(self):
        most = self.address_space()
        for share in range(80, 100) if LONG else (96,):
            with self.subTest(share=share):
                before = ["prlimit", f"--as={share * most // 100}"]
                # 5: it may last until the last checkpoint.
                self.run_short(DIRECT, codes=LIMIT_ENDS | {5, LOADING}, before=before)

    @long
    def test_no_more_address_space_from_the_second_step_on(self):
        for room in (0, 1 << 20, 16 << 20) if LONG else (1 << 20,):
            with self.subTest(room=room):
                process = self.slowed(BURST)
                size = int(of_kernel(process, "statm").split()[0]) * resource.getpagesize()
                limit(process, resource.RLIMIT_AS, size + room)
                self.expect_end(process, {0, 3, 5})

    @long
    def test_a_process_that_the_kernel_kills_for_memory_is_gone_on_with(self):
        group = Cgroup(self, "memory")
        group.limit(500 << 20)
        process = self.slowed(BURST, before=group.words, ms=300)  # it has to last until the memory is taken
        pathlib.Path(f"/proc/{process.child.pid}/oom_score_adj").write_text("1000")
        hog = subprocess.Popen([*group.words, sys.executable, "-c", HOG])
        self.addCleanup(hog.wait)
        self.addCleanup(hog.kill)
        self.assertEqual(process.wait(), -signal.SIGKILL, process.log)
        hog.kill()
        acknowledged = [int(step) for step in re.findall(r"checkpoint of step (\d+): [\d.]+ MB on tier", process.log)]
        summary = self.train(BURST, "checkpoint.resume=latest")[0]
        self.assertGreaterEqual(summary["resumed"]["step"], max(acknowledged))


if __name__ == "__main__":
    unittest.main(verbosity=2)
