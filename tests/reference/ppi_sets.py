"""Estimates of many data sets at once, as groups of one table, and the ends of intervals."""

import warnings
from typing import NamedTuple

import numpy as np

from skbench import GroupedPPI


class DataSets(NamedTuple):
    """Rows of many data sets; `by` says of which."""

    X: np.ndarray
    y: np.ndarray
    by: np.ndarray
    cluster: np.ndarray | None = None


def fitted(estimator, data):
    """The estimates of all data sets, each tuned by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = dict(zip(("cluster", "sample_weight"), data[3:], strict=False))
        return GroupedPPI(estimator, power="per group", random_state=0).fit(*data[:3], **more)


def ends(estimator, confidence_level=0.95):
    """Low and high end of the interval; arrays where there are several."""
    found = estimator.estimate(confidence_level)
    if len(found) > 1:
        return found.low, found.high
    return float(found.low[0]), float(found.high[0])
