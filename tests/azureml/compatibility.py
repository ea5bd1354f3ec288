"""Holds what Trainyard has against what the SDK v1 had (surface.txt), and writes docs/compatibility.md:

    python tests/azureml/compatibility.py docs/compatibility.md [ACCEPTANCE_REPORT]

The versions beside a report are those of the interpreter that runs this: take the one that ran the notebooks.
A name that is not here, or has other parameters, has its reason in deviations.txt, and a published notebook that
does not run what it would take in notebooks.txt: a pattern and a sentence on each line.
"""

from __future__ import annotations

import ast
import fnmatch
import importlib
import importlib.metadata
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOTHING = object()
_FRAMEWORKS = ("numpy", "scikit-learn", "tensorflow", "tensorflow-cpu", "tf-keras", "torch", "mlflow", "pandas")
_NOTEBOOKS = "## Published notebooks"


@dataclass(frozen=True)
class Parameter:
    name: str
    default: str | None  # as source; None: it has none
    kind: str  # "", "*", "**", or "keyword"


@dataclass(frozen=True)
class Member:
    name: str
    kind: str  # method, property, attribute, instance, nested
    parameters: tuple[Parameter, ...] = ()
    added: frozenset[str] = frozenset()  # parameters that later releases have
    static: bool = False
    later: bool = False


@dataclass(frozen=True)
class Section:
    name: str
    paths: tuple[str, ...]
    chapter: str
    members: tuple[Member, ...]
    module: bool = False


@dataclass(frozen=True)
class Difference:
    name: str  # azureml.core.Workspace.list_keys
    what: str  # "is not here", or how its parameters differ


# Reading the table


def surface(text: str) -> list[Section]:
    found: list[Section] = []
    chapter, head, members = "", ("", (), False), []
    for line in [*text.splitlines(), "[end]"]:
        if line.startswith("# "):
            if re.match(r"# [A-Z]\d+ ", line):
                chapter = line[2:]
        elif match := re.fullmatch(r"\[(\w+)(?: ([\w.]+))?\]\s*(.*)", line):
            if head[0]:
                found.append(Section(head[0], head[1], head[3], tuple(members), head[2]))  # type: ignore[misc]
            is_module = match[1] == "module"
            paths = (match[2],) if is_module else tuple(match[3].split())
            head, members = (match[2] if is_module else match[1], paths, is_module, chapter), []  # type: ignore[assignment]
        elif line.strip():
            members += _members(line.strip())
    return found


def _members(line: str) -> list[Member]:
    later = line.startswith("later ")
    line = line.removeprefix("later ")
    kind, _, rest = line.partition(" ")
    if kind in ("property", "attribute"):
        return [Member(rest.split()[0], kind, later=later)]
    if kind == "instance":
        return [Member(name, "instance") for name in rest.split()]
    if kind == "nested":
        name, *values = rest.split()
        return [Member(name, "nested"), *(Member(f"{name}.{value.partition('=')[0]}", "nested") for value in values)]
    static = kind in ("static", "class")
    signature, _, added = (rest if static else line).partition("  + ")
    return [
        Member(
            signature.partition("(")[0],
            "method",
            _parameters(signature),
            frozenset(it.name for it in _parameters(f"f({added})")) if added else frozenset(),
            static,
            later,
        )
    ]


def _parameters(signature: str) -> tuple[Parameter, ...]:
    inside = signature.partition("(")[2].rpartition(")")[0]
    names = ast.parse(f"def f({inside}): pass").body[0].args  # type: ignore[attr-defined]
    plain = [*names.posonlyargs, *names.args]
    defaults = [None] * (len(plain) - len(names.defaults)) + [ast.unparse(it) for it in names.defaults]
    found = [Parameter(arg.arg, default, "") for arg, default in zip(plain, defaults, strict=True)]
    found += [
        Parameter(arg.arg, None if default is None else ast.unparse(default), "keyword")
        for arg, default in zip(names.kwonlyargs, names.kw_defaults, strict=True)
    ]
    found += [Parameter(names.vararg.arg, None, "*")] if names.vararg else []
    return tuple(found + ([Parameter(names.kwarg.arg, None, "**")] if names.kwarg else []))


