"""A stand-in for the service's program: it keeps the same lock and files, and answers a few requests.

Started as `stand_in.py -m trainyard.server --home HOME`; the file HOME/play says how to behave:
    late      take the lock, and write server.json only when HOME/go exists
    broken    complain and exit with 1
    taken     the first time exit as if somebody else had the home, then behave
"""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import sys
import time
from pathlib import Path

from trainyard import __version__

HOME = Path(sys.argv[sys.argv.index("--home") + 1])
PLAY = (HOME / "play").read_text() if (HOME / "play").exists() else ""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({"pid": os.getpid(), "token": self.headers["Authorization"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> int:
    with open(HOME / "starts", "a") as file:
        file.write(f"{os.getpid()} {os.environ.get('TRAINYARD_ATTEMPT', '-')}\n")
    if PLAY == "broken":
        print("the database is locked away", file=sys.stderr)
        return 1
    if PLAY == "taken" and len((HOME / "starts").read_text().splitlines()) == 1:
        return 3
    lock = os.open(HOME / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 3
    (HOME / "token").write_text("owner-token\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    while PLAY == "late" and not (HOME / "go").exists():
        time.sleep(0.005)
    said = {
        "pid": os.getpid(),
        "url": f"http://127.0.0.1:{server.server_port}",
        "version": (HOME / "version").read_text() if (HOME / "version").exists() else __version__,
        "python": sys.executable,
    }
    (HOME / "server.json.new").write_text(json.dumps(said))
    (HOME / "server.json.new").rename(HOME / "server.json")
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
