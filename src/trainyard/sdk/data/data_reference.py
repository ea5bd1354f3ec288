"""DataReference and DataPath: a path of a datastore, given to a script as a path on the node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import REFERENCE_VARIABLE
from trainyard.contract.names import check_name
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.submitting.arguments import DataArgument

if TYPE_CHECKING:
    from trainyard.sdk.data.datastore_kinds import AbstractDatastore
    from trainyard.sdk.submitting.runconfig_parts import DataReferenceConfiguration

_MODES = ("mount", "download", "upload")


class DataReference(DataArgument):
    """In arguments it is the text `$AZUREML_DATAREFERENCE_<name>`, which the node replaces by a path."""

    def __init__(
        self,
        datastore: AbstractDatastore,
        data_reference_name: str | None = None,
        path_on_datastore: str | None = None,
        mode: str = "mount",
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        if str(mode).lower() not in _MODES:
            raise UserErrorException(f"mode is {mode!r}; use one of {', '.join(_MODES)}.")
        name = data_reference_name or (os.urandom(16).hex() if path_on_datastore else datastore.name)
        self.datastore = datastore
        self.data_reference_name = _letter_first(name) if not data_reference_name else name
        with sdk_errors():
            check_name("an input or output", self.data_reference_name)
        self.path_on_datastore = path_on_datastore
        self.mode = str(mode).lower()
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    @staticmethod
    def create(
        data_reference_name: str | None = None, datapath: Any = None, datapath_compute_binding: Any = None
    ) -> DataReference:
        if datapath is None:
            raise ValueError("datapath: give a DataPath")
        binding = datapath_compute_binding or DataPathComputeBinding()
        return DataReference(
            datapath._datastore,
            data_reference_name,
            datapath.path_on_datastore,
            binding.mode,
            binding.path_on_compute,
            binding.overwrite,
        )

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        """A path below this one."""
        below = "/".join(part.strip("/") for part in (self.path_on_datastore, path) if part and part.strip("/"))
        return DataReference(
            self.datastore, data_reference_name, below or None, self.mode, self.path_on_compute, self.overwrite
        )

    def as_mount(self) -> DataReference:
        return self._as("mount", self.path_on_compute, overwrite=False)

    def as_download(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        return self._as("download", path_on_compute, overwrite=overwrite)

    def as_upload(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        return self._as("upload", path_on_compute, overwrite=overwrite)

    def to_config(self) -> DataReferenceConfiguration:
        from trainyard.sdk.submitting.runconfig_parts import DataReferenceConfiguration

        return DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )

    def _text_in_arguments(self) -> str:
        return f"${REFERENCE_VARIABLE}{self.data_reference_name}"

    def _named(self) -> tuple[str, str, Any]:
        return "data_references", self.data_reference_name, self.to_config()

    def _as(self, mode: str, path_on_compute: str | None, *, overwrite: bool) -> DataReference:
        name = self.data_reference_name
        return DataReference(self.datastore, name, self.path_on_datastore, mode, path_on_compute, overwrite)

    __repr__ = DataArgument.__str__


class DataPath:
    def __init__(
        self, datastore: AbstractDatastore | None = None, path_on_datastore: str | None = None, name: str | None = None
    ) -> None:
        if datastore is None:
            raise UserErrorException("DataPath needs a datastore: DataPath(ws.get_default_datastore(), 'mnist')")
        self._datastore = datastore
        self._path = path_on_datastore
        self._name = name

    @property
    def datastore_name(self) -> str:
        return self._datastore.name

    @property
    def path_on_datastore(self) -> str | None:
        return self._path

    def create_data_reference(
        self, data_reference_name: str | None = None, datapath_compute_binding: Any = None
    ) -> DataReference:
        return DataReference.create(data_reference_name or self._name, self, datapath_compute_binding)

    @staticmethod
    def create_from_data_reference(data_reference: DataReference) -> DataPath:
        if data_reference is None:
            raise ValueError("data_reference: give a DataReference")
        return DataPath(data_reference.datastore, data_reference.path_on_datastore, data_reference.data_reference_name)


class DataPathComputeBinding:
    def __init__(self, mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False) -> None:
        self.mode, self.path_on_compute, self.overwrite = mode, path_on_compute, overwrite

    def create_data_reference(self, data_reference_name: str | None = None, datapath: Any = None) -> DataReference:
        return DataReference.create(data_reference_name, datapath, self)

    @staticmethod
    def create_from_data_reference(data_reference: DataReference) -> DataPathComputeBinding:
        if data_reference is None:
            raise ValueError("data_reference: give a DataReference")
        return DataPathComputeBinding(data_reference.mode, data_reference.path_on_compute, data_reference.overwrite)


def _letter_first(name: str) -> str:
    """A variable's name cannot begin with a digit."""
    return name if name[0].isalpha() or name[0] == "_" else f"d{name[1:]}"
