"""The walls between the rooms: who may import whom. Every import counts, also those inside functions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"

# Each room, and the rooms it has a door to. A room may always import itself and `trainyard` (for its version).
DOORS: dict[str, set[str]] = {
    "contract": set(),
    "client": {"contract"},
    "sdk": {"client", "blobs", "contract"},
    "": {"shims"},  # %load_ext trainyard
    "cli": {"sdk", "shims", "contract"},
    "azureml": {"sdk", "shims", "scoring", "contract"},
    "mlflow_plugin": {"sdk", "client", "contract"},  # MLflow loads it through its entry points
    "agent": {"client", "launchers", "environments", "blobs", "contract"},
    "serving": {"client", "blobs", "scoring", "contract"},
    "scoring": set(),
    "blobs": {"contract"},
    "backends": {"contract"},
    "launchers": {"contract"},
    "tuning": {"contract"},
    "environments": {"blobs", "contract"},
    "shims": set(),
    "server": {"backends", "environments", "blobs", "tuning", "contract"},
}
# testing has a door to everything but the service
DOORS["testing"] = set(DOORS) - {"server"}

LINES_IN_A_FILE = 400
LINES_IN_A_FUNCTION = 60


@dataclass(frozen=True)
class Import:
    file: Path
    line: int
    module: str  # the module whose code it stands in
    target: str  # the module it brings in
    inside: bool  # in a function or under TYPE_CHECKING: it does not run when the module is imported

    def __str__(self) -> str:
        return f"{self.file.relative_to(SRC.parent)}:{self.line}: {self.module} imports {self.target}"


FILES = sorted(SRC.rglob("*.py"))
MODULES = {".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


def imports_of(module: str, path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {id(node) for outer in ast.walk(tree) if _runs_later(outer) for node in ast.walk(outer)}
    for node in ast.walk(tree):
        for target in _targets(node, module, path):
            yield Import(path, node.lineno, module, target, id(node) in later)  # type: ignore[attr-defined]


def _runs_later(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _targets(node: ast.AST, module: str, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node, module, path)
        # `from a import b` brings in the module a.b where there is one, else a name of a
        return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        return [first.value for first in node.args[:1] if isinstance(first, ast.Constant)]
    return []


def _absolute(node: ast.ImportFrom, module: str, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *(node.module or "").split(".")]).rstrip(".")


ALL = [found for module, path in MODULES.items() for found in imports_of(module, path)]
OURS = [found for found in ALL if found.target.split(".")[0] in ("trainyard", "azureml")]


def room(module: str) -> str:
    """contract for trainyard.contract.runs, azureml for azureml.core; "" for trainyard itself."""
    first, *rest = module.split(".")
    return first if first == "azureml" else (rest[0] if rest else "")


def wrong_doors(imports: list[Import]) -> list[str]:
    found = []
    for each in imports:
        here, there = room(each.module), room(each.target)
        if there in ("", here) or there in DOORS.get(here, set()):
            continue
        doors = ", ".join(sorted(DOORS.get(here, set()))) or "none"
        found.append(f"{each}: {here or 'trainyard'} has no door to {there} (its doors: {doors})")
    return found


def foreign_tables(imports: list[Import]) -> list[str]:
    """Inside the service a feature asks another feature's service.py, and leaves its tables.py alone."""
    found = []
    for each in imports:
        here, there = each.module.split("."), each.target.split(".")
        if here[:2] != ["trainyard", "server"] or there[:2] != ["trainyard", "server"] or there[-1] != "tables":
            continue
        features_differ = len(here) > 3 and len(there) > 3 and here[2] != there[2]
        if features_differ and here[2] != "migrations":
            found.append(f"{each}: ask {there[2]}/service.py instead")
    return found


def cycles(imports: list[Import]) -> list[list[str]]:
    """Modules that need each other to be imported, each circle once."""
    needs: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in imports:
        if not each.inside and each.target in MODULES and each.target != each.module:
            needs[each.module].add(each.target)
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(module: str, way: list[str]) -> None:
        if module in way:
            found.append([*way[way.index(module) :], module])
            return
        if module in done:
            return
        for target in sorted(needs[module]):
            visit(target, [*way, module])
        done.add(module)

    for module in sorted(needs):
        visit(module, [])
    return found


