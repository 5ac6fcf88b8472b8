"""Programs with a known bottleneck, and what `stoker run` says of each; then programs that only compute.

The bottlenecks: storage, work in workers, the main process, too few cores, other ranks, a server. What only computes must not be
blamed on storage. Where other programs of the machine took the cores that a case needs, its truth is another: such cases are
passed over, and counted apart. --nice (as root) gives the cases precedence over them. Emulated tiers need /dev/fuse, cgroups
root. For docs/promises.md, docs/results.md and app/tools/run_program/verdict/README.md.
"""
import collections
import re

from frame import CannotMeasure
from programs.cases import PYTHON, Case, Places, crowded, judge, load, others_of, said, shell
from stoker import why_no_mount

ROUNDS = 1
BESIDE = "/var/tmp"
OPTIONS = {"nice": (0, "of the cases, such as -10"), "list": (False, "the cases alone")}
STORAGE, WORKERS, MAIN, CORES, PEERS, NETWORK = ("storage",), ("workers",), ("main_process",), ("cores",), ("peers",), ("network",)


def storage_cases():
    slow = {"read": "{slow}", "how": "file"}
    yield "reads in its main thread", load(**slow)
    yield "the same, and computes a little", load(**slow, main_ms=4)
    yield "the same behind a shell", shell(*load(**slow))
    yield "the same behind env and nice", ["env", "A=b", "nice", "-n", "0", *load(**slow)]
    for loader in "fork", "spawn", "threads", "pool":
        yield f"2 workers ({loader}) read", load(**slow, loader=loader, decode_ms=1, main_ms=1)
    yield "6 threads read, and it computes", load(**slow, loader="threads", workers=6, main_ms=0.5)
    yield "2 workers read more than they decode", load(**slow, loader="fork", decode_ms=4)
    yield "2 workers behind a shell", shell(*load(**slow, loader="fork", decode_ms=1))
    for loader in "torch_inline", "torch", "torch_spawn":
        yield f"PyTorch's DataLoader ({loader})", load(**slow, loader=loader, decode_ms=1, main_ms=1, seconds=5)
    yield "PyTorch's DataLoader, batches of one", load(**slow, loader="torch", batch=1, decode_ms=1, seconds=5)
    yield "records of a page", load(read="{slow}", how="small")
    yield "records of a page, 4 threads", load(read="{slow}", how="small", loader="threads", workers=4)
    yield "faults of a mapping", load(read="{slow_drop}", how="map")
    yield "faults of numpy.memmap", load(read="{slow_drop}", how="array")
    yield "faults of a mapping in 2 workers", load(read="{slow_drop}", how="map", loader="fork", decode_ms=1)
    yield "a tier of 4 MB/s", load(read="{narrow}", how="file")
    yield "a tier of 4 MB/s, 2 workers", load(read="{narrow}", how="file", loader="fork", decode_ms=1)
    yield "a hard disk, records of a page", load(read="{disk}", how="small")
    yield "a hard disk, files that are dropped", load(read="{disk_drop}", how="file")
    yield "opening takes longest", load(read="{far}", how="file")
    yield "a tar file on a slow tier", load(read="{slow_tars}", how="tar")
    yield "the disk past the page cache", load(read="{data}", how="direct")
    yield "checkpoints that are synced", load(read="{directory}", how="write")
    yield "2 ranks, both read", load(**slow, ranks=2)
    yield "2 ranks with 2 workers each", load(**slow, ranks=2, loader="fork", decode_ms=1)
    yield "cp", shell("cp", "-r", "{slow}", "{directory}/copied")
    yield "dd", ["dd", "if={narrow}/large.bin", "of=/dev/null", "bs=64K", "count=160"]
    yield "cat into a program that reads its input", ["sh", "-c", "cat '{narrow}/large.bin' | head -c 10000000 | " + " ".join(
        load(how="stdin", seconds=2))]


