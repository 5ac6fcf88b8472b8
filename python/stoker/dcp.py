"""Checkpoints of torch.distributed.checkpoint (DCP) as sets of Stoker's: atomic, durable, with checksums.

>>> writer = stoker.dcp.StorageWriter("sets.yaml")
>>> dcp.save(state, checkpoint_id=step, storage_writer=writer)              # all ranks
>>> dcp.load(state, storage_reader=stoker.dcp.StorageReader("sets.yaml"))   # the newest intact set, on any number of ranks
"""
try:
    from torch.distributed.checkpoint.staging import AsyncStager as _AsyncStager  # noqa: F401
    from torch.distributed.tensor import DTensor as _DTensor  # noqa: F401
except ImportError as _error:
    raise ImportError(f"stoker.dcp needs PyTorch 2.6 or newer with torch.distributed: {_error}") from _error

from ._dcp_reader import StorageReader, export
from ._dcp_writer import StorageWriter

__all__ = ["StorageReader", "StorageWriter", "export"]
