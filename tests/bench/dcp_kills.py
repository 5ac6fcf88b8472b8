#!/usr/bin/env python3
"""kill -9 of the two ranks of a training that saves by torch.distributed.checkpoint through stoker.dcp, as often as is said: nothing
that was acknowledged is lost, and no set is torn. The test tests/python/dcp_test.py does it a few times.

Needs a Python with torch 2.6 or newer. PYTHONPATH=build/python:tests/python python3 tests/bench/dcp_kills.py --dir DIRECTORY [--kills 1000] [--seed 1]
"""
import argparse
import random
import shutil
import time

import dcp_ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if dcp_ranks.MISSING:
        raise SystemExit(dcp_ranks.MISSING)
    begin, kinds = time.monotonic(), ("direct", "burst_buffer")
    for number, kind in enumerate(kinds):
        folder = f"{options.dir}/kills-{kind}"
        shutil.rmtree(folder, ignore_errors=True)
        kills = dcp_ranks.Kills(folder, kind, random.Random(options.seed + number))
        count = options.kills // len(kinds) + number * (options.kills % len(kinds))
        for done in range(count):
            kills.kill_once()
            if (done + 1) % 50 == 0:
                print(f"{kind}: {done + 1} kills, {len(kills.acknowledged())} sets acknowledged, {time.monotonic() - begin:.0f} s", flush=True)
        print(f"{kind}: {count} kills, {len(kills.acknowledged())} sets acknowledged, 0 lost, 0 torn", flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
