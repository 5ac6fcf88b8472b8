#!/usr/bin/env python3
"""The doctor against runs whose bottleneck is known, because it was put there: emulated devices and tiers with
stated figures, decoders that sleep. At least nine of ten right, and no proposal that `check` refuses. One case for
each of four answers; all of them where STOKER_LONG is set. While other processes compute, a wrong answer is asked for again, and
that they take the cores is right.
"""
import json
import os
import resource
import shutil
import time
import unittest

from stoker import LONG, StokerTest, configuration, emulated, posix, slow_decoder

REQUIRED = 0.9
ATTEMPTS = 3


class Others:
    """The share of the cores' time that processes which are not of this test took since this was made."""

    def __init__(self):
        self.begin = self.times()

    @staticmethod
    def times():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system = (int(word) / os.sysconf("SC_CLK_TCK") for word in stat.readline().split()[1:4])
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return user + nice + system - own.ru_utime - own.ru_stime, time.monotonic()

    def share(self):
        busy, now = self.times()
        return (busy - self.begin[0]) / (now - self.begin[1]) / os.cpu_count()


def tier(**figures):
    return f"storage.data={emulated(**figures)}"


def decoder(delay_ms):
    return slow_decoder(delay_ms, size=32)


def slow(mb_per_s):
    return f"storage.slow={emulated('slow', write_mb_per_s=mb_per_s)}"


def checkpoint(kind, every=5, **others):
    more = "".join(f", {key}: {value}" for key, value in others.items())
    return f"checkpoint={{type: {kind}, slow: slow, every_steps: {every}, durability: none{more}}}"


FAST = f"storage.fast={posix('fast')}"
THREADED, SYNC = "loader.type=threaded", "loader.type=sync"

# name: (right answers, overrides). A set of two where either is right.
CASES = {
    "device busy": ({"compute"}, ["device.step_ms=60"]),
    "device busy, everything ahead": ({"compute"}, ["device.step_ms=60", "loader.type=device_prefetched"]),
    "device busy, generated images": ({"compute"}, [
        "device.step_ms=60", "dataset={type: synthetic, samples: 400, test_samples: 10, unique: 20}"]),
    "one worker, slow reads, nothing ahead": ({"storage_latency"}, [THREADED, "loader.workers=1", tier(read_latency_ms=25)]),
    "one worker, slow reads": ({"storage_latency"}, ["loader.workers=1", tier(read_latency_ms=25)]),
    "two workers, very slow reads": ({"storage_latency"}, [tier(read_latency_ms=60), "training.max_steps=15"]),
    "slow tier, many workers": ({"storage_bandwidth"}, [tier(read_mb_per_s=0.4), "loader.workers=8"]),
    "slow tier, nothing ahead": ({"storage_bandwidth"}, [
        tier(read_mb_per_s=0.4), THREADED, "loader.workers=8"]),
    "slow tier, one thread": ({"storage_bandwidth"}, [tier(read_mb_per_s=0.4), SYNC]),
    "one worker decodes": ({"decode"}, ["loader.workers=1", *decoder(30)]),
    "two workers decode, nothing ahead": ({"decode"}, [THREADED, *decoder(60)]),
    "decoding wants the cores": ({"decode", "cpu_contention"}, [
        "device.step_ms=0.4", "decoder={type: turbojpeg, size: 256, augment: {color_jitter: {hue: 0.1}}}",
        "training={epochs: 40, max_steps: 600}"]),
    "loading in the trainer's thread": ({"no_prefetch"}, [
        SYNC, "loader.workers=8", "device.step_ms=40", *decoder(40)]),
    "a straggler in every batch": ({"no_prefetch"}, [
        THREADED, "loader.workers=4", "loader.batch_size=5", "device.step_ms=40", *decoder(40)]),
    "bursts of short steps": ({"prefetch_depth"}, [
        "loader.workers=4", "loader.prefetch_batches=1", "device.step_ms=40", "training.max_steps=100",
        "device.distribution={type: gamma, relative_stdev: 2}", *decoder(32)]),
    "copies with latency": ({"h2d_copy"}, ["device.h2d_latency_us=80000"]),
    "copies over a slow link": ({"h2d_copy"}, ["device.h2d_gb_per_s=0.008", "decoder.size=224"]),
    "checkpoints to a slow tier": ({"checkpoint_write"}, [slow(1), FAST, checkpoint("direct")]),
    "checkpoints with no other tier": ({"checkpoint_write"}, [slow(1), checkpoint("direct")]),
    "saves queue": ({"checkpoint_write"}, [slow(0.5), checkpoint("direct", snapshot="async", slots=1)]),
    "drains pile up": ({"checkpoint_drain"}, [
        slow(0.5), FAST, checkpoint("burst_buffer", fast="fast"), "training.max_steps=40"]),
    "evaluation after every epoch": ({"evaluation"}, [
        "device={type: cpu}", "dataset.split={train_per_class: 1, test_per_class: 20}", "evaluation.every_epochs=1",
        "training={epochs: 60}", "loader.batch_size=5"]),
    "steps of nothing": ({"host_overhead"}, [
        "device.step_ms=0.005", "device.h2d_latency_us=0", "loader.batch_size=1", "decoder.size=8", "training.max_steps=60000",
        "dataset={type: synthetic, samples: 60000, test_samples: 10, unique: 20, image: {width: 16, height: 16}}"]),
    "three steps": ({"unknown"}, ["training.max_steps=3"]),
    "the pipeline was just filled": ({"unknown"}, [
        "loader.workers=1", "loader.batch_size=16", tier(read_latency_ms=40), "device.step_ms=900", "training.max_steps=6"]),
}

