"""Old PyTorch: whole models in files, also in MLflow's and ONNX's, and `loss.data[0]`."""

from __future__ import annotations

import os

from trainyard.shims import program
from trainyard.shims.hooks import after_import
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def install() -> None:
    after_import("torch", _apply)
    after_import("mlflow.pytorch", _logged_whole)


def _apply(torch: ModuleType) -> None:
    _load(torch)
    _export(torch)
    if program.needs("torch") and any(sign.name == ".data[0]" for sign in program.signs()):
        _index_of_a_number(torch)


def _load(torch: Any) -> None:
    """A pickled model is a program. What this run or its inputs hold is read as such, as it always was; a file from
    elsewhere only when the script says so itself."""
    import functools

    original = torch.load

    @functools.wraps(original)
    def load(f: Any, *arguments: Any, **given: Any) -> Any:
        if given.get("weights_only") is not None or "TORCH_FORCE_WEIGHTS_ONLY_LOAD" in os.environ:
            return original(f, *arguments, **given)
        try:
            return original(f, *arguments, **given)
        except Exception as error:
            if "weights_only" not in str(error).lower() and "weights only" not in str(error).lower():
                raise
            path = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
            if not isinstance(path, (str, os.PathLike)) or not program.is_below(path, trusted()):
                did("torch", str(path or "what is loaded") + " is no file of this run or of its inputs: weights only.")
                raise
            if hasattr(f, "seek"):
                f.seek(0)
            did("torch", "torch.load reads " + os.path.basename(os.fspath(path)) + " whole, as a file of this run.")
            return original(f, *arguments, **dict(given, weights_only=False))

    torch.load = load


def _export(torch: Any) -> None:
    """PyTorch 2.9 exports to ONNX in another way, with a package more and the weights in a file beside the model's. The
    way of before, which scripts were written for, is still to be had."""
    import functools
    import inspect

    original = torch.onnx.export
    way = inspect.signature(original).parameters.get("dynamo")
    if way is None or way.default is not True:
        return

    @functools.wraps(original)
    def export(*arguments: Any, **given: Any) -> Any:
        if "dynamo" not in given and "dynamic_shapes" not in given:
            did("torch", "torch.onnx.export writes one file, as before PyTorch 2.9 (dynamo=False).")
            given["dynamo"] = False
        return original(*arguments, **given)

    torch.onnx.export = export


def _logged_whole(flavor: Any) -> None:
    """MLflow 3 writes a model as the graph of what it does with an example. A script of its time gives none, and was
    written for the pickle of the model, which is still to be had."""
    import functools
    import inspect

    def whole(original: Any) -> Any:
        @functools.wraps(original)
        def write(*arguments: Any, **given: Any) -> Any:
            said = any(given.get(name) for name in ("serialization_format", "export_model"))
            if not said and given.get("input_example") is None:
                did("torch", "mlflow.pytorch keeps the model whole (serialization_format='pickle'), as it used to.")
                given["serialization_format"] = "pickle"
            return original(*arguments, **given)

        return write

    for name in ("log_model", "save_model"):
        original = getattr(flavor, name)
        if "serialization_format" in inspect.signature(original).parameters:
            setattr(flavor, name, whole(original))


def trusted() -> list[str]:
    """The folders that hold what this run was given and what it made."""
    inputs = [value for name, value in os.environ.items() if name.startswith("AZUREML_DATAREFERENCE_")]
    named = [os.environ.get(name, "") for name in ("AZUREML_MODEL_DIR", "AZUREML_OUTPUT_DIRECTORY")]
    return program.folders() + [os.path.dirname(it) if os.path.isfile(it) else it for it in inputs + named if it]


def _index_of_a_number(torch: Any) -> None:
    """Only where the script does it: every index of every tensor comes through here then."""
    original = torch.Tensor.__getitem__

    def __getitem__(self: Any, index: Any) -> Any:
        if index == 0 and type(index) is int and self.dim() == 0:
            did("torch", "loss.data[0] is loss.item() since torch 0.5, and is taken as that.")
            return self.item()
        return original(self, index)

    torch.Tensor.__getitem__ = __getitem__
