"""Assess estimators: studies, unbiased risk estimates, and the choice of an estimator."""

from skbench.assessment._candidate import Candidate
from skbench.assessment._compare import EstimatorComparison, compare_estimators
from skbench.assessment._folds import LabeledKFold
from skbench.assessment._leave_out import leave_out_covariates
from skbench.assessment._risk import estimated_risk
from skbench.assessment._risk_comparison import RiskComparison
from skbench.assessment._sample_size import sample_size_ratio
from skbench.assessment._scorer import unbiased_risk_score
from skbench.assessment._study import RepeatedSamplingStudy
from skbench.assessment._summary import summarize_studies

__all__ = [
    "Candidate",
    "EstimatorComparison",
    "LabeledKFold",
    "RepeatedSamplingStudy",
    "RiskComparison",
    "compare_estimators",
    "estimated_risk",
    "leave_out_covariates",
    "sample_size_ratio",
    "summarize_studies",
    "unbiased_risk_score",
]
