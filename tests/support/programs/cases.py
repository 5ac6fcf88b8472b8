"""Programs with a bottleneck that is known, and what `stoker run` says of them: for its test and its benchmark."""
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tarfile
import threading
import time

from stoker import STOKER, Process, emulated, mounted

LOAD = pathlib.Path(__file__).with_name("load.py")
PYTHON = "/usr/bin/python3"  # which has Debian's packages
# Tiers that are mounted; what they do not limit is fast.
TIERS = {"slow": {"read_latency_ms": 12, "metadata_latency_ms": 0.1, "queue_depth": 32}, "narrow": {"read_mb_per_s": 4},
         "far": {"metadata_latency_ms": 25, "read_latency_ms": 0.1, "queue_depth": 32}, "disk": {"profile": "hdd"}}


@dataclasses.dataclass
class Case:
    name: str
    expected: tuple          # bounds, one of which is right
    words: list              # of the command; {slow}, {data}, ... are folders
    computes: bool = False   # it must not be blamed on storage
    cores: float = 0         # a cgroup's limit


def load(**options):
    """The words of load.py with these options."""
    words = [PYTHON, str(LOAD)]
    for name, value in options.items():
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(str(value))
    return words


def shell(*words):
    return ["sh", "-c", " ".join(f"'{word}'" for word in words) + "; true"]


class Places:
    """Data in a folder, the same on emulated tiers, and a server that is slow; each is made when it is first asked for."""

    def __init__(self, directory):
        self.directory, self.stack, self.known = pathlib.Path(directory).resolve(), contextlib.ExitStack(), {}

    def __enter__(self):
        self.make_data()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def make_data(self):
        data = self.directory / "data"
        data.mkdir(parents=True)
        noise = random.Random(1)
        for number in range(40):
            (data / f"{number:03}.bin").write_bytes(noise.randbytes(60_000))
        (data / "large.bin").write_bytes(noise.randbytes(1 << 20) * 32)
        tars = self.directory / "tars"
        tars.mkdir()
        with tarfile.open(tars / "all.tar", "w") as archive:
            for number in range(40):
                archive.add(data / f"{number:03}.bin", f"{number:03}.bin")
        self.known = {"data": data, "tars": tars, "directory": self.directory}

    def images(self):
        at = self.directory / "images"
        at.mkdir()
        subprocess.run([PYTHON, "-c", "import os, sys, PIL.Image\nfor i in range(10): PIL.Image.frombytes('RGB', (640, 480), "
                        "os.urandom(640 * 480 * 3)).save(f'{sys.argv[1]}/{i}.jpg')", at], check=True)
        return at

    def mount(self, tier, mode):
        """The whole directory on a tier."""
        at = self.directory.with_name(f"{self.directory.name}-{tier}-{mode}")
        at.mkdir()
        self.stack.callback(at.rmdir)
        config = at.with_suffix(".yaml")
        self.stack.callback(config.unlink)
        config.write_text(f"storage: {{{tier}: {emulated(self.directory, **TIERS[tier])}}}\n")
        process = Process(["mount", config, tier, at, "--mode", mode], at.parent)
        self.stack.callback(lambda: mounted(at) and subprocess.run(["umount", "-l", at], check=False))
        self.stack.callback(lambda: (process.send(signal.SIGTERM), process.wait(60)))
        if not process.wait_for("mounted tier"):
            raise AssertionError(process.log)
        return at

    def server(self):
        """The port of a server that answers each byte after 15 ms."""
        listening = socket.create_server(("127.0.0.1", 0))
        self.stack.callback(listening.close)

        def answer(end):
            with contextlib.suppress(OSError):
                while end.recv(1):
                    time.sleep(0.015)
                    end.sendall(b"!")

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return listening.getsockname()[1]

    def __getitem__(self, name):
        """`data`, `slow` (its data mounted directly), `slow_drop`, `slow_tars`, `server`, ..."""
        if name not in self.known:
            tier, _, what = name.partition("_")
            if tier in ("server", "images"):
                self.known[name] = getattr(self, tier)()
            else:
                mode = "drop" if what == "drop" else "direct"
                mount = f"{tier} {mode}"
                if mount not in self.known:
                    self.known[mount] = self.mount(tier, mode)
                self.known[name] = self.known[mount] / ("tars" if what == "tars" else "data")
        return self.known[name]

    def words(self, words):
        """With folders in place of their names."""
        filled = []
        for word in words:
            for name in {part.split("}")[0] for part in word.split("{")[1:]}:
                if name.replace("_", "").isalnum():
                    word = word.replace("{" + name + "}", str(self[name]))
            filled.append(word)
        return filled


def cgroup(places, cores):
    """Words that start a program with a limit; None: there is no such cgroup here."""
    root = pathlib.Path("/sys/fs/cgroup")
    old = (root / "cpu").is_dir()
    path = (root / "cpu" if old else root) / f"stoker-verdict-{os.getpid()}-{cores}"
    try:
        if not old:
            (root / "cgroup.subtree_control").write_text("+cpu")
        if not path.exists():
            path.mkdir()
            places.stack.callback(path.rmdir)
        (path / ("cpu.cfs_quota_us" if old else "cpu.max")).write_text(str(int(1e5 * cores)) if old else f"{int(1e5 * cores)} 100000")
    except OSError:
        return None
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(path)]


def judge(places, case, before=(), timeout=120):
    """The record of `stoker run` of a case; None: it cannot be run here. before: words that start it."""
    before = list(before)
    if case.cores:
        limited = cgroup(places, case.cores)
        if limited is None:
            return None
        before += limited
    log = places.directory / "run.darshan"
    command = [*before, STOKER, "run", "--json", "--log", str(log), "--", *places.words(case.words)]
    process = subprocess.Popen(command, cwd=places.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        raise AssertionError(f"{case.name}: not within {timeout} s\n{output}{errors}") from None
    if process.returncode != 0:
        raise AssertionError(f"{case.name}: exit code {process.returncode}\n{output}{errors}")
    return json.loads(output.strip().splitlines()[-1])


def others_of(record):
    """Cores that other programs kept busy, a mean."""
    values = [value for value in record["course"]["other_cores"] if value is not None]
    return sum(values) / len(values) if values else 0.0


def said(record):
    return record["verdict"]["bound"]


def crowded(record, case):
    """Others took its cores, so that what was to be seen was not there."""
    shares = {cause["bound"]: cause["share"] for cause in record["verdict"]["causes"]}
    return "cores" not in case.expected and others_of(record) > 0.2 and shares.get("cores", 0) > 0.25
