"""The emulated tier against its own profile, and (--disk) beside a disk that is really slow.

`stoker bench storage`, reads of 1 MiB and of 4 KiB at random places and writes of 1 MiB, by 1 to 16 threads, and by two
processes that share the device. n threads should get min(n / (L + t), queue_depth / L, 1 / (seek / queue_depth + t))
operations/s. A line that overran has no meaning: this machine is too slow for that device.

The disk, as root: a file system on a loop device that a cgroup slows down to hdd's 163 MB/s read, 133.1 MB/s written,
and C = 1 / (seek / queue_depth + 112 KB / 163 MB/s) requests/s. That lets one request after the other through, and adds
no latency; the emulated device of the same nature has queue depth 1, no latency, and a seek of what is left of 1 / C
after the bytes. Cold reads of files of 112 KB, and a checkpoint's worth of direct writes. For
docs/notes/emulated-tier.md.
"""
import contextlib
import json
import os
import pathlib
import re
import tempfile

from machine import group, loop_disk
from stoker import SOURCE, Process, configuration, flow, posix

BESIDE = "/dev/shm"
ROUNDS = 1
OPTIONS = {"profiles": ["hdd", "ssd", "optane", "lustre", "nfs", "s3-like"], "threads": [1, 2, 4, 8, 16],
           "seconds": 2.0, "disk": False, "files": (800, "that the disk holds"), "mib": (672, "of the checkpoint")}
KINDS = {"bandwidth": ("read", "random", 1 << 20), "iops": ("read", "random", 4096),
         "write": ("write", "sequential", 1 << 20)}
COLUMNS = ("read_mb_per_s", "write_mb_per_s", "read_latency_ms", "write_latency_ms", "metadata_latency_ms", "seek_ms",
           "queue_depth", "latency_sigma", "stream_mb_per_s")
SIZE = 112_000


def figures_of(profile):
    """Of the table in the sources."""
    table = (SOURCE / "io/storage/emulated/tier_figures.cpp").read_text()
    row = re.search(rf'\{{"{profile}", \{{TierProfile::\w+, ([^}}]*)', table)[1].replace("{", "")
    return {name: float(value) for name, value in zip(COLUMNS, row.split(",")) if value.strip()}


def expected(figures, op, size, threads):
    """Operations a second."""
    seek = 0 if op == "write" and threads == 1 else figures["seek_ms"]
    latency, pipe = seek + figures[f"{op}_latency_ms"], 1e-3 * size / figures[f"{op}_mb_per_s"]
    own = 1e-3 * size / figures["stream_mb_per_s"] if "stream_mb_per_s" in figures else pipe
    limits = threads / (latency + own), figures["queue_depth"] / latency, 1 / (seek / figures["queue_depth"] + pipe)
    return 1e3 * min(limits)


