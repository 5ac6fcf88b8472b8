"""Programs with a known bottleneck, and what `stoker run` says of each; then programs that only compute.

The bottlenecks: storage, work in workers, the main process, too few cores, other ranks, a server. What only computes
must not be blamed on storage. Where other programs of the machine took the cores that a case needs, its truth is
another: such cases are passed over, and counted apart. --nice (as root) gives the cases precedence over them. Emulated
tiers need /dev/fuse, cgroups root. For docs/promises.md, docs/results.md and app/tools/run_program/verdict/README.md.
"""
import collections

from frame import CannotMeasure
from programs.cases import PYTHON, Case, Places, crowded, judge, load, others_of, said, shell
from stoker import why_no_mount

ROUNDS = 1
BESIDE = "/var/tmp"
OPTIONS = {"nice": (0, "of the cases, such as -10")}
STORAGE, WORKERS, MAIN = ("storage",), ("workers",), ("main_process",)
CORES, PEERS, NETWORK = ("cores",), ("peers",), ("network",)
SLOW, WARM = {"read": "{slow}", "how": "file"}, {"read": "{data}", "how": "file"}
FORK = {"loader": "fork", "decode_ms": 1}
NARROW, RANK = {"read": "{narrow}", "how": "file"}, {"ranks": 2, "slow_rank": 1, "main_ms": 2, "slow_main_ms": 20}


def storage_cases():
    for name, options in {
            "reads in its main thread": SLOW, "the same, and computes a little": SLOW | {"main_ms": 4},
            "6 threads read, and it computes": SLOW | {"loader": "threads", "workers": 6, "main_ms": 0.5},
            "2 workers read more than they decode": SLOW | {"loader": "fork", "decode_ms": 4},
            "PyTorch's DataLoader, batches of one": SLOW | FORK | {"loader": "torch", "batch": 1, "seconds": 5},
            "records of a page": SLOW | {"how": "small"},
            "records of a page, 4 threads": SLOW | {"how": "small", "loader": "threads", "workers": 4},
            "faults of a mapping": {"read": "{slow_drop}", "how": "map"},
            "faults of numpy.memmap": {"read": "{slow_drop}", "how": "array"},
            "faults of a mapping in 2 workers": {"read": "{slow_drop}", "how": "map"} | FORK,
            "a tier of 4 MB/s": NARROW, "a tier of 4 MB/s, 2 workers": NARROW | FORK,
            "a hard disk, records of a page": {"read": "{disk}", "how": "small"},
            "a hard disk, files that are dropped": {"read": "{disk_drop}", "how": "file"},
            "opening takes longest": {"read": "{far}", "how": "file"},
            "a tar file on a slow tier": {"read": "{slow_tars}", "how": "tar"},
            "the disk past the page cache": {"read": "{data}", "how": "direct"},
            "checkpoints that are synced": {"read": "{directory}", "how": "write"},
            "2 ranks, both read": SLOW | {"ranks": 2}, "2 ranks with 2 workers each": SLOW | FORK
        | {"ranks": 2}}.items():
        yield name, load(**options)
    for loader in "fork", "spawn", "threads", "pool":
        yield f"2 workers ({loader}) read", load(**SLOW, loader=loader, decode_ms=1, main_ms=1)
    for loader in "torch_inline", "torch", "torch_spawn":
        yield f"PyTorch's DataLoader ({loader})", load(**SLOW, loader=loader, decode_ms=1, main_ms=1, seconds=5)
    yield "the same behind a shell", shell(*load(**SLOW))
    yield "the same behind env and nice", ["env", "A=b", "nice", "-n", "0", *load(**SLOW)]
    yield "2 workers behind a shell", shell(*load(**SLOW, **FORK))
    yield "cp", shell("cp", "-r", "{slow}", "{directory}/copied")
    yield "dd", ["dd", "if={narrow}/large.bin", "of=/dev/null", "bs=64K", "count=160"]
    reader = " ".join(load(how="stdin", seconds=2))
    yield "cat into a program that reads its input", [
        "sh", "-c", f"cat '{{narrow}}/large.bin' | head -c 10000000 | {reader}"]


def processor_cases():
    one = WARM | {"workers": 1}
    forked = one | {"loader": "fork", "decode_ms": 10, "main_ms": 1}
    for loader in "fork", "spawn", "pool":
        yield f"2 workers ({loader}) decode", WORKERS, load(**WARM, loader=loader, decode_ms=15, main_ms=0.5)
    yield "one worker decodes", WORKERS, load(**forked)
    yield "one worker decodes, behind a shell", WORKERS, shell(*load(**forked))
    yield "a thread decodes in C", WORKERS, load(**one, loader="threads", decode_ms=10, native=True)
    yield "one worker decodes JPEG", WORKERS, load(read="{images}", how="file", image=True, loader="fork", workers=1)
    for loader in "torch", "torch_spawn":
        yield f"one worker ({loader}) decodes", WORKERS, load(**one, loader=loader, decode_ms=8, seconds=5)
    yield "one worker reads slowly and decodes longer", WORKERS, load(**SLOW, loader="fork", workers=1, decode_ms=60)
    yield "the main thread decodes", MAIN, load(**WARM, decode_ms=10)
    yield "the main thread decodes JPEG", MAIN, load(read="{images}", how="file", image=True)
    yield "a DataLoader without workers decodes", MAIN, load(**WARM, loader="torch_inline", decode_ms=10, seconds=4)
    for loader in "fork", "spawn", "threads", "torch":
        yield f"the main loop is slow ({loader})", MAIN, load(**one, loader=loader, decode_ms=1, main_ms=15, seconds=4)
    yield "the main loop sleeps, as DLIO's does", MAIN, load(**WARM, **FORK, sleep_ms=20)
    yield "the main loop is slow, its workers read slowly", MAIN, load(**SLOW, loader="fork", workers=4, main_ms=40)
    yield "it copies what is in the page cache", MAIN, load(**WARM)
    yield "records of a page that are in the page cache", MAIN, load(read="{data}", how="small")


