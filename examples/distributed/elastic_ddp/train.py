"""DistributedDataParallel that goes on where it was when a process or a node is lost: rank 0 keeps a checkpoint in
./outputs, and who starts again, on however many nodes, begins with it. torchrun sets the variables."""

import argparse
import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from azureml.core import Run

TRUTH = torch.tensor([[2.0, 0.0, -1.0]])
CHECKPOINT = "outputs/checkpoint.pt"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--fail-at", type=int, help="the step in which the last rank fails, once")
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    run = Run.get_context()
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 1)
    begin = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        network.load_state_dict(saved["network"])
        begin = saved["step"]
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    features = torch.randn(64, 3, generator=torch.Generator().manual_seed(100 + rank))
    targets = features @ TRUTH.T - 0.25
    print(f"rank {rank} of {world} begins at step {begin}", flush=True)
    for step in range(begin, args.steps):
        if step == args.fail_at and restarts == 0 and rank == world - 1:
            raise RuntimeError("lost, as asked")
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), targets)
        loss.backward()
        optimizer.step()
        if rank == 0:
            run.log("loss", loss.item())
            torch.save({"network": network.state_dict(), "step": step + 1}, CHECKPOINT + ".new")
            os.replace(CHECKPOINT + ".new", CHECKPOINT)
    weights = [*network.weight.flatten().tolist(), network.bias.item()]
    with open(f"outputs/weights-{rank}.json", "w", encoding="utf-8") as file:
        json.dump({"weights": weights, "begin": begin, "world": world}, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
