"""Models that are served without code: what runs them, where their file is, and what they need installed. A layout that
cannot be served is refused with what was expected, before anything is built."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from trainyard.contract.errors import ModelRefused, PickleRefused
from trainyard.contract.models import Framework, ModelRecord
from trainyard.contract.serving import ScorerKind
from trainyard.server.endpoints.pickles import sklearn_version

_PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".sav", ".p")
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")

Opened = Callable[[str], IO[bytes]]  # a file of the model by its path


@dataclass(frozen=True)
class NoCode:
    kind: ScorerKind
    path: str  # of the model's file or folder, below the model's own folder
    pickle: bool = False  # loading it can run code
    framework_version: str | None = None  # that its file names: what it was registered with may be somebody's guess


_OF_FRAMEWORK: dict[str, ScorerKind] = {
    Framework.TENSORFLOW: ScorerKind.TENSORFLOW,
    Framework.ONNX: ScorerKind.ONNX,
    Framework.SCIKITLEARN: ScorerKind.SKLEARN,
    Framework.PYTORCH: ScorerKind.TORCH,
    Framework.TFKERAS: ScorerKind.KERAS,
    Framework.XGBOOST: ScorerKind.XGBOOST,
    Framework.LIGHTGBM: ScorerKind.LIGHTGBM,
}

# What each kind's worker imports: the distribution whose version the model's framework version is, and those beside it.
PACKAGES: dict[ScorerKind, tuple[str, tuple[str, ...]]] = {
    ScorerKind.TENSORFLOW: ("tensorflow", ("numpy",)),
    ScorerKind.KERAS: ("tensorflow", ("numpy", "h5py")),
    ScorerKind.ONNX: ("onnxruntime", ("numpy",)),
    ScorerKind.SKLEARN: ("scikit-learn", ("numpy", "scipy", "joblib", "pandas")),
    ScorerKind.TORCH: ("torch", ("numpy",)),
    ScorerKind.XGBOOST: ("xgboost", ("numpy",)),
    ScorerKind.LIGHTGBM: ("lightgbm", ("numpy",)),
}
# These versions are not of the distribution above: ONNX's own, and tags of images that served TensorFlow.
_OTHER_VERSIONS = frozenset({ScorerKind.ONNX})


def recognise(model: ModelRecord, files: Sequence[str], opened: Opened, *, allow_pickle: bool) -> NoCode:
    """What serves this model; ModelRefused or PickleRefused says why nothing does."""
    kind = _kind(model, files)
    found = _LAYOUTS[kind](model, list(files), opened)
    if found.pickle and not allow_pickle:
        raise PickleRefused(model.id, found.path)
    return found


def versioned(found: NoCode, opened: Opened) -> NoCode:
    """With the framework's version that the model's file names. Reads some megabytes of it."""
    return replace(found, framework_version=sklearn_version(opened(found.path))) if found.pickle else found


def environment_of(model: ModelRecord, found: NoCode) -> dict[str, Any]:
    """The definition of an environment that serves it. The framework's version is the nearest that can be had, because
    what was trained years ago must be served with what there is today."""
    kind = found.kind
    main, others = PACKAGES[kind]
    version = (found.framework_version or model.framework_version) if kind not in _OTHER_VERSIONS else None
    pinned = f"{main}=={version}" if version and re.fullmatch(r"\d+(\.\d+)*([a-z.]*\d+)*", version) else main
    return {
        "name": f"no-code-{kind.value}",
        "version": None,
        "python": {
            "userManagedDependencies": False,
            "condaDependencies": {"name": "no_code", "dependencies": [{"pip": [pinned, *others]}]},
            "frameworkDefaults": [main],
        },
    }


def warnings_of(model: ModelRecord, found: NoCode) -> tuple[str, ...]:
    said, is_of = model.framework_version, found.framework_version
    if not said or not is_of or said == is_of:
        return ()
    main, _ = PACKAGES[found.kind]
    return (
        f"Model {model.id} is registered with {main} {said}, but its file was saved with {is_of}, which serves it.",
    )


def packages_in(lock: str) -> frozenset[str]:
    """The distributions that a resolved lock names, pip's and conda's alike."""
    pip = re.findall(r"(?m)^\s*([A-Za-z0-9][\w.-]*)\s*==", lock)
    conda = re.findall(r"(?m)^# conda \S*/([\w.-]+)-[^-/\s]+-[^-/\s]+ ", lock)
    return frozenset(found.lower().replace("_", "-") for found in [*pip, *conda])


def serves(kind: ScorerKind, distributions: Iterable[str]) -> bool:
    """Whether an environment with these can run the scorer: then it is the one that the model was trained in."""
    there = set(distributions)
    main, _ = PACKAGES[kind]
    mains = {main, f"{main}-cpu", f"{main}-gpu", "tensorflow-intel"} if main == "tensorflow" else {main}
    return bool(mains & there) and "numpy" in there and (kind is not ScorerKind.SKLEARN or "joblib" in there)


def _kind(model: ModelRecord, files: Sequence[str]) -> ScorerKind:
    if model.framework is None or model.framework == Framework.CUSTOM:
        what = "no model_framework" if model.framework is None else "the model_framework Custom"
        raise ModelRefused(
            f"Model {model.id} has {what}, so nothing is known to serve it without code. Register it with "
            "model_framework=Model.Framework.TENSORFLOW (or ONNX, SCIKITLEARN, PYTORCH, TFKERAS, XGBOOST, LIGHTGBM), "
            "or pass an inference_config."
        )
    if model.framework == Framework.MULTI:
        return _guessed(model, files)
    kind = _OF_FRAMEWORK[model.framework]
    if kind is ScorerKind.KERAS and _saved_model(files) is not None:
        return ScorerKind.TENSORFLOW
    return kind


def _guessed(model: ModelRecord, files: Sequence[str]) -> ScorerKind:
    """A model of several frameworks is one whose files say what they are."""
    if _saved_model(files) is not None:
        return ScorerKind.TENSORFLOW
    by_ending = {
        ".onnx": ScorerKind.ONNX,
        ".keras": ScorerKind.KERAS,
        ".h5": ScorerKind.KERAS,
        ".pt2": ScorerKind.TORCH,
        ".pt": ScorerKind.TORCH,
        **dict.fromkeys(_PICKLES, ScorerKind.SKLEARN),
    }
    kinds = {by_ending[ending] for file in files if (ending := posixpath.splitext(file)[1].lower()) in by_ending}
    if len(kinds) == 1:
        return kinds.pop()
    raise ModelRefused(
        f"Model {model.id} has the framework Multi and its files ({_some(files)}) do not say which one serves it. "
        "Register the part to be served with its own model_framework, or pass an inference_config."
    )


def _tensorflow(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    # the file alone, taken out of its folder; a folder without variables/ may be a graph that has none
    if (folder := _saved_model(files)) is not None and files != [posixpath.basename(files[0])]:
        return NoCode(ScorerKind.TENSORFLOW, folder)
    raise _refused(
        model,
        files,
        "a SavedModel folder: saved_model.pb with variables/ beside it, as tf.saved_model.save(model, 'outputs/model') "
        "(or model.export, in Keras 3) writes it; register the folder, not a file in it",
    )


def _saved_model(files: Iterable[str]) -> str | None:
    """The folder with saved_model.pb; of numbered versions the highest, as TensorFlow Serving takes it."""
    folders = [posixpath.dirname(file) for file in files if posixpath.basename(file) in _SAVED_MODEL]
    if not folders:
        return None
    return max(folders, key=lambda it: (-it.count("/"), _number(posixpath.basename(it)), it))


def _onnx(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    found = _ending(files, ".onnx")
    if len(found) == 1:  # files beside it may hold its weights
        return NoCode(ScorerKind.ONNX, found[0])
    raise _refused(model, files, "one .onnx file (weights in files beside it are fine)")


def _sklearn(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    found = _ending(files, *_PICKLES) or files
    if len(found) == 1:
        return NoCode(ScorerKind.SKLEARN, found[0], pickle=True)
    raise _refused(model, files, "one estimator in one file, as joblib.dump(model, 'outputs/model.pkl') writes it")


def _torch(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    found = _ending(files, ".pt2", ".pt", ".pth", ".ts", ".torchscript") or (files if len(files) == 1 else [])
    expected = (
        "one file of TorchScript (torch.jit.script(model).save('outputs/model.pt')) or of torch.export "
        "(torch.export.save(program, 'outputs/model.pt2')); state dicts and models pickled whole need a scoring script"
    )
    if len(found) != 1:
        raise _refused(model, files, expected)
    inside = _zip_names(opened(found[0]))
    is_script = any("/code/" in name for name in inside) and any(name.endswith("constants.pkl") for name in inside)
    is_export = any("exported_program" in name or "archive_format" in name for name in inside) or (
        any(name.endswith("/models/model.json") for name in inside)
    )
    if not (is_script or is_export):
        raise _refused(model, files, expected)
    return NoCode(ScorerKind.TORCH, found[0])


def _keras(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    found = _ending(files, ".keras", ".h5", ".hdf5")
    if len(found) == 1:
        return NoCode(ScorerKind.KERAS, found[0])
    raise _refused(model, files, "one .keras or .h5 file, as model.save('outputs/model.keras') writes it")


def _xgboost(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    found = _ending(files, ".json", ".ubj", ".bst", ".model", ".xgb")
    if len(found) == 1:
        return NoCode(ScorerKind.XGBOOST, found[0])
    raise _refused(model, files, "one file as booster.save_model('outputs/model.json') or 'model.ubj' writes it")


def _lightgbm(model: ModelRecord, files: list[str], opened: Opened) -> NoCode:
    del opened
    found = _ending(files, ".txt", ".lgb", ".model")
    if len(found) == 1:
        return NoCode(ScorerKind.LIGHTGBM, found[0])
    raise _refused(model, files, "one file as booster.save_model('outputs/model.txt') writes it")


_LAYOUTS: dict[ScorerKind, Callable[[ModelRecord, list[str], Opened], NoCode]] = {
    ScorerKind.TENSORFLOW: _tensorflow,
    ScorerKind.ONNX: _onnx,
    ScorerKind.SKLEARN: _sklearn,
    ScorerKind.TORCH: _torch,
    ScorerKind.KERAS: _keras,
    ScorerKind.XGBOOST: _xgboost,
    ScorerKind.LIGHTGBM: _lightgbm,
}


def _refused(model: ModelRecord, files: Sequence[str], expected: str) -> ModelRefused:
    return ModelRefused(
        f"Model {model.id} cannot be served without code. Expected for {model.framework}: {expected}. It has: "
        f"{_some(files)}. Register it again in that form, or pass an inference_config."
    )


def _ending(files: Iterable[str], *endings: str) -> list[str]:
    return [file for file in files if file.lower().endswith(endings)]


def _some(files: Sequence[str]) -> str:
    return ", ".join(sorted(files)[:8]) + (", …" if len(files) > 8 else "")


def _number(name: str) -> int:
    return int(name) if name.isdigit() else -1


def _zip_names(file: IO[bytes]) -> list[str]:
    with file:
        try:
            with zipfile.ZipFile(file) as archive:
                return archive.namelist()
        except zipfile.BadZipFile:
            return []
