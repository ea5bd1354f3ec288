"""Re-exports: see trainyard.sdk.hyperdrive. The last three names are not in the SDK."""

from trainyard.sdk.hyperdrive.config import HyperDriveConfig as HyperDriveConfig
from trainyard.sdk.hyperdrive.config import HyperDriveRunConfig as HyperDriveRunConfig
from trainyard.sdk.hyperdrive.config import PrimaryMetricGoal as PrimaryMetricGoal
from trainyard.sdk.hyperdrive.expressions import choice as choice
from trainyard.sdk.hyperdrive.expressions import lognormal as lognormal
from trainyard.sdk.hyperdrive.expressions import loguniform as loguniform
from trainyard.sdk.hyperdrive.expressions import normal as normal
from trainyard.sdk.hyperdrive.expressions import qlognormal as qlognormal
from trainyard.sdk.hyperdrive.expressions import qloguniform as qloguniform
from trainyard.sdk.hyperdrive.expressions import qnormal as qnormal
from trainyard.sdk.hyperdrive.expressions import quniform as quniform
from trainyard.sdk.hyperdrive.expressions import randint as randint
from trainyard.sdk.hyperdrive.expressions import uniform as uniform
from trainyard.sdk.hyperdrive.policy import AshaPolicy as AshaPolicy
from trainyard.sdk.hyperdrive.policy import BanditPolicy as BanditPolicy
from trainyard.sdk.hyperdrive.policy import HyperbandPolicy as HyperbandPolicy
from trainyard.sdk.hyperdrive.policy import MedianStoppingPolicy as MedianStoppingPolicy
from trainyard.sdk.hyperdrive.policy import NoTerminationPolicy as NoTerminationPolicy
from trainyard.sdk.hyperdrive.policy import TruncationSelectionPolicy as TruncationSelectionPolicy
from trainyard.sdk.hyperdrive.run import HyperDriveRun as HyperDriveRun
from trainyard.sdk.hyperdrive.sampling import BayesianParameterSampling as BayesianParameterSampling
from trainyard.sdk.hyperdrive.sampling import GridParameterSampling as GridParameterSampling
from trainyard.sdk.hyperdrive.sampling import PopulationBasedTraining as PopulationBasedTraining
from trainyard.sdk.hyperdrive.sampling import RandomParameterSampling as RandomParameterSampling

__all__ = [
    "BanditPolicy",
    "BayesianParameterSampling",
    "GridParameterSampling",
    "HyperDriveConfig",
    "HyperDriveRun",
    "HyperDriveRunConfig",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "PrimaryMetricGoal",
    "RandomParameterSampling",
    "TruncationSelectionPolicy",
    "choice",
    "lognormal",
    "loguniform",
    "normal",
    "qlognormal",
    "qloguniform",
    "qnormal",
    "quniform",
    "randint",
    "uniform",
    *("AshaPolicy", "HyperbandPolicy", "PopulationBasedTraining"),
]
