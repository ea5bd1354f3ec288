"""Which workspace a name means; one of the cloud is made at its first use."""

from __future__ import annotations

from trainyard.contract.names import check_name
from trainyard.contract.runs import WorkspaceRecord
from trainyard.sdk.connection import Connection
from trainyard.sdk.errors import WorkspaceException, code_of, sdk_errors

UNKNOWN = "workspace.unknown"  # the code of that error


def named(
    connection: Connection, name: str, subscription_id: str | None, resource_group: str | None
) -> WorkspaceRecord:
    """What is named with subscription and group is the cloud's own workspace, of code that ran there."""
    if subscription_id and resource_group:
        return found_or_made(connection, name, subscription_id, resource_group)
    return connection.workspaces.find(name, subscription_id or None, resource_group or None)


def found_or_made(connection: Connection, name: str, subscription_id: str, resource_group: str) -> WorkspaceRecord:
    """On the embedded default a workspace of the cloud is made at its first use."""
    try:
        return connection.workspaces.find(name, subscription_id, resource_group)
    except WorkspaceException as error:
        if code_of(error) != UNKNOWN or not connection.is_embedded:
            raise
    with sdk_errors():
        check_name("a workspace", name)
    return connection.workspaces.create(name, subscription_id, resource_group, exist_ok=True)
