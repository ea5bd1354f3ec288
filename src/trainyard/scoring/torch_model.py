"""torch: TorchScript, and programs of torch.export."""

from __future__ import annotations

import os
import zipfile
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, ModelScorer, Port, check_shape
from trainyard.scoring.scorer import CannotLoad, Refused

_INDEXED = ("Embedding", "EmbeddingBag")  # layers whose input is whole numbers


class Module(ModelScorer):
    def load(self) -> None:
        path = self.assignment.model_path or ""
        if not os.path.isfile(path):
            raise CannotLoad(
                "One file of TorchScript (torch.jit.save) or of torch.export (torch.export.save) was expected."
            )
        import torch

        self._torch = torch
        if _is_exported(path):
            program = torch.export.load(path)
            self._ports = _exported_ports(program)
            self._model: Any = program.module()
        else:
            try:
                self._model = torch.jit.load(path, map_location="cpu").eval()
            except RuntimeError as error:
                raise CannotLoad(f"The file is no TorchScript: {error}") from error
            self._ports = _script_ports(self._model)

    def ports(self, call: Hashable) -> Sequence[Port]:
        del call
        return self._ports

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        del call
        torch = self._torch
        tensors = [torch.from_numpy(arrays[port.name]) for port in self._ports if port.name in arrays]
        with torch.inference_mode():
            return _named(self._model(*tensors))

    def check(self, arrays: Arrays, call: Hashable) -> None:
        del call
        for port in self._ports:
            if arrays[port.name].dtype.kind in "OUS":
                raise Refused(400, f"The input {port} takes numbers.")
            check_shape(arrays[port.name], port)


def _is_exported(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any("serialized_exported_program" in name or "/models/" in name for name in names)


def _exported_ports(program: Any) -> list[Port]:
    found = {
        node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and "val" in node.meta
    }
    ports = []
    for name in program.graph_signature.user_inputs:
        value = found.get(name)
        if value is None:
            raise CannotLoad(f"The program's input {name!r} is no tensor, and only tensors can be sent as JSON.")
        shape = tuple(size if isinstance(size, int) else None for size in value.shape)
        ports.append(Port(str(name), str(value.dtype).replace("torch.", ""), shape))
    return ports


def _script_ports(model: Any) -> list[Port]:
    """TorchScript knows its arguments' names, but not what their elements are: floats, unless it looks things up."""
    arguments = [one for one in model.forward.schema.arguments if one.name != "self"]
    needed = [one for one in arguments if not one.has_default_value()] or arguments[:1]
    layers = [getattr(module, "original_name", "") for module in model.modules()]
    first = next((name for name in layers[1:] if name not in ("Sequential", "ModuleList")), layers[0] if layers else "")
    dtype = "int64" if first in _INDEXED else "float32"
    return [Port(one.name, dtype) for one in needed]


def _named(result: Any) -> Arrays:
    """Outputs by name: a tensor, or a tuple, list or dict of them."""
    if isinstance(result, dict):
        return {str(name): _array(value) for name, value in result.items()}
    if isinstance(result, (tuple, list)):
        return {f"output_{at}": _array(value) for at, value in enumerate(result)}
    return {"output": _array(result)}


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value
