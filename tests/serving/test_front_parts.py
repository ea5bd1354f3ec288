"""The parts of the front that need no process."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import itertools
import socket
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from trainyard.contract.serving import Auth, Scorer
from trainyard.scoring.wire import Assignment
from trainyard.serving.bodies import Bodies, BodyRefused
from trainyard.serving.gate import Gate
from trainyard.serving.metrics import Metrics
from trainyard.serving.pool import Pool, process_part
from trainyard.serving.process import Launch, Worker, WorkerDied
from trainyard.serving.router import NoSuchVersion, Router


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def pool(version: str, traffic: int, mirror: int = 0) -> Pool:
    return cast("Pool", SimpleNamespace(scorer=Scorer(version, "python", "models", traffic=traffic, mirror=mirror)))


@pytest.mark.parametrize(
    ("given", "lets_in"),
    [
        (b"Bearer right", True),
        (b"bearer  right ", True),
        (b"Bearer Right", False),
        (b"Bearer", False),
        (b"right", False),
        (b"", False),
        (b"Bearer \xff", False),
    ],
)
def test_a_key(given: bytes, lets_in: bool) -> None:
    assert Gate(Auth.KEY, (digest("other"), digest("right")), {}).lets_in(given) is lets_in


def test_each_kind_of_auth_takes_its_own() -> None:
    later = time.time_ns() + 10**12
    keys, tokens = (digest("key"),), {digest("token"): later, digest("old"): 1}
    both = {auth: Gate(auth, keys, tokens) for auth in Auth}
    seen = {
        auth: [gate.lets_in(f"Bearer {what}".encode()) for what in ("key", "token", "old")]
        for auth, gate in both.items()
    }
    assert seen == {
        Auth.NONE: [True, True, True],
        Auth.KEY: [True, False, False],
        Auth.TOKEN: [False, True, False],
    }


def test_shares_are_exact_and_spread() -> None:
    router = Router((pool("a", 70), pool("b", 20), pool("c", 10)))
    chosen = [router.next().scorer.version for _ in range(1000)]
    assert Counter(chosen) == {"a": 700, "b": 200, "c": 100}
    assert all(Counter(chosen[at : at + 10]) == {"a": 7, "b": 2, "c": 1} for at in range(0, 1000, 10))
    assert max(len(list(run)) for version, run in itertools.groupby(chosen) if version == "c") == 1


def test_shares_need_not_make_a_hundred() -> None:
    router = Router((pool("a", 1), pool("b", 3), pool("c", 0)))
    assert Counter(router.next().scorer.version for _ in range(40)) == {"a": 10, "b": 30}


def test_no_version_for_the_request() -> None:
    with pytest.raises(NoSuchVersion, match="name one in the header azureml-model-deployment"):
        Router((pool("a", 0),)).next()
    with pytest.raises(NoSuchVersion, match=r"no version 'b' \(it has: a\)"):
        Router((pool("a", 0),)).named("b")


def test_a_mirror_gets_its_share_and_never_its_own_answers() -> None:
    a, b = pool("a", 100), pool("b", 0, mirror=30)
    router = Router((a, b))
    assert sum(len(router.mirrors(a)) for _ in range(100)) == 30
    assert sum(len(router.mirrors(b)) for _ in range(100)) == 0


def test_what_needs_new_processes() -> None:
    one = Scorer("1", "python", "models", traffic=10, workers=2, batch=8, smoke="{}", memory_mb=5)
    same = Scorer("1", "python", "models", traffic=90, mirror=5, workers=4, most_workers=8, batch_wait_ms=3.0)
    assert process_part(one) == process_part(same)
    for other in (
        Scorer("1", "python3", "models"),
        Scorer("1", "python", "models", revision=1),
        Scorer("1", "python", "models", threads=2),
        Scorer("1", "python", "models", variables={"A": "1"}),
    ):
        assert process_part(one) != process_part(other)


def test_bodies_share_the_memory_there_is() -> None:
    bodies = Bodies(400 << 20)
    with bodies.room() as first, bodies.room() as second:
        first._grow(400 << 20, 400 << 20)
        second._grow(400 << 20, 400 << 20)
        with pytest.raises(BodyRefused) as refused, bodies.room() as third:
            third._grow(1, 1)
        assert refused.value.status == 503
    with bodies.room() as again:
        again._grow(1, 1)  # it was given back


def test_labels_cannot_break_the_text() -> None:
    counts = Metrics('na"me\n')
    counts.answered("v\\1", 200, 0.003)
    text = counts.text([])
    assert 'trainyard_requests_total{service="na\\"me\\n",version="v\\\\1",code="200"} 1\n' in text
    assert 'trainyard_request_seconds_bucket{service="na\\"me\\n",version="v\\\\1",le="0.0025"} 0\n' in text
    assert 'trainyard_request_seconds_bucket{service="na\\"me\\n",version="v\\\\1",le="0.005"} 1\n' in text


def test_an_odd_plan_is_refused_in_words(tmp_path: Any) -> None:
    from trainyard.serving.folder import Folder, FolderRefused

    for text in ("", "{", "[]", '{"name": "x"}', '{"name": "x", "generation": 1, "auth": "fingerprint"}'):
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(FolderRefused, match=r"plan\.json is not a plan: "):
            Folder(str(tmp_path)).plan()
    with pytest.raises(FolderRefused, match="cannot be read: No such file"):
        Folder(str(tmp_path / "none")).plan()


def test_a_process_that_no_socket_is_left_for_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """WorkerDied is what those who start processes anew expect of a bad moment."""

    def exhausted() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def start() -> None:
        worker = Worker(Launch("/python", "/", {}, Assignment("svc", "1", "script"), log=1), lambda ended: None)
        with monkeypatch.context() as bad_moment:  # not earlier: the event loop has a pair of its own
            bad_moment.setattr(socket, "socketpair", exhausted)
            await worker.start(1.0)

    with pytest.raises(WorkerDied, match="Too many open files"):
        asyncio.run(start())
