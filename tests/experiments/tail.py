"""How long a batch is waited for where 1 % of reads take 50 times as long, with and without what helps.

The tier is emulated, or (--http) a server of this program's own on the loopback interface. Samples are raw pixels and
the device takes nothing, so that storage is all that is waited for: the trainer's data_wait for each batch but the
first 50. The variant `plain` has no slow reads. More reads: hedged ones over the others. For io/storage/tail/README.md.
"""
import contextlib
import statistics

from frame import raw_images, rows_of
from slow_server import Tail, slow_server
from stoker import configuration, emulated, flow

ROUNDS = 1
OPTIONS = {"batches": 1500, "ms": (5.0, "of a read"), "workers": 8, "batch": 32, "slow": (0.01, "share of slow reads"),
           "factor": (50.0, "times as long"), "http": False, "in_flight": "auto"}
SIDE, FILES, WARM = 16, 3200, 50
# name: whether reads are slow, hedge, batches ahead, in_order
CASES = {"plain": (False, None, 2, True), "none": (True, None, 2, True), "ahead": (True, None, 8, True),
         "ready": (True, None, 4, False), "hedge": (True, "p95", 2, True), "hedge, ahead": (True, "p95", 8, True),
         "hedge, ready": (True, "p95", 4, False)}


def tier_of(lab, stack, slow, hedge):
    given, more = lab.given, {"hedge": hedge} if hedge else {}
    if given.http:
        tail = Tail(given.ms, given.slow if slow else 0, given.factor)
        url = stack.enter_context(slow_server(lab.folder / "data", tail))
        return flow(type="http", url=url, index="index", in_flight=given.in_flight, **more)
    tail = {"slow_fraction": given.slow, "slow_factor": given.factor} if slow else {}
    return emulated(lab.folder / "data", read_latency_ms=given.ms, queue_depth=10000, shared="false", **tail, **more)


def wait(lab, slow, hedge, ahead, in_order):
    with contextlib.ExitStack() as stack:
        summary, folder = lab.train(configuration(
            {"data": tier_of(lab, stack, slow, hedge)}, device="{type: emulated, step_ms: 0}",
            dataset="{type: image_folder, storage: data, split: {train_per_class: 799, test_per_class: 1}}",
            decoder=f"{{type: raw, width: {SIDE}, height: {SIDE}, size: {SIDE}}}",
            loader=flow(type="prefetched", batch_size=lab.given.batch, workers=lab.given.workers,
                        prefetch_batches=ahead, in_order=str(in_order).lower()),
            training=f"{{epochs: 1000000, max_steps: {lab.given.batches}}}",
            metrics="{every_steps: 1, sinks: [{type: csv}]}"))
    sums = [float(row["segments_s.data_wait"]) for row in rows_of(folder / "steps.csv")]
    waits = sorted([1000 * (b - a) for a, b in zip(sums, sums[1:])][WARM:])
    at = lambda share: waits[min(len(waits) - 1, int(share * len(waits)))]
    tier = summary["tiers"]["data"]
    hedged = tier.get("hedge", {})
    return {"mean ms": statistics.fmean(waits), "median": at(0.5), "p99": at(0.99), "p99.9": at(0.999),
            "max": waits[-1], "p99.9/median": at(0.999) / at(0.5),
            "more reads, %": 100 * hedged.get("reads", 0) / tier["read"]["duration_s"]["count"], 
            "won": hedged.get("won", 0), "most in flight": tier.get("most_in_flight")}


def run(lab):
    raw_images(lab.folder / "data", FILES, SIDE)
    lab.measure("waits for a batch", lab.each(CASES, wait), wide=True)
