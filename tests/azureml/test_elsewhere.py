"""What is not here says what to use instead, whichever way it is imported."""

from __future__ import annotations

import importlib

import pytest

import azureml
from trainyard.sdk.elsewhere import ELSEWHERE


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("azureml.pipeline.core", "run.submit_child()"),
        ("azureml.train.automl", "HyperDriveConfig"),
        ("azureml.datadrift", "Compare data sets"),
        ("azureml.explain.model.tabular_explainer", "shap"),
        ("azureml.never_heard_of", "docs/compatibility.md"),
    ],
)
def test_a_module(module: str, says: str) -> None:
    with pytest.raises(ModuleNotFoundError) as refused:
        importlib.import_module(module)
    assert module.split(".")[1] in str(refused.value)
    assert says in str(refused.value)


def test_a_name() -> None:
    with pytest.raises(ImportError, match="AmlCompute for nodes here"):
        from azureml.core.compute import SynapseCompute  # noqa: F401
    with pytest.raises(ImportError, match="from_parquet_files"):
        from azureml.opendatasets import NoaaIsdWeather  # noqa: F401
    with pytest.raises(ImportError, match="register_on_complete"):
        from azureml.data import LinkTabularOutputDatasetConfig  # noqa: F401
    with pytest.raises(ImportError, match="HyperDriveConfig choose"):
        from azureml.train import automl  # noqa: F401
    with pytest.raises(ImportError, match="Name the packages in an Environment"):
        from azureml.core.runconfig import JarLibrary  # noqa: F401
    with pytest.raises(ImportError, match=r"never_heard_of: .* docs/compatibility\.md"):
        from azureml.core import never_heard_of  # noqa: F401


def test_a_name_of_a_module_that_is_no_package() -> None:
    with pytest.raises(ImportError, match="nothing to update"):
        from azureml.core.compute.aks import AksUpdateConfiguration  # noqa: F401
    with pytest.raises(ImportError, match="Name them in conda_dependencies"):
        from azureml.core.environment import RCranPackage  # noqa: F401
    with pytest.raises(ImportError, match=r"run\.never_heard_of: .* docs/compatibility\.md"):
        from azureml.core.run import never_heard_of  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"azureml\.core\.run\.below: .* docs/compatibility\.md"):
        importlib.import_module("azureml.core.run.below")


def test_modules_of_others_below_azureml_import_their_neighbours(tmp_path, monkeypatch) -> None:
    (tmp_path / "anothers").mkdir()
    for name, text in (("__init__", "from .one import value"), ("one", "from .two import value"), ("two", "value = 7")):
        (tmp_path / "anothers" / f"{name}.py").write_text(text)
    monkeypatch.setattr(azureml, "__path__", [*azureml.__path__, str(tmp_path)])
    assert importlib.import_module("azureml.anothers").value == 7


def test_other_packages_are_not_ours_to_speak_of() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'azureml_never_heard_of'$"):
        importlib.import_module("azureml_never_heard_of")


def test_nothing_is_both_here_and_elsewhere() -> None:
    here = [name for name in ELSEWHERE if _is_here(name)]
    assert here == []


def _is_here(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute) if attribute[0].isupper() else _imports(name)
    except ImportError:
        return False


def _imports(name: str) -> bool:
    return importlib.import_module(name) is not azureml
