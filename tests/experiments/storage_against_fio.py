"""`stoker bench storage` beside fio in the same folder and by the same pattern: sequential (1 MiB) and random (4 KiB).

Reads and synced writes, threads 1 and 4, a file per thread; past the page cache (tier direct, fio --direct=1) and
through it, reads cold. MB/s are bytes of all / time until the last thread was done, sync included, for both. Both read
files that were written before, without fadvise, and write new ones, without fallocate, from memory that stays as it is.
Of each turn the last of two counts: the first pays for memory and blocks that nobody has touched. Needs fio. For
docs/results.md.
"""
import json
import os
import shutil

from frame import CannotMeasure
from machine import output
from stoker import flow

ROUNDS = 5
OPTIONS = {"scale": (1.0, "of the bytes per thread")}
BLOCK = {"sequential": 256 << 20, "random": 16 << 20}
TRANSFER = {"sequential": 1 << 20, "random": 4 << 10}


def ours(lab, tier, op, pattern, threads, block):
    last = lab.json("bench", "storage", "tiers.yaml", tier, "--op", op, "--pattern", pattern, "--threads", threads,
                    "--block-size", block, "--transfer-size", TRANSFER[pattern], "--rounds", 2, "--fsync",
                    "--cold")["results"][0]["rounds"][-1]
    if not last["counts"]:
        raise CannotMeasure("files are not evicted here, so nothing is cold")
    return {"MB/s": 1e-6 * last["bytes"] / last["seconds"]}


def fio(lab, tier, op, pattern, threads, block):
    kind = {"sequential": "", "random": "rand"}[pattern] + op
    for turn in range(2):
        for number in range(threads):
            path = lab.folder / f"fio-{number}"
            if op == "read" and (not path.exists() or path.stat().st_size != block):
                path.write_bytes(os.urandom(block))
            elif op == "write":
                path.unlink(missing_ok=True)
        os.sync()
        report = output("fio", "--name=x", f"--rw={kind}", f"--bs={TRANSFER[pattern]}", f"--size={block}",
                        f"--directory={lab.folder}", "--filename_format=fio-$jobnum", f"--numjobs={threads}",
                        "--thread",
                        f"--direct={int(tier == 'direct')}", "--ioengine=psync", "--invalidate=1", "--fallocate=none",
                        f"--end_fsync={int(op == 'write')}", "--group_reporting", "--output-format=json",
                        "--fadvise_hint=0", "--scramble_buffers=0", "--randrepeat=0")
    return {"MB/s": json.loads(report[report.index("{"):])["jobs"][0][op]["bw_bytes"] / 1e6}


def run(lab):
    if shutil.which("fio") is None:
        raise CannotMeasure("fio is not installed")
    tiers = flow(buffered=flow(type="posix", root=lab.folder), direct=flow(type="direct", root=lab.folder))
    (lab.folder / "tiers.yaml").write_text(f"storage: {tiers}\ndataset: {{type: synthetic}}\n")
    off = []
    for case in [(tier, op, pattern, threads) for tier in ("direct", "buffered") for op in ("read", "write")
                 for pattern in BLOCK for threads in (1, 4)]:
        name, block = " ".join(map(str, case)), max(int(BLOCK[case[2]] * lab.given.scale), TRANSFER[case[2]])
        if not lab.chosen([name]):
            continue
        got = lab.measure(name, {who.__name__: lambda who=who: who(lab, *case, block) for who in (fio, ours)},
                          reference="fio")
        off.append((abs(100 * (got.median("ours", "MB/s") / got.median("fio", "MB/s") - 1)), name))
    lab.say("furthest apart, by the medians: {:.1f} % ({})".format(*max(off)))
