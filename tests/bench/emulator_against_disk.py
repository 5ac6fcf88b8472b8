#!/usr/bin/env python3
"""The emulator against a disk that is really slow: cold random reads of 112 KB files by 1, 2, 4 and 8
threads, and the time to write and sync one checkpoint with direct I/O. Prints both, and how far they
are apart.

emulator_against_disk.py --bench build/tests/tier_bench [--files 800] [--mib 672]      as root

The disk is a file system on a loop device whose backing file lies in memory, slowed down by the kernel
(cgroup v1, blkio.throttle) to the figures of the profile hdd: 163 MB/s read, 133.1 MB/s written, and as
many requests a second as that profile reads files of 112 KB with many threads,

    C = 1 / (seek / queue_depth + 112 KB / 163 MB/s) = 262/s.

What is equal to it is not the profile itself. The throttle lets one request after the other through, at
most C a second and 163 MB a second, and adds no latency: 8 threads get no more than one, while a hard
disk with its queue gives 8 threads 2.3 times as much. The emulated device of the same nature has queue
depth 1, no latency, and a seek that is what is left of 1 / C after the bytes:

    seek = 1 / C - 112 KB / 163 MB/s = 3.1 ms.

For other sizes the two differ by design: a disk seeks and then transfers, the throttle takes the longer
of the two. The profile's own curve stands beside them: with 8 threads it must reach the same rate.

Reads are cold: the data are evicted (POSIX_FADV_DONTNEED) and the kernel counts what came from the
device. Writes are direct, as the throttle does not hold what goes through the page cache. Root cgroups
are not touched; mount, loop device and cgroup are taken away again whatever happens.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

SIZE = 112_000
BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")


def output(*command):
    return subprocess.check_output(command, text=True).strip()


@contextlib.contextmanager
def disk(megabytes):
    """(mount point, loop device)."""
    with contextlib.ExitStack() as stack:
        memory = stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-disk-", dir="/dev/shm"))
        image, mount = f"{memory}/image", f"{memory}/mount"
        os.mkdir(mount)
        with open(image, "wb") as file:
            file.truncate((int(megabytes) + 1) << 20)
        loop = output("losetup", "--find", "--show", image)
        stack.callback(subprocess.run, ["losetup", "--detach", loop], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop], check=True)
        subprocess.run(["mount", "-o", "noatime", loop, mount], check=True)
        stack.callback(subprocess.run, ["umount", mount], check=True)
        yield mount, loop


@contextlib.contextmanager
def throttle(loop, read_mb_per_s, write_mb_per_s, per_s):
    """The cgroup to run in."""
    number = output("lsblk", "--noheadings", "--output", "MAJ:MIN", loop).strip()
    group = BLKIO / f"stoker-bench-{os.getpid()}"
    group.mkdir()
    try:
        for name, value in (("read_bps", 1e6 * read_mb_per_s), ("write_bps", 1e6 * write_mb_per_s),
                            ("read_iops", per_s), ("write_iops", per_s)):
            (group / f"blkio.throttle.{name}_device").write_text(f"{number} {round(value)}\n")
        yield group
    finally:
        group.rmdir()


def evict(directory):
    os.sync()
    for path in pathlib.Path(directory).iterdir():
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def requests(loop):
    """(reads, bytes read) that the device has seen."""
    fields = pathlib.Path(f"/sys/block/{pathlib.Path(loop).name}/stat").read_text().split()
    return int(fields[0]), 512 * int(fields[2])


def bench(options, group, *arguments):
    def enter():
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
    return json.loads(subprocess.check_output([options.bench, *arguments], text=True, preexec_fn=enter))


def emulated(root, figures):
    listed = ", ".join(f"{key}: {value:.6g}" for key, value in figures.items())
    return f"{{type: emulated, {listed}, inner: {{type: posix, root: {root}}}}}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--files", type=int, default=800)
    parser.add_argument("--mib", type=int, default=672, help="of the checkpoint")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8])
    options = parser.parse_args()
    hdd = json.loads(output(options.bench, "figures", "hdd"))
    hdd.pop("stream_mb_per_s")
    arm_ms = hdd["seek_ms"] / hdd["queue_depth"]
    per_s = 1e3 / (arm_ms + 1e-3 * SIZE / hdd["read_mb_per_s"])
    alike = {"read_mb_per_s": hdd["read_mb_per_s"], "write_mb_per_s": hdd["write_mb_per_s"], "seek_ms": arm_ms}
    with contextlib.ExitStack() as stack:
        mount, loop = stack.enter_context(disk(options.files * SIZE / 1e6 * 1.2 + 2 * options.mib * 1.05 + 200))
        memory = stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-fast-", dir="/dev/shm"))
        for root in (f"{mount}/data", memory):
            os.makedirs(root, exist_ok=True)
            for number in range(options.files):
                pathlib.Path(f"{root}/{number:05}").write_bytes(os.urandom(SIZE))
        group = stack.enter_context(throttle(loop, hdd["read_mb_per_s"], hdd["write_mb_per_s"], per_s))
        tiers = {"disk": f"{{type: posix, root: {mount}/data}}", "emulated": emulated(memory, alike),
                 "profile": emulated(memory, hdd)}

        def reads(name, threads):
            evict(f"{mount}/data")
            before = requests(loop)
            got = bench(options, group if name == "disk" else None, "all", tiers[name], "--threads", str(threads))
            after = requests(loop)
            cold = (after[1] - before[1]) / options.files / SIZE
            return got["operations_per_s"], cold, (after[0] - before[0]) / options.files

        print(f"throttle: {hdd['read_mb_per_s']:g}/{hdd['write_mb_per_s']:g} MB/s, {per_s:.1f} requests/s; "
              f"emulated alike: {alike}; medians of {options.rounds} rounds")
        print(f"{'threads':<10} {'disk':>10} {'emulated':>10} {'apart':>8} {'profile hdd':>12}   files/s")
        for threads in options.threads:
            rounds = {name: [] for name in tiers}
            for _ in range(options.rounds):
                for name in tiers:
                    rounds[name].append(reads(name, threads))
            disk_s, emulated_s, profile_s = (statistics.median(r[0] for r in rounds[name]) for name in tiers)
            print(f"{threads:<10} {disk_s:10.1f} {emulated_s:10.1f} {100 * (emulated_s / disk_s - 1):+7.1f}% "
                  f"{profile_s:12.1f}   cold: {100 * min(r[1] for r in rounds['disk']):.0f} % of the bytes came from "
                  f"the device, {statistics.median(r[2] for r in rounds['disk']):.2f} requests a file", flush=True)
        times = {"disk": [], "emulated": []}
        for _ in range(options.rounds):
            for name, values in times.items():
                got = bench(options, group if name == "disk" else None, "write", tiers[name], "--mib", str(options.mib))
                values.append(got["seconds"])
        disk_s, emulated_s = (statistics.median(values) for values in times.values())
        print(f"{'checkpoint':<10} {disk_s:9.2f}s {emulated_s:9.2f}s {100 * (emulated_s / disk_s - 1):+7.1f}%   "
              f"{options.mib} MiB written and synced")


if __name__ == "__main__":
    main()
