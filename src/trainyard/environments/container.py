"""Jobs in containers, by the command line of Docker or Podman. Command lines are made by pure functions.

What a job needs is mounted at the same paths as outside: the overlay, the working folder with snapshot and outputs, the
node's own folder. Variables are named on the command line and valued in the client's environment, so that no token is
seen by whoever lists processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainyard.contract.errors import EnvironmentRefused
from trainyard.environments import conda
from trainyard.environments.credentials import redacted
from trainyard.environments.specification import Wanted

ENGINES = ("docker", "podman")
_ANSWER_S = 10.0
_HOST_ONLY = frozenset({"PATH", "HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"})


@dataclass(frozen=True)
class Engine:
    program: str  # an absolute path

    @property
    def kind(self) -> str:
        return os.path.basename(self.program)


@dataclass(frozen=True)
class Wish:
    """What a definition says about its container."""

    image: str | None
    dockerfile: str | None = None
    shm_size: str | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mount:
    path: str
    writable: bool = False


def wish_of(definition: Mapping[str, Any]) -> Wish | None:
    """None: it runs without a container. Pure."""
    docker = definition.get("docker")
    if not isinstance(docker, dict) or not docker.get("enabled"):
        return None
    image, dockerfile = docker.get("baseImage"), docker.get("baseDockerfile")
    if docker.get("buildContext") and not (image or dockerfile):
        raise EnvironmentRefused(
            "A docker.build_context does not reach the nodes. Give the Dockerfile's text as docker.base_dockerfile, "
            "or build the image yourself, and name it as docker.base_image."
        )
    if not image and not dockerfile:
        raise EnvironmentRefused("docker.enabled needs an image. Set environment.docker.base_image or base_dockerfile.")
    if image and str(image).startswith("-"):
        raise EnvironmentRefused(f"{image!r} is not the name of an image. Correct environment.docker.base_image.")
    arguments = docker.get("arguments") or []
    registry = str((docker.get("baseImageRegistry") or {}).get("address") or "").strip("/")
    if image and registry and not str(image).startswith(registry + "/"):
        image = f"{registry}/{image}"
    return Wish(image, dockerfile, docker.get("shmSize"), tuple(map(str, arguments)))


def find_engine(variables: Mapping[str, str]) -> Engine | None:
    """One that answers. A program whose engine does not run is none."""
    for name in ENGINES:
        program = shutil.which(name, path=variables.get("PATH", os.defpath))
        if program is None:
            continue
        try:
            said = subprocess.run(
                [program, "info"], env=dict(variables), capture_output=True, timeout=_ANSWER_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if said.returncode == 0:
            return Engine(os.path.abspath(program))
    return None


NO_ENGINE = "No Docker or Podman engine answers on this machine: the environment is used without a container."


def dockerfile(wish: Wish, wanted: Wanted) -> tuple[str, str]:
    """A Dockerfile, and the requirements beside it, for an image with the wish's packages. Pure."""
    from_conda, unknown = conda.to_pypi(wanted.conda)
    if unknown:
        raise EnvironmentRefused(
            f"{', '.join(unknown)} cannot be installed into an image with pip. Use an image that has it, or turn "
            "docker.enabled off so that conda's channels are asked."
        )
    requirements = [*wanted.requirements, *from_conda]
    lines = [wish.dockerfile.rstrip() if wish.dockerfile else f"FROM {wish.image}"]
    if requirements:
        lines += ["COPY requirements.txt /tmp/trainyard-requirements.txt"]
        lines += ["RUN python -m pip install --no-cache-dir -r /tmp/trainyard-requirements.txt"]
    return "\n".join([*lines, ""]), "\n".join([*requirements, ""])


def needs_build(wish: Wish, wanted: Wanted) -> bool:
    return bool(wish.dockerfile or wanted.requirements or wanted.conda)


def tag(key: str) -> str:
    return f"trainyard/environment:{key}"


def build_argv(engine: Engine, image: str, folder: str) -> list[str]:
    return [engine.program, "build", "--tag", image, folder]


def run_argv(
    engine: Engine,
    name: str,
    image: str,
    argv: Sequence[str],
    variables: Iterable[str],
    mounts: Iterable[Mount],
    working: str,
    wish: Wish,
    gpus: Sequence[str] = (),
) -> list[str]:
    """The command line of one process of a job. Pure."""
    line = [engine.program, "run", "--rm", "--init", "--name", name, "--network", "host", "--workdir", working]
    # rootless Podman maps the user by itself; to Docker we say who we are, so that outputs are ours
    line += ["--userns", "keep-id"] if engine.kind == "podman" else ["--user", f"{os.getuid()}:{os.getgid()}"]
    for mount in mounts:
        line += ["--volume", f"{mount.path}:{mount.path}" + ("" if mount.writable else ":ro")]
    for variable in sorted(set(variables) - _HOST_ONLY):
        line += ["--env", variable]
    line += ["--shm-size", wish.shm_size] if wish.shm_size else []
    if gpus:
        devices = ",".join(gpus)
        line += ["--gpus", f'"device={devices}"'] if engine.kind == "docker" else ["--device", "nvidia.com/gpu=all"]
    return [*line, *wish.arguments, image, *argv]


def remove_argv(engine: Engine, name: str) -> list[str]:
    return [engine.program, "rm", "--force", name]


def ensure_image(
    engine: Engine, wish: Wish, wanted: Wanted, key: str, variables: Mapping[str, str], log: Callable[[str], None]
) -> str:
    """The image's name; built, where the wish asks for more than a ready one."""
    if not needs_build(wish, wanted):
        assert wish.image is not None
        return wish.image
    image = tag(key)
    there = [engine.program, "image", "inspect", image]
    if subprocess.run(there, env=dict(variables), capture_output=True, check=False).returncode == 0:
        return image
    text, requirements = dockerfile(wish, wanted)
    with tempfile.TemporaryDirectory(prefix="trainyard-image-") as folder:
        for name, content in (("Dockerfile", text), ("requirements.txt", requirements)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        log(f"Building image {image}.")
        with subprocess.Popen(
            build_argv(engine, image, folder),
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            last = ""
            for line in process.stdout:
                last = redacted(line.rstrip()) or last
                log(last)
    if process.returncode != 0:
        raise EnvironmentRefused(f"The image was not built: {last}. Correct the packages or the Dockerfile.")
    return image


def remove(engine: Engine, names: Iterable[str], variables: Mapping[str, str]) -> None:
    """Whatever is left of containers, gone: ending the client does not end its container."""
    for name in names:
        subprocess.run(remove_argv(engine, name), env=dict(variables), capture_output=True, timeout=60, check=False)
