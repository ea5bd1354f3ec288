"""Re-exports: see trainyard.sdk.hyperdrive.sampling."""

from trainyard.sdk.hyperdrive.sampling import BayesianParameterSampling as BayesianParameterSampling
from trainyard.sdk.hyperdrive.sampling import GridParameterSampling as GridParameterSampling
from trainyard.sdk.hyperdrive.sampling import HyperParameterSampling as HyperParameterSampling
from trainyard.sdk.hyperdrive.sampling import RandomParameterSampling as RandomParameterSampling

__all__ = [
    "BayesianParameterSampling",
    "GridParameterSampling",
    "HyperParameterSampling",
    "RandomParameterSampling",
]
