"""Scores of models on several tasks: draws, aggregates, weights and repeated runs."""

from skbench.tasks.aggregate import (
    aggregate,
    normalize_scores,
    rank_models,
    rank_probabilities,
)
from skbench.tasks.bootstrap import TaskBootstrap
from skbench.tasks.confusion import ConfusionPosterior
from skbench.tasks.hierarchical import HierarchicalBetaBinomial
from skbench.tasks.pairwise import differences
from skbench.tasks.rank_score import MeanRankScore
from skbench.tasks.repeated_runs import RepeatedRuns
from skbench.tasks.weights import WeightSimplex

__all__ = [
    "ConfusionPosterior",
    "HierarchicalBetaBinomial",
    "MeanRankScore",
    "RepeatedRuns",
    "TaskBootstrap",
    "WeightSimplex",
    "aggregate",
    "differences",
    "normalize_scores",
    "rank_models",
    "rank_probabilities",
]
