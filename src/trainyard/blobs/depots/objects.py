"""Buckets and containers: S3, Azure Blob and Data Lake, by obstore (`pip install trainyard[objects]`). Only the service
uses it: credentials do not leave it."""

from __future__ import annotations

import datetime
import urllib.parse
from collections.abc import Iterator
from typing import Any, cast

from trainyard.blobs.base import BLOCK
from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.blobs.depots.containers import make_bucket, make_container
from trainyard.blobs.depots.web import refuse_private_host
from trainyard.contract.data import DataFile, DatastoreKind
from trainyard.contract.errors import BadCredentials, DataAway, DataChanged, DataRefused, NoSuchData, TrainyardError

_RETRY = {"max_retries": 4, "retry_timeout": datetime.timedelta(seconds=60)}
_TIMEOUT = {"timeout": "60s", "connect_timeout": "10s"}


def object_depot(kind: DatastoreKind, location: dict[str, Any], secrets: dict[str, str], *, private: bool) -> Depot:
    """`private`: the store's own address may be one of the service's network."""
    if kind not in _MAKERS:
        raise DataRefused(f"{kind.value} stores cannot be used here. Use a blob container or an S3 bucket.")
    for address in filter(None, (_endpoint(location), location.get("authority_url"))):
        _check_address(address, private=private)
    try:
        import obstore
    except ImportError as error:
        raise DataRefused(
            f"{kind.value} datastores need obstore beside the service. Install it: pip install 'trainyard[objects]'."
        ) from error
    return ObjectDepot(kind, location, secrets, obstore, private=private)


class ObjectDepot(Depot):
    def __init__(
        self, kind: DatastoreKind, location: dict[str, Any], secrets: dict[str, str], obstore: Any, *, private: bool
    ) -> None:
        self._obstore = obstore
        self._private = private
        self._kind, self._location, self._secrets = kind, location, secrets
        self._where = str(location.get("bucket") or location.get("container_name"))
        self._prefix = checked_path(str(location.get("prefix") or ""))
        self.key = f"{kind.value}:{location}"
        try:
            self._store = _MAKERS[kind](location, secrets)
        except (ValueError, obstore.exceptions.BaseError) as error:
            raise DataRefused(f"{self._where!r} cannot be used: {_first_line(error)}. Check what was given.") from error

    def list(self, folder: str) -> Iterator[DataFile]:
        prefix = self._full(checked_path(folder))
        try:
            for page in self._obstore.list(self._store, prefix=prefix or None, chunk_size=1000):
                for about in page:
                    file = self._file(about)
                    if file.size or self.look(file.path) is not None:  # else the mark of a folder, which obstore
                        yield file  # lists without the slash that its name ends with
        except self._obstore.exceptions.BaseError as error:
            raise self._told(error, folder) from error

    def look(self, path: str) -> DataFile | None:
        try:
            return self._file(self._obstore.head(self._store, self._full(checked_path(path))))
        except (FileNotFoundError, self._obstore.exceptions.NotFoundError):
            return None
        except self._obstore.exceptions.BaseError as error:
            raise self._told(error, path) from error

    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        options: dict[str, Any] = {"range": {"offset": offset}} if offset else {}
        try:
            answer = self._obstore.get(self._store, self._full(checked_path(path)), options=options or None)
            if version and self._file(answer.meta).version != version:
                raise DataChanged(f"{path} of {self._where} has changed since it was looked at. Try again.")
            for block in answer.stream(min_chunk_size=BLOCK):
                yield bytes(block)
        except (FileNotFoundError, self._obstore.exceptions.BaseError) as error:
            raise self._told(error, path) from error

    def put(self, path: str, file: str) -> None:
        try:
            with open(file, "rb") as content:
                self._obstore.put(self._store, self._full(checked_path(path)), content)
        except self._obstore.exceptions.BaseError as error:
            raise self._told(error, path) from error

    def delete(self, path: str) -> None:
        try:
            self._obstore.delete(self._store, self._full(checked_path(path)))
        except (FileNotFoundError, self._obstore.exceptions.NotFoundError):
            return
        except self._obstore.exceptions.BaseError as error:
            raise self._told(error, path) from error

    def check(self, *, create: bool = False) -> None:
        """One listing of one page: it needs the right credentials and a container that is there."""
        try:
            self._first_page()
        except NoSuchData:
            if not create:
                raise
            self._make()
            self._first_page()

    def _first_page(self) -> None:
        try:
            next(iter(self._obstore.list(self._store, prefix=self._prefix or None, chunk_size=1)), None)
        except self._obstore.exceptions.InvalidPathError:
            return  # who is told of a name has been let in
        except self._obstore.exceptions.BaseError as error:
            raise self._told(error, "") from error

    def _make(self) -> None:
        if self._kind is DatastoreKind.S3:
            signed = self._obstore.sign(self._store, "PUT", "", datetime.timedelta(minutes=5))
            make_bucket(self._where, str(signed), _region(self._location), private=self._private)
        else:
            service = _endpoint(self._location) or f"https://{self._location['account_name']}.blob.core.windows.net"
            account = str(self._location["account_name"])
            make_container(self._where, service, account, self._secrets, private=self._private)

    def _file(self, about: Any) -> DataFile:
        path = about["path"][len(self._prefix) + 1 :] if self._prefix else about["path"]
        changed = int(about["last_modified"].timestamp() * 1_000_000_000)
        # Azure quotes an entity tag when it sends the file, and does not when it lists it
        version = str(about.get("e_tag") or about.get("version") or changed).strip('"')
        return DataFile(path, about["size"], version, changed)

    def _full(self, path: str) -> str:
        return "/".join(part for part in (self._prefix, path) if part)

    def _told(self, error: Exception, path: str) -> TrainyardError:
        """In one sentence, without what the store's own words may hold of the request."""
        kinds = self._obstore.exceptions
        said = str(error)
        where = f"{self._kind.value} store {self._where!r}"
        if isinstance(error, kinds.PermissionDeniedError | kinds.UnauthenticatedError) or _says_no(said):
            return BadCredentials(
                f"The {where} says no to these credentials. Check them, and register the datastore again with "
                "overwrite=True."
            )
        if isinstance(error, FileNotFoundError | kinds.NotFoundError):
            if path and "NoSuchBucket" not in said and "ContainerNotFound" not in said:
                return NoSuchData(f"There is no {path!r} in the {where}. Check the path.")
            return NoSuchData(f"The {where} is not there. Check its name and region.")
        if "NoSuchBucket" in said or "ContainerNotFound" in said:
            return NoSuchData(f"The {where} is not there. Check its name and region.")
        if isinstance(error, kinds.InvalidPathError):
            name = said.partition('"')[2].partition('"')[0]
            return DataRefused(
                f"The {where} has an object named {name!r}, which cannot be a path. Rename it or delete it, or name a "
                "folder that does not have it."
            )
        if isinstance(error, kinds.PreconditionError):
            return DataChanged(f"{path} of the {where} changed while it was read. Try again.")
        return DataAway(f"The {where} does not answer ({type(error).__name__}). Check its endpoint, and try again.")


