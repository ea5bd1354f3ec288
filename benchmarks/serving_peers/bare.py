"""The least there can be: Starlette on uvicorn, the model in the same process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def load(model: str, folder: str) -> Callable[[Any], Any]:
    if model == "echo":
        return lambda data: data
    import numpy as np

    if model == "scikit-learn":
        import joblib

        estimator = joblib.load(f"{folder}/model.pkl")
        return lambda data: estimator.predict(np.asarray(data, float)).tolist()
    if model == "ONNX":
        import onnxruntime

        session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        return lambda data: session.run(None, {"x": np.asarray(data, "f4")})[0].tolist()
    import tensorflow as tf

    loaded = tf.saved_model.load(f"{folder}/model")
    function = loaded.signatures["serving_default"]
    (name,) = function.structured_input_signature[1]
    (output,) = function.structured_outputs

    def call(data: Any, loaded: Any = loaded) -> Any:  # its variables live as long as it does
        del loaded
        return function(**{name: tf.constant(np.asarray(data, "f4"))})[output].numpy().tolist()

    return call


def main(model: str, folder: str, port: int) -> None:
    run = load(model, folder)

    async def score(request: Request) -> JSONResponse:
        return JSONResponse(run((await request.json())["data"]))

    app = Starlette(routes=[Route("/score", score, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
