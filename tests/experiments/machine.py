"""What experiments make of the machine, and take away again: slow disks, limited groups of processes, mounted tiers. As
root."""
import contextlib
import os
import pathlib
import signal
import subprocess

from frame import CannotMeasure
from stoker import Process

CGROUPS = pathlib.Path("/sys/fs/cgroup")
OLD = (CGROUPS / "memory").is_dir()  # cgroups of version 1


def output(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMeasure(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


@contextlib.contextmanager
def loop_disk(image, mount, size, *losetup):
    """The loop device of an ext4 file system of so many bytes, which is mounted."""
    with contextlib.ExitStack() as stack:
        with open(image, "wb") as file:
            file.truncate(int(size))
        stack.callback(os.unlink, image)
        device = output("losetup", "--find", "--show", *losetup, image)
        stack.callback(subprocess.run, ["losetup", "--detach", device], check=False)
        output("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        mount.mkdir()
        output("mount", "-o", "noatime", device, mount)
        stack.callback(subprocess.run, ["umount", mount], check=False)
        yield device


class Group:
    """A cgroup that limits reads and writes of one block device, per second, and perhaps memory."""

    def __init__(self, name, number, memory=None, **limits):
        device, name = f"{os.major(number)}:{os.minor(number)}", f"stoker-{os.getpid()}-{name}"
        self.groups = [CGROUPS / kind / name for kind in (("memory", "blkio") if OLD else ("",))]
        try:
            for group in self.groups:
                group.mkdir()
            for limit, value in limits.items():  # rbps, wbps, riops, wiops
                if OLD:
                    word = f"{'read' if limit[0] == 'r' else 'write'}_{limit[1:]}"
                    (self.groups[-1] / f"blkio.throttle.{word}_device").write_text(f"{device} {round(value)}")
                else:
                    (self.groups[0] / "io.max").write_text(f"{device} {limit}={round(value)}")
            if memory:
                (self.groups[0] / ("memory.limit_in_bytes" if OLD else "memory.max")).write_text(str(memory))
        except OSError as error:
            self.remove()
            raise CannotMeasure(f"no cgroup that limits: {error}") from error

    def words(self):
        """What starts a command in it."""
        enter = "".join(f"echo $$ > {group}/cgroup.procs && " for group in self.groups)
        return ["sh", "-c", enter + 'exec "$@"', "sh"]

    def anonymous_bytes(self):
        names = ("rss", "shmem") if OLD else ("anon", "shmem", "kernel")
        figures = dict(line.split() for line in (self.groups[0] / "memory.stat").read_text().splitlines())
        return sum(int(figures.get(name, 0)) for name in names)

    def remove(self):
        for group in self.groups:
            with contextlib.suppress(OSError):
                group.rmdir()


@contextlib.contextmanager
def group(*arguments, **limits):
    made = Group(*arguments, **limits)
    try:
        yield made
    finally:
        made.remove()


@contextlib.contextmanager
def mounted_tier(at, tier, *options):
    """The process of a `stoker mount` of a tier (its YAML) at a folder that is made."""
    at.mkdir()
    config = at.with_suffix(".yaml")
    config.write_text(f"storage: {{tier: {tier}}}\n")
    process = Process(["mount", config, "tier", at, *options], at.parent)
    try:
        if not process.wait_for("mounted tier"):
            raise CannotMeasure(process.log.strip()[-500:])
        yield process
    finally:
        process.send(signal.SIGTERM)
        process.wait()
