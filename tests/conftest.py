"""A scratch home for tests that need the whole service: the first call starts it, the end of the module stops it."""

import os
import shutil

import psutil
import pytest

from trainyard.client.home import Home
from trainyard.client.http import Http
from trainyard.client.service import Service
from trainyard.sdk import effects


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    """What a process says once, each test may hear."""
    monkeypatch.setattr(effects, "_told", set())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINYARD_HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("TRAINYARD_ENDPOINT", "TRAINYARD_TOKEN", "TRAINYARD_JOB"):
            patch.delenv(name, raising=False)
        here = Home.default(dict(os.environ))
        yield here
        stop(here)


def stop(home):
    """End the service of a home, with everything it runs, and see it gone."""
    if (running := home.running()) is not None:
        Service(Http(None, None, home, start=False)).stop(everything=True)
        if psutil.pid_exists(running.pid):
            psutil.Process(running.pid).wait(timeout=30)
    shutil.rmtree(home.path, ignore_errors=True)  # the guardian goes when its home is gone
