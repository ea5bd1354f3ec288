"""Files at web addresses: redirects are few, sizes capped, private addresses for those who may.

Retries and resuming are the cache's (see cache.py); here one request is one try."""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainyard.blobs.base import BLOCK
from trainyard.blobs.depots.base import Depot
from trainyard.contract.data import DataFile
from trainyard.contract.errors import BadCredentials, DataAway, DataChanged, DataRefused, InvalidRequest, NoSuchData

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_TIMEOUT_S = 30.0
_AGAIN = (408, 425, 429, 500, 502, 503, 504)  # worth another try
LARGEST = 1 << 40


@dataclass(frozen=True)
class WebDepot(Depot):
    """`url_map` sends addresses that begin so to others. `trusted` addresses may be private whatever the policy."""

    url_map: tuple[tuple[str, str], ...] = ()
    private: bool = True
    trusted: tuple[str, ...] = ()
    largest: int = LARGEST
    key = "web"

    def list(self, folder: str) -> Iterator[DataFile]:
        raise DataRefused(f"{folder} is a web folder, and those cannot be listed. Name each file's address.")

    def look(self, path: str) -> DataFile | None:
        response, connection = self._ask(path, "HEAD")
        with connection:
            if response.status in (403, 405, 501):  # servers that sign addresses for GET alone
                with connection:
                    response, connection = self._ask(path, "GET", {"Range": "bytes=0-0"})
            with connection:
                if response.status in (404, 410):
                    return None
                if response.status == 416:  # not even a first byte: it is empty
                    return DataFile(path, 0, _version(response), _changed(response))
                self._checked(response, path)
                return DataFile(path, self._size(response, path), _version(response), _changed(response))

    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        response, connection = self._ask(path, "GET", headers)
        with connection:
            if response.status == 416:
                return  # there is nothing from there on
            self._checked(response, path)
            if version and _version(response) not in ("", version):
                raise DataChanged(f"{path} has changed since it was looked at. Try again.")
            skip = offset if response.status == 200 else 0
            seen = 0 if skip else offset
            try:
                while data := response.read(BLOCK):
                    seen += len(data)
                    if seen > self.largest:
                        raise DataRefused(f"{path} is larger than the {self.largest:,} bytes that are allowed.")
                    part, skip = data[skip:], max(0, skip - len(data))
                    if part:
                        yield part
                if response.length:  # of the bytes that were announced
                    raise http.client.IncompleteRead(b"", response.length)
            except (OSError, http.client.HTTPException) as error:
                raise DataAway(f"{path} broke off after {seen:,} bytes ({error}). Try again.") from error

    def put(self, path: str, file: str) -> None:
        del file
        raise DataRefused(f"{path} is a web address; nothing can be stored there. Use a datastore.")

    def delete(self, path: str) -> None:
        raise DataRefused(f"{path} is a web address; nothing can be removed there.")

    def check(self, *, create: bool = False) -> None:
        """There is nothing to be let in to."""

    def mapped(self, url: str) -> tuple[str, bool]:
        """Where it is fetched from, and whether that may be a private address."""
        for prefix, target in sorted(self.url_map, key=lambda pair: -len(pair[0])):
            if url.startswith(prefix):
                url = target + url[len(prefix) :]
                return url, self.private or any(_leads_to(url, mirror) for mirror in self.trusted)
        return url, self.private

    def _ask(
        self, url: str, method: str, headers: Mapping[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, _Closing]:
        where, private = self.mapped(url)
        for _ in range(_MOST_REDIRECTS + 1):
            connection, target = connect(where, url, private=private)
            try:
                # as the address is stored, not packed for the way: sizes and resumes are about the file itself
                connection.request(method, target, headers={"Accept-Encoding": "identity", **(headers or {})})
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise DataAway(f"{url} does not answer ({error}). Check the address and the network.") from error
            if response.status not in _REDIRECTS or not (to := response.getheader("Location")):
                return response, _Closing(connection)
            connection.close()
            where, private = urllib.parse.urljoin(where, to), self.private
        raise DataRefused(f"{url} leads on more than {_MOST_REDIRECTS} times. Give the address it ends at.")

    def _checked(self, response: http.client.HTTPResponse, url: str) -> None:
        status = response.status
        if status in (404, 410):
            raise NoSuchData(f"There is nothing at {url} (HTTP {status}). Check the address.")
        if status in (401, 403, 407):
            raise BadCredentials(f"{url} is not public (HTTP {status}). Download it by hand and upload it.")
        if status in _AGAIN:
            raise DataAway(f"{url} was answered with HTTP {status}. Try again later.")
        if status not in (200, 206):
            raise DataRefused(f"{url} was answered with HTTP {status}. Check the address.")
        self._size(response, url)

    def _size(self, response: http.client.HTTPResponse, url: str) -> int:
        """-1 where the server does not say."""
        whole = (response.getheader("Content-Range") or "").rpartition("/")[2]
        if not whole and response.status == 200:
            whole = response.getheader("Content-Length") or ""
        size = int(whole) if whole.isdigit() else -1
        if size > self.largest:
            raise DataRefused(f"{url} has {size:,} bytes; {self.largest:,} are allowed.")
        return size


class _Closing:
    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _leads_to(url: str, mirror: str) -> bool:
    """Whether an address is at a mirror: the same server, not only one whose name begins alike."""
    return url.startswith(mirror) and urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(mirror).netloc


def web_depot(variables: Mapping[str, str], *, private: bool, operators: Mapping[str, str] | None = None) -> WebDepot:
    """As these variables say. What the operator's own map leads to may be private; what a user's does may not."""
    users = _map_of(variables)
    trusted = tuple(target for _, target in _map_of(operators or {}))
    return WebDepot(users + _map_of(operators or {}), private, trusted)


def _map_of(variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    said = variables.get("TRAINYARD_URL_MAP")
    if not said:
        return ()
    try:
        found = json.loads(said)
        return tuple((str(prefix), str(target)) for prefix, target in found.items())
    except (ValueError, AttributeError) as error:
        raise InvalidRequest(
            'TRAINYARD_URL_MAP is not JSON of prefixes, such as {"https://data.example/": "http://mirror/"}. '
            "Correct it, or unset it."
        ) from error


def connect(where: str, url: str, *, private: bool) -> tuple[http.client.HTTPConnection, str]:
    """A connection for one request to `where`, and what to ask it for. `url`: what the user knows it as."""
    parts = urllib.parse.urlsplit(where)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise DataRefused(f"{url} leads to {where[:200]!r}, which is no http or https address. Check it.")
    target = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
    if (proxy := _proxy(parts)) is not None:
        if not private:
            _refuse_where_known(parts.hostname)
        return _through_proxy(proxy, parts, where, target)
    made: http.client.HTTPConnection = (
        http.client.HTTPSConnection(parts.hostname, port, timeout=_TIMEOUT_S)
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname, port, timeout=_TIMEOUT_S)
    )
    if not private:
        # the address that was checked is the one that is connected to: a second look-up could answer another
        made._create_connection = _public_connection  # type: ignore[attr-defined]
    return made, target


def _proxy(parts: urllib.parse.SplitResult) -> urllib.parse.SplitResult | None:
    import urllib.request  # here: it takes longer to import than all the rest

    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    said = urllib.request.getproxies().get(parts.scheme)
    found = urllib.parse.urlsplit(said if "://" in (said or "") else f"http://{said}") if said else None
    return found if found and found.hostname else None


def _through_proxy(
    proxy: urllib.parse.SplitResult, parts: urllib.parse.SplitResult, where: str, target: str
) -> tuple[http.client.HTTPConnection, str]:
    host = str(proxy.hostname)
    if parts.scheme == "https":
        made = http.client.HTTPSConnection(host, proxy.port, timeout=_TIMEOUT_S)
        made.set_tunnel(str(parts.hostname), parts.port)
        return made, target
    return http.client.HTTPConnection(host, proxy.port, timeout=_TIMEOUT_S), where


def _public_connection(address: tuple[str, int], timeout: float, source: object = None) -> socket.socket:
    del source
    host, port = address
    failed: OSError | None = None
    for *_, found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        refuse_private(str(found[0]), host)
        try:
            return socket.create_connection((str(found[0]), port), timeout)
        except OSError as error:
            failed = error
    raise failed or OSError(f"{host} has no address")


def _refuse_where_known(host: str) -> None:
    """A proxy looks names up by itself; what this machine knows to be private is not asked of it."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return
    for *_, address in found:
        refuse_private(str(address[0]), host)


def refuse_private_host(host: str, port: int | None) -> None:
    """Of a host that has no address here, whoever connects to it is told."""
    try:
        found = [str(it[4][0]) for it in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError:
        return
    for address in found:
        refuse_private(address, host)


def refuse_private(address: str, host: str) -> None:
    """An address of the service's own network would let a user read what only the service may."""
    number = ipaddress.ip_address(address.partition("%")[0])
    number = getattr(number, "ipv4_mapped", None) or number
    if not number.is_global or number.is_multicast:
        raise DataRefused(
            f"{host} is at the private address {address}, and this service fetches from public ones only. Its operator "
            "can allow it with TRAINYARD_ALLOW_PRIVATE_ADDRESSES=1."
        )


def _version(response: http.client.HTTPResponse) -> str:
    return response.getheader("ETag") or response.getheader("Last-Modified") or ""


def _changed(response: http.client.HTTPResponse) -> int:
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(response.getheader("Last-Modified") or "").timestamp()) * 1_000_000_000
    except (ValueError, TypeError):
        return 0
