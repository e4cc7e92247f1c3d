"""Crossed random effects of models and topics."""

from skbench.stats.mixed._crossed import (
    CrossedFit,
    crossed_logit,
    crossed_normal,
    logistic_moments,
)
from skbench.stats.mixed._intervals import mixture_interval, skewed_interval

__all__ = [
    "CrossedFit",
    "crossed_logit",
    "crossed_normal",
    "logistic_moments",
    "mixture_interval",
    "skewed_interval",
]
