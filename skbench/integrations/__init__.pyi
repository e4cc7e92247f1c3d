"""The names of this room, for type checkers."""

from skbench.integrations.inspect_stopping import InspectStopping as InspectStopping
from skbench.integrations.progress import show_progress as show_progress
