"""Reads source text and says which old names of frameworks are in it. Nothing is run or imported.

The helpers ask it before a framework is imported, and `trainyard check` asks it about whole repositories: both see
the same.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, NamedTuple

from trainyard.shims import sklearn_table
from trainyard.shims.numpy_table import GONE as NUMPY_GONE
from trainyard.shims.tf1_names import BELOW, TOP

_GONE_PACKAGES = {
    "tensorflow.contrib": "tf.contrib left TensorFlow with 2.0 and has no successor in one place",
    "tensorflow.estimator": "tf.estimator left TensorFlow with 2.16",
    "keras.utils.multi_gpu_model": "it left Keras with 2.4; build the model in MirroredStrategy().scope()",
    "keras.wrappers": "Keras's scikit-learn wrappers are the package scikeras now",
    "cntk": "CNTK is not developed any more and has no build for Python 3.7 or later",
}
OLD_ACCURACY = "Keras called the accuracy so until 2.3, and since then as metrics= does"
_KERAS_TWO_CALLS = frozenset(["set_session", "get_session"])
_KERAS_TWO_METHODS = frozenset(
    ["_set_inputs", "fit_generator", "evaluate_generator", "predict_generator", "predict_classes"]
)
_OPTIMIZERS = frozenset(["SGD", "RMSprop", "Adam", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl"])
_KERAS_TWO_MODULES = (
    "keras.backend.tensorflow_backend",
    "keras.utils.np_utils",
    "keras.engine",
    "keras.legacy",
    "keras.layers.core",
    "keras.layers.convolutional",
    "keras.layers.normalization",
    "keras.layers.advanced_activations",
    "keras.layers.embeddings",
    "keras.layers.recurrent",
    "keras.layers.merge",
    "keras.layers.pooling",
)


class Sign(NamedTuple):
    line: int
    shim: str  # which helper makes it work; "" for what no helper can bring back
    name: str  # as the script says it
    note: str  # what is the matter


class Aliases:
    """What a script calls the things it imported."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.names = dict(known or {})

    def read(self, tree: ast.AST) -> Aliases:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.asname:
                        self.names[name.asname] = name.name
                    else:
                        top = name.name.partition(".")[0]
                        self.names[top] = top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for name in node.names:
                    self.names[name.asname or name.name] = node.module + "." + name.name
        return self

    def dotted(self, node: ast.AST) -> str | None:
        """`tf.train.Saver` as `tensorflow.train.Saver`; None for what is no plain name."""
        parts = []  # type: list[str]
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return ".".join([self.names[node.id], *reversed(parts)])


