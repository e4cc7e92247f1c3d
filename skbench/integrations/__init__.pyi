"""The names of this room, for type checkers."""

from skbench.integrations.inspect_stopping import InspectStopping as InspectStopping
