"""What the tests of commands against a real service share."""

import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """Variables of a home of the module's own, with a workspace; its service ends with the module."""
    variables = {"TRAINYARD_HOME": str(tmp_path_factory.mktemp("home"))}
    _run_in(variables, "workspace", "create", "default")
    yield variables
    _run_in(variables, "stop", "--all")


def _run_in(variables, *arguments):
    command = [sys.executable, "-m", "trainyard.cli.main", *arguments]
    subprocess.run(command, env={**os.environ, **variables}, check=True, timeout=60)
