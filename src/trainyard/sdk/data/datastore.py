"""Datastore: finds the workspace's datastores and registers new ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatastoreKind, NewDatastore
from trainyard.sdk.data.datastore_kinds import AbstractDatastore, datastore_of
from trainyard.sdk.data.datastore_refused import Refused, untried
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class Datastore(Refused):
    def __new__(cls, workspace: Workspace, name: str | None = None) -> Any:
        """The datastore of that name, as the class of its kind; the default one without a name."""
        return Datastore.get(workspace, name) if name else Datastore.get_default(workspace)

    @staticmethod
    def get(workspace: Workspace, datastore_name: str) -> Any:
        return datastore_of(workspace, workspace._clients.data.datastore(datastore_name))

    @staticmethod
    def get_default(workspace: Workspace) -> Any:
        found = workspace._clients.data.datastores()
        return datastore_of(workspace, next(record for record in found if record.is_default))

    @staticmethod
    def register_azure_blob_container(
        workspace: Workspace,
        datastore_name: str,
        container_name: str,
        account_name: str,
        sas_token: str | None = None,
        account_key: str | None = None,
        protocol: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
        blob_cache_timeout: int | None = None,
        grant_workspace_access: bool = False,
        subscription_id: str | None = None,
        resource_group: str | None = None,
    ) -> Any:
        """`endpoint` may be a whole address, such as that of an emulator."""
        no_effect(
            "Datastore.register_azure_blob_container",
            blob_cache_timeout=blob_cache_timeout,
            grant_workspace_access=grant_workspace_access or None,
            subscription_id=subscription_id,
            resource_group=resource_group,
        )
        location = _azure_location(container_name, account_name, protocol, endpoint, sas_token, account_key)
        secrets = {"sas_token": sas_token, "account_key": account_key}
        return _register(
            workspace,
            datastore_name,
            DatastoreKind.BLOB,
            location,
            secrets,
            overwrite=overwrite,
            create=create_if_not_exists,
            validate=not skip_validation,
        )

    @staticmethod
    def register_azure_data_lake_gen2(
        workspace: Workspace,
        datastore_name: str,
        filesystem: str,
        account_name: str,
        tenant_id: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        resource_url: str | None = None,
        authority_url: str | None = None,
        protocol: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        grant_workspace_access: bool = False,
    ) -> Any:
        """Reached as a service principal. `endpoint` and `authority_url` may be whole addresses."""
        no_effect(
            "Datastore.register_azure_data_lake_gen2",
            resource_url=resource_url,
            grant_workspace_access=grant_workspace_access or None,
            subscription_id=subscription_id,
            resource_group=resource_group,
        )
        if not (tenant_id and client_id and client_secret):
            raise UserErrorException(
                "A Data Lake is reached as a service principal here: give tenant_id, client_id and client_secret. With "
                "the account's key or a SAS token its files are a blob container's: "
                f"Datastore.register_azure_blob_container(workspace, {datastore_name!r}, "
                f"container_name={filesystem!r}, account_name={account_name!r}, account_key=...)."
            )
        location = {
            **_azure_location(filesystem, account_name, protocol, endpoint),
            "credential": "principal",
            "tenant_id": tenant_id,
            "client_id": client_id,
            "authority_url": authority_url,
        }
        secrets: dict[str, str | None] = {"client_secret": client_secret}
        return _register(workspace, datastore_name, DatastoreKind.DATA_LAKE, location, secrets, overwrite=overwrite)

    @staticmethod
    def register_s3_bucket(
        workspace: Workspace,
        datastore_name: str,
        bucket: str,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
        region: str | None = None,
        endpoint: str | None = None,
        prefix: str | None = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
    ) -> Any:
        """A bucket of Amazon's, or of anything else that speaks S3 at `endpoint`. Without keys it is read as the
        public sees it."""
        location = {"bucket": bucket, "region": region, "endpoint": endpoint, "prefix": prefix}
        secrets = {
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
            "session_token": session_token,
        }
        return _register(
            workspace,
            datastore_name,
            DatastoreKind.S3,
            location,
            secrets,
            overwrite=overwrite,
            create=create_if_not_exists,
            validate=not skip_validation,
        )

    @staticmethod
    def register_folder(
        workspace: Workspace,
        datastore_name: str,
        path: str,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
    ) -> Any:
        """A folder that the service and every node see under this path: on this machine, or on NFS."""
        location = {"path": os.path.abspath(os.path.expanduser(os.fspath(path)))}
        return _register(
            workspace,
            datastore_name,
            DatastoreKind.FOLDER,
            location,
            {},
            overwrite=overwrite,
            create=create_if_not_exists,
        )

    @staticmethod
    def register_sftp(
        workspace: Workspace,
        datastore_name: str,
        host: str,
        username: str,
        path: str | None = None,
        password: str | None = None,
        private_key_file: str | None = None,
        private_key_passphrase: str | None = None,
        port: int = 22,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
    ) -> Any:
        """The folder `path` (the user's home without one) of a machine with an SSH server. The private key is read
        here and kept sealed by the service. Its host key is remembered when it is first seen."""
        key = None
        if private_key_file:
            try:
                with open(os.path.expanduser(private_key_file), encoding="utf-8") as file:
                    key = file.read()
            except (OSError, UnicodeError) as error:
                raise UserErrorException(
                    f"The private_key_file {private_key_file} cannot be read: {error}. Check the path."
                ) from error
        if not key and not password:
            raise UserErrorException("SFTP needs a password or a private_key_file to be let in with.")
        location = {"host": host, "port": int(port), "username": username, "path": path}
        secrets = {"password": password, "private_key": key, "passphrase": private_key_passphrase}
        return _register(
            workspace,
            datastore_name,
            DatastoreKind.SFTP,
            location,
            secrets,
            overwrite=overwrite,
            create=create_if_not_exists,
            validate=not skip_validation,
        )

    @staticmethod
    def register_sql(
        workspace: Workspace,
        datastore_name: str,
        address: str,
        password: str | None = None,
        overwrite: bool = False,
        skip_validation: bool = False,
    ) -> Any:
        """A database by its SQLAlchemy address, such as 'postgresql+psycopg://user@host/db'. The service needs its
        driver. A password in the address is taken out of it and kept sealed, as `password` is."""
        address, found = _without_password(address)
        return _register(
            workspace,
            datastore_name,
            DatastoreKind.SQL,
            {"address": address},
            {"password": password or found},
            overwrite=overwrite,
            validate=not skip_validation,
        )

    @staticmethod
    def register_azure_postgre_sql(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: int | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        enforce_ssl: bool = True,
        **kwargs: Any,
    ) -> Any:
        no_effect("Datastore.register_azure_postgre_sql", **kwargs)
        host = f"{server_name}.{endpoint or 'postgres.database.azure.com'}"
        ending = "?sslmode=require" if enforce_ssl else ""
        address = (
            f"postgresql+psycopg://{_quoted(user_id)}@{host}:{port_number or 5432}/{_quoted(database_name)}{ending}"
        )
        return Datastore.register_sql(workspace, datastore_name, address, user_password, overwrite)

    @staticmethod
    def register_azure_my_sql(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: int | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        **kwargs: Any,
    ) -> Any:
        no_effect("Datastore.register_azure_my_sql", **kwargs)
        host = f"{server_name}.{endpoint or 'mysql.database.azure.com'}"
        address = f"mysql+pymysql://{_quoted(user_id)}@{host}:{port_number or 3306}/{_quoted(database_name)}"
        return Datastore.register_sql(workspace, datastore_name, address, user_password, overwrite)

    @staticmethod
    def register_azure_sql_database(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        tenant_id: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        resource_url: str | None = None,
        authority_url: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        no_effect("Datastore.register_azure_sql_database", **kwargs)
        del tenant_id, resource_url, authority_url
        if client_id or client_secret:
            untried("Azure SQL with a service principal", "Give username and password of an SQL login instead.")
        host = f"{server_name}.{endpoint or 'database.windows.net'}"
        address = f"mssql+pymssql://{_quoted(username or '')}@{host}:1433/{_quoted(database_name)}"
        return Datastore.register_sql(workspace, datastore_name, address, password, overwrite)


def _register(
    workspace: Workspace,
    name: str,
    kind: DatastoreKind,
    location: dict[str, Any],
    secrets: dict[str, str | None],
    *,
    overwrite: bool,
    create: bool = False,
    validate: bool = True,
) -> AbstractDatastore:
    given = {key: value for key, value in location.items() if value is not None}
    kept = {key: value for key, value in secrets.items() if value}
    new = NewDatastore(name, kind, given, kept, overwrite, create, validate)
    return datastore_of(workspace, workspace._clients.data.register_datastore(new))


def _azure_location(
    container: str,
    account: str,
    protocol: str | None,
    endpoint: str | None,
    sas_token: str | None = None,
    account_key: str | None = None,
) -> dict[str, Any]:
    if sas_token and account_key:
        raise UserErrorException("Give a sas_token or an account_key, not both.")
    return {
        "container_name": container,
        "account_name": account,
        "protocol": protocol,
        "endpoint": endpoint,
        "credential": "sas" if sas_token else "key" if account_key else None,
    }


def _without_password(address: str) -> tuple[str, str | None]:
    import urllib.parse

    scheme, separator, rest = address.partition("://")
    login, at, host = rest.rpartition("@")
    user, colon, password = login.partition(":")
    if not at or not colon or "/" in login:
        return address, None
    return f"{scheme}{separator}{user}{at}{host}", urllib.parse.unquote(password)


def _quoted(text: str) -> str:
    import urllib.parse

    return urllib.parse.quote(text, safe="")
