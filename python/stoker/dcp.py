"""Checkpoints of torch.distributed.checkpoint (DCP) as sets of Stoker's: atomic, durable, with checksums.

>>> writer = stoker.dcp.StorageWriter("sets.yaml")
>>> dcp.save(state, checkpoint_id=step, storage_writer=writer)              # all ranks
>>> dcp.load(state, storage_reader=stoker.dcp.StorageReader("sets.yaml"))   # the newest intact set, on any number of ranks
"""
from ._dcp_reader import StorageReader, export
from ._dcp_writer import StorageWriter

__all__ = ["StorageReader", "StorageWriter", "export"]
