#!/usr/bin/env python3
"""stoker.dcp with checkpoint.staging_memory: states that are larger than the memory for their copies."""
import os
import tempfile
import unittest

from dcp_ranks import MISSING, Training, in_ranks, sections

LONG = bool(os.environ.get("STOKER_LONG"))

if not MISSING:
    import torch.distributed.checkpoint as dcp

    import stoker.dcp

STAGED_COLUMNS = 500_000  # 96 MB for each of two ranks


def resident():
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def save_staged(rank, folder, kind, asynchronous):
    training = Training(STAGED_COLUMNS)
    training.go_to(0)
    before = resident()
    snapshot = "async" if asynchronous else "sync"
    with stoker.dcp.StorageWriter(sections(folder, kind, snapshot=snapshot, staging_memory="64MiB", keep_last=9)) as writer:
        for step in (1, 2):
            training.go_to(step)
            if asynchronous:
                # Of the first one DCP is given a copy; the second is read where it is.
                future = dcp.async_save(training.state(), storage_writer=writer.at(step))
                writer.finish_copy()
                training.go_to(-1)
                future.result()
            else:
                dcp.save(training.state(), checkpoint_id=str(step), storage_writer=writer)
        assert writer.lost == 0, writer.last_error
    if not asynchronous:
        assert resident() - before < 130e6, resident() - before  # two whole states would be 192 MB


def load_staged(rank, folder, kind):
    training = Training(STAGED_COLUMNS)
    for step in (1, 2):
        assert training.load(stoker.dcp.StorageReader(sections(folder, kind)), str(step)) == step


@unittest.skipIf(MISSING, MISSING)
class StagingTest(unittest.TestCase):
    def test_a_state_goes_through_memory_that_is_less_than_it(self):
        for kind, asynchronous in (("burst_buffer", False), ("direct", True), *((("direct", False),) if LONG else ())):
            with self.subTest(kind=kind, asynchronous=asynchronous), tempfile.TemporaryDirectory(prefix="stoker-test-") as folder:
                in_ranks(2, save_staged, folder, kind, asynchronous)
                in_ranks(2, load_staged, folder, kind)


if __name__ == "__main__":
    unittest.main()
