"""A program that is held up by what its arguments say: what `stoker run` has to find out, and is not told.

Reads samples, decodes them, and computes on them for a while, in its main thread or in workers, as one rank or several.
Knows nothing of Stoker. Times of decoding and computing are processor time, so that they are the same on a busy machine.
"""
import argparse
import concurrent.futures
import contextlib
import hashlib
import mmap
import multiprocessing
import os
import pathlib
import random
import socket
import subprocess
import sys
import tarfile
import time

PAGE = 4096
BLOCK = b"x" * 65536


def burn(ms, native=False):
    """Processor time; native: without the interpreter's lock."""
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        if native:
            hashlib.sha256(BLOCK).digest()


class Reader:
    """Reads sample after sample of a folder of small files, or of its largest one."""

    def __init__(self, options):
        self.options, self.random, self.opened = options, random.Random(os.getpid()), None

    def files(self):
        if self.opened is None:
            root = pathlib.Path(self.options.read)
            self.opened = sorted(path for path in root.iterdir() if path.stat().st_size < 1 << 20)
        return self.opened

    def largest(self):
        return max(pathlib.Path(self.options.read).iterdir(), key=os.path.getsize)

    def __call__(self):
        return getattr(self, self.options.how)()

    def none(self):
        return b""

    def file(self):
        return self.random.choice(self.files()).read_bytes()

    def evicted(self):
        """As file(), of what lay on the disk: it puts the file out of the page cache first."""
        with open(self.random.choice(self.files()), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return file.read()

    def small(self):
        """Records of a page within the largest file."""
        if not isinstance(self.opened, int):
            self.opened = os.open(self.largest(), os.O_RDONLY)
            self.pages = os.fstat(self.opened).st_size // PAGE
        return os.pread(self.opened, PAGE, PAGE * self.random.randrange(self.pages))

    def direct(self):
        """A MiB past the page cache."""
        if not isinstance(self.opened, int):
            self.opened = os.open(self.largest(), os.O_RDONLY | os.O_DIRECT)
            self.pages, self.memory = os.fstat(self.opened).st_size // (1 << 20), mmap.mmap(-1, 1 << 20)
        os.preadv(self.opened, [self.memory], self.random.randrange(self.pages) << 20)
        return b""

    def map(self):
        """A page of a mapping that is in no memory yet."""
        if not isinstance(self.opened, mmap.mmap):
            with open(self.largest(), "rb") as file:
                self.opened = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self.opened.madvise(mmap.MADV_RANDOM)
                self.pages = len(self.opened) // PAGE
        return self.opened[PAGE * self.random.randrange(self.pages)]

    def array(self):
        import numpy
        if self.opened is None:
            self.opened = numpy.memmap(self.largest(), dtype="uint8", mode="r")
        at = self.random.randrange(len(self.opened) - PAGE)
        return int(self.opened[at:at + PAGE].sum())

    def tar(self):
        """A member of a tar file, one after the other."""
        member = self.opened.next() if self.opened else None
        if member is None:
            self.opened = tarfile.open(self.largest(), "r:")
            member = self.opened.next()
        return self.opened.extractfile(member).read()

    def write(self):
        """A checkpoint of a MiB, durable."""
        with open(f"{self.options.read}/written-{os.getpid()}", "wb") as file:
            file.write(BLOCK * 16)
            file.flush()
            os.fsync(file.fileno())
        return b""

    def server(self):
        """An object of a server that takes its time."""
        if self.opened is None:
            self.opened = socket.create_connection(("127.0.0.1", int(self.options.read)))
        self.opened.sendall(b"?")
        return self.opened.recv(1)

    def stdin(self):
        return sys.stdin.buffer.read(65536)


class Samples:
    """A data set as PyTorch's loaders want one."""

    def __init__(self, options):
        self.options, self.reader = options, None

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        self.reader = self.reader or Reader(self.options)
        data = self.reader()
        if self.options.image:
            import io
            import PIL.Image
            PIL.Image.open(io.BytesIO(data)).convert("RGB").resize((224, 224))
        burn(self.options.decode_ms, self.options.native)
        return index


def work(samples, tasks, results):
    while (index := tasks.get()) is not None:
        results.put(samples[index])


def from_workers(options, samples):
    context = multiprocessing.get_context(options.loader)
    tasks, results = context.Queue(), context.Queue()
    workers = [context.Process(target=work, args=(samples, tasks, results), daemon=True) for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    for index in range(2 * options.workers):
        tasks.put(index)
    try:
        while True:
            yield results.get()
            tasks.put(0)
    finally:
        for worker in workers:
            worker.kill()


def batches(options):
    samples = Samples(options)
    if options.loader == "none":
        while True:
            yield samples[0]
    elif options.loader in ("fork", "spawn"):
        yield from from_workers(options, samples)
    elif options.loader == "pool":
        with multiprocessing.Pool(options.workers) as pool:
            yield from pool.imap_unordered(samples.__getitem__, range(1 << 14))
    elif options.loader == "threads":
        own = [Samples(options) for _ in range(options.workers)]
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            waiting = [pool.submit(own[i].__getitem__, i) for i in range(options.workers)]
            while True:
                for i, one in enumerate(waiting):
                    one.result()
                    waiting[i] = pool.submit(own[i].__getitem__, i)
                    yield i
    else:
        from torch.utils.data import DataLoader
        kind = {"torch": "fork", "torch_spawn": "spawn", "torch_inline": None}[options.loader]
        yield from DataLoader(samples, batch_size=options.batch, num_workers=options.workers if kind else 0,
                              multiprocessing_context=kind)


class Peers:
    """The other ranks, with which each step is made together."""

    def __init__(self, options):
        self.options, self.ends = options, []
        if options.ranks == 1:
            return
        if options.gloo:
            import torch
            torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{options.port}", rank=options.rank, world_size=options.ranks)
            self.tensor = torch.ones(1)
        elif options.rank == 0:
            with socket.create_server(("127.0.0.1", options.port)) as server:
                self.ends = [server.accept()[0] for _ in range(options.ranks - 1)]
        else:
            end = time.monotonic() + 60
            while not self.ends:
                try:
                    self.ends = [socket.create_connection(("127.0.0.1", options.port))]
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.02)

    def step(self, goes_on):
        """Whether all go on."""
        if self.options.gloo:
            import torch
            self.tensor[0] = float(goes_on)
            torch.distributed.all_reduce(self.tensor)
            return self.tensor[0] == self.options.ranks
        for end in self.ends:
            if self.options.rank:
                end.sendall(bytes([goes_on]))
        answers = [end.recv(1) == b"\x01" for end in self.ends]
        goes_on = goes_on and all(answers)
        if self.options.rank == 0:
            for end in self.ends:
                end.sendall(bytes([goes_on]))
        return goes_on


def run(options):
    peers = Peers(options)
    if options.rank == options.slow_rank:
        options.read, options.how = options.slow_read or options.read, options.slow_how or options.how
        options.decode_ms += options.slow_decode_ms
        options.main_ms += options.slow_main_ms
    end = None
    with contextlib.closing(batches(options)) as source:
        for _ in source:
            end = end or time.monotonic() + options.seconds
            if options.sleep_ms:
                time.sleep(options.sleep_ms / 1e3)
            burn(options.main_ms)
            if not peers.step(time.monotonic() < end):
                break


def launch(options):
    """Starts the ranks, and waits for them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        options.port = probe.getsockname()[1]
    ranks = []
    for rank in range(options.ranks):
        words = argparse.Namespace(**vars(options) | {"rank": rank})
        if options.launch == "words":
            ranks.append(subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank), "--port", str(options.port)]))
        else:
            ranks.append(multiprocessing.get_context(options.launch).Process(target=run, args=(words,)))
            ranks[-1].start()
    for rank in ranks:
        rank.wait() if options.launch == "words" else rank.join()


def main():
    parser = argparse.ArgumentParser()
    for name, usual in (("read", "."), ("how", "none"), ("slow_read", ""), ("slow_how", ""), ("loader", "none"), ("launch", "words")):
        parser.add_argument("--" + name.replace("_", "-"), default=usual)
    for name, usual in (("workers", 2), ("batch", 4), ("ranks", 1), ("rank", -1), ("port", 0), ("slow_rank", -2)):
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=usual)
    for name in ("decode_ms", "main_ms", "sleep_ms", "slow_decode_ms", "slow_main_ms"):
        parser.add_argument("--" + name.replace("_", "-"), type=float, default=0)
    parser.add_argument("--seconds", type=float, default=2.5)
    for name in ("native", "image", "gloo"):
        parser.add_argument("--" + name, action="store_true")
    options = parser.parse_args()
    if options.ranks > 1 and options.rank < 0:
        launch(options)
    else:
        run(options)


if __name__ == "__main__":
    main()
