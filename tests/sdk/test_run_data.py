"""What a configuration says about data, without a service: the workspace and its stores are stand-ins."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import pytest

from azureml.core import Dataset, RunConfiguration, ScriptRunConfig
from azureml.data import OutputFileDatasetConfig
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath, DataPathComputeBinding
from azureml.exceptions import UserErrorException
from trainyard.contract.data import DataMode, DatasetRecord, DatastoreKind, DatastoreRecord
from trainyard.sdk.data.datastore_kinds import datastore_of
from trainyard.sdk.runs.run_data import check_can_travel
from trainyard.sdk.submitting.submit import checked, run_spec


@pytest.fixture
def store():
    return datastore_of(
        SimpleNamespace(_workspace_id_internal="w"), DatastoreRecord("w", "store", DatastoreKind.BLOB, "ada", 1)
    )


@pytest.fixture
def source(tmp_path):
    (tmp_path / "train.py").write_text("")
    return str(tmp_path)


@pytest.fixture
def files(store):
    made = Dataset.File.from_files((store, "a"), validate=False)
    made._record = DatasetRecord("id-1", "w", made._definition, "ada", 1, "files", 3)
    return made


def spec_of(source, *arguments, **given):
    config, _ = checked(ScriptRunConfig(source, "train.py", list(arguments), **given))
    return run_spec(config, "0" * 64, {})


def test_what_arguments_name_becomes_inputs_and_outputs(store, files, source):
    spec = spec_of(
        source,
        "--in",
        files.as_named_input("digits").as_mount("/mnt/digits"),
        files.as_named_input("same").as_download(),
        DataReference(store, "ref", "b/c"),
        OutputFileDatasetConfig("out", (store, "o"))
        .as_upload(overwrite=True)
        .register_on_complete("res", tags={"a": 1}),
    )
    assert spec.arguments == (
        "--in",
        "DatasetConsumptionConfig:digits",
        "DatasetConsumptionConfig:same",
        "$AZUREML_DATAREFERENCE_ref",
        "DatasetOutputConfig:out",
    )
    inputs = {it.name: it for it in spec.inputs}
    assert (inputs["digits"].mode, inputs["digits"].path_on_compute) == (DataMode.MOUNT, "/mnt/digits")
    assert (inputs["digits"].dataset_id, inputs["digits"].dataset_version) == ("id-1", 3)
    assert (inputs["ref"].reference, inputs["ref"].definition.sources[0].path) == (True, "b/c")
    (out,) = spec.outputs
    assert (out.datastore, out.path, out.overwrite, out.register_as, out.tags) == (
        "store",
        "o",
        True,
        "res",
        {"a": "1"},
    )
    assert spec.definition["data"]["digits"]["dataLocation"]["dataset"] == {
        "id": "id-1",
        "name": "files",
        "version": "3",
    }
    assert spec.definition["dataReferences"]["ref"]["pathOnDataStore"] == "b/c"


def test_an_upload_is_an_output(store, source):
    spec = spec_of(source, store.path("results").as_upload("local"))
    (out,) = spec.outputs
    assert (out.reference, out.mode, out.path, out.source) == (True, DataMode.UPLOAD, "results", "local")
    assert spec.inputs == ()


def test_names_clash_only_if_they_mean_different_things(store, files, source):
    one = files.as_named_input("x").as_mount()
    assert len(spec_of(source, one, one).inputs) == 1
    with pytest.raises(UserErrorException, match="Two inputs or outputs are named 'x'"):
        spec_of(source, one, files.as_named_input("x").as_download())
    with pytest.raises(UserErrorException, match="are named 'x'"):
        spec_of(source, one, OutputFileDatasetConfig("x"))


def test_a_bare_dataset_says_what_to_do(files, source):
    with pytest.raises(UserErrorException, match=r"arguments\[1\] is a dataset. Say how the script gets it"):
        spec_of(source, "--data", files)


def test_a_configuration_is_saved_and_loaded_with_its_data(store, files, source, tmp_path):
    config = RunConfiguration()
    config.data["digits"] = files.as_named_input("other").as_download("/here")
    config.output_data["out"] = OutputFileDatasetConfig("o", (store, "o")).as_upload(source_globs="*.csv")
    config.save(str(tmp_path), "mine")
    loaded = RunConfiguration.load(str(tmp_path), "mine")
    spec = spec_of(source, run_config=loaded)
    (given,) = spec.inputs
    assert (given.name, given.mode, given.dataset_id, given.path_on_compute) == (
        "digits",
        DataMode.DOWNLOAD,
        "id-1",
        "/here",
    )
    (out,) = spec.outputs
    assert (out.name, out.mode, out.path, out.globs) == ("out", DataMode.UPLOAD, "o", ("*.csv",))


def test_references_and_paths_turn_into_each_other(store):
    path = DataPath(store, "a/b", "name")
    reference = path.create_data_reference(datapath_compute_binding=DataPathComputeBinding("download", "/x", True))
    assert (str(reference), reference.mode) == ("$AZUREML_DATAREFERENCE_name", "download")
    assert (reference.path_on_compute, reference.overwrite) == ("/x", True)
    assert DataPath.create_from_data_reference(reference).path_on_datastore == "a/b"
    assert reference.path("c").path_on_datastore == "a/b/c"
    assert str(store.as_mount()) == "$AZUREML_DATAREFERENCE_store"
    config = reference.as_upload("/y").to_config()
    assert (config.data_store_name, config.mode, config.path_on_compute) == ("store", "upload", "/y")
    with pytest.raises(UserErrorException, match="mode is 'link'"):
        DataReference(store, "x", mode="link")
    with pytest.raises(UserErrorException, match="cannot be the name of"):
        DataReference(store, "not a name")


def test_a_run_goes_on_from_a_path(store, source):
    spec = spec_of(source, "--n", 1, resume_from=DataPath(store, "model"))
    assert spec.arguments == ("--n", "1", "--resume-from", "$AZUREML_DATAREFERENCE_MODEL_LOCATION")
    assert spec.inputs[0].definition.sources[0].path == "model"


def test_an_output_as_an_input(store):
    out = OutputFileDatasetConfig("out", (store, "place"))
    assert out.as_input("in").as_mount().dataset._definition.sources[0].path == "place"
    table = out.read_delimited_files().as_input("in")
    assert (table.mode, table.dataset._kind) == ("direct", "tabular")
    with pytest.raises(UserErrorException, match="destination of its own"):
        OutputFileDatasetConfig("out").as_input()
    with pytest.raises(UserErrorException, match="tuple of a datastore"):
        OutputFileDatasetConfig("out", "place")
    with pytest.raises(ValueError, match="needs a name"):
        out.register_on_complete("")


def test_paths_of_this_machine_do_not_travel_to_a_service_elsewhere(tmp_path):
    (tmp_path / "a").write_text("x")
    made = Dataset.File.from_files(str(tmp_path / "a"))
    elsewhere = SimpleNamespace(_connection=SimpleNamespace(is_embedded=False))
    with pytest.raises(UserErrorException, match=r"a is on this machine.*Upload it with"):
        check_can_travel(elsewhere, [None, made._definition])
    check_can_travel(SimpleNamespace(_connection=SimpleNamespace(is_embedded=True)), [made._definition])


def test_a_reference_that_was_made_text_still_names_its_data(store, source):
    """`str(reference)` alone in the arguments, with no word of it in the run configuration."""
    reference = DataReference(store, "ref", "b/c")
    spec = spec_of(source, "--resume-from", str(reference))
    assert spec.arguments == ("--resume-from", "$AZUREML_DATAREFERENCE_ref")
    assert [(it.name, it.definition.sources[0].path, it.definition.sources[0].datastore) for it in spec.inputs] == [
        ("ref", "b/c", "store")
    ]
    assert type(spec.arguments[1]) is str


def test_what_the_run_configuration_says_of_a_name_goes_before_its_text(store, source):
    config = ScriptRunConfig(source, "train.py", [str(DataReference(store, "ref", "b/c"))])
    config.run_config.data_references = {"ref": DataReference(store, "ref", "d", mode="download").to_config()}
    checked_config, _ = checked(config)
    (found,) = checked_config._run_inputs
    assert (found.definition.sources[0].path, found.mode) == ("d", DataMode.DOWNLOAD)


def test_the_text_of_a_reference_travels_between_processes_as_text(store):
    text = str(DataReference(store, "ref", "b/c"))
    assert pickle.loads(pickle.dumps(text)) == "$AZUREML_DATAREFERENCE_ref"
    assert json.dumps([text]) == '["$AZUREML_DATAREFERENCE_ref"]'


def test_other_data_that_was_made_text_still_names_it(store, files, source):
    out = OutputFileDatasetConfig("out", (store, "o"))
    given = files.as_named_input("digits").as_mount()
    spec = spec_of(source, "--in", str(given), f"{out}", given)
    assert spec.arguments[1] == spec.arguments[3] == "DatasetConsumptionConfig:digits"
    assert type(spec.arguments[1]) is str
    assert [(it.name, it.dataset_id) for it in spec.inputs] == [("digits", "id-1")]
    assert [it.name for it in spec.outputs] == ["out"]


def test_data_within_a_text_must_be_named_elsewhere(store, files, source):
    given = files.as_named_input("digits").as_mount()
    out = OutputFileDatasetConfig("out", (store, "o"))
    for text in (f"--in={given}", f"--out={out}", f"--in={files.as_mount()}"):
        with pytest.raises(UserErrorException, match="as an item of its own"):
            spec_of(source, "--n", 1, text)
    with pytest.raises(UserErrorException, match="as an item of its own"):
        checked(ScriptRunConfig(source, command=f"python train.py {given}"))
    with pytest.raises(UserErrorException, match="as an item of its own"):
        spec_of(source, f"--in={files.as_named_input('digit').as_mount()}", given)
    config = RunConfiguration()
    config.data["digits"] = given
    spec = spec_of(source, f"--in={given}", run_config=config)
    assert spec.arguments == ("--in=DatasetConsumptionConfig:digits",)
    assert [it.name for it in spec.inputs] == ["digits"]
