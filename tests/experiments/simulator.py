"""`stoker simulate` beside reality: 50 runs of other ranks, tiers, orders and checkpoints, and nine knobs of --what-if.

One run of one rank is measured for each loader; cells are predicted from it, and run (`stoker launch`). Then knobs are
turned, for the simulator and really. Device, tiers and the time of decoding are emulated, for a machine of two cores
has none for eight ranks; waiting, order, claims, barriers and checkpoints are the program's. For docs/results.md and
docs/promises.md.
"""
from frame import median
from stoker import LOADERS, MINI, configuration, emulated, flow, slow_decoder

ROUNDS = 1
OPTIONS = {"steps": 24, "knobs": (False, "knobs alone")}
STEP_MS, DECODE_MS, BATCH = 120, 6, 32
TIERS = {"fast": {"read_latency_ms": 0.2, "queue_depth": 64},
         "hdd": {"read_mb_per_s": 163, "write_mb_per_s": 133, "read_latency_ms": 0.1, "write_latency_ms": 0.1,
                 "seek_ms": 8, "queue_depth": 2.118},
         "far": {"read_latency_ms": 30, "queue_depth": 16, "latency_sigma": 0.3},
         "narrow": {"read_mb_per_s": 4, "read_latency_ms": 1, "queue_depth": 8}}
SLOW = {"read_mb_per_s": 60, "write_mb_per_s": 40, "metadata_latency_ms": 4, "write_latency_ms": 1, "queue_depth": 4}
QUICK = {"read_mb_per_s": 800, "write_mb_per_s": 400, "metadata_latency_ms": 0.5, "queue_depth": 8}
DIRECT = {"type": "direct", "slow": "slow", "every_steps": 6, "threads": 1}
BURST = DIRECT | {"type": "burst_buffer", "fast": "quick"}


def real(lab, ranks, loader, tier, checkpoint=None, order=None, step_ms=STEP_MS, delay_ms=DECODE_MS, **options):
    """(summary, run directory)"""
    settings = {"type": loader, "batch_size": BATCH, "workers": 2, "prefetch_batches": 2, "device_batches": 2} | options
    settings |= ({"order": order} if order else {}) | ({"window": 100} if order == "window" else {})
    tiers = {"data": emulated(MINI, **tier), "quick": emulated(lab.folder / "quick", **QUICK),
             "slow": emulated(lab.folder / "slow", **SLOW)}
    (lab.folder / "cell.yaml").write_text(configuration(
        tiers=tiers, device=flow(type="emulated", step_ms=step_ms, h2d_gb_per_s=1), loader=flow(**settings),
        training=flow(epochs=1000, max_steps=lab.given.steps, threads=1), evaluation="{enabled: false}",
        distributed="{}",
        checkpoint=flow(**checkpoint) if checkpoint else "{type: none}", metrics="{every_steps: 1000, sinks: []}"))
    name = f"run.name=cell-{len(list(lab.folder.glob('runs/*')))}"
    return lab.train("cell.yaml", *slow_decoder(delay_ms, 64), name, ranks=ranks)


def cells():
    """(loader, ranks, tier, order, checkpoint)"""
    for loader in LOADERS:
        for tier in ("hdd", "far"):
            yield from ((loader, ranks, tier, None, None) for ranks in (1, 2, 4, 8))
    for ranks in (1, 2, 4, 8):
        yield "prefetched", ranks, "narrow", None, None
        yield "sync", ranks, "hdd", None, DIRECT
        yield "prefetched", ranks, "hdd", None, BURST
    for order in ("window", "local_files", "global_files"):
        yield "threaded", 4, "far", order, None
        yield "prefetched", 2, "hdd", order, None


def simulate(lab, run_, *words):
    return lab.json("simulate", "--run", run_, *words)["results"]


