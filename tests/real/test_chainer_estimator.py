"""A framework that is there as old sources only: built with the tools of its time, and then it runs."""

import pytest

from trainyard.sdk.estimators.dnn import Chainer
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.workspace import Workspace

TRAIN = """\
import chainer, numpy
import pkg_resources  # as chainer.testing does, without naming setuptools
from azureml.core import Run
run = Run.get_context()
run.log("version", chainer.__version__)
run.log("relu", float(chainer.functions.relu(chainer.Variable(numpy.array([-1.0, 2.0], dtype="f"))).array.sum()))
"""


@pytest.mark.timeout(600)  # it is compiled from its sources
def test_chainer_is_built_from_its_sources(home, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    workspace = Workspace.create("yard", show_output=False)
    run = Experiment(workspace, "chainer").submit(
        Chainer(str(tmp_path), compute_target="local", entry_script="train.py")
    )
    run.wait_for_completion()
    assert run.get_metrics() == {"version": "5.1.0", "relu": 2.0}
