#!/usr/bin/env python3
"""Power loss on a real stack: LazyFS (a FUSE file system that forgets what was not synced) under both tiers.

tests/run checkpoint/lazyfs_check --lazyfs BIN [--injections 500] [--seed S] [OVERRIDE...]

A chain of training processes, each resumed from what the one before it left. LazyFS dies, and the process with it, at a
chosen operation (before or after a create, write, fsync, rename, unlink or read of each file of the protocol; the k-th
write; a torn write; a torn sequence of writes) or at a random instant. What is then on the disk under it must hold
the newest acknowledged checkpoint or a newer one, all sets must be intact, and the next process must resume from it.

Needs root, /dev/fuse, cc, and LazyFS (github.com/dsrhaslab/lazyfs), which is not part of this project. Its model:
contents and sizes of files are lost, names are not (creations, renames and removals reach the disk at once);
crash_states_test loses those, too. OVERRIDES reach the training: with checkpoint.durability=none losses are found.
Exit code 1 where there was a violation.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checkpointed_run import TIERS, Experiment, on_two_tiers

CACHE = """
[faults]
fifo_path="%s"
[cache]
apply_eviction=false
[cache.simple]
custom_size="64mb"
blocks_per_page=1
[filesystem]
log_all_operations=false
logfile=""
"""
# Names of temporary directories become known before they are made: LazyFS counts operations by exact path.
FIXED_RANDOM = r"""
#include <stdlib.h>
unsigned _ZNSt13random_device9_M_getvalEv(void* self) {
  const char* fixed = getenv("FIXED_RANDOM");
  return (void)self, fixed ? (unsigned)strtoul(fixed, 0, 10) : 0;
}
"""
PER_CHAIN = 20  # injections from an empty disk to an empty disk
BEYOND = 6      # steps after which a fault that did not come is replaced by one at that instant
SIZE = 96       # pixels: sets of 3.3 MB, which reach LazyFS in so many writes:
WRITES = 4
DRAINED = re.compile(r"checkpoint of step (\d+): drained to tier")
Fault = collections.namedtuple("Fault", "name command injection seconds", defaults=("", "", None))


def operations(tier, step):
    """(name, operation, expressions for the path and a second one) of what happens to a set; `step`: digits or such."""
    fresh, old, latest = f"{tier}.*tmp-step-0*{step}-", f"{tier}.*tmp-old-", f"{tier}.*tmp-latest-"
    for file in ("state", "MANIFEST"):
        for operation in ("create", "write", "fsync"):
            yield f"{operation} {file}", operation, f"{fresh}.*{file}", ""
    yield "rename set", "rename", fresh, f"/step-0*{step}"
    for operation in ("create", "write", "fsync"):
        yield f"{operation} latest", operation, latest, ""
    yield "rename latest", "rename", latest, "/latest"
    yield "rename away", "rename", f"{tier}.*/step-", "tmp-old-"
    yield "unlink old", "unlink", old, ""
    yield "read set", "read", f"{tier}.*/step-", ""  # restore, drain, read back


def crashes(tier, step):
    for name, operation, path, second in operations(tier, step):
        for timing in ("before", "after"):
            command = f"lazyfs::crash::timing={timing}::op={operation}::from_rgx={path}"
            command += f"::to_rgx={second}" if second else ""
            assert len(command) < 100, command  # what LazyFS reads at once
            yield Fault(f"{tier}: {timing} {name}", command)


def torn(generator, tier, step, disk, number):
    """A fault at the k-th write of a set's data: of this step, or of the next one that is not skipped."""
    kind = generator.choice(["clear-cache", "torn-op", "torn-seq"])
    k = generator.randint(1, WRITES)
    if kind == "clear-cache":
        timing = generator.choice(["before", "after"])
        # LazyFS counts from 0 before, from 1 after.
        text = f'op="write"\ntiming="{timing}"\noccurrence={min(k, WRITES - (timing == "before"))}\ncrash=true\n'
    elif kind == "torn-op":
        parts = generator.randint(2, 16)
        kept = sorted(generator.sample(range(1, parts + 1), generator.randint(1, parts - 1)))
        text = f'occurrence={k}\nparts={parts}\npersist={kept}\n'
    else:
        kept = sorted(generator.sample(range(1, WRITES + 1), generator.randint(1, WRITES - 1)))
        text = f'op="write"\noccurrence=1\npersist={kept}\n'
    key = "from" if kind == "clear-cache" else "file"
    name = f"{number:08x}{number:08x}/state.safetensors"
    text = "".join(f'[[injection]]\ntype="{kind}"\n{key}="{disk}/{tier}/trial/.tmp-step-{n:010d}-{name}"\n{text}'
                   for n in range(step, step + BEYOND))
    return Fault(f"{tier}: {kind} at a k-th write", injection=text)


