"""Every name of the SDK's documented surface is here with its parameters, or says why it differs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compatibility", HERE / "compatibility.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compatibility"] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()


def test_everything_is_as_it_was_or_says_why() -> None:
    known = tool.reasons()
    sections = tool.surface((HERE / "surface.txt").read_text(encoding="utf-8"))
    unexplained = [it for it in tool.differences(sections) if tool.reason_of(it, known) is None]
    assert unexplained == [], "\n".join(f"{it.name}: {it.what}" for it in unexplained)


# The check sees what it is to see.

TABLE = """\
# Z1 A chapter

[Run] azureml.core.Run azureml.core.run.Run
log(name, value, description='')  + step=None
log(value, name)
log(name, value, description='other')
log(name, value, never_heard_of=1)
static get_context(allow_offline=True)
property id
property never_heard_of

[Nothing] azureml.core.Nothing
Nothing(x)

[module azureml.telemetry]
set_diagnostics_collection(send_diagnostics=True)
"""


def test_what_it_sees() -> None:
    assert [(it.name, it.what) for it in tool.differences(tool.surface(TABLE))] == [
        ("azureml.core.Run.log", "takes name, value, description, step in this order, and took value, name"),
        ("azureml.core.Run.log", "description is '' by default, and was 'other'"),
        ("azureml.core.Run.log", "has no parameter never_heard_of"),
        ("azureml.core.Run.never_heard_of", "is not here"),
        ("azureml.core.Nothing", "is not here"),
    ]


def test_the_page(tmp_path: Path) -> None:
    sections = tool.surface(TABLE)
    report = tmp_path / "report.json"
    report.write_text(
        '[{"id": "a-case", "status": "PASS", "cells_run": 3, "cells": 3, "error": ""},'
        ' {"id": "b-case", "status": "FAIL", "cells_run": 1, "cells": 3, "error": "OSError: a | b"}]'
    )
    text = tool.page(sections, tool.differences(sections), report, "")
    assert "| Z1 A chapter | 9 | 3 |" in text
    assert "| `azureml.core.Nothing` | is not here | not yet |" in text
    assert "| a-case | PASS | 3/3 |  |" in text
    assert "| b-case | FAIL | 1/3 | OSError: a \\| b |" in text
    assert "1 of 2 run from their first cell to their last" in text
    assert tool.page(sections, tool.differences(sections), None, text) == text  # the notebooks that were run then
