"""Repeated sampling from full results: how large the errors of estimators really are."""

from skbench.studies._candidate import Candidate
from skbench.studies._study import RepeatedSamplingStudy
from skbench.studies._summary import summarize_studies

__all__ = ["Candidate", "RepeatedSamplingStudy", "summarize_studies"]
