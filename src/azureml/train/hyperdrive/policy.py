"""Re-exports: see trainyard.sdk.hyperdrive.policy."""

from trainyard.sdk.hyperdrive.policy import BanditPolicy as BanditPolicy
from trainyard.sdk.hyperdrive.policy import EarlyTerminationPolicy as EarlyTerminationPolicy
from trainyard.sdk.hyperdrive.policy import MedianStoppingPolicy as MedianStoppingPolicy
from trainyard.sdk.hyperdrive.policy import NoTerminationPolicy as NoTerminationPolicy
from trainyard.sdk.hyperdrive.policy import TruncationSelectionPolicy as TruncationSelectionPolicy

__all__ = [
    "BanditPolicy",
    "EarlyTerminationPolicy",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "TruncationSelectionPolicy",
]