class LazyDisk:
    """LazyFS on `mount` over `disk`, with one fault."""

    def __init__(self, binary, here):
        self.binary = binary
        self.disk, self.mount, self.fifo = here / "disk", here / "mount", here / "fifo"
        self.settings, self.output = here / "lazyfs.toml", here / "lazyfs.log"
        self.mount.mkdir()
        self.child = None

    def start(self, fault):
        self.settings.write_text(CACHE % self.fifo + fault.injection)
        options = f"allow_other,modules=subdir,subdir={self.disk}"
        with open(self.output, "w") as output:
            # One thread: LazyFS fills a gap with zeros after somebody else has written there.
            self.child = subprocess.Popen(
                [self.binary, self.mount, "--config-path", self.settings, "-o", options, "-f", "-s"],
                stdout=output, stderr=subprocess.STDOUT)
        self.wait_for(lambda: os.path.ismount(self.mount), "a mount")
        if fault.command:
            with open(self.fifo, "w") as fifo:
                fifo.write(fault.command + "\n")
            self.wait_for(lambda: "received: VALID" in self.output.read_text(), "the fault")

    def wait_for(self, condition, what):
        end = time.monotonic() + 10
        while not condition():
            if self.child.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.binary}: no {what}\n{self.output.read_text()}")
            time.sleep(0.005)

    def kill(self):
        self.child.kill()
        self.child.wait()

    def unmount(self):
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)


