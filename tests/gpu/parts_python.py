"""Parts that run in Python, with torch: peers, python."""
from parts_storage import need
from program import HERE, Failed, NotRun

LOADERS = ("stoker", "torch", "torch_gpu", "dali")


def trained(program, plan, loader, data, *arguments):
    return program.python(
        HERE / "torch_training.py", loader, program.many(data, plan.files), "--device", plan.device["type"],
        "--batch", plan.batch, "--size", plan.size, "--workers", plan.workers[-1],
        "--seconds", plan.seconds, "--warm-up", plan.warm_up, "--precision", plan.precision, *arguments)


def peers(program, plan, part):
    """The same training step in PyTorch, from Stoker's loader and from others."""
    need("torch")
    part.note(f"AlexNet in PyTorch, {plan.precision}, channels last; {plan.workers[-1]} workers; {plan.seconds} s after "
              "its first steps; idle by CUDA events round each step")
    for data in plan.peers:
        for loader in LOADERS:
            try:
                found = trained(program, plan, loader, data)
            except Failed as failed:
                part.failed(f"{loader} on {data}", failed, data=data, loader=loader)
                continue
            if "not_run" in found:
                part.row(data=data, loader=loader, outcome=f"not run: {found['not_run']}")
                continue
            part.row(data=data, loader=loader, images_per_s=found["images_per_s"], device_idle=found["idle"],
                     steps=found["steps"], versions=found["versions"])


def python(program, plan, part):
    """Pinned copies, tensors on the device, and what stoker.watch says of a loop."""
    need("torch")
    found = trained(program, plan, "stoker", "small", "--watch")
    if "not_run" in found:
        raise NotRun(found["not_run"])
    part.row(idle_by_watch=found["watch_idle"], idle_by_events=found["whole_idle"], level=found["watch_level"],
             verdict=found["watch_verdict"])
    difference = abs(found["watch_idle"] - found["whole_idle"])
    part.check("idle by stoker.watch differs from that by events", difference, 0.01, difference <= 0.01, hardware=True)
    for name in ("pinned", "on_device", "equal", "loaded"):
        part.check({"pinned": "pin_memory gives pinned memory", "on_device": "device= gives tensors on the device",
                    "equal": "tensors on the device are the loader's own",
                    "loaded": "load_safetensors brings a file to the device as it is"}[name],
                   found[name], "yes", found[name], hardware=name == "pinned")
