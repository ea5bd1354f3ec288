"""The data of a run on its node: inputs become paths before the processes start, outputs are stored when they ended."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from trainyard.blobs.base import FULL, in_threads
from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.blobs.depots.cache import DataCache, View, digest_of_entries
from trainyard.blobs.depots.locate import Locator
from trainyard.blobs.depots.patterns import matches
from trainyard.blobs.depots.resolve import Entry, folder_of, resolve
from trainyard.blobs.depots.web import web_depot
from trainyard.client.data import Data
from trainyard.contract.attempts import AgentOrder, Orders
from trainyard.contract.codec import to_json
from trainyard.contract.data import (
    INPUT_MARK,
    OUTPUT_MARK,
    REFERENCE_VARIABLE,
    DataMode,
    DatasetDefinition,
    DataSource,
    DatastoreKind,
    DatastoreRecord,
    DataUse,
    NewDataset,
    RunInput,
    RunOutput,
)
from trainyard.contract.errors import DataRefused, DiskFull, ServiceUnavailable, TrainyardError
from trainyard.contract.frames import Frame
from trainyard.contract.runs import RunSpec

_CACHE_GB = "TRAINYARD_DATA_CACHE_GB"
_DEFAULT_CACHE_GB = 50.0
_LOOKED_AT = 2000  # files of a mounted path
_STORED_AT_ONCE = 8
_MOUNTED_EACH = 32  # files, or folders of files, that are mounted one by one


@dataclass
class NodeData:
    """`own` is this node's folder of the attempt, `working` the job's working folder."""

    order: AgentOrder
    orders: Orders
    client: Data
    own: str
    working: str
    log: Callable[[str], None]
    operators: Mapping[str, str]  # the variables of whoever runs this node
    values: dict[str, str] = field(default_factory=dict)  # mark in arguments → path or id
    variables: dict[str, str] = field(default_factory=dict)
    uses: list[DataUse] = field(default_factory=list)
    mounts: dict[str, bool] = field(default_factory=dict)  # folders that a container must see → writable
    _views: list[View] = field(default_factory=list)
    _links: list[str] = field(default_factory=list)
    _folders: list[tuple[RunOutput, DatastoreRecord, str]] = field(default_factory=list)  # outputs, and where they are

    def __post_init__(self) -> None:
        spec = self.orders.spec or RunSpec()
        users = {**spec.inherited, **spec.environment.variables, **spec.variables}
        web = web_depot(users, private=self.orders.private_addresses, operators=self.operators)
        self._locator = Locator(
            self.client.datastore, self.client, web, sees_folder=self._sees, local_files=self.order.endpoint is None
        )
        limit = int(float(self.operators.get(_CACHE_GB) or _DEFAULT_CACHE_GB) * (1 << 30))
        self._cache = DataCache(os.path.join(self.order.home, "data-cache"), limit)

    # Before the processes

    def prepare(self, spec: RunSpec) -> RunSpec:
        """Everything is where it should be; answers the spec with paths in the place of marks. May be called again
        when the service was away."""
        self.close()
        self.uses.clear()
        self._folders.clear()
        for output in spec.outputs:
            with _disk_says(f"Output {output.name!r}"):
                self._prepare_output(output)
        for given in spec.inputs:
            with _disk_says(f"Input {given.name!r}"):
                self._prepare_input(given)
        modes = [f"{it.name}:{it.mode.value.capitalize()}" for it in spec.inputs if not it.reference]
        if modes:
            self.variables["AZUREML_DATASET_ENVIRONMENT_VARS"] = ",".join(modes)
        if outputs := [it.name for it in spec.outputs if not it.reference]:
            self.variables["AZUREML_DATASET_FILE_OUTPUTS"] = ";".join(outputs)
        return replace(
            spec,
            arguments=tuple(self._filled(argument, quote=False) for argument in spec.arguments),
            command=self._filled(spec.command, quote=True) if spec.command is not None else None,
        )

    def _prepare_input(self, given: RunInput) -> None:
        began = time.monotonic()
        definition = given.definition or self.client.by_id(str(given.dataset_id)).definition
        if not given.reference and given.dataset_id is None:  # made on the spot: kept, so that lineage can name it
            given = replace(given, dataset_id=self.client.save(NewDataset(definition)).dataset_id)
        if given.mode is DataMode.DIRECT:
            self._say(given.name, INPUT_MARK, str(given.dataset_id))
            seen: list[Entry] = []
            with contextlib.suppress(TrainyardError):  # a query has no files; of what is missing the script is told
                seen = resolve(definition, self._locator) if definition.reader.get("format") != "sql" else []
            self._used(given, definition, seen)
            return
        if given.reference:
            value, entries = self._reference(given, definition)
        elif given.mode is DataMode.DOWNLOAD:
            entries = resolve(definition, self._locator)
            value = self._download(given, entries)
        else:
            value, entries = self._mount(given, definition)
        self._say(given.name, INPUT_MARK, value, reference=given.reference)
        self._used(given, definition, entries)
        size = sum(max(0, entry.file.size) for entry in entries)
        said = f"{len(entries)} files, {size:,} bytes" if entries else value
        self.log(f"Input {given.name} ({given.mode.value}): {said}, in {time.monotonic() - began:.3f} s.")

    def _mount(self, given: RunInput, definition: DatasetDefinition) -> tuple[str, list[Entry]]:
        """A local folder is itself, and so is a single local file; everything else is a view."""
        entries = resolve(definition, self._locator)
        whole = self._whole_folder(definition)
        if whole is not None:
            folder = whole
            self.mounts.setdefault(folder, False)
        else:
            view = self._cache.view(entries)
            self._views.append(view)
            folder = view.path
            for path in (folder, *_seen_through(entries)):
                self.mounts.setdefault(path, False)
        alone = entries[0] if len(entries) == 1 else None
        if given.path_on_compute:
            folder = self._link(given.path_on_compute, folder)
        elif alone is not None and (local := alone.depot.local(alone.file.path)) is not None:
            return local, entries
        return (os.path.join(folder, alone.path) if alone is not None else folder), entries

    def _whole_folder(self, definition: DatasetDefinition) -> str | None:
        if len(definition.sources) != 1 or definition.steps:
            return None
        source = definition.sources[0]
        return folder_of(source, self._locator(source)) if not source.is_web else None

    def _download(self, given: RunInput, entries: list[Entry]) -> str:
        folder = self._own_folder(given.path_on_compute, "download", given.name)
        self._refuse_taken(entries, folder, overwrite=given.overwrite or given.path_on_compute is None)
        self._cache.copy(entries, folder)
        return os.path.join(folder, entries[0].path) if len(entries) == 1 else folder

    def _reference(self, given: RunInput, definition: DatasetDefinition) -> tuple[str, list[Entry]]:
        """A path of a datastore, as the SDK of 2018 had it: a folder that need not be there yet, or a file."""
        (source,) = definition.sources
        depot = self._locator(source)
        local = depot.local(source.path)
        if local is not None and given.mode is DataMode.MOUNT:
            self.mounts[local if os.path.isdir(local) else os.path.dirname(local)] = True
            if not os.path.exists(local):
                self.log(f"Input {given.name}: there is nothing at {source.path!r} of {source.datastore} yet.")
            value = self._link(given.path_on_compute, local) if given.path_on_compute else local
            return value, self._a_few_below(source, depot)
        alone = depot.look(source.path) if source.path else None
        files = [alone] if alone is not None else list(depot.list(source.path))
        if given.mode is DataMode.DOWNLOAD:
            # as the SDK did: below the folder that was given, under the path in the datastore
            entries = [Entry(file.path, depot, file) for file in files]
            folder = self._own_folder(given.path_on_compute, "download", given.name)
            self._refuse_taken(entries, folder, overwrite=given.overwrite or given.path_on_compute is None)
            self._cache.copy(entries, folder)
            return os.path.join(folder, source.path) if source.path else folder, entries
        if not files:
            return self._own_folder(given.path_on_compute, "mount", given.name), []
        entries = [Entry(file.path, depot, file) for file in files]
        view = self._cache.view(entries)
        self._views.append(view)
        path = os.path.join(view.path, source.path) if source.path else view.path
        return (self._link(given.path_on_compute, path) if given.path_on_compute else path), entries

    @staticmethod
    def _a_few_below(source: DataSource, depot: Depot) -> list[Entry]:
        """What a mounted path has, for lineage; none where there are too many to look at all before each run."""
        alone = depot.look(source.path) if source.path else None
        files = [alone] if alone else list(islice(depot.list(source.path), _LOOKED_AT + 1))
        return [Entry(file.path, depot, file) for file in files] if len(files) <= _LOOKED_AT else []

    def _prepare_output(self, output: RunOutput) -> None:
        record = self.client.datastore(output.datastore) if output.datastore else self._default()
        below = output.path.replace("{run-id}", self.orders.run_id).replace("{output-name}", output.name)
        output = replace(output, path=checked_path(below), datastore=record.name)
        depot = self._locator.of_record(record)
        in_place = depot.local(output.path) if output.mode is DataMode.MOUNT else None
        if in_place is not None:
            folder = in_place
            os.makedirs(folder, exist_ok=True)
            if output.source:
                self._link(output.source, folder)
        else:
            folder = self._own_folder(output.source, "output", output.name)
            self._refuse_stored(output, depot)
        self._folders.append((output, record, folder))
        self.mounts[folder] = True
        self._say(output.name, OUTPUT_MARK, folder, reference=output.reference)

    def _refuse_stored(self, output: RunOutput, depot: Depot) -> None:
        """Said before anything is computed, not when it is to be stored."""
        if output.mode is not DataMode.UPLOAD or output.overwrite or self.orders.attempt > 1:
            return
        if (there := next(iter(depot.list(output.path)), None)) is not None:
            raise DataRefused(
                f"Output {output.name!r} is to be stored in {output.path!r} of datastore {output.datastore!r}, where "
                f"{there.path!r} is already. Pass overwrite=True, or give it another destination."
            )

    # After the processes

    def finish(self, *, well: bool) -> list[DataUse]:
        """Store what was written; a run that ended well has its outputs registered. Answers their lineage. One output
        that cannot be stored keeps no other from it."""
        failed: TrainyardError | None = None
        depots = [self._locator.of_record(record) for _, record, _ in self._folders]
        for (output, _, folder), depot in zip(self._folders, depots, strict=True):
            if output.mode is DataMode.MOUNT and depot.local(output.path) == folder:
                continue  # it was written in place
            try:
                with _disk_says(f"Output {output.name!r}"):
                    self._store(output, depot, folder)
            except ServiceUnavailable:
                raise
            except TrainyardError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        register = well and self.order.node == 0
        return [
            self._registered(output, depot, register=register)
            for (output, *_), depot in zip(self._folders, depots, strict=True)
        ]

    @staticmethod
    def lineage(uses: list[DataUse]) -> list[Frame]:
        """What the service is told of them."""
        return [Frame("data", payload=json.dumps(to_json(uses)).encode())] if uses else []

    def close(self) -> None:
        for link in self._links:
            with contextlib.suppress(OSError):
                os.unlink(link)
        for view in self._views:
            view.close()
        self._links.clear()
        self._views.clear()

    def _store(self, output: RunOutput, depot: Depot, folder: str) -> None:
        written = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in sorted(names)]
        found = {path: os.path.relpath(path, folder) for path in written if os.path.isfile(path)}
        wanted = [
            (path, f"{output.path}/{below}".lstrip("/"))
            for path, below in found.items()
            if not output.globs or any(matches(it, below) for it in output.globs)
        ]
        # a disk of this machine is not faster for several at once
        threads = 1 if depot.local("") is not None else _STORED_AT_ONCE
        in_threads(lambda pair: depot.put(pair[1], pair[0]), wanted, threads, few=2)
        self.log(f"Output {output.name}: {len(wanted)} files stored in {output.path} of {output.datastore}.")

    def _registered(self, output: RunOutput, depot: Depot, *, register: bool) -> DataUse:
        reader = dict(output.reader or {})
        glob, form = reader.pop("glob", None), reader.pop("partition_format", None)
        source = DataSource(f"{output.path}/{glob}" if glob else output.path, output.datastore)
        kind = "tabular" if output.reader is not None else "file"
        traits = {"partition_format": form} if form else {}
        definition = DatasetDefinition(kind, (source,), reader, output.steps, traits)
        files = list(depot.list(output.path))
        use = DataUse(
            self.orders.run_id,
            output.name,
            True,
            output.mode,
            digest=digest_of_entries([Entry(file.path, depot, file) for file in files]),
            files=len(files),
            bytes=sum(file.size for file in files),
            sources=(source,),
        )
        if output.reference or not register or not files:
            return use
        tags = output.tags if output.register_as else None
        new = NewDataset(definition, output.register_as, output.description, tags, new_version=True)
        record = self.client.save(new)
        if output.register_as:
            self.log(f"Output {output.name} is version {record.version} of dataset {record.name}.")
        return replace(use, dataset_id=record.dataset_id, dataset_name=record.name, dataset_version=record.version)

    # Small things

    def _say(self, name: str, mark: str, value: str, *, reference: bool = False) -> None:
        self.variables[f"{REFERENCE_VARIABLE}{name}"] = value
        if not reference:
            self.values[mark + name] = value
            self.variables[name] = value
            self.variables[name.upper()] = value

    def _filled(self, text: str, *, quote: bool) -> str:
        """Longer names first: one may begin with another."""
        for mark in sorted(self.values, key=len, reverse=True):
            if mark in text:
                text = text.replace(mark, shlex.quote(self.values[mark]) if quote else self.values[mark])
        return text

    def _used(self, given: RunInput, definition: DatasetDefinition, entries: list[Entry]) -> None:
        self.uses.append(
            DataUse(
                self.orders.run_id,
                given.name,
                False,
                given.mode,
                given.dataset_id,
                given.dataset_name,
                given.dataset_version,
                digest_of_entries(entries) if entries else "",
                len(entries),
                sum(max(0, entry.file.size) for entry in entries),
                definition.sources,
            )
        )

    def _default(self) -> DatastoreRecord:
        return next(record for record in self.client.datastores() if record.is_default)

    def _sees(self, record: DatastoreRecord) -> bool:
        """On the service's machine its folders are here. A registered folder is one that every node has, by promise."""
        if self.order.endpoint is None:
            return True
        return record.kind is DatastoreKind.FOLDER and os.path.isdir(str(record.path))

    def _own_folder(self, wanted: str | None, kind: str, name: str) -> str:
        folder = self._on_compute(wanted) if wanted else os.path.join(self.own, "data", kind, name)
        os.makedirs(folder, exist_ok=True)
        self.mounts[folder] = True
        return folder

    def _on_compute(self, path: str) -> str:
        return os.path.join(self.working, os.path.expanduser(path))

    def _link(self, wanted: str, target: str) -> str:
        """The place that the user named leads to where the data is."""
        path = self._on_compute(wanted)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.suppress(OSError):
            os.rmdir(path)  # an empty folder may be in the way
        try:
            os.symlink(target, path)
            self._links.append(path)
        except FileExistsError:
            if os.path.realpath(path) != os.path.realpath(target):
                raise DataRefused(f"{path} is taken on the node. Choose another path_on_compute.") from None
        return path

    @staticmethod
    def _refuse_taken(entries: list[Entry], folder: str, *, overwrite: bool) -> None:
        if overwrite:
            return
        for entry in entries:
            if os.path.exists(path := os.path.join(folder, entry.path)):
                raise DataRefused(f"{path} exists already on the node. Pass overwrite=True, or choose another path.")


@contextlib.contextmanager
def _disk_says(what: str) -> Iterator[None]:
    """What a disk of the node refuses, said of what it was for."""
    try:
        yield
    except OSError as error:
        where = error.filename or "a file"
        if error.errno in FULL:
            raise DiskFull(where) from error
        raise DataRefused(
            f"{what}: {where} cannot be made or written on the node ({error.strerror}). Choose another path."
        ) from error


def _seen_through(entries: list[Entry]) -> list[str]:
    """What the links of a view lead to: a few files as they are, else the folders that have them."""
    files = [local for entry in entries if (local := entry.depot.local(entry.file.path)) is not None]
    if len(files) <= _MOUNTED_EACH:
        return files
    folders = sorted({os.path.dirname(file) for file in files})
    return folders if len(folders) <= _MOUNTED_EACH else [os.path.commonpath(folders)]