class Campaign:
    """Injects faults, collects violations instead of stopping."""

    def __init__(self, here, arguments):
        self.random, self.overrides = random.Random(arguments.seed), arguments.overrides
        self.lazy = LazyDisk(arguments.lazyfs, here)
        config = on_two_tiers()
        for tier in TIERS:
            config = config.replace(f"root: {tier}}}", f"root: disk/{tier}}}")
        self.experiment = Experiment(here, config)
        self.number = self.untriggered = self.resumed = 0
        self.hits, self.violations, self.deck = collections.Counter(), [], []

    def begin_chain(self):
        shutil.rmtree(self.lazy.disk, ignore_errors=True)
        shutil.rmtree(self.experiment.dir / "runs", ignore_errors=True)
        for tier in TIERS:
            (self.lazy.disk / tier).mkdir(parents=True)
        self.newest = self.acknowledged = self.drained = 0

    def deal(self):
        """All places once, in random order, and as many torn writes and random instants."""
        places = [(burst, tier, place) for burst, tier in ((True, "fast"), (True, "slow"), (False, "slow"))
                  for place in range(len(list(crashes(tier, 1))))]
        places += [(self.random.random() < 0.6, None, kind) for kind in ["torn"] * 60 + ["instant"] * 15]
        self.random.shuffle(places)
        return places

    def next_fault(self):
        self.deck = self.deck or self.deal()
        burst, tier, place = self.deck.pop()
        step = self.newest + self.random.randint(2, 6)
        tier = tier or self.random.choice(TIERS if burst else ["slow"])
        if place == "torn":
            return burst, step, torn(self.random, tier, step, self.lazy.disk, self.number)
        if place == "instant":
            return burst, step, Fault("at a random instant", seconds=self.random.uniform(0.2, 2))
        # A drain may skip steps.
        return burst, step, list(crashes(tier, "[0-9]*" if burst and tier == "slow" else step))[place]

    def choice(self, burst):
        pick = self.random.choice
        return ["training.epochs=400", "evaluation.every_epochs=400", "checkpoint.every_steps=1",
                "checkpoint.resume=latest", f"decoder.size={SIZE}",
                *[f"storage.{tier}.root={self.lazy.mount / tier}" for tier in TIERS],
                f"checkpoint.type={'burst_buffer' if burst else 'direct'}",
                f"checkpoint.snapshot={pick(['sync', 'async', 'swap'])}", f"checkpoint.write={pick(['buffered', 'auto'])}",
                *self.overrides]

    def inject(self):
        if self.number % PER_CHAIN == 0:
            self.begin_chain()
        self.number += 1
        burst, step, fault = self.next_fault()
        os.environ["FIXED_RANDOM"] = str(self.number)
        process = None
        try:
            self.lazy.start(fault)
            process = self.experiment.start(*self.choice(burst))
            ended = self.watch(process, fault, step + BEYOND)
        finally:
            self.lazy.kill()
            if process:  # before the files below the mount point come to light
                process.kill()
            self.lazy.unmount()
        before = len(self.violations)
        self.expect(not ended, f"the process ended: exit code {process.child.returncode}")
        self.check(process)
        if len(self.violations) > before:
            print(fault, process.overrides, process.log, *self.violations[before:], sep="\n", file=sys.stderr)
            self.begin_chain()

    def watch(self, process, fault, last):
        """Until the fault came, or else at random. True: the process did not wait for it."""
        end = time.monotonic() + (fault.seconds or 30)
        while self.lazy.child.poll() is None:
            if process.child.poll() is not None:
                return self.lazy.child.poll() is None
            if time.monotonic() > end or (not fault.seconds and max([0, *process.acknowledged]) > last):
                self.untriggered += fault.seconds is None
                self.hits["at a random instant"] += 1
                return False
            time.sleep(0.003)
        self.hits[fault.name] += 1
        return False

    def expect(self, holds, what):
        if not holds:
            self.violations.append(f"injection {self.number}: {what}")

    def check(self, process):
        if process.trained:
            self.resumed += self.newest > 0
            self.expect(process.resumed_step == self.newest,
                        f"resumed at step {process.resumed_step}; {self.newest} was there")
            for line in ("checkpoint not used", "superseded"):
                self.expect(line not in process.log, line)
        rows, code = self.experiment.verified()
        self.expect(code == (0 if rows else 3), f"checkpoint verify: exit code {code}")
        self.expect(all(row["intact"] for row in rows), f"damaged: {[row for row in rows if not row['intact']]}")
        newest = {tier: max((row["step"] for row in rows if row["intact"] and row["tier"] == tier), default=0)
                  for tier in TIERS}
        self.newest = max(newest.values())
        self.acknowledged = max([self.acknowledged, *process.acknowledged])
        self.drained = max([self.drained, *map(int, DRAINED.findall(process.log))])
        self.expect(self.newest >= self.acknowledged,
                    f"step {self.acknowledged} was acknowledged; the newest is {self.newest}")
        self.expect(newest["slow"] >= self.drained,
                    f"step {self.drained} was drained; the slow tier's newest is {newest['slow']}")


def missing(arguments):
    """Why nothing can be tested here, or nothing."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    if os.geteuid() != 0:
        return "not root"
    if not arguments.lazyfs or not shutil.which(arguments.lazyfs):
        return f"no LazyFS ({arguments.lazyfs or '--lazyfs BIN is missing'})"
    return "" if shutil.which("cc") else "no C compiler"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lazyfs")
    parser.add_argument("--injections", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    if why := missing(arguments):
        print(f"skipped: {why}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # On tmpfs, which asks for no alignment: LazyFS hands O_DIRECT on, but not with aligned buffers.
    with tempfile.TemporaryDirectory(prefix="stoker-test.", dir="/dev/shm") as directory:
        shim = f"{directory}/fixed_random.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", shim], input=FIXED_RANDOM, text=True, check=True)
        os.environ["LD_PRELOAD"] = shim
        campaign = Campaign(pathlib.Path(directory), arguments)
        while campaign.number < arguments.injections:
            campaign.inject()
            if campaign.number % 50 == 0:
                print(f"{campaign.number} injections, {len(campaign.violations)} violations", flush=True)
    print(f"{campaign.number} injections, {len(campaign.violations)} violations; {campaign.resumed} resumes checked; "
          f"{campaign.untriggered} faults not reached and replaced by a random instant")
    for name, count in sorted(campaign.hits.items()):
        print(f"{count:6}  {name}")
    print(*campaign.violations, sep="\n")
    return 1 if campaign.violations else 0


if __name__ == "__main__":
    sys.exit(main())
