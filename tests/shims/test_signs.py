from __future__ import annotations

import ast
from pathlib import Path

import pytest

from trainyard import shims
from trainyard.contract.environments import SHIMS
from trainyard.shims.cells import as_python, written_file
from trainyard.shims.signs import signs

PACKAGE = Path(shims.__file__).parent


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import numpy as np\nx = np.float(1)", [(2, "numpy", "numpy.float")]),
        ("import numpy as np\nx = np.float64(1)", []),
        ("np.float(1)", []),  # nobody knows what np is
        ("import tensorflow as tf\nwith tf.Session() as s: pass", [(2, "tensorflow", "tensorflow.Session")]),
        ("import tensorflow as tf\ntf.train.Saver()", [(2, "tensorflow", "tensorflow.train.Saver")]),
        ("import tensorflow as tf\ntf.train.Checkpoint()\ntf.compat.v1.Session()", []),
        ("import tensorflow.compat.v1 as tf\ntf.Session()", []),
        ("import tensorflow as tf\ntf.contrib.layers", [(2, "", "tensorflow.contrib")]),
        (
            "from tensorflow.examples.tutorials.mnist import input_data",
            [(1, "mnist", "tensorflow.examples.tutorials.mnist.input_data")],
        ),
        ("from keras.optimizers import RMSprop\nRMSprop(lr=1)", [(2, "keras", "RMSprop(lr=)")]),
        ("import torch.optim as optim\noptim.SGD(p, lr=1)", []),  # torch still calls it that
        ("import tensorflow as tf\nnet._set_inputs(x)", [(2, "keras", "._set_inputs")]),
        ("from sklearn.externals import joblib", [(1, "sklearn", "sklearn.externals.joblib")]),
        (
            "from sklearn.linear_model import LogisticRegression\nLogisticRegression(multi_class='auto')",
            [(2, "sklearn", "LogisticRegression(multi_class=)")],
        ),
        (
            "from sklearn.tree import DecisionTreeRegressor as T\nT(criterion='friedman_mse')\nT(criterion='mse')",
            [(3, "sklearn", "DecisionTreeRegressor(criterion='mse')")],
        ),
        (
            "from sklearn.metrics import mean_squared_error\nmean_squared_error(a, b, squared=False)",
            [(2, "sklearn", "mean_squared_error(squared=)")],
        ),
        (
            "import keras\nm.compile(metrics=['accuracy'])\nh['val_acc'], d.get('acc')",
            [(3, "keras", "'acc'"), (3, "keras", "'val_acc'")],
        ),
        ("import keras\nm.compile(metrics=['acc'])\nh['val_acc']", []),
        ("import keras\nm.compile(metrics=['accuracy'])\nh['acc'] if 'acc' in h else h['accuracy']", []),
        ("import keras\nclf.predict_proba(x)", []),
        ("import torch\ntorch.load('x')\ntorch.load('x', weights_only=False)", [(2, "torch", "torch.load")]),
        ("import torch\nprint(loss.data[0], x.data[1], d['data'][0])", [(2, "torch", ".data[0]")]),
        ("import pandas\nframe.data[0]", []),
        ("this is no Python", []),
    ],
)
def test_signs(text: str, found: list[tuple[int, str, str]]) -> None:
    assert [(sign.line, sign.shim, sign.name) for sign in signs(text) if sign.shim or "contrib" in sign.name] == found


def test_a_cell_goes_by_what_earlier_cells_imported() -> None:
    assert [sign.name for sign in signs("tf.Session()", {"tf": "tensorflow"})] == ["tensorflow.Session"]


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("files = !ls\n!pip install x\nprint(\n    'a'\n)", "files = None\npass\nprint(\n    'a'\n)"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%%writefile train.py\nimport os", "\nimport os"),
        ("%%bash\necho", ""),
        ("run?", "pass"),
        ("  x = 1\n  if x:\n      y = 2", "x = 1\nif x:\n    y = 2"),
        ("print('a'\n    % 1)", "print('a'\n    % 1)"),
        ("pip install x\nmkdir data\nx = 1", "pass\npass\nx = 1"),  # magics without their sign
        ("!az ml run \\\n  --file a \\\n  --web\nx = 1 + \\\n  2", "pass\n\n\nx = 1 + \\\n  2"),
        ("mv = 1\n!ls", "mv = 1\npass"),
        ("%sh\n\nls -la /dbfs", ""),
        ("%sql\nx = 1", "pass\nx = 1"),
        ("%sql\nSELECT * FROM t", ""),
        ("%%synapse scala\nvar x = 1", ""),
        ("%%local\nx = 1", "\nx = 1"),
        ("%matplotlib inline\nx = = 1", "pass\nx = = 1"),
        ("%%time\nx = = 1", "\nx = = 1"),
    ],
)
def test_what_ipython_adds_to_python(cell: str, python: str) -> None:
    assert as_python(cell) == python


def test_a_cell_that_writes_a_file() -> None:
    assert written_file("%%writefile $folder/train.py\nx = 1") == "$folder/train.py"
    assert written_file("x = 1") is None


def test_every_name_is_known_on_both_sides() -> None:
    assert shims.NAMES == SHIMS


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_an_older_python_can_read_it(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 7))
