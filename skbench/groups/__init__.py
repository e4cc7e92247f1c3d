"""Performance of many groups: one estimator a file, one contract for all."""

from skbench.groups.crossfit import CrossFitKFold
from skbench.groups.direct import DirectEstimator
from skbench.groups.empirical_bayes import EmpiricalBayes
from skbench.groups.fay_herriot import FayHerriot
from skbench.groups.james_stein import JamesStein
from skbench.groups.mixed_model import MixedModel
from skbench.groups.pipeline import IntervalPipeline
from skbench.groups.structured import StructuredRegression
from skbench.groups.synthetic import SyntheticRegression

__all__ = [
    "CrossFitKFold",
    "DirectEstimator",
    "EmpiricalBayes",
    "FayHerriot",
    "IntervalPipeline",
    "JamesStein",
    "MixedModel",
    "StructuredRegression",
    "SyntheticRegression",
]
