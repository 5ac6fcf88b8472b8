#!/usr/bin/env python3
"""Opens, reads, writes and bytes of each file, as `stoker run` counts them, beside what strace sees of the same program:
small programs of every kind, and readers of data sets."""
import collections
import os
import re
import subprocess
import sys
import textwrap
import unittest

import strace_log
from stoker import LONG, StokerTest, needed

# Name: (the words of the program, the module of Python that it needs). {data} is the folder.
PROGRAMS = {
    "cp": ("cp {data}/a {data}/copy", None),
    "dd": ("dd if={data}/a of={data}/out bs=3000 status=none", None),
    "cat": ("cat {data}/a {data}/b >/dev/null", None),
    "head": ("head -c 1234 {data}/a >/dev/null", None),
    "wc": ("wc -c {data}/a {data}/b", None),
    "cmp": ("cmp {data}/a {data}/a2", None),
    "md5sum": ("md5sum {data}/a {data}/b", None),
    "tar": ("tar -cf {data}/all.tar -C {data} a b text", None),
    "gzip": ("gzip -k {data}/text", None),
    "shell": ("sh -c 'while read line; do :; done < {data}/text; cat {data}/a > {data}/redirected'", None),
    "python": ("""open(f"{folder}/a", "rb").read(); open(f"{folder}/w", "w").write("text")""", "sys"),
    "sqlite": ("""
        import sqlite3
        base = sqlite3.connect(f"{folder}/base.sqlite")
        base.execute("create table t (a, b)")
        base.executemany("insert into t values (?, ?)", [(i, "x" * 100) for i in range(500)])
        base.commit()
        print(base.execute("select count(*) from t where a > 3").fetchone())
        base.close()""", "sqlite3"),
    "zipfile": ("""
        import zipfile
        with zipfile.ZipFile(f"{folder}/z.zip", "w") as archive: archive.write(f"{folder}/a", "a")
        zipfile.ZipFile(f"{folder}/z.zip").read("a")""", "zipfile"),
    "numpy": ("""
        import numpy
        numpy.save(f"{folder}/n.npy", numpy.arange(10000))
        assert numpy.load(f"{folder}/n.npy").sum() == 49995000
        assert numpy.fromfile(f"{folder}/n.npy", dtype="uint8").size == 80128""", "numpy"),
    "memmap": ("""
        import numpy
        numpy.memmap(f"{folder}/a", dtype="uint8", mode="r")[::4096].sum()""", "numpy"),
    "pil": ("""
        from PIL import Image
        Image.new("RGB", (50, 40)).save(f"{folder}/i.png")
        Image.open(f"{folder}/i.png").load()""", "PIL"),
    "h5py": ("""
        import h5py, numpy
        with h5py.File(f"{folder}/h.h5", "w") as file: file["x"] = numpy.arange(1000)
        assert h5py.File(f"{folder}/h.h5")["x"][5] == 5""", "h5py"),
    "dataloader": ("""
        import torch
        class Files(torch.utils.data.Dataset):
            def __len__(self): return 12
            def __getitem__(self, at):
                with open(f"{folder}/{'ab'[at % 2]}", "rb") as file: return len(file.read(1000 + at))
        loader = torch.utils.data.DataLoader(Files(), batch_size=2, num_workers=2)
        assert sum(int(batch.sum()) for batch in loader) == 6768""", "torch"),
    "multiprocessing": ("""
        import multiprocessing
        def work(name): return len(open(f"{folder}/{name}", "rb").read())
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, ["a", "b", "text"]) == [40000, 123, 30000]""", "multiprocessing"),
    "os": ("""
        import os
        fd = os.open(f"{folder}/a", os.O_RDWR)
        os.preadv(fd, [bytearray(100), bytearray(50)], 7)
        other = os.dup(fd)
        os.read(other, 33)
        os.pwrite(other, b"abc", 5)
        out = os.open(f"{folder}/sent", os.O_WRONLY | os.O_CREAT)
        os.write(out, b"begin")
        os.fsync(out)
        os.rename(f"{folder}/sent", f"{folder}/renamed")""", "os"),
}
# What the kernel copies is a read and a write.
OPTIONS = tuple(f"{option},copy_file_range,sendfile,splice" if option.startswith("trace=") else option
                for option in strace_log.OPTIONS)
COPIED = re.compile(r"\d+\.\d+ (?:copy_file_range|sendfile|splice)\(\d+<(.*?)>, (?:[^<]*, )?\d+<(.*?)>, .*\) += (\d+)$")
COUNTED = ("opens", "reads", "writes", "bytes_read", "bytes_written")

FEW = ("cp", "tar", "shell", "python", "multiprocessing", "os")