FEW = ("device busy", "one worker, slow reads", "one worker decodes", "checkpoints to a slow tier")


class DoctorRuns(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 20}",
        dataset="{type: image_folder, storage: data, split: {train_per_class: 20, test_per_class: 1}}",
        decoder="{type: turbojpeg, size: 32}", loader="{type: prefetched, batch_size: 4, workers: 2}",
        training="{max_steps: 20}", metrics="{every_steps: 10, sinks: [{type: csv}]}")


class DoctorTest(DoctorRuns):
    def assert_accepted(self, run, diagnosis):
        for finding in diagnosis["findings"]:
            self.stoker("check", run / "config.yaml", *finding["overrides"])

    def diagnosis(self, answers, overrides):
        """Of a run: what the doctor says, and whether it is right."""
        for _ in range(ATTEMPTS):
            for sets in ("slow", "fast"):
                shutil.rmtree(self.dir / sets, ignore_errors=True)
            others = Others()
            _, run = self.train(*overrides)
            contended = others.share() > 0.1
            diagnosis = self.json("doctor", run)
            self.assert_accepted(run, diagnosis)
            correct = diagnosis["cause"] in (answers | {"cpu_contention"} if contended else answers)
            if correct or not contended:
                break
        return diagnosis, correct

    def test_known_bottlenecks(self):
        right = 0
        cases = CASES if LONG else {name: CASES[name] for name in FEW}
        for name, (answers, overrides) in cases.items():
            diagnosis, correct = self.diagnosis(answers, overrides)
            right += correct
            first = diagnosis["findings"][0] if diagnosis["findings"] else {"cost": 0, "overrides": []}
            print(f"{'right' if correct else 'WRONG'}  {name}: {diagnosis['cause']} ({100 * first['cost']:.0f} %)  "
                  f"{' '.join(first['overrides'])}", flush=True)
            if not correct:
                print(json.dumps(diagnosis, indent=2), flush=True)
        self.assertGreaterEqual(right, len(cases) * REQUIRED, f"{right} of {len(cases)}")

    def test_what_is_proposed_is_tried(self):
        _, run = self.train("loader.workers=1", *decoder(30))
        diagnosis = self.json("doctor", run, "--verify", "--rounds", "2", "--steps", "15")
        verified = diagnosis["verified"]
        self.assertEqual(len(verified["images_per_s"]["changed"]), 2)
        self.assertTrue(verified["helped"], verified)
        self.assertGreater(verified["difference"], 0.5)
        # Where loading is to be otherwise, the search for all of its settings is named, and its file is there.
        said = self.stoker("doctor", run).stdout
        self.assertIn(f"stoker tune {run / 'config.yaml'}", said)
        self.stoker("check", run / "config.yaml")

    def test_says_what_is_missing(self):
        self.assertIn("summary.json is missing", self.stoker("doctor", self.dir, code=3).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
