"""What NVML says of the GPU, beside a training."""
import threading
import time

from program import Failed, NotRun

PERIOD_S = 0.05


class Utilisation:
    """Asks NVML, some times a second, in which share of its last period a kernel ran (nvmlUtilization_t.gpu)."""

    def __init__(self):
        try:
            import pynvml
        except ModuleNotFoundError:
            raise NotRun("no pynvml") from None
        self._nvml = pynvml
        self._samples = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.count = 0

    def __enter__(self):
        self._nvml.nvmlInit()
        self._gpu = self._nvml.nvmlDeviceGetHandleByIndex(0)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._nvml.nvmlShutdown()

    def _ask(self):
        while not self._ended.wait(PERIOD_S):
            share = self._nvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu / 100
            self._samples.append((time.time(), share))

    def between(self, begin, end):
        """The mean between two times since 1970."""
        shares = [share for at, share in self._samples if begin <= at <= end]
        self.count = len(shares)
        if not shares:
            raise Failed("NVML gave no sample in the window")
        return sum(shares) / len(shares)
