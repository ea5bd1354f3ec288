"""Learns to read handwritten digits: a small neural network on the 1,797 images that come with scikit-learn.

Runs the same by hand (`python train.py`) and as a tracked run; by hand, what it logs goes to the screen only.
"""

import argparse
import json
import os

import joblib
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from azureml.core import Run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=48, help="units in the hidden layer")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    args = parser.parse_args()

    run = Run.get_context()
    run.log("hidden", args.hidden)
    run.log("learning_rate", args.learning_rate)

    digits = load_digits()
    x_train, x_test, y_train, y_test = train_test_split(digits.data, digits.target, test_size=0.25, random_state=7)
    print(f"{len(x_train)} images to learn from, {len(x_test)} kept back", flush=True)

    scaler = StandardScaler().fit(x_train)
    network = MLPClassifier(
        hidden_layer_sizes=(args.hidden,), learning_rate_init=args.learning_rate, batch_size=64, random_state=7
    )
    for epoch in range(1, args.epochs + 1):
        network.partial_fit(scaler.transform(x_train), y_train, classes=range(10))
        loss = log_loss(y_test, network.predict_proba(scaler.transform(x_test)))
        accuracy = network.score(scaler.transform(x_test), y_test)
        run.log("loss", loss)
        run.log("accuracy", accuracy)
        print(f"epoch {epoch:2d}/{args.epochs}   loss {loss:.4f}   accuracy {accuracy:.4f}", flush=True)

    # What a run writes to ./outputs stays with the run.
    os.makedirs("outputs", exist_ok=True)
    model = make_pipeline(scaler, network)
    joblib.dump(model, "outputs/model.joblib")
    confusion = confusion_matrix(y_test, model.predict(x_test))
    with open("outputs/report.json", "w", encoding="utf-8") as file:
        json.dump({"loss": loss, "accuracy": accuracy, "confusion": confusion.tolist()}, file, indent=2)
    print(f"saved outputs/model.joblib: {accuracy:.1%} of the images it had never seen were read right", flush=True)


if __name__ == "__main__":
    main()
