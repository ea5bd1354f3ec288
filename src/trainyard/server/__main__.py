"""The program: take the home, bind, migrate, serve, leave nothing behind."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import gc
import getpass
import json
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import uvicorn
import uvloop

from trainyard import __version__
from trainyard.blobs.files import FileStore
from trainyard.contract.errors import TrainyardError
from trainyard.server.activity import Activity
from trainyard.server.app import create_app
from trainyard.server.computes.attached import Backends
from trainyard.server.computes.machine import this_machine
from trainyard.server.context import Context
from trainyard.server.db import Database
from trainyard.server.endpoints.keeper import Keeper
from trainyard.server.endpoints.service import any_serving
from trainyard.server.hub import Hub
from trainyard.server.identity.service import Authenticator
from trainyard.server.logs.service import LogStore
from trainyard.server.migrations import migrate
from trainyard.server.reconcile import Reconciler
from trainyard.server.retention.janitor import Janitor
from trainyard.server.runs.service import active_runs
from trainyard.server.secrets import Secrets
from trainyard.server.settings import DATABASE, LOOPBACK, Settings

log = logging.getLogger("trainyard")

HOME_TAKEN = 3  # exit code: another service has this home
_HALF_WRITTEN_S = 86_400  # files of the blob store that are older were left by killed writers
_LOCK_PATIENCE_S = 1.0
_STOP_PATIENCE_S = 20.0


def main() -> int:
    arguments = _parse(sys.argv[1:])
    try:
        settings = Settings.from_env(os.environ, arguments.home, arguments.host, arguments.port, arguments.stay)
    except TrainyardError as error:
        print(error.message, file=sys.stderr)
        return 2
    database = os.environ.pop(DATABASE, None)  # what we start from here on inherits the rest
    if not settings.loopback and not arguments.expose:
        print(
            f"{settings.host} is reachable from other machines. Say --expose if that is meant; tokens stay needed.",
            file=sys.stderr,
        )
        return 2
    os.umask(0o077)
    os.makedirs(settings.home, mode=0o700, exist_ok=True)
    lock = _take_home(settings)
    if lock is None:
        print(f"Another service already runs for {settings.home}. See `trainyard status`.", file=sys.stderr)
        return HOME_TAKEN
    settings = with_database(settings, database)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("alembic", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        listener = _bind(settings)
    except OSError as error:
        print(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}. Choose another with --port, "
            "or leave it out and a free one is taken.",
            file=sys.stderr,
        )
        return 1
    try:
        with listener:
            _serve(settings, listener)
    except TrainyardError as error:
        print(error.message, file=sys.stderr)
        return 1
    os.close(lock)
    return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m trainyard.server", description="Run Trainyard's service.")
    parser.add_argument("--home", required=True, help="the folder that holds everything")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port (default: the one it had before, else a free one)")
    parser.add_argument("--expose", action="store_true", help="allow an address other than loopback")
    parser.add_argument("--stay", action="store_true", help="do not stop when idle")
    return parser.parse_args(argv)


def _take_home(settings: Settings) -> int | None:
    """The lock that says this home's service is alive. The kernel lets go of it however the process ends."""
    fd = os.open(settings.folder("server.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    began, announcement = time.monotonic(), settings.folder("server.json")
    while not _lock(fd):
        # one that is not announced is just starting or stopping; who asks whether one lives has the lock for a moment
        patience = _LOCK_PATIENCE_S if os.path.exists(announcement) else _STOP_PATIENCE_S
        if time.monotonic() > began + patience:
            os.close(fd)
            return None
        time.sleep(0.005)
    _unlink(announcement)  # of one that was killed: with the lock held it would pass for ours
    return fd


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _bind(settings: Settings) -> socket.socket:
    """The port of last time, so that agents and readers find the service where it was; a free one if that is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. Without it an answer's body waits 40 ms for the client's acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((settings.host, settings.port if settings.port is not None else _last_port(settings)))
    except OSError:
        if settings.port is not None:
            raise
        listener.bind((settings.host, 0))
    listener.listen(1024)
    return listener


def _last_port(settings: Settings) -> int:
    try:
        with open(settings.folder("port"), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def _serve(settings: Settings, listener: socket.socket) -> None:
    context = _make_context(settings)
    reconciler, keeper, janitor = Reconciler(context), Keeper(context), Janitor(context)
    config = uvicorn.Config(
        create_app(context), log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2
    )
    server = _Server(config, settings.folder("server.json"))
    for number in (signal.SIGTERM, signal.SIGINT):  # until the loop takes them over: an end is an end from here on
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    reconciler.start()
    keeper.start()
    janitor.start()
    gc.freeze()  # what is here now stays to the end: collections need not walk through it each time
    url = _announce(settings, listener)
    log.info("Trainyard %s serves %s at %s", __version__, settings.home, url)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(server, context, listener))
    finally:
        _unlink(settings.folder("server.json"))
        janitor.stop()
        keeper.stop()
        reconciler.stop()
        context.db.close()
        log.info("stopped")


class _Server(uvicorn.Server):
    """Ends on a signal and lets its caller clean up; uvicorn would raise the signal once more and die of it. Takes its
    `announcement` back before it stops listening, so that who comes then starts the next service instead of failing."""

    def __init__(self, config: uvicorn.Config, announcement: str) -> None:
        super().__init__(config)
        self._announcement = announcement

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _unlink(self._announcement)
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.handle_exit, number, None)
        yield


async def _run(server: uvicorn.Server, context: Context, listener: socket.socket) -> None:
    """Serve until told to stop, or until nothing was asked and nothing ran for the idle time."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    limit = context.settings.idle_stop_s
    while not serving.done():
        await asyncio.wait({serving}, timeout=min(5.0, (limit or 10) / 4))
        if limit is not None and context.activity.idle_s() > limit:
            with context.db.read() as tx:
                idle = active_runs(tx) == 0 and not any_serving(tx)
            if idle:
                log.info("idle for %s s: stopping; the next call starts it again", limit)
                server.should_exit = True
                limit = None
            else:
                context.activity.touch()
    await serving


def _make_context(settings: Settings) -> Context:
    db = Database(settings.database_url)
    migrate(db)
    authenticator = Authenticator(db, _secret(settings, "secret").encode())
    hub = Hub()
    context = Context(
        settings=settings,
        db=db,
        blobs=FileStore(settings.folder("blobs")),
        logs=LogStore(settings.folder("logs"), hub.notify),
        hub=hub,
        authenticator=authenticator,
        machine=this_machine(),
        backends=Backends(settings.home, db, Secrets.of_home(settings), _own_address(settings)),
        activity=Activity(),
    )
    context.blobs.sweep(_HALF_WRITTEN_S)
    with db.write() as tx:
        authenticator.grant_owner(tx, _secret(settings, "token"), _user(), time.time_ns())
    return context


def _user() -> str:
    """A container's user may be a number that nobody gave a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def with_database(settings: Settings, said: str | None) -> Settings:
    """The home remembers where its rows are: clients and agents that start its service again do not know."""
    path = settings.folder("database")
    if said:
        _replace(path, said)
    elif os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return replace(settings, database_url=file.read())
    return settings


def _own_address(settings: Settings) -> Callable[[], str] | None:
    """Where a tunnel from an attached machine leads to; None: such machines call the advertised address."""
    if settings.advertised is not None:
        return None
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", *LOOPBACK) else settings.host  # noqa: S104

    def address() -> str:
        with open(settings.folder("port"), encoding="ascii") as file:
            return f"http://{host}:{file.read().strip()}"

    return address


def _secret(settings: Settings, name: str) -> str:
    """A random text in a file only its owner reads, made at the first start. One that is empty was never written: a
    machine went down at that moment."""
    path = settings.folder(name)
    with contextlib.suppress(FileNotFoundError):
        os.chmod(path, 0o600)
        with open(path, encoding="ascii") as file:
            if kept := file.read().strip():
                return kept
    made = secrets.token_urlsafe(32)
    _replace(path, made)
    return made


def _announce(settings: Settings, listener: socket.socket) -> str:
    """Where the service is, written down for clients and agents."""
    port = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    said = {"pid": os.getpid(), "url": url, "version": __version__, "python": sys.executable}
    _replace(settings.folder("port"), str(port))
    _replace(settings.folder("python"), sys.executable)
    _replace(settings.folder("server.json"), json.dumps(said))
    return url


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _replace(path: str, text: str) -> None:
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    sys.exit(main())
