"""TensorFlow 1's way: every process is a Server; parameter servers join, workers train in a session of the chief's."""

import json
import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
config = json.loads(os.environ["TF_CONFIG"])
kind, index = config["task"]["type"], config["task"]["index"]
cluster = tf.train.ClusterSpec(config["cluster"])
server = tf.train.Server(cluster, job_name=kind, task_index=index)
if kind == "ps":
    server.join()

with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
    features = tf.placeholder(tf.float32, [None])
    weight = tf.get_variable("weight", initializer=0.0)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean((weight * features - 2.0 * features) ** 2)
    # a rate at which gradients that a slow worker computed some steps ago do no harm
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)

random = np.random.default_rng(index)
done = 0
# A worker talks to the parameter servers and not to other workers: one that comes late finds the first gone already.
alone = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
with tf.train.MonitoredTrainingSession(
    master=server.target, is_chief=index == 0, hooks=[tf.train.StopAtStepHook(last_step=200)], config=alone
) as session:
    while not session.should_stop():
        _, done, found = session.run([train, step, weight], {features: random.normal(size=16)})
with open(f"outputs/worker-{index}.json", "w", encoding="utf-8") as file:
    json.dump({"step": int(done), "weight": float(found)}, file)
