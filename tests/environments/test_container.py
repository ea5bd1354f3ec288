"""The engine's command lines, and an engine that records what it was asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.container import (
    Engine,
    Mount,
    Wish,
    build_argv,
    dockerfile,
    ensure_image,
    find_engine,
    remove_argv,
    run_argv,
    wish_of,
)
from trainyard.environments.plan import Planner
from trainyard.environments.specification import Wanted

DOCKER, PODMAN = Engine("/usr/bin/docker"), Engine("/usr/bin/podman")
MOUNTS = (Mount("/home/ada/yard"), Mount("/home/ada/yard/a1", writable=True))
VARIABLES = {"PATH": "/bin", "HOME": "/home/ada", "AZUREML_RUN_TOKEN": "hush", "PYTHONPATH": "/overlay"}


def test_a_process_in_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "getgid", lambda: 100)
    wish = Wish("python:3.11", shm_size="2g", arguments=("--ulimit", "memlock=-1"))
    line = run_argv(DOCKER, "ty-1", "python:3.11", ["python", "train.py"], VARIABLES, MOUNTS, "/wd", wish, ["0", "1"])
    assert " ".join(line) == (
        "/usr/bin/docker run --rm --init --name ty-1 --network host --workdir /wd --user 1000:100 "
        "--volume /home/ada/yard:/home/ada/yard:ro --volume /home/ada/yard/a1:/home/ada/yard/a1 "
        '--env AZUREML_RUN_TOKEN --env PYTHONPATH --shm-size 2g --gpus "device=0,1" --ulimit memlock=-1 '
        "python:3.11 python train.py"
    )
    assert "hush" not in " ".join(line)


def test_a_process_in_podman() -> None:
    line = run_argv(PODMAN, "ty-1", "img", ["python"], {"A": "1"}, MOUNTS[:1], "/wd", Wish("img"))
    assert " ".join(line) == (
        "/usr/bin/podman run --rm --init --name ty-1 --network host --workdir /wd --userns keep-id "
        "--volume /home/ada/yard:/home/ada/yard:ro --env A img python"
    )


def test_the_other_command_lines() -> None:
    assert build_argv(DOCKER, "trainyard/environment:abc", "/tmp/x") == [
        *("/usr/bin/docker", "build", "--tag", "trainyard/environment:abc", "/tmp/x"),
    ]
    assert remove_argv(DOCKER, "ty-1") == ["/usr/bin/docker", "rm", "--force", "ty-1"]


def test_an_image_with_packages() -> None:
    wanted = Wanted(requirements=("six==1.17.0",), conda=("pytorch=1.4",))
    text, requirements = dockerfile(Wish("base:1"), wanted)
    assert text == (
        "FROM base:1\n"
        "COPY requirements.txt /tmp/trainyard-requirements.txt\n"
        "RUN python -m pip install --no-cache-dir -r /tmp/trainyard-requirements.txt\n"
    )
    assert requirements == "six==1.17.0\ntorch==1.4.*\n"
    assert dockerfile(Wish(None, "FROM own\nRUN true\n"), Wanted())[0] == "FROM own\nRUN true\n"
    with pytest.raises(EnvironmentRefused, match="ffmpeg cannot be installed into an image"):
        dockerfile(Wish("base:1"), Wanted(conda=("ffmpeg",)))


@pytest.mark.parametrize(
    ("docker", "wish"),
    [
        (None, None),
        ({"enabled": False, "baseImage": "img"}, None),
        ({"enabled": True, "baseImage": "img", "arguments": ["--cpus", 2]}, Wish("img", arguments=("--cpus", "2"))),
        ({"enabled": True, "baseDockerfile": "FROM a"}, Wish(None, "FROM a")),
        (
            {"enabled": True, "baseImage": "img:1", "baseImageRegistry": {"address": "host:5000/"}},
            Wish("host:5000/img:1"),
        ),
        ({"enabled": True, "baseImage": "host/img", "baseImageRegistry": {"address": "host"}}, Wish("host/img")),
        ({"enabled": True, "baseImage": "img", "baseImageRegistry": {"address": None}}, Wish("img")),
    ],
)
def test_what_a_definition_says(docker: dict[str, object] | None, wish: Wish | None) -> None:
    assert wish_of({"docker": docker}) == wish


@pytest.mark.parametrize(
    ("docker", "says"),
    [
        ({"enabled": True}, "needs an image"),
        ({"enabled": True, "baseImage": "--privileged"}, "is not the name of an image"),
        ({"enabled": True, "buildContext": {"locationType": "local"}}, "build_context does not reach"),
    ],
)
def test_what_is_no_image_is_refused(docker: dict[str, object], says: str) -> None:
    with pytest.raises(EnvironmentRefused, match=says):
        wish_of({"docker": docker})


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A program called docker that writes down each command, and has no image until one was built."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f"""#!/bin/sh
printf '%s\\n' "$*" >> {tmp_path}/asked
if [ "$1" = image ]; then test -e {tmp_path}/built; exit $?; fi
if [ "$1" = build ]; then cp "$4"/* {tmp_path}; touch {tmp_path}/built; echo "Step 1/1"; fi
""")
    program.chmod(0o755)
    return folder


def test_an_engine_that_answers_is_found(engine: Path, tmp_path: Path) -> None:
    assert find_engine({"PATH": str(engine)}) == Engine(str(engine / "docker"))
    assert find_engine({"PATH": str(tmp_path)}) is None
    (engine / "docker").write_text("#!/bin/sh\nexit 1\n")  # the program is there, its engine does not run
    assert find_engine({"PATH": f"{engine}:/usr/bin:/bin"}) is None or os.path.exists("/var/run/docker.sock")


def test_an_image_is_built_once(engine: Path, tmp_path: Path) -> None:
    said: list[str] = []
    docker, here = Engine(str(engine / "docker")), {"PATH": "/usr/bin:/bin"}
    for _ in range(2):
        image = ensure_image(docker, Wish("base:1"), Wanted(requirements=("six",)), "abc", here, said.append)
        assert image == "trainyard/environment:abc"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[0] for line in asked] == ["image", "build", "image"]
    assert (tmp_path / "requirements.txt").read_text() == "six\n"
    assert said == ["Building image trainyard/environment:abc.", "Step 1/1"]
    assert ensure_image(docker, Wish("base:1"), Wanted(), "abc", here, said.append) == "base:1"


def test_with_an_engine_nothing_is_built_outside_and_without_one_the_run_is_told(engine: Path, tmp_path: Path) -> None:
    docker = {"enabled": True, "baseImage": "img"}
    packages = {"condaDependencies": {"dependencies": [{"pip": ["six"]}]}}
    spec = EnvironmentSpec(definition=json.loads(json.dumps({"docker": docker, "python": packages})))
    inside = Planner(str(tmp_path), {"PATH": str(engine)})
    outside = Planner(str(tmp_path), {"PATH": "/no/programs"})
    assert (inside.plan(spec), inside.notes(spec)) == (None, ())
    assert outside.plan(spec) is not None
    assert outside.notes(spec) == (
        "No Docker or Podman engine answers on this machine: the environment is used without a container.",
    )