def processor_cases():
    warm = {"read": "{data}", "how": "file"}
    for loader in "fork", "spawn", "pool":
        yield f"2 workers ({loader}) decode", WORKERS, load(**warm, loader=loader, decode_ms=15, main_ms=0.5)
    yield "one worker decodes", WORKERS, load(**warm, loader="fork", workers=1, decode_ms=10, main_ms=1)
    yield "one worker decodes, behind a shell", WORKERS, shell(*load(**warm, loader="fork", workers=1, decode_ms=10, main_ms=1))
    yield "a thread decodes in C", WORKERS, load(**warm, loader="threads", workers=1, decode_ms=10, native=True)
    yield "one worker decodes JPEG", WORKERS, load(read="{images}", how="file", image=True, loader="fork", workers=1)
    yield "one worker of a DataLoader decodes", WORKERS, load(**warm, loader="torch", workers=1, decode_ms=8, seconds=5)
    yield "one spawned worker of a DataLoader decodes", WORKERS, load(**warm, loader="torch_spawn", workers=1, decode_ms=8, seconds=5)
    yield "one worker reads slowly and decodes longer", WORKERS, load(
        read="{slow}", how="file", loader="fork", workers=1, decode_ms=60)
    yield "the main thread decodes", MAIN, load(**warm, decode_ms=10)
    yield "the main thread decodes JPEG", MAIN, load(read="{images}", how="file", image=True)
    yield "a DataLoader without workers decodes", MAIN, load(**warm, loader="torch_inline", decode_ms=10, seconds=4)
    for loader in "fork", "spawn", "threads", "torch":
        yield f"the main loop is slow ({loader})", MAIN, load(**warm, loader=loader, workers=1, decode_ms=1, main_ms=15, seconds=4)
    yield "the main loop sleeps, as DLIO's does", MAIN, load(**warm, loader="fork", decode_ms=1, sleep_ms=20)
    yield "the main loop is slow, its workers read slowly", MAIN, load(
        read="{slow}", how="file", loader="fork", workers=4, main_ms=40)
    yield "it copies what is in the page cache", MAIN, load(**warm)
    yield "records of a page that are in the page cache", MAIN, load(read="{data}", how="small")


def other_cases():
    warm = {"read": "{data}", "how": "file"}
    yield "4 workers decode on one core", CORES, ["taskset", "-c", "0", *load(**warm, loader="fork", workers=4, decode_ms=10)], 0
    yield "4 threads decode on one core", CORES, ["taskset", "-c", "0", *load(
        **warm, loader="threads", workers=4, decode_ms=10, native=True)], 0
    yield "a cgroup of 0.3 cores", CORES, load(**warm, decode_ms=10), 0.3
    yield "2 workers in a cgroup of 0.3 cores", CORES, load(**warm, loader="fork", decode_ms=10), 0.3
    slow_rank = {"ranks": 2, "slow_rank": 1}
    yield "one rank computes longer", PEERS, load(**slow_rank, main_ms=2, slow_main_ms=20), 0
    yield "one rank computes longer, forked", PEERS, load(**slow_rank, launch="fork", main_ms=2, slow_main_ms=20), 0
    yield "one rank computes longer, spawned", PEERS, load(**slow_rank, launch="spawn", main_ms=2, slow_main_ms=20), 0
    yield "one of 3 ranks computes longer", PEERS, load(ranks=3, slow_rank=2, main_ms=2, slow_main_ms=20), 0
    yield "one rank reads slowly", PEERS, load(**slow_rank, **warm, main_ms=1, slow_read="{slow}"), 0
    yield "one rank's workers decode longer", PEERS, load(**slow_rank, **warm, loader="fork", workers=1, decode_ms=2, slow_decode_ms=20), 0
    yield "one rank computes longer, gloo", PEERS, load(**slow_rank, gloo=True, main_ms=2, slow_main_ms=25, seconds=5), 0
    yield "a server answers slowly", NETWORK, load(read="{server}", how="server"), 0
    yield "a server answers 2 workers slowly", NETWORK, load(read="{server}", how="server", loader="fork", decode_ms=1), 0


