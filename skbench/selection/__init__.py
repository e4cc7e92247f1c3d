"""Choosing between methods: splitters, scorers and estimates of risk."""

from skbench.selection._compare import EstimatorComparison, compare_estimators
from skbench.selection._comparison import RiskComparison
from skbench.selection._folds import LabeledKFold
from skbench.selection._leave_out import leave_out_covariates
from skbench.selection._sample_size import sample_size_ratio
from skbench.selection._scorer import unbiased_risk_score
from skbench.selection._shrinkage_risk import shrinkage_risk
from skbench.selection._split_risk import split_items_risk

__all__ = [
    "EstimatorComparison",
    "LabeledKFold",
    "RiskComparison",
    "compare_estimators",
    "leave_out_covariates",
    "sample_size_ratio",
    "shrinkage_risk",
    "split_items_risk",
    "unbiased_risk_score",
]