# Looking


def differences(sections: list[Section]) -> list[Difference]:
    return [difference for section in sections for difference in _of_section(section)]


def _of_section(section: Section) -> Iterator[Difference]:
    first = section.paths[0]
    thing = look_up(first)
    for path in section.paths[1:]:
        if look_up(path) is NOTHING:
            yield Difference(path, "is not here")
    if thing is NOTHING:
        yield Difference(first, "is not here")
        return
    for member in section.members:
        yield from _of_member(first, thing, member, section)


def look_up(path: str) -> Any:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            try:
                found = getattr(found, name)
            except (AttributeError, ImportError):
                return NOTHING
        return found
    return NOTHING


def _of_member(path: str, thing: Any, member: Member, section: Section) -> Iterator[Difference]:
    if member.name == section.name and not section.module:
        yield from _compare(path, thing, member)
        return
    name = f"{path}.{member.name}"
    found: Any = thing
    for part in member.name.split("."):
        found = (
            inspect.getattr_static(found, part, NOTHING) if isinstance(found, type) else getattr(found, part, NOTHING)
        )
    if found is NOTHING:
        if not (isinstance(thing, type) and member.name in set_on_self(thing)):
            yield Difference(name, "is not here")
        return
    if member.kind != "method":
        return
    if isinstance(found, property):
        yield Difference(name, "is a property, and was a method")
        return
    yield from _compare(name, getattr(thing, member.name), member)


def _compare(name: str, found: Any, member: Member) -> Iterator[Difference]:
    try:
        ours = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return
    if ours and ours[0].name == "self":
        ours = ours[1:]
    takes_any = any(it.kind is inspect.Parameter.VAR_KEYWORD for it in ours)
    by_name = {it.name: it for it in ours}
    for wanted in member.parameters:
        if wanted.kind in ("*", "**"):
            continue
        mine = by_name.get(wanted.name)
        if mine is None:
            if not takes_any:
                yield Difference(name, f"has no parameter {wanted.name}")
        elif wanted.default is not None and mine.default is inspect.Parameter.empty:
            yield Difference(name, f"{wanted.name} has no default, and had {wanted.default}")
        elif wanted.default is None and mine.default is not inspect.Parameter.empty:
            continue  # more is allowed than was
        elif not _same_default(wanted.default, mine.default):
            yield Difference(name, f"{wanted.name} is {mine.default!r} by default, and was {wanted.default}")
    for added in sorted(member.added - by_name.keys()):
        if not takes_any:
            yield Difference(name, f"has no parameter {added} (of later releases)")
    yield from _order(name, ours, member)


def _order(name: str, ours: list[inspect.Parameter], member: Member) -> Iterator[Difference]:
    """What could be given by its place still can."""
    places = [it.name for it in ours if it.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    theirs = [it.name for it in member.parameters if it.kind == ""]
    there = [it for it in theirs if it in places]
    if places[: len(there)] != there:
        yield Difference(name, f"takes {', '.join(places)} in this order, and took {', '.join(theirs)}")


def _same_default(wanted: str | None, mine: Any) -> bool:
    if wanted is None or mine is inspect.Parameter.empty:
        return True
    try:
        return bool(ast.literal_eval(wanted) == mine) or mine is None
    except ValueError:
        return True  # a constant by its name


def set_on_self(kind: type) -> set[str]:
    found: set[str] = set()
    for each in kind.__mro__[:-1]:
        found |= set(getattr(each, "__annotations__", ()))
        try:
            source = inspect.getsource(sys.modules[each.__module__])
        except (OSError, TypeError):
            continue
        found |= set(re.findall(r"\b(?:self|made|service)\.(\w+)\b(?:\s*:[^=\n]+)?\s*(?:,|=(?!=))", source))
    return found


# Saying


def reasons(of: str = "deviations.txt") -> list[tuple[str, str]]:
    lines = (HERE / of).read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("  ") for line in lines if line.strip() and not line.startswith("#"))
    return [(pattern.strip(), reason.strip()) for pattern, _, reason in pairs]


