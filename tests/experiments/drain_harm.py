"""What a drain costs the input, on one emulated disk that holds data and checkpoints.

A training without a drain (sets stay on the fast tier), with a drain as fast as it can, and with
checkpoint.drain_limit: auto. Slower: how much longer training took than without a drain, over the time in which a drain
went on. Training takes --load of what the disk can give; a set is written to it and read back, --seconds apart. For
docs/results.md, "Checkpoints".
"""
import shutil

from frame import raw_images, rows_of
from stoker import configuration, emulated, flow, posix

BESIDE = "/dev/shm"
WORDS = "settings of all runs: a.b=c"
OPTIONS = {"load": 0.8, "disk_mb_per_s": 200.0, "seconds": (10.0, "between two saves"), "saves": 2}
SIZE, FILES, BATCH = 192, 640, 32
NONE = "no drain"
VARIANTS = {NONE: ["checkpoint.type=direct", "checkpoint.slow=fast"], "as fast as it can": [],
            "auto": ["checkpoint.drain_limit=auto"]}


def experiment(given, folder):
    step_ms = 1e-3 * BATCH * 3 * SIZE * SIZE / (given.load * given.disk_mb_per_s)
    steps = round(1e3 * given.seconds / step_ms)
    disk = emulated(folder / "disk", read_mb_per_s=given.disk_mb_per_s, write_mb_per_s=given.disk_mb_per_s,
                    read_latency_ms=0.1, queue_depth=9.7)
    return configuration(
        tiers={"data": posix("unused"), "fast": posix("fast"), "disk": disk},
        device=f"{{type: emulated, step_ms: {step_ms}}}", dataset="{type: image_folder, storage: disk}",
        decoder=f"{{type: raw, height: {SIZE}, width: {SIZE}, size: {SIZE}}}",
        loader=f"{{type: prefetched, batch_size: {BATCH}, workers: 2, prefetch_batches: 4}}",
        optimizer="{type: adam, lr: 0.001}", evaluation="{enabled: false}",
        training=f"{{epochs: 100000, max_steps: {(given.saves + 1) * steps}}}",
        checkpoint=flow(type="burst_buffer", slow="disk", fast="fast", snapshot="async", keep_last=2,
                        every_steps=steps),
        metrics="{every_steps: 1000000, sinks: [{type: timeline, seconds: 0.1}]}")


def train(lab, *settings):
    for place in ("disk", "fast"):
        shutil.rmtree(lab.folder / place, ignore_errors=True)
    (lab.folder / "disk").mkdir()
    for folder in (lab.folder / "data").iterdir():
        (lab.folder / "disk" / folder.name).symlink_to(folder)
    summary, at = lab.train(experiment(lab.given, lab.folder), *settings, *lab.given.words)
    images, seconds, before = 0, 0, None
    for row in rows_of(at / "timeline.csv"):  # the tenths of a second with a drain, up to the end of the loop
        now = float(row["elapsed_s"])
        draining = row["images_per_s"] and float(row["checkpoints.draining"]) > 0
        if draining and before is not None and now <= summary["wall_s"]:
            images, seconds = images + float(row["images_per_s"]) * (now - before), seconds + now - before
        before = now
    drains = summary["checkpoints"].get("drain_s", {})
    return {"images/s": summary["images"] / summary["wall_s"], "images/s while draining": images / seconds
            if seconds else None,
            "drain, s": drains.get("median"), "longest drain, s": drains.get("max"), "wall, s": summary["wall_s"],
            "draining, s": seconds, "data wait, s": summary["segments_s"]["data_wait"]}


def run(lab):
    raw_images(lab.folder / "data", FILES, SIZE, classes=64)
    got = lab.measure("", lab.each(VARIANTS, train), reference=NONE)
    for name in list(VARIANTS)[1:]:
        rounds = zip(*(got.values_of(*of) for of in ((name, "wall, s"), (NONE, "wall, s"), (name, "draining, s"))))
        slower = [100 * (wall - base) / draining for wall, base, draining in rounds if draining]
        lab.say(f"{name}: slower while draining, %, by rounds: {', '.join(f'{value:.2f}' for value in slower)}")
