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
    nvml_seconds: float   # the same beside NVML, whose samples are of up to a second
    warm_up: int          # steps of a training in PyTorch before its window
    files: int            # of a data set, some of them many times: epochs of some thousand images
    reports: int          # steps between two of them
    rounds: int
    floor_steps: int      # of each round
    workers: tuple
    matrix: tuple         # of Case
    peers: tuple          # data sets that it trains on
    command_s: int        # at most, of one command
    budget_s: dict        # of each part; the sum is what the whole may take

    @property
    def gpu(self):
        return self.device["type"] == "cuda"


@dataclasses.dataclass(frozen=True)
class Case:
    """A training: on the small files or the photographs, from their JPEGs or from pixels that are kept in memory."""
    data: str
    pixels: str
    loader: str
    on_device: str = "nothing"
    cuda_graph: bool = False
    share: float = 1.0    # of the files that the device decodes


LOADERS = ("device_prefetched", "device_resident", "prefetched", "threaded", "sync")


def whole_matrix():
    """Each loader once; device_prefetched, which is meant for a GPU, with all that it can leave to the device. The loader
    device_resident keeps pixels on the device."""
    for data in ("small", "photographs"):
        for on_device in ("nothing", "resize", "decode"):
            for graph in (True, False) if data == "small" else (True,):
                yield Case(data, "jpeg", "device_prefetched", on_device, graph)
        for graph in (True, False):
            yield Case(data, "kept", "device_prefetched", cuda_graph=graph)
            yield Case(data, "kept", "device_resident", cuda_graph=graph)
        if data == "photographs":
            for share in (0.6, 0.5, 0.4):
                yield Case(data, "jpeg", "device_prefetched", "decode", True, share)
        for loader in ("prefetched", "threaded", "sync") if data == "small" else ("prefetched",):
            yield Case(data, "jpeg", loader)


GPU = Plan(
    name="gpu", device={"type": "cuda"}, rate_device={"type": "cuda"}, model="alexnet", rate_model="alexnet",
    slow_read_ms=0.2, size=224, batch=256, precision="bf16", images=12, idle_steps=40, steps=6, seconds=3,
    nvml_seconds=7, warm_up=40, files=6000, reports=10, rounds=3, floor_steps=100, workers=(1, 2, 4, 8, 16), matrix=tuple(whole_matrix()), peers=("small", "photographs"),
    command_s=60,
    budget_s={"environment": 15, "frames": 30, "resume": 40, "training": 180, "idle": 75, "checkpoint": 40,
              "loader": 15, "peers": 130, "python": 40})

# Before the whole: whether each part works.
SHORT = dataclasses.replace(
    GPU, name="short", idle_steps=24, steps=2, seconds=1, files=1500, rounds=1, floor_steps=20, workers=(1, 16), peers=("small",),
    matrix=(Case("small", "jpeg", "device_prefetched", "decode", True), Case("photographs", "jpeg", "device_prefetched"),
            Case("small", "kept", "device_prefetched"), Case("small", "kept", "device_resident", cuda_graph=True)))

STAND_IN = Plan(
    name="stand-in", device={"type": "cpu"}, rate_device={"type": "emulated", "preset": "h200"}, model="resnet18",
    rate_model="linear", slow_read_ms=10, size=32, batch=8, precision="fp32", images=4, idle_steps=12, steps=2,
    seconds=0.3, nvml_seconds=0, warm_up=4, files=1, reports=5, rounds=1, floor_steps=4,
    workers=tuple(count for count in (1, 2) if count <= (os.cpu_count() or 1)),
    matrix=(*(Case("small", "kept" if loader == "device_resident" else "jpeg", loader) for loader in LOADERS),
            Case("small", "kept", "device_prefetched"), Case("small", "jpeg", "device_prefetched", "resize"),
            Case("small", "jpeg", "device_prefetched", "decode"),
            Case("small", "jpeg", "device_prefetched", cuda_graph=True)),
    peers=("small",), command_s=300, budget_s=dict.fromkeys(GPU.budget_s, 600))  # a machine may be busy otherwise
