"""`import mlflow.azureml`, a module of MLflow 1.x that notebooks of those years begin with.

Nothing of MLflow changes until somebody imports it. It then has what it had (`deploy`), and mlflow.projects.run takes
the `use_conda` of its time.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

NAME = "mlflow.azureml"


def offer() -> None:
    """From now on the import finds something. An MLflow that still has such a module is asked first."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(NAME, self) if fullname == NAME else None

    def exec_module(self, module: types.ModuleType) -> None:
        import mlflow.projects

        module.__doc__ = "What mlflow.azureml was in MLflow 1.x, by Trainyard."
        module.deploy = deploy  # type: ignore[attr-defined]
        wrapped = with_use_conda(mlflow.projects.run)
        mlflow.projects.run = mlflow.run = wrapped


def with_use_conda(run: Any) -> Any:
    """`run`, which also understands use_conda: False is today's env_manager="local"."""

    @functools.wraps(run)
    def understanding(*args: Any, use_conda: bool | None = None, **kwargs: Any) -> Any:
        if use_conda is False:
            kwargs.setdefault("env_manager", "local")
        return run(*args, **kwargs)

    return understanding


def deploy(
    model_uri: str,
    workspace: Any,
    deployment_config: Any = None,
    service_name: str | None = None,
    model_name: str | None = None,
    tags: dict[str, str] | None = None,
    mlflow_home: str | None = None,
    synchronous: bool = True,
) -> tuple[Any, Any]:
    """The web service of a logged model, and the model it was registered as."""
    from trainyard.mlflow_plugin.deploying import deploy_model

    del mlflow_home  # for those who changed MLflow itself
    wait = synchronous
    return deploy_model(
        model_uri, workspace, deployment_config, service_name, model_name, tags, wait=wait, records=True
    )
