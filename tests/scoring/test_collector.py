from __future__ import annotations

import csv
import datetime
from pathlib import Path

import numpy as np
import pytest

from azureml.monitoring import ModelDataCollector


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAINYARD_COLLECT", str(tmp_path / "modeldata"))
    monkeypatch.setenv("SERVICE_NAME", "digits-service")
    for name in ("AZUREML_ARM_SUBSCRIPTION", "AZUREML_ARM_RESOURCEGROUP", "AZUREML_ARM_WORKSPACE_NAME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "modeldata"


def read(folder: Path, *below: str) -> list[list[str]]:
    today = datetime.datetime.now(datetime.UTC)
    day = (f"{today.year}", f"{today.month:02d}", f"{today.day:02d}")
    (found,) = folder.joinpath("default/default/default/digits-service", *below[:-1], *day).glob(below[-1])
    with open(found, newline="") as file:
        return list(csv.reader(file))


def test_inputs_carry_what_finds_their_predictions(folder: Path) -> None:
    inputs = ModelDataCollector("digits", designation="inputs", feature_names=["a", "b"])
    inputs.collect(np.array([[1.0, 2.0], [3.0, 4.0]]), "mine")
    inputs.collect([5, 6])
    header, *rows = read(folder, "digits", "default", "inputs", "inputs.csv")
    assert header == [
        "a",
        "b",
        "$aml_dc_correlation_id",
        "$aml_dc_scoring_timestamp",
        "$aml_dc_boundary",
        "$aml_workspace",
        "$aml_service_name",
        "$aml_model_name",
        "$aml_model_version",
        "$aml_request_id",
    ]
    assert [row[:2] for row in rows] == [["1.0", "2.0"], ["3.0", "4.0"], ["5", "6"]]
    assert [row[2] for row in rows[:2]] == ["mine", "mine"]
    assert rows[0][4:9] == ["1440", "default/default/default", "digits-service", "digits", "default"]


def test_predictions_with_the_correlations_of_their_inputs(folder: Path) -> None:
    inputs = ModelDataCollector("digits", designation="inputs", model_version="3")
    predictions = ModelDataCollector("digits", designation="predictions", model_version="3")
    correlations = inputs.collect([[1, 2]])
    assert correlations is not None
    assert predictions.collect(predictions.add_correlations([["seven"]], correlations)) is None
    (row,) = read(folder, "digits", "3", "predictions", "predictions.csv")
    assert row[:2] == ["seven", correlations["$aml_dc_correlation_id"]]


def test_a_table_brings_its_own_names(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    collector = ModelDataCollector("digits", "labels", collection_name="truth")
    collector.collect(pandas.DataFrame({"size": [1.5], "color": ["red, dark"]}))
    assert read(folder, "digits", "default", "labels", "truth.csv") == [["size", "color"], ["1.5", "red, dark"]]


def test_names_stay_inside_the_folder(folder: Path) -> None:
    ModelDataCollector("../../etc", "labels", webservice_name="..").collect([1])
    (found,) = folder.rglob("*.csv")
    assert found.relative_to(folder).parts[:6] == ("default", "default", "default", "_", "_.._etc", "default")


def test_where_collection_is_off_it_says_so_and_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRAINYARD_COLLECT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert ModelDataCollector("digits", "inputs").collect([1, 2]) is None
    assert "collect_model_data=True" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
