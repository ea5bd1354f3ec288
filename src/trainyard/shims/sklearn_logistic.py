"""LogisticRegression as it was: one model for each class against the rest, where a script asks for that (multi_class=
has left scikit-learn with 1.8) or its solver can do nothing else; and a solver that can do what the penalty asks."""

from __future__ import annotations

from trainyard.shims.hooks import after_import
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_ASKED = "_one_vs_rest_asked"  # attributes of estimators, and of their clones
_FITTED = "_one_vs_rest"


def install() -> None:
    after_import("sklearn.linear_model._logistic", _apply)


def _apply(module: Any) -> None:
    kind = module.LogisticRegression
    does_it_itself = "multi_class" in kind().get_params()
    _take_old_arguments(kind, does_it_itself)
    if not does_it_itself:
        _fit_and_predict(kind)


def _take_old_arguments(kind: Any, does_it_itself: bool) -> None:
    import functools

    original = kind.__init__

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        if given.get("penalty") == "l1" and "solver" not in given:
            given["solver"] = "liblinear"
            did("sklearn", "LogisticRegression(penalty='l1') is solved by liblinear, the default until 0.22.")
        asked = not does_it_itself and given.get("multi_class") == "ovr"
        if asked:
            del given["multi_class"]
        original(self, *arguments, **given)
        if asked:
            setattr(self, _ASKED, True)

    kind.__init__ = __init__


def _fit_and_predict(kind: Any) -> None:
    import functools

    fit, predict_proba, clone = kind.fit, kind.predict_proba, kind.__sklearn_clone__

    @functools.wraps(fit)
    def fit_each(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803 - scikit-learn's name
        import numpy

        vars(self).pop(_FITTED, None)
        classes = numpy.unique(y) if self.solver == "liblinear" or hasattr(self, _ASKED) else ()
        if len(classes) < 3:
            return fit(self, X, y, sample_weight)
        did("sklearn", "LogisticRegression is fitted for each class against the rest, as multi_class='ovr' was.")
        return _fit_one_vs_rest(self, fit, X, numpy.asarray(y), classes, sample_weight)

    @functools.wraps(predict_proba)
    def predict_each(self: Any, X: Any) -> Any:  # noqa: N803
        return self._predict_proba_lr(X) if hasattr(self, _FITTED) else predict_proba(self, X)

    @functools.wraps(clone)
    def clone_as_asked(self: Any) -> Any:
        made = clone(self)
        if hasattr(self, _ASKED):
            setattr(made, _ASKED, True)
        return made

    kind.fit, kind.predict_proba, kind.__sklearn_clone__ = fit_each, predict_each, clone_as_asked


def _fit_one_vs_rest(self: Any, fit: Any, data: Any, labels: Any, classes: Any, weights: Any) -> Any:
    import importlib

    import numpy

    clone = importlib.import_module("sklearn.base").clone
    fitted = [fit(clone(self), data, labels == each, weights) for each in classes]
    self.classes_ = classes
    self.coef_ = numpy.vstack([one.coef_ for one in fitted])
    self.intercept_ = numpy.concatenate([numpy.atleast_1d(one.intercept_) for one in fitted])
    self.n_iter_ = numpy.concatenate([numpy.atleast_1d(one.n_iter_) for one in fitted])
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted[0], name):
            setattr(self, name, getattr(fitted[0], name))
    setattr(self, _FITTED, True)
    return self
