"""TensorFlow before 2.16 brings Keras 2 itself, whose last releases leave `lr=` out without an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from shim_lines import said

OPTIMIZER = """\
class SGD:
    def __init__(self, learning_rate=0.01, momentum=0.0, **rest):
        self.learning_rate = learning_rate
"""
SCRIPT = """\
import keras
from keras.optimizers.{where} import SGD
print('rate', SGD(lr=0.5).learning_rate)
from keras.layers.convolutional import Dense
print('layer', Dense)
"""


@pytest.fixture(params=["sgd", "src"])
def keras(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A package that looks like it: 2.12 has the optimizers where a script sees them, 2.13 and later below `src`."""
    folder = tmp_path / "site"
    where = folder / "keras" / ("optimizers" if request.param == "sgd" else "src/optimizers")
    where.mkdir(parents=True)
    (folder / "keras" / "optimizers").mkdir(exist_ok=True)
    for at in {where, where.parent, folder / "keras", folder / "keras" / "optimizers"}:
        (at / "__init__.py").write_text("")
    (where / "sgd.py").write_text(OPTIMIZER)
    if request.param == "src":
        (folder / "keras" / "optimizers" / "__init__.py").write_text("from keras.src.optimizers import sgd as src\n")
        (folder / "keras" / "optimizers" / "src.py").write_text("from keras.src.optimizers.sgd import SGD\n")
    (folder / "keras" / "layers").mkdir()
    (folder / "keras" / "layers" / "__init__.py").write_text("Dense = 'dense'\n")
    (folder / "keras-2.13.1.dist-info").mkdir()
    (folder / "keras-2.13.1.dist-info" / "METADATA").write_text("Name: keras\nVersion: 2.13.1\n")
    return request.param


def test_a_rate_of_old_counts_and_nobody_is_sent_for_tf_keras(
    keras: str, job: Callable[..., str], tmp_path: Path
) -> None:
    script = "import sys; sys.path.insert(0, 'site')\n"
    output = job(script + SCRIPT.format(where=keras))
    assert "rate 0.5" in output
    assert "layer dense" in output
    assert said(output) == ["trainyard: keras: SGD(lr=) is learning_rate= now, and is taken as that."]
