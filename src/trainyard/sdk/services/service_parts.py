"""What services say of themselves in the SDK's own small objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass
class ContainerResourceRequirements:
    cpu: float | None
    memory_in_gb: float | None
    gpu: int | None = None

    def serialize(self) -> dict[str, Any]:
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}


@dataclass
class AutoScaler:
    autoscale_enabled: bool | None
    min_replicas: int | None
    max_replicas: int | None
    refresh_period_seconds: int | None = None
    target_utilization: int | None = None

    def serialize(self) -> dict[str, Any]:
        return {
            "autoscaleEnabled": self.autoscale_enabled,
            "minReplicas": self.min_replicas,
            "maxReplicas": self.max_replicas,
            "refreshPeriodInSeconds": self.refresh_period_seconds,
            "targetUtilization": self.target_utilization,
        }


@dataclass
class DataCollection:
    enabled: bool

    def serialize(self) -> dict[str, Any]:
        return {"eventHubEnabled": self.enabled, "storageEnabled": self.enabled}


@dataclass
class LivenessProbeRequirements:
    period_seconds: int | None
    initial_delay_seconds: int | None
    timeout_seconds: int | None
    success_threshold: int | None
    failure_threshold: int | None

    def serialize(self) -> dict[str, Any]:
        return {
            "periodSeconds": self.period_seconds,
            "initialDelaySeconds": self.initial_delay_seconds,
            "timeoutSeconds": self.timeout_seconds,
            "successThreshold": self.success_threshold,
            "failureThreshold": self.failure_threshold,
        }


@dataclass
class AksServiceAccessToken:
    access_token: str
    refresh_after: datetime
    expiry_on: datetime
    token_type: str = "Bearer"  # noqa: S105 - its kind, not a secret

    def __repr__(self) -> str:
        return f"AksServiceAccessToken(refresh_after={self.refresh_after}, expiry_on={self.expiry_on})"

    def serialize(self) -> dict[str, Any]:
        return {
            "accessToken": self.access_token,
            "tokenType": self.token_type,
            "refreshAfter": self.refresh_after.isoformat(),
            "expiryOn": self.expiry_on.isoformat(),
        }
