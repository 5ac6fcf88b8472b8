"""What each way to checkpoint costs a training: none, direct, burst_buffer, and burst_buffer with async and with swap.

The emulated device computes no update, so with swap the state is copied into its other memory, in the stall;
`stoker bench checkpoint --loop` has real updates. For docs/results.md, "Checkpoints".
"""
import os
import shutil

from stoker import SOURCE

WORDS = "settings of all runs: a.b=c"
VARIANTS = {"none": ["type=none"], "direct": ["type=direct"], "burst_buffer": ["type=burst_buffer"],
            "burst_buffer+async": ["type=burst_buffer", "snapshot=async"],
            "burst_buffer+swap": ["type=burst_buffer", "snapshot=swap"]}


def train(lab, *settings):
    tiers = {"STOKER_FAST": lab.folder / "fast", "STOKER_SLOW": lab.folder / "slow"}
    for tier in tiers.values():
        shutil.rmtree(tier, ignore_errors=True)
    os.sync()
    summary, _ = lab.train(SOURCE / "configs/checkpoint.yaml", f"run.dir={lab.folder}/runs", *lab.given.words,
                           *(f"checkpoint.{setting}" for setting in settings), cwd=SOURCE,
                           env={name: str(tier) for name, tier in tiers.items()})
    saves = summary.get("checkpoints", {})
    return {"loop, s": summary["wall_s"], "stall, s": summary["segments_s"]["checkpoint_stall"],
            "flush, s": saves.get("flush_s", 0.0), "sets saved": saves.get("saved", 0),
            "drained": saves.get("drained", 0), "device idle, share": summary["device"]["idle_share"]}


def run(lab):
    got = lab.measure("", lab.each(VARIANTS, train), reference="none")
    loop, stall = ({name: got.median(name, figure) for name in got} for figure in ("loop, s", "stall, s"))
    for name in list(VARIANTS)[2:] if {"none", "direct"} <= set(got) else []:
        if name in got:
            added = (loop["direct"] - loop["none"]) / max(loop[name] - loop["none"], 1e-9)
            lab.say(f"{name}: {stall['direct'] / stall[name]:.1f} times less stall than direct, {added:.1f} times less "
                    "time added to the loop (medians)")