def _s3(location: dict[str, Any], secrets: dict[str, str]) -> Any:
    from obstore.store import S3Store

    if bool(secrets.get("access_key_id")) != bool(secrets.get("secret_access_key")):
        # half of them would be made up from what the service itself is let in with
        raise DataRefused("access_key_id and secret_access_key belong together. Give both, or neither.")
    config: dict[str, Any] = {"region": _region(location)}
    client: dict[str, Any] = dict(_TIMEOUT)
    if endpoint := _endpoint(location):
        config["endpoint"] = endpoint
        client["allow_http"] = endpoint.startswith("http://")
    if not secrets.get("access_key_id"):
        config["skip_signature"] = True
    return S3Store(
        str(location["bucket"]),
        config=cast("Any", {**config, **(secrets if "skip_signature" not in config else {})}),
        client_options=cast("Any", client),
        retry_config=cast("Any", _RETRY),
    )


def _azure(location: dict[str, Any], secrets: dict[str, str]) -> Any:
    from obstore.store import AzureStore

    config: dict[str, Any] = {"account_name": location["account_name"]}
    client: dict[str, Any] = dict(_TIMEOUT)
    if endpoint := _endpoint(location):
        config["endpoint"] = endpoint
        client["allow_http"] = endpoint.startswith("http://")
    if key := secrets.get("account_key"):
        config["account_key"] = key
    elif token := secrets.get("sas_token"):
        config["sas_key"] = token.lstrip("?")
    elif secret := secrets.get("client_secret"):
        config |= {name: location[name] for name in ("tenant_id", "client_id")} | {"client_secret": secret}
        if authority := location.get("authority_url"):
            config["authority_host"] = authority.rstrip("/")
            client["allow_http"] = client.get("allow_http") or authority.startswith("http://")
    else:
        config["skip_signature"] = True
    return AzureStore(
        str(location["container_name"]),
        config=cast("Any", config),
        client_options=cast("Any", client),
        retry_config=cast("Any", _RETRY),
    )


# a Data Lake's files are the account's blobs too
_MAKERS = {DatastoreKind.S3: _s3, DatastoreKind.BLOB: _azure, DatastoreKind.DATA_LAKE: _azure}


_NO = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "InvalidAuthenticationInfo",
    "403 Forbidden",
    "401 Unauthorized",
    "AADSTS",  # what Azure's own sign-in calls its reasons
)


def _region(location: dict[str, Any]) -> str:
    return str(location.get("region") or "us-east-1")


def _endpoint(location: dict[str, Any]) -> str | None:
    """The address of the service where it is not the cloud's usual one; Azure's `endpoint` may be a domain alone."""
    said = location.get("endpoint")
    if not said or "://" in said:
        return said
    if location.get("bucket"):
        return f"https://{said}"
    return f"{location.get('protocol') or 'https'}://{location['account_name']}.blob.{said}"


def _check_address(endpoint: str, *, private: bool) -> None:
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataRefused(f"{endpoint!r} is no http or https address. Correct what the datastore was registered with.")
    if not private:
        refuse_private_host(parts.hostname, parts.port)


def _says_no(said: str) -> bool:
    return any(sign in said for sign in _NO)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
