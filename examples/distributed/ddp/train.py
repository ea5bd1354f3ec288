"""torch's own DistributedDataParallel: who is who comes from RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""

import argparse
import gc
import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from azureml.core import Run

TRUTH = torch.tensor([[2.0, 0.0, -1.0]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--init-method", default="env://")
    parser.add_argument("--rank", type=int, default=int(os.environ["RANK"]))
    args = parser.parse_args()

    torch.set_num_threads(1)
    world = int(os.environ["WORLD_SIZE"])
    dist.init_process_group(args.backend, init_method=args.init_method, rank=args.rank, world_size=world)
    run = Run.get_context()
    torch.manual_seed(args.rank)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    features = torch.randn(64, 3, generator=torch.Generator().manual_seed(100 + args.rank))
    targets = features @ TRUTH.T - 0.25
    for _ in range(args.steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), targets)
        loss.backward()
        optimizer.step()
    if args.rank == 0:
        run.log("loss", loss.item())
    weights = [*model.module.weight.flatten().tolist(), model.module.bias.item()]
    print(f"rank {args.rank} of {world}: loss {loss.item():.6f}, weights {weights}", flush=True)
    with open(f"outputs/weights-{args.rank}.json", "w", encoding="utf-8") as file:
        json.dump(weights, file)
    # What still holds the process group keeps its thread alive, and that thread can abort the interpreter's end.
    del model, optimizer, loss
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
