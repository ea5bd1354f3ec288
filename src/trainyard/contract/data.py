"""Datastores and datasets as they travel, and what a run reads and leaves. Credentials travel one way only, inside
`NewDatastore`: nothing that comes back holds them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainyard.contract.codec import to_json

DEFAULT_DATASTORE = "workspaceblobstore"
FILE_DATASTORE = "workspacefilestore"
OUTPUT_PATH = "dataset/{run-id}/{output-name}"  # where an output goes that names no destination

# Written into arguments by the SDK, replaced on the node.
INPUT_MARK = "DatasetConsumptionConfig:"
OUTPUT_MARK = "DatasetOutputConfig:"
REFERENCE_VARIABLE = "AZUREML_DATAREFERENCE_"


class DatastoreKind(StrEnum):
    """The SDK's `datastore_type` strings, and those of stores that the SDK did not have."""

    BLOB = "AzureBlob"
    FILE_SHARE = "AzureFile"
    DATA_LAKE = "AzureDataLakeGen2"
    S3 = "S3"
    FOLDER = "Folder"
    SFTP = "Sftp"
    SQL = "Sql"


class DataMode(StrEnum):
    DIRECT = "direct"  # the job gets the dataset's id
    MOUNT = "mount"  # a path to read; of a local folder the folder itself
    DOWNLOAD = "download"  # a copy of the job's own
    UPLOAD = "upload"  # a folder that is stored when the processes have ended


@dataclass(frozen=True)
class DatastoreRecord:
    workspace_id: str
    name: str
    kind: DatastoreKind
    created_by: str
    created_ns: int
    location: dict[str, Any] = field(default_factory=dict)  # container, account, endpoint, bucket, …; never a secret
    path: str | None = None  # its folder, for those whose files lie in one
    is_default: bool = False
    has_credentials: bool = False


@dataclass(frozen=True)
class NewDatastore:
    name: str
    kind: DatastoreKind
    location: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    overwrite: bool = False
    create: bool = False  # make the container, bucket or folder if it is not there
    validate: bool = True  # ask the store now whether the credentials are right


@dataclass(frozen=True)
class DataFile:
    """One file of a datastore. `version` changes when its content does: an entity tag, or a time of change."""

    path: str
    size: int
    version: str
    changed_ns: int = 0


@dataclass(frozen=True)
class DataSource:
    """Where files come from: a path or glob below a datastore, else a web address or an absolute local path."""

    path: str
    datastore: str | None = None

    @property
    def is_web(self) -> bool:
        return self.datastore is None and self.path.startswith(("http://", "https://"))


@dataclass(frozen=True)
class DatasetDefinition:
    """What a dataset is: lazily read, the same for everybody who has it. `steps` are applied in order."""

    kind: str  # file, tabular
    sources: tuple[DataSource, ...] = ()
    reader: dict[str, Any] = field(default_factory=dict)  # how tables are read from the files
    steps: tuple[dict[str, Any], ...] = ()
    traits: dict[str, Any] = field(default_factory=dict)  # timestamp columns, partition format

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(to_json(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class DatasetRecord:
    """One saved dataset: a registered version, or (without a name) one that a run was given as it is."""

    dataset_id: str
    workspace_id: str
    definition: DatasetDefinition
    created_by: str
    created_ns: int
    name: str | None = None
    version: int | None = None
    latest: bool = True
    description: str = ""
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NewDataset:
    definition: DatasetDefinition
    name: str | None = None  # None: saved, not registered
    description: str | None = None
    tags: dict[str, str] | None = None
    new_version: bool = False  # allowed where the name is taken


@dataclass(frozen=True)
class DatasetChange:
    description: str | None = None
    tags: dict[str, str] | None = None


@dataclass(frozen=True)
class RunInput:
    """Data that a run is given: a dataset, or (`reference`) a path of a datastore as the SDK of 2018 named it."""

    name: str
    mode: DataMode
    definition: DatasetDefinition | None = None  # None: what `dataset_id` says
    dataset_id: str | None = None
    dataset_name: str | None = None
    dataset_version: int | None = None
    path_on_compute: str | None = None
    overwrite: bool = False
    reference: bool = False


@dataclass(frozen=True)
class RunOutput:
    """A folder that a run leaves in a datastore."""

    name: str
    mode: DataMode = DataMode.MOUNT
    datastore: str | None = None  # None: the workspace's default
    path: str = OUTPUT_PATH
    source: str | None = None  # the folder of the job that is taken; None: one is made
    globs: tuple[str, ...] = ()
    overwrite: bool = False
    register_as: str | None = None
    description: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    reader: dict[str, Any] | None = None  # registered as a table that is read so
    steps: tuple[dict[str, Any], ...] = ()
    reference: bool = False


@dataclass(frozen=True)
class DataUse:
    """A line of lineage: what a run read or left, and the digest of what it was then."""

    run_id: str
    name: str  # the input's or output's
    output: bool
    mode: DataMode
    dataset_id: str | None = None
    dataset_name: str | None = None
    dataset_version: int | None = None
    digest: str = ""  # of the names, sizes and versions of the files
    files: int = 0
    bytes: int = 0
    sources: tuple[DataSource, ...] = ()


@dataclass(frozen=True)
class QueryAnswer:
    """Rows of a query, by column; a time is text in ISO form."""

    columns: tuple[str, ...]
    kinds: tuple[str, ...]  # number, text, bool, time, bytes (base 64)
    values: list[list[Any]] = field(default_factory=list)
