"""What runs inside a job needs nothing but an interpreter: shown with one that has nothing else."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
ROOMS = ("contract", "client", "sdk", "blobs", "shims", "scoring")

# Imports the modules it is given, each as if it were the first, and prints what came along from elsewhere.
PROGRAM = """
import importlib, json, sys
overlay, *modules = sys.argv[1:]
sys.path.insert(0, overlay)
before, foreign = set(sys.modules), {}
for module in modules:
    for name in set(sys.modules) - before:
        del sys.modules[name]
    try:
        importlib.import_module(module)
    except ImportError as error:
        foreign[module] = [str(error)]
        continue
    tops = {name.partition(".")[0] for name in sys.modules}
    found = tops - set(sys.stdlib_module_names) - {"azureml", "trainyard", "__main__", "__mp_main__"}
    if found:
        foreign[module] = sorted(found)
print(json.dumps(foreign))
"""


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the agent lays before a job: azureml, and the rooms a job uses."""
    folder = tmp_path_factory.mktemp("overlay")
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SRC / "azureml", folder / "azureml", ignore=hidden)
    (folder / "trainyard").mkdir()
    for file in (SRC / "trainyard").glob("*.py"):
        shutil.copy(file, folder / "trainyard")
    for room in ROOMS:
        if (SRC / "trainyard" / room).is_dir():
            shutil.copytree(SRC / "trainyard" / room, folder / "trainyard" / room, ignore=hidden)
    return folder


def modules(overlay: Path, *below: str) -> list[str]:
    found = []
    for path in sorted(overlay.joinpath(*below).rglob("*.py")):
        name = ".".join(path.relative_to(overlay).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith(".__main__"):
            found.append(name)
    return found


def bare(overlay: Path, *arguments: str, program: str = PROGRAM) -> str:
    argv = [sys.executable, "-I", "-S", "-W", "error", "-c", program, str(overlay), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_interpreter_is_bare(overlay: Path) -> None:
    program = "import importlib.util as u; print([n for n in ('numpy', 'pathspec', 'pytest') if u.find_spec(n)])"
    assert bare(overlay, program=program) == "[]\n"


@pytest.mark.parametrize("room", ["azureml", *ROOMS])
def test_every_module_imports_the_standard_library_alone(overlay: Path, room: str) -> None:
    names = modules(overlay, "azureml") if room == "azureml" else modules(overlay, "trainyard", room)
    assert json.loads(bare(overlay, *names)) == {}


def test_a_foreign_package_would_be_seen(overlay: Path, tmp_path: Path) -> None:
    shutil.copytree(overlay / "trainyard", tmp_path / "trainyard")
    (tmp_path / "heavy.py").write_text("")
    (tmp_path / "trainyard/greedy.py").write_text("import heavy")
    (tmp_path / "trainyard/broken.py").write_text("import numpy")
    seen = json.loads(bare(tmp_path, "trainyard.contract.runs", "trainyard.greedy", "trainyard.broken"))
    assert seen == {"trainyard.greedy": ["heavy"], "trainyard.broken": ["No module named 'numpy'"]}


@pytest.mark.parametrize("file", ["azureml/__init__.py", "trainyard/shims/startup/sitecustomize.py"])
def test_an_older_python_can_read_what_tells_it_that_it_is_too_old(file: str) -> None:
    text = (SRC / file).read_text()
    ast.parse(text, feature_version=(3, 6))
    assert "from __future__ import annotations" not in text  # 3.6 knows none of those
