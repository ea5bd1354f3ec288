import pytest

from trainyard.sdk.effects import tell_once


def test_a_warning_points_at_the_users_line():
    with pytest.warns(UserWarning, match="said from here") as said:
        tell_once("said from here")
    assert said[0].filename == __file__


def test_a_warning_from_deep_inside_points_at_the_users_line_too(tmp_path):
    from trainyard.sdk.submitting.runconfig import RunConfiguration
    from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

    with pytest.warns(UserWarning, match="ignored") as said:
        ScriptRunConfig(str(tmp_path), "train.py", run_config=RunConfiguration(), compute_target="local")
    assert said[0].filename == __file__
