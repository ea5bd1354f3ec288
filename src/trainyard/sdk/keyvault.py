"""Keyvault: a workspace's secrets, for its scripts to ask for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class Keyvault:
    def __init__(self, workspace: Workspace) -> None:
        self._vault = workspace._clients.vault

    def set_secret(self, name: str, value: str) -> None:
        self.set_secrets({name: value})

    def set_secrets(self, secrets_batch: dict[str, str]) -> None:
        """All of them, or none when one of them cannot be kept."""
        self._vault.set(secrets_batch)

    def get_secret(self, name: str) -> str | None:
        """None when there is none of that name."""
        return self._vault.values([name])[name]

    def get_secrets(self, secrets: list[str]) -> dict[str, str | None]:
        return self._vault.values(secrets)

    def list_secrets(self) -> list[dict[str, str]]:
        """Their names, never their values."""
        return [{"name": name} for name in self._vault.names()]

    def delete_secret(self, name: str) -> None:
        self._vault.delete(name)

    def delete_secrets(self, secrets: list[str]) -> None:
        for name in secrets:
            self._vault.delete(name)


class WorkspaceCloud:
    """What a workspace has for Azure's sake: the key vault is here, the rest says what to do instead."""

    def get_default_keyvault(self) -> Keyvault:
        return Keyvault(self)  # type: ignore[arg-type]

    def list_keys(self) -> dict[str, Any]:
        raise _cloud(
            "There is no storage account behind this workspace, so it has no keys", "Use get_default_keyvault()"
        )

    def sync_keys(self, no_wait: bool = False) -> None:
        """There is nothing to bring up to date."""
        del no_wait

    def update_dependencies(self, container_registry: str | None = None, force: bool = False) -> Any:
        del container_registry, force
        raise _cloud("There is no container registry behind this workspace", "Name images by their whole address")

    def diagnose_workspace(self, diagnose_parameters: Any) -> Any:
        del diagnose_parameters
        raise _cloud("There are no resources of Azure's to diagnose", "Run `trainyard doctor`")

    def add_private_endpoint(
        self,
        private_endpoint_config: Any,
        private_endpoint_auto_approval: bool = True,
        location: str | None = None,
        show_output: bool = True,
        tags: dict[str, str] | None = None,
    ) -> Any:
        del private_endpoint_config, private_endpoint_auto_approval, location, show_output, tags
        raise _cloud("Private endpoints are Azure's", "Say where a team's service listens with `trainyard server`")

    def delete_private_endpoint_connection(self, private_endpoint_connection_name: str) -> None:
        del private_endpoint_connection_name
        raise _cloud("Private endpoints are Azure's", "There is none to delete")

    def set_connection(self, name: str, category: str, target: str, authType: str, value: str) -> Any:  # noqa: N803
        del category, target, authType, value
        raise _cloud(f"Connections such as {name!r} are Azure's", _STORES)

    def get_connection(self, name: str) -> Any:
        raise _cloud(f"Connections such as {name!r} are Azure's", _STORES)

    def list_connections(self, category: str | None = None, target: str | None = None) -> list[Any]:
        del category, target
        return []

    def delete_connection(self, name: str) -> None:
        raise _cloud(f"Connections such as {name!r} are Azure's", "There is none to delete")


_STORES = "Give a store's credentials to Datastore.register_azure_blob_container, and others to get_default_keyvault()"


def _cloud(what: str, instead: str) -> UserErrorException:
    return UserErrorException(f"{what}. {instead}.")
