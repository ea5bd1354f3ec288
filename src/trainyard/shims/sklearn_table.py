"""What scikit-learn has renamed and dropped since 0.18. A table, no code."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_CLASSIFIERS = "RandomForestClassifier ExtraTreesClassifier"
_REGRESSORS = "RandomForestRegressor ExtraTreesRegressor"
_BOOSTED = "GradientBoostingClassifier GradientBoostingRegressor"
_TREES = "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"


class Rule:
    """What becomes of an argument that is gone. `to`: what it is now; None: it goes. `harmless`: the values without
    which nothing changes; () for any value. `beside`: arguments without which the new one means something else."""

    def __init__(self, to: str | None, harmless: tuple[Any, ...], note: str, beside: dict[str, Any]) -> None:
        self.to, self.harmless, self.note, self.beside = to, harmless, note, beside


def _goes(since: str, *harmless: Any) -> Rule:
    return Rule(None, harmless, "scikit-learn has not had it since " + since, {})


def _is_now(name: str, since: str, **beside: Any) -> Rule:
    return Rule(name, (), "it is " + name + "= since scikit-learn " + since, beside)


# class names → argument → rule; only for classes that have not got the argument (any more)
ARGUMENTS = {
    "LogisticRegression LogisticRegressionCV": {
        "multi_class": _goes("1.8", "auto", "multinomial", "deprecated", "warn"),
    },
    "Ridge Lasso ElasticNet LinearRegression Lars LassoLars RidgeCV LassoCV ElasticNetCV LassoLarsCV BayesianRidge "
    "RidgeClassifier": {"normalize": _goes("1.2", False, "deprecated")},
    "KMeans": {"n_jobs": _goes("1.0"), "precompute_distances": _goes("1.0")},
    _TREES: {"presort": _goes("0.24"), "min_impurity_split": _goes("1.0", None, 1e-7)},
    _CLASSIFIERS + " " + _REGRESSORS: {"min_impurity_split": _goes("1.0", None, 1e-7)},
    _BOOSTED: {"presort": _goes("0.24"), "min_impurity_split": _goes("1.0", None, 1e-7)},
    "BaggingClassifier BaggingRegressor AdaBoostRegressor": {"base_estimator": _is_now("estimator", "1.4")},
    "AdaBoostClassifier": {
        "base_estimator": _is_now("estimator", "1.4"),
        "algorithm": _goes("1.8"),
    },
    "CalibratedClassifierCV": {"base_estimator": _is_now("estimator", "1.4")},
    "AgglomerativeClustering FeatureAgglomeration": {"affinity": _is_now("metric", "1.4")},
    "OneHotEncoder": {
        "sparse": _is_now("sparse_output", "1.4"),
        "n_values": _goes("0.22", "auto", None),
        "categorical_features": _goes("0.22", "all", None),
    },
    "SimpleImputer": {"verbose": _goes("1.3"), "axis": _goes("0.22", 0)},
    "SGDClassifier SGDRegressor Perceptron PassiveAggressiveClassifier PassiveAggressiveRegressor": {
        "n_iter": _is_now("max_iter", "0.21", tol=None),
    },
    "GridSearchCV RandomizedSearchCV": {"iid": _goes("0.24"), "fit_params": _goes("0.21", None)},
    "IsolationForest": {"behaviour": _goes("0.24")},
    "TSNE": {"n_iter": _is_now("max_iter", "1.7"), "square_distances": _goes("1.3")},
}  # type: dict[str, dict[str, Rule]]

# class names → argument → old value → new value
VALUES = {
    _TREES + " " + _REGRESSORS: {
        "criterion": {"mse": "squared_error", "mae": "absolute_error"},
    },
    _CLASSIFIERS + " DecisionTreeClassifier ExtraTreeClassifier": {"max_features": {"auto": "sqrt"}},
    _REGRESSORS + " DecisionTreeRegressor ExtraTreeRegressor": {"max_features": {"auto": 1.0}},
    "GradientBoostingClassifier": {"loss": {"deviance": "log_loss"}},
    "GradientBoostingRegressor": {
        "loss": {"ls": "squared_error", "lad": "absolute_error"},
        "criterion": {"mse": "squared_error"},
    },
    "SGDClassifier": {"loss": {"log": "log_loss"}, "penalty": {"none": None}},
    "SGDRegressor": {"loss": {"squared_loss": "squared_error"}, "penalty": {"none": None}},
    "LogisticRegression": {"penalty": {"none": None}},
    "SimpleImputer": {"missing_values": {"NaN": float("nan")}},
}  # type: dict[str, dict[str, dict[Any, Any]]]

_PRIVATE = "a module of scikit-learn before 0.24"

# package → modules that are called the same with a _ before them: pickled models name them, too
_UNDERSCORED = {
    "cluster": "affinity_propagation_ bicluster birch dbscan_ mean_shift_ optics_ spectral",
    "covariance": "elliptic_envelope empirical_covariance_ graph_lasso_ robust_covariance shrunk_covariance_",
    "cross_decomposition": "pls_",
    "datasets": "base california_housing lfw olivetti_faces openml samples_generator twenty_newsgroups",
    "decomposition": "base factor_analysis fastica_ incremental_pca kernel_pca nmf pca sparse_pca truncated_svd",
    "ensemble": "bagging base forest iforest voting weight_boosting",
    "feature_extraction": "dict_vectorizer",
    "feature_selection": "base from_model mutual_info_ rfe univariate_selection variance_threshold",
    "gaussian_process": "gpc gpr",
    "linear_model": "base bayes coordinate_descent huber least_angle logistic omp passive_aggressive perceptron ransac "
    "ridge stochastic_gradient theil_sen",
    "manifold": "isomap locally_linear mds spectral_embedding_ t_sne",
    "metrics": "classification ranking regression scorer",
    "mixture": "base bayesian_mixture gaussian_mixture",
    "neighbors": "base classification graph kde nearest_centroid regression unsupervised",
    "neural_network": "multilayer_perceptron rbm",
    "preprocessing": "data label",
    "svm": "base bounds",
    "tree": "export",
}

# old module → (new module, what is the matter)
MODULES = {
    "sklearn.externals.joblib": ("joblib", "it is the package joblib since scikit-learn 0.23"),
    "sklearn.externals.six": ("six", "it is the package six since scikit-learn 0.23"),
    "sklearn.cross_validation": ("sklearn.model_selection", "it is sklearn.model_selection since 0.20"),
    "sklearn.grid_search": ("sklearn.model_selection", "it is sklearn.model_selection since 0.20"),
    "sklearn.learning_curve": ("sklearn.model_selection", "it is sklearn.model_selection since 0.20"),
    "sklearn.cluster.hierarchical": ("sklearn.cluster._agglomerative", _PRIVATE),
    "sklearn.cluster.k_means_": ("sklearn.cluster._kmeans", _PRIVATE),
    "sklearn.decomposition.online_lda": ("sklearn.decomposition._lda", _PRIVATE),
    "sklearn.ensemble.gradient_boosting": ("sklearn.ensemble._gb", _PRIVATE),
    "sklearn.feature_extraction.hashing": ("sklearn.feature_extraction._hash", _PRIVATE),
    "sklearn.neighbors.lof": ("sklearn.neighbors._lof", _PRIVATE),
    "sklearn.semi_supervised.label_propagation": ("sklearn.semi_supervised._label_propagation", _PRIVATE),
    "sklearn.svm.classes": ("sklearn.svm._classes", _PRIVATE),
    "sklearn.tree.tree": ("sklearn.tree._classes", _PRIVATE),
    "sklearn.utils.testing": ("sklearn.utils._testing", _PRIVATE),
    **{
        "sklearn." + package + "." + old: ("sklearn." + package + "._" + old.rstrip("_"), _PRIVATE)
        for package, names in _UNDERSCORED.items()
        for old in names.split()
    },
}

# module → old name → (new name, what is the matter)
NAMES = {
    "sklearn.preprocessing": {"Imputer": ("sklearn.impute:SimpleImputer", "it is SimpleImputer since 0.22")},
    "sklearn.metrics": {
        "jaccard_similarity_score": ("sklearn.metrics:accuracy_score", "it was accuracy_score under another name"),
    },
}

# functions → (argument, its value that made it the other function, the other function, what is the matter)
FUNCTIONS = {
    name: ("squared", False, "root_" + name, "it is root_" + name + " since scikit-learn 1.6")
    for name in ("mean_squared_error", "mean_squared_log_error")
}

GONE = {
    "sklearn.datasets.load_boston": "the data set left scikit-learn with 1.2; fetch_california_housing has another",
    "sklearn.datasets.fetch_mldata": "its server is gone; fetch_openml has the data",
    "sklearn.metrics.plot_confusion_matrix": "it is ConfusionMatrixDisplay.from_estimator since 1.2",
    "sklearn.metrics.plot_roc_curve": "it is RocCurveDisplay.from_estimator since 1.2",
}


def arguments_of(kind: str) -> dict[str, Rule]:
    found = {}  # type: dict[str, Rule]
    for kinds, rules in ARGUMENTS.items():
        if kind in kinds.split():
            found.update(rules)
    return found


def values_of(kind: str) -> dict[str, dict[Any, Any]]:
    found = {}  # type: dict[str, dict[Any, Any]]
    for kinds, rules in VALUES.items():
        if kind in kinds.split():
            found.update(rules)
    return found
