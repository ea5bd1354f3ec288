"""What a job logs, read by the job itself while its agent ships the same."""

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

JOB = """\
from azureml.core import Run
run = Run.get_context()
for step in range(300):
    run.log("loss", float(step), step=step)
    if step % 10 == 0:
        seen = run.get_metrics("loss")["loss"]
        assert (seen if step else [seen]) == [float(each) for each in range(step + 1)], (step, seen)
for part in range(3):
    run.log("text", "x" * 400_000)
run.flush()
assert len(run._runs.metrics(run.id, "text")[0].values) == 3
run.log("last", 1)
run.complete()
"""


def test_a_job_sees_at_once_what_it_logged_and_nothing_is_there_twice(home, tmp_path):
    workspace = Workspace.create("yard", exist_ok=True, show_output=False)
    (tmp_path / "train.py").write_text(JOB)
    own = Environment("own")
    own.python.user_managed_dependencies = True
    run = Experiment(workspace, "seen").submit(ScriptRunConfig(str(tmp_path), "train.py", environment=own))
    run.wait_for_completion()
    assert run.get_metrics("loss") == {"loss": [float(each) for each in range(300)]}
    assert (len(run.get_metrics("text")["text"]), run.get_metrics("last")) == (3, {"last": 1})
