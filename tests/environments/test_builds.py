"""Whole builds with the real uv, from wheels made by hand."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from goods import Ask, broken_source, definition, wheel

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.build import write_request
from trainyard.environments.builders import Builder
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built

Make = Callable[[Request], Built]
Refused = Callable[[Request], str]


def version_of(built: Built, module: str) -> str:
    code = f"import {module}; print({module}.__version__)"
    return subprocess.run(
        [built.interpreter, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_packages_are_there_with_their_lock(ask: Ask, built: Make, planner: Planner) -> None:
    request = ask("pear", "azureml-defaults")
    made = built(request)
    assert version_of(made, "apple") == "1.4"
    assert [re.sub(r"[0-9a-f]{64}", "…", line) for line in made.lock.splitlines()] == [
        "# Trainyard environment lock 1",
        f"# python {made.python}",
        "# platform linux-x86_64",
        "apple==1.4 \\",
        "    --hash=sha256:…",
        "pear==1.0 \\",
        "    --hash=sha256:…",
    ]
    assert made.notes == ()
    assert ask("azureml-defaults", "pear").key == request.key
    assert (Path(planner.store.folder(request.key)) / "environment.lock").read_text() == made.lock


def test_a_lock_is_installed_as_it_is_when_better_versions_came(
    ask: Ask, built: Make, planner: Planner, wheels: Path
) -> None:
    first = built(ask("apple<2"))
    wheel(wheels, "apple", "1.9")
    lines = ["--no-index", f"--find-links {wheels}"]
    spec = EnvironmentSpec("again", definition=definition([*lines, "apple"], lock="ab" * 32))
    request = planner.plan(spec, read_lock=lambda digest: first.lock.encode() if digest == "ab" * 32 else b"")
    assert request is not None
    assert request.key != first.key
    again = built(request)
    assert version_of(again, "apple") == "1.4"
    assert again.lock == first.lock


def test_a_lock_whose_package_was_changed_is_refused(ask: Ask, built: Make, refused: Refused) -> None:
    first = built(ask("apple<2"))
    other = re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", first.lock)
    assert "hash" in refused(replace(ask("apple<2", "pear"), lock=other)).lower()


def test_a_file_whose_hash_is_not_the_one_named_is_refused(
    ask: Ask, built: Make, refused: Refused, wheels: Path
) -> None:
    right = hashlib.sha256((wheels / "apple-1.4-py3-none-any.whl").read_bytes()).hexdigest()
    made = built(ask(f"apple==1.4 --hash=sha256:{right} --hash=sha256:{'0' * 64}"))
    assert version_of(made, "apple") == "1.4"
    assert re.findall("sha256:(.*)", made.lock) == [right]
    said = refused(ask(f"apple==1.4 --hash=sha256:{'0' * 64}"))
    assert said.startswith("No file of apple==1.4 has a hash that is named beside it.")
    relaxed = built(ask(f"apple==1.5 --hash=sha256:{'0' * 64}", relax=True))  # another version, with files of its own
    assert version_of(relaxed, "apple") == "1.4"


def test_ten_who_ask_at_once_get_one_build(ask: Ask, planner: Planner) -> None:
    request = ask("pear")
    write_request(planner.store, request)
    argv = [sys.executable, "-m", "trainyard.environments.build", "--key", request.key]
    argv += ["--home", os.path.dirname(planner.store.root)]
    asking = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(10)]
    said = [process.communicate()[0] for process in asking]
    assert [process.returncode for process in asking] == [0] * 10
    assert sum("Building environment" in text for text in said) == 1
    assert planner.store.find(request.key) is not None


def test_a_package_that_does_not_exist(ask: Ask, refused: Refused) -> None:
    said = refused(ask("nosuchfruit"))
    assert said == (
        "Because nosuchfruit was not found in the provided package locations and you require nosuchfruit, we can "
        "conclude that your requirements are unsatisfiable. Change the packages of environment mine, then submit again."
    )


def test_the_solvers_own_sentence_about_a_conflict(ask: Ask, refused: Refused) -> None:
    said = refused(ask("pear", "apple==2.0"))
    assert "pear depend on apple<2 and you require apple==2.0" in said
    assert said.endswith(
        "your requirements are unsatisfiable. If a version that is named may give way, set TRAINYARD_RELAX_PINS=1 or "
        "environment.python.relax_pins = True. Change the packages of environment mine, then submit again."
    )


def test_a_framework_that_cannot_go_with_a_users_pin_is_told_in_few_words(
    ask: Ask, refused: Refused, wheels: Path
) -> None:
    for minor in range(1, 30):
        wheel(wheels, "framework", f"2.{minor}", requires=[f"apple>={minor}.2"])
    said = refused(ask("framework==1.0", "apple==1.0", "pear", frameworkDefaults=["framework"]))
    assert said.startswith("Because framework<=2.1 depends on apple>=1.2 and you require apple==1.0")
    assert "framework==2.29" not in said
    assert "If a version that is named may give way" in said


def test_a_users_pin_that_cannot_be_had_is_refused_with_the_nearest(ask: Ask, refused: Refused) -> None:
    request = ask("apple==1.5", "plum==3.0")
    assert request.interpreter is not None
    said = refused(request)
    assert said.startswith(
        f"Not available for Python {request.interpreter.version}: apple==1.5 (the nearest there is: apple==1.4); "
        "plum==3.0 (there is nothing of that name for it)."
    )
    assert "set TRAINYARD_RELAX_PINS=1 or environment.python.relax_pins = True" in said


def test_a_horovod_that_nobody_can_build_is_named_with_the_other_pins(ask: Ask, refused: Refused) -> None:
    request = ask("horovod==0.19.5", "apple==1.5", "pear")
    assert request.interpreter is not None
    assert refused(request) == (
        f"Not available for Python {request.interpreter.version}: apple==1.5 (the nearest there is: apple==1.4); "
        "horovod==0.19.5 (the nearest there is: horovod==0.28.1). Change the version(s), or take the nearest: "
        "set TRAINYARD_RELAX_PINS=1 or environment.python.relax_pins = True."
    )


def test_a_build_that_is_not_there_gives_way(ask: Ask, built: Make) -> None:
    made = built(ask("apple==1.3+cu130", "pear", relaxPins=True))
    assert version_of(made, "apple") == "1.4"
    assert any("apple==1.3+cu130" in note for note in made.notes)


def test_a_builder_with_a_fault_of_its_own_says_it(ask: Ask, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> Built:
        raise KeyError("pear")

    monkeypatch.setattr("trainyard.environments.build.make", fault)
    assert refused(ask("pear")) == "The builder failed (KeyError: 'pear'). The build's log says where."


def test_a_wheel_for_another_python_gives_way_to_its_package(ask: Ask, built: Make) -> None:
    made = built(ask("https://127.0.0.1:9/apple-1.3-cp36-cp36m-linux_x86_64.whl", relaxPins=True))
    assert version_of(made, "apple") == "1.4"
    assert made.notes[0] == f"A wheel that is named by its address is not for Python {made.python}: apple==1.3."


def test_with_the_switch_the_nearest_is_taken_and_said(ask: Ask, built: Make) -> None:
    made = built(ask("apple==1.5", "pear", relaxPins=True))
    assert version_of(made, "apple") == "1.4"
    assert made.notes == (f"apple==1.5 cannot be had for Python {made.python}: apple==1.4 was installed instead.",)


def test_versions_that_the_sdk_filled_in_are_no_pins(ask: Ask, built: Make) -> None:
    made = built(ask("apple==1.5", frameworkDefaults=["apple"]))
    assert version_of(made, "apple") == "1.4"
    assert len(made.notes) == 1


def test_gpu_packages_become_cpu_packages_where_there_is_no_gpu(ask: Ask, built: Make, wheels: Path) -> None:
    wheel(wheels, "tensorflow-cpu", "2.12.0")
    made = built(replace(ask("tensorflow-gpu==2.2.0", relax=True), gpu=False))
    assert version_of(made, "tensorflow_cpu") == "2.12.0"
    assert made.notes == (
        f"tensorflow-gpu==2.2.0 cannot be had for Python {made.python}: tensorflow-cpu==2.12.0 was installed instead.",
    )


def test_onnx_comes_along_where_torch_two_takes_the_place_of_torch_one(ask: Ask, built: Make, wheels: Path) -> None:
    wheel(wheels, "torch", "2.1.0")
    wheel(wheels, "onnx", "1.15.0", requires=["apple", "protobuf"])
    wheel(wheels, "protobuf", "4.25.1")
    made = built(ask("torch==1.4.0", "apple==1.5", relax=True))
    assert re.findall(r"^\S+==\S+", made.lock, re.M) == [
        "apple==1.4",  # as it was asked for, though onnx goes with a newer one
        "torch==2.1.0",
        "onnx==1.15.0",
        "protobuf==4.25.1",
    ]
    assert version_of(made, "onnx") == "1.15.0"
    assert made.notes[1:] == (
        f"torch==1.4.0 cannot be had for Python {made.python}: torch==2.1.0 was installed instead.",
        "onnx==1.15.0 was installed too: torch.onnx.export of torch 2 needs it.",
    )
    assert "onnx" not in built(ask("torch==2.1.0", relax=True)).lock


def test_early_releases_come_only_where_there_are_no_others(ask: Ask, built: Make, wheels: Path) -> None:
    wheel(wheels, "fig", "1.0")
    wheel(wheels, "fig", "3.0", requires=["seed==0.6b0"])
    wheel(wheels, "fig", "4.0rc1")
    wheel(wheels, "seed", "0.6b0")
    assert version_of(built(ask("fig", "apple==1.3", relax=True)), "fig") == "3.0"
    wheel(wheels, "leaf", "1.0", requires=["apple<2"])
    wheel(wheels, "leaf", "2.0rc1")  # goes with any apple, and is not taken for that
    wheel(wheels, "kiwi", "1.1")
    made = built(ask("fig", "leaf", "apple==2.0", "kiwi==1.0", relax=True))
    assert [version_of(made, name) for name in ("fig", "leaf", "apple", "kiwi")] == ["3.0", "1.0", "1.4", "1.1"]


def test_what_is_for_gpus_alone_is_left_out_where_there_is_none(ask: Ask, built: Make, refused: Refused) -> None:
    made = built(replace(ask("cupy-cuda90==5.1.0", "apple", relax=True), gpu=False))
    assert made.notes == ("cupy-cuda90==5.1.0 is for GPUs, and there is none here: it was left out.",)
    assert "cupy" not in made.lock
    said = refused(replace(ask("cupy-cuda90==5.1.0", "apple"), gpu=False))
    assert "cupy-cuda90==5.1.0 (there is nothing of that name for it)" in said


def test_builds_without_cuda_are_preferred_where_there_is_no_gpu(ask: Ask, built: Make, wheels: Path) -> None:
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    wheel(wheels, "torch", "2.0.0+cpu", tag=f"{version}-none-any")
    wheel(wheels, "torch", "2.1.0")
    assert version_of(built(replace(ask("torch"), gpu=False)), "torch") == "2.0.0+cpu"
    wheel(wheels, "torch", "2.0.0")
    wheel(wheels, "torchvision", "0.15")  # linked with CUDA: it could not be imported beside the other build
    assert version_of(built(replace(ask("torch==2.0.0", "torchvision"), gpu=False)), "torch") == "2.0.0"


def test_sources_that_do_not_build_give_way_to_a_wheel_only_with_the_switch(
    ask: Ask, built: Make, refused: Refused, wheels: Path
) -> None:
    broken_source(wheels, "cherry", "1.0")
    assert "cherry" in refused(ask("cherry==1.0"))
    wheel(wheels, "cherry", "1.1")
    assert "the nearest there is: cherry==1.1" in refused(ask("cherry==1.0"))
    assert version_of(built(ask("cherry==1.0", relax=True)), "cherry") == "1.1"


def test_conda_packages_come_from_pypi_when_no_channel_answers(planner: Planner, built: Make, wheels: Path) -> None:
    wheel(wheels, "scikit-learn", "1.5")
    lines = ["--no-index", f"--find-links {wheels}", "apple"]
    nowhere = "file:///no/such/channel"
    spec = EnvironmentSpec("mine", definition=definition(lines, ["python=3.6.2", "scikit-learn=1.5"], [nowhere]))
    request = planner.plan(spec)
    assert request is not None
    made = built(request)
    assert version_of(made, "scikit_learn") == "1.5"
    assert "scikit-learn==1.5" in made.lock
    assert made.variables == {}
    older = definition(lines, ["python=3.6.2", "scikit-learn=0.20"], [nowhere], relaxPins=True)
    asked = planner.plan(EnvironmentSpec("mine", definition=older))
    assert asked is not None
    replaced = built(asked)
    assert len(replaced.notes) == 1
    assert replaced.variables == {"TRAINYARD_SHIMS": "auto"}


def test_what_pip_names_a_version_of_is_not_condas(planner: Planner, built: Make, wheels: Path) -> None:
    lines = ["--no-index", f"--find-links {wheels}", "numpy==2.0"]
    wheel(wheels, "numpy", "2.0")
    said = definition(lines, ["numpy=1.18"], ["file:///no/such/channel"])
    request = planner.plan(EnvironmentSpec("mine", definition=said))
    assert request is not None
    assert version_of(built(request), "numpy") == "2.0"


def test_conda_packages_that_pypi_does_not_have_need_a_channel(planner: Planner, refused: Refused) -> None:
    spec = EnvironmentSpec("mine", definition=definition([], ["ffmpeg=4"], ["file:///no/such/channel"]))
    request = planner.plan(spec)
    assert request is not None
    assert refused(request) == (
        "ffmpeg=4 must come from conda, and no conda channel can be reached (channels: file:///no/such/channel). Check "
        "the channels' addresses and the network, or name the package(s) as PyPI does, in the pip part."
    )


def test_a_python_that_no_channel_brings_is_refused_with_those_here(planner: Planner, refused: Refused) -> None:
    spec = EnvironmentSpec("mine", definition=definition([], ["python=2.7", "six"], ["file:///no/such/channel"]))
    request = planner.plan(spec)
    assert request is not None
    said = refused(request)
    assert said.startswith("No Python that is ==2.7.*")
    assert f"(Python there is: {'.'.join(map(str, sys.version_info[:3]))}" in said


def test_a_killed_build_leaves_nothing_and_the_next_ask_builds(
    ask: Ask, built: Make, planner: Planner, tmp_path: Path
) -> None:
    with silent_index() as url:
        hanging = planner.plan(EnvironmentSpec("slow", definition=definition([f"--index-url {url}", "apple==1"])))
        assert hanging is not None
        builder = Builder(planner.store, hanging, os.environ)
        builder.begin()
        assert builder.process is not None
        wait_for(lambda: planner.store.builder(hanging.key) == builder.process.pid)
        (Path(planner.store.folder(hanging.key))).mkdir()  # as far as it got
        os.kill(builder.process.pid, signal.SIGKILL)
        builder.process.wait()
    assert not planner.store.is_building(hanging.key)
    assert planner.store.find(hanging.key) is None
    assert planner.store.sweep(1 << 40, print) == [hanging.key]
    assert planner.store.keys() == []
    assert version_of(built(replace(ask("apple"), key=hanging.key)), "apple") == "2.0"


def test_a_builder_that_is_told_to_stop_clears_away_what_it_made(planner: Planner) -> None:
    with silent_index() as url:
        request = planner.plan(EnvironmentSpec("slow", definition=definition([f"--index-url {url}", "apple==1"])))
        assert request is not None
        builder = Builder(planner.store, request, os.environ)
        builder.begin()
        wait_for(lambda: planner.store.builder(request.key) is not None)
        (Path(planner.store.folder(request.key))).mkdir()
        builder.stop()
    assert not planner.store.is_building(request.key)
    assert planner.store.keys() == []


def test_an_index_that_hangs_has_a_deadline_and_credentials_stay_out_of_sight(
    planner: Planner, refused: Refused, capfd: pytest.CaptureFixture[str]
) -> None:
    with silent_index() as url:
        private = url.replace("http://", "http://ada:hush-hush@")
        lines = [f"--index-url {private}", "apple==1"]
        request = planner.plan(EnvironmentSpec("slow", definition=definition(lines)))
        assert request is not None
        said = refused(replace(request, answer_s=1))
    shown = capfd.readouterr()
    assert "Check that the package index can be reached" in said
    assert "hush-hush" not in said + shown.out + shown.err
    assert Path(planner.store.state(request.key, "failed")).read_text().count("hush-hush") == 0


def wait_for(holds: Callable[[], bool]) -> None:
    until = threading.Event()
    for _ in range(1000):
        if holds():
            return
        until.wait(0.01)
    raise AssertionError("it did not come")


@contextlib.contextmanager
def silent_index() -> Iterator[str]:
    """Takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/simple"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()
