"""Re-exports: see trainyard.sdk.estimators.estimator."""

from trainyard.sdk.estimators.estimator import Estimator as Estimator
from trainyard.sdk.estimators.estimator_base import MMLBaseEstimator as MMLBaseEstimator
from trainyard.sdk.submitting.distributed_training import Gloo as Gloo
from trainyard.sdk.submitting.distributed_training import Mpi as Mpi
from trainyard.sdk.submitting.distributed_training import Nccl as Nccl
from trainyard.sdk.submitting.distributed_training import ParameterServer as ParameterServer

__all__ = ["Estimator", "Gloo", "MMLBaseEstimator", "Mpi", "Nccl", "ParameterServer"]
