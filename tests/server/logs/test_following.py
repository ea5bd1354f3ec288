"""Following a log while threads write it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from trainyard.server.hub import Hub
from trainyard.server.logs.follow import BLOCK, follow, upto
from trainyard.server.logs.service import LogStore


class Run:
    """A run whose end is told the way the service tells it: first true, then notified."""

    def __init__(self, root: Path) -> None:
        self.hub = Hub()
        self.hub.attach(asyncio.get_running_loop())
        self.store = LogStore(str(root), self.hub.notify)
        self.over = False

    async def is_over(self) -> bool:
        return self.over

    def end(self) -> None:
        self.over = True
        self.hub.notify(1)

    async def read_all(self, name: str, offset: int = 0) -> bytes:
        parts = [part async for part in follow(self.store, self.hub, 1, name, offset, self.is_over)]
        return b"".join(parts)


def test_followers_get_every_byte_and_then_the_end(tmp_path: Path) -> None:
    async def go() -> None:
        run = Run(tmp_path)

        def write() -> None:
            at = 0
            for number in range(500):
                at = run.store.append(1, 1, "log", at, f"line {number}\n".encode())
            run.end()

        followers = [asyncio.create_task(run.read_all("log")) for _ in range(50)]
        await asyncio.sleep(0)
        writer = threading.Thread(target=write)
        writer.start()
        expected = "".join(f"line {number}\n" for number in range(500)).encode()
        assert await asyncio.gather(*followers) == [expected] * 50
        writer.join()

    asyncio.run(go())


def test_a_line_is_sent_before_the_next_is_written(tmp_path: Path) -> None:
    async def go() -> None:
        run = Run(tmp_path)
        lines = follow(run.store, run.hub, 1, "log", 0, run.is_over)
        at = 0
        for number in range(20):
            waiting = asyncio.ensure_future(anext(lines))
            await asyncio.sleep(0)
            line = f"{number}\n".encode()
            at = await asyncio.to_thread(run.store.append, 1, 1, "log", at, line)
            assert await waiting == line
        run.end()
        with pytest.raises(StopAsyncIteration):
            await anext(lines)

    asyncio.run(go())


def test_an_offset_and_a_log_that_never_comes(tmp_path: Path) -> None:
    async def go() -> None:
        run = Run(tmp_path)
        run.store.append(1, 1, "log", 0, b"0123456789")
        rest = asyncio.create_task(run.read_all("log", 7))
        none = asyncio.create_task(run.read_all("other"))
        beyond = asyncio.create_task(run.read_all("log", 99))
        await asyncio.sleep(0)
        run.end()
        assert [await rest, await none, await beyond] == [b"789", b"", b""]

    asyncio.run(go())


def test_a_long_log_comes_in_blocks(tmp_path: Path) -> None:
    async def go() -> None:
        run = Run(tmp_path)
        data = bytes(range(256)) * (3 * BLOCK // 256 + 1)
        run.store.append(1, 1, "log", 0, data)
        run.over = True
        assert await run.read_all("log") == data
        log = run.store.find(1, "log")
        assert log is not None
        part = [piece async for piece in upto(log, 5, BLOCK + 105)]
        assert [len(piece) for piece in part] == [BLOCK, 100]
        assert b"".join(part) == data[5 : BLOCK + 105]

    asyncio.run(go())
