"""Learns to read handwritten digits with TensorFlow: a small network on the images that come with scikit-learn."""

import argparse
import json
import os

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from azureml.core import Run


class Tracked(tf.keras.callbacks.Callback):
    """Logs every epoch to the run, and prints a line for whoever watches."""

    def __init__(self, run, epochs):
        super().__init__()
        self.run, self.epochs = run, epochs

    def on_epoch_end(self, epoch, logs=None):
        loss, accuracy = float(logs["val_loss"]), float(logs["val_accuracy"])
        self.run.log("loss", loss)
        self.run.log("accuracy", accuracy)
        print(f"epoch {epoch + 1:2d}/{self.epochs}   loss {loss:.4f}   accuracy {accuracy:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()

    digits = load_digits()
    images = (digits.data / 16.0).astype("float32")
    x_train, x_test, y_train, y_test = train_test_split(images, digits.target, test_size=0.25, random_state=7)
    print(f"TensorFlow {tf.__version__}: {len(x_train)} images to learn from, {len(x_test)} kept back", flush=True)

    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential(
        [
            tf.keras.Input(shape=(64,)),
            tf.keras.layers.Dense(48, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(args.learning_rate),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    history = model.fit(
        x_train,
        y_train,
        batch_size=args.batch_size,
        epochs=args.epochs,
        validation_data=(x_test, y_test),
        verbose=0,
        callbacks=[Tracked(Run.get_context(), args.epochs)],
    )

    # What a run writes to ./outputs stays with the run: here a SavedModel, which can be deployed without code.
    os.makedirs("outputs", exist_ok=True)
    serve = tf.function(lambda images: model(images), input_signature=[tf.TensorSpec([None, 64], tf.float32)])
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # it will not be trained any further
    tf.saved_model.save(model, "outputs/model", signatures=serve, options=options)
    accuracy = float(history.history["val_accuracy"][-1])
    with open("outputs/report.json", "w", encoding="utf-8") as file:
        json.dump({"accuracy": accuracy, "tensorflow": tf.__version__}, file, indent=2)
    print(f"saved outputs/model: {accuracy:.1%} of the images it had never seen were read right", flush=True)


if __name__ == "__main__":
    main()
