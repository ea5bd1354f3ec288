"""Scripts of scikit-learn before 1.0: modules under their old names, arguments that are gone or called otherwise."""

from __future__ import annotations

import importlib

from trainyard.shims import sklearn_logistic, sklearn_table
from trainyard.shims.hooks import after_import, provide
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# the modules that define the classes of the table
_HOMES = (
    "sklearn.calibration",
    "sklearn.cluster._agglomerative",
    "sklearn.cluster._kmeans",
    "sklearn.ensemble._bagging",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._iforest",
    "sklearn.ensemble._weight_boosting",
    "sklearn.impute._base",
    "sklearn.linear_model._base",
    "sklearn.linear_model._bayes",
    "sklearn.linear_model._coordinate_descent",
    "sklearn.linear_model._least_angle",
    "sklearn.linear_model._logistic",
    "sklearn.linear_model._passive_aggressive",
    "sklearn.linear_model._perceptron",
    "sklearn.linear_model._ridge",
    "sklearn.linear_model._stochastic_gradient",
    "sklearn.manifold._t_sne",
    "sklearn.model_selection._search",
    "sklearn.preprocessing._encoders",
    "sklearn.tree._classes",
)
_WITH_FEATURE_NAMES = (
    "sklearn.compose._column_transformer",
    "sklearn.feature_extraction._dict_vectorizer",
    "sklearn.feature_extraction.text",
    "sklearn.pipeline",
    "sklearn.preprocessing._encoders",
    "sklearn.preprocessing._polynomial",
)


def install() -> None:
    for old in sklearn_table.MODULES:
        provide(old, _moved, package=False)
    for home in _HOMES:
        after_import(home, _apply)
    for module in {*sklearn_table.NAMES, *(name.rpartition(".")[0] for name in sklearn_table.GONE)}:
        after_import(module, _names)
    after_import("sklearn.metrics._regression", _functions)
    for home in _WITH_FEATURE_NAMES:
        after_import(home, _feature_names)
    sklearn_logistic.install()  # last: it takes its arguments before the table does


def _moved(module: ModuleType) -> None:
    """An old module's name with the new one's things in it."""
    real, note = sklearn_table.MODULES[module.__name__]
    found = importlib.import_module(real)
    for name, value in vars(found).items():
        if name not in ("__name__", "__spec__", "__loader__", "__package__", "__path__"):
            setattr(module, name, value)
    did("sklearn", module.__name__ + ": " + note + ", and is taken from there.")


def _names(module: ModuleType) -> None:
    missing = vars(module).get("__getattr__")
    table = sklearn_table.NAMES.get(module.__name__, {})

    def __getattr__(name: str) -> Any:
        if name in table:
            where, _, new = table[name][0].partition(":")
            did("sklearn", module.__name__ + "." + name + ": " + table[name][1] + ", and is taken as that.")
            return getattr(importlib.import_module(where), new)
        gone = sklearn_table.GONE.get(module.__name__ + "." + name)
        if gone is not None:
            did("sklearn", module.__name__ + "." + name + " is gone: " + gone + ".")
            raise AttributeError(module.__name__ + "." + name + " is gone: " + gone + ".")
        if missing is not None:
            return missing(name)
        raise AttributeError("module {!r} has no attribute {!r}".format(module.__name__, name))

    setattr(module, "__getattr__", __getattr__)


def _apply(module: ModuleType) -> None:
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            rules = sklearn_table.arguments_of(kind.__name__)
            values = sklearn_table.values_of(kind.__name__)
            if rules or values:
                _wrap(kind, rules, values)


def _wrap(kind: Any, rules: dict[str, sklearn_table.Rule], values: dict[str, dict[Any, Any]]) -> None:
    """Scikit-learn reads the arguments of an estimator from its signature, which stays what it was."""
    import functools
    import inspect

    original = kind.__init__
    has = set(inspect.signature(original).parameters)
    rules = {name: rule for name, rule in rules.items() if name not in has}

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        for name in [name for name in given if name in rules]:
            _replace(type(self).__name__, name, rules[name], given)
        for name, table in values.items():
            old = given.get(name)
            if isinstance(old, str) and old in table:
                given[name] = table[old]
                did("sklearn", "{}({}={!r}) is {!r} now.".format(type(self).__name__, name, old, table[old]))
        original(self, *arguments, **given)

    kind.__init__ = __init__


def _replace(kind: str, name: str, rule: sklearn_table.Rule, given: dict[str, Any]) -> None:
    value = given.pop(name)
    said = "{}({}={!r})".format(kind, name, value)
    if rule.to is not None:
        given.setdefault(rule.to, value)
        for beside, meant in rule.beside.items():
            given.setdefault(beside, meant)
        did("sklearn", said + ": " + rule.note + ", and is taken as that.")
    elif not rule.harmless or value in rule.harmless:
        did("sklearn", said + ": " + rule.note + "; without it the estimator does the same.")
    else:
        raise TypeError(said + ": " + rule.note + ", and nothing does the same by itself. " + _instead(name))


def _instead(name: str) -> str:
    said = {
        "multi_class": "Wrap the estimator in sklearn.multiclass.OneVsRestClassifier.",
        "normalize": "Put a StandardScaler before it in a Pipeline.",
        "min_impurity_split": "Use min_impurity_decrease.",
        "n_values": "Use categories=.",
        "categorical_features": "Put it into a sklearn.compose.ColumnTransformer.",
        "axis": "Transpose the data.",
        "fit_params": "Give them to fit().",
    }
    return said.get(name, "Leave it out.")


def _functions(module: Any) -> None:
    for name, (argument, value, other, note) in sklearn_table.FUNCTIONS.items():
        if hasattr(module, other):
            setattr(module, name, _other_when(getattr(module, name), argument, value, getattr(module, other), note))


def _other_when(function: Any, argument: str, value: Any, other: Any, note: str) -> Any:
    import functools

    @functools.wraps(function)
    def call(*arguments: Any, **given: Any) -> Any:
        if argument not in given:
            return function(*arguments, **given)
        asked = given.pop(argument)
        did("sklearn", "{}({}={!r}): {}, and is taken as that.".format(function.__name__, argument, asked, note))
        return (other if asked == value else function)(*arguments, **given)

    return call


def _feature_names(module: Any) -> None:
    """get_feature_names(), which is get_feature_names_out() since 1.2 and gives an array."""
    for kind in [it for it in vars(module).values() if isinstance(it, type) and it.__module__ == module.__name__]:
        if hasattr(kind, "get_feature_names_out") and not hasattr(kind, "get_feature_names"):
            setattr(kind, "get_feature_names", _get_feature_names)


def _get_feature_names(self: Any, *input_features: Any) -> list[str]:
    did("sklearn", "get_feature_names() is get_feature_names_out() now, and is taken as that.")
    return list(self.get_feature_names_out(*input_features))
