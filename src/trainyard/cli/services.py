"""`trainyard deploy` and `trainyard services list|show|logs|test|keys|delete`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from trainyard.cli.models import _open, _pairs
from trainyard.cli.output import JsonFlag, WorkspaceOption, age, console, say, show_json, show_table
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.serving import Auth
from trainyard.sdk.errors import WebserviceException

app = App(name="services", help="Deployed services: list, look into, try, end.")

ServiceName = Annotated[str, Parameter(help="The service's name.")]
_FOLLOW_S = 0.3


def deploy(
    name: ServiceName,
    models: Annotated[tuple[str, ...], Parameter(help="NAME, NAME:VERSION or NAME@ALIAS of models.")],
    /,
    *,
    script: Annotated[
        Path | None, Parameter(help="A scoring script; without one the model's framework serves it.")
    ] = None,
    source: Annotated[
        Path | None, Parameter(help="The folder that travels with the script, which is below it.")
    ] = None,
    conda: Annotated[Path | None, Parameter(help="Conda file of what the script needs.")] = None,
    requirements: Annotated[Path | None, Parameter(help="pip requirements of what the script needs.")] = None,
    environment: Annotated[str | None, Parameter(help="A registered environment.")] = None,
    port: Annotated[int | None, Parameter(help="Listen here instead of at a free port.")] = None,
    replicas: Annotated[int, Parameter(validator=Number(gte=1), help="Processes that answer.")] = 1,
    auth: Annotated[bool, Parameter(negative="", help="Ask callers for a key.")] = False,
    smoke: Annotated[
        str | None, Parameter(help="A request's body that must be answered before it takes traffic.")
    ] = None,
    overwrite: Annotated[bool, Parameter(negative="", help="Replace the service of that name.")] = False,
    tag: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="KEY=VALUE; may be repeated.")
    ] = (),
    workspace: WorkspaceOption = None,
) -> None:
    """Deploy models as a web service, and wait until it answers.

    Without --script the one model is served as its framework does: TensorFlow,
    ONNX, scikit-learn, torch, Keras. With a script and no environment named, it
    runs in this Python.

    Try:

        trainyard deploy digits digits@champion
        trainyard deploy digits digits --script score.py --conda conda.yml
    """
    from trainyard.sdk.services.deploy import deploy as deploy_models

    opened = _open(workspace)
    given = [it for it in (conda, requirements, environment) if it is not None]
    if len(given) > 1 or (given and script is None):
        raise InvalidRequest("Say one of --conda, --requirements and --environment, and that with --script.")
    inference = _inference(opened, script, source, conda, requirements, environment) if script is not None else None
    config = _configuration(port, replicas, auth, _pairs(tag), smoke)
    began = time.monotonic()
    service = deploy_models(opened, name, _models(opened, models), inference, config, None, overwrite)
    with console().status(f"Deploying {name} …"):
        service.wait_for_deployment()
    took_s = time.monotonic() - began
    console().print(f"{name} answers at {service.scoring_uri} after {took_s:.1f} s.", markup=False, soft_wrap=True)
    for warning in service._record.warnings:
        say(warning, "yellow")


@app.command(name="list")
def list_(*, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """List deployed services, local ones too."""
    found = _all(_open(workspace))
    if json:
        show_json([_json(service) for service in found])
        return
    show_table(
        ["service", "kind", "state", "models", "workers", "address", "deployed"],
        (
            [
                service.name,
                service.compute_type,
                service._record.state.value,
                ", ".join(sorted(set(_model_ids(service)))),
                sum(version.workers for version in service._record.versions),
                service._record.url or "",
                age(service._record.created_ns),
            ]
            for service in found
        ),
        empty="No service is deployed. `trainyard deploy NAME MODEL` deploys one.",
    )


@app.command
def show(name: ServiceName, /, *, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Show one service, its versions, and how many requests it answered."""
    service = _one(workspace, name)
    record, counts = service._record, _requests(service)
    if json:
        show_json({**_json(service), "requests": counts})
        return
    console().print(f"[bold]{name}[/]  {record.kind}  {record.state}", highlight=False)
    if record.error:
        say(record.error, "red")
    if record.url:
        console().print(f"{service.scoring_uri}  (auth: {record.auth.value})", markup=False)
    show_table(
        ["version", "state", "models", "traffic", "workers", "since"],
        (
            [
                version.name,
                version.state.value,
                ", ".join(f"{model.name}:{model.version}" for model in version.spec.models),
                f"{version.traffic} %" + (f" (+{version.mirror} % copies)" if version.mirror else ""),
                version.workers,
                age(version.modified_ns),
            ]
            for version in record.versions
        ),
        empty="",
    )
    if counts:
        show_table(["answered with", "requests"], ([code, number] for code, number in counts.items()), empty="")