def python_here():
    """Debian's, which has the packages, where it has torch."""
    debian = "/usr/bin/python3"
    return debian if os.path.exists(debian) else sys.executable


def has(module):
    return subprocess.run([python_here(), "-c", f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{module}'))"],
                          check=False).returncode == 0


class CountersTest(StokerTest):
    def folder(self, name):
        data = self.dir / name
        data.mkdir()
        (data / "a").write_bytes(bytes(range(250)) * 160)
        (data / "a2").write_bytes(bytes(range(250)) * 160)
        (data / "b").write_bytes(b"b" * 123)
        (data / "text").write_text("a line of text for shells....\n" * 1000)
        return data

    def words(self, name, data):
        program, module = PROGRAMS[name]
        if module is None:
            return ["sh", "-c", program.format(data=data)]
        script = self.dir / f"program_{name}.py"
        script.write_text(f"import sys\nfolder = sys.argv[1]\n{textwrap.dedent(program)}\n")
        return [python_here(), "-B", script, data]

    def seen_by_strace(self, name):
        data, traces = self.folder(f"{name}-strace"), self.dir / f"{name}-traces"
        traces.mkdir()
        subprocess.run([needed("strace", package="strace"), "-f", *OPTIONS, "-o", traces / "t",
                        *self.words(name, data)], check=True, capture_output=True, timeout=100)
        files = {}
        for path, calls in strace_log.calls_by_file(traces).items():
            if path.startswith(f"{data}/") and not os.path.isdir(path):
                files[path[len(f"{data}/"):]] = {
                    "opens": sum(call.kind == "open" for call in calls),
                    "reads": sum(call.kind == "read" for call in calls),
                    "writes": sum(call.kind == "write" for call in calls),
                    "bytes_read": sum(call.result for call in calls if call.kind == "read"),
                    "bytes_written": sum(call.result for call in calls if call.kind == "write")}
        for trace in traces.iterdir():
            for line in trace.read_text(errors="surrogateescape").splitlines():
                if copied := COPIED.match(line):
                    source, target = copied[1], copied[2]
                    for path, calls, count in ((source, "reads", "bytes_read"), (target, "writes", "bytes_written")):
                        if of := files.get(path.removeprefix(f"{data}/")):
                            of[calls] += 1
                            of[count] += int(copied[3])
        return {path: counts for path, counts in files.items() if any(counts.values())}

    def seen_by_run(self, name):
        data, log = self.folder(f"{name}-run"), self.dir / f"{name}.darshan"
        self.stoker("run", "--log", log, "--", *self.words(name, data), timeout=100)
        files = collections.defaultdict(lambda: dict.fromkeys(COUNTED, 0))
        streams = set()
        for record in self.json("darshan", log, "--records")["logs"][0]["records"]:
            if not record["path"].startswith(f"{data}/") or os.path.isdir(record["path"]):
                continue
            path = record["path"][len(f"{data}/"):]
            for module in ("POSIX", "STDIO"):
                for key in COUNTED:
                    files[path][key] += record.get(module, {}).get(f"{module}_{key.upper()}", 0)
            # A stream's file is opened once by each module where fileno() is asked, and dup() is an open.
            posix = record.get("POSIX", {})
            files[path]["opens"] -= posix.get("POSIX_FILENOS", 0) + posix.get("POSIX_DUPS", 0)
            files[path]["opens"] -= record.get("STDIO", {}).get("STDIO_FDOPENS", 0)
            if record.get("STDIO", {}).get("STDIO_OPENS"):
                streams.add(path)
        return {path: counts for path, counts in files.items() if any(counts.values())}, streams

    def compare(self, name):
        strace, (run, streams) = self.seen_by_strace(name), self.seen_by_run(name)
        for counts in (strace, run):  # names that differ from run to run
            for path in [path for path in counts if "tmp" in path]:
                del counts[path]
        self.assertEqual(set(strace), set(run), name)
        for path, expected in strace.items():
            # libc reads and writes for a stream as much at once as it likes.
            keys = ("opens",) if path in streams else COUNTED
            self.assertEqual({key: run[path][key] for key in keys}, {key: expected[key] for key in keys}, f"{name}: {path}")
            if path in streams:
                self.assertEqual(run[path]["bytes_written"], expected["bytes_written"], f"{name}: {path}")


def add(name):
    def test(self):
        module = PROGRAMS[name][1]
        if module and not has(module):
            self.skipTest(f"{python_here()} has no {module}")
        self.compare(name)
    setattr(CountersTest, f"test_{name}", test)


for each in PROGRAMS if LONG else FEW:
    add(each)

if __name__ == "__main__":
    unittest.main(verbosity=2)
