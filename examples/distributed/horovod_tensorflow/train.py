"""Word vectors from a made-up text: skip-grams with sampled negatives, trained by all ranks on parts of their own."""

import argparse
import json

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from azureml.core import Run

WORDS, SIZE = 20, 8


def skip_grams(rank: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words come in pairs (0 with 1, 2 with 3, ...): a neighbour is the other word of the pair, a negative any word."""
    random = np.random.default_rng(rank)
    words = random.integers(0, WORDS, count)
    return words, words ^ 1, random.integers(0, WORDS, (count, 4))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=128)
    args = parser.parse_args()

    hvd.init()
    run = Run.get_context()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.random.set_seed(hvd.rank())
    inner = tf.Variable(tf.random.uniform((WORDS, SIZE), -0.5, 0.5))
    outer = tf.Variable(tf.random.uniform((WORDS, SIZE), -0.5, 0.5))
    hvd.broadcast_variables([inner, outer], root_rank=0)
    words, neighbours, negatives = skip_grams(hvd.rank(), args.steps * args.batch_size)

    @tf.function
    def step(word: tf.Tensor, neighbour: tf.Tensor, negative: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            vector = tf.gather(inner, word)
            near = tf.reduce_sum(vector * tf.gather(outer, neighbour), axis=1)
            far = tf.einsum("bd,bnd->bn", vector, tf.gather(outer, negative))
            loss = -tf.reduce_mean(tf.math.log_sigmoid(near)) - tf.reduce_mean(tf.math.log_sigmoid(-far))
        tape = hvd.DistributedGradientTape(tape)
        for variable, gradient in zip((inner, outer), tape.gradient(loss, [inner, outer]), strict=True):
            variable.assign_sub(5.0 * tf.convert_to_tensor(gradient))
        return loss

    for at in range(0, len(words), args.batch_size):
        part = slice(at, at + args.batch_size)
        loss = step(words[part], neighbours[part], negatives[part])
        if at % (20 * args.batch_size) == 0 and hvd.rank() == 0:
            run.log("loss", float(loss))

    scores = inner.numpy() @ outer.numpy().T
    right = int((scores.argmax(axis=1) == (np.arange(WORDS) ^ 1)).sum())
    print(f"rank {hvd.rank()} of {hvd.size()}: loss {float(loss):.4f}, {right} of {WORDS} neighbours found", flush=True)
    with open(f"outputs/vectors-{hvd.rank()}.json", "w", encoding="utf-8") as file:
        json.dump({"right": right, "inner": inner.numpy().tolist()}, file)


if __name__ == "__main__":
    main()
