"""Re-exports: see trainyard.sdk.hyperdrive.expressions."""

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

__all__ = [
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
]
