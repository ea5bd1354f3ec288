"""A run's files: names in the run, content by digest. Logs are among them; they have an offset instead of a digest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from trainyard.contract.errors import UnknownFile
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile
from trainyard.sdk.effects import no_effect, tell_once
from trainyard.sdk.errors import UserErrorException, sdk_errors, translated
from trainyard.sdk.runs.run_core import RunCore


@dataclass(frozen=True)
class Artifact:
    """A file as the run has it now."""

    name: str
    size: int
    digest: str
    run_id: str = ""

    def serialize(self) -> dict[str, Any]:
        """As the SDK's artifacts tell of themselves."""
        container = f"dcid.{self.run_id}"
        about = {
            "artifactId": f"ExperimentRun/{container}/{self.name}",
            "origin": "ExperimentRun",
            "container": container,
            "path": self.name,
            "etag": self.digest,
            "size": self.size,
        }
        return {"artifacts": {self.name: about}, "artifactContentInformation": {}, "errors": {}}


class RunFiles(RunCore):
    def get_file_names(self) -> list[str]:
        """Every file the run has, logs included."""
        self._settle()
        return sorted(file.name for file in self._runs.files(self._run_id))

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: str | None = None) -> Artifact:
        """Gives the run a file: from a path, or from an open stream of bytes or text."""
        no_effect("Run.upload_file", datastore_name=datastore_name)
        name = _file_name(name)
        if hasattr(path_or_stream, "read"):
            import tempfile

            with tempfile.NamedTemporaryFile() as copy:
                _copy(path_or_stream, copy)
                copy.flush()
                return self._upload([name], [copy.name])[0]
        path = os.fspath(path_or_stream)
        _check_files([path])
        return self._upload([name], [path])[0]

    def upload_files(
        self,
        names: Sequence[str],
        paths: Sequence[str],
        return_artifacts: bool = False,
        timeout_seconds: float | None = None,
        datastore_name: str | None = None,
    ) -> list[Artifact] | None:
        """Gives the run several files: `names[n]` from `paths[n]`."""
        no_effect("Run.upload_files", timeout_seconds=timeout_seconds, datastore_name=datastore_name)
        if isinstance(names, str) or isinstance(paths, str):
            raise TypeError("upload_files takes a list of names and a list of paths; upload_file takes one of each")
        if len(names) != len(paths):
            raise UserErrorException(f"upload_files has {len(names)} names and {len(paths)} paths. Give one of each.")
        _check_files(paths)
        uploaded = self._upload([_file_name(name) for name in names], list(paths))
        return uploaded if return_artifacts else None

    def upload_folder(self, name: str, path: str, datastore_name: str | None = None) -> None:
        """Gives the run every file below a folder, as `name/...`."""
        no_effect("Run.upload_folder", datastore_name=datastore_name)
        if not os.path.isdir(path):
            raise UserErrorException(f"There is no folder {os.path.abspath(path)} to upload. Check the path.")
        below = files_below(path)
        self._upload([_file_name(f"{name}/{file}") for file in below], [os.path.join(path, file) for file in below])

    def download_file(self, name: str, output_file_path: str | None = None, _validate_checksum: bool = False) -> None:
        """Writes the file to `output_file_path`: into it when it is a folder, else under its own last name here."""
        del _validate_checksum  # what is read is always checked
        self._settle()
        name = _file_name(name)
        file = next((file for file in self._runs.files(self._run_id) if file.name == name), None)
        if file is None:
            raise translated(UnknownFile(self._run_id, name))
        path = os.fspath(output_file_path) if output_file_path else os.curdir
        if os.path.isdir(path) or path.endswith(("/", os.sep)):
            path = os.path.join(path, os.path.basename(name))
        self._fetch([(file, path)])

    def download_files(
        self,
        prefix: str | None = None,
        output_directory: str | None = None,
        output_paths: Sequence[str] | None = None,
        batch_size: int = 100,
        append_prefix: bool = True,
        timeout_seconds: float | None = None,
    ) -> None:
        """Writes every file below the folder `prefix` of the run (all without one) below `output_directory`, or to
        `output_paths`, one for each. `append_prefix=False` leaves the prefix out of the paths below a given
        `output_directory`."""
        del batch_size  # everything goes at once
        no_effect("Run.download_files", timeout_seconds=timeout_seconds)
        self._settle()
        folder = _file_name(prefix) if prefix and prefix.strip("./") else ""
        files = [file for file in self._runs.files(self._run_id) if _is_below(file.name, folder)]
        files.sort(key=lambda file: file.name)
        if not files:
            tell_once(f"Run {self._run_id} has no files below {prefix!r}. run.get_file_names() lists those it has.")
        if output_paths is not None:
            if len(output_paths) != len(files):
                raise UserErrorException(
                    f"download_files has {len(output_paths)} output_paths for {len(files)} files. Give one for each, "
                    "in the order of get_file_names()."
                )
            paths = [os.path.join(output_directory or os.curdir, path) for path in output_paths]
        else:
            cut = folder if output_directory and not append_prefix else ""
            paths = [os.path.join(output_directory or os.curdir, _without(file.name, cut)) for file in files]
        self._fetch(list(zip(files, paths, strict=True)))

    def _content(self, name: str) -> bytes:
        return self._content_of(self._run_id, name)

    def _content_of(self, run_id: str, name: str) -> bytes:
        """All of one file of a run, which may be a log that still grows."""
        file = next((file for file in self._runs.files(run_id) if file.name == name), None)
        if file is None:
            raise translated(UnknownFile(run_id, name))
        if file.digest is None:
            return self._runs.read_log(run_id, name)
        with sdk_errors():
            return self._experiment.workspace._connection.blobs().read(file.digest)

    def _get_outputs_datapath(self) -> Any:
        """The run's outputs as a path of the default datastore, for `resume_from`: copied there, as they are now."""
        from trainyard.sdk.data.data_reference import DataPath
        from trainyard.sdk.data.transfers import put_run_files

        store = self._experiment.workspace.get_default_datastore()
        files = [file for file in self._runs.files(self._run_id) if _is_below(file.name, "outputs")]
        top = f"ExperimentRun/dcid.{self._run_id}"
        put_run_files(self._experiment.workspace._connection.blobs(), files, store._depot(), top)
        return DataPath(store, f"{top}/outputs")

    def _upload(self, names: list[str], paths: list[str]) -> list[Artifact]:
        with sdk_errors():
            blobs = self._experiment.workspace._connection.blobs().put_files(paths)
        files = [RunFile(name, blob.size, blob.digest) for name, blob in zip(names, blobs, strict=True)]
        if files:
            self._runs.add_files(self._run_id, files)
        return [Artifact(name, blob.size, blob.digest, self._run_id) for name, blob in zip(names, blobs, strict=True)]

    def _fetch(self, wanted: list[tuple[RunFile, str]]) -> None:
        store = self._experiment.workspace._connection.blobs()
        for file, path in wanted:
            if file.digest is not None:
                with sdk_errors():
                    store.write_to(file.digest, os.path.abspath(path), 0o644)
                continue
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            with open(path, "wb") as written:
                written.write(self._runs.read_log(self._run_id, file.name))


def files_below(folder: str) -> list[str]:
    """Every file below a folder, by its path from there."""
    found = []
    for top, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(top, name), folder) for name in names]
    return sorted(path for path in found if os.path.isfile(os.path.join(folder, path)))


def _check_files(paths: Sequence[str]) -> None:
    for path in paths:
        if os.path.isdir(path):
            raise UserErrorException(f"{os.path.abspath(path)} is a folder. run.upload_folder(name, path) takes it.")
        if not os.path.isfile(path):
            raise UserErrorException(f"There is no file {os.path.abspath(path)} to upload. Check the path.")


def _copy(stream: Any, into: IO[bytes]) -> None:
    while data := stream.read(1 << 20):
        into.write(data.encode("utf-8") if isinstance(data, str) else data)


def _file_name(name: Any) -> str:
    with sdk_errors():
        return check_file_name(name)


def _is_below(name: str, folder: str) -> bool:
    return not folder or name == folder or name.startswith(folder + "/")


def _without(name: str, folder: str) -> str:
    name = _file_name(name)  # also of a service that is not ours: nothing is written outside of the folder
    if not folder:
        return name
    return os.path.basename(name) if name == folder else name[len(folder) + 1 :]
