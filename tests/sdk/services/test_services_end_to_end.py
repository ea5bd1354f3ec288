"""Models and services through the SDK, against the real service and real fronts, in a home of this module's own."""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.parse

import pytest

from trainyard.client.home import Home
from trainyard.sdk.computes.aks_compute import AksCompute
from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.data.dataset import Dataset
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import ModelPathNotFoundException, UserErrorException, WebserviceException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.models.model import Model
from trainyard.sdk.models.model_profile import ModelProfile
from trainyard.sdk.services import scoring
from trainyard.sdk.services.aci_webservice import AciWebservice
from trainyard.sdk.services.aks_endpoint import AksEndpoint
from trainyard.sdk.services.aks_webservice import AksWebservice
from trainyard.sdk.services.image import ContainerImage, Image
from trainyard.sdk.services.inference_config import InferenceConfig
from trainyard.sdk.services.local_webservice import LocalWebservice
from trainyard.sdk.services.webservice import Webservice
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

SCORE = """\
import json, os
from azureml.core.model import Model

def init():
    global weight, place
    place = os.environ["AZUREML_MODEL_DIR"]
    with open(Model.get_model_path("weights")) as file:
        weight = int(file.read())
    print("init with", weight)

def run(data):
    return {"sum": weight * sum(json.loads(data)["data"]), "by": "FIRST", "in": os.path.basename(place)}
"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "score.py").write_text(SCORE)
    (tmp_path / "weights.txt").write_text("2")
    return tmp_path


@pytest.fixture
def model(workspace, here):
    return Model.register(workspace, "weights.txt", "weights")


def own():
    """The interpreter of the tests: nothing has to be built."""
    environment = Environment("own")
    environment.python.user_managed_dependencies = True
    return environment


def config(**more):
    return InferenceConfig("score.py", environment=own(), **more)


@pytest.fixture
def ended():
    """Services to delete at the end, whatever happened."""
    made = []
    yield made.append
    for service in made:
        try:
            service.delete()
        except WebserviceException as error:
            assert "WebserviceNotFound" in error.message  # noqa: PT017 - deleted by the test itself


def deployed(ended, workspace, name, *arguments, **more):
    service = Model.deploy(workspace, name, *arguments, **more)
    ended(service)
    service.wait_for_deployment()
    return service


# Models


def test_a_folder_is_registered_listed_and_laid_out_again(home, here):
    workspace = Workspace.create("of-models-alone", show_output=False)  # the others share one
    (here / "net" / "variables").mkdir(parents=True)
    (here / "net" / "saved_model.pb").write_bytes(b"graph")
    (here / "net" / "variables" / "data").write_bytes(b"\x00\x01")
    made = Model.register(
        workspace,
        "net",
        "net",
        tags={"area": "digits", "n": 3},
        properties={"p": "q"},
        description="a net",
        model_framework=Model.Framework.TENSORFLOW,
        model_framework_version="2.0",
    )
    assert (made.name, made.version, made.id, made.tags) == ("net", 1, "net:1", {"area": "digits", "n": "3"})
    assert [it.id for it in Model.list(workspace, tags=[["area", "digits"]])] == ["net:1"]
    assert Model.list(workspace, tags=["nothing"]) == []
    assert workspace.models["net"].id == "net:1"
    assert [model.id for model in workspace.models()] == ["net:1"]
    found = workspace.models(tags=["area"])  # a list to some notebooks of 2018, a dict to others
    assert [it.id for it in found] == [it.id for _, it in found.items()] == [found["net"].id] == ["net:1"]
    assert workspace.models()["net"].id == workspace.models(name="net")[0].id == "net:1"
    assert "net" in found
    assert "nothing" not in found
    assert made.download("out") == os.path.join("out", "net")
    assert (here / "out" / "net" / "variables" / "data").read_bytes() == b"\x00\x01"
    with pytest.raises(WebserviceException, match="exists already"):
        made.download("out")
    made.add_tags({"more": "1"})
    made.remove_tags("n")
    made.set_alias("champion")
    again = Model(workspace, "net", alias="champion")
    assert (again.tags, again.aliases) == ({"area": "digits", "more": "1"}, ["champion"])
    assert Model.get_model_path("net", _workspace=workspace) == os.path.join("azureml-models", "net", "1", "net")
    with pytest.raises(WebserviceException, match=r"name net, version 2 not found .* \(there are: net:1\)"):
        Model(workspace, "net", version=2)
    with pytest.raises(WebserviceException, match=r"name net, tags \['area', 'digits'\], 'n' not found"):
        Model(workspace, "net", tags=[["area", "digits"], "n"])
    with pytest.raises(WebserviceException, match=r"Model with name net:1 not found .* Model\(workspace, id='net:1'\)"):
        Model(workspace, "net:1")
    made.delete()
    with pytest.raises(WebserviceException, match="ModelNotFound"):
        Model(workspace, "net")


def test_a_file_that_is_the_model_already_is_no_obstacle_to_its_download(workspace, here):
    made = Model.register(workspace, "weights.txt", "here-already")
    assert made.download(".") == os.path.join(".", "weights.txt")
    (here / "weights.txt").write_text("3")
    with pytest.raises(WebserviceException, match=r"weights\.txt exists already"):
        made.download(".")
    made.download(".", exist_ok=True)
    assert (here / "weights.txt").read_text() == "2"


def test_the_data_of_a_model_are_data_sets(workspace, here):
    (here / "rows.csv").write_text("a,b\n1,2\n")
    store = workspace.get_default_datastore()
    store.upload_files(["rows.csv"], target_path="model-data", show_progress=False)
    rows = Dataset.Tabular.from_delimited_files((store, "model-data/rows.csv")).register(workspace, "rows")
    pairs = [(Dataset.Scenario.TRAINING, rows)]
    Model.register(workspace, "weights.txt", "with-data", datasets=pairs, sample_input_dataset=rows)
    found = Model(workspace, "with-data")
    assert [it.name for it in found.datasets["training"]] == ["rows"]
    assert found.sample_input_dataset.name == "rows"
    assert found.sample_output_dataset is None
    assert [it.id for it in Model.list(workspace, dataset_id=rows.id)] == ["with-data:1"]


def test_bad_models_are_refused(workspace, here):
    with pytest.raises(WebserviceException, match="cannot be found"):
        Model.register(workspace, "nowhere.pkl", "m")
    with pytest.raises(WebserviceException, match="model_framework_version says little"):
        Model.register(workspace, "weights.txt", "m", model_framework_version="2")
    with pytest.raises(WebserviceException, match="cannot be the name of a model"):
        Model.register(workspace, "weights.txt", "a/b")
    (here / "empty").mkdir()
    with pytest.raises(WebserviceException, match="holds no file"):
        Model.register(workspace, "empty", "m")


def test_a_run_s_outputs_become_a_model_and_its_lineage_is_known(workspace, here):
    source = here / "source"
    source.mkdir()
    (source / "train.py").write_text(
        "import os\n"
        "from azureml.core import Run\n"
        "os.makedirs('outputs/model', exist_ok=True)\n"
        "open('outputs/model/weights', 'w').write('7')\n"
        "run = Run.get_context()\n"
        "inside = run.register_model('from-inside', 'outputs/model/weights')\n"
        "print(inside.id)\n"
    )
    script = ScriptRunConfig(source_directory=str(source), script="train.py", environment=own())
    run = Experiment(workspace, "models").submit(script)
    run.wait_for_completion()
    made = run.register_model("from-run", "./outputs/model", tags={"a": "b"})
    assert made.download("there") == os.path.join("there", "model")
    assert (here / "there" / "model" / "weights").read_text() == "7"
    assert (made.run_id, made.experiment_name, made.run.id) == (run.id, "models", run.id)
    assert made._record.lineage.snapshot_id == run.get_snapshot_id()
    inside = Model(workspace, "from-inside")
    assert inside.run_id == run.id
    assert [it.id for it in Model.list(workspace, run_id=run.id)] == ["from-run:1", "from-inside:1"]
    by_address = Model.register(workspace, f"aml://artifactId/ExperimentRun/dcid.{run.id}/outputs/model", "by-address")
    assert by_address._record.content == made._record.content
    with pytest.raises(ModelPathNotFoundException, match="Could not locate the provided model_path outputs/other"):
        run.register_model("other", "outputs/other")


# Services


def test_a_model_is_served_where_it_was_trained(workspace, here, ended):
    pytest.importorskip("sklearn")
    source = here / "training"
    source.mkdir()
    (source / "train.py").write_text(
        "import os, joblib\n"
        "from sklearn.linear_model import LinearRegression\n"
        "os.makedirs('outputs', exist_ok=True)\n"
        "joblib.dump(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), 'outputs/line.joblib')\n"
    )
    script = ScriptRunConfig(source_directory=str(source), script="train.py", environment=own())
    run = Experiment(workspace, "models").submit(script)
    run.wait_for_completion()
    line = run.register_model("line", "outputs/line.joblib", model_framework=Model.Framework.SCIKITLEARN)
    service = deployed(ended, workspace, "trained-here", [line])
    assert f"is user-managed: using {sys.executable}." in service.get_logs()
    assert service.run('{"data": [[2.0]]}') == {"predict": [pytest.approx(5.0)]}


def test_from_deploy_to_delete(workspace, model, ended, capsys):
    service = Model.deploy(
        workspace, "first", [model], config(), AciWebservice.deploy_configuration(cpu_cores=1, tags={"a": "b"})
    )
    ended(service)
    service.wait_for_deployment(show_output=True)
    assert 'ACI service creation operation finished, operation "Succeeded"' in capsys.readouterr().out
    assert (service.state, service.auth_enabled, service.tags) == ("Healthy", False, {"a": "b"})
    assert service.scoring_uri.endswith("/score")
    assert service.run('{"data": [1, 2]}') == {"sum": 6, "by": "FIRST", "in": str(model.version)}
    assert service.run(b'{"data": [5]}')["sum"] == 10
    assert "init with 2" in service.get_logs()
    assert type(Webservice(workspace, "first")) is AciWebservice
    assert [it.name for it in Webservice.list(workspace, model_name="weights")] == ["first"]
    assert list(workspace.webservices) == ["first"]
    with pytest.raises(WebserviceException, match="is deployed in first"):
        model.delete()
    with pytest.raises(WebserviceException, match="exists already"):
        Model.deploy(workspace, "first", [model], config())
    with pytest.raises(NotImplementedError):
        service.get_token()
    service.delete()
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        Webservice(workspace, "first")
    service.delete()  # a cell that is run again
    assert "No service with name first found to delete." in capsys.readouterr().out
    model.delete()


def test_an_update_fails_no_request(workspace, here, model, ended):
    service = deployed(ended, workspace, "rolling", [model], config(), AciWebservice.deploy_configuration(cpu_cores=1))
    answers, failures, over = set(), [], threading.Event()

    def ask():
        address = urllib.parse.urlsplit(service.scoring_uri)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        while not over.is_set():
            connection.request("POST", address.path, b'{"data": [1]}', {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = json.loads(answer.read())
            if answer.status == 200:
                answers.add((said["by"], said["sum"]))
            else:
                failures.append((answer.status, said))
        connection.close()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        (here / "weights.txt").write_text("5")
        (here / "score.py").write_text(SCORE.replace("FIRST", "SECOND"))
        second = Model.register(workspace, "weights.txt", "weights")
        service.update(models=[second], inference_config=config(), tags={"new": "yes"})
        service.wait_for_deployment()
        until = time.monotonic() + 30
        while ("SECOND", 5) not in answers and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        over.set()
        asking.join()
    assert failures == []
    assert answers == {("FIRST", 2), ("SECOND", 5)}
    assert service.tags == {"new": "yes"}


def test_a_version_that_does_not_start_leaves_the_old_one_serving(workspace, here, model, ended):
    configuration = AksWebservice.deploy_configuration(num_replicas=1)
    service = deployed(ended, workspace, "keeps", [model], config(), configuration)
    (here / "score.py").write_text("def init():\n    raise ValueError('no such thing')\ndef run(data):\n    return 1\n")
    service.update(inference_config=config())
    with pytest.raises(WebserviceException, match="ValueError: no such thing"):
        service.wait_for_deployment()
    assert service.run('{"data": [1]}')["by"] == "FIRST"
    service.update_deployment_state()
    assert (service.state, service.error.partition("\n")[0]) == ("Healthy", "ValueError: no such thing")
    service.update(num_replicas=2)
    service.wait_for_deployment()
    assert (service.num_replicas, service.error, service.run('{"data": [1]}')["by"]) == (2, None, "FIRST")
    (here / "score.py").write_text(SCORE.replace("FIRST", "MENDED"))
    service.update(inference_config=config())
    service.wait_for_deployment()
    assert service.run('{"data": [1]}')["by"] == "MENDED"


def test_a_version_takes_traffic_after_it_answered_its_smoke_test(workspace, here, model, ended):
    configuration = AciWebservice.deploy_configuration(smoke_test={"data": [1]})
    service = deployed(ended, workspace, "smoke", [model], config(), configuration)
    (here / "score.py").write_text(SCORE.replace('weight * sum(json.loads(data)["data"])', "no_such_name"))
    service.update(inference_config=config())
    with pytest.raises(WebserviceException, match="The smoke test was answered with 500"):
        service.wait_for_deployment()
    assert service.run('{"data": [1]}')["by"] == "FIRST"


def test_a_first_deployment_that_fails_says_why(workspace, here, model, ended):
    (here / "score.py").write_text("import no_such_module\ndef init():\n    pass\ndef run(data):\n    return 1\n")
    service = Model.deploy(workspace, "broken", [model], config())
    ended(service)
    with pytest.raises(WebserviceException, match="No module named 'no_such_module'"):
        service.wait_for_deployment()
    assert service.state == "Failed"
    assert "no_such_module" in service.get_logs()


def test_what_makes_no_sense_is_refused_before_anything_is_made(workspace, here, model):
    with pytest.raises(WebserviceException, match="3 to 32 lower-case letters"):
        Model.deploy(workspace, "Not_A_Name", [model], config())
    with pytest.raises(UserErrorException, match="exactly one model"):
        Model.deploy(workspace, "none", [])
    with pytest.raises(UserErrorException, match="no model_framework"):
        Model.deploy(workspace, "none", [model])
    wrong = Model.register(workspace, "weights.txt", "wrong", model_framework=Model.Framework.TENSORFLOW)
    with pytest.raises(UserErrorException, match=r"Expected for TensorFlow: a SavedModel folder.*It has: weights\.txt"):
        Model.deploy(workspace, "none", [wrong])
    for text, says in (("def run(d):\n    pass\n", r"does not define init\(\)"), ("def init(:\n", "not valid Python")):
        (here / "score.py").write_text(text)
        with pytest.raises(WebserviceException, match=says):
            config()
    with pytest.raises(WebserviceException, match="There is no entry script"):
        InferenceConfig("nowhere.py", environment=own())
    with pytest.raises(WebserviceException, match=r"it must be an InferenceConfig\(entry_script"):
        Model.deploy(workspace, "none", [model], "score.py")
    with pytest.raises(WebserviceException, match=r"it must be an InferenceConfig\(entry_script"):
        Model.package(workspace, [model], "score.py", generate_dockerfile=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (here / "score.py").write_text(SCORE)
        port = LocalWebservice.deploy_configuration(port=taken.getsockname()[1])
        with pytest.raises(WebserviceException, match="is taken by another program"):
            Model.deploy(workspace, "none", [model], config(), port)
    assert [it.name for it in Webservice.list(workspace)] == []


def test_keys_and_tokens(workspace, model, ended):
    target = ComputeTarget.create(workspace, "my-aks", AksCompute.provisioning_configuration())
    target.wait_for_completion()
    assert (type(target), target.provisioning_state) == (AksCompute, "Succeeded")
    more = AksWebservice.deploy_configuration(num_replicas=1, primary_key="a-key-of-my-own-making")
    service = deployed(ended, workspace, "locked", [model], config(), more, target)
    assert (service.auth_enabled, service.compute_name) == (True, "my-aks")
    old, second = service.get_keys()
    assert old == "a-key-of-my-own-making"

    def status(key):
        return scoring.post(service.scoring_uri, '{"data": [1]}', {"Authorization": f"Bearer {key}"}).status

    assert (status(old), status(second), status("another"), status("")) == (200, 200, 401, 401)
    assert service.run('{"data": [1]}')["sum"] == 2
    service.regen_key("Primary")
    assert (status(old), status(service.get_keys()[0]), status(second)) == (401, 200, 200)
    assert service.run('{"data": [1]}')["sum"] == 2  # one that has an old key asks for the new one
    with pytest.raises(WebserviceException, match="neither 'Primary' nor 'Secondary'"):
        service.regen_key("Third")
    service.update(auth_enabled=False, token_auth_enabled=True)
    service.wait_for_deployment()
    token, refresh = service.get_token()
    assert refresh.timestamp() > time.time()
    assert (status(token), status(service.get_keys()[0])) == (200, 401)
    with open(os.path.join(workspace._connection.http.home.path, "trainyard.db"), "rb") as rows:
        assert second.encode() not in rows.read()  # keys are kept, but not in the clear


def test_versions_of_an_endpoint_share_the_traffic(workspace, here, model, ended):
    first = AksEndpoint.deploy_configuration(version_name="a", traffic_percentile=40, auth_enabled=False)
    endpoint = deployed(ended, workspace, "endpoint", [model], config(), first)
    assert {name: it.traffic_percentile for name, it in endpoint.versions.items()} == {"a": 100}
    (here / "score.py").write_text(SCORE.replace("FIRST", "SECOND"))
    endpoint.create_version("b", models=[model], inference_config=config(), traffic_percentile=10, tags={"v": "2"})
    endpoint.wait_for_deployment()
    assert {name: it.traffic_percentile for name, it in endpoint.versions.items()} == {"a": 90, "b": 10}
    assert (endpoint.versions["a"].is_default, endpoint.versions["b"].tags) == (True, {"v": "2"})
    said = [endpoint.run('{"data": [1]}')["by"] for _ in range(20)]
    assert (said.count("FIRST"), said.count("SECOND")) == (18, 2)
    endpoint.update_version("b", is_default=True, is_control_version_type=True, traffic_percentile=60)
    endpoint.wait_for_deployment()
    assert (endpoint.versions["b"].is_default, endpoint.versions["b"].version_type) == (True, "Control")
    assert {name: it.traffic_percentile for name, it in endpoint.versions.items()} == {"a": 40, "b": 60}
    with pytest.raises(WebserviceException, match="would take 120 per cent"):
        endpoint.create_version("c", models=[model], inference_config=config(), traffic_percentile=20)
    endpoint.delete_version("a")
    endpoint.wait_for_deployment()
    assert {endpoint.run('{"data": [1]}')["by"] for _ in range(5)} == {"SECOND"}
    with pytest.raises(WebserviceException, match="is the only version"):
        endpoint.delete_version("b")


def test_a_local_service_is_loaded_again(workspace, here, ended):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (here / "score.py").write_text(SCORE.replace('"weights"', '"weights.txt"'))
    config_of_port = LocalWebservice.deploy_configuration(port=port)
    service = deployed(ended, workspace, "local", ["weights.txt"], config(), config_of_port)
    assert (service.state, service.port, service.scoring_uri) == ("running", port, f"http://localhost:{port}/score")
    assert service.run('{"data": [1]}')["by"] == "FIRST"
    (here / "score.py").write_text(SCORE.replace('"weights"', '"weights.txt"').replace("FIRST", "RELOADED"))
    service.reload()
    assert service.run('{"data": [1]}')["by"] == "RELOADED"
    with socket.create_server(("127.0.0.1", 0)) as free:
        other = free.getsockname()[1]
    service.update(deployment_config=LocalWebservice.deploy_configuration(port=other), wait=True)
    assert (service.port, service.run('{"data": [1]}')["by"]) == (other, "RELOADED")
    assert [it.name for it in LocalWebservice.list(workspace)] == ["local"]
    service.delete()
    assert service.state == "deleted"


def test_the_images_of_2018(workspace, here, model, ended):
    settings = ContainerImage.image_configuration("score.py", "python", tags={"area": "x"}, description="said")
    image = Image.create(workspace, "image", [model], settings)
    image.wait_for_creation()
    assert (image.name, image.version, image.creation_state) == ("image", 1, "Succeeded")
    assert [it.id for it in Image.list(workspace, tags=["area"])] == ["image:1"]
    service = Webservice.deploy_from_image(workspace, "from-image", image, AciWebservice.deploy_configuration())
    ended(service)
    service.wait_for_deployment()
    assert (service.image_id, service.image.id) == ("image:1", "image:1")
    assert service.run('{"data": [3]}')["sum"] == 6
    assert [it.image_location for it in workspace.images()] == [image.image_location]
    assert service.scoring_uri in [it.scoring_uri for it in workspace.webservices()]
    image.delete()
    assert Image.list(workspace) == []


def test_a_profile_measures(workspace, model):
    profile = Model.profile(workspace, "measured", [model], config(), ['{"data": [1]}'] * 20, cpu=1.0, memory_in_gb=0.5)
    profile.wait_for_completion()
    details = ModelProfile(workspace, "measured").get_details()
    assert (details["state"], details["totalQueries"], details["successQueries"]) == ("Succeeded", 20, 20)
    assert 0 < details["latencyPercentile50InMs"] <= details["latencyPercentile99InMs"]
    assert profile.recommended_memory > 0
    assert [it.name for it in Webservice.list(workspace)] == []


# Faults


def test_a_front_that_is_killed_comes_back_where_it_was(workspace, model, ended):
    service = deployed(ended, workspace, "killed", [model], config(), AciWebservice.deploy_configuration())
    home = workspace._connection.http.home
    with open(home.file("services", service._record.id, "status.json"), encoding="utf-8") as file:
        pid = json.load(file)["pid"]
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while True:
        try:
            assert service.run('{"data": [1]}')["sum"] == 2
            break
        except WebserviceException:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_requests_are_answered_while_the_service_itself_is_killed(workspace, model, ended):
    service = deployed(ended, workspace, "apart", [model], config(), AciWebservice.deploy_configuration())
    home = Home(workspace._connection.http.home.path)
    running = home.running()
    os.kill(running.pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while home.locked() and time.monotonic() < until:
        time.sleep(0.01)
    assert service.run('{"data": [4]}')["sum"] == 8
    service.update_deployment_state()  # starts the next one, which finds the front
    assert home.running().pid != running.pid
    assert (service.state, service.run('{"data": [4]}')["sum"]) == ("Healthy", 8)
    service.delete()
    with pytest.raises(WebserviceException, match="Could not reach"):
        scoring.post(service.scoring_uri, b"", {})


def test_files_that_somebody_removed_are_laid_out_again(workspace, model, ended):
    service = deployed(ended, workspace, "gone", [model], config(), AciWebservice.deploy_configuration())
    home = workspace._connection.http.home
    folder = home.file("services", service._record.id)
    [version] = os.listdir(os.path.join(folder, "versions"))
    os.rename(os.path.join(folder, "versions", version), os.path.join(folder, "taken"))
    with open(os.path.join(folder, "status.json"), encoding="utf-8") as file:
        os.kill(json.load(file)["pid"], signal.SIGKILL)
    until = time.monotonic() + 60
    while not os.path.isdir(os.path.join(folder, "versions", version)):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_model_whose_content_is_damaged_is_not_served(workspace, here, ended):
    (here / "weights.txt").write_text("99")
    model = Model.register(workspace, "weights.txt", "damaged")
    home = workspace._connection.http.home
    from trainyard.blobs.snapshot import read_manifest

    [entry] = read_manifest(workspace._connection.blobs(), model._record.content)
    path = os.path.join(home.blobs, entry.digest[:2], entry.digest[2:])
    os.chmod(path, 0o600)
    with open(path, "w") as file:
        file.write("66")
    service = Model.deploy(workspace, "damaged", [model], config())
    ended(service)
    with pytest.raises(WebserviceException, match="damaged on its way or on disk"):
        service.wait_for_deployment()
    os.unlink(path)  # the next who stores these bytes stores them whole


def test_keys_change_and_the_service_restarts_while_requests_flow(workspace, model, ended):
    """Whatever happens beside it, a request with a good key is answered: none is refused, none is lost."""
    service = deployed(
        ended, workspace, "flowing", [model], config(), AksWebservice.deploy_configuration(num_replicas=1)
    )
    _, second = service.get_keys()
    statuses, over = [], threading.Event()

    def ask():
        while not over.is_set():
            answer = scoring.post(service.scoring_uri, '{"data": [1]}', {"Authorization": f"Bearer {second}"})
            statuses.append(answer.status)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(3):
            service.regen_key("Primary")
        home = Home(workspace._connection.http.home.path)
        os.kill(home.running().pid, signal.SIGKILL)
        before = len(statuses)
        service.regen_key("Primary")  # by the next service, which is started for it
        until = time.monotonic() + 30
        while len(statuses) < before + 20 and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        over.set()
        for thread in asking:
            thread.join()
    assert len(statuses) > 20
    assert set(statuses) == {200}


def test_two_who_deploy_the_same_name_at_once(workspace, model, ended):
    made, refused = [], []

    def deploy():
        try:
            made.append(Model.deploy(workspace, "same", [model], config(), AciWebservice.deploy_configuration()))
        except WebserviceException as error:
            refused.append(error.message)

    threads = [threading.Thread(target=deploy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended(made[0])
    assert (len(made), len(refused)) == (1, 3)
    assert all("exists already" in message for message in refused)


def test_runs_are_not_submitted_to_what_serves(workspace, here):
    ComputeTarget.create(workspace, "serves", AksCompute.provisioning_configuration())
    (here / "train.py").write_text("print(1)")
    script = ScriptRunConfig(source_directory=str(here), script="train.py", compute_target="serves", environment=own())
    with pytest.raises(UserErrorException, match="is an AksCompute: services are deployed to it"):
        Experiment(workspace, "refused").submit(script)
