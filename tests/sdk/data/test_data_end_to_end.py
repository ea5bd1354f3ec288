"""Data named once and found by runs: the whole way, with a real service."""

from __future__ import annotations

import gzip
import http.client
import json
import os

import numpy as np
import pandas as pd
import pytest
from files_server import serving
from moto.server import ThreadedMotoServer

from azureml.core import Dataset, Datastore, Environment, Experiment, RunConfiguration, ScriptRunConfig, Workspace
from azureml.core.runconfig import DataReferenceConfiguration
from azureml.data import OutputFileDatasetConfig
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath
from azureml.data.dataset_error_handling import DatasetValidationError
from azureml.exceptions import ActivityFailedException, UserErrorException
from azureml.train.dnn import TensorFlow
from azureml.train.estimator import Estimator

pytestmark = pytest.mark.usefixtures("home")

# Prints what the script was given, as JSON.
TOLD = """
import json, os, sys
from azureml.core import Run
run = Run.get_context()
inputs, outputs = run.input_datasets, run.output_datasets
print("TOLD" + json.dumps({
    "arguments": sys.argv[1:],
    "inputs": {name: str(inputs[name]) for name in inputs},
    "outputs": dict(outputs),
    "variables": {k: v for k, v in os.environ.items() if k.startswith("AZUREML_DATA") or k in ("digits", "DIGITS")},
    "files": {a: sorted(os.path.relpath(os.path.join(t, n), a) for t, _, ns in os.walk(a) for n in ns)
              for a in sys.argv[1:] if os.path.isdir(a)},
}))
"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture(scope="module")
def store(workspace, tmp_path_factory):
    """The default datastore, with some files below `first`."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "deep").mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "deep/b.txt").write_text("bb")
    (folder / "table.csv").write_text("x,y,when\n1,2.5,2020-01-01\n2,3.5,2020-01-02\n3,4.5,2020-01-05\n")
    found = workspace.get_default_datastore()
    found.upload(src_dir=str(folder), target_path="first", overwrite=True, show_progress=False)
    return found


@pytest.fixture
def submit(workspace, tmp_path):
    def submit(code, arguments=(), **given):
        source = tmp_path / f"source-{len(os.listdir(tmp_path))}"
        source.mkdir()
        (source / "train.py").write_text(code)
        environment = Environment("mine")
        environment.python.user_managed_dependencies = True
        config = ScriptRunConfig(str(source), "train.py", list(arguments), **given)
        config.run_config.environment = environment
        return Experiment(workspace, "data").submit(config)

    return submit


def told(run):
    run.wait_for_completion()
    text = run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"]
    return json.loads(next(line[4:] for line in text.splitlines() if line.startswith("TOLD")))


# Datastores


def test_what_is_uploaded_is_there_and_is_left_alone_unless_overwritten(store, tmp_path, capsys):
    (tmp_path / "up").mkdir()
    (tmp_path / "up/a.txt").write_text("1")
    reference = store.upload(str(tmp_path / "up"), "second")
    assert str(reference).startswith("$AZUREML_DATAREFERENCE_")
    assert capsys.readouterr().out.startswith("Uploading 1 file (1 bytes)\nUploaded 1 file in ")
    (tmp_path / "up/a.txt").write_text("2")
    store.upload(str(tmp_path / "up"), "second")
    assert "1 file were there already" in capsys.readouterr().out
    assert store.download(str(tmp_path / "down"), prefix="second", show_progress=False) == 1
    assert (tmp_path / "down/second/a.txt").read_text() == "1"
    store.upload_files([str(tmp_path / "up/a.txt")], target_path="second", overwrite=True, show_progress=False)
    assert store.download(str(tmp_path / "down"), prefix="second", show_progress=False) == 0
    assert store.download(str(tmp_path / "down"), prefix="second", overwrite=True, show_progress=False) == 1
    assert (tmp_path / "down/second/a.txt").read_text() == "2"


