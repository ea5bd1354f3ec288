"""Keras on several workers that keep one model between them. TF_CONFIG, set for every process, says who they are."""

import argparse
import json
import os

import numpy as np
import tensorflow as tf

from azureml.core import Run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    task = json.loads(os.environ["TF_CONFIG"])["task"]
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before any other TensorFlow work
    features = np.random.default_rng(0).normal(size=(256, 3)).astype("float32")
    targets = features @ np.array([[1.0], [2.0], [-1.0]], dtype="float32")
    data = tf.data.Dataset.from_tensor_slices((features, targets)).batch(args.batch_size).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    history = model.fit(data, epochs=args.epochs, steps_per_epoch=4, verbose=0)

    loss = history.history["loss"][-1]
    if task["index"] == 0:
        Run.get_context().log_list("loss", history.history["loss"])
    weights = model.get_weights()[0].flatten().tolist()
    print(f"{task['type']} {task['index']} of {strategy.num_replicas_in_sync}: loss {loss:.6f}, weights {weights}")
    with open(f"outputs/weights-{task['index']}.json", "w", encoding="utf-8") as file:
        json.dump({"workers": strategy.num_replicas_in_sync, "weights": weights}, file)


if __name__ == "__main__":
    main()
