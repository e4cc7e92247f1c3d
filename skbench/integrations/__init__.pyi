"""The names of this room, for type checkers."""

from skbench.integrations.inspect_metrics import (
    difference as difference,
    group_means as group_means,
    mean_interval as mean_interval,
)
from skbench.integrations.inspect_stopping import InspectStopping as InspectStopping
