"""The emulator against a disk that is really slow: cold random reads of 112 KB files, and a checkpoint's worth of direct writes.

The disk is a file system on a loop device whose backing file lies in memory, slowed down by the kernel (a cgroup) to the figures
of the profile hdd: 163 MB/s read, 133.1 MB/s written, and as many requests a second as that profile reads files of 112 KB with
many threads, C = 1 / (seek / queue_depth + 112 KB / 163 MB/s). What is equal to it is not the profile itself: the throttle lets
one request after the other through, at most C a second and 163 MB a second, and adds no latency. The emulated device of the
same nature has queue depth 1, no latency, and a seek that is what is left of 1 / C after the bytes. The profile's own curve
stands beside them: with 8 threads it must reach the same rate. Reads are cold, and written files are synced. As root. For
docs/notes/emulated-tier.md.
"""
import contextlib
import os
import pathlib
import tempfile

from emulated_tier import figures_of
from machine import group, loop_disk
from stoker import configuration, flow, posix

BESIDE = "/dev/shm"
OPTIONS = {"files": 800, "mib": (672, "of the checkpoint"), "threads": [1, 2, 4, 8]}
SIZE = 112_000


def run(lab):
    given, hdd = lab.given, figures_of("hdd")
    arm_ms = hdd["seek_ms"] / hdd["queue_depth"]
    per_s = 1e3 / (arm_ms + 1e-3 * SIZE / hdd["read_mb_per_s"])
    alike = {"read_mb_per_s": hdd["read_mb_per_s"], "write_mb_per_s": hdd["write_mb_per_s"], "seek_ms": arm_ms}
    with contextlib.ExitStack() as stack:
        mount = lab.folder / "mount"
        room = given.files * SIZE * 1.2 + 2.2 * (given.mib << 20) + (200 << 20)
        device = stack.enter_context(loop_disk(lab.folder / "image", mount, room))
        memory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        for root in (mount, memory):
            for number in range(given.files):
                path = root / "data/all" / f"{number:05}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(os.urandom(SIZE))
        slow = stack.enter_context(group("disk", os.stat(device).st_rdev, rbps=1e6 * hdd["read_mb_per_s"],
                                         wbps=1e6 * hdd["write_mb_per_s"], riops=per_s, wiops=per_s))
        direct = flow(type="direct", root=memory)
        tiers = {"disk": (posix(mount / "data"), flow(type="direct", root=mount), slow.words())} | {
            name: (flow(type="emulated", **figures, inner=posix(memory / "data")), flow(type="emulated", **figures, inner=direct), [])
            for name, figures in (("emulated alike", alike), ("profile hdd", hdd))}

        def reads(name, threads):
            tier, _, before = tiers[name]
            (lab.folder / "reads.yaml").write_text(configuration(
                {"data": tier}, dataset="{type: image_folder, storage: data, split: {test_fraction: 0}}"))
            cold = "cold" if name == "disk" else "as_is"
            got = lab.json("bench", "read", "reads.yaml", f"--threads={threads}", f"--page-cache={cold}", "--repetitions=2",
                           before=before)["results"][0]
            return {"files/s": got["images_per_s"]["median"]}

        def writes(name):
            _, tier, before = tiers[name]
            (lab.folder / "writes.yaml").write_text(configuration({"data": tier}))
            got = lab.json("bench", "storage", "writes.yaml", "data", "--op=write", "--threads=1", f"--block-size={given.mib}MiB",
                           "--transfer-size=8MiB", "--rounds=1", "--fsync", before=before)["results"][0]
            return {"s": got["rounds"][-1]["seconds"]}

        lab.say(f"throttle: {hdd['read_mb_per_s']:g}/{hdd['write_mb_per_s']:g} MB/s, {per_s:.1f} requests/s; emulated alike: {alike}")
        for threads in given.threads:
            lab.measure(f"{threads} threads", {name: lambda name=name: reads(name, threads) for name in tiers}, reference="disk")
        lab.measure(f"{given.mib} MiB written and synced", {name: lambda name=name: writes(name)
                                                            for name in ("disk", "emulated alike")}, reference="disk")
