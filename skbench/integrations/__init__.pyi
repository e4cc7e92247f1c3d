"""The names of this room, for type checkers."""

from skbench.integrations.inspect_metrics import (
    difference as difference,
    group_means as group_means,
    mean_interval as mean_interval,
)
from skbench.integrations.inspect_stopping import InspectStopping as InspectStopping
from skbench.integrations.progress import show_progress as show_progress
from skbench.integrations.trackers import (
    to_mlflow as to_mlflow,
    to_model_card as to_model_card,
    to_wandb as to_wandb,
)
