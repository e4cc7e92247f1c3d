"""Honest estimates of model performance from few items per topic.

Rows become summaries, summaries become estimates, estimates become pictures.
Every public name can be imported from here; it is loaded when first used, so
that ``import skbench`` stays cheap.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "assessment": [
        "LabeledKFold",
        "RepeatedSamplingStudy",
        "compare_estimators",
        "estimated_risk",
        "leave_out_covariates",
        "unbiased_risk_score",
    ],
    "bank": [
        "ItemBank",
        "UnitLevelModel",
        "choose_items",
        "items_needed",
    ],
    "comparison": [
        "SequentialComparison",
        "SequentialMean",
        "compare_models",
        "gate",
        "kemeny_order",
        "leaderboard",
        "minimum_detectable_effect",
        "pass_at_k",
        "rank_confidence_sets",
        "required_items",
    ],
    "containers": [
        "Draws",
        "Estimate",
        "GroupSummary",
        "Sampling",
    ],
    "datasets": [
        "load_digits_c",
        "make_items",
        "make_judged_items",
        "sample_items",
    ],
    "groups": [
        "CrossFitKFold",
        "DirectEstimator",
        "EmpiricalBayes",
        "FayHerriot",
        "IntervalPipeline",
        "JamesStein",
        "MixedModel",
        "StructuredRegression",
        "SyntheticRegression",
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
        "MonteCarloPPI",
        "PPIMean",
        "RoganGladen",
        "StratifiedPPI",
        "judge_agreement",
        "position_bias",
    ],
    "readers": [
        "read_items",
    ],
    "summaries": [
        "betting_estimate",
        "cluster_items",
        "embed_groups",
        "item_correlation",
        "summarize_items",
    ],
    "tasks": [
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
