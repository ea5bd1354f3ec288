"""The scikit-learn that saved an estimator, read from the bytes of its pickle."""

from __future__ import annotations

import gzip
import io
import pickle
import zlib

import pytest

from trainyard.server.endpoints.pickles import sklearn_version


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("version", ["0.19.1", "1.9.1", "1.10", "1.8.0rc1"])
def test_every_protocol(protocol: int, version: str) -> None:
    state = {"coef_": b"\x00" * 1000, "_sklearn_version": version, "more": 1}
    assert sklearn_version(io.BytesIO(pickle.dumps(state, protocol))) == version


def test_after_large_arrays() -> None:
    state = {"_fit_X": b"\x01" * (9 << 20), "_sklearn_version": "1.2.3"}
    assert sklearn_version(io.BytesIO(pickle.dumps(state))) == "1.2.3"


@pytest.mark.parametrize("packed", [zlib.compress, gzip.compress])
def test_compressed(packed) -> None:
    assert sklearn_version(io.BytesIO(packed(pickle.dumps({"_sklearn_version": "1.2.3"})))) == "1.2.3"


@pytest.mark.parametrize("data", [b"", b"x\x9cno zlib at all", b"_sklearn_version", pickle.dumps({"a": "1.2.3"})])
def test_nothing_is_said(data: bytes) -> None:
    assert sklearn_version(io.BytesIO(data)) is None
