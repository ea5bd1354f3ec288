"""What users get wrong is said at once, in a sentence that ends with the next step, and queues nothing."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from azureml.core import Datastore, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.webservice import Webservice
from azureml.exceptions import (
    AuthenticationException,
    ExperimentExecutionException,
    ServiceException,
    UserErrorException,
    WebserviceException,
    WorkspaceException,
)


@pytest.fixture
def nothing_queued(shared):
    """Whatever the test tried, no run was made."""
    shared.service_pid()
    before = shared.rows("SELECT count(*) FROM runs")
    yield
    assert shared.rows("SELECT count(*) FROM runs") == before


def submit(shared, **config):
    return Experiment(shared.workspace, "bad").submit(ScriptRunConfig(**config))


def test_a_missing_script(shared, nothing_queued, tmp_path):
    with pytest.raises(ExperimentExecutionException, match=r"The script train\.py is not in the source_directory .*\."):
        submit(shared, source_directory=str(tmp_path), script="train.py")


def test_a_script_outside_of_the_source(shared, nothing_queued, tmp_path):
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "src").mkdir()
    with pytest.raises(ExperimentExecutionException, match="outside of the source_directory"):
        submit(shared, source_directory=str(tmp_path / "src"), script="../outside.py")


def test_a_missing_directory(shared, nothing_queued, tmp_path):
    with pytest.raises(UserErrorException, match=r"does not exist\. Give the folder that holds your script\."):
        submit(shared, source_directory=str(tmp_path / "nowhere"), script="train.py")


def test_an_unknown_target(shared, nothing_queued):
    with pytest.raises(ComputeTargetException, match="ComputeTargetNotFound: Compute Target with name nowhere"):
        shared.submit("", target="nowhere")


@pytest.mark.parametrize(("target", "nodes"), [("pair", 3), (None, 10_000)])
def test_more_nodes_than_there_are(shared, target, nodes):
    settings = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
    ComputeTarget.create(shared.workspace, "pair", settings).wait_for_completion()
    before = shared.rows("SELECT count(*) FROM runs")
    with pytest.raises(UserErrorException, match=f"asks for {nodes} nodes"):
        shared.submit("", target=target, nodes=nodes)
    assert shared.rows("SELECT count(*) FROM runs") == before


@pytest.mark.parametrize("argument", [object(), lambda: 1, {"a", "b"}, open])
def test_an_argument_that_does_not_serialise(shared, nothing_queued, tmp_path, argument):
    (tmp_path / "train.py").write_text("")
    with pytest.raises(UserErrorException, match="argument"):
        submit(shared, source_directory=str(tmp_path), script="train.py", arguments=["--x", argument])


BAD_NAMES = ["a/b", "../up", ".hidden", "two words", "", "-dash", "x" * 300, "tab\tbed", "nul\0", "a.b", 5, None]


@pytest.mark.parametrize("name", [*BAD_NAMES, "%2F", "né"])
def test_names_of_what_is_not_there(shared, name):
    """Looking for it says that it is not there, however odd its name: scripts catch that and make it."""
    workspace = shared.workspace
    with pytest.raises(ComputeTargetException, match="ComputeTargetNotFound"):
        ComputeTarget(workspace, name)
    with pytest.raises(ServiceException, match="No run "):
        Run(Experiment(workspace, "odd"), name)
    with pytest.raises(UserErrorException, match="No datastore named "):
        Datastore.get(workspace, name)
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        Webservice(workspace, name)


@pytest.mark.parametrize("name", [*BAD_NAMES, "né\u0301e", "実験", "Größe"])
def test_experiment_names(shared, nothing_queued, name):
    with pytest.raises((UserErrorException, TypeError, ValueError), match=r"(?i)name"):
        Experiment(shared.workspace, name)


@pytest.mark.parametrize("text", ["Größe/実験 ✓", "\u202eright to left", "a\nb"])
def test_words_of_other_scripts_are_kept_where_words_are_free(shared, text, tmp_path):
    run = Experiment(shared.workspace, "files").start_logging(
        snapshot_directory=None, outputs=str(shared.root / "o"), display_name=text, tags={text: text}
    )
    run.log(text, 1)
    (tmp_path / "file").write_text("content")
    run.upload_file(f"outputs/{text}", str(tmp_path / "file"))
    run.complete()
    assert (run.display_name, run.get_tags(), run.get_metrics()) == (text, {text: text}, {text: 1})
    run.download_file(f"outputs/{text}", str(tmp_path / "back"))
    assert (tmp_path / "back").read_text() == "content"


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../../b", "..", "x\0y", "n" * 2000])
def test_file_names_that_climb(shared, name, tmp_path):
    run = Experiment(shared.workspace, "files").start_logging(snapshot_directory=None, outputs=str(shared.root / "o"))
    (tmp_path / "file").write_text("content")
    with pytest.raises(UserErrorException, match="cannot be the name of a file"):
        run.upload_file(name, str(tmp_path / "file"))
    run.complete()


@pytest.mark.parametrize("name", ["/etc/passwd", "\\\\server\\share", "./a//b"])
def test_file_names_that_are_made_tame(shared, name, tmp_path):
    run = Experiment(shared.workspace, "files").start_logging(snapshot_directory=None, outputs=str(shared.root / "o"))
    (tmp_path / "file").write_text("content")
    run.upload_file(name, str(tmp_path / "file"))
    run.complete()
    [kept] = run.get_file_names()
    assert kept in ("etc/passwd", "server/share", "a/b")
    run.download_files(output_directory=str(tmp_path / "out"))
    assert (tmp_path / "out" / kept).read_text() == "content"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{oops", "is not a readable JSON file"),
        ("[]", "must hold a JSON object"),
        ('{"subscription_id": "s"}', "lacks resource_group, workspace_name"),
        ('{"subscription_id": "s", "resource_group": "g", "workspace_name": ""}', "lacks workspace_name"),
        ("\ufeff", "is not a readable JSON file"),
    ],
)
def test_a_config_file_that_is_no_good(shared, tmp_path, text, says):
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserErrorException, match=says):
        Workspace.from_config(str(tmp_path))


def config_with(tmp_path, endpoint: str) -> str:
    said = {"subscription_id": "s", "resource_group": "g", "workspace_name": "yard", "endpoint": endpoint}
    (tmp_path / "config.json").write_text(json.dumps(said))
    return str(tmp_path)


def test_an_endpoint_where_nobody_listens(shared, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("TRAINYARD_TOKEN", "mine")
    with pytest.raises(ServiceException, match=f"Cannot reach the service at http://127.0.0.1:{port}"):
        Workspace.from_config(config_with(tmp_path, f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize("endpoint", ["not-an-address", "ftp://host", "http://", "http://127.0.0.1:notaport"])
def test_an_endpoint_that_is_none(shared, tmp_path, monkeypatch, endpoint):
    monkeypatch.setenv("TRAINYARD_TOKEN", "mine")
    with pytest.raises(ServiceException, match=r"Correct TRAINYARD_ENDPOINT, or `endpoint` in config\.json"):
        Workspace.from_config(config_with(tmp_path, endpoint))


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>hello</html>"), (404, b"no"), (500, b"{}")])
def test_an_endpoint_that_is_something_else(shared, tmp_path, monkeypatch, status, body):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("TRAINYARD_TOKEN", "mine")
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(ServiceException, match="something that is not Trainyard"):
                Workspace.from_config(config_with(tmp_path, f"http://127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
            thread.join()


def test_a_wrong_token(shared, tmp_path, monkeypatch):
    url = shared.home.ensure_running().url
    monkeypatch.setenv("TRAINYARD_TOKEN", "not-the-one")
    with pytest.raises(AuthenticationException, match=r"(?i)token"):
        Workspace.from_config(config_with(tmp_path, url))


def test_no_token(shared, tmp_path, monkeypatch):
    monkeypatch.delenv("TRAINYARD_TOKEN", raising=False)
    with pytest.raises(ServiceException, match=r"needs a token and TRAINYARD_TOKEN is not set\. Set it"):
        Workspace.from_config(config_with(tmp_path, shared.home.ensure_running().url))


def test_a_workspace_that_is_not_there_yet_is_to_be_made_there_and_not_here(shared, tmp_path, monkeypatch):
    url = shared.home.ensure_running().url
    monkeypatch.setenv("TRAINYARD_TOKEN", shared.home.token())
    path = tmp_path / "config.json"
    names = {"subscription_id": "s", "resource_group": "g", "workspace_name": "unmade"}
    path.write_text(json.dumps({**names, "endpoint": url}))
    with pytest.raises(WorkspaceException) as refused:
        Workspace.from_config(str(path))
    assert refused.value.message == (
        f"{url} has no workspace 'unmade' that {path} names. Make it there: set TRAINYARD_ENDPOINT={url} and call "
        "Workspace.create(name='unmade', subscription_id='s', resource_group='g')."
    )
    monkeypatch.setenv("TRAINYARD_ENDPOINT", url)
    Workspace.create(name="unmade", subscription_id="s", resource_group="g")
    assert Workspace.from_config(str(path)).name == "unmade"


def test_the_right_token_from_elsewhere(shared, tmp_path, monkeypatch):
    url, token = shared.home.ensure_running().url, shared.home.token()
    assert shared.workspace.name == "yard"
    monkeypatch.setenv("TRAINYARD_TOKEN", token)
    monkeypatch.setenv("TRAINYARD_ENDPOINT", url)
    assert Workspace.get("yard").name == "yard"
