"""Honest estimates of model performance from few items per topic.

Rows become summaries, summaries become estimates, estimates become pictures.
Every public name can be imported from here; it is loaded when first used, so
that ``import skbench`` stays cheap.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "benchmark": [
        "ConfusionPosterior",
        "HierarchicalBetaBinomial",
        "KemenyOrder",
        "Leaderboard",
        "MeanRankScore",
        "ModelComparison",
        "RankConfidenceSets",
        "RepeatedRuns",
        "TaskBootstrap",
        "WeightSimplex",
        "aggregate",
        "category_means",
        "compare_models",
        "difference_p_values",
        "differences",
        "indistinguishable_groups",
        "kemeny_order",
        "leaderboard",
        "minimum_detectable_effect",
        "normalize_scores",
        "rank_confidence_sets",
        "rank_models",
        "rank_probabilities",
        "required_items",
    ],
    "containers": ["Draws", "Estimate", "GroupSummary"],
    "datasets": ["load_digits_c", "make_items", "make_judged_items", "sample_items"],
    "groups": [
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
        "finite_population_estimate",
    ],
    "plot": [
        "CoverageDisplay",
        "DifferenceDisplay",
        "ForestDisplay",
        "RankDisplay",
        "RiskDisplay",
        "SamplingDisplay",
        "ShrinkageDisplay",
        "SimplexDisplay",
    ],
    "ppi": [
        "ChainRulePPI",
        "ClassicalMean",
        "GroupedPPI",
        "KProportion",
        "Mean",
        "MonteCarloPPI",
        "PPIMean",
        "Proportion",
        "RoganGladen",
        "SideBySidePPI",
        "StratifiedPPI",
    ],
    "readers": [
        "read_euroeval",
        "read_every_eval_ever",
        "read_helm",
        "read_inspect",
        "read_items",
        "read_lm_eval",
        "read_promptfoo",
    ],
    "selection": [
        "EstimatorComparison",
        "LabeledKFold",
        "RiskComparison",
        "compare_estimators",
        "leave_out_covariates",
        "sample_size_ratio",
        "shrinkage_risk",
        "split_items_risk",
        "unbiased_risk_score",
    ],
    "studies": ["Candidate", "RepeatedSamplingStudy", "summarize_studies"],
    "summaries": [
        "ItemClusters",
        "betting_estimate",
        "cluster_items",
        "embed_groups",
        "item_correlation",
        "summarize_items",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = [*_HOMES, "stats"]

__all__ = sorted([*_HOME_OF, *_ROOMS, "__version__"])


def __getattr__(name):
    if name in _HOME_OF:
        value = getattr(import_module(f"skbench.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return import_module(f"skbench.{name}")
    raise AttributeError(f"module 'skbench' has no attribute {name!r}")


def __dir__():
    return __all__
