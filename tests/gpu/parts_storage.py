"""Parts that are about storage and loading: resume, checkpoint, loader."""
import importlib.util
import pathlib
import statistics

import pixels
from program import HERE, Failed, NotRun

# cuBLAS repeats itself only with a workspace of its own.
REPEATABLE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def need(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise NotRun(f"no {module}")


class Training:
    """Trainings of a model that save their state in a place of their own each."""

    def __init__(self, program, plan, model, deterministic):
        self.program, self.plan, self.model, self.deterministic = program, plan, model, deterministic
        self.places = 0

    def until(self, steps, tiers=None, resume="none"):
        """(losses by step, the state's file, the tiers)"""
        if tiers is None:
            self.places += 1
            tiers = self.program.tiers(f"resume-{self.model}-{self.deterministic}-{self.places}")
        run = self.program.train({
            "device": self.plan.device, "storage": tiers,
            "decoder": {"type": "jpeg", "size": self.plan.size, "augment": {"flip": True}},
            "loader": {"type": "device_prefetched", "batch_size": 16}, "model": {"type": self.model},
            "optimizer": {"type": "adam", "lr": 1e-4},
            "training": {"max_steps": steps, "deterministic": self.deterministic, "threads": 1},
            "checkpoint": {"type": "direct", "slow": "sets", "every_steps": 1000000, "resume": resume,
                           "durability": "none"},
            "metrics": {"every_steps": 1, "sinks": [{"type": "csv"}]}}, env=REPEATABLE)
        losses = {int(row["steps"]): row["loss"] for row in run.rows()}
        sets = pathlib.Path(tiers["sets"]["root"])
        return losses, sets / "train" / f"step-{steps:010}" / "state.safetensors", tiers


def differing(one, other):
    some, others = pixels.tensors(one), pixels.tensors(other)
    return sorted(name for name in some.keys() | others.keys() if some.get(name) != others.get(name))


def interrupted(training, steps):
    """Of 2 * steps: (steps whose loss differs in the resumed run, tensors that do, whether a second whole run is
    equal: asked only where the resumed one is not)."""
    losses, whole, _ = training.until(2 * steps)
    first, _, tiers = training.until(steps)
    resumed, end, _ = training.until(2 * steps, tiers, "latest")
    wrong = [step for step, loss in losses.items() if (first | resumed).get(step) != loss]
    tensors = differing(whole, end)
    if not wrong and not tensors:
        return wrong, tensors, None
    again, second, _ = training.until(2 * steps)
    return wrong, tensors, losses == again and not differing(whole, second)


def resume(program, plan, part):
    part.note(f"{plan.steps} steps and {plan.steps} more, beside {2 * plan.steps} at once; file and losses compared")
    for model in ("linear", plan.model):
        for deterministic in (True, False):
            row = {"model": model, "deterministic": deterministic}
            try:
                losses, tensors, repeats = interrupted(Training(program, plan, model, deterministic), plan.steps)
            except Failed as failed:
                part.row(**row, outcome=str(failed), exit_code=failed.code)
                continue
            part.row(**row, losses_differ=len(losses), tensors_differ=", ".join(tensors) or "none",
                     whole_runs_equal=repeats)
            equal = not losses and not tensors
            if repeats is False:
                part.not_run(f"{model}: resumed is what was never stopped", "two whole runs differ already")
            else:
                part.check(f"{model}: resumed is what was never stopped", equal, "yes", equal)
            break
        else:
            part.check(f"{model} trains", False, "yes", False)


def checkpoint(program, plan, part):
    """Training stands still for a snapshot; beside it a copy of as many bytes from the device by torch. Then a training
    that loads the newest set to the device."""
    copied = None
    for snapshot in ("sync", "async"):
        tiers = program.tiers(f"stall-{snapshot}")
        sections = {"device": plan.device, "storage": tiers,
                    "model": {"type": plan.model}, "optimizer": {"type": "adam"},
                    "decoder": {"type": "jpeg", "size": plan.size},
                    "loader": {"type": "sync", "batch_size": plan.batch},  # time for the writes between two saves
                    "checkpoint": {"type": "direct", "slow": "sets", "every_steps": plan.idle_steps // 4,
                                   "keep_last": 1, "snapshot": snapshot, "on_backlog": "skip", "resume": "latest"},
                    "training": {"epochs": 10000, "max_steps": plan.idle_steps, "precision": plan.precision},
                    "metrics": {"sinks": []}}
        saved = program.train(sections).summary["checkpoints"]
        stalls = [o["end_s"] - o["begin_s"] for o in saved["operations"] if o["part"] == "blocked"]
        loaded = program.train(sections, f"training.max_steps={plan.idle_steps + 1}").summary["checkpoints"]["parts"]
        if copied is None:
            copied = pinned_copy(program, plan, part, saved["set_bytes"])
        stall = statistics.median(stalls)
        part.row(snapshot=snapshot, set_mb=saved["set_bytes"] / 1e6, stalls=len(stalls), stall_ms=1e3 * stall,
                 least_stall_ms=1e3 * min(stalls), copy_ms=copied and 1e3 * copied, ratio=copied and stall / copied,
                 write_ms=1e3 * saved["parts"]["write"]["duration_s"]["mean"],
                 load_ms=1e3 * loaded["restore"]["duration_s"]["mean"])
        if copied:
            part.check(f"{snapshot}: stall over a copy of as many bytes", stall / copied, 1.1, stall <= 1.1 * copied,
                       hardware=True)


def pinned_copy(program, plan, part, size):
    try:
        need("torch")
        return statistics.median(program.python(HERE / "pinned_copy.py", plan.device["type"], size))
    except NotRun as reason:
        part.not_run("a copy by torch beside it", reason)
        return None


def loader(program, plan, part):
    """Images/s by workers, beside libjpeg-turbo on as many threads and the same files."""
    sections = {"device": {"type": "cpu"}, "decoder": {"type": "jpeg"},
                "loader": {"type": "prefetched", "batch_size": 32}}
    counts = ",".join(map(str, plan.workers))
    scaling = program.bench("loader", sections, "--scaling", counts, "--epochs", plan.rounds)
    for row in scaling["rows"]:
        own = {"loader": sections["loader"] | {"workers": row["workers"]}}
        alone = program.bench("loader", sections | own, "--epochs", 1, "--ceiling-samples", 300)
        ceiling = alone["ceiling"]["read_decode"]["median"]
        rate = row["images_per_s"]["median"]
        part.row(workers=row["workers"], images_per_s=rate, of_workers_times_one=row["efficiency"],
                 libjpeg_turbo_images_per_s=ceiling, over_libjpeg_turbo=rate / ceiling)
    same = len({tuple(row["order"]) for row in scaling["rows"]}) == 1
    part.check("batches are the same with any number of workers", same, "yes", same)
