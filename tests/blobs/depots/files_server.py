"""A web server that behaves as badly as it is told."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Files:
    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)  # path → bytes
    redirects: dict[str, str] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)  # path → ETag; without one there is none
    cut_after: list[int] = field(default_factory=list)  # for each GET in turn: break the connection after so many bytes
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)  # (method, path, Range)
    ranges: bool = True
    heads: bool = True
    busy: int = 0  # so many requests are answered with 503


@contextlib.contextmanager
def serving() -> Iterator[Files]:
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(b"HEAD")

        def do_GET(self) -> None:
            self._answer(b"GET")

        def log_message(self, *_: object) -> None: ...

        def _answer(self, method: bytes) -> None:
            said = self.headers.get("Range")
            files.asked.append((method.decode(), self.path, said))
            if files.busy > 0:
                files.busy -= 1
                return self._head(503, 0, {})
            if method == b"HEAD" and not files.heads:
                return self._head(405, 0, {})
            if self.path in files.redirects:
                return self._head(302, 0, {"Location": files.redirects[self.path]})
            if self.path in files.status or self.path not in files.content:
                return self._head(files.status.get(self.path, 404), 0, {})
            whole = files.content[self.path]
            tag = {"ETag": files.tags[self.path]} if self.path in files.tags else {}
            found = re.match(r"bytes=(\d+)-(\d*)", said or "") if files.ranges else None
            body, status = whole, 200
            if found:
                start, end = int(found[1]), int(found[2] or len(whole) - 1)
                if start >= len(whole):
                    return self._head(416, 0, tag)
                body, status = whole[start : end + 1], 206
                tag["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(whole)}"
            self._head(status, len(body), tag)
            if method == b"GET":
                if files.cut_after:
                    self.wfile.write(body[: files.cut_after.pop(0)])
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(2)
                else:
                    self.wfile.write(body)
            return None

        def _head(self, status: int, size: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(size)}.items():
                self.send_header(name, value)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    files.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
