#!/usr/bin/env python3
"""One rank: all_reduce over BACKEND (gloo or nccl) until SECONDS are over; wrong sums end it with 1."""
import os
import sys
import time

import torch
import torch.distributed as dist

backend, seconds = sys.argv[1], float(sys.argv[2])
dist.init_process_group(backend)
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", 0) if backend == "nccl" else torch.device("cpu")
wanted = world * (world + 1) / 2
end = time.monotonic() + seconds
rounds = 0
while True:
    numbers = torch.full((4 << 20,), float(rank + 1), device=device)
    dist.all_reduce(numbers)
    if not bool((numbers == wanted).all()):
        sys.exit(f"rank {rank}: {numbers[0].item()} instead of {wanted}")
    if rounds == 0:
        print(f"rank {rank} of {world} on {os.uname().nodename}: right sums over {backend}", flush=True)
    rounds += 1
    # All ranks end after the same round: rank 0 decides.
    go_on = torch.tensor([1.0 if time.monotonic() < end else 0.0], device=device)
    dist.broadcast(go_on, 0)
    if go_on.item() == 0.0:
        break
dist.destroy_process_group()
