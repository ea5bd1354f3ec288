"""How an estimator's processes work together, as the SDK's users name it: by an object, or by a word and counts."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import TrainingException
from trainyard.sdk.submitting.runconfig_parts import MpiConfiguration, TensorflowConfiguration

if TYPE_CHECKING:
    from trainyard.sdk.estimators.estimator_parameters import Parameters
    from trainyard.sdk.submitting.runconfig import RunConfiguration


class Mpi:
    def __init__(self, process_count_per_node: int = 1) -> None:
        self.process_count_per_node = at_least(process_count_per_node, 1, "process_count_per_node")


class ParameterServer:
    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        self.worker_count = at_least(worker_count, 1, "worker_count")
        self.parameter_server_count = at_least(parameter_server_count, 0, "parameter_server_count")


class Gloo:
    pass


class Nccl:
    pass


Distributed = Mpi | ParameterServer | Gloo | Nccl

_BACKENDS: dict[str, type[Mpi] | type[ParameterServer] | type[Gloo] | type[Nccl]] = {
    "mpi": Mpi,
    "ps": ParameterServer,
    "gloo": Gloo,
    "nccl": Nccl,
}

_COUNTS = {  # of processes, and what each goes with
    "process_count_per_node": "with distributed_backend='ps', worker_count says how many there are",
    "worker_count": "it goes with distributed_backend='ps'",
    "parameter_server_count": "it goes with distributed_backend='ps'",
}


def chosen(given: Parameters, allowed: Collection[str]) -> Distributed | None:
    """What the parameters ask for, of either generation. TrainingException says what does not go together, a warning
    what is not used."""
    how = _asked(given, allowed)
    for name, where in _COUNTS.items():
        if getattr(given, name) != 1 and not _is_used(name, how, by_word=given.distributed_training is None):
            why = where if given.distributed_training is None else "distributed_training has counts of its own"
            tell_once(f"{name}={getattr(given, name)!r} has no effect here: {why}.")
    nodes = getattr(given.distributed_training, "node_count", 1)
    if nodes not in (1, given.node_count):
        tell_once(f"node_count={nodes} of distributed_training has no effect here: give the estimator its node_count.")
    return how


def _asked(given: Parameters, allowed: Collection[str]) -> Distributed | None:
    at_least(given.node_count, 1, "node_count")
    at_least(given.process_count_per_node, 1, "process_count_per_node")
    if given.distributed_backend is not None and given.distributed_training is not None:
        raise TrainingException(
            "distributed_backend and distributed_training say the same thing. Give one of them: distributed_training, "
            "which is the newer."
        )
    if given.distributed_training is not None:
        return _of_object(given.distributed_training, allowed)
    if given.distributed_backend is not None:
        return _of_word(given, allowed)
    for name in ("node_count", "process_count_per_node"):
        if int(getattr(given, name)) > 1:
            raise TrainingException(
                f"{name} is {getattr(given, name)}, and nothing says how the processes work together. Add "
                f"distributed_training or distributed_backend (one of: {', '.join(allowed) or 'none for this class'})."
            )
    return None


def _is_used(name: str, how: Distributed | None, *, by_word: bool) -> bool:
    if name == "process_count_per_node":
        return isinstance(how, Gloo | Nccl) or (isinstance(how, Mpi) and by_word)
    return isinstance(how, ParameterServer) and by_word


def put_into(config: RunConfiguration, how: Distributed | None, given: Parameters) -> None:
    config.node_count = int(given.node_count)
    if isinstance(how, Mpi):
        config.framework, config.communicator = "Python", "IntelMpi"
        config.mpi.process_count_per_node = how.process_count_per_node
        config.mpi.node_count = config.node_count
    elif isinstance(how, ParameterServer):
        config.framework, config.communicator = "TensorFlow", "ParameterServer"
        config.tensorflow.worker_count = how.worker_count
        config.tensorflow.parameter_server_count = how.parameter_server_count
    elif how is not None:
        config.framework, config.communicator = "PyTorch", type(how).__name__
        config.pytorch.communication_backend, config.pytorch.node_count = type(how).__name__, config.node_count
        if int(given.process_count_per_node) > 1:
            config.pytorch.process_count = config.node_count * int(given.process_count_per_node)


def at_least(value: Any, least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise TrainingException(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    return value


def _of_object(given: Any, allowed: Collection[str]) -> Distributed:
    kinds = tuple(_BACKENDS[word] for word in allowed)
    found = _of_configuration(given)
    if isinstance(found, type) or not isinstance(found, kinds):
        known = ", ".join(f"{kind.__name__}()" for kind in kinds) or "none: it runs one process"
        what = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TrainingException(f"distributed_training cannot be {what} here. This estimator takes {known}.")
    return found


def _of_configuration(given: Any) -> Any:
    """The how-to pages of 2019 give estimators what a RunConfiguration takes."""
    if isinstance(given, MpiConfiguration):
        return Mpi(given.process_count_per_node)
    if isinstance(given, TensorflowConfiguration):
        return ParameterServer(given.worker_count, given.parameter_server_count)
    return given


def _of_word(given: Parameters, allowed: Collection[str]) -> Distributed:
    word = str(given.distributed_backend).lower()
    if word not in allowed:
        known = ", ".join(allowed) or "none: it runs one process"
        raise TrainingException(
            f"distributed_backend {given.distributed_backend!r} is not supported here. This estimator takes {known}."
        )
    if word == "mpi":
        return Mpi(given.process_count_per_node)
    if word == "ps":
        return ParameterServer(given.worker_count, given.parameter_server_count)
    return Gloo() if word == "gloo" else Nccl()
