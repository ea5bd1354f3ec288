import pytest

from trainyard.sdk.errors import RunEnvironmentException, UserErrorException
from trainyard.sdk.runs.run import Run


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    monkeypatch.delenv("TRAINYARD_JOB", raising=False)


def test_it_says_what_it_would_log(capsys):
    run = Run.get_context()
    run.log("loss", 0.5)
    assert capsys.readouterr().out == "Attempted to log scalar metric loss:\n0.5\n"
    assert run.id.startswith("OfflineRun_")
    with run.child_run() as child:
        assert child.id != run.id
    with pytest.raises(UserErrorException):
        run.log("loss", [1])


def test_it_says_what_else_it_would_log(capsys):
    run = Run.get_context()
    run.log_image("curve", path="curve.png")
    run.log_confusion_matrix("matrix", {"data": 1})
    assert capsys.readouterr().out == (
        "Attempted to log image curve:\ncurve.png\nAttempted to log confusion matrix matrix:\n{'data': 1}\n"
    )
    with pytest.raises(UserErrorException, match="either path="):
        run.log_image("curve")


@pytest.mark.parametrize("name", ["get_metrics", "get_status", "parent", "experiment"])
def test_what_needs_a_service_is_not_there(name):
    with pytest.raises(AttributeError, match="not part of a submitted run"):
        getattr(Run.get_context(), name)


def test_a_submitted_run_is_not_made_up():
    with pytest.raises(RunEnvironmentException, match="not part of a submitted run"):
        Run.get_submitted_run()
