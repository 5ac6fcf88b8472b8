"""`stoker size` beside reality: 12 emulated nodes of some GPUs, cores and a tier.

For each, `stoker size` says how many workers the tier needs and what the GPUs then get; the same node is run (`stoker
launch`) with these workers. Device, tier and the node's cores keep time (tests/plugins/slow_decoder.cpp), for a machine
of two cores has none for eight GPUs; order, queues, waiting, workers and requests are the program's. For
docs/results.md and docs/hardware.md.
"""
import os
import subprocess

from stoker import MINI, SLOW_DECODER, configuration, emulated, flow

ROUNDS = 1
OPTIONS = {"steps": 60}
TIERS = {"fast": {"read_latency_ms": 0.2, "queue_depth": 64},
         "far": {"read_latency_ms": 30, "queue_depth": 64, "latency_sigma": 0.3},
         "narrow": {"read_mb_per_s": 3, "read_latency_ms": 1, "queue_depth": 8}, "hdd": {"profile": "hdd"},
         "nfs": {"profile": "nfs"}}
# GPUs, images/s of one, its batch, ms of a core for a sample, cores of the node (None: those that it needs), tier
NODES = [(1, 100, 16, 6, None, "fast"), (4, 100, 16, 6, None, "fast"), (8, 60, 16, 5, None, "nfs"),
         (4, 100, 16, 6, None, "far"), (2, 150, 16, 8, None, "nfs"), (4, 100, 16, 6, 1, "fast"),
         (4, 100, 16, 6, 2, "nfs"),
         (8, 60, 8, 10, 3, "far"), (4, 100, 16, 3, None, "hdd"), (2, 100, 16, 3, None, "hdd"),
         (4, 100, 16, 3, None, "narrow"), (8, 60, 16, 6, 2, "narrow")]


def size(lab, gpus, rate, batch, decode_ms, cores, tier):
    given = TIERS[tier] if "profile" in TIERS[tier] else {"read_mb_per_s": 1e6, "write_mb_per_s": 1e6} | TIERS[tier]
    (lab.folder / f"{tier}.yaml").write_text(flow(**given))
    words = ["--cores", cores] if cores else []
    return lab.json("size", "--images-per-s", rate, "--gpus", gpus, "--batch-size", batch, "--data", MINI,
                    "--decode-ms", decode_ms, "--trainer-cores", 0, "--tier", f"{tier}.yaml", *words)


def real(lab, gpus, rate, batch, decode_ms, cores, tier, workers):
    decoder = flow(type="slow", delay_ms=decode_ms, cores=cores, node=os.getpid(), inner="{type: turbojpeg, size: 64}")
    try:
        return lab.train(configuration(
            tiers={"data": emulated(MINI, **TIERS[tier])}, plugins=f"[{SLOW_DECODER}]", decoder=decoder,
            dataset="{type: image_folder, storage: data, split: {test_fraction: 0.1}}",
            device=flow(type="emulated", step_ms=1000 * batch / rate, queue_depth=2),
            loader=flow(type="prefetched", batch_size=batch * gpus, workers=workers),
            training=flow(epochs=1000, max_steps=lab.given.steps, threads=1), evaluation="{enabled: false}",
            distributed="{}", metrics="{every_steps: 1000, sinks: []}"), "run.name=node", ranks=gpus)[0]
    finally:
        subprocess.run(["ipcrm", "-S", str(os.getpid())], check=False)


def compare(lab, node):
    gpus, rate, batch, decode_ms, cores, tier = node
    sized = size(lab, *node)
    found, cores = sized["tiers"][0], cores or int(sized["cores"])
    summary = real(lab, gpus, rate, batch, decode_ms, cores, tier, found["workers"])
    measured = (summary["all_ranks"] if gpus > 1 else summary)["images_per_s"]
    share = found["images_per_s"] / sized["images_per_s"]
    read = summary["tiers"]["data"]["read"]  # of one of equal ranks
    return {"GPUs": f"{gpus} of {rate}/s", "decode ms": decode_ms, "cores": cores, "tier": tier,
            "workers": found["workers"],
            "binds": found["binds"], "sized/s": found["images_per_s"], "images/s": measured,
            "error %": 100 * (found["images_per_s"] / measured - 1), "MB/s sized": share * sized["mb_per_s"],
            "MB/s": 1e-6 * gpus * read["bytes"] / summary["wall_s"],
            "requests/s sized": share * sized["requests_per_s"],
            "requests/s": gpus * read["duration_s"]["count"] / summary["wall_s"]}


def run(lab):
    rows = [compare(lab, node) for node in NODES if lab.chosen([" ".join(map(str, node))])]
    lab.table("stoker size and real runs", rows)
    worst = max(rows, key=lambda row: abs(row["error %"]))
    lab.say(f"{len(rows)} nodes, worst {worst['error %']:+.2f} % ({worst['GPUs']}, {worst['tier']})")
