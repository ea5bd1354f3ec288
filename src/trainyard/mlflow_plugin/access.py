"""Which service an address means, and the token that belongs to it. A token is never shown to another one."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterator

from trainyard.client.home import Home
from trainyard.contract.errors import ServiceUnavailable
from trainyard.contract.mlflow import service_url
from trainyard.sdk.config_file import find_config, read_config
from trainyard.sdk.errors import UserErrorException


def reach(uri: str) -> tuple[str, str]:
    """For `azureml://…`: the http address MLflow's REST paths lie below, and the token. Starts the service of this
    machine's home if it is not running; it may answer at another port than when the address was made."""
    if (found := service_url(uri)) is None:
        raise ServiceUnavailable(
            f"{uri!r} is no address of a Trainyard service. Pass Workspace.get_mlflow_tracking_uri() to "
            "mlflow.set_tracking_uri()."
        )
    url = found[0]
    for known, token in _services():
        if _netloc(known) == _netloc(url):
            return _at(known, url), token
    home = _home()
    if home is not None and urllib.parse.urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
        return _at(home.ensure_running().url, url), home.token()
    raise ServiceUnavailable(
        f"There is no token for the service at {_netloc(url)}. Set TRAINYARD_ENDPOINT to its address and "
        "TRAINYARD_TOKEN to your token."
    )


def token_for(url: str) -> str | None:
    """The token of the service an http address is of; None where we know no such service."""
    return next((token for known, token in _services() if _origin(known) == _origin(url)), None)


def _services() -> Iterator[tuple[str, str]]:
    """Address and token of each service this process may speak to: its job's, the one that is set, its home's."""
    variables = os.environ
    job, job_token = variables.get("AZUREML_SERVICE_ENDPOINT"), variables.get("AZUREML_RUN_TOKEN")
    if job and job_token:
        yield job, job_token
    token = variables.get("TRAINYARD_TOKEN")
    if token and (endpoint := variables.get("TRAINYARD_ENDPOINT") or _configured()):
        yield endpoint, token
    home = _home()
    if home is not None and (running := home.running()) is not None:
        yield running.url, home.token()


def _home() -> Home | None:
    return None if os.environ.get("TRAINYARD_ENDPOINT") else Home.default(dict(os.environ))


def _configured() -> str | None:
    try:
        return read_config(find_config(None)).endpoint
    except UserErrorException:
        return None


def _netloc(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _origin(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc


def _at(service: str, url: str) -> str:
    """The path of `url`, at the service's own scheme and address."""
    parts = urllib.parse.urlsplit(service)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, urllib.parse.urlsplit(url).path, "", ""))
