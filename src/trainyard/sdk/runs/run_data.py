"""What a configuration says about data, as the inputs and outputs of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import (
    INPUT_MARK,
    OUTPUT_MARK,
    OUTPUT_PATH,
    DataMode,
    DatasetDefinition,
    DataSource,
    RunInput,
    RunOutput,
)
from trainyard.contract.names import check_name
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.submitting.arguments import DataArgument

if TYPE_CHECKING:
    from trainyard.sdk.submitting.runconfig import RunConfiguration
    from trainyard.sdk.submitting.runconfig_parts import DataReferenceConfiguration
    from trainyard.sdk.workspace import Workspace


def take_out(config: RunConfiguration, arguments: Sequence[str | DataArgument]) -> list[str]:
    """The arguments as text. What they name joins what `config` (a copy that is ours) says about data already."""
    parts: dict[str, dict[str, Any]] = {
        "data_references": dict(config.data_references),
        "data": dict(config.data),
        "output_data": dict(config.output_data),
    }
    texts = []
    for argument in arguments:
        if isinstance(argument, DataArgument):
            where, name, _ = argument._named()
            if not (isinstance(argument, str) and name in parts[where]):
                put(parts, argument)
            texts.append(argument._text_in_arguments())
        else:
            texts.append(argument)
    inputs = [_reference(name, it) for name, it in parts["data_references"].items() if it.mode != "upload"]
    inputs += [_input(name, it) for name, it in parts["data"].items()]
    outputs = [_upload(name, it) for name, it in parts["data_references"].items() if it.mode == "upload"]
    outputs += [_output(name, it) for name, it in parts["output_data"].items()]
    _check_names(inputs, outputs)
    _check_texts([*texts, config.command] if isinstance(config.command, str) else texts, inputs, outputs)
    config.data_references = parts["data_references"]
    config.data = {it.name: _shown_input(it) for it in inputs if not it.reference}
    config.output_data = {it.name: _shown_output(it) for it in outputs if not it.reference}
    config._run_inputs, config._run_outputs = tuple(inputs), tuple(outputs)
    return texts


def add_inputs(config: RunConfiguration, inputs: Any) -> None:
    """An estimator's `inputs`: data that no argument names."""
    parts = {"data_references": config.data_references, "data": config.data, "output_data": config.output_data}
    for item in inputs or ():
        given = item.as_mount() if hasattr(item, "datastore_type") and hasattr(item, "as_mount") else item
        if not isinstance(given, DataArgument):
            raise UserErrorException(
                f"inputs has a {type(item).__name__}. Give dataset.as_named_input('name') or a DataReference."
            )
        put(parts, given)


def resume_arguments(config: RunConfiguration, resume_from: Any) -> list[str]:
    """What a script is given to go on from: the path as `--resume-from`."""
    if resume_from is None:
        return []
    if not hasattr(resume_from, "create_data_reference"):
        raise UserErrorException(f"resume_from is a DataPath, not a {type(resume_from).__name__}.")
    reference = resume_from.create_data_reference("MODEL_LOCATION")
    config.data_references["MODEL_LOCATION"] = reference.to_config()
    return ["--resume-from", str(reference)]


def check_can_travel(workspace: Workspace, definitions: Iterable[DatasetDefinition | None]) -> None:
    """Paths of this machine mean nothing to a service elsewhere."""
    if workspace._connection.is_embedded:
        return
    for source in (source for definition in definitions if definition for source in definition.sources):
        if source.datastore is None and not source.is_web:
            raise UserErrorException(
                f"{source.path} is on this machine, which the service's nodes do not see. Upload it with "
                "datastore.upload(...) or Dataset.File.upload_directory(...) and make the dataset from there."
            )


def as_text(arguments: Sequence[Any]) -> list[Any]:
    """Arguments as they are written down: what names data as its mark."""
    return [it._text_in_arguments() if isinstance(it, DataArgument) else it for it in arguments]


def shown(lines: Mapping[str, Any]) -> dict[str, Any]:
    """`data` or `output_data` of a configuration as the SDK's JSON."""
    found = {}
    for name, line in lines.items():
        record = line._named()[2] if isinstance(line, DataArgument) else line
        if isinstance(record, RunInput):
            record = _shown_input(replace(record, name=name))
        elif isinstance(record, RunOutput):
            record = _shown_output(replace(record, name=name))
        found[name] = record
    return found


def put(parts: Mapping[str, dict[str, Any]], argument: DataArgument) -> None:
    """One more line. The same again is no clash; another thing under the same name is."""
    where, name, line = argument._named()
    known = parts[where].get(name)
    if known is not None and _same(known) != _same(line):
        raise UserErrorException(
            f"Two inputs or outputs are named {name!r} and are not the same. Give each a name of its own "
            "(as_named_input('name'), data_reference_name='name')."
        )
    parts[where][name] = line


def _same(line: Any) -> Any:
    return vars(line) if type(line).__name__ == "DataReferenceConfiguration" else line


def _reference(name: str, it: DataReferenceConfiguration) -> RunInput:
    mode = _mode(it.mode, name)
    source = DataSource(_below(it.path_on_data_store), _store(name, it))
    return RunInput(
        name, mode, DatasetDefinition("file", (source,)), None, None, None, it.path_on_compute, it.overwrite, True
    )


def _upload(name: str, it: DataReferenceConfiguration) -> RunOutput:
    return RunOutput(
        name,
        DataMode.UPLOAD,
        _store(name, it),
        _below(it.path_on_data_store),
        it.path_on_compute,
        overwrite=bool(it.overwrite),
        reference=True,
    )


