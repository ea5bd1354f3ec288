"""SFTP against OpenSSH's own server."""

from __future__ import annotations

import itertools
import os

import pytest
from secure_shell import SSHD, server

from trainyard.contract.errors import BadCredentials, DataAway, DataRefused, NoSuchData
from trainyard.server.data import sftp
from trainyard.testing.depot_kit import DepotKit

pytestmark = pytest.mark.skipif(SSHD is None, reason="sshd is not installed")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with server(tmp_path_factory.mktemp("sshd")) as found:
        yield found
    for kept in sftp._idle.values():
        for _, connection in kept:
            connection.close()
    sftp._idle.clear()


@pytest.fixture
def depot_of(machine, tmp_path):
    def depot_of(path, *, private=True, **changes):
        location = {"host": machine.address, "port": machine.port, "username": machine.username, "path": str(path)}
        secrets = {"private_key": changes.pop("key", machine.key)}
        return sftp.sftp_depot({**location, **changes}, secrets, str(machine.folder / "seen"), private=private)

    return depot_of


class TestSftp(DepotKit):
    @pytest.fixture
    def depot(self, depot_of, tmp_path):
        (tmp_path / "there").mkdir()
        return depot_of(tmp_path / "there")


def test_a_connection_is_used_again(depot_of, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(200_000))
    depot = depot_of(tmp_path)
    depot.look("f")
    (place, kept), *_ = [(place, kept) for place, kept in sftp._idle.items() if kept]
    [(_, first)] = kept[-1:]
    assert b"".join(depot.read("f")) == (tmp_path / "f").read_bytes()
    begun = depot.read("f")
    next(begun)
    begun.close()  # half-way: what was asked for and not read is not taken for a later answer
    assert b"".join(depot_of(tmp_path).read("f", 150_000)) == (tmp_path / "f").read_bytes()[150_000:]
    assert sftp._idle[place][-1][1] is first


def test_a_folder_that_is_not_there_is_made_if_wanted(depot_of, tmp_path):
    with pytest.raises(NoSuchData, match="There is no folder"):
        depot_of(tmp_path / "a/b").check()
    depot_of(tmp_path / "a/b").check(create=True)
    assert (tmp_path / "a/b").is_dir()


def test_links_lead_to_files_and_not_in_circles(depot_of, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/f").write_text("x")
    (tmp_path / "data/link").symlink_to("f")
    (tmp_path / "data/round").symlink_to(tmp_path / "data")
    (tmp_path / "data/gone").symlink_to("nothing")
    assert [file.path for file in depot_of(tmp_path / "data").list("")] == ["f", "link"]


def test_a_file_that_grows_while_it_is_read_is_noticed(depot_of, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 100_000)
    begun = depot_of(tmp_path).read("f")
    next(begun)
    with (tmp_path / "f").open("ab") as file:
        file.write(b"more")
    with pytest.raises(DataRefused, match="changed while it was read"):
        list(begun)


def test_what_does_not_let_us_in_is_told(depot_of, machine, tmp_path):
    other = (machine.folder / "host_key").read_text()
    with pytest.raises(BadCredentials, match="refuses to let") as told:
        depot_of(tmp_path, key=other).check()
    assert "PRIVATE KEY" not in told.value.message
    with pytest.raises(DataAway, match="does not answer over SSH"):
        depot_of(tmp_path, port=9).check()
    with pytest.raises(DataRefused, match="needs a host and a username"):
        depot_of(tmp_path, username="-oProxyCommand=x")
    with pytest.raises(DataRefused, match="private address"):
        depot_of(tmp_path, private=False)


def test_a_connection_that_broke_is_made_anew(depot_of, tmp_path):
    (tmp_path / "f").write_text("x")
    depot = depot_of(tmp_path)
    depot.look("f")
    for kept in sftp._idle.values():
        for _, connection in kept:
            connection._process.kill()
            connection._process.wait()
    assert depot.look("f") is not None
