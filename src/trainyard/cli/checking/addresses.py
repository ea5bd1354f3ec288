"""Addresses of data in code: which are mapped to a mirror, which are gone and, when asked, which answer."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from trainyard.cli.checking.findings import Finding, Kind
from trainyard.cli.checking.sources import Code, Place

_ADDRESS = re.compile(r"\b(?:https?|wasbs?|abfss?|adl)://[^\s\"'<>)\\{}]+")
_DATA = re.compile(
    r"\.(?:gz|zip|tar|tgz|csv|tsv|json|npz|npy|pkl|h5|onnx|pt|pth|parquet|txt|jpg|png|mat|bz2|data)(?:$|[?#])", re.I
)
GONE = {
    "yann.lecun.com/exdb/mnist": "it refuses; ossci-datasets.s3.amazonaws.com/mnist/ has the files",
    "www.cntk.ai": "CNTK's site is gone",
    "azuremlsamples.azureml.net": "the site is gone",
    "raw.githubusercontent.com/tensorflow/tensorflow/master/tensorflow/examples/tutorials": "the examples were removed",
}
_CLOUD = re.compile(
    r"^(?:wasbs?|abfss?|adl)://|\.(?:blob|dfs|file)\.core\.windows\.net|\.azurefd\.net|\.azureedge\.net"
)


def addresses_in(code: Code, url_map: Mapping[str, str]) -> Iterator[Finding]:
    """Only of data: a link in a comment or a service of one's own is not looked at."""
    for part in code.parts:
        for node in ast.walk(part.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for match in _ADDRESS.finditer(node.value):
                    yield from _finding(Place(code.file, node.lineno, part.cell), match[0].rstrip(".,;"), url_map)


def map_of(text: str | None) -> dict[str, str]:
    """TRAINYARD_URL_MAP; an unreadable one is none."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(old): str(new) for old, new in found.items()} if isinstance(found, dict) else {}


def asked(findings: Iterable[Finding], timeout_s: float = 5.0) -> dict[str, str]:
    """What each address answers now: "" for one that is there."""
    from concurrent.futures import ThreadPoolExecutor

    names = sorted({it.name for it in findings if it.kind is Kind.ADDRESS and it.name.startswith("http")})
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: _answer(name, timeout_s), names), strict=True))


def _answer(address: str, timeout_s: float) -> str:
    import urllib.error
    import urllib.request

    request = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "trainyard-check"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310 - http or https by the pattern
            return ""
    except urllib.error.HTTPError as error:
        return "" if error.code in (405, 501) else f"answers {error.code}"  # it is there, and will not be asked so
    except (OSError, ValueError) as error:
        return f"does not answer: {getattr(error, 'reason', error)}"


def _finding(place: Place, address: str, url_map: Mapping[str, str]) -> Iterator[Finding]:
    prefix = max((it for it in url_map if address.startswith(it)), key=len, default=None)
    bare = address.split("://", 1)[1]
    if prefix is not None:
        yield Finding(place, Kind.ADDRESS, address, f"comes from {url_map[prefix]} (TRAINYARD_URL_MAP)")
    elif gone := next((why for start, why in GONE.items() if bare.startswith(start)), None):
        yield Finding(place, Kind.ADDRESS, address, f"gone: {gone}")
    elif _CLOUD.search(address):
        note = "Azure's storage: read a copy of yours, or name a mirror in TRAINYARD_URL_MAP"
        yield Finding(place, Kind.ADDRESS, address, note)
    elif _DATA.search(address):
        yield Finding(place, Kind.ADDRESS, address, "fetched from the web; --online says whether it is there")
