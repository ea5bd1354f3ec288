"""The same models as MLflow saves them; in the peers' environment."""

from __future__ import annotations

import sys
from typing import Any

import mlflow


class Echo(mlflow.pyfunc.PythonModel):
    def predict(self, context: Any, model_input: Any, params: Any = None) -> Any:
        del context, params
        return model_input


if __name__ == "__main__":
    model, folder, target = sys.argv[1:]
    if model == "echo":
        mlflow.pyfunc.save_model(target, python_model=Echo())
    else:
        import joblib

        estimator = joblib.load(f"{folder}/model.pkl")
        mlflow.sklearn.save_model(estimator, target, serialization_format="cloudpickle")