def computing():
    python = [PYTHON, "-c"]
    timed = "import time,sys; end=time.time()+2.5\nwhile time.time()<end: "
    yield "a loop of Python", [*python, timed + "sum(range(10000))"]
    yield "numpy: products", [*python, "import numpy as n; a=n.ones((300,300)); " + timed + "a@a"]
    yield "numpy: sorts", [*python, "import numpy as n; a=n.random.rand(10**6); " + timed + "n.sort(a)"]
    yield "numpy: transforms", [*python, "import numpy as n; a=n.random.rand(1<<18); " + timed + "n.fft.fft(a)"]
    yield "torch: products", [*python, "import torch as t; a=t.ones(300,300); " + timed + "a@a"]
    yield "torch: training", [*python, "import torch as t; m=t.nn.Linear(500,500); x=t.ones(64,500); o=t.optim.SGD(m.parameters(),.1); "
                              + timed + "o.zero_grad(); m(x).sum().backward(); o.step()"]
    yield "zlib", [*python, "import zlib,os; a=os.urandom(10**6); " + timed + "zlib.compress(a)"]
    yield "hashes", [*python, "import hashlib; a=b'x'*10**6; " + timed + "hashlib.sha256(a).digest()"]
    yield "JSON", [*python, "import json; a=json.dumps(list(range(10000))); " + timed + "json.loads(a)"]
    yield "sqlite in memory", [*python, "import sqlite3; c=sqlite3.connect(':memory:'); c.execute('create table t(a)'); " + timed
                               + "c.execute('insert into t select random() % 1000'); c.execute('select sum(a) from t').fetchall()"]
    yield "a pool that computes", load(loader="pool", decode_ms=10)
    yield "threads that compute", load(loader="threads", decode_ms=10, native=True)
    yield "2 ranks that compute", load(ranks=2, main_ms=10)
    yield "workers that compute on nothing", load(loader="spawn", decode_ms=10)
    yield "it reads what is in the page cache", load(read="{data}", how="file", decode_ms=1)
    yield "a mapping in the page cache", load(read="{data}", how="map", decode_ms=0.2)
    yield "2 workers read what is in the page cache", load(read="{data}", how="file", loader="fork", decode_ms=2)
    yield "sha256sum of a warm file", shell(*["sha256sum", *["{data}/large.bin"] * 20])
    yield "gzip of a warm file", ["sh", "-c", "gzip -c '{data}/large.bin' >/dev/null; gzip -c '{data}/large.bin' >/dev/null"]
    yield "a loop of the shell", ["sh", "-c", "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done"]
    yield "awk", ["awk", "BEGIN { for (i = 0; i < 20000000; ++i) s += i }"]
    yield "a pipe between two that compute", ["sh", "-c", "head -c 150000000 /dev/zero | sha256sum | cat"]


def all_cases():
    for name, words in storage_cases():
        yield Case(name, STORAGE, words)
    for name, expected, words in processor_cases():
        yield Case(name, expected, words)
    for name, expected, words, cores in other_cases():
        yield Case(name, expected, words, cores=cores)
    for name, words in computing():
        yield Case(name, MAIN + WORKERS + ("nothing",), words, computes=True)


def judged(places, case, nice):
    """(what came of it, what was said, a note)"""
    for path in (places.directory / "data").iterdir():  # what a case reads of the page cache is there
        path.read_bytes()
    before = ["sh", "-c", f"echo {nice} >/proc/self/autogroup; exec nice -n {nice} \"$@\"", "sh"] if nice else []
    try:
        record = judge(places, case, before)
    except AssertionError as error:
        return "failed", "", str(error)[-300:]
    if record is None:
        return "not here", "", "no cgroup"
    shares = ", ".join(f"{cause['bound']} {100 * cause['share']:.0f}" for cause in record["verdict"]["causes"][:4])
    note = f"{shares} % of {record['verdict']['judged_s']:.1f} s; others {others_of(record):.1f} cores"
    right = "right" if said(record) in case.expected else "passed over" if crowded(record, case) else "WRONG"
    return right, said(record), note


def run(lab):
    cases = [case for case in all_cases() if re.search(lab.given.only, case.name)]
    if lab.given.list:
        lab.table("cases", [{"case": case.name, "expected": "|".join(case.expected)} for case in cases])
        return
    if why := why_no_mount():
        raise CannotMeasure(f"tiers cannot be mounted: {why}")
    sums, blamed = collections.Counter(), 0
    with Places(lab.folder / "all") as places:
        for case in cases * lab.given.rounds:
            came, what, note = judged(places, case, lab.given.nice)
            sums["that computes" if case.computes else "with a bottleneck", came] += 1
            blamed += case.computes and what == "storage"
            lab.say(f"{came:<12} {'computes' if case.computes else case.expected[0]:<13} {what:<13} {case.name:<48} {note}")
    lab.table("programs", [{"programs": kind, "came": came, "count": count} for (kind, came), count in sorted(sums.items())])
    lab.say(f"that compute and were blamed on storage: {blamed}")
