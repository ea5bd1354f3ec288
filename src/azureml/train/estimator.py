"""Re-exports: see trainyard.sdk.estimators.estimator."""

from trainyard.sdk.estimators.estimator import Estimator as Estimator
from trainyard.sdk.estimators.estimator_base import MMLBaseEstimator as MMLBaseEstimator

__all__ = ["Estimator", "MMLBaseEstimator"]
