"""What the pages of docs name is there: files, links and commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainyard.cli.main import build

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
READERS = "src/train.py"  # a script of the reader's own
BASES = (ROOT, ROOT / "src", ROOT / "src" / "trainyard")

SOURCE = re.compile(r"`((?:\w+/)+\w+\.py)\b(?:: ?(\w+))?")
FOLDER = re.compile(r"`((?:src|tests|examples|benchmarks|agent|server|sdk|serving|scoring|blobs|tuning)/(?:\w+/)*)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`|^ {4}(.+?)$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?:^|`| )trainyard ([a-z]+)(?: ([a-z]+))?", re.MULTILINE)
GROUPS = ("runs", "models", "services", "retention", "compute", "workspace")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    for path, name in SOURCE.findall(text):
        if path == READERS:
            continue
        found = next((base / path for base in BASES if (base / path).is_file()), None)
        assert found is not None, path
        assert re.search(rf"\b{name}\b", found.read_text()), (path, name)
    for folder in FOLDER.findall(text):
        assert any((base / folder).is_dir() for base in BASES), folder
    for link in LINK.findall(text):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_on_a_page_exist(page: Path) -> None:
    app = build()
    code = "\n".join(part for found in CODE.findall(page.read_text()) for part in found)
    for name, verb in COMMAND.findall(code):
        assert name in app, name
        if name in GROUPS and verb:
            assert verb in app[name], (name, verb)
