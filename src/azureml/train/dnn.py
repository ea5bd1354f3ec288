"""Re-exports: see trainyard.sdk.estimators.dnn."""

from trainyard.sdk.estimators.dnn import Chainer as Chainer
from trainyard.sdk.estimators.dnn import PyTorch as PyTorch
from trainyard.sdk.estimators.dnn import TensorFlow as TensorFlow
from trainyard.sdk.submitting.distributed_training import Gloo as Gloo
from trainyard.sdk.submitting.distributed_training import Mpi as Mpi
from trainyard.sdk.submitting.distributed_training import Nccl as Nccl
from trainyard.sdk.submitting.distributed_training import ParameterServer as ParameterServer

__all__ = ["Chainer", "Gloo", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow"]
