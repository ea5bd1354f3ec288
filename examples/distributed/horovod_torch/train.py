"""Every rank has data of its own, Horovod averages the gradients: all of them end with one model."""

import argparse
import json

import horovod.torch as hvd
import torch

from azureml.core import Run

TRUTH = torch.tensor([[1.0, -2.0, 3.0]])


def data_of(rank: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    features = torch.randn(rows, 3, generator=torch.Generator().manual_seed(100 + rank))
    return features, features @ TRUTH.T + 0.5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    args = parser.parse_args()

    hvd.init()
    run = Run.get_context()
    torch.set_num_threads(1)
    torch.manual_seed(hvd.rank())  # every rank begins elsewhere; the broadcast brings them together
    model = torch.nn.Linear(3, 1)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    features, targets = data_of(hvd.rank(), args.rows)
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), targets)
        loss.backward()
        optimizer.step()
        if step % 10 == 0 and hvd.rank() == 0:
            run.log("loss", loss.item())

    weights = [*model.weight.flatten().tolist(), model.bias.item()]
    print(f"rank {hvd.rank()} of {hvd.size()}: loss {loss.item():.6f}, weights {weights}", flush=True)
    with open(f"outputs/weights-{hvd.rank()}.json", "w", encoding="utf-8") as file:
        json.dump(weights, file)


if __name__ == "__main__":
    main()
