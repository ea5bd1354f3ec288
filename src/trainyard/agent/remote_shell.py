"""What MPI starts its daemons with instead of ssh: hands a line to the agent of another node, which runs it as its own.

    remote_shell.py NODE WORD...

A program of its own, run by its path with nothing but the standard library. The agent asks a riddle that only the run's
token solves; the token itself never travels. TRAINYARD_NODES says where the agents listen.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import sys
import time

NODES_VARIABLE = "TRAINYARD_NODES"  # JSON: name of a node → [address, port]
TOKEN_VARIABLE = "AZUREML_RUN_TOKEN"  # noqa: S105 - a variable's name
_PATIENCE_S = 600.0  # the other node may still be laying out its environment
_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)


def main(words: list[str], variables: dict[str, str]) -> int:
    name, line = words[0], " ".join(words[1:])
    address, port = json.loads(variables[NODES_VARIABLE])[name]
    with _connected(address, port) as connection, connection.makefile("rw", encoding="utf-8") as stream:
        riddle = json.loads(stream.readline())["riddle"]
        answer = {"line": line, "proof": proof(variables[TOKEN_VARIABLE], riddle, line)}
        stream.write(json.dumps(answer) + "\n")
        stream.flush()
        said = stream.readline()
    if not said:
        print(f"The agent of {name} went away. Its log on that node says why.", file=sys.stderr)
        return 255
    return int(json.loads(said)["code"]) & 0xFF


def proof(token: str, riddle: str, line: str) -> str:
    """Knows the token, and means this line."""
    return hmac.new(token.encode(), f"{riddle}\n{line}".encode(), hashlib.sha256).hexdigest()


def _connected(address: str, port: int) -> socket.socket:
    until = time.monotonic() + _PATIENCE_S
    tried = 0
    while True:
        try:
            return socket.create_connection((address, port), timeout=None)
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(_PAUSES_S[min(tried, len(_PAUSES_S) - 1)])
        tried += 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
