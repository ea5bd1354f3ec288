"""A real SSH server on loopback: Debian's sshd as an ordinary process, with host keys of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"]))


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    username: str = getpass.getuser()
    address: str = "127.0.0.1"

    @property
    def key(self) -> str:
        return (self.folder / "user_key").read_text()


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    assert SSHD is not None, "sshd is not installed"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # where root's sshd separates its privileges
    for name in ("host_key", "user_key"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n"
        f"Subsystem sftp internal-sftp\nMaxStartups 100\nSetEnv PATH={os.environ['PATH']}\n"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=log)
    until = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.02)
    try:
        yield Server(folder, port, process)
    finally:
        process.terminate()
        process.wait(10)
