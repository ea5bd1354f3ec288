"""Ports that are free on this node and stay ours from the moment we name them to the end of the attempt.

Two things keep a port. A bound socket keeps everybody else out until the process that the port is for is started; and a
name in the kernel's abstract namespace, which spans exactly the network that the port is in and dies with us, keeps
other agents from offering it for as long as we live. They lie below the range that the kernel takes ports from by
itself, so no outgoing connection takes one while a slow process is still on its way to it.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import suppress

from trainyard.contract.errors import ServiceUnavailable

_LOWEST = 10_000
_LOWEST_EPHEMERAL = 32_768  # where the kernel's own range begins unless it was changed
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class HeldPorts:
    def __init__(self, count: int) -> None:
        self._bound: dict[int, socket.socket] = {}
        self._names: list[socket.socket] = []
        candidates = _candidates() if count else iter(())
        while len(self._bound) < count:
            number = next(candidates, None)
            if number is None:
                raise ServiceUnavailable(f"This node has no {count} free ports. End what uses them and submit again.")
            if (name := _claim(number)) is not None:
                self._take(number, name)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(self._bound)

    def release(self) -> None:
        """Let the processes have them. Other agents still stay away."""
        for bound in self._bound.values():
            bound.close()

    def close(self) -> None:
        """Nobody needs them any more: any agent may offer them again."""
        self.release()
        for name in self._names:
            name.close()

    def _take(self, number: int, name: socket.socket) -> None:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)  # without SO_REUSEADDR: nobody else gets it
        try:
            bound.bind(("", number))  # it never listens
        except OSError:
            bound.close()
            name.close()
            return
        self._bound[number] = bound
        self._names.append(name)


def _candidates() -> Iterator[int]:
    end = _LOWEST_EPHEMERAL
    with suppress(OSError, ValueError), open(_RANGE, encoding="ascii") as file:
        end = int(file.read().split()[0])
    if end - _LOWEST < 1000:  # somebody gave the kernel nearly all of them
        end = 65_536
    numbers = list(range(_LOWEST, end))
    random.shuffle(numbers)
    return iter(numbers)


def _claim(number: int) -> socket.socket | None:
    """None: another agent has it. On systems without abstract names the bound socket has to do."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        name.bind(f"\0trainyard-port-{number}")
    except FileNotFoundError:
        return name
    except OSError:
        name.close()
        return None
    return name
