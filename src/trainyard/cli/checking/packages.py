"""Versions that are asked for and have no build for the Pythons of today."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainyard.cli.checking.findings import Finding, Kind
from trainyard.cli.checking.sources import Code, Place

# The first release of each with a build for Python 3.11, the oldest that jobs run on.
FIRST = {
    "azureml-core": None,
    "chainer": None,
    "cntk": None,
    "gensim": (4, 3),
    "h5py": (3, 8),
    "horovod": (0, 28, 1),
    "matplotlib": (3, 6),
    "numpy": (1, 23, 2),
    "onnx": (1, 13),
    "onnxruntime": (1, 14),
    "opencv-python": (4, 5, 5),
    "pandas": (1, 5),
    "pillow": (9, 2),
    "pyarrow": (10,),
    "scikit-learn": (1, 1, 3),
    "scipy": (1, 9, 2),
    "spacy": (3, 4, 2),
    "statsmodels": (0, 13, 3),
    "tensorflow": (2, 12),
    "tensorflow-cpu": (2, 12),
    "tensorflow-gpu": (99,),
    "tensorflow-serving-api": (2, 12),
    "torch": (1, 13),
    "torchvision": (0, 15),
}
_PIN = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[\w,.-]*\])?\s*(?:={1,3}|~=|<=?)\s*v?(\d+(?:\.\d+)*)")
_LISTS = frozenset({"pip_packages", "conda_packages"})
_ADDERS = frozenset({"add_pip_package", "add_conda_package"})
_ESTIMATORS = frozenset({"TensorFlow", "PyTorch", "SKLearn", "Chainer"})


def pins_in_code(code: Code) -> Iterator[Finding]:
    for part in code.parts:
        for node in ast.walk(part.tree):
            if isinstance(node, ast.Call):
                for line, text in _named(node):
                    yield from _finding(Place(code.file, line, part.cell), text)


def pins_in_list(file: str, cell: int | None, text: str) -> Iterator[Finding]:
    """A conda file or requirements.txt, line by line: what is one is told by its lines alone."""
    is_conda = re.search(r"^\s*dependencies\s*:", text, re.M) is not None
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.split("#")[0].strip()
        if is_conda:
            if not entry.startswith("- "):
                continue
            entry = entry[2:].strip().strip("\"'")
        elif file.endswith((".yml", ".yaml")) and cell is None:
            return
        yield from _finding(Place(file, number, cell), entry)


def _named(node: ast.Call) -> Iterator[tuple[int, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for keyword in node.keywords:
        if keyword.arg in _LISTS and isinstance(keyword.value, ast.List | ast.Tuple):
            yield from _texts(keyword.value.elts)
        elif keyword.arg == "framework_version" and name in _ESTIMATORS:
            for line, text in _texts([keyword.value]):
                package = {"TensorFlow": "tensorflow", "PyTorch": "torch", "SKLearn": "scikit-learn"}.get(
                    name, "chainer"
                )
                yield line, f"{package}=={text}"
    if name in _ADDERS:
        yield from _texts(node.args)


def _texts(nodes: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _finding(place: Place, entry: str) -> Iterator[Finding]:
    found = _PIN.match(entry)
    if found is None:
        return
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    version = tuple(int(part) for part in found[2].split("."))
    if name == "python":
        if version[:2] < (3, 11) and version[0] == 3 and len(version) > 1:
            note = "jobs run on Python 3.11 or later; the nearest that is installed is taken with relaxed pins"
            yield Finding(place, Kind.PIN, entry, note)
        return
    first = FIRST.get(name)
    if first is None or version >= first:
        return
    said = (
        "it is tensorflow today" if first == (99,) else f"the first with a build for it is {'.'.join(map(str, first))}"
    )
    yield Finding(place, Kind.PIN, entry, f"has no build for Python 3.11 or later; {said}")