def operate(lab, profile, kind, threads, processes):
    op, pattern, size = KINDS[kind]
    seconds, figures = lab.given.seconds * (3 if processes > 1 else 1), figures_of(profile)
    wanted = expected(figures, op, size, threads)
    block = max(4, min((64 << 20) // size, int(1.5 * seconds * wanted / threads))) * size
    words = ["bench", "storage", f"{profile}.yaml", "data", "--op", op, "--pattern", pattern, "--seconds",
             seconds, "--transfer-size", size, "--block-size", block, "--threads", threads // processes, "--rounds", 1,
             "--json"]
    running = [Process(words, lab.folder) for _ in range(processes)]
    assert not any([process.wait(None) for process in running]), running[0].log
    said = [json.loads(process.output) for process in running]
    rounds = [one["results"][0]["rounds"][-1] for one in said]
    rate = sum(one["transfers"] / one["seconds"] for one in rounds)
    return {"expected/s": wanted, "measured/s": rate, "MB/s": 1e-6 * rate * size, "off %": 100 * (rate / wanted - 1),
            "overran": sum(one["overruns"] for one in said) > 0.01 * sum(one["transfers"] for one in rounds)}


def against_itself(lab):
    cells = {}
    for profile in lab.given.profiles:
        tier = flow(type="emulated", profile=profile, inner=posix(lab.folder))
        (lab.folder / f"{profile}.yaml").write_text(f"storage: {{data: {tier}}}\ndataset: {{type: synthetic}}\n")
        for kind in KINDS:
            for threads, processes in [(n, 1) for n in lab.given.threads] + [(2, 2), (8, 2)]:
                name = f"{profile}, {kind}, {f'{processes} x ' * (processes > 1)}{threads // processes} threads"
                cells[name] = profile, kind, threads, processes
    got = lab.measure("operations", lab.each(cells, operate), wide=True)
    off = [(abs(got.median(name, "off %")), name) for name in got if not any(got[name]["overran"])]
    lab.say("furthest off of what did not overrun: {:.2f} % ({})".format(*max(off)) if off else "all lines overran")


def against_a_disk(lab, stack):
    given, hdd, mount = lab.given, figures_of("hdd"), lab.folder / "mount"
    arm_ms = hdd["seek_ms"] / hdd["queue_depth"]
    per_s = 1e3 / (arm_ms + 1e-3 * SIZE / hdd["read_mb_per_s"])
    alike = {"read_mb_per_s": hdd["read_mb_per_s"], "write_mb_per_s": hdd["write_mb_per_s"], "seek_ms": arm_ms}
    room = given.files * SIZE * 1.2 + 2.2 * (given.mib << 20) + (200 << 20)
    device = stack.enter_context(loop_disk(lab.folder / "image", mount, room))
    memory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=BESIDE)))
    for path in (root / f"data/all/{number:05}.jpg" for root in (mount, memory) for number in range(given.files)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SIZE))
    slow = stack.enter_context(group("disk", os.stat(device).st_rdev, rbps=1e6 * hdd["read_mb_per_s"],
                                     wbps=1e6 * hdd["write_mb_per_s"], riops=per_s, wiops=per_s))
    direct = lambda root: flow(type="direct", root=root)
    tiers = {"disk": (posix(mount / "data"), direct(mount), slow.words())} | {
        name: (*(flow(type="emulated", **figures, inner=inner) for inner in (posix(memory / "data"), direct(memory))),
               [])
        for name, figures in (("emulated alike", alike), ("profile hdd", hdd))}

    def reads(name, threads):
        (lab.folder / "disk.yaml").write_text(configuration(
            {"data": tiers[name][0]}, dataset="{type: image_folder, storage: data, split: {test_fraction: 0}}"))
        cold = "cold" if name == "disk" else "as_is"
        return {"files/s": lab.json("bench", "read", "disk.yaml", f"--threads={threads}", f"--page-cache={cold}",
                                    "--repetitions=2", before=tiers[name][2])["results"][0]["images_per_s"]["median"]}

    def writes(name):
        (lab.folder / "disk.yaml").write_text(configuration({"data": tiers[name][1]}))
        got = lab.json("bench", "storage", "disk.yaml", "data", "--op=write", "--threads=1",
                       f"--block-size={given.mib}MiB",
                       "--transfer-size=8MiB", "--rounds=1", "--fsync", before=tiers[name][2])
        return {"s": got["results"][0]["rounds"][-1]["seconds"]}
    lab.say(f"throttle: {per_s:.1f} requests/s; emulated alike: {alike}")
    for threads in [threads for threads in given.threads if threads <= 8]:
        lab.measure(f"{threads} threads", {name: lambda name=name: reads(name, threads) for name in tiers},
                    reference="disk")
    lab.measure(f"{given.mib} MiB written and synced", {
        name: lambda name=name: writes(name) for name in ("disk", "emulated alike")}, reference="disk")


def run(lab):
    if not lab.given.disk:
        against_itself(lab)
        return
    with contextlib.ExitStack() as stack:
        against_a_disk(lab, stack)