def test_paths_of_single_files_are_kept_from_their_common_folder(store, tmp_path):
    for name in ("x/1.txt", "x/y/2.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    files = [str(tmp_path / "x/1.txt"), str(tmp_path / "x/y/2.txt")]
    store.upload_files(files, target_path="third", show_progress=False)
    assert Dataset.File.from_files((store, "third")).to_path() == ["/1.txt", "/y/2.txt"]
    with pytest.raises(UserErrorException, match="is not below relative_root"):
        store.upload_files(files, relative_root=str(tmp_path / "x/y"))
    with pytest.raises(UserErrorException, match="There is no file"):
        store.upload_files([str(tmp_path / "none")])
    with pytest.raises(UserErrorException, match="is not there"):
        store.upload(str(tmp_path / "none"))


def test_a_workspace_knows_its_datastores(home, tmp_path):
    workspace = Workspace.create("stores", show_output=False)  # others register datastores in that of all the tests
    store = workspace.get_default_datastore()
    mine = Datastore.register_folder(workspace, "mine", str(tmp_path / "mine"), create_if_not_exists=True)
    assert set(workspace.datastores) == {"workspaceblobstore", "workspacefilestore", "mine"}
    assert (store.datastore_type, mine.datastore_type) == ("AzureBlob", "Folder")
    assert store.container_name == "azureml-workspaceblobstore"
    workspace.set_default_datastore("mine")
    assert Datastore(workspace).name == "mine"
    store.set_as_default()
    assert Datastore.get_default(workspace).name == "workspaceblobstore"
    assert Datastore.get(workspace, "mine").folder == str(tmp_path / "mine")
    mine.unregister()
    with pytest.raises(UserErrorException, match="No datastore named 'mine'"):
        Datastore.get(workspace, "mine")


@pytest.mark.parametrize("kind", ["azure_file_share", "azure_data_lake", "gcs_bucket", "hdfs", "dbfs"])
def test_stores_that_nothing_has_answered_are_refused(workspace, kind):
    with pytest.raises(UserErrorException, match=r"not supported by this version of Trainyard\. \w"):
        getattr(Datastore, f"register_{kind}")(workspace, "x", "y", "z")


def test_a_share_is_named_where_it_is_said_what_to_do(workspace):
    with pytest.raises(
        UserErrorException, match=r"//acct\.file\.core.*register_folder\(workspace, 'old', '/mnt/models'\)"
    ):
        Datastore.register_azure_file_share(workspace, "old", file_share_name="models", account_name="acct")


def test_a_data_lake_without_a_principal_says_what_to_give(workspace):
    with pytest.raises(
        UserErrorException, match=r"give tenant_id, client_id and client_secret.*container_name='files'"
    ):
        Datastore.register_azure_data_lake_gen2(workspace, "lake", "files", "acct")


# Runs


def test_every_way_to_give_a_run_its_data(workspace, store, submit):
    digits = Dataset.File.from_files((store, "first")).register(workspace, "digits", create_new_version=True)
    run = submit(
        TOLD,
        [
            digits.as_named_input("digits").as_mount(),
            Dataset.File.from_files((store, "first/**/*.txt")).as_mount(),
            digits.as_named_input("copied").as_download(),
            Dataset.File.from_files((store, "first/a.txt")).as_mount(),
            store.path("first/deep").as_mount(),
            store,
            digits.as_named_input("plain"),
        ],
    )
    said = told(run)
    whole, some, copied, single, deep, everything, dataset_id = said["arguments"]
    root = everything
    assert whole == f"{root}/first"
    assert (single, deep) == (f"{root}/first/a.txt", f"{root}/first/deep")
    assert said["files"][some] == ["a.txt", "deep/b.txt"]
    assert said["files"][copied] == ["a.txt", "deep/b.txt", "table.csv"]
    assert dataset_id == digits.id
    assert said["inputs"]["digits"] == said["variables"]["digits"] == said["variables"]["DIGITS"] == whole
    assert said["variables"]["AZUREML_DATAREFERENCE_digits"] == whole
    assert "FileDataset" in said["inputs"]["plain"]
    modes = said["variables"]["AZUREML_DATASET_ENVIRONMENT_VARS"]
    assert "digits:Mount" in modes
    assert "copied:Download" in modes
    assert "plain:Direct" in modes
    lineage = {it["consumptionDetails"]["inputName"]: it for it in run.get_details()["inputDatasets"]}
    assert lineage["digits"]["dataset"] == {"id": digits.id, "name": "digits", "version": 1}
    assert json.loads(json.dumps(lineage["digits"]["dataset"]))["version"] == 1
    assert lineage["digits"]["dataset"].to_path() == digits.to_path()
    assert lineage["digits"]["dataset"].register(workspace, "digits-again").id
    assert (lineage["digits"]["files"], lineage["digits"]["bytes"]) == (3, 63)
    assert len(lineage["digits"]["digest"]) == 64
    assert [use.run_id for use in workspace._clients.data.uses_of_dataset("digits", 1)] == [run.id] * 3


def test_estimators_of_2018_take_datastores_and_references(workspace, store, submit, tmp_path):
    (tmp_path / "train.py").write_text(TOLD)
    params = {"--data-folder": store.path("first").as_mount(), "--all": store, "--n": 3}
    estimator = Estimator(
        str(tmp_path), compute_target="local", entry_script="train.py", script_params=params, user_managed=True
    )
    said = told(Experiment(workspace, "old").submit(estimator))
    flag, folder, _, everything, *rest = said["arguments"]
    assert (flag, folder, rest) == ("--data-folder", f"{everything}/first", ["--n", "3"])


def test_references_in_a_run_configuration(store, submit):
    config = RunConfiguration()
    config.data_references = {"mine": DataReferenceConfiguration(store.name, path_on_datastore="first/deep")}
    fixed = DataReference(store, "fixed", "first", path_on_compute="here").as_download(path_on_compute="here")
    said = told(submit(TOLD, ["$AZUREML_DATAREFERENCE_mine", str(fixed), fixed], run_config=config))
    mine, *both = said["arguments"]
    assert mine.endswith("/first/deep")
    assert both[0] == both[1]
    assert both[0].endswith("/here/first")
    assert said["files"][both[0]] == ["a.txt", "deep/b.txt", "table.csv"]


def test_data_in_a_command(store, submit, workspace, tmp_path):
    (tmp_path / "train.py").write_text(TOLD)
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    command = ["python", "train.py", Dataset.File.from_files((store, "first")).as_mount(), store.path("first/deep")]
    config = ScriptRunConfig(str(tmp_path), command=command, environment=environment)
    said = told(Experiment(workspace, "data").submit(config))
    assert [it.rpartition("/workspaceblobstore/")[2] for it in said["arguments"]] == ["first", "first/deep"]


def test_outputs_are_stored_and_registered(workspace, store, submit):
    code = TOLD + (
        "import pathlib\n"
        "for name in outputs: pathlib.Path(outputs[name], 'r.csv').write_text('n\\n1\\n')\n"
        "pathlib.Path(outputs['sent'], 'skip.log').write_text('')\n"
    )
    placed = OutputFileDatasetConfig("placed").register_on_complete("result", "what came out", {"k": "v"})
    sent = OutputFileDatasetConfig("sent", destination=(store, "sent/{run-id}/{output-name}"))
    sent = sent.as_upload(source_globs=["*.csv"]).read_delimited_files().register_on_complete("rows")
    run = submit(code, [placed, sent])
    said = told(run)
    assert said["arguments"] == [said["outputs"]["placed"], said["outputs"]["sent"]]
    assert said["variables"]["AZUREML_DATASET_FILE_OUTPUTS"] == "placed;sent"
    assert said["outputs"]["placed"].endswith(f"/workspaceblobstore/dataset/{run.id}/placed")
    result = Dataset.get_by_name(workspace, "result")
    assert (result.to_path(), result.description, result.tags) == (["/r.csv"], "what came out", {"k": "v"})
    assert Dataset.get_by_name(workspace, "rows").to_pandas_dataframe().to_dict("list") == {"n": [1]}
    assert Dataset.File.from_files((store, f"sent/{run.id}/sent")).to_path() == ["/r.csv"]
    left = {it["outputDetails"]["outputName"]: it["dataset"] for it in run.get_details()["outputDatasets"]}
    assert {name: (it.name, it.version) for name, it in left.items()} == {"placed": ("result", 1), "sent": ("rows", 1)}
    assert left["sent"].to_pandas_dataframe().to_dict("list") == {"n": [1]}


def test_a_failed_run_keeps_what_it_wrote_and_registers_nothing(workspace, store, submit):
    code = "import sys, pathlib; pathlib.Path(sys.argv[1], 'half').write_text('x'); sys.exit(3)"
    output = OutputFileDatasetConfig("out", (store, "failed/{run-id}")).as_upload().register_on_complete("never")
    run = submit(code, [output])
    with pytest.raises(ActivityFailedException, match="exit code 3"):
        run.wait_for_completion()
    assert Dataset.File.from_files((store, f"failed/{run.id}")).to_path() == ["/half"]
    assert "never" not in workspace.datasets


def test_an_output_that_would_overwrite_is_refused_before_the_script(store, submit):
    output = OutputFileDatasetConfig("out", (store, "first")).as_upload()
    run = submit("print('ran')", [output])
    with pytest.raises(ActivityFailedException, match="Pass overwrite=True"):
        run.wait_for_completion()


def test_data_that_is_not_there_ends_the_run_with_a_sentence(store, submit):
    run = submit("", [Dataset.File.from_files((store, "first/*.never"), validate=False).as_mount()])
    with pytest.raises(
        ActivityFailedException, match=r"'first/\*\.never' of datastore 'workspaceblobstore' matches no"
    ):
        run.wait_for_completion()


def test_tables_are_read_in_a_job(workspace, store, submit):
    Dataset.Tabular.from_delimited_files((store, "first/table.csv")).register(workspace, "table")
    code = (
        "from azureml.core import Dataset, Run\n"
        "run = Run.get_context()\n"
        "given = run.input_datasets['table'].to_pandas_dataframe()\n"
        "found = Dataset.get_by_name(run.experiment.workspace, 'table').keep_columns('y').to_pandas_dataframe()\n"
        "run.log('x', int(given.x.sum())); run.log('y', float(found.y.sum()))\n"
    )
    run = submit(code, [Dataset.get_by_name(workspace, "table").as_named_input("table")])
    run.wait_for_completion()
    assert run.get_metrics() == {"x": 6, "y": 10.5}


# R7: web data, mounted


def digits_as_idx(count, seed):
    """Images and labels in MNIST's form: a label's image is bright in the row of its number."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count).astype(">u1")
    images = random.integers(0, 60, (count, 28, 28)).astype(">u1")
    for image, label in zip(images, labels, strict=True):
        image[2 * label : 2 * label + 2] = 250
    head = (0x803).to_bytes(4, "big") + count.to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
    return (
        gzip.compress(head + images.tobytes()),
        gzip.compress((0x801).to_bytes(4, "big") + count.to_bytes(4, "big") + labels.tobytes()),
    )


TRAIN = """
import argparse, glob, gzip, os, struct
import numpy as np
from sklearn.linear_model import SGDClassifier
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument('--data-folder', type=str, dest='data_folder')
parser.add_argument('--batch-size', type=int)
args = parser.parse_args()
def load(name, label=False):
    with gzip.open(glob.glob(os.path.join(args.data_folder, '**/' + name), recursive=True)[0]) as gz:
        gz.read(4)
        n = struct.unpack('>I', gz.read(4))[0]
        if not label:
            gz.read(8)
        found = np.frombuffer(gz.read(), dtype=np.uint8)
    return found if label else found.reshape(n, 784) / 255
parts = {part: (load(part + '-images-idx3-ubyte.gz'), load(part + '-labels-idx1-ubyte.gz', True))
         for part in ('train', 't10k')}
model = SGDClassifier(max_iter=20, tol=None, random_state=0).fit(*parts['train'])
Run.get_context().log('accuracy', float(model.score(*parts['t10k'])))
"""


def test_a_web_dataset_is_registered_and_trains(workspace, submit, monkeypatch):
    with serving() as web:
        for part, count in (("train", 400), ("t10k", 100)):
            images, labels = digits_as_idx(count, seed=count)
            web.content[f"/mnist/{part}-images-idx3-ubyte.gz"] = images
            web.content[f"/mnist/{part}-labels-idx1-ubyte.gz"] = labels
        web.tags = {path: f'"{path}"' for path in web.content}
        public = "https://azureopendatastorage.blob.core.windows.net"
        monkeypatch.setenv("TRAINYARD_URL_MAP", json.dumps({public: web.url}))
        dataset = Dataset.File.from_files(path=[public + path for path in web.content])
        dataset = dataset.register(
            workspace=workspace, name="mnist", description="training and test dataset", create_new_version=True
        )
        assert dataset.to_path()[0].endswith("/mnist/train-images-idx3-ubyte.gz")
        for _ in range(2):
            run = submit(TRAIN, ["--data-folder", dataset.as_mount(), "--batch-size", 64])
            run.wait_for_completion()
            assert run.get_metrics()["accuracy"] > 0.9
        assert [path for method, path, _ in web.asked if method == "GET"].count("/mnist/t10k-labels-idx1-ubyte.gz") == 1


# A store whose credentials only the service has


@pytest.fixture
def s3(workspace):
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    connection = http.client.HTTPConnection(host, port)
    connection.request("PUT", "/bench")
    assert connection.getresponse().status == 200
    connection.close()
    yield Datastore.register_s3_bucket(workspace, "s3", "bench", "key", "hush", endpoint=f"http://{host}:{port}")
    Datastore.get(workspace, "s3").unregister()
    server.stop()


def test_a_bucket_is_reached_without_its_credentials(workspace, s3, submit, tmp_path, home):
    (tmp_path / "up").mkdir()
    for number in range(40):
        (tmp_path / f"up/{number:02}.txt").write_text(f"{number}")
    s3.upload(str(tmp_path / "up"), "many", show_progress=False)
    dataset = Dataset.File.from_files((s3, "many/*.txt"))
    assert len(dataset.download(str(tmp_path / "down"))) == 40
    assert (tmp_path / "down/07.txt").read_text() == "7"
    output = OutputFileDatasetConfig("out", (s3, "results")).as_upload(overwrite=True)
    code = TOLD + "open(outputs['out'] + '/r.txt', 'w').write('r'); print(dict(os.environ))"
    run = submit(code, [dataset.as_mount(), output, s3.path("many/01.txt").as_mount()])
    said = told(run)
    assert len(said["files"][said["arguments"][0]]) == 40
    assert Dataset.File.from_files((s3, "results")).to_path() == ["/r.txt"]
    with pytest.raises(DatasetValidationError, match="'nothing' of datastore 's3' matches no file"):
        Dataset.File.from_files((s3, "nothing"))
    everything = json.dumps(run.get_details_with_logs()) + repr(s3) + repr(vars(s3))
    assert "hush" not in everything
    for name in ("service.log", "trainyard.db", "trainyard.db-wal"):
        if os.path.exists(home.file(name)):
            with open(home.file(name), "rb") as file:
                assert b"hush" not in file.read()


def test_a_bucket_that_is_not_there_is_said_when_it_is_registered(workspace, s3):
    endpoint = s3._record.location["endpoint"]
    with pytest.raises(UserErrorException, match="'nowhere' is not there"):
        Datastore.register_s3_bucket(workspace, "bad", "nowhere", "key", "hush", endpoint=endpoint)
    assert "bad" not in workspace.datastores


def test_the_frameworks_of_2018_get_their_folder(workspace, store, tmp_path):
    """As the TensorFlow page of December 2018 has it."""
    estimator = TensorFlow(
        source_directory=str(tmp_path),
        script_params={"--data-folder": store.path("first").as_mount(), "--batch-size": 50},
        compute_target="local",
        entry_script="train.py",
    )
    assert estimator.run_config.arguments[0] == "--data-folder"
    assert isinstance(estimator.run_config.arguments[1], DataReference)


# Datasets in this process


def test_datasets_are_found_by_name_version_and_id(workspace, store):
    first = Dataset.File.from_files((store, "first/a.txt")).register(workspace, "found", "one", {"a": 1})
    with pytest.raises(UserErrorException, match="create_new_version=True"):
        first.register(workspace, "found")
    second = Dataset.File.from_files((store, "first")).register(workspace, "found", create_new_version=True)
    assert (first.version, second.version) == (1, 2)
    assert Dataset.get_by_name(workspace, "found").version == 2
    assert Dataset.get_by_name(workspace, "found", version=1).to_path() == ["/a.txt"]
    assert Dataset.get_by_id(workspace, first.id).tags == {"a": "1"}
    assert first.add_tags({"b": "2"}).remove_tags(["a"]).tags == {"b": "2"}
    assert first.update(tags={"year": 2020}).tags == {"year": "2020"} == first.tags
    with pytest.raises(UserErrorException, match="tags are a dict"):
        first.add_tags("b")
    assert workspace.datasets["found"].version == 2
    second.unregister_all_versions()
    with pytest.raises(UserErrorException, match="No dataset 'found'"):
        Dataset.get_by_name(workspace, "found")


def test_files_are_downloaded_and_mounted(store, tmp_path):
    dataset = Dataset.File.from_files((store, "first"))
    paths = dataset.download(str(tmp_path / "down"))
    assert [os.path.relpath(path, tmp_path / "down") for path in paths] == ["a.txt", "deep/b.txt", "table.csv"]
    with pytest.raises(UserErrorException, match="overwrite=True"):
        dataset.download(str(tmp_path / "down"))
    some = Dataset.File.from_files([(store, "first/a.txt"), (store, "none/*.txt")], validate=False)
    with pytest.raises(UserErrorException, match=r"'none/\*\.txt' of datastore .* matches no file"):
        some.download(str(tmp_path / "some"))
    assert some.download(str(tmp_path / "some"), ignore_not_found=True) == [str(tmp_path / "some/a.txt")]
    with dataset.mount(str(tmp_path / "there")) as context:
        assert context.mount_point == str(tmp_path / "there")
        assert (tmp_path / "there/deep/b.txt").read_text() == "bb"
    assert not (tmp_path / "there").exists()
    with pytest.raises(UserErrorException, match="is not empty"):
        dataset.mount(str(tmp_path / "down"))
    with pytest.raises(UserErrorException, match="no HDFS"):
        dataset.as_hdfs()


def test_upload_directory_makes_a_dataset(store, tmp_path):
    for name in ("1.png", "2.txt"):
        (tmp_path / name).write_text(name)
    made = Dataset.File.upload_directory(str(tmp_path), DataPath(store, "pictures"), "*.png", show_progress=False)
    assert made.to_path() == ["/1.png"]
    with pytest.raises(UserErrorException, match=r"no file in .* that fits"):
        Dataset.File.upload_directory(str(tmp_path), (store, "pictures"), pattern="*.gif")


def test_frames_are_registered_converted_and_partitioned(workspace, store):
    frame = pd.DataFrame({"state": ["a", "b", "a"], "n": [1, 2, 3]})
    made = Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "frame", show_progress=False)
    assert made.to_pandas_dataframe().to_dict("list") == {"state": ["a", "b", "a"], "n": [1, 2, 3]}
    assert Dataset.Tabular.from_delimited_files(_paths(made.to_csv_files())).to_pandas_dataframe().n.sum() == 6
    assert made.to_parquet_files().to_path() == ["/part-00000.parquet"]
    parted = made.partition_by(["state"], (store, "parted"), show_progress=False)
    assert parted.partition_keys == ["state"]
    assert parted.get_partition_key_values() == [{"state": "a"}, {"state": "b"}]
    only = parted.filter(parted["state"] == "a").to_pandas_dataframe()
    assert sorted(only.n) == [1, 3]


def _paths(files):
    return [(files._workspace.get_default_datastore(), files._definition.sources[0].path + "/*.csv")]


def test_a_table_in_partitions_has_every_row_with_its_values(workspace, store):
    keys = ["a/b", "a_b", ".", "..", "x%2Fy", "ü *?[", None, "", "nan"]
    frame = pd.DataFrame({"key": keys, "n": range(len(keys))})
    made = Dataset.Tabular.register_pandas_dataframe(frame, (store, "whole"), "whole", show_progress=False)
    parted = made.partition_by(["key"], (store, "parted"), show_progress=False)
    read = parted.to_pandas_dataframe().set_index("n")["key"]
    assert [read[n] for n in range(6)] == keys[:6]
    assert [bool(pd.isna(read[n])) for n in range(6, 9)] == [True] * 3  # in a path they are all none
    assert parted.filter(parted["key"] == "a/b").to_pandas_dataframe()["n"].tolist() == [0]


def test_a_query_is_a_table(workspace, tmp_path):
    import sqlite3

    rows = sqlite3.connect(tmp_path / "shop.db")
    rows.executescript("CREATE TABLE t (n INTEGER, at TIMESTAMP); INSERT INTO t VALUES (1, '2020-01-01'), (2, NULL)")
    rows.close()
    shop = Datastore.register_sql(workspace, "shop", f"sqlite:///{tmp_path / 'shop.db'}")
    found = Dataset.Tabular.from_sql_query((shop, "SELECT * FROM t ORDER BY n")).to_pandas_dataframe()
    assert found.n.tolist() == [1, 2]
    with pytest.raises(UserErrorException, match="no such column"):
        Dataset.Tabular.from_sql_query((shop, "SELECT wrong FROM t"))
