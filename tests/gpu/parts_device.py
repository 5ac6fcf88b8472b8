"""Parts that are about the device: environment, idle, frames, training."""
import dataclasses
import importlib.metadata
import pathlib
import platform

import busy
import pixels
from nvml import Utilisation
from program import DATA, FILES, Failed, NotRun, photographs


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def environment(program, plan, part):
    found = program.json("environment")
    part.row(program=found["stoker"], revision=found["revision"], libtorch=found["libtorch"], system=found["system"],
             cpu=found["cpu"]["model"], cores=found["cpu"]["cores"], gpu=", ".join(found["gpus"]) or "none",
             python=platform.python_version(), python_torch=version_of("torch"), data=f"{DATA.name}, {FILES} files",
             photographs=len(list(photographs().glob("*/*.jpg"))))
    for of in found["parts"]:
        part.row(part=of["name"], works=of["works"], detail=of["detail"])
        if of["name"] in ("libtorch_cuda", "stoker_cuda", "nvjpeg"):
            part.check(f"{of['name']} works", of["works"], "yes", of["works"], hardware=True)


def computing(plan, **sections):
    """A training on the device that computes."""
    return {"device": plan.device, "decoder": {"type": "jpeg", "size": plan.size}, "model": {"type": plan.model},
            "loader": {"type": "prefetched", "batch_size": plan.batch},
            "training": {"epochs": 10000, "max_steps": plan.idle_steps, "precision": plan.precision,
                         "channels_last": plan.gpu, "threads": 1},
            "metrics": {"every_steps": plan.idle_steps, "sinks": [{"type": "trace", "steps": 1000000}],
                        "profile": {"every_steps": plan.idle_steps // 3, "steps": plan.idle_steps // 4}}} | sections


def idle_cases(program, plan, sets):
    """What is made to be the cause -> the sections that make it so. `sets`: a folder for checkpoints."""
    tiers = program.tiers(sets)
    slow = {"type": "emulated", "read_latency_ms": plan.slow_read_ms, "read_mb_per_s": 1e5, "write_mb_per_s": 1e5,
            "inner": tiers["data"]}
    tested = max(0.1, min(0.9, 1 - 1.6 * plan.batch / FILES))  # there has to be a batch to train on
    cases = {
        "data": {"storage": {"data": slow}, "loader": {"type": "sync", "batch_size": plan.batch}},
        "host": {"dataset": {"type": "image_folder", "storage": "data", "split": {"test_fraction": tested}},
                 "evaluation": {"every_epochs": 1}},
        "checkpoint": {"storage": tiers, "checkpoint": {"type": "direct", "slow": "sets", "every_steps": 2,
                                                        "keep_last": 1, "durability": "none"}},
    }
    if plan.gpu:  # nvJPEG works on the stream of the copies, and the step waits for it
        cases["h2d"] = {"decoder": {"type": "jpeg", "size": plan.size, "on_device": "decode"}}
    return cases


def judged(part, cause, by, ours, others):
    part.check(f"{cause}: idle differs from {by} by", abs(ours - others), 0.01, abs(ours - others) <= 0.01, hardware=True)


def idle(program, plan, part):
    """Both shares are of the same windows; the program's lacks what is idle within a step."""
    part.note("profiler: kernels, memsets and copies within the device, on the stream of the steps, by CUPTI"
              if plan.gpu else "profiler: LibTorch's operators on the trainer's thread, in place of kernels")
    for cause, sections in idle_cases(program, plan, "idle-sets").items():
        try:
            run = program.train(computing(plan, **sections))
        except Failed as failed:
            part.failed(cause, failed, made=cause)
            continue
        shares = busy.idle_shares(run, plan.gpu)
        if shares is None:
            part.check(f"{cause}: the profiler saw work on the device", False, "yes", False)
            continue
        named = run.main_cause()
        part.row(made=cause, named=named, program_idle=shares[0], profiler_idle=shares[1], between_steps=shares[2],
                 difference=shares[0] - shares[1], share_of_named=run.summary["device"]["idle_share_by_cause"][named])
        judged(part, cause, "the profiler's", *shares[:2])
        if cause != "h2d":  # an engine for JPEG may be fast enough
            part.check(f"{cause}: main cause named", named, cause, named == cause, hardware=True)
    if plan.gpu:
        idle_by_nvml(program, plan, part)


def idle_by_nvml(program, plan, part):
    """Without the profiler, over the later half of each training. NVML averages over up to a second, and counts a time
    in which any work is on the device, on any stream: gaps of microseconds within a step are nothing to it."""
    for cause, sections in idle_cases(program, plan, "nvml-sets").items():
        unprofiled = {"training": {"epochs": 10000, "precision": plan.precision, "channels_last": True, "threads": 1},
                      "metrics": {"every_steps": plan.reports,
                                  "sinks": [{"type": "csv"}, {"type": "trace", "steps": 1000000}]}}
        try:
            with Utilisation() as utilisation:
                run = program.train_for(plan.nvml_seconds, computing(plan, **sections) | unprofiled)
            steady = run.steady()
        except Failed as failed:
            part.failed(f"{cause}, beside NVML", failed, made_beside_nvml=cause)
            continue
        nvml_idle, between = 1 - utilisation.between(*steady.window), busy.idle_between_steps(run, steady.window)
        part.row(made_beside_nvml=cause, named_then=steady.cause, idle_then=steady.idle, idle_between_steps=between,
                 nvml_idle=nvml_idle, nvml_samples=utilisation.count, nvml_difference=between - nvml_idle)
        if cause in ("data", "host"):  # NVML counts copies and nvJPEG as work, too
            judged(part, cause, "NVML's", between, nvml_idle)


def one_image_a_step(program, plan, on_device):
    """(losses, levels, error) of the first images."""
    tiers = program.tiers(f"pixels-{on_device}")
    run = program.train({
        "device": plan.device, "storage": tiers,
        "decoder": {"type": "jpeg", "size": plan.size, "scaled_decode": False, "on_device": on_device},
        "loader": {"type": "prefetched", "batch_size": 1, "workers": 1, "shuffle": False},
        # So little that the loss stays: a small gradient would be lost in the digits of the weights.
        "model": {"type": "linear"}, "optimizer": {"type": "sgd", "lr": 2e-6},
        "training": {"max_steps": plan.images + 1, "precision": "fp32"},
        "checkpoint": {"type": "direct", "slow": "sets", "every_steps": 1, "keep_last": 100, "durability": "none"},
        "metrics": {"every_steps": 1, "sinks": [{"type": "csv"}]}})
    found = pixels.images(pathlib.Path(tiers["sets"]["root"]) / "train", plan.images)
    return [row["loss"] for row in run.rows()], [levels for levels, _ in found], max(error for _, error in found)


def frames(program, plan, part):
    """Pixels as the device computed with them, beside those that the loader hands over (--dump)."""
    dump = program.dir / "dump.npy"
    program.bench("loader", {
        "device": {"type": "cpu"}, "decoder": {"type": "jpeg", "size": plan.size, "scaled_decode": False},
        "loader": {"type": "prefetched", "batch_size": plan.images + 1, "workers": 1, "shuffle": False}},
        "--quick", "--epochs", 1, "--dump", dump)
    truth = pixels.of_npy(dump)[1:]
    losses = {}
    for on_device in ("nothing", "resize", "decode"):
        losses[on_device], levels, error = one_image_a_step(program, plan, on_device)
        mean, most = pixels.distance(truth, levels)
        part.row(on_device=on_device, images=plan.images, mean_difference=mean, largest_difference=most,
                 error_of_recovery=error)
        if on_device == "decode":
            part.check("decode: mean difference from libjpeg-turbo's pixels, levels", mean, 2.0, mean <= 2.0)
            continue
        part.check(f"{on_device}: largest difference from the loader's pixels, levels", most, 0, most == 0)
        part.check(f"{on_device}: error of the recovered levels", error, 0.25, error < 0.25)
    part.check("resize: losses equal those of nothing", losses["resize"] == losses["nothing"], "yes",
               losses["resize"] == losses["nothing"])


def training_sections(program, plan, case):
    """Kept pixels are made once, in memory; device_resident keeps them on the device."""
    dataset = {"type": "image_folder", "storage": "data"}
    decoder = {"type": "jpeg", "size": plan.size}
    if case.pixels == "kept" and case.loader != "device_resident":
        dataset = {"type": "decoded", "inner": dataset, "decoder": decoder}
        decoder = {"type": "raw", "width": plan.size, "height": plan.size}
    else:
        decoder |= {"on_device": case.on_device, "on_device_share": case.share}
    return {
        "dataset": dataset, "decoder": decoder,
        "storage": {"data": {"type": "posix", "root": str(program.many(case.data, plan.files))}},
        "device": plan.rate_device, "model": {"type": plan.rate_model},
        "loader": {"type": case.loader, "batch_size": plan.batch},
        "training": {"epochs": 1000000, "precision": "bf16", "channels_last": True, "cuda_graph": case.cuda_graph},
        "metrics": {"every_steps": plan.reports, "sinks": [{"type": "csv"}]}}


def floor(program, plan, graph):
    """Images/s of the step alone, on a batch that lies on the device."""
    sections = computing(plan) | {"metrics": {"sinks": []}, "training": {
        "precision": plan.precision, "channels_last": True, "cuda_graph": graph, "threads": 1}}
    return program.bench("train", sections, "--bare", "--rounds", plan.rounds, "--steps", plan.floor_steps)["bare"]


def floors(program, plan, part):
    """Images/s of the bare step, with and without a CUDA graph."""
    found = {}
    for graph in (False, True):
        row = {"data": "one batch on the device", "pixels": "kept", "loader": "none", "on_device": "nothing",
               "cuda_graph": graph}
        try:
            found[graph] = floor(program, plan, graph)["images_per_s"]["median"]
            part.row(**row, images_per_s=found[graph])
        except Failed as failed:
            failed_or_needs_a_gpu(plan, part, row, failed)
    return found


def failed_or_needs_a_gpu(plan, part, row, failed):
    if row["cuda_graph"] and not plan.gpu:
        part.row(**row, outcome=f"needs a GPU: {failed}", exit_code=failed.code)
    else:
        part.failed(", ".join(str(value) for value in row.values()), failed, **row)


def training(program, plan, part):
    part.note(f"batches of {plan.batch}, {plan.size} pixels; the later half of {plan.seconds} s; the floor is "
              f"{plan.model}'s on {plan.device['type']}")
    floor_of, best = floors(program, plan, part), {}
    for case in plan.matrix:
        row = dataclasses.asdict(case)
        try:
            steady = program.train_for(plan.seconds, training_sections(program, plan, case)).steady()
        except NotRun as reason:
            part.row(**row, outcome=f"not run: {reason}")
            continue
        except Failed as failed:
            failed_or_needs_a_gpu(plan, part, row, failed)
            continue
        of_floor = steady.rate / floor_of[case.cuda_graph] if plan.gpu and case.cuda_graph in floor_of else None
        part.row(**row, images_per_s=steady.rate, of_floor=of_floor, device_idle=steady.idle, main_cause=steady.cause)
        fastest = best.setdefault(f"{case.data}, {case.pixels}", steady)
        if steady.rate > fastest.rate:
            best[f"{case.data}, {case.pixels}"] = steady
    for name, steady in best.items():
        part.check(f"{name}: device idle of the fastest", steady.idle, 0.01, steady.idle <= 0.01, hardware=True)
