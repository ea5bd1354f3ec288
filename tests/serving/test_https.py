"""A service that answers https itself."""

from __future__ import annotations

import dataclasses
import http.client
import socket
import ssl
from pathlib import Path

import pytest
from deployed import scorer
from self_signed import self_signed

from trainyard.contract.serving import ServiceState


def test_https_and_a_certificate_that_is_renewed(written, service, tmp_path: Path) -> None:
    def file(name: str) -> tuple[str, str]:
        chain, key = self_signed("digits.test")
        (tmp_path / name).write_text(key + chain)
        return str(tmp_path / name), chain

    def asked(chain: str) -> int:
        context = ssl.create_default_context(cadata=chain)
        with context.wrap_socket(socket.create_connection(deployed.address), server_hostname="digits.test") as sock:
            connection = http.client.HTTPConnection("digits.test")
            connection.sock = sock
            connection.request("POST", "/score", b"1")
            return connection.getresponse().status

    first, chain = file("first.pem")
    deployed = service(scorer(written("def init(): pass\ndef run(data): return 1\n")), certificate=first).start()
    deployed.healthy()
    assert asked(chain) == 200
    with pytest.raises(OSError, match=r"reset|Remote end closed|empty"):  # plain http is not answered
        deployed.get("/")
    pid = deployed.workers()[0].pid
    second, newer = file("second.pem")
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, certificate=second))
    deployed.healthy()
    assert asked(newer) == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        asked(chain)
    assert deployed.workers()[0].pid == pid


def test_a_certificate_that_cannot_be_used(written, service, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    source = written("def init(): pass\ndef run(data): pass\n")
    status = service(scorer(source), certificate=str(tmp_path / "no.pem")).start().settled()
    assert status.state is ServiceState.FAILED
    assert status.error is not None
    assert status.error.startswith("The certificate of the service cannot be used")
