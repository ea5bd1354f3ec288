"""What a node and its processes use, as the kernel counts it. Counters only grow; a rate is the difference of two
looks. Where there is no /proc nothing is known."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field

from trainyard.agent import system
from trainyard.contract.attempts import JOB_CONTEXT_VARIABLE

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_SECTOR = 512  # the kernel's unit in diskstats, whatever the disk's is
_RANK = re.compile(rb"(?:^|\0)" + JOB_CONTEXT_VARIABLE.encode() + rb"=[^\0]*/job-(\d+)\.json(?:\0|$)")
_NO_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")  # what lies on other disks, and what holds no data


@dataclass(frozen=True)
class NodeCounters:
    busy_ticks: int = 0  # over all cores
    all_ticks: int = 0
    disk_read: int = 0  # bytes, like all below
    disk_written: int = 0
    received: int = 0
    sent: int = 0
    memory: int = 0  # now
    disk_free: int = 0


def node_counters(folder: str) -> NodeCounters | None:
    """None: this system does not tell. `folder`: on the disk whose free space counts."""
    if not system.LINUX:
        return None
    busy, every = _cpu(_read("/proc/stat"))
    read, written = _disks(_read("/proc/diskstats"), _whole_disks())
    received, sent = _network(_read("/proc/net/dev"))
    free = os.statvfs(folder)
    return NodeCounters(
        busy, every, read, written, received, sent, _memory(_read("/proc/meminfo")), free.f_bavail * free.f_frsize
    )


@dataclass
class RankUse:
    """Of all processes of one rank: CPU seconds since the last look, and memory now."""

    cpu_s: float = 0.0
    memory: int = 0


@dataclass
class Ranks:
    """Which processes below us belong to which rank is told by the variable that each rank was started with; what a
    rank starts belongs to it, too."""

    _rank_of: dict[int, tuple[str, int | None]] = field(default_factory=dict)  # pid → when it started, its rank
    _ticks: dict[int, int] = field(default_factory=dict)

    def look(self, root: int, spared: set[int]) -> dict[int, RankUse]:
        found: dict[int, RankUse] = {}
        ticks: dict[int, int] = {}
        ranks: dict[int, tuple[str, int | None]] = {}
        queue: list[tuple[int, int | None]] = [(child, None) for child in system.children(root)]
        while queue:
            pid, rank = queue.pop()
            if pid in spared or (fields := system.stat(pid)) is None:
                continue
            began = fields[19]
            known = self._rank_of.get(pid)
            own = known[1] if known is not None and known[0] == began else _rank(pid)
            # a process that was only just forked still has its parent's variables: it is looked at again
            ranks[pid] = (began, own) if known is not None or own is not None else ("", None)
            rank = own if own is not None else rank
            queue += [(child, rank) for child in system.children(pid)]
            if rank is None or fields[21] == "0":
                continue  # nobody's; or without memory, which is one that has ended: it uses nothing any more
            ticks[pid] = int(fields[11]) + int(fields[12])
            use = found.setdefault(rank, RankUse())
            use.cpu_s += max(0, ticks[pid] - self._ticks.get(pid, 0)) / _TICKS
            use.memory += int(fields[21]) * _PAGE
        self._rank_of, self._ticks = ranks, ticks
        return found


def _rank(pid: int) -> int | None:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        if found := _RANK.search(file.read()):
            return int(found[1])
    return None


def _cpu(stat: str) -> tuple[int, int]:
    """Busy ticks and all ticks, from the first line of /proc/stat; a guest's are among its user's already."""
    user, nice, kernel, idle, io_wait, *rest = map(int, stat.split("\n", 1)[0].split()[1:9])
    busy = user + nice + kernel + sum(rest)
    return busy, busy + idle + io_wait


def _memory(info: str) -> int:
    """Bytes that are not to be had."""
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in info.splitlines()) if rest}
    return (kib.get("MemTotal", 0) - kib.get("MemAvailable", kib.get("MemFree", 0))) * 1024


def _disks(stats: str, whole: set[str]) -> tuple[int, int]:
    read = written = 0
    for fields in (line.split() for line in stats.splitlines()):
        if len(fields) > 9 and fields[2] in whole:
            read += int(fields[5]) * _SECTOR
            written += int(fields[9]) * _SECTOR
    return read, written


def _whole_disks() -> set[str]:
    """Disks themselves: their partitions would count twice."""
    try:
        return {name for name in os.listdir("/sys/block") if not name.startswith(_NO_DISKS)}
    except OSError:
        return set()


def _network(table: str) -> tuple[int, int]:
    """Received and sent, without what stays on the node."""
    received = sent = 0
    for name, _, counts in (line.partition(":") for line in table.splitlines()[2:]):
        if name.strip() != "lo" and (fields := counts.split()):
            received += int(fields[0])
            sent += int(fields[8])
    return received, sent


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return "" if path != "/proc/stat" else "cpu 0 0 0 0 0 0 0 0"
