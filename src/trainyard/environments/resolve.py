"""From requirements to a lock. What cannot be had is replaced where that is allowed, and said."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from packaging.requirements import Requirement
from packaging.version import Version

from trainyard.contract.errors import BuildFailed, EnvironmentRefused, IndexAway, Unsatisfied
from trainyard.environments import pins, unsaid_limits
from trainyard.environments.names import GPU_ALONE, normalised
from trainyard.environments.pins import Available, Lacking
from trainyard.environments.request import Interpreter
from trainyard.environments.specification import Wanted
from trainyard.environments.uv import Uv

_AT_ONCE = 4
_WITH_TORCH = ("torchvision", "torchaudio")
_CPU_WHEEL = re.compile(r"([A-Za-z0-9_.]+)-([^-]+\+cpu)-.*\.whl")


@dataclass(frozen=True)
class Resolved:
    lock: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resolver:
    uv: Uv
    python: Interpreter
    gpu: bool = False
    there: tuple[str, ...] = ()  # name==version of what conda has installed: kept where nothing speaks against it
    names: frozenset[str | None] = frozenset()  # of all that is asked for together

    def resolve(self, wanted: Wanted, extra: Iterable[str] = ()) -> Resolved:
        """`extra`: requirements beside the wish's own, never relaxed."""
        extra = list(extra)
        names = frozenset(_name(line) for line in [*wanted.requirements, *extra])
        return replace(self, names=names)._resolve(wanted, extra)

    def has(self, name: str) -> bool:
        """Whether there is a wheel of any version."""
        return self._first(name) is not None

    def lacking(self, wanted: Wanted) -> list[Lacking]:
        """The user's own pins that there are no wheels for."""
        here = replace(self, names=frozenset(map(_name, wanted.requirements)))
        found = here._all_lacking(wanted.requirements, {normalised(name) for name in wanted.filled_in})
        return [pin for pin in found if not pin.filled_in]

    def without(self, wanted: Wanted, name: str, error: BuildFailed) -> Wanted:
        """The wish once more, after `name` did not build from its sources: with the nearest version that needs no
        build, where that is allowed; else the error."""
        line = next((it for it in wanted.requirements if _name(it) == name), None)
        pin = pins.pinned(line) if line else None
        here = replace(self, names=frozenset(map(_name, wanted.requirements)))
        lacks = here._lacking(line, name in wanted.filled_in) if line and pin else None
        if lacks is None or lacks.nearest is None:
            raise error
        if not (wanted.relax or lacks.filled_in):
            raise EnvironmentRefused(pins.refusal([lacks], self.python.version, error.message)) from error
        others = tuple(it for it in wanted.requirements if it != line)
        return replace(wanted, requirements=tuple(sorted([*others, str(lacks.nearest)])))

    def _resolve(self, wanted: Wanted, extra: list[str]) -> Resolved:
        many = "1 requirement" if len(wanted.requirements) == 1 else f"{len(wanted.requirements)} requirements"
        self.uv.log(f"Resolving {many} for Python {self.python.version}.")
        requirements = [*wanted.requirements, *extra]
        free = {normalised(name) for name in wanted.filled_in}
        left_out = [line for line in requirements if self._needs_a_gpu_that_is_not_here(line, wanted, free)]
        asked = [(it, self._for_this_machine(it, wanted, free)) for it in requirements if it not in left_out]
        free |= {_name(now) or "" for was, now in asked if _name(was) in free}  # under the name it has here
        constraints = self._cpu_builds(asked)
        lines = [line for _, line in asked]
        try:
            return self._done(self._compile(lines, constraints), asked, left_out)
        except Unsatisfied as error:
            self.uv.log("Not all of it is there as wheels; looking closer.")
            fixed = {_name(line) for line in extra}
            try:
                return self._done(self._closer(wanted, lines, constraints, free, fixed, error), asked, left_out)
            except EnvironmentRefused as final:
                if not (why := self.uv.turned_away(lines, self.python.path)):
                    raise
                raise type(final)(f"{final.message.rstrip('. ')}. {why}") from error

    def _closer(
        self,
        wanted: Wanted,
        lines: list[str],
        constraints: list[str],
        free: set[str],
        fixed: set[str | None],
        first: Unsatisfied,
    ) -> str:
        """The lock, by building sources, or with other versions where that is allowed; never of those in `fixed`."""
        candidates = [line for line in lines if pins.pinned(line)]
        lacking = self._all_lacking(lines, free)
        users = [pin for pin in lacking if not pin.filled_in]
        given_way = [pin for pin in lacking if pin.filled_in or wanted.relax]
        if users and not wanted.relax:
            try:
                return self._compile(self._replaced(lines, given_way), constraints, build=True)
            except (Unsatisfied, BuildFailed) as error:
                raise EnvironmentRefused(pins.refusal(users, self.python.version, first.message)) from error
        last: EnvironmentRefused = first
        said: list[str] = []
        for attempt, build in self._attempts(wanted, lines, given_way, fixed):
            try:
                return self._compile(attempt, constraints, build=build, finals=True)
            except (Unsatisfied, BuildFailed) as failed:
                last = failed
                said += [last.message] if build else []  # the others speak of wheels, which nobody asked for
        if isinstance(last, BuildFailed):
            raise last
        why = min(said, key=len)  # the longer ones list versions that would not do either
        may_give_way = [pin for line in candidates if (pin := _name(line)) and pin not in free | fixed and pin in why]
        raise Unsatisfied(f"{why.rstrip('. ')}. {pins.GIVE_WAY if may_give_way and not wanted.relax else ''}".rstrip())

    def _attempts(
        self, wanted: Wanted, lines: list[str], given_way: list[Lacking], fixed: set[str | None]
    ) -> Iterator[tuple[list[str], bool]]:
        """What to try, the nearest first; each with whether sources may be built."""
        replaced = self._replaced(lines, given_way)
        if replaced != lines:
            yield replaced, False
        if together := self._nearest_together(replaced, {str(pin.nearest) for pin in given_way if pin.is_too_old}):
            yield together, False
        yield replaced, True
        mine = [line for line in replaced if pins.pinned(line) and _name(line) not in fixed] if wanted.relax else []
        if together := self._nearest_together(replaced, set(mine)):
            yield together, False
        loose = {_name(pin.requirement) for pin in given_way} | {pin.nearest.name for pin in given_way if pin.nearest}
        if given_way:
            yield _loosened(replaced, loose), False
        for line in mine:  # one pin gives way before all of them do
            yield _loosened(replaced, {*loose, _name(line)}), False
        if mine:
            yield _loosened(replaced, set(map(_name, mine))), True

    def _nearest_together(self, lines: list[str], giving_way: set[str]) -> list[str] | None:
        """With the next newer versions of `giving_way` that go with everything else; None: there are none. The nearest
        of each alone need not go together: torchvision has no wheel for the torch that is the first with one."""
        newer = {line: at_least for line in giving_way if (at_least := pins.at_least(line))}
        if not newer:
            return None
        try:
            asked = [newer.get(line, line) for line in lines]
            lock = self.uv.compile(asked, self.python.path, lowest=True, hashes=False, finals=True)
        except Unsatisfied:
            return None
        versions = pins.versions_in(lock)
        found = {line: versions.get(_name(line) or "") for line in newer}
        return [f"{_name(line)}=={found[line]}" if found.get(line) else line for line in lines]

    def _compile(
        self, lines: Iterable[str], constraints: Iterable[str], *, build: bool = False, finals: bool = False
    ) -> str:
        lines, constraints = list(lines), list(constraints)
        solve = self._solve_with_finals if finals else self._solve
        lock = solve(lines, constraints, build)
        for limit, old in unsaid_limits.of(pins.versions_in(lock)).items():
            self.uv.log(f"{', '.join(old)} goes with {limit} only: that is added.")
            with contextlib.suppress(Unsatisfied):  # a user who wants a newer one with them gets it
                lock = solve(lines, [*constraints, limit], build)
                constraints.append(limit)
        return lock

    def _solve(self, lines: list[str], constraints: list[str], build: bool, finals: bool = False) -> str:
        how = {"build": build, "finals": finals}
        return self.uv.compile(lines, self.python.path, constraints=constraints, prefer=self.there, **how)

    def _solve_with_finals(self, lines: list[str], constraints: list[str], build: bool) -> str:
        """Early releases only of what is asked for so, or has no others (MLflow needs one of those). The solver alone
        also takes an early one when finals do not go with a pin, and without any it goes back by years."""
        lock = self._solve(lines, constraints, build)
        early = {name for name, version in pins.versions_in(lock).items() if Version(version).is_prerelease}
        no_others = {name for name in early if Version(self._first(name) or "0").is_prerelease}
        if early == no_others:
            return lock
        return self._solve(lines, [*constraints, *(f"{name}>=0.dev0" for name in no_others)], build, finals=True)

    def _done(self, lock: str, asked: list[tuple[str, str]], left_out: list[str]) -> Resolved:
        named = [(was, now) for was, now in asked if _name(now)]
        notes = [f"{line} is for GPUs, and there is none here: it was left out." for line in left_out]
        notes += pins.replacements(self._found_names(named, lock), lock, self.python.version)
        for note in notes:
            self.uv.log(note)
        return Resolved(lock, tuple(notes))

    def _found_names(self, asked: list[tuple[str, str]], lock: str) -> list[tuple[str, str]]:
        """Each requirement with the name that it is in the lock under."""
        there = pins.versions_in(lock)
        found = []
        for was, now in asked:
            stand_ins = [name for name in pins.alternatives(Requirement(was).name, self.gpu) if name in there]
            found.append((was, now if _name(now) in there or not stand_ins else stand_ins[0]))
        return found

    def _for_this_machine(self, line: str, wanted: Wanted, free: set[str]) -> str:
        """A GPU build becomes its CPU build where there is no GPU and the wish allows it."""
        name = _name(line)
        if name is None or self.gpu or not (wanted.relax or name in free):
            return line
        stand_in = pins.alternatives(name, gpu=False)
        return pins.renamed(line, stand_in[0]) if stand_in else line

    def _needs_a_gpu_that_is_not_here(self, line: str, wanted: Wanted, free: set[str]) -> bool:
        name = _name(line) or ""
        return not self.gpu and (wanted.relax or name in free) and GPU_ALONE.fullmatch(name) is not None

    def _cpu_builds(self, asked: list[tuple[str, str]]) -> list[str]:
        """Constraints to builds without CUDA, where such fit; away from those that do not fit what is beside them."""
        names = {_name(now): now for _, now in asked if _name(now)}
        offered, taken = self._offered_without_cuda(), self._without_cuda()
        return [
            f"{name}{'==' if name in taken else '!='}{version}"
            for name, version in offered.items()
            if name in names and Requirement(names[name]).specifier.contains(version, prereleases=True)
        ]

    def _without_cuda(self) -> dict[str, str]:
        """Those of the builds without CUDA that go with everything that is asked for."""
        found = self._offered_without_cuda()
        if any(name in self.names and name not in found for name in _WITH_TORCH):
            found.pop("torch", None)  # theirs are linked with CUDA, and then so must torch be
        return found

    def _offered_without_cuda(self) -> dict[str, str]:
        """Builds without CUDA that the machine's own link folders offer are preferred where there is no GPU: the
        index's builds of the same packages bring gigabytes that nothing here can use."""
        found: dict[str, str] = {}
        tag = f"cp{self.python.minor[0]}{self.python.minor[1]}"
        for folder in () if self.gpu else self.uv.options.find_links:
            path = folder.removeprefix("file://")
            for file in sorted(os.listdir(path)) if os.path.isdir(path) else []:
                wheel = _CPU_WHEEL.fullmatch(file)
                if wheel is not None and tag in file:
                    found[normalised(wheel[1])] = wheel[2]
        return found

    def _all_lacking(self, lines: Iterable[str], free: set[str]) -> list[Lacking]:
        candidates = [line for line in lines if pins.pinned(line)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            looked = pool.map(lambda line: self._lacking(line, _name(line) in free), candidates)
            return [pin for pin in looked if pin is not None]

    def _lacking(self, line: str, filled_in: bool) -> Lacking | None:
        """None: there is a wheel for it."""
        if self._first(line) is not None:
            return None
        requirement = pins.pinned(line)
        assert requirement is not None
        version = pins.without_build(pins.version_named(requirement))
        if without_cuda := self._without_cuda().get(normalised(requirement.name)):
            return Lacking(line, Available(requirement.name, without_cuda), filled_in)
        names = (requirement.name, *pins.alternatives(requirement.name, self.gpu))
        for name in names:
            if name != requirement.name and (same := self._first(pins.renamed(line, name))):
                return Lacking(line, Available(name, same), filled_in)
            below = self._first(f"{name}<{version}")
            above = self._first(f"{name}>{version}", lowest=True)
            if near := pins.nearest(version, below, above):
                return Lacking(line, Available(name, near), filled_in)
        return Lacking(line, None, filled_in)

    def _first(self, line: str, *, lowest: bool = False) -> str | None:
        """The version that the solver takes for one requirement alone; None: there is none with a wheel."""
        alone = replace(self.uv, options=replace(self.uv.options, constraints=()))
        try:
            lock = alone.compile([line], self.python.path, deps=False, lowest=lowest, hashes=False)
        except IndexAway:
            raise
        except EnvironmentRefused:
            return None
        return next(iter(pins.versions_in(lock).values()), None)

    def _replaced(self, lines: list[str], lacking: list[Lacking]) -> list[str]:
        near = {pin.requirement: str(pin.nearest) for pin in lacking if pin.nearest}
        return [near.get(line, line) for line in lines]


def _loosened(lines: list[str], names: set[str | None]) -> list[str]:
    return [pins.without_versions(line) if pins.pinned(line) and _name(line) in names else line for line in lines]


def _name(line: str) -> str | None:
    """None: an address."""
    requirement = pins.pinned(line)
    if requirement is not None:
        return normalised(requirement.name)
    return None if "://" in line else normalised(Requirement(line).name)
