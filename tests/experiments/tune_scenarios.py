"""`stoker tune` beside an exhaustive sweep: 12 scenarios of a tier, a cost of decoding, a device and a batch.

The sweep runs every loader with every number of workers and batches ahead; tune has its budget. What each of them found
is then run again in turns. Told: the rate that tune printed. Tiers, cores and devices keep time, so that two cores can
show many. For docs/results.md and app/tools/tune/README.md.
"""
import os
import shutil
import subprocess

from frame import rows_of
from stoker import MINI, SLOW_DECODER, Process, configuration, emulated, flow, posix

OPTIONS = {"seconds": (60.0, "of tune"), "each": (2.0, "seconds of a run of the sweep; twice that for the comparison"),
           "most": (0, "settings of the sweep; 0: all")}
FAR = {"read_latency_ms": 30, "queue_depth": 64, "latency_sigma": 0.3}
NARROW = {"read_mb_per_s": 3, "read_latency_ms": 1, "queue_depth": 8}
HDD, SSD, NFS, S3, LUSTRE = ({"profile": name} for name in ("hdd", "ssd", "nfs", "s3-like", "lustre"))
# tier's figures (None: files of this machine), ms to decode a sample, cores for that, the device's images/s, batch,
# spread of its steps
SCENARIOS = {
    "hdd, a slow device": (HDD, 0, 0, 100, 16, 0), "hdd, a fast device": (HDD, 0, 0, 1000, 32, 0),
    "ssd, a fast device": (SSD, 0, 0, 1000, 32, 0), "nfs, large batches": (NFS, 0, 0, 400, 64, 0),
    "far, a slow device": (FAR, 0, 0, 200, 16, 0), "far, a fast device": (FAR, 0, 0, 1000, 64, 0),
    "s3-like": (S3, 0, 0, 600, 32, 0), "a narrow link": (NARROW, 0, 0, 800, 16, 0),
    "decoding binds, 4 cores": (None, 8, 4, 1000, 32, 0), "decoding feeds, 4 cores": (None, 8, 4, 300, 16, 0),
    "lustre and decoding": (LUSTRE, 5, 3, 500, 32, 0), "steps of all lengths": (None, 6, 4, 500, 8, 0.7)}


def settings():
    yield ["loader.type=sync"]
    for workers in (f"loader.workers={count}" for count in (1, 2, 4, 8, 16, 32, 64)):
        yield ["loader.type=threaded", workers]
        yield from (["loader.type=prefetched", workers, f"loader.prefetch_batches={ahead}"] for ahead in (1, 4))
        yield ["loader.type=device_prefetched", workers, "loader.prefetch_batches=2"]


def write(lab, figures, decode_ms, cores, rate, batch, spread):
    decoder, sections = flow(type="turbojpeg", size=32), {}
    if decode_ms:
        decoder = flow(type="slow", delay_ms=decode_ms, cores=cores, node=os.getpid(), inner=decoder)
        sections["plugins"] = f"[{SLOW_DECODER}]"
    steps = flow(type="gamma", relative_stdev=spread) if spread else "{type: constant}"
    (lab.folder / "scenario.yaml").write_text(configuration(
        storage=flow(data=emulated(MINI, **figures) if figures else posix(MINI)), decoder=decoder,
        dataset="{type: image_folder, storage: data, split: {test_fraction: 0.1}}",
        device=flow(type="emulated", step_ms=1000 * batch / rate, distribution=steps),
        loader=flow(type="threaded", batch_size=batch, workers=2), evaluation="{enabled: false}", **sections))


def rate_of(lab, device, overrides, seconds):
    """Images/s without the steps that queues may have held, and without tune's way to know that."""
    runs = lab.folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    process = Process(["train", "--quiet", "scenario.yaml", *overrides, "training.epochs=1000000", "run.dir=runs",
                       "metrics={every_steps: 1, sinks: [{type: csv}]}"], lab.folder)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.child.terminate()
        process.wait(60)
    rows = [(float(row["wall_s"]), float(row["images"])) for path in runs.glob("*-*/steps.csv")
            for row in rows_of(path)]
    skip = min(14, len(rows) // 3)
    if len(rows) < skip + 3:
        return 0.0
    (begin, before), (end, after) = rows[skip], rows[-1]
    return min((after - before) / (end - begin), device * 1.05)


def compare(lab, name):
    write(lab, *SCENARIOS[name])
    device, each = SCENARIOS[name][3], lab.given.each
    swept = [(rate_of(lab, device, one, each), one) for one in list(settings())[:lab.given.most or None]]
    told = lab.json("tune", "scenario.yaml", "--seconds", lab.given.seconds)
    chosen = {"best of the sweep": max(swept)[1], "chosen by tune": told["overrides"]}
    got = lab.measure(name, {who: lambda words=words: {"images/s": rate_of(lab, device, words, 2 * each)}
                             for who, words in chosen.items()}, show=False)
    ours, best = (got.median(who, "images/s") for who in ("chosen by tune", "best of the sweep"))
    shown = lambda words: " ".join(word.split(".")[-1] for word in words)
    return {"scenario": name, "of the best %": 100 * ours / best, "chosen/s": ours, "best/s": best,
            "told/s": told["images_per_s"]["value"], "of the device": told["images_per_s"]["value"] / device,
            "s": told["seconds"], "runs": told["runs"], "binds": told["binds"], "chosen": shown(told["overrides"]),
            "best": shown(max(swept)[1])}


def run(lab):
    rows = []
    try:
        for name in lab.chosen(SCENARIOS):
            rows.append(compare(lab, name))
    finally:
        subprocess.run(["ipcrm", "-S", str(os.getpid())], check=False, stderr=subprocess.DEVNULL)
        lab.table("scenarios", rows)
    shares = [row["of the best %"] for row in rows]
    lab.say(f"{len(rows)} scenarios: {sum(share >= 97 for share in shares)} within 3 % of the sweep's best, worst "
            f"{min(shares):.1f} %; at most {max(row['s'] for row in rows):.1f} s; "
            f"{sum(row['of the device'] > 1.005 for row in rows)} told rates above the device's")