def row(name, predicted, summary):
    rate = (summary["all_ranks"] if summary["world_size"] > 1 else summary)["images_per_s"]
    return {"cell": name, "simulated s": predicted["wall_s"], "real s": summary["wall_s"],
            "error %": 100 * (predicted["images_per_s"] / rate - 1),
            "idle %, simulated": 100 * predicted["device"]["idle_share"],
            "real idle %": 100 * summary["device"]["idle_share"], "stall s, simulated": predicted["checkpoint_stall_s"],
            "real stall s": summary["segments_s"].get("checkpoint_stall", 0.0)}


def predict(lab, measured, loader, ranks, tier, order, checkpoint, name):
    if loader not in measured:  # one rank on a fast tier, with checkpoints on both tiers for what they cost
        measured[loader] = real(lab, 1, loader, TIERS["fast"], BURST)[1]
    words = [f"machine.ranks_per_node={ranks}",
             f"workload.checkpoint={flow(**checkpoint) if checkpoint else '{type: none}'}",
             f"machine.storage.data={flow(**{'read_mb_per_s': 1e6, 'write_mb_per_s': 1e6} | TIERS[tier])}"]
    if checkpoint:
        words += [f"machine.storage.quick={flow(**QUICK)}", f"machine.storage.slow={flow(**SLOW)}"]
    words += [f"workload.loader.order={order}"] if order else []
    words += ["workload.loader.window=100"] if order == "window" else []
    predicted = simulate(lab, measured[loader], *words)[0]
    runs = [real(lab, ranks, loader, TIERS[tier], checkpoint, order)[0] for _ in range(lab.given.rounds)]
    return row(name, predicted, sorted(runs, key=lambda summary: summary["wall_s"])[len(runs) // 2])


def knobs(lab):
    """Each knob, turned for the simulator and really, from a run that its tier limits or that decoding limits."""
    hdd, fast = TIERS["hdd"], TIERS["fast"]
    quicker = lambda key: 4 if key.endswith("mb_per_s") else 0.25 if key.endswith("_ms") else 1
    faster = {key: value * quicker(key) for key, value in hdd.items()}
    reading = real(lab, 1, "prefetched", hdd)[1]
    decoding = real(lab, 1, "threaded", fast, delay_ms=16)[1]
    read, decode = {"loader": "prefetched", "tier": hdd}, {"loader": "threaded", "tier": fast, "delay_ms": 16}
    for knob, before, how, ranks in (
            ("storage=4x", reading, read | {"tier": faster}, 1), ("ranks=4", reading, read, 4),
            ("compute=2x", reading, read | {"step_ms": STEP_MS / 2}, 1),
            ("workers=8", reading, read | {"workers": 8}, 1),
            ("storage=4x,ranks=4", reading, read | {"tier": faster}, 4), ("ranks=8", decoding, decode, 8),
            ("decode=2x", decoding, decode | {"delay_ms": 8}, 1), ("workers=2x", decoding, decode | {"workers": 4}, 1),
            ("decode=4x,ranks=2", decoding, decode | {"delay_ms": 4}, 2)):
        if lab.chosen([knob]):
            yield row(knob, simulate(lab, before, "--what-if", knob)[1], real(lab, ranks, **how)[0])


def summed_up(lab, what, rows):
    lab.table(what, rows)
    if rows:
        worst = max(rows, key=lambda row: abs(row["error %"]))
        lab.say(f"{what}: {len(rows)}, median error {median(abs(row['error %']) for row in rows):.2f} %, "
                f"worst {worst['error %']:+.2f} % ({worst['cell']})")


def run(lab):
    for tier in ("quick", "slow"):
        (lab.folder / tier).mkdir()
    rows, measured = [], {}
    for loader, ranks, tier, order, checkpoint in () if lab.given.knobs else cells():
        saves = checkpoint["type"] if checkpoint else "no checkpoints"
        name = f"{loader}, {ranks} ranks, {tier}, {order or 'permutation'}, {saves}"
        if lab.chosen([name]):
            rows.append(predict(lab, measured, loader, ranks, tier, order, checkpoint, name))
    summed_up(lab, "cells", rows)
    summed_up(lab, "knobs", list(knobs(lab)))
