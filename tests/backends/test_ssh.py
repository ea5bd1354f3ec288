from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from secure_shell import SSHD, Server, server

from trainyard.backends.local import Local
from trainyard.backends.ssh import Ssh
from trainyard.backends.ssh_channel import Machine
from trainyard.contract.errors import BackendAway, BackendRefused
from trainyard.testing.backend_kit import BackendKit

pytestmark = pytest.mark.skipif(SSHD is None or shutil.which("ssh") is None, reason="OpenSSH is not installed")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def machine(sshd: Server) -> Machine:
    return Machine(sshd.address, sshd.username, sshd.port, private_key=sshd.key)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "service"


@pytest.fixture(scope="module")
def attached(sshd: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Ssh]]:
    """Objects over one machine, whose guardian stays for all tests of the kit."""
    home = tmp_path_factory.mktemp("service")
    made = [Ssh(machine(sshd), str(home), patience_s=30)]
    yield made
    far = far_home(made[0])
    for each in made:
        each.close()
    end_guardian(far)


class TestSsh(BackendKit):
    @pytest.fixture
    def backend(self, attached: list[Ssh]) -> Ssh:
        return attached[0]

    @pytest.fixture
    def again(self, sshd: Server, attached: list[Ssh]) -> Callable[[], Ssh]:
        def another() -> Ssh:
            attached.append(Ssh(machine(sshd), attached[0]._home, patience_s=30))
            return attached[-1]

        return another


def far_home(backend: Ssh) -> str:
    return str(backend.hello()["home"])


def end_guardian(home: str) -> None:
    with contextlib.suppress(OSError):
        Local(home).close()
    shutil.rmtree(home, ignore_errors=True)


def test_it_says_what_the_machine_is(sshd: Server, place: Path) -> None:
    backend = Ssh(machine(sshd), str(place), patience_s=30)
    said = backend.hello()
    assert said["cores"] == len(os.sched_getaffinity(0))
    assert said["memory_gb"] > 0
    backend.close()
    end_guardian(said["home"])


def test_a_broken_connection_is_made_again(sshd: Server, place: Path) -> None:
    backend = Ssh(machine(sshd), str(place), patience_s=30)
    home = far_home(backend)
    channel = backend._channel
    assert channel is not None
    channel._process.kill()
    channel._process.wait()
    assert backend.observe(["0" * 32])["0" * 32].state.value == "lost"
    backend.close()
    end_guardian(home)


def test_a_machine_that_lets_nobody_in(sshd: Server, place: Path, tmp_path: Path) -> None:
    stranger = machine(sshd)
    with server(tmp_path / "other") as other:
        wrong = Machine(stranger.address, stranger.username, stranger.port, private_key=other.key)
        with pytest.raises(BackendRefused, match="Check username, private_key_file and password") as refused:
            Ssh(wrong, str(place), patience_s=30).observe(["x"])
    assert other.folder.name not in str(refused.value)
    assert "PRIVATE KEY" not in repr(wrong)


def test_a_machine_that_is_away(sshd: Server, place: Path) -> None:
    nowhere = Machine("127.0.0.1", sshd.username, 1, private_key=sshd.key)
    with pytest.raises(BackendAway, match="Is it up, and is the port right"):
        Ssh(nowhere, str(place), patience_s=30).hello()


def test_a_machine_that_became_another(place: Path, tmp_path: Path) -> None:
    with server(tmp_path / "first") as first:
        backend = Ssh(machine(first), str(place), patience_s=30)
        home = far_home(backend)
        backend.close()
        end_guardian(home)
    line = (place / "ssh" / "known_hosts").read_text()
    with server(tmp_path / "second") as second:
        (place / "ssh" / "known_hosts").write_text(line.replace(f":{first.port}", f":{second.port}"))
        with pytest.raises(BackendRefused, match="another host key"):
            Ssh(machine(second), str(place), patience_s=30).hello()


def test_a_key_with_a_passphrase(sshd: Server, place: Path, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    shutil.copy(sshd.folder / "user_key", key)
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "a phrase; with 'signs", "-f", str(key)]
    subprocess.run(change, check=True, capture_output=True)
    locked = Machine(sshd.address, sshd.username, sshd.port, key.read_text(), passphrase="a phrase; with 'signs")
    backend = Ssh(locked, str(place), patience_s=30)
    home = far_home(backend)
    backend.close()
    end_guardian(home)
    with pytest.raises(BackendRefused, match="Check username, private_key_file and password"):
        Ssh(replace(locked, passphrase=""), str(place), patience_s=30).hello()


def test_nothing_of_the_key_is_on_a_command_line_or_left_behind(sshd: Server, place: Path) -> None:
    backend = Ssh(machine(sshd), str(place), patience_s=30)
    home = far_home(backend)
    assert backend._channel is not None
    arguments = Path(f"/proc/{backend._channel._process.pid}/cmdline").read_bytes()
    assert b"PRIVATE" not in arguments
    key_files = [part for part in arguments.split(b"\0") if part.endswith(b"/key")]
    assert len(key_files) == 1
    assert not os.path.exists(key_files[0])
    backend.close()
    end_guardian(home)
