"""Building an environment without a run, and an object to wait for it with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.contract.environments import BUILD_ENDS, BuildRecord, BuildState
from trainyard.contract.service import API
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.workspace import Workspace

_LOOK_S = 1.0  # how long one look waits for the end; its log is shown after each


class ImageBuildDetails:
    """A build that was started. `status` is Running, Succeeded or Failed."""

    def __init__(self, workspace: Workspace, record: BuildRecord) -> None:
        self._workspace, self._record = workspace, record
        self._said = b""

    @property
    def build_id(self) -> str:
        return self._record.build_id

    @property
    def status(self) -> str:
        if self._record.state not in BUILD_ENDS:
            self._look(0.0)
        return str(self._record.state)

    @property
    def log_url(self) -> str:
        workspace = self._workspace
        builds = f"{API}/workspaces/{workspace._workspace_id_internal}/environment-builds"
        return f"{workspace._connection.http.url}{builds}/{self.build_id}/log"

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each version that was replaced."""
        return self._record.warnings

    def wait_for_completion(self, show_output: bool = True) -> None:
        """Returns when it is built. A failed build raises UserErrorException with what to do."""
        say = _say if show_output else _say_nothing
        say("Image Build Status: Running\n\n")
        while self._record.state not in BUILD_ENDS:
            self._look(_LOOK_S)
            say(self._more())
        say(self._more())
        say(f"\nImage Build Status: {self._record.state}\n")
        if self._record.state is BuildState.FAILED:
            raise UserErrorException(f"The environment {self._record.name} was not built: {self._record.reason}")

    def log(self) -> str:
        """What the build has said so far."""
        self._more()
        return self._said.decode("utf-8", "replace")

    def _look(self, wait_s: float) -> None:
        self._record = self._workspace._clients.environments.build_status(self.build_id, timeout_s=wait_s)

    def _more(self) -> str:
        new = self._workspace._clients.environments.build_log(self.build_id, len(self._said))
        self._said += new
        return new.decode("utf-8", "replace")


class DockerImageDetails(dict[str, Any]):
    """What an environment's image is made of. Environments are built without one where no engine is."""

    @property
    def image_exist(self) -> bool:
        return bool(self["imageExistsInRegistry"])

    @property
    def image(self) -> str | None:
        name: str | None = self["dockerImage"]["name"]
        return name

    @property
    def dockerfile(self) -> str | None:
        text: str | None = self["ingredients"]["dockerfile"]
        return text

    @property
    def registry(self) -> Any:
        return self["dockerImage"]["registry"]

    @property
    def ingredients(self) -> dict[str, Any]:
        parts: dict[str, Any] = self["ingredients"]
        return parts


def start(workspace: Workspace, environment: Environment, image_build_compute: Any) -> ImageBuildDetails:
    no_effect("Environment.build", image_build_compute=image_build_compute)
    relax = os.environ.get("TRAINYARD_RELAX_PINS", "") not in ("", "0")
    record = workspace._clients.environments.build(environment.to_definition(), relax_pins=relax)
    return ImageBuildDetails(workspace, record)


def build_here(workspace: Workspace, environment: Environment, platform: Any, **kwargs: Any) -> str:
    no_effect("Environment.build_local", platform=platform, **{name: value or None for name, value in kwargs.items()})
    build = start(workspace, environment, None)
    build.wait_for_completion(show_output=True)
    return build.log()


def image_details(workspace: Workspace, environment: Environment) -> DockerImageDetails:
    del workspace
    said = environment.to_definition()
    conda = environment.python.conda_dependencies
    return DockerImageDetails(
        imageExistsInRegistry=False,  # nothing is pushed anywhere
        dockerImage={"name": environment.docker.base_image, "registry": said["docker"]["baseImageRegistry"]},
        ingredients={
            "dockerfile": environment.docker.base_dockerfile,
            "condaSpecification": conda.serialize_to_string() if conda is not None else None,
        },
    )


def _say(text: str) -> None:
    print(text, end="", flush=True)


def _say_nothing(text: str) -> None:
    del text
