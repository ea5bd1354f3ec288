"""Makes an environment from a wish: from conda's channels, or from PyPI."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainyard.contract.errors import BuildFailed, EnvironmentRefused, Unsatisfied
from trainyard.environments import conda, horovod, old_frameworks
from trainyard.environments.credentials import redacted
from trainyard.environments.hashes import with_hashes_of
from trainyard.environments.locks import Lock
from trainyard.environments.names import normalised
from trainyard.environments.pins import of_foreign_wheel, pinned, refusal, versions_in, without
from trainyard.environments.plan import no_python
from trainyard.environments.request import Interpreter, platform
from trainyard.environments.resolve import Resolver
from trainyard.environments.site import Made, Site
from trainyard.environments.specification import Wanted, requirement_name
from trainyard.environments.venv import lay

_UNBUILT = re.compile(r"Failed to build `?([A-Za-z0-9][\w.-]*?)(?:==|`|\s|$)")


@dataclass(frozen=True)
class Fresh:
    site: Site

    def make(self) -> Made:
        wanted, interpreter = self.site.request.wanted, self.site.request.interpreter
        if interpreter is not None and not wanted.conda:
            return self._from_pypi(wanted, interpreter)
        channels = conda.reachable(wanted.channels) if conda.is_installed() else []
        if channels:
            return self._from_channels(wanted, channels)
        why = "no conda channel can be reached" if conda.is_installed() else "py-rattler is not installed"
        requirements, unknown = conda.to_pypi(wanted.conda)
        if unknown or interpreter is None:
            raise self._no_conda(why, unknown)
        self.site.log(
            f"Building with uv from PyPI, because {why}: {', '.join(wanted.conda)} → {', '.join(requirements)}."
        )
        merged = tuple(sorted({*wanted.requirements, *_not_overridden(requirements, wanted)}))
        return self._from_pypi(replace(wanted, requirements=merged, conda=()), interpreter)

    def _from_pypi(self, wanted: Wanted, interpreter: Interpreter) -> Made:
        lay(self.site.folder, interpreter)
        return self._with_pip(wanted, Resolver(self.site.uv, interpreter, self.site.request.gpu))

    def _with_pip(self, wanted: Wanted, resolver: Resolver, conda: tuple[tuple[str, str], ...] = ()) -> Made:
        """The pip part, installed into the folder; `conda`: the packages that are in it already."""
        wanted, notes = self._without_foreign_wheels(wanted, resolver.python.version)
        for _ in range(len(wanted.requirements) + 1):  # each round takes one package that does not build out
            try:
                lock, said = self._resolve(resolver, wanted)
                lock = replace(lock, conda=conda)
                self.site.install(lock)
                return Made(lock, (*notes, *said))
            except BuildFailed as error:
                name = _unbuilt(error)
                before = wanted
                wanted = resolver.without(wanted, name, error)
                notes = (*notes, *_changes(before, wanted, resolver.python.version))
                instead = set(wanted.requirements) - set(before.requirements)
                self.site.log(f"{name} does not build here; trying {', '.join(instead)}.")
        raise EnvironmentRefused("Too many packages do not build from source here. Name versions that have wheels.")

    def _without_foreign_wheels(self, wanted: Wanted, python: str) -> tuple[Wanted, tuple[str, ...]]:
        """A file for another Python gives way, where pins may, to the package that is in it."""
        if not wanted.relax:
            return wanted, ()
        instead = {line: pin for line in wanted.requirements if (pin := of_foreign_wheel(line, python))}
        notes = [f"A wheel that is named by its address is not for Python {python}: {it}." for it in instead.values()]
        for note in notes:
            self.site.log(note)
        return replace(wanted, requirements=tuple(instead.get(it, it) for it in wanted.requirements)), tuple(notes)

    def _resolve(self, resolver: Resolver, wanted: Wanted) -> tuple[Lock, tuple[str, ...]]:
        python = resolver.python
        unbuildable = horovod.lacking(wanted)
        wanted, built, notes = horovod.take_out(wanted)
        if unbuildable:  # named together with what else there is not
            lacking = sorted([*unbuildable, *resolver.lacking(wanted)], key=lambda pin: pin.requirement)
            raise EnvironmentRefused(refusal(lacking, python.version))
        brought = (
            line for line in old_frameworks.brought_along(wanted) if resolver.has(requirement_name(line) or line)
        )
        needs = (*(horovod.NEEDS if built else ()), *brought)
        resolved = resolver.resolve(wanted, needs)
        there = "\n".join([*resolver.there, resolved.lock])
        lines = resolved.lock + (horovod.additions(self.site.uv, python.path, there) if built else "")
        lines = self._with_keras_two(wanted, lines, python.path)
        lines, beside = self._with_onnx(wanted, lines, resolver)
        lines = with_hashes_of(wanted, lines)
        return Lock(python.version, platform(), (), built, lines), (*notes, *resolved.notes, *beside)

    def _with_keras_two(self, wanted: Wanted, lines: str, python: str) -> str:
        if not old_frameworks.wants_keras_two(wanted, lines):
            return lines
        line = old_frameworks.keras_two(lines)
        try:  # without its wish for the whole of TensorFlow, which is there
            return lines + "\n" + self.site.uv.compile([line], python, deps=False)
        except Unsatisfied:
            self.site.log(f"{line} cannot be had: scripts of Keras 2 will meet Keras 3.")
            return lines

    def _with_onnx(self, wanted: Wanted, lines: str, resolver: Resolver) -> tuple[str, tuple[str, ...]]:
        """And a note, if it came along: with what it needs, and nothing that is there changed for it."""
        there = versions_in("\n".join([*resolver.there, lines]))
        if not old_frameworks.wants_onnx(wanted, lines) or "onnx" in there:
            return lines, ()
        fixed = [f"{name}=={version}" for name, version in there.items()]
        try:
            found = self.site.uv.compile(["onnx"], resolver.python.path, constraints=fixed)
        except Unsatisfied:
            self.site.log("onnx cannot be had beside these packages: torch.onnx.export will not work.")
            return lines, ()
        note = f"onnx=={versions_in(found)['onnx']} was installed too: torch.onnx.export of torch 2 needs it."
        self.site.log(note)
        return lines + "\n" + without(found, there), (note,)

    def _from_channels(self, wanted: Wanted, channels: list[str]) -> Made:
        away = [it for it in map(conda.address, wanted.channels) if it not in channels]
        unreached = f"; not reached: {', '.join(map(redacted, away))}" if away else ""
        self.site.log(f"conda channels: {', '.join(map(redacted, channels))}{unreached}.")
        laid, notes = self._lay_conda(wanted, channels)
        version = laid.python or (self.site.request.interpreter.version if self.site.request.interpreter else "")
        if not wanted.requirements:
            return Made(Lock(version, platform(), laid.packages), notes)
        python = Interpreter(self.site.python, version)
        there = tuple(self.site.uv.freeze(python.path))
        made = self._with_pip(wanted, Resolver(self.site.uv, python, self.site.request.gpu, there), laid.packages)
        return replace(made, notes=(*notes, *made.notes))

    def _lay_conda(self, wanted: Wanted, channels: list[str]) -> tuple[conda.Laid, tuple[str, ...]]:
        """With the Python that is wished for; where the SDK filled it in, with the nearest that jobs can use."""
        attempts: list[tuple[list[str], tuple[str, ...]]] = [([conda.python_spec(wanted.python), *wanted.conda], ())]
        if wanted.python_filled_in or wanted.python is None:
            ours = self.site.request.interpreter.minor if self.site.request.interpreter else (3, 11)
            attempts = [
                ([f"python {ours[0]}.{ours[1]}.*", *wanted.conda], ()),
                (["python >=3.11", *wanted.conda], ()),
            ]
        if wanted.relax:
            bare = [re.split(r"[\s=<>!~]", entry, maxsplit=1)[0] for entry in wanted.conda]
            note = f"{', '.join(wanted.conda)} cannot be had together from the channels: the nearest were installed."
            attempts.append((["python >=3.11", *bare], (note,)))
        failures: list[Unsatisfied] = []
        for specs, notes in attempts:
            try:
                laid = conda.install(
                    specs, channels, self.site.folder, self.site.conda_cache, self.site.log, self.site.left_s()
                )
                return laid, notes
            except Unsatisfied as failed:
                failures.append(failed)
        raise failures[-1 if wanted.relax else 0]  # of what gives way, the last attempt knows what is in the way

    def _no_conda(self, why: str, unknown: list[str]) -> EnvironmentRefused:
        if self.site.request.interpreter is None:
            return no_python(self.site.request.wanted, self.site.request.pythons)
        remedy = (
            "Check the channels' addresses and the network"
            if conda.is_installed()
            else "Install it beside the service: pip install 'trainyard[conda]'"
        )
        channels = ", ".join(map(redacted, self.site.request.wanted.channels)) or "none named"
        return EnvironmentRefused(
            f"{', '.join(unknown)} must come from conda, and {why} (channels: {channels}). {remedy}, or name the "
            "package(s) as PyPI does, in the pip part."
        )


def _not_overridden(from_conda: Iterable[str], wanted: Wanted) -> Iterable[str]:
    """Without what the pip part names versions of: with conda it is installed last, over conda's."""
    pins = {normalised(pin.name) for line in wanted.requirements if (pin := pinned(line))}
    return (line for line in from_conda if requirement_name(line) not in pins)


def _unbuilt(error: BuildFailed) -> str:
    found = _UNBUILT.search(error.message)
    if found is None:
        raise error
    return normalised(found[1])


def _changes(before: Wanted, after: Wanted, python: str) -> Iterable[str]:
    gone, new = set(before.requirements) - set(after.requirements), set(after.requirements) - set(before.requirements)
    for was, now in zip(sorted(gone), sorted(new), strict=False):
        yield f"{was} cannot be had for Python {python}: {now} was installed instead."
