#!/usr/bin/env python3
"""LMDB's readers under many ranks, cold, on the plain disk, on a throttled loop device, and on mounted emulated tiers
(hdd, lustre), with records of 3 KB and of 192 KB: makes the databases, then runs `stoker bench lmdb` on each and prints
its tables for docs/results.md.

tests/run bench/lmdb_tiers [--full] [--ranks 1,2,4,8] [--readers lmdb,lmm] [--where disk loop hdd lustre] [--folder DIR]
    [--set loader.read_ahead=false]

As root. Debian: fuse3, mount, e2fsprogs (in a minimal system). Without the rights for a loop device or a throttle it
says so and leaves that place out.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from stoker import Process, flow, posix, stoker

MIB = 1 << 20
# name: (side of the images, batch size)
KINDS = {"small": (32, 512), "large": (256, 64)}
LOOP_MB_PER_S = 160
LOOP_IOPS = 2000


def config(path, root, kind, side, batch):
    path.write_text(
        "run: {name: lmdb, seed: 1}\ndevice: {type: emulated, images_per_s: " + ("4000" if kind == "small" else "400") + "}\n"
        f"storage:\n  data: {posix(root)}\n"
        f"dataset: {{type: lmdb, storage: data, train: '{kind}/*train*/data.mdb', test: '{kind}/*test*/data.mdb', "
        f"classes: {kind}/classes.txt}}\n"
        f"decoder: {{type: raw, height: {side}, width: {side}, size: {side}}}\n"
        f"loader: {{type: lmdbio, batch_size: {batch}, workers: 1, node_size: 2}}\n"
        "model: {type: linear}\ntraining: {threads: 1}\nevaluation: {enabled: false}\ndistributed: {}\n"
        "metrics: {every_steps: 1000}\n")
    return path


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


@contextlib.contextmanager
def disk(folder, data):
    yield data, "the plain disk"


def throttle(device):
    """Limits reads of a block device for this process and those it starts; says how, or why not."""
    number = os.stat(device).st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    old = pathlib.Path("/sys/fs/cgroup/blkio")
    try:
        if old.is_dir():
            group = old / f"stoker-lmdb-{os.getpid()}"
            group.mkdir()
            (group / "blkio.throttle.read_bps_device").write_text(f"{name} {LOOP_MB_PER_S * 10**6}")
            (group / "blkio.throttle.read_iops_device").write_text(f"{name} {LOOP_IOPS}")
        else:
            group = pathlib.Path("/sys/fs/cgroup") / f"stoker-lmdb-{os.getpid()}"
            group.mkdir()
            (group / "io.max").write_text(f"{name} rbps={LOOP_MB_PER_S * 10**6} riops={LOOP_IOPS}")
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        return None, f"not throttled: {error}"
    return group, f"throttled by {'blkio' if old.is_dir() else 'io.max'} to {LOOP_MB_PER_S} MB/s, {LOOP_IOPS} requests/s"


def leave(group):
    if group is None:
        return
    (group.parent / "cgroup.procs").write_text(str(os.getpid()))
    group.rmdir()


@contextlib.contextmanager
def loop(folder, data):
    """The databases on a file system of their own, on a loop device."""
    image, at, device, group = folder / "loop.img", folder / "loop", None, None
    size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    at.mkdir()
    try:
        with image.open("wb") as file:
            file.truncate(int(1.2 * size) + 128 * MIB)
        command("mkfs.ext4", "-q", "-F", image)
        device = command("losetup", "--find", "--show", "--direct-io=on", image)
        command("mount", device, at)
        command("cp", "-r", *data.iterdir(), at)
        os.sync()
        group, how = throttle(device)
        if group is None:
            raise OSError(how)
        yield at, f"ext4 on {device} (direct I/O to a file of the disk), {how}"
    finally:
        leave(group)
        subprocess.run(["umount", at], capture_output=True, check=False)
        if device:
            subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)
        image.unlink(missing_ok=True)


def mounted(profile):
    @contextlib.contextmanager
    def place(folder, data):
        at = folder / profile
        at.mkdir()
        tier = folder / f"{profile}.yaml"
        tier.write_text(f"storage: {{slow: {flow(type='emulated', profile=profile, inner=posix(data))}}}\n")
        process = Process(["mount", tier, "slow", at], folder)
        try:
            if not process.wait_for("mounted tier"):
                raise OSError(process.log.strip())
            yield at, f"EMULATED {profile}, mounted by stoker mount (mode cached)"
        finally:
            process.send(signal.SIGTERM)
            process.wait()
    return place


PLACES = {"disk": disk, "loop": loop, "hdd": mounted("hdd"), "lustre": mounted("lustre")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="larger databases, 1 to 8 ranks, three rounds")
    parser.add_argument("--ranks")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--readers", default="lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed")
    parser.add_argument("--where", nargs="+", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--set", nargs="+", default=[], metavar="a.b=c", help="overrides of the runs' configuration")
    parser.add_argument("--folder", help="of the databases; default: the one for temporary files")
    options = parser.parse_args()
    ranks = options.ranks or ("1,2,4,8" if options.full else "1,4")
    rounds = options.rounds or (3 if options.full else 1)
    steps = 32 if options.full else 8
    left_out = []
    with tempfile.TemporaryDirectory(prefix="stoker-lmdb-tiers-", dir=options.folder) as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        for kind in options.kinds:
            side, batch = KINDS[kind]
            stoker("dataset", "synth", data / kind, "--kind=datum", f"--size={side}", f"--samples={batch * steps}",
                   "--classes=10", cwd=folder, timeout=None)
            # The index is made here, for a mounted tier is read-only.
            stoker("dataset", "inspect", config(folder / "index.yaml", data, kind, side, batch), "--samples=1", "loader={type: sync}",
                   cwd=folder, timeout=None)
        for where in options.where:
            try:
                with PLACES[where](folder, data) as (root, what):
                    for kind in options.kinds:
                        path = config(folder / f"{where}-{kind}.yaml", root, kind, *KINDS[kind])
                        print(f"\n## {kind} records, {what}\n", flush=True)
                        done = stoker("bench", "lmdb", path, f"--ranks={ranks}", f"--readers={options.readers}",
                                      f"--rounds={rounds}", f"--steps={steps}", *options.set, cwd=folder, code=None, timeout=None)
                        print(done.stdout if done.returncode == 0 else done.stderr, flush=True)
                        if done.returncode != 0:
                            left_out.append(f"{where}, {kind}: {done.stderr.strip().splitlines()[-1]}")
            except OSError as error:
                left_out.append(f"{where}: {error}")
                print(f"\n## {where}: left out: {error}", flush=True)
    if left_out:
        sys.exit("\nleft out or failed:\n" + "\n".join(left_out))


if __name__ == "__main__":
    main()
