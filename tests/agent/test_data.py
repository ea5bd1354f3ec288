"""A node's part with data: inputs become paths, outputs are stored. The stores are folders, near and far."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace

import pytest

from trainyard.agent.data import NodeData
from trainyard.agent.variables import Scene, of_process
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.contract.attempts import AgentOrder, Orders
from trainyard.contract.data import (
    DataMode,
    DatasetDefinition,
    DatasetRecord,
    DataSource,
    DatastoreKind,
    DatastoreRecord,
    RunInput,
    RunOutput,
)
from trainyard.contract.errors import DataRefused, UnknownDatastore
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import Process


class Service:
    """What a node asks of it. `far` has no folder on this machine: its bytes come through here."""

    def __init__(self, near, far):
        self.far = FolderDepot(str(far))
        self.records = {
            "near": DatastoreRecord("w", "near", DatastoreKind.FOLDER, "ada", 1, path=str(near), is_default=True),
            "far": DatastoreRecord("w", "far", DatastoreKind.S3, "ada", 1),
        }
        self.saved = []
        self.read = []

    def datastore(self, name):
        if name not in self.records:
            raise UnknownDatastore(name, self.records)
        return self.records[name]

    def datastores(self):
        return list(self.records.values())

    def save(self, new):
        self.saved.append(new)
        return DatasetRecord(f"id-{len(self.saved)}", "w", new.definition, "ada", 1, new.name, 1 if new.name else None)

    def by_id(self, dataset_id):
        return DatasetRecord(dataset_id, "w", DatasetDefinition("file", (DataSource("a", "near"),)), "ada", 1)

    def files(self, datastore, folder):
        return self.far.list(folder)

    def file(self, datastore, path):
        return self.far.look(path)

    def read_file(self, datastore, path, offset, version):
        self.read.append(path)
        return self.far.read(path, offset, version)

    def put_file(self, datastore, path, content):
        with tempfile.NamedTemporaryFile() as aside:  # several files are put at once
            aside.write(content.read())
            aside.flush()
            self.far.put(path, aside.name)


@pytest.fixture
def service(tmp_path):
    for store in ("near", "far"):
        for name in ("a/1.txt", "a/b/2.txt", "c.txt"):
            (tmp_path / store / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / store / name).write_text(f"{store} {name}")
    return Service(tmp_path / "near", tmp_path / "far")


@pytest.fixture
def node(service, tmp_path, monkeypatch):
    """node(inputs=…, outputs=…, …) → (NodeData, the spec with paths)"""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir(exist_ok=True)
    made = []

    def node(*, inputs=(), outputs=(), arguments=(), command=None, attempt=1, number=0):
        spec = RunSpec(inputs=tuple(inputs), outputs=tuple(outputs), arguments=tuple(arguments), command=command)
        order = AgentOrder("a1", number, "token", None, str(tmp_path / "home"), str(tmp_path))
        orders = Orders(go=True, run_id="r1", attempt=attempt, spec=spec)
        own, working = str(tmp_path / "own"), str(tmp_path / "work")
        data = NodeData(order, orders, service, own, working, lambda line: None, {})
        made.append(data)
        return data, data.prepare(spec)

    yield node
    for data in made:
        data.close()


def given(path, store="near", mode=DataMode.MOUNT, **more):
    return RunInput("x", mode, DatasetDefinition("file", (DataSource(path, store),)), "id", **more)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(at, it), folder) for at, _, names in os.walk(folder) for it in names)


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_a_folder_here_is_itself_and_a_file_is_its_path(node, tmp_path):
    _, spec = node(inputs=[given("a")], arguments=["--data", "DatasetConsumptionConfig:x"])
    assert spec.arguments == ("--data", str(tmp_path / "near/a"))
    _, spec = node(inputs=[given("a/1.txt")], command="cat DatasetConsumptionConfig:x")
    assert spec.command == f"cat {tmp_path}/near/a/1.txt"


def test_what_is_far_is_fetched_once_and_cannot_be_written_to(node, service):
    first, _ = node(inputs=[given("a", "far")])
    folder = first.variables["x"]
    assert files_below(folder) == ["1.txt", "b/2.txt"]
    assert os.stat(f"{folder}/1.txt").st_mode & 0o222 == 0
    second, _ = node(inputs=[given("a", "far")])
    assert second.variables["x"] == folder
    assert sorted(service.read) == ["a/1.txt", "a/b/2.txt"]
    assert second.uses[0].digest == first.uses[0].digest
    alone, _ = node(inputs=[given("c.txt", "far")])
    assert text(alone.variables["x"]) == "far c.txt"


def test_a_copy_is_the_jobs_own(node):
    data, _ = node(inputs=[given("a", "far", DataMode.DOWNLOAD)])
    folder = data.variables["x"]
    assert folder.endswith("/own/data/download/x")
    assert os.stat(f"{folder}/1.txt").st_mode & 0o200


def test_the_place_that_the_user_named_leads_there(node, tmp_path):
    data, _ = node(inputs=[given("a", path_on_compute="in/data")])
    assert data.variables["x"] == str(tmp_path / "work/in/data")
    assert files_below(str(tmp_path / "work/in/data/")) == ["1.txt", "b/2.txt"]
    data.close()
    assert not (tmp_path / "work/in/data").exists()
    (tmp_path / "work/in/data").mkdir()
    (tmp_path / "work/in/data/mine").write_text("")
    with pytest.raises(DataRefused, match="is taken on the node"):
        node(inputs=[given("a", path_on_compute="in/data")])
    (tmp_path / "work/in/data/1.txt").write_text("")
    with pytest.raises(DataRefused, match=r"1\.txt exists already"):
        node(inputs=[given("a", mode=DataMode.DOWNLOAD, path_on_compute="in/data")])


def test_references_are_paths_of_a_store(node, tmp_path):
    reference = replace(given("a"), reference=True, dataset_id=None)
    near, _ = node(inputs=[reference])
    assert near.variables == {"AZUREML_DATAREFERENCE_x": str(tmp_path / "near/a")}
    new, _ = node(inputs=[replace(reference, definition=DatasetDefinition("file", (DataSource("new", "near"),)))])
    assert new.variables["AZUREML_DATAREFERENCE_x"] == str(tmp_path / "near/new")
    far = replace(reference, definition=DatasetDefinition("file", (DataSource("a", "far"),)))
    data, _ = node(inputs=[far])
    assert files_below(data.variables["AZUREML_DATAREFERENCE_x"]) == ["1.txt", "b/2.txt"]
    data, _ = node(inputs=[replace(far, mode=DataMode.DOWNLOAD)])
    assert files_below(data.variables["AZUREML_DATAREFERENCE_x"]) == ["1.txt", "b/2.txt"]
    assert text(data.variables["AZUREML_DATAREFERENCE_x"] + "/1.txt") == "far a/1.txt"


def test_a_dataset_that_nobody_saved_is_saved_so_that_lineage_can_name_it(node, service):
    data, spec = node(
        inputs=[replace(given("a", mode=DataMode.DIRECT), dataset_id=None)], arguments=["DatasetConsumptionConfig:x"]
    )
    assert spec.arguments == ("id-1",)
    assert data.uses[0].dataset_id == "id-1"
    assert data.uses[0].files == 2
    only_id, _ = node(inputs=[RunInput("x", DataMode.MOUNT, None, "id")])
    assert only_id.variables["x"].endswith("/near/a")


def test_an_output_far_away_is_stored_at_the_end(node, service):
    data, spec = node(
        outputs=[RunOutput("out", datastore="far", register_as="result", tags={"a": "b"})],
        arguments=["DatasetOutputConfig:out"],
    )
    (folder,) = spec.arguments
    os.makedirs(f"{folder}/deep")
    for name in ("1", "deep/2"):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(name)
    (use,) = data.finish(well=True)
    assert [it.path for it in service.far.list("dataset")] == ["dataset/r1/out/1", "dataset/r1/out/deep/2"]
    assert (use.output, use.files, use.bytes, use.dataset_name) == (True, 2, 7, "result")
    assert (service.saved[0].name, service.saved[0].tags) == ("result", {"a": "b"})


def test_an_output_near_is_written_in_place(node, tmp_path, service):
    data, _ = node(outputs=[RunOutput("out", source="results")])
    assert data.variables["out"] == str(tmp_path / "near/dataset/r1/out")
    (tmp_path / "work/results/x").write_text("x")
    (use,) = data.finish(well=False)
    assert (use.files, use.dataset_id, service.saved) == (1, None, [])


def test_only_the_first_node_registers(node, service, tmp_path):
    data, _ = node(outputs=[RunOutput("out", register_as="result")], number=1)
    (tmp_path / "near/dataset/r1/out/x").write_text("x")
    data.finish(well=True)
    assert service.saved == []


def test_an_upload_into_what_is_there_is_refused_at_once(node):
    taken = RunOutput("out", DataMode.UPLOAD, "far", "a")
    with pytest.raises(DataRefused, match="Pass overwrite=True"):
        node(outputs=[taken])
    node(outputs=[replace(taken, overwrite=True)])
    node(outputs=[taken], attempt=2)  # its own files of an earlier attempt


@pytest.mark.parametrize("wanted", ["taken", "taken/below"])
@pytest.mark.parametrize("mode", [DataMode.MOUNT, DataMode.DOWNLOAD])
def test_a_place_that_cannot_be_made_is_said(node, tmp_path, wanted, mode):
    (tmp_path / "work/taken").write_text("a file is here")
    with pytest.raises(DataRefused, match=r"work/taken.*Choose another path"):
        node(inputs=[given("a", mode=mode, path_on_compute=wanted)])
    with pytest.raises(DataRefused, match=r"(?s)work/taken.*Choose another path"):
        node(outputs=[RunOutput("out", DataMode.UPLOAD, "near", "new", source=wanted)])


def test_an_output_that_cannot_be_stored_keeps_no_other_from_it(node, service, tmp_path):
    below_a_file = RunOutput("one", DataMode.UPLOAD, "near", "c.txt/below", overwrite=True)
    data, _ = node(outputs=[below_a_file, RunOutput("two", DataMode.UPLOAD, "near", "new", register_as="result")])
    for name in ("one", "two"):
        with open(os.path.join(data.variables[name], "x"), "w", encoding="utf-8") as file:
            file.write(name)
    with pytest.raises(DataRefused, match=r"Output 'one': .*c\.txt.* cannot be made or written on the node"):
        data.finish(well=True)
    assert [it.path for it in FolderDepot(str(tmp_path / "near")).list("new")] == ["new/x"]
    assert service.saved == []  # a run that lost an output has not ended well


def test_what_is_not_there_is_said(node):
    with pytest.raises(UnknownDatastore, match="there are: far, near"):
        node(inputs=[given("a", "nowhere")])


def test_no_input_takes_a_variables_place():
    order = AgentOrder("a1", 0, "token", None, "/home", "/work")
    data = {"path": "/data", "PATH": "/data", "AZUREML_DATAREFERENCE_path": "/data"}
    scene = Scene("http://x", "/work", "/overlay", "/usr/bin/python", "/job", shares_home=False, data=data)
    spec = RunSpec(inherited={"PATH": "/bin"})
    found = of_process(order, Orders(go=True, spec=spec), spec, Process(0, 0, "worker", ("python",), "log"), scene)
    assert found["PATH"] == "/usr/bin:/bin"
    assert (found["path"], found["AZUREML_DATAREFERENCE_path"]) == ("/data", "/data")