def other_cases():
    pinned = ["taskset", "-c", "0"]
    for loader, native in ("fork", {}), ("threads", {"native": True}):
        yield f"4 workers ({loader}) decode on one core", CORES, [
            *pinned, *load(**WARM, loader=loader, workers=4, decode_ms=10, **native)], 0
    yield "a cgroup of 0.3 cores", CORES, load(**WARM, decode_ms=10), 0.3
    yield "2 workers in a cgroup of 0.3 cores", CORES, load(**WARM, loader="fork", decode_ms=10), 0.3
    for name, options in {
            "one rank computes longer": RANK, "one rank computes longer, forked": RANK | {"launch": "fork"},
            "one rank computes longer, spawned": RANK | {"launch": "spawn"},
            "one of 3 ranks computes longer": RANK | {"ranks": 3, "slow_rank": 2},
            "one rank computes longer, gloo": RANK | {"gloo": True, "slow_main_ms": 25, "seconds": 5},
            "one rank reads slowly": WARM | {"ranks": 2, "slow_rank": 1, "main_ms": 1, "slow_read": "{slow}"},
            "one rank's workers decode longer": WARM | {"ranks": 2, "slow_rank": 1, "loader": "fork", "workers": 1,
                                                        "decode_ms": 2, "slow_decode_ms": 20}}.items():
        yield name, PEERS, load(**options), 0
    yield "a server answers slowly", NETWORK, load(read="{server}", how="server"), 0
    yield "a server answers 2 workers slowly", NETWORK, load(read="{server}", how="server", **FORK), 0


def computing():
    for name, (before, again) in {
            "a loop of Python": ("", "sum(range(10000))"),
            "numpy: products": ("import numpy as n; a=n.ones((300,300))", "a@a"),
            "numpy: sorts": ("import numpy as n; a=n.random.rand(10**6)", "n.sort(a)"),
            "numpy: transforms": ("import numpy as n; a=n.random.rand(1<<18)", "n.fft.fft(a)"),
            "torch: products": ("import torch as t; a=t.ones(300,300)", "a@a"),
            "torch: training": ("import torch as t; m=t.nn.Linear(500,500); x=t.ones(64,500); "
                                "o=t.optim.SGD(m.parameters(),.1)", "o.zero_grad(); m(x).sum().backward(); o.step()"),
            "zlib": ("import zlib,os; a=os.urandom(10**6)", "zlib.compress(a)"),
            "hashes": ("import hashlib; a=b'x'*10**6", "hashlib.sha256(a).digest()"),
            "JSON": ("import json; a=json.dumps(list(range(10000)))", "json.loads(a)"),
            "sqlite in memory": ("import sqlite3; c=sqlite3.connect(':memory:'); c.execute('create table t(a)')",
                                 "c.execute('insert into t select random() % 1000'); "
                                 "c.execute('select sum(a) from t').fetchall()")}.items():
        yield name, [PYTHON, "-c", f"{before}\nimport time; end=time.time()+2.5\nwhile time.time()<end: {again}"]
    for name, options in {
            "a pool that computes": {"loader": "pool", "decode_ms": 10},
            "2 ranks that compute": {"ranks": 2, "main_ms": 10},
            "threads that compute": {"loader": "threads", "decode_ms": 10, "native": True},
            "workers that compute on nothing": {"loader": "spawn", "decode_ms": 10},
            "it reads what is in the page cache": WARM | {"decode_ms": 1},
            "a mapping in the page cache": WARM | {"how": "map", "decode_ms": 0.2},
            "2 workers read what is in the page cache": WARM | {"loader": "fork", "decode_ms": 2}}.items():
        yield name, load(**options)
    packs = "gzip -c '{data}/large.bin' >/dev/null"
    yield "sha256sum of a warm file", shell(*["sha256sum", *["{data}/large.bin"] * 20])
    yield "gzip of a warm file", ["sh", "-c", f"{packs}; {packs}"]
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
    cases = [case for case in all_cases() if lab.chosen([case.name])]
    if why := why_no_mount():
        raise CannotMeasure(f"tiers cannot be mounted: {why}")
    sums, blamed = collections.Counter(), 0
    with Places(lab.folder / "all") as places:
        for case in cases * lab.given.rounds:
            came, what, note = judged(places, case, lab.given.nice)
            sums["that computes" if case.computes else "with a bottleneck", came] += 1
            blamed += case.computes and what == "storage"
            expected = "computes" if case.computes else case.expected[0]
            lab.say(f"{came:<12} {expected:<13} {what:<13} {case.name:<48} {note}")
    lab.table("programs", [{"programs": kind, "came": came, "count": sums[kind, came]} for kind, came in sorted(sums)])
    lab.say(f"that compute and were blamed on storage: {blamed}")
