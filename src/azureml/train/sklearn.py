"""Re-exports: see trainyard.sdk.estimators.sklearn_estimator."""

from trainyard.sdk.estimators.sklearn_estimator import SKLearn as SKLearn

__all__ = ["SKLearn"]
