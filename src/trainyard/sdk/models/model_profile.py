"""Profiles: what serving a model takes. It is deployed here for a while, sent sample requests, measured, deleted."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.endpoints import Usage
from trainyard.sdk.errors import AzureMLException, UserErrorException, WebserviceException

if TYPE_CHECKING:
    from trainyard.sdk.services.webservice import Webservice
    from trainyard.sdk.workspace import Workspace

_CPU, _MEMORY_GB = 3.5, 15.0  # what Azure measured on where nobody said
_MOST_REQUESTS = 1000
_LONGEST_S = 60.0  # of sending; deploying comes on top
_LEAST_CPU, _LEAST_MEMORY_GB = 0.1, 0.1
_MORE = 1.2  # what is recommended has some room above what was used


class ModelProfile:
    """A measurement that was started. Those of this process are found again by their name."""

    _started: ClassVar[dict[tuple[str, str], ModelProfile]] = {}

    def __new__(cls, workspace: Workspace, name: str, **kwargs: Any) -> ModelProfile:
        known = cls._started.get((workspace._workspace_id_internal, name))
        if known is None and "_requests" not in kwargs:
            raise WebserviceException(
                f"No profile named {name!r} was started in this process. Call Model.profile(...)."
            )
        return known if known is not None and "_requests" not in kwargs else object.__new__(cls)

    def __init__(self, workspace: Workspace, name: str, *, _requests: Sequence[str] = (), **given: Any) -> None:
        if not _requests:
            return  # found again
        self.workspace, self.name = workspace, name
        self.recommended_cpu: float | None = None
        self.recommended_memory: float | None = None
        self._requests = list(_requests)[:_MOST_REQUESTS]
        self._details: dict[str, Any] = {
            "name": name,
            "createdTime": datetime.now(UTC).isoformat(),
            "state": "Running",
            "description": given.get("description"),
            "modelIds": given.get("model_ids", []),
            "requestedCpu": given["cpu"],
            "requestedMemoryInGB": given["memory_in_gb"],
            "error": None,
        }
        ModelProfile._started[workspace._workspace_id_internal, name] = self
        self._thread = threading.Thread(target=self._measure, args=(given["deploy"],), name=f"profile-{name}")
        self._thread.start()

    def wait_for_completion(self, show_output: bool = False) -> None:
        """Returns when it is measured; WebserviceException if the models could not be served."""
        say = sys.stdout.write if show_output else _say_nothing
        say("Running")
        while self._thread.is_alive():
            self._thread.join(2.0)
            say(".")
        say(f"\n{self._details['state']}\n")
        sys.stdout.flush()
        if self._details["state"] != "Succeeded":
            raise WebserviceException(f"The profile {self.name} was not made: {self._details['error']}")

    def get_details(self) -> dict[str, Any]:
        """Latencies, failures, what the processes used, and what is recommended."""
        return dict(self._details)

    def serialize(self) -> dict[str, Any]:
        return {**self._details, "recommendedCpu": self.recommended_cpu, "recommendedMemory": self.recommended_memory}

    def __repr__(self) -> str:
        return f"ModelProfile(name={self.name}, state={self._details['state']})"

    def _measure(self, deploy: Any) -> None:
        service: Webservice | None = None
        try:
            service = deploy()
            service.wait_for_deployment()
            self._details |= self._send(service)
            self._recommend()
            self._details["state"] = "Succeeded"
        except AzureMLException as error:
            self._details |= {"state": "Failed", "error": error.message}
        finally:
            if service is not None:
                service.delete()

    def _send(self, service: Webservice) -> dict[str, Any]:
        services = self.workspace._clients.services
        took: list[float] = []
        failed, memory = 0, 0
        before, began = services.usage(service.name), time.monotonic()
        for number, request in enumerate(self._requests):
            sent = time.perf_counter()
            failed += service._post(request).status != 200
            took.append((time.perf_counter() - sent) * 1000)
            if number % 50 == 0:
                memory = max(memory, services.usage(service.name).memory_bytes)
            if time.monotonic() - began > _LONGEST_S:
                break
        seconds = time.monotonic() - began
        return measured(took, failed, seconds, before, services.usage(service.name), memory)

    def _recommend(self) -> None:
        """What was used and a little more, never less than a service can have."""
        said = self._details
        self.recommended_cpu = max(_LEAST_CPU, _up(said["maxUtilizedCpu"] * _MORE, 10))
        self.recommended_memory = max(_LEAST_MEMORY_GB, _up(said["maxUtilizedMemoryInGB"] * _MORE, 10))
        said |= {"recommendedCpu": self.recommended_cpu, "recommendedMemoryInGB": self.recommended_memory}


def measured(
    took_ms: Sequence[float], failed: int, seconds: float, before: Usage, after: Usage, memory: int
) -> dict[str, Any]:
    """The SDK's figures from what was seen."""
    ordered = sorted(took_ms)
    share = max(0, len(ordered) - failed) / len(ordered) * 100 if ordered else 0.0
    figures: dict[str, Any] = {
        "totalQueries": len(ordered),
        "successQueries": len(ordered) - failed,
        "successRate": round(share, 2),
        "averageLatencyInMs": round(sum(ordered) / len(ordered), 3) if ordered else None,
        "measuredQueriesPerSecond": round(len(ordered) / seconds, 2) if seconds else None,
        "maxUtilizedCpu": round(max(0.0, after.cpu_s - before.cpu_s) / seconds, 3) if seconds else 0.0,
        "maxUtilizedMemoryInGB": round(max(memory, before.memory_bytes, after.memory_bytes) / (1 << 30), 3),
    }
    for percent in (50, 90, 95, 99):
        figures[f"latencyPercentile{percent}InMs"] = percentile(ordered, percent)
    return figures


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The smallest value that so many per cent are not above."""
    return round(ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)], 3) if ordered else None


def start(
    workspace: Workspace,
    profile_name: str,
    models: Any,
    inference_config: Any,
    input_dataset: Any,
    cpu: float | None,
    memory_in_gb: float | None,
    description: str | None,
) -> ModelProfile:
    from trainyard.contract.names import new_id
    from trainyard.sdk.services.aci_webservice import AciWebservice
    from trainyard.sdk.services.deploy import deploy, model_refs

    requests = sample_requests(input_dataset)
    refs = model_refs(workspace, models)
    configuration = AciWebservice.deploy_configuration(
        cpu_cores=cpu, memory_gb=memory_in_gb, tags={"profile": profile_name}, description=f"Profile {profile_name}"
    )
    name = f"profile-{new_id()[:12]}"
    return ModelProfile(
        workspace,
        profile_name,
        _requests=requests,
        deploy=lambda: deploy(workspace, name, models, inference_config, configuration),
        model_ids=[f"{ref.name}:{ref.version}" for ref in refs],
        cpu=cpu or _CPU,
        memory_in_gb=memory_in_gb or _MEMORY_GB,
        description=description,
    )


def sample_requests(dataset: Any) -> list[str]:
    """One request body for each row of a dataset with one column of text; a list of texts does, too."""
    if isinstance(dataset, list | tuple):
        rows: Iterable[Any] = dataset
    elif hasattr(dataset, "to_pandas_dataframe"):
        frame = dataset.take(_MOST_REQUESTS).to_pandas_dataframe()
        if frame.shape[1] != 1:
            raise UserErrorException(
                f"input_dataset has {frame.shape[1]} columns. Give a TabularDataset with one, whose rows are bodies of "
                "requests."
            )
        rows = frame.iloc[:, 0].tolist()
    else:
        raise UserErrorException(
            f"input_dataset is {type(dataset).__name__}; it must be a TabularDataset with one column, whose rows are "
            "the bodies of requests."
        )
    found = [row for row in rows if isinstance(row, str) and row]
    if not found:
        raise UserErrorException("input_dataset has no row of text. Each row is the body of one request.")
    return found


def _up(value: float, parts: int) -> float:
    return math.ceil(value * parts) / parts


def _say_nothing(text: str) -> int:
    return len(text)