def reason_of(difference: Difference, known: list[tuple[str, str]]) -> str | None:
    said = f"{difference.name}: {difference.what}"
    return next((why for pattern, why in known if fnmatch.fnmatch(difference.name, pattern) or pattern == said), None)


def page(sections: list[Section], found: list[Difference], acceptance: Path | None, before: str) -> str:
    from trainyard import __version__
    from trainyard.sdk.elsewhere import ELSEWHERE

    known = reasons()
    total = sum(len(section.members) for section in sections)
    made = (
        f"Made by `make compatibility` on {datetime.now(UTC):%Y-%m-%d}, Trainyard {__version__}, Python "
        f"{sys.version.split()[0]}: each name below was looked up, each signature compared with that of SDK 1.15.0 "
        "and of its last release."
    )
    here = total - len({it.name for it in found})
    comes_to = (
        f"Of {total} members of {len(sections)} classes and modules, {here} are here as they were. `trainyard check "
        "PATH` tells the same of your own code."
    )
    out = [
        "# What of the SDK v1 is here",
        "",
        made,
        "",
        comes_to,
        "",
        "| part | members | differ |",
        "|---|---|---|",
    ]
    for chapter in dict.fromkeys(section.chapter for section in sections):
        mine = [section for section in sections if section.chapter == chapter]
        differ = {it.name for section in mine for it in _of_section(section)}
        out.append(f"| {chapter} | {sum(len(it.members) for it in mine)} | {len(differ)} |")
    out += ["", "## What differs, and why", "", "| name | what | why |", "|---|---|---|"]
    for name in dict.fromkeys(it.name for it in found):
        mine_of_it = [it for it in found if it.name == name]
        what = "; ".join(it.what for it in mine_of_it).replace("; has no parameter ", ", ")
        out.append(f"| `{name}` | {what} | {reason_of(mine_of_it[0], known) or 'not yet'} |")
    out += ["", "## What is not part of Trainyard", "", "| name | use instead |", "|---|---|"]
    out += [f"| `{name}` | {why} |" for name, why in sorted(ELSEWHERE.items()) if look_up(name) is NOTHING]
    return "\n".join([*out, *_acceptance(acceptance, before), ""])


def _acceptance(report: Path | None, before: str) -> list[str]:
    """Without a report, what the page had `before` stays."""
    if report is None:
        _, heading, table = before.partition(_NOTEBOOKS)
        return ["", (heading + table).rstrip("\n")] if heading else []
    cases = json.loads(report.read_text(encoding="utf-8"))
    passed = sum(case["status"] == "PASS" for case in cases)
    versions = [f"{name} {version}" for name in _FRAMEWORKS if (version := _version(name))]
    out = ["", _NOTEBOOKS, ""]
    out += [
        f"{passed} of {len(cases)} run from their first cell to their last, unedited but for the addresses of data and"
    ]
    out += [
        "the few lines that their list has a reason for (a cell that asks for Azure itself, a slip of its author), with"
    ]
    out += [f"{', '.join(versions)} beside the notebook (jobs have environments of their own).", ""]
    out += ["| case | result | cells | what it would take |", "|---|---|---|---|"]
    known = reasons("notebooks.txt")
    for case in sorted(cases, key=lambda it: str(it["id"])):
        taken = next((it for name, it in known if case["error"] and fnmatch.fnmatch(case["id"], name)), None)
        why = taken or str(case["error"]).replace("|", "\\|")[:160]
        out.append(f"| {case['id']} | {case['status']} | {case['cells_run']}/{case['cells']} | {why} |")
    return out


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    sections = surface((HERE / "surface.txt").read_text(encoding="utf-8"))
    report = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    target = Path(sys.argv[1])
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(page(sections, differences(sections), report, before), encoding="utf-8")


if __name__ == "__main__":
    main()
