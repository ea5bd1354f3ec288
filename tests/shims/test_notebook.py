"""In a kernel there is no script to read: cells are read as they come."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
KERNEL = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in {cells!r}:
    outcome = shell.run_cell(cell, store_history=True)
    if not outcome.success:
        sys.exit(f"cell failed: {{outcome.error_in_exec or outcome.error_before_exec!r}}")
"""

pytestmark = pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", str(SRC))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.delenv("TRAINYARD_RELAX_PINS", raising=False)

    def run(*cells: str, fails: bool = False) -> str:
        program = [sys.executable, "-c", KERNEL.format(cells=cells)]
        done = subprocess.run(
            program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    return run


def test_the_extension(kernel: Callable[..., str]) -> None:
    said = kernel("import numpy as np", "%load_ext trainyard", "print('is', np.float(3))")
    assert "is 3.0" in said
    assert "trainyard: numpy: np.float is gone" in said


def test_import_of_azureml_with_the_switch(kernel: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ("import numpy as np", "import azureml.core", "print('is', np.float(3))")
    assert "has no attribute 'float'" in kernel(*cells, fails=True)
    monkeypatch.setenv("TRAINYARD_RELAX_PINS", "1")
    assert "is 3.0" in kernel(*cells)


def test_what_cells_take_for_granted(kernel: Callable[..., str]) -> None:
    """The SDK had imported it, and so `import urllib` alone was enough."""
    assert "function urlretrieve" in kernel("import azureml.core", "import urllib", "print(urllib.request.urlretrieve)")


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_tensorflow_one_in_cells(kernel: Callable[..., str]) -> None:
    said = kernel(
        "%load_ext trainyard",
        "import tensorflow as tf",
        "%time\ntf.reset_default_graph()",
        "x = tf.placeholder(tf.float32)",
        "with tf.Session() as s:\n    print('is', s.run(x * tf.constant(2.0), {x: 3.0}))",
    )
    assert "is 6.0" in said