@app.command
def logs(
    name: ServiceName,
    /,
    *,
    lines: Annotated[int, Parameter(name=["--lines", "-n"], validator=Number(gte=0), help="The last so many.")] = 200,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative="", help="Go on as it is written.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Print what a service's processes wrote: their environment's building, init(), each request."""
    service = _one(workspace, name)
    services = service.workspace._clients.services
    sys.stdout.write(service.get_logs(lines))
    sys.stdout.flush()
    at = len(services.log(name)) if follow else 0
    while follow:
        new = services.log(name, offset=at)
        at += len(new)
        sys.stdout.buffer.write(new)
        sys.stdout.flush()
        if not new:
            time.sleep(_FOLLOW_S)


@app.command(name="test")
def try_(
    name: ServiceName,
    data: Annotated[str | None, Parameter(help="The request's body, or - to read it; @FILE reads a file.")] = None,
    /,
    *,
    version: Annotated[str | None, Parameter(help="Of an endpoint's versions this one.")] = None,
    workspace: WorkspaceOption = None,
) -> int:
    """Send a service one request and print its answer. Without data, ask for its health.

    Try:

        trainyard services test digits '{"data": [[0, 1, 2]]}'
        trainyard services test digits @request.json
    """

    service = _one(workspace, name)
    if not service._record.url:
        raise WebserviceException(
            f"{name} is {service.state} and has no address. See `trainyard services logs {name}`."
        )
    headers = {"azureml-model-deployment": version} if version is not None else {}
    began = time.perf_counter()
    answer = service._get("", **headers) if data is None else service._post(_body(data), **headers)
    say(f"{answer.status} in {(time.perf_counter() - began) * 1000:.1f} ms", "dim" if answer.status == 200 else "red")
    print(answer.content.decode("utf-8", "replace"))
    return 0 if answer.status == 200 else 1


@app.command
def keys(name: ServiceName, /, *, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Print a service's keys."""
    primary, secondary = _one(workspace, name).get_keys()
    if json:
        show_json({"primary": primary, "secondary": secondary})
    else:
        show_table(["key", ""], (["primary", primary], ["secondary", secondary]), empty="")


@app.command
def delete(
    names: Annotated[tuple[str, ...], Parameter(help="Names of services.")], /, *, workspace: WorkspaceOption = None
) -> None:
    """End services and forget them. Requests that were accepted are answered first."""
    for name in names:
        _one(workspace, name).delete()
        console().print(f"{name} is gone.", markup=False)


def _one(workspace: str | None, name: str) -> Any:
    from trainyard.sdk.services.webservice import Webservice

    return Webservice(_open(workspace), name)


def _all(opened: Any) -> list[Any]:
    from trainyard.sdk.services.webservice import Webservice

    return [*Webservice.list(opened), *Webservice.list(opened, "Local")]


def _models(opened: Any, ids: tuple[str, ...]) -> list[Any]:
    from trainyard.sdk.models.model import Model

    return [Model(opened, id=model_id) for model_id in ids]


def _registered(opened: Any, name: str) -> Any:
    from trainyard.sdk.environments.environment import Environment

    try:
        return Environment.get(opened, name)
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise InvalidRequest(str(error)) from error  # the SDK's words for an unknown name come in a bare one


def _inference(
    opened: Any,
    script: Path,
    source: Path | None,
    conda: Path | None,
    requirements: Path | None,
    environment: str | None,
) -> Any:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.services.inference_config import InferenceConfig

    if environment is not None:
        made = _registered(opened, environment)
    elif conda is not None:
        made = Environment.from_conda_specification("scoring", str(conda))
    elif requirements is not None:
        made = Environment.from_pip_requirements("scoring", str(requirements))
    else:
        made = Environment("scoring")
        made.python.user_managed_dependencies = True
    entry = str(script)
    if source is not None:
        try:
            entry = str(script.resolve().relative_to(source.resolve()))
        except ValueError as error:
            raise InvalidRequest(
                f"The script {script} is not below {source}. Give --source the folder above it."
            ) from error
    return InferenceConfig(entry, source_directory=str(source) if source is not None else None, environment=made)


def _configuration(port: int | None, replicas: int, auth: bool, tags: dict[str, str], smoke: str | None) -> Any:
    from trainyard.sdk.services.aks_webservice import AksWebservice
    from trainyard.sdk.services.local_webservice import LocalWebservice

    if port is not None:
        if auth or replicas > 1 or tags or smoke:
            raise InvalidRequest("--port makes a local service, without keys, replicas, tags or a smoke test. Choose.")
        return LocalWebservice.deploy_configuration(port=port)
    return AksWebservice.deploy_configuration(num_replicas=replicas, auth_enabled=auth, tags=tags, smoke_test=smoke)


def _body(data: str) -> bytes:
    if data == "-":
        return sys.stdin.buffer.read()
    if data.startswith("@"):
        try:
            return Path(data[1:]).read_bytes()
        except OSError as error:
            raise InvalidRequest(f"{data[1:]} cannot be read: {error.strerror}. Check the path.") from error
    return data.encode()


def _requests(service: Any) -> dict[str, int]:
    """By status, as the service itself counts them."""
    from trainyard.sdk.services.service_counts import requests_by_status

    return requests_by_status(service)


def _model_ids(service: Any) -> list[str]:
    from trainyard.sdk.services.service_kinds import model_ids

    return model_ids(service._record)


def _json(service: Any) -> dict[str, Any]:
    """The keys scripts may rely on."""
    record = service._record
    return {
        "name": record.name,
        "kind": record.kind.value,
        "state": record.state.value,
        "operation": record.operation.value,
        "error": record.error,
        "scoring_uri": service.scoring_uri if record.url else None,
        "auth": record.auth is not Auth.NONE,
        "models": _model_ids(service),
        "tags": record.tags,
        "versions": [
            {
                "name": version.name,
                "state": version.state.value,
                "traffic": version.traffic,
                "mirror": version.mirror,
                "workers": version.workers,
            }
            for version in record.versions
        ],
    }
