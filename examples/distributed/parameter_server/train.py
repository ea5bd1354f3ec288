"""Parameter servers keep the variables, workers compute, a coordinator hands out the steps.

TF_CONFIG names workers and parameter servers. TensorFlow 2 wants a coordinator beside them: worker 0 is it here, and
the other workers are the workers. They have nothing to do once the coordinator is gone, so they end then; parameter
servers wait forever and are stopped when all workers have ended.
"""

import argparse
import json
import os
import socket
import time

import tensorflow as tf

from azureml.core import Run


def with_a_chief(config: dict) -> dict:
    workers, task = config["cluster"]["worker"], config["task"]
    cluster = {"chief": workers[:1], "worker": workers[1:], "ps": config["cluster"]["ps"]}
    if task["type"] == "worker":
        index = task["index"]
        task = {"type": "worker", "index": index - 1} if index else {"type": "chief", "index": 0}
    return {"cluster": cluster, "task": task}


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver, chief: str) -> None:
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    )
    print(f"{resolver.task_type} {resolver.task_id} serves", flush=True)
    if resolver.task_type == "ps":
        server.join()
    host, port = chief.split(":")
    while not listens(host, int(port)):  # the coordinator is on its way
        time.sleep(0.1)
    while listens(host, int(port)):
        time.sleep(0.2)


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def coordinate(resolver: tf.distribute.cluster_resolver.ClusterResolver, steps: int) -> None:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    truth = tf.constant([[3.0], [-1.0]])
    with strategy.scope():
        weights = tf.Variable(tf.zeros((2, 1)))

    @tf.function
    def step() -> None:
        features = tf.random.normal((32, 2))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights - features @ truth) ** 2)
        weights.assign_sub(0.05 * tape.gradient(loss, weights))

    for _ in range(steps):
        coordinator.schedule(step)
    coordinator.join()
    found = weights.numpy().flatten().tolist()
    error = float(tf.reduce_max(tf.abs(weights - truth)))
    Run.get_context().log("error", error)
    print(f"coordinator: weights {found} on {weights.device}", flush=True)
    with open("outputs/weights.json", "w", encoding="utf-8") as file:
        json.dump({"weights": found, "device": weights.device}, file)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    config = with_a_chief(json.loads(os.environ["TF_CONFIG"]))
    os.environ["TF_CONFIG"] = json.dumps(config)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if config["task"]["type"] == "chief":
        coordinate(resolver, args.steps)
    else:
        serve(resolver, config["cluster"]["chief"][0])


if __name__ == "__main__":
    main()
