"""Public names; type checkers read this file, and `__init__.py` loads the names on first use."""

from skbench import (
    assessment as assessment,
    bank as bank,
    comparison as comparison,
    containers as containers,
    datasets as datasets,
    groups as groups,
    integrations as integrations,
    plot as plot,
    ppi as ppi,
    readers as readers,
    stats as stats,
    summaries as summaries,
    tasks as tasks,
)
from skbench.assessment import (
    LabeledKFold as LabeledKFold,
    RepeatedSamplingStudy as RepeatedSamplingStudy,
    compare_estimators as compare_estimators,
    estimated_risk as estimated_risk,
    leave_out_covariates as leave_out_covariates,
    unbiased_risk_score as unbiased_risk_score,
)
from skbench.bank import (
    ItemBank as ItemBank,
    UnitLevelModel as UnitLevelModel,
    choose_items as choose_items,
    item_audit as item_audit,
    items_needed as items_needed,
)
from skbench.comparison import (
    BradleyTerry as BradleyTerry,
    SequentialComparison as SequentialComparison,
    SequentialMean as SequentialMean,
    compare_models as compare_models,
    extremes as extremes,
    gate as gate,
    kemeny_order as kemeny_order,
    leaderboard as leaderboard,
    minimum_detectable_effect as minimum_detectable_effect,
    pass_at_k as pass_at_k,
    rank_confidence_sets as rank_confidence_sets,
    required_items as required_items,
    tradeoff as tradeoff,
    trend as trend,
)
from skbench.containers import (
    Draws as Draws,
    Estimate as Estimate,
    GroupSummary as GroupSummary,
    Sampling as Sampling,
)
from skbench.datasets import (
    load_digits_c as load_digits_c,
    make_items as make_items,
    make_judged_items as make_judged_items,
    sample_items as sample_items,
)
from skbench.groups import (
    CrossFitKFold as CrossFitKFold,
    DirectEstimator as DirectEstimator,
    EmpiricalBayes as EmpiricalBayes,
    FayHerriot as FayHerriot,
    IntervalPipeline as IntervalPipeline,
    JamesStein as JamesStein,
    MixedModel as MixedModel,
    StructuredRegression as StructuredRegression,
    SyntheticRegression as SyntheticRegression,
)
from skbench.plot import (
    CoverageDisplay as CoverageDisplay,
    DifferenceDisplay as DifferenceDisplay,
    ForestDisplay as ForestDisplay,
    RankDisplay as RankDisplay,
    RiskDisplay as RiskDisplay,
    SamplingDisplay as SamplingDisplay,
    ScatterDisplay as ScatterDisplay,
    ShrinkageDisplay as ShrinkageDisplay,
    SimplexDisplay as SimplexDisplay,
    TrendDisplay as TrendDisplay,
)
from skbench.ppi import (
    ChainRulePPI as ChainRulePPI,
    ClassicalMean as ClassicalMean,
    GroupedPPI as GroupedPPI,
    MonteCarloPPI as MonteCarloPPI,
    PPIMean as PPIMean,
    RoganGladen as RoganGladen,
    StratifiedPPI as StratifiedPPI,
    judge_agreement as judge_agreement,
    position_bias as position_bias,
)
from skbench.readers import (
    read_items as read_items,
)
from skbench.summaries import (
    betting_estimate as betting_estimate,
    cluster_items as cluster_items,
    embed_groups as embed_groups,
    group_metrics as group_metrics,
    item_correlation as item_correlation,
    summarize_items as summarize_items,
)
from skbench.tasks import (
    ConfusionPosterior as ConfusionPosterior,
    HierarchicalBetaBinomial as HierarchicalBetaBinomial,
    MeanRankScore as MeanRankScore,
    RepeatedRuns as RepeatedRuns,
    TaskBootstrap as TaskBootstrap,
    WeightSimplex as WeightSimplex,
    aggregate as aggregate,
    differences as differences,
    normalize_scores as normalize_scores,
    rank_models as rank_models,
    rank_probabilities as rank_probabilities,
)

__version__: str
