"""Crossed random effects of models and topics."""

from skbench.stats.mixed._crossed import (
    CrossedFit,
    crossed_logit,
    crossed_normal,
    crossed_normal_each,
    logistic_moments,
)
from skbench.stats.mixed._intervals import mixture_interval, skewed_interval
from skbench.stats.mixed._moments import Moments, mixture_moments
from skbench.stats.mixed._one_prior import (
    alone_counts,
    alone_or_not,
    alone_scores,
    log_mass_of_counts,
    log_mass_of_scores,
    log_odds_of_counts,
)
from skbench.stats.mixed._peers import UNLIKE_VARIANCE, posterior_share

__all__ = [
    "UNLIKE_VARIANCE",
    "CrossedFit",
    "Moments",
    "alone_counts",
    "alone_or_not",
    "alone_scores",
    "crossed_logit",
    "crossed_normal",
    "crossed_normal_each",
    "log_mass_of_counts",
    "log_mass_of_scores",
    "log_odds_of_counts",
    "logistic_moments",
    "mixture_interval",
    "mixture_moments",
    "posterior_share",
    "skewed_interval",
]
