"""What definitions ask for."""

from __future__ import annotations

from typing import Any

import pytest
from goods import definition

from trainyard.contract.errors import EnvironmentRefused
from trainyard.environments.options import PipOptions
from trainyard.environments.specification import Wanted, parse


def test_the_sdks_default_environment_asks_for_nothing() -> None:
    said = definition(["azureml-defaults~=1.15.0"], ["python=3.6.2"], ["anaconda", "conda-forge"])
    wanted = parse(said)
    assert wanted.empty
    assert wanted.dropped == ("azureml-defaults~=1.15.0",)
    assert parse({}) == Wanted()
    assert parse({"name": "a", "python": None, "docker": None, "spark": {"packages": []}}).empty


def test_everything_a_definition_says() -> None:
    said = definition(
        ["--index-url https://ada:secret@host/simple", "-f /wheels", "Flask", "numpy==1.26.4", "flask"],
        ["python=3.8", "pip=20.2", "scikit-learn=0.20.3", "conda-forge::xgboost"],
        ["conda-forge"],
        relaxPins=True,
        frameworkDefaults=["Tensorflow_GPU"],
    )
    assert parse(said) == Wanted(
        python="==3.8.*",
        conda=("conda-forge::xgboost", "scikit-learn=0.20.3"),
        channels=("conda-forge",),
        requirements=("flask", "numpy==1.26.4"),
        filled_in=("tensorflow-gpu",),
        options=PipOptions(index_url="https://ada:secret@host/simple", find_links=("/wheels",)),
        relax=True,
    )


@pytest.mark.parametrize(
    ("python", "specifier", "filled_in"),
    [
        ("python=3.6.2", "==3.6.2.*", True),
        ("python==3.8.13", "==3.8.13", True),
        ("python=3.8", "==3.8.*", False),
        ("python 3.8.*", "==3.8.*", False),
        ("python==3.8.5", "==3.8.5", False),
        ("python>=3.7,<3.10", "<3.10,>=3.7", False),
        ("python", None, False),
    ],
)
def test_python(python: str, specifier: str | None, filled_in: bool) -> None:
    wanted = parse(definition([], [python]))
    assert (wanted.python, wanted.python_filled_in) == (specifier, filled_in)


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("azureml-defaults", ()),
        ("azureml-sdk[notebooks]==1.0.6", ()),
        ("azureml_core", ()),
        ("azureml-dataset-runtime[fuse,pandas]", ("pandas", "pyarrow")),
        ("azureml-dataprep[pandas]>=1", ("pandas", "pyarrow")),
        ("azureml-mlflow", ("mlflow-skinny", "pandas", "scipy")),
    ],
)
def test_the_sdks_own_packages_are_there_already(line: str, means: tuple[str, ...]) -> None:
    wanted = parse(definition([line]))
    assert (wanted.requirements, wanted.dropped) == (means, (line,))


def test_mlflow_writes_models_of_scikit_learn() -> None:
    beside = parse(definition(["azureml-mlflow", "scikit-learn==1.5.2"]))
    assert beside.requirements == ("mlflow-skinny", "pandas", "scikit-learn==1.5.2", "scipy", "skops")
    assert "skops" in parse(definition(["azureml-mlflow"], ["scikit-learn=1.5"])).requirements
    assert "skops" not in parse(definition(["azureml-mlflow", "scikit-learn-intelex"])).requirements


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"packages": []}, "The environment has the unknown key(s) packages."),
        ({"python": {"pip": []}}, "The environment's `python` has the unknown key(s) pip."),
        (
            {"python": {"condaDependencies": {"dependancies": []}}},
            "The environment's `python.condaDependencies` has the unknown key(s) dependancies.",
        ),
        ({"python": "3.8"}, "The environment's `python` must be an object, not '3.8'."),
        (definition(["numpy; rm -rf /"]), "'numpy; rm -rf /' is not a pip requirement"),
        (definition(["numpy && reboot"]), "'numpy && reboot' is not a pip requirement"),
        (definition(["$(reboot)"]), "'$(reboot)' is not a pip requirement"),
        (definition(["numpy=1.16"]), "'numpy=1.16' is not a pip requirement"),
        (definition(["-r more.txt"]), "The pip option '-r' is not understood here."),
        (definition(["--index-url"]), "The pip option '--index-url' needs a value after it."),
        (definition(["-e ."]), "The pip option '-e' is not understood here."),
        (definition([], ["numpy; reboot"]), "'numpy; reboot' is not a conda package."),
        (definition([], ["$(reboot)"]), "'$(reboot)' is not a conda package."),
        (definition([], ["numpy"], ["conda-forge; reboot"]), "is not a list of conda channels"),
        (definition([], ["python=three"]), "python=three names no Python version."),
    ],
)
def test_what_makes_no_sense_is_named(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EnvironmentRefused) as refused:
        parse(said)
    assert sentence in refused.value.message


def test_addresses_pass() -> None:
    lines = ["https://host/a-1.0-py3-none-any.whl", "b @ git+https://host/b.git@main", "file:///a/c.whl"]
    assert parse(definition(lines)).requirements == tuple(sorted(lines))


@pytest.mark.parametrize("option", ["-e ", "--editable ", "--editable="])
def test_an_address_that_one_wanted_to_edit_is_installed(option: str) -> None:
    address = "git+https://host/b.git#egg=b&subdirectory=python"
    assert parse(definition([option + address])).requirements == (address,)
