"""Webservice: a deployed service, whatever its kind."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.endpoints import (
    NewKey,
    OperationState,
    ServiceChange,
    ServiceKind,
    ServiceQuery,
    ServiceRecord,
)
from trainyard.contract.errors import WebserviceExists
from trainyard.contract.serving import Auth
from trainyard.sdk.errors import AzureMLException, WebserviceException, code_of
from trainyard.sdk.models.model_labels import wanted_labels
from trainyard.sdk.runs.screen import put
from trainyard.sdk.services import scoring
from trainyard.sdk.services.deploy import as_users
from trainyard.sdk.services.service_kinds import class_of, image_name_of, kind_of, model_ids

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

_DOT_S = 2.0  # how long one look waits; each prints a dot
_UNKNOWN = "webservice.unknown"


class Webservice:
    """Webservice(workspace, name) is an object of the class of the service's kind."""

    _webservice_type: ClassVar[str | None] = None

    # what the SDK's objects have as attributes
    name: str
    workspace: Workspace
    state: str
    error: Any
    scoring_uri: Any  # a property of local services
    swagger_uri: Any
    image_id: str | None
    _credential: str | None

    def __new__(cls, workspace: Workspace, name: str, **kwargs: Any) -> Webservice:
        record: ServiceRecord | None = kwargs.get("_record")
        if record is None:
            record = workspace._clients.services.get(name)
        kind = class_of(record.kind)
        if not issubclass(kind, cls):
            raise WebserviceException(
                f"The service {name} is of the kind {record.kind}, not a {cls.__name__}. Use Webservice(workspace, "
                "name)."
            )
        made: Webservice = object.__new__(kind)
        made.workspace = workspace
        made._credential = None
        made._take(record)
        return made

    def __init__(self, workspace: Workspace, name: str, **kwargs: Any) -> None:
        del workspace, name, kwargs  # __new__ has asked the service

    # Deploying, in the forms of 2018

    @staticmethod
    def deploy_from_image(
        workspace: Workspace,
        name: str,
        image: Any,
        deployment_config: Any = None,
        deployment_target: Any = None,
        overwrite: bool = False,
    ) -> Webservice:
        from trainyard.sdk.services.image import deploy_image

        return deploy_image(workspace, name, image, deployment_config, deployment_target, overwrite)

    @staticmethod
    def deploy_from_model(
        workspace: Workspace,
        name: str,
        models: Any,
        image_config: Any,
        deployment_config: Any = None,
        deployment_target: Any = None,
        overwrite: bool = False,
    ) -> Webservice:
        from trainyard.sdk.services.deploy import deploy

        return deploy(workspace, name, models, image_config, deployment_config, deployment_target, overwrite)

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        model_paths: Any,
        image_config: Any,
        deployment_config: Any = None,
        deployment_target: Any = None,
        overwrite: bool = False,
    ) -> Webservice:
        """Registers the files first, each under its own name."""
        import os

        from trainyard.sdk.models.model import Model
        from trainyard.sdk.services.deploy import deploy

        models = [
            Model.register(workspace, path, os.path.basename(os.path.abspath(path)))
            for path in ([model_paths] if isinstance(model_paths, str) else model_paths)
        ]
        return deploy(workspace, name, models, image_config, deployment_config, deployment_target, overwrite)

    @staticmethod
    def deploy_local_from_model(
        workspace: Workspace,
        name: str,
        models: Any,
        image_config: Any,
        deployment_config: Any = None,
        wait: bool = False,
    ) -> Webservice:
        from trainyard.sdk.services.deploy import deploy
        from trainyard.sdk.services.deploy_configurations import LocalWebserviceDeploymentConfiguration

        config = deployment_config or LocalWebserviceDeploymentConfiguration()
        made = deploy(workspace, name, models, image_config, config)
        if wait:
            made.wait_for_deployment()
        return made

    @staticmethod
    def check_for_existing_webservice(
        workspace: Workspace,
        name: str,
        overwrite: bool = False,
        request_func: Callable[..., Any] | None = None,
        check_func: Callable[..., Any] | None = None,
    ) -> None:
        """WebserviceException if there is one of that name and `overwrite` is not said."""
        del request_func, check_func
        try:
            workspace._clients.services.get(name)
        except AzureMLException as error:
            if code_of(error) == _UNKNOWN:
                return
            raise
        if not overwrite:
            raise WebserviceException(WebserviceExists(name).message)

    # Waiting and looking

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: float | None = None) -> None:
        """Returns when the last change of it is done. One that failed, and one that takes longer than `timeout_sec`,
        raises WebserviceException with the reason."""
        ends = time.monotonic() + timeout_sec if timeout_sec else None
        say = _say if show_output else _say_nothing
        say("Running")
        record = self._record
        while record.operation is OperationState.RUNNING:
            left = _DOT_S if ends is None else min(_DOT_S, ends - time.monotonic())
            if left <= 0:
                say("\n")
                raise WebserviceException(
                    f"The deployment of {self.name} takes longer than {timeout_sec:g} s. It goes on: call "
                    "wait_for_deployment() again, or see get_logs()."
                )
            record = self.workspace._clients.services.wait(self.name, record.generation, left)
            say(".")
        self._take(record)
        what = f'{self.compute_type} service creation operation finished, operation "{record.operation.value}"'
        say(f"\n{what}\n")
        for warning in record.warnings:
            say(f"{warning}\n")
        if record.operation is not OperationState.SUCCEEDED:
            raise WebserviceException(
                "Service deployment polling reached non-successful terminal state, current service state: "
                f"{record.state.value}\nError:\n{record.error or 'none was said'}\n"
                f"More information can be found by calling `.get_logs()` on the webservice object."
            )

    def update_deployment_state(self) -> None:
        self._take(self.workspace._clients.services.get(self.name))

    def get_logs(self, num_lines: int = 5000, init: bool = False) -> str:
        """What its processes printed, from the building of its environment on; the last `num_lines`."""
        del init  # one log holds all of it
        return self.workspace._clients.services.log(self.name, lines=num_lines).decode("utf-8", "replace")

    # Scoring

    def run(self, input: Any) -> Any:
        """Sends `input` as it is, with a key or a token where it needs one; answers what the script returned."""
        if not self.scoring_uri:
            raise WebserviceException(
                f"The service {self.name} is {self.state} and has no address yet. Call wait_for_deployment() first."
            )
        answer = self._post(input)
        if answer.status == 401:
            self.update_deployment_state()
            self._credential = None
            answer = self._post(input)
        return answer.value()

    def _post(self, data: Any, **headers: str) -> scoring.ScoringAnswer:
        record = self._record
        return scoring.post(self.scoring_uri, data, {**self._authorization(), **headers}, record.url, record.chain)

    def _get(self, page: str, **headers: str) -> scoring.ScoringAnswer:
        record, said = self._record, {**self._authorization(), **headers}
        return scoring.get(f"{self._base(record)}/{page}", said, record.url, record.chain)

    def _authorization(self) -> dict[str, str]:
        if self._record.auth is Auth.NONE:
            return {}
        if self._credential is None:
            services = self.workspace._clients.services
            by_key = self._record.auth is Auth.KEY
            self._credential = services.keys(self.name).primary if by_key else services.token(self.name).token
        return {"Authorization": f"Bearer {self._credential}"}

    # Keys

    def get_keys(self) -> tuple[str, str]:
        """The primary and the secondary key."""
        keys = self.workspace._clients.services.keys(self.name)
        return keys.primary, keys.secondary

    def regen_key(self, key: str, set_key: str | None = None) -> None:
        """Makes the 'Primary' or the 'Secondary' key anew, or `set_key`. The old one opens nothing any more."""
        if not key:
            raise WebserviceException("Say which key to make anew: 'Primary' or 'Secondary'.")
        self._ask(lambda: self.workspace._clients.services.set_key(self.name, NewKey(key, set_key)))
        self._credential = None

    def get_token(self) -> Any:
        raise NotImplementedError("Tokens are for services on AKS. Use get_keys(), or deploy with AksWebservice.")

    # Changing and ending

    def update(self, *args: Any) -> None:
        del args
        raise NotImplementedError("Call update() on the service's own kind: AciWebservice, AksWebservice, …")

    def delete(self) -> None:
        """Ends its processes and forgets it; one that is gone already is no error."""
        try:
            self.workspace._clients.services.delete(self.name)
        except AzureMLException as error:
            if code_of(error) != _UNKNOWN:
                raise as_users(error) from error
            print(f"No service with name {self.name} found to delete.")
        self.state = "Deleting"

    def serialize(self) -> dict[str, Any]:
        record = self._record
        return {
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "properties": self.properties,
            "computeType": self.compute_type,
            "state": self.state,
            "error": self.error,
            "scoringUri": self.scoring_uri,
            "swaggerUri": self.swagger_uri,
            "authEnabled": self.auth_enabled,
            "tokenAuthEnabled": self.token_auth_enabled,
            "imageId": self.image_id,
            "modelIds": model_ids(record),
            "createdTime": self.created_time.isoformat(),
            "updatedTime": self.updated_time.isoformat(),
            "createdBy": self.created_by,
        }

    @classmethod
    def deserialize(cls, workspace: Workspace, webservice_payload: dict[str, Any]) -> Webservice:
        """The service that serialize() told of, as it is now."""
        if "name" not in webservice_payload:
            raise WebserviceException("A serialized service has a name. Pass what serialize() answered.")
        return cls(workspace, webservice_payload["name"])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, image_id={self.image_id}, "
            f"compute_type={self.compute_type}, state={self.state}, scoring_uri={self.scoring_uri}, tags={self.tags}, "
            f"properties={self.properties}, created_by={self.created_by})"
        )

    def _change(self, wish: ServiceChange) -> None:
        self._ask(lambda: self._take(self.workspace._clients.services.change(self.name, wish)))

    def _ask(self, ask: Callable[[], Any]) -> None:
        try:
            ask()
        except AzureMLException as error:
            raise as_users(error) from error

    def _take(self, record: ServiceRecord) -> None:
        self._record = record
        self.name, self.state, self.error = record.name, str(record.state), record.error
        self.compute_type = record.kind.value
        self.description, self.tags, self.properties = record.description, dict(record.tags), dict(record.properties)
        self.auth_enabled, self.token_auth_enabled = record.auth is Auth.KEY, record.auth is Auth.TOKEN
        self.created_by = record.created_by
        self.created_time = datetime.fromtimestamp(record.created_ns / 1e9, UTC)
        self.updated_time = datetime.fromtimestamp(record.modified_ns / 1e9, UTC)
        settings = record.versions[-1].spec.settings if record.versions else {}
        self.image_id = settings.get("image_id")
        self.image_digest: str | None = None
        self._addresses(record)
        self._details(record, settings)

    def _addresses(self, record: ServiceRecord) -> None:
        base = self._base(record)
        self.scoring_uri = f"{base}/score" if base else None
        self.swagger_uri = f"{base}/swagger.json" if base else None

    def _base(self, record: ServiceRecord) -> str | None:
        """A certificate is for a name, so it is asked by that name."""
        if record.url is None or record.cname is None:
            return record.url
        return f"https://{record.cname}:{record.url.rpartition(':')[2]}"

    def _details(self, record: ServiceRecord, settings: dict[str, Any]) -> None:
        """What a kind has beside that."""

    @property
    def image(self) -> Any:
        """2018: the image it was made from."""
        from trainyard.sdk.services.image import Image

        return Image(self.workspace, id=self.image_id) if self.image_id else None

    @staticmethod
    def _of(workspace: Workspace, record: ServiceRecord) -> Webservice:
        return Webservice(workspace, record.name, _record=record)

    # last: below it `list` would mean this method

    @staticmethod
    def list(
        workspace: Workspace,
        compute_type: str | None = None,
        image_name: str | None = None,
        image_id: str | None = None,
        model_name: str | None = None,
        model_id: str | None = None,
        tags: Any = None,
        properties: Any = None,
        image_digest: str | None = None,
    ) -> list[Webservice]:
        """The services of the workspace; local ones are in LocalWebservice.list(workspace)."""
        query = ServiceQuery(
            kind=kind_of(compute_type),
            model_name=model_name,
            model_id=model_id,
            tags=wanted_labels(tags),
            properties=wanted_labels(properties),
            image_id=image_id,
        )
        found = workspace._clients.services.find(query)
        if image_name is not None:
            found = [it for it in found if image_name_of(it) == image_name]
        if image_digest is not None:
            found = []
        if query.kind is not ServiceKind.LOCAL:
            found = [it for it in found if it.kind is not ServiceKind.LOCAL]
        return [Webservice._of(workspace, record) for record in found]


def _say(text: str) -> None:
    put(sys.stdout, text)


def _say_nothing(text: str) -> None:
    del text