def _input(name: str, line: Any) -> RunInput:
    if isinstance(line, RunInput):
        return replace(line, name=name)
    if isinstance(line, DataArgument):
        where, _, found = line._named()
        if where == "data" and isinstance(found, RunInput):
            return replace(found, name=name)
    if isinstance(line, dict):
        return _read_input(name, line)
    raise UserErrorException(
        f"run_config.data[{name!r}] is a {type(line).__name__}. Give it dataset.as_named_input({name!r}).as_mount()."
    )


def _output(name: str, line: Any) -> RunOutput:
    if isinstance(line, RunOutput):
        return replace(line, name=name)
    if isinstance(line, DataArgument):
        where, _, found = line._named()
        if where == "output_data" and isinstance(found, RunOutput):
            return replace(found, name=name)
    if isinstance(line, dict):
        return _read_output(name, line)
    raise UserErrorException(
        f"run_config.output_data[{name!r}] is a {type(line).__name__}. Give it an OutputFileDatasetConfig."
    )


def _read_input(name: str, line: dict[str, Any]) -> RunInput:
    """As a .runconfig file holds it."""
    said = ((line.get("dataLocation") or {}).get("dataset")) or {}
    if not said.get("id"):
        raise UserErrorException(f"data {name!r} of the run configuration names no dataset id. Add the dataset again.")
    mode = _mode(line.get("mechanism") or "direct", name)
    version = said.get("version")
    return RunInput(
        name,
        mode,
        None,
        str(said["id"]),
        said.get("name"),
        int(str(version)) if str(version or "").isdigit() else None,
        line.get("pathOnCompute"),
        bool(line.get("overwrite")),
    )


def _read_output(name: str, line: dict[str, Any]) -> RunOutput:
    """As a .runconfig file holds it."""
    path = (line.get("outputLocation") or {}).get("dataPath") or {}
    options = line.get("additionalOptions") or {}
    registered, uploaded = options.get("registrationOptions") or {}, options.get("uploadOptions") or {}
    return RunOutput(
        name,
        _mode(line.get("mechanism") or "mount", name),
        path.get("datastoreName"),
        path.get("relativePath") or OUTPUT_PATH,
        options.get("pathOnCompute"),
        tuple((uploaded.get("sourceGlobs") or {}).get("globPatterns") or ()),
        bool(uploaded.get("overwrite")),
        registered.get("name"),
        registered.get("description"),
        dict(registered.get("tags") or {}),
    )


def _shown_input(it: RunInput) -> dict[str, Any]:
    """The SDK's JSON, for get_details() and .runconfig files."""
    version = None if it.dataset_version is None else str(it.dataset_version)
    return {
        "dataLocation": {"dataset": {"id": it.dataset_id, "name": it.dataset_name, "version": version}},
        "mechanism": it.mode.value.capitalize(),
        "environmentVariableName": it.name,
        "pathOnCompute": it.path_on_compute,
        "overwrite": it.overwrite,
    }


def _shown_output(it: RunOutput) -> dict[str, Any]:
    return {
        "outputLocation": {"dataPath": {"datastoreName": it.datastore, "relativePath": it.path}},
        "mechanism": it.mode.value.capitalize(),
        "additionalOptions": {
            "pathOnCompute": it.source,
            "registrationOptions": {"name": it.register_as, "description": it.description, "tags": dict(it.tags)},
            "uploadOptions": {"overwrite": it.overwrite, "sourceGlobs": {"globPatterns": list(it.globs)}},
        },
    }


def _check_names(inputs: list[RunInput], outputs: list[RunOutput]) -> None:
    seen: set[str] = set()
    for name in [*(it.name for it in inputs), *(it.name for it in outputs)]:
        with sdk_errors():
            check_name("an input or output", name)
        if name in seen:
            raise UserErrorException(f"Two inputs or outputs of the run are named {name!r}. Name them apart.")
        seen.add(name)


def _check_texts(texts: Iterable[str], inputs: list[RunInput], outputs: list[RunOutput]) -> None:
    """Data that was put into a longer text names what the run must have otherwise: the node replaces the name in it."""
    known = [INPUT_MARK + it.name for it in inputs] + [OUTPUT_MARK + it.name for it in outputs]
    for text in texts:
        rest = text
        for mark in sorted(known, key=len, reverse=True):
            rest = rest.replace(mark, "")
        if INPUT_MARK in rest or OUTPUT_MARK in rest:
            raise UserErrorException(
                f"{text!r} has a dataset or an output within a text, and nothing says which one it is. Give it as an "
                "item of its own, such as ['--data', dataset.as_mount()], or name it (as_named_input('name')) and put "
                "it into run_config.data['name'] (an output into run_config.output_data) as well."
            )


def _mode(said: Any, name: str) -> DataMode:
    try:
        mode = DataMode(str(said).lower())
    except ValueError:
        raise UserErrorException(f"mode of {name!r} is {said!r}; use mount, download or upload.") from None
    return mode


def _below(path: str | None) -> str:
    from trainyard.blobs.depots.base import checked_path

    with sdk_errors():
        return checked_path(path or "")


def _store(name: str, it: DataReferenceConfiguration) -> str:
    if not it.data_store_name:
        raise UserErrorException(f"data_references[{name!r}] has no datastore_name. Give it one, such as ds.name.")
    return str(it.data_store_name)
