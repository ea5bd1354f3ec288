import pytest

from trainyard.contract import errors
from trainyard.contract.runs import RunError, RunRecord
from trainyard.contract.states import RunState
from trainyard.sdk import errors as sdk
from trainyard.sdk import html
from trainyard.sdk.runs import run_details
from trainyard.sdk.times import duration, iso


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (errors.UnknownCompute("c", []), sdk.ComputeTargetException),
        (errors.UnknownWorkspace("w"), sdk.WorkspaceException),
        (errors.TooManyNodes("c", 3, 2), sdk.UserErrorException),
        (errors.InvalidName("a run", "x", "rule"), sdk.UserErrorException),
        (errors.NotAuthenticated("no"), sdk.AuthenticationException),
        (errors.SnapshotRefused("no"), sdk.SnapshotException),
        (errors.UnknownFile("r", "f"), sdk.UserErrorException),
        (errors.UnknownRun("r"), sdk.ServiceException),
        (errors.ServiceUnavailable("no"), sdk.ServiceException),
    ],
)
def test_each_error_of_ours_becomes_the_sdks(ours, theirs):
    found = sdk.translated(ours)
    assert type(found) is theirs
    assert (found.message, found.inner_exception) == (ours.message, ours)


def test_every_exception_is_an_azureml_exception():
    kinds = [kind for kind in vars(sdk).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    ours = [kind for kind in kinds if kind.__module__ == "azureml.exceptions"]  # as users import them
    assert len(ours) == 20
    assert all(issubclass(kind, sdk.AzureMLException) for kind in ours)


def test_what_anyone_wrote_is_escaped():
    shown = html.table({"<b>": "<script>", "Link": ('"x"', 'http://h/?a="b"')})
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert 'href="http://h/?a=&quot;b&quot;"' in shown


def test_times_are_utc_with_a_z():
    assert iso(1_600_000_000_123_456_789) == "2020-09-13T12:26:40.123456Z"
    assert iso(None) is None
    assert duration(120) == "PT120S"


def test_details_of_a_failed_run():
    error = RunError("UserError", "It exited with 3. Read its log.", exit_code=3, last_lines=("one", "two"))
    record = RunRecord(
        "r", "w", "e", 1, RunState.FAILED, "why", 1, 5, "me", 0, target="local", ended_ns=2_000_000_000, error=error
    )
    found = run_details.details(None, record, {"azureml-logs/70_driver_log.txt": "url"})
    assert list(found) == [
        "runId", "target", "status", "endTimeUtc", "services", "error", "properties", "inputDatasets",
        "outputDatasets", "logFiles", "submittedBy",
    ]  # fmt: skip
    assert found["error"]["error"]["message"] == "It exited with 3. Read its log."
    assert run_details.failure_message(error)[0] == (
        "It exited with 3. Read its log.\nThe last lines it wrote:\n    one\n    two"
    )
