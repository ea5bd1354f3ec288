"""LogisticRegression(solver='liblinear') with three classes or more, which scikit-learn refuses since 1.8: one model
for each class against the rest, as it always was with that solver."""

from __future__ import annotations

from trainyard.shims.hooks import after_import
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_MARK = "_one_vs_rest"  # an attribute of fitted estimators


def install() -> None:
    after_import("sklearn.linear_model._logistic", _apply)


def _apply(module: Any) -> None:
    import functools

    kind = module.LogisticRegression
    if "multi_class" in kind().get_params():
        return  # a release that does it itself
    fit, predict_proba = kind.fit, kind.predict_proba

    @functools.wraps(fit)
    def fit_each(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803 - scikit-learn's name
        import numpy

        vars(self).pop(_MARK, None)
        classes = numpy.unique(y) if self.solver == "liblinear" else ()
        if len(classes) < 3:
            return fit(self, X, y, sample_weight)
        did("sklearn", "LogisticRegression(solver='liblinear') is fitted for each class against the rest, as it was.")
        return _fit_one_vs_rest(self, fit, X, numpy.asarray(y), classes, sample_weight)

    @functools.wraps(predict_proba)
    def predict_each(self: Any, X: Any) -> Any:  # noqa: N803
        return self._predict_proba_lr(X) if hasattr(self, _MARK) else predict_proba(self, X)

    kind.fit, kind.predict_proba = fit_each, predict_each


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
    setattr(self, _MARK, True)
    return self
