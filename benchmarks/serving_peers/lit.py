"""LitServe with the same models; in the peers' environment."""

from __future__ import annotations

import sys
from typing import Any

import litserve


class Api(litserve.LitAPI):
    def setup(self, device: str) -> None:
        del device
        self.model = None
        if sys.argv[1] == "scikit-learn":
            import joblib

            self.model = joblib.load(f"{sys.argv[2]}/model.pkl")

    def decode_request(self, request) -> Any:  # an annotation would make it a query parameter
        return request["data"]

    def predict(self, data: Any) -> Any:
        return data if self.model is None else self.model.predict(data).tolist()

    def encode_response(self, output: Any) -> Any:
        return {"output": output}


if __name__ == "__main__":
    litserve.LitServer(Api(), accelerator="cpu").run(
        port=int(sys.argv[3]), host="127.0.0.1", log_level="warning", generate_client_file=False
    )
