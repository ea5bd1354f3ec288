"""`tensorflow.examples.tutorials.mnist.input_data`, which TensorFlow's wheels have not had since 2.0: the digits, read
from the folder given, and fetched into it when they are not there."""

from __future__ import annotations

import os

from trainyard.shims.addresses import mapped
from trainyard.shims.hooks import provide
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

SOURCE = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def install() -> None:
    for package in ("tensorflow.examples", "tensorflow.examples.tutorials"):
        provide(package, _nothing, package=True)
    provide("tensorflow.examples.tutorials.mnist", _package, package=True)
    provide("tensorflow.examples.tutorials.mnist.input_data", _input_data)


class Datasets(tuple):  # type: ignore[type-arg]
    """train, validation and test."""

    train = property(lambda self: self[0])
    validation = property(lambda self: self[1])
    test = property(lambda self: self[2])


class DataSet:
    """Images and labels that come in batches, shuffled anew for each round."""

    def __init__(self, images: Any, labels: Any, seed: int | None = None) -> None:
        import numpy

        self.images, self.labels = images, labels
        self.num_examples = len(images)
        self.epochs_completed = 0
        self._at = 0
        self._random = numpy.random.RandomState(seed)
        self._order = None  # type: Any

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        import numpy

        del fake_data
        if self._order is None:
            self._order = self._shuffled(shuffle)
        rest = self._order[self._at : self._at + batch_size]
        self._at += batch_size
        if self._at > self.num_examples:  # the rest of this round, and the beginning of the next
            self.epochs_completed += 1
            self._order = self._shuffled(shuffle)
            self._at = batch_size - len(rest)
            rest = numpy.concatenate([rest, self._order[: self._at]])
        return self.images[rest], self.labels[rest]

    def _shuffled(self, shuffle: bool) -> Any:
        import numpy

        return self._random.permutation(self.num_examples) if shuffle else numpy.arange(self.num_examples)


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = SOURCE,
) -> Datasets:
    """The digits of `train_dir`: training without its first `validation_size`, those, and the test set."""
    del fake_data
    paths = [maybe_download(name, train_dir, source_url.rstrip("/") + "/" + name) for name in _FILES]
    images, labels = _images(paths[0], dtype, reshape), _labels(paths[1], one_hot)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            "validation_size is {}; it must be between 0 and the {} images there are.".format(
                validation_size, len(images)
            )
        )
    return Datasets(
        [
            DataSet(images[validation_size:], labels[validation_size:], seed),
            DataSet(images[:validation_size], labels[:validation_size], seed),
            DataSet(_images(paths[2], dtype, reshape), _labels(paths[3], one_hot), seed),
        ]
    )


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The file in the folder, whole or not at all: other processes of the job may be looking for it."""
    import shutil
    import tempfile
    import urllib.request

    os.makedirs(work_directory, exist_ok=True)
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        address = mapped(source_url)
        did("mnist", filename + " is not in " + work_directory + ": fetching " + address)
        with tempfile.NamedTemporaryFile(dir=work_directory, prefix=".mnist-", delete=False) as part:
            try:
                with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - an address of the web
                    shutil.copyfileobj(answer, part)
            except OSError as error:
                os.unlink(part.name)
                raise OSError(
                    "{} could not be fetched ({}). Put MNIST's four .gz files into {}, or name a mirror in "
                    "TRAINYARD_URL_MAP.".format(address, error, work_directory)
                ) from error
        os.replace(part.name, path)
    return path


def _images(path: str, dtype: Any, reshape: bool) -> Any:
    import gzip
    import struct

    import numpy

    kind = numpy.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    with gzip.open(path) as file:
        magic, count, rows, columns = struct.unpack(">IIII", file.read(16))
        _check(magic, 2051, path)
        pixels = numpy.frombuffer(file.read(count * rows * columns), dtype=numpy.uint8)
    shaped = pixels.reshape((count, rows * columns) if reshape else (count, rows, columns, 1))
    return shaped.astype(kind) / kind.type(255) if kind.kind == "f" else shaped


def _labels(path: str, one_hot: bool) -> Any:
    import gzip
    import struct

    import numpy

    with gzip.open(path) as file:
        magic, count = struct.unpack(">II", file.read(8))
        _check(magic, 2049, path)
        labels = numpy.frombuffer(file.read(count), dtype=numpy.uint8)
    return numpy.eye(10)[labels] if one_hot else labels


def _check(magic: int, wanted: int, path: str) -> None:
    if magic != wanted:
        raise ValueError(path + " is not a file of MNIST. Remove it, and it is fetched again.")


def _nothing(module: ModuleType) -> None:
    del module


def _package(module: ModuleType) -> None:
    did("mnist", "tensorflow.examples is not in TensorFlow's wheels: its MNIST reader is Trainyard's own.")


def _input_data(module: ModuleType) -> None:
    for value in (DataSet, Datasets, maybe_download, read_data_sets):
        setattr(module, value.__name__, value)
    vars(module)["DEFAULT_SOURCE_URL"] = SOURCE
