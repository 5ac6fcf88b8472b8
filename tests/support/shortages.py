"""What a machine may run short of, by real means: small, silent and read-only file systems, cgroups, limits of a process.

Each skips the test where the kernel does not let this process have it.
"""
import ctypes
import os
import pathlib
import resource
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)


def small_disk(test, path, size):
    """A file system of that size in memory, mounted at `path`."""
    path.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        test.skipTest(f"this process may not mount a file system: {done.stderr.strip()}")
    test.addCleanup(subprocess.run, ["umount", "--lazy", path], check=True)
    return path


def silent_disk(test, path):
    """A file system at `path` that answers no call, as one whose server is gone: FUSE, and nobody reads its requests."""
    path.mkdir()
    try:
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        test.skipTest(f"no FUSE here: {error}")
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    if LIBC.mount(b"silent", os.fsencode(path), b"fuse", 0, options) != 0:
        error = os.strerror(ctypes.get_errno())
        os.close(server)
        test.skipTest(f"this process may not mount a file system: {error}")
    test.addCleanup(subprocess.run, ["umount", "--lazy", path], check=True)
    test.addCleanup(os.close, server)  # first: whoever waits gets an error
    return path


def disk_that_freezes(test, path):
    """A disk at `path`: after `fsfreeze --freeze PATH` every call that writes to it waits, until `fsfreeze --unfreeze PATH`."""
    path.mkdir()
    image = f"{path}.image"
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, path]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            test.skipTest(f"this process may not mount a disk: {done.stderr.strip()}")
    test.addCleanup(subprocess.run, ["umount", "--lazy", path], check=True)
    test.addCleanup(subprocess.run, ["fsfreeze", "--unfreeze", path], capture_output=True, check=False)  # first of all
    return path


def in_mount_namespace(test, commands):
    """The words before a program that runs where these commands of a shell have changed the mounts."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        test.skipTest(f"no mount namespaces here: {done.stderr.strip()}")
    return ["unshare", "--mount", "sh", "-ec", f'{commands}\nexec "$@"', "sh"]


class Cgroup:
    """A group of processes with a limit of its own: `pids`, `memory` or `cpu`."""
    FILES = {"cpu": ("cpu.cfs_quota_us", "cpu.max"), "pids": ("pids.max", "pids.max"), "memory": ("memory.limit_in_bytes", "memory.max")}

    def __init__(self, test, controller):
        root = pathlib.Path("/sys/fs/cgroup")
        old = (root / controller).is_dir()  # version 1
        self.path = (root / controller if old else root) / f"stoker-test-{os.getpid()}"
        self.file = self.path / self.FILES[controller][0 if old else 1]
        try:
            if not old:
                (root / "cgroup.subtree_control").write_text(f"+{controller}")
            self.path.mkdir()
        except OSError as error:
            test.skipTest(f"this process may not make a cgroup: {error}")
        test.addCleanup(self.path.rmdir)
        if not self.file.exists():
            test.skipTest(f"no cgroup controller {controller} here")

    def limit(self, value):
        self.file.write_text(str(value))

    @property
    def words(self):
        """Before a program that runs in it."""
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.path)]


def limit(process, what, value):
    """A limit of a process that runs: soft and hard."""
    resource.prlimit(process.child.pid, what, (value, value))
