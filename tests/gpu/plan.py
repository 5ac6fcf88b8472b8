"""How large each part is, on a GPU and as a stand-in for one; and how long it may take there."""
import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Plan:
    name: str
    device: dict          # what computes
    rate_device: dict     # what training is measured on
    model: str
    rate_model: str
    slow_read_ms: float   # of a file on the slow tier
    size: int             # of an image, for parts that compute
    batch: int
    precision: str
    images: int           # whose pixels are compared
    idle_steps: int
    steps: int            # between a resumed run's begin and end
    seconds: float        # of each training, after its first report
    reports: int          # steps between two of them
    rounds: int
    floor_steps: int      # of each round
    workers: tuple
    matrix: tuple         # (loader, on_device, cuda_graph)
    command_s: int        # at most, of one command
    budget_s: dict        # of each part; the sum is what the whole may take

    @property
    def gpu(self):
        return self.device["type"] == "cuda"


LOADERS = ("device_prefetched", "device_resident", "prefetched", "threaded", "sync")


def whole_matrix():
    """The likely best first; device_resident keeps finished pixels, so that nothing is left to the device."""
    return tuple((loader, on_device, graph) for graph in (False, True) for on_device in ("nothing", "resize", "decode")
                 for loader in LOADERS if loader != "device_resident" or on_device == "nothing")


GPU = Plan(
    name="gpu", device={"type": "cuda"}, rate_device={"type": "cuda"}, model="alexnet", rate_model="alexnet",
    slow_read_ms=0.2, size=224, batch=256, precision="bf16", images=12, idle_steps=40, steps=6, seconds=3, reports=10,
    rounds=3, floor_steps=100, workers=(1, 2, 4, 8, 16), matrix=whole_matrix(), command_s=60,
    budget_s={"environment": 15, "idle": 60, "training": 230, "frames": 40, "resume": 60, "checkpoint": 60,
              "loader": 35, "dataloader": 40})

STAND_IN = Plan(
    name="stand-in", device={"type": "cpu"}, rate_device={"type": "emulated", "preset": "h200"}, model="resnet18",
    rate_model="linear", slow_read_ms=10, size=32, batch=8, precision="fp32", images=4, idle_steps=12, steps=2,
    seconds=0.3, reports=5, rounds=1, floor_steps=4,
    workers=tuple(count for count in (1, 2) if count <= (os.cpu_count() or 1)),
    matrix=(*((loader, "nothing", False) for loader in LOADERS), ("device_prefetched", "resize", False),
            ("device_prefetched", "decode", False), ("device_prefetched", "nothing", True)),
    command_s=300, budget_s=dict.fromkeys(GPU.budget_s, 600))  # a machine may be busy otherwise
