"""Boosted trees: the files of XGBoost and LightGBM."""

from __future__ import annotations

import os
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, ModelScorer, Port
from trainyard.scoring.scorer import CannotLoad


class _Booster(ModelScorer):
    _port: Port

    def ports(self, call: Hashable) -> Sequence[Port]:
        del call
        return [self._port]

    def _path(self, saver: str) -> str:
        path = self.assignment.model_path or ""
        if not os.path.isfile(path):
            raise CannotLoad(f"One file was expected, as {saver} writes it.")
        return path


class XGBoost(_Booster):
    def load(self) -> None:
        path = self._path("booster.save_model('model.json')")
        import xgboost

        self._xgboost = xgboost
        self._booster: Any = xgboost.Booster()
        try:
            self._booster.load_model(path)
        except xgboost.core.XGBoostError as error:
            raise CannotLoad(f"XGBoost cannot read the model: {error}") from error
        self._names = self._booster.feature_names
        self._port = Port("data", "float32", (None, int(self._booster.num_features())))

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        del call
        table = self._xgboost.DMatrix(arrays["data"], feature_names=self._names)
        return {"output": self._booster.predict(table)}


class LightGBM(_Booster):
    def load(self) -> None:
        path = self._path("booster.save_model('model.txt')")
        import lightgbm

        try:
            self._booster: Any = lightgbm.Booster(model_file=path)
        except lightgbm.basic.LightGBMError as error:
            raise CannotLoad(f"LightGBM cannot read the model: {error}") from error
        self._port = Port("data", "float64", (None, int(self._booster.num_feature())))

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        del call
        return {"output": self._booster.predict(arrays["data"])}
