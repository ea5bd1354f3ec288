"""A service's context on a real database in a temporary home, and a way to call its application without a socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from postgres_here import postgres
from sqlalchemy import create_engine, make_url, text

from trainyard.blobs.files import FileStore
from trainyard.client.http import Http
from trainyard.server.activity import Activity
from trainyard.server.app import create_app
from trainyard.server.computes.machine import this_machine
from trainyard.server.context import Context
from trainyard.server.db import Database, metadata
from trainyard.server.hub import Hub
from trainyard.server.identity.service import Authenticator
from trainyard.server.logs.service import LogStore
from trainyard.server.migrations import migrate
from trainyard.server.settings import Settings

OWNER_TOKEN = "owner-token-of-the-tests"


@contextlib.contextmanager
def empty_schema(address: str) -> Iterator[str]:
    """The address of a schema of its own in that PostgreSQL, gone afterwards."""
    schema = f"test_{secrets.token_hex(8)}"
    address = address.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
        within = make_url(address).update_query_dict({"options": f"-csearch_path={schema}"})
        yield within.render_as_string(hide_password=False)
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


# Modules and tests that run on both: what databases differ in. With TRAINYARD_TEST_DATABASE all tests run on that one.
ON_BOTH = {"test_db", "test_migrations", "test_delete"} | {
    "test_long_tags_are_kept_and_found",
    "test_two_orders",
    "test_bytes_that_are_no_text_are_refused_and_nothing_of_them_is_kept",
    "test_what_comes_along",
    "test_nothing_of_a_deleted_run_is_left",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = {metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__}
    if names & ON_BOTH and "database_kind" in metafunc.fixturenames and "TRAINYARD_TEST_DATABASE" not in os.environ:
        metafunc.parametrize("database_kind", ["sqlite", "postgres"])


@pytest.fixture
def database_kind() -> str:
    return "postgres" if "TRAINYARD_TEST_DATABASE" in os.environ else "sqlite"


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """A PostgreSQL: the one that TRAINYARD_TEST_DATABASE tells, else one of our own."""
    if (address := os.environ.get("TRAINYARD_TEST_DATABASE")) is not None:
        yield address
        return
    with postgres() as address:
        yield address


@pytest.fixture(scope="session")
def postgres_url(postgres_address: str) -> Iterator[str]:
    """A schema with all tables."""
    with empty_schema(postgres_address) as url:
        db = Database(url)
        migrate(db)
        db.close()
        yield url


@pytest.fixture
def postgres_schema(postgres_address: str) -> Iterator[str]:
    """A schema of the test's own, without tables."""
    with empty_schema(postgres_address) as url:
        yield url


@pytest.fixture
def empty_database(tmp_path: Path, database_kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without tables."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with empty_schema(request.getfixturevalue("postgres_address")) as url:
        yield url


@pytest.fixture
def database_url(tmp_path: Path, database_kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without rows."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'rows.db'}"
        return
    yield (url := request.getfixturevalue("postgres_url"))
    engine = create_engine(url)
    with engine.begin() as tx:
        for table in reversed(metadata.sorted_tables):  # TRUNCATE makes new files, which takes longer
            tx.execute(table.delete())
    engine.dispose()


@pytest.fixture
def context(tmp_path: Path, database_url: str) -> Iterator[Context]:
    settings = Settings(home=str(tmp_path), database_url=database_url)
    db = Database(settings.database_url)
    migrate(db)
    authenticator = Authenticator(db, b"a secret of the tests")
    with db.write() as tx:
        authenticator.grant_owner(tx, OWNER_TOKEN, "ada", 1)
    hub = Hub()
    logs = LogStore(settings.folder("logs"), hub.notify)
    blobs = FileStore(settings.folder("blobs"))
    yield Context(settings, db, blobs, logs, hub, authenticator, this_machine(), {}, Activity())
    db.close()


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Call = Callable[..., Answer]


@pytest.fixture
def call(context: Context) -> Call:
    """call(method, path, json=None, token=OWNER_TOKEN, body=b"", host=…, version=None) → Answer"""
    app = create_app(context)

    def request(
        method: str,
        path: str,
        value: Any = None,
        *,
        token: str | None = OWNER_TOKEN,
        body: bytes = b"",
        host: str = "127.0.0.1:80",
        version: str | None = None,
    ) -> Answer:
        headers = {"host": host, "content-type": "application/json"}
        headers |= {"authorization": f"Bearer {token}"} if token is not None else {}
        headers |= {"x-trainyard-version": version} if version is not None else {}
        content = json.dumps(value).encode() if value is not None else body
        return asyncio.run(_send(app, method, path, content, headers))

    return request


@pytest.fixture
def owner_token() -> str:
    return OWNER_TOKEN


@pytest.fixture
def http_client(context: Context) -> Iterator[Http]:
    """The application on a real socket of this machine, and the real client that talks to it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(context), log_level="error", timeout_graceful_shutdown=5))
    ready = threading.Event()
    startup = server.startup

    async def tell_startup(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = tell_startup  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        assert ready.wait(30)
        client = Http(f"http://127.0.0.1:{listener.getsockname()[1]}", OWNER_TOKEN, None)
        yield client
        client.close()  # this thread's connection, which a process keeps to its end
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


async def _send(app: Any, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "root_path": "",
    }
    sent: list[dict[str, Any]] = []
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if asked:
            await asyncio.Event().wait()  # the client stays connected
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Answer(sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]))
