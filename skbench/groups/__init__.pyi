"""Names of `skbench.groups`, for type checkers."""

from skbench.groups.crossfit import CrossFitKFold as CrossFitKFold
from skbench.groups.direct import DirectEstimator as DirectEstimator
from skbench.groups.empirical_bayes import EmpiricalBayes as EmpiricalBayes
from skbench.groups.fay_herriot import FayHerriot as FayHerriot
from skbench.groups.james_stein import JamesStein as JamesStein
from skbench.groups.mixed_model import MixedModel as MixedModel
from skbench.groups.pipeline import IntervalPipeline as IntervalPipeline
from skbench.groups.structured import StructuredRegression as StructuredRegression
from skbench.groups.synthetic import SyntheticRegression as SyntheticRegression