def test_every_room_is_on_the_map() -> None:
    rooms = {room(module) for module in MODULES} - {""}
    assert rooms <= set(DOORS), f"rooms without a line in DOORS: {sorted(rooms - set(DOORS))}"


def test_imports_go_through_doors() -> None:
    assert not (wrong := wrong_doors(OURS)), "\n".join(wrong)


def test_features_of_the_service_leave_each_other_s_tables_alone() -> None:
    assert not (wrong := foreign_tables(OURS)), "\n".join(wrong)


def test_no_module_needs_itself() -> None:
    assert not (found := cycles(OURS)), "\n".join(" -> ".join(circle) for circle in found)


def test_files_are_not_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    long = [f"{path}: {lines} lines" for path, lines in lengths.items() if lines > LINES_IN_A_FILE]
    assert not long, "\n".join(long)


def test_functions_are_not_too_long() -> None:
    """Their bodies: the SDK's signatures are as long as they are. A migration is a list of tables, not a thought."""
    long = []
    for path in [path for path in FILES if "migrations" not in path.parts]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
                if lines > LINES_IN_A_FUNCTION:
                    long.append(f"{path.relative_to(SRC.parent)}:{node.lineno}: {node.name} has {lines} lines")
    assert not long, "\n".join(long)


# The walls hold only if they are seen: each rule with an import that breaks it.


def example(module: str, target: str, inside: bool = False) -> Import:
    return Import(SRC / "example.py", 7, module, target, inside)


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("trainyard.contract.runs", "trainyard.client.http"),
        ("trainyard.sdk.runs.run", "trainyard.server.app"),
        ("trainyard.cli.main", "trainyard.server.app"),
        ("trainyard.testing.kit", "trainyard.server.app"),
        ("trainyard.server.app", "trainyard.sdk.runs.run"),
        ("trainyard.server.app", "trainyard.client.http"),
        ("trainyard.shims.numpy", "trainyard.contract.errors"),
        ("trainyard.blobs.files", "trainyard.client.blobs"),
        ("azureml.core", "trainyard.client.http"),
        ("trainyard.unheard_of", "trainyard.contract.runs"),
    ],
)
def test_a_wrong_door_is_seen(module: str, target: str) -> None:
    (said,) = wrong_doors([example(module, target)])
    assert said.startswith(f"src/example.py:7: {module} imports {target}: ")


def test_a_foreign_table_is_seen() -> None:
    ours = example("trainyard.server.runs.service", "trainyard.server.runs.tables")
    foreign = example("trainyard.server.runs.service", "trainyard.server.computes.tables")
    asked = example("trainyard.server.runs.service", "trainyard.server.computes.service")
    (said,) = foreign_tables([ours, foreign, asked])
    assert said.endswith("ask computes/service.py instead")


def test_a_circle_is_seen() -> None:
    a, b = itertools.islice((module for module in MODULES if module.startswith("trainyard.contract.")), 2)
    assert cycles([example(a, b), example(b, a)]) == [[a, b, a]]
    assert cycles([example(a, b), example(b, a, inside=True)]) == []


def test_every_form_of_import_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "import trainyard.server.db\n"
        "from trainyard.contract import runs, states\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from trainyard.client.http import Http\n"
        "def f():\n"
        "    from . import base\n"
        "    from ..contract.tape import records\n"
        "    importlib.import_module('trainyard.sdk')\n"
    )
    found = [(each.line, each.target, each.inside) for each in imports_of("trainyard.backends.local", path)]
    assert sorted(found) == [
        (1, "trainyard.server.db", False),
        (2, "trainyard.contract.runs", False),
        (2, "trainyard.contract.states", False),
        (3, "typing", False),
        (5, "trainyard.client.http", True),
        (7, "trainyard.backends.base", True),
        (8, "trainyard.contract.tape", True),
        (9, "trainyard.sdk", True),
    ]
