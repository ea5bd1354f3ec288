"""The kinds of scorer, by the contract's names."""

from __future__ import annotations

import importlib

from trainyard.scoring.scorer import CannotLoad, Scorer
from trainyard.scoring.wire import Assignment

# Each in a module of its own, which alone imports its framework.
KINDS = {
    "script": "trainyard.scoring.script:Script",
    "tensorflow": "trainyard.scoring.tensorflow_model:SavedModel",
    "onnx": "trainyard.scoring.onnx_model:Onnx",
    "sklearn": "trainyard.scoring.sklearn_model:Estimator",
    "torch": "trainyard.scoring.torch_model:Module",
    "keras": "trainyard.scoring.keras_model:Keras",
    "xgboost": "trainyard.scoring.boosters:XGBoost",
    "lightgbm": "trainyard.scoring.boosters:LightGBM",
}


def scorer_for(assignment: Assignment) -> Scorer:
    if assignment.kind not in KINDS:
        raise CannotLoad(f"No scorer is called {assignment.kind!r} (there are: {', '.join(sorted(KINDS))}).")
    module, _, name = KINDS[assignment.kind].partition(":")
    kind: type[Scorer] = getattr(importlib.import_module(module), name)
    return kind(assignment)
