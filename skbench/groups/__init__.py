"""Performance of many groups: one estimator a file, one contract for all."""

from skbench.groups.averaged import AveragedEstimator
from skbench.groups.crossfit import CrossFitKFold
from skbench.groups.crossfit_mixed import CrossFitMixedModel
from skbench.groups.direct import DirectEstimator
from skbench.groups.empirical_bayes import EmpiricalBayes
from skbench.groups.fay_herriot import FayHerriot
from skbench.groups.gaussian_mixed import GaussianMixedModel
from skbench.groups.james_stein import JamesStein
from skbench.groups.logistic_mixed import LogisticMixedModel
from skbench.groups.pipeline import IntervalPipeline
from skbench.groups.structured import StructuredRegression
from skbench.groups.synthetic import SyntheticRegression

__all__ = [
    "AveragedEstimator",
    "CrossFitKFold",
    "CrossFitMixedModel",
    "DirectEstimator",
    "EmpiricalBayes",
    "FayHerriot",
    "GaussianMixedModel",
    "IntervalPipeline",
    "JamesStein",
    "LogisticMixedModel",
    "StructuredRegression",
    "SyntheticRegression",
]