def signs(text: str, known: dict[str, str] | None = None) -> list[Sign]:
    """Those of one source text; none where it is no Python of today. `known`: names that were imported earlier."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return signs_in(tree, known)


def signs_in(tree: ast.AST, known: dict[str, str] | None = None) -> list[Sign]:
    aliases = Aliases(known).read(tree)
    found = [sign for node in ast.walk(tree) for sign in _of(node, aliases)]
    if _has(aliases, "keras", "tensorflow"):
        found += _of_accuracy(tree)
    return sorted(set(found))


def _of(node: ast.AST, aliases: Aliases) -> Iterator[Sign]:
    if isinstance(node, ast.Import):
        for name in node.names:
            yield from _of_module(node.lineno, name.name)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for name in node.names:
            yield from _of_module(node.lineno, node.module, name.name)
    elif isinstance(node, ast.Attribute):
        dotted = aliases.dotted(node)
        if dotted is not None:
            yield from _of_name(node.lineno, dotted)
        elif node.attr in _KERAS_TWO_METHODS and _has(aliases, "keras", "tensorflow"):
            yield Sign(node.lineno, "keras", "." + node.attr, "a method of Keras 2")
        elif node.attr == "get_feature_names" and _has(aliases, "sklearn"):
            yield Sign(
                node.lineno, "sklearn", "." + node.attr, "it is get_feature_names_out in scikit-learn 1.2 and later"
            )
    elif isinstance(node, ast.Call):
        yield from _of_call(node, aliases)
    elif isinstance(node, ast.Subscript) and _has(aliases, "torch") and _is_first_of_data(node):
        yield Sign(node.lineno, "torch", ".data[0]", "tensors with one value have no index since torch 0.5")


def _of_module(line: int, module: str, name: str = "") -> Iterator[Sign]:
    whole = module + "." + name if name else module
    if whole.startswith("tensorflow.examples"):
        if whole.startswith("tensorflow.examples.tutorials.mnist.mnist"):
            yield Sign(line, "", whole, "the example's model is in no package; copy mnist.py beside the script")
        else:
            yield Sign(line, "mnist", whole, "TensorFlow's wheels have no examples since 2.0")
    elif whole.startswith("sklearn."):
        yield from _of_sklearn(line, whole)
    elif name and module.startswith(("tensorflow", "numpy")):
        yield from _of_name(line, whole)
    else:
        yield from _gone(line, whole)
        plain = whole[len("tensorflow.") :] if whole.startswith("tensorflow.keras") else whole
        if plain.startswith(_KERAS_TWO_MODULES):
            yield Sign(line, "keras", whole, "a module of Keras 2")


def _of_name(line: int, dotted: str) -> Iterator[Sign]:
    top, _, rest = dotted.partition(".")
    first, _, below = rest.partition(".")
    if top == "numpy" and not below and first in NUMPY_GONE:
        yield Sign(line, "numpy", dotted, "NumPy has not had it since " + NUMPY_GONE[first][0])
    elif top == "tensorflow":
        yield from _gone(line, ".".join([top, first]))
        if dotted.startswith(("tensorflow.layers.", "tensorflow.compat.v1.layers.")):
            yield Sign(line, "keras", dotted, "these layers are made of Keras 2")
        if first in TOP or below.partition(".")[0] in BELOW.get(first, ()):
            yield Sign(line, "tensorflow", dotted, "TensorFlow 2 has it under tf.compat.v1 only")
    elif top == "sklearn":
        yield from _of_sklearn(line, dotted)


def _gone(line: int, dotted: str) -> Iterator[Sign]:
    for package, note in _GONE_PACKAGES.items():
        if dotted == package or dotted.startswith(package + "."):
            yield Sign(line, "", dotted, note)


def _of_sklearn(line: int, dotted: str) -> Iterator[Sign]:
    for module, (_, note) in sklearn_table.MODULES.items():
        if dotted == module or dotted.startswith(module + "."):
            yield Sign(line, "sklearn", module, note)
            return
    module, _, name = dotted.rpartition(".")
    if name in sklearn_table.NAMES.get(module, {}):
        yield Sign(line, "sklearn", dotted, sklearn_table.NAMES[module][name][1])
    elif dotted in sklearn_table.GONE:
        yield Sign(line, "", dotted, sklearn_table.GONE[dotted])


def _of_call(node: ast.Call, aliases: Aliases) -> Iterator[Sign]:
    dotted = aliases.dotted(node.func) or ""
    top, _, name = dotted.partition(".")[0], "", dotted.rpartition(".")[2]
    given = {keyword.arg for keyword in node.keywords}
    if top == "torch" and dotted == "torch.load" and "weights_only" not in given:
        yield Sign(node.lineno, "torch", dotted, "reads weights only, unless told otherwise, since torch 2.6")
    elif "keras" in dotted or dotted.startswith("tensorflow.optimizers"):
        for old in ("lr", "decay") if name in _OPTIMIZERS else ():
            if old in given:
                yield Sign(node.lineno, "keras", name + "(" + old + "=)", "an argument of Keras 2's optimizers")
        if name in _KERAS_TWO_CALLS:
            yield Sign(node.lineno, "keras", dotted, "a function of Keras 2")
    elif top == "sklearn":
        yield from _of_sklearn_call(node, name)


def _of_sklearn_call(node: ast.Call, name: str) -> Iterator[Sign]:
    rules, values = sklearn_table.arguments_of(name), sklearn_table.values_of(name)
    if name in sklearn_table.FUNCTIONS:
        argument, _, _, note = sklearn_table.FUNCTIONS[name]
        rules = {argument: sklearn_table.Rule(None, (), note, {})}
    for keyword in node.keywords:
        old = keyword.arg or ""
        if old in rules:
            yield Sign(node.lineno, "sklearn", name + "(" + old + "=)", rules[old].note)
        elif isinstance(keyword.value, ast.Constant) and keyword.value.value in values.get(old, {}):
            said = "{}({}={!r})".format(name, old, keyword.value.value)
            now = "it is {!r} in scikit-learn of today".format(values[old][keyword.value.value])
            yield Sign(node.lineno, "sklearn", said, now)


def _of_accuracy(tree: ast.AST) -> Iterator[Sign]:
    """A model with metrics=['accuracy'] whose logs are asked for 'acc'."""
    asked = set()  # type: set[str]
    read = []  # type: list[tuple[int, str]]
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "metrics":
            asked.update(text for part in ast.walk(node.value) for _, text in _texts(part))
        elif isinstance(node, ast.keyword) and node.arg == "monitor":
            read += _texts(node.value)
        elif isinstance(node, ast.Subscript):
            read += _texts(getattr(node.slice, "value", node.slice))  # Python 3.8 wraps it
            read += _texts(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            read += [found for given in node.args[:1] for found in _texts(given)]
    names = {name for _, name in read}
    if "accuracy" in asked and not ("acc" in asked or names & {"accuracy", "val_accuracy"}):
        for line, name in read:
            if name in ("acc", "val_acc"):
                yield Sign(line, "keras", repr(name), OLD_ACCURACY)


def _texts(node: Any) -> list[tuple[int, str]]:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [(node.lineno, node.value)] if is_text else []


def _is_first_of_data(node: ast.Subscript) -> bool:
    """`loss.data[0]`"""
    index = getattr(node.slice, "value", node.slice)  # Python 3.8 wraps it
    index = getattr(index, "value", index) if isinstance(index, ast.Constant) else index
    return isinstance(node.value, ast.Attribute) and node.value.attr == "data" and index == 0 and index is not False


def _has(aliases: Aliases, *tops: str) -> bool:
    return any(name.partition(".")[0] in tops for name in aliases.names.values())
