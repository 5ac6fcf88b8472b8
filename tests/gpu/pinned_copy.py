"""pinned_copy.py DEVICE BYTES: seconds of copies of so much memory from the device, to pinned memory from a GPU. Two
copies are not counted."""
import json
import sys
import time

import torch

DEVICE, BYTES = sys.argv[1], int(sys.argv[2])
GPU = DEVICE == "cuda"
source = torch.ones(BYTES, dtype=torch.uint8, device=DEVICE)
target = torch.zeros(BYTES, dtype=torch.uint8, pin_memory=GPU)
seconds = []
for _ in range(7):
    if GPU:
        torch.cuda.synchronize()
    begin = time.perf_counter()
    target.copy_(source, non_blocking=True)
    if GPU:
        torch.cuda.synchronize()
    seconds.append(time.perf_counter() - begin)
print(json.dumps(seconds[2:]))
