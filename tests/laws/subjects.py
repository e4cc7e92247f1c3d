"""Every public estimator and function as one function of a table: its results by name."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from laws import tables
from laws.tables import NAMES
from sklearn.base import clone
from sklearn.linear_model import Ridge

import skbench as sk

BY = ["model", "topic"]
BOOTSTRAP = sk.TaskBootstrap(60)


@dataclass(frozen=True)
class Case:
    """All that is given beside the table."""

    seed: int = 0
    n_jobs: int | None = None
    shift: float = 0.0
    scale: float = 1.0
    names: dict | None = None

    def name(self, name):
        """What a model of the table is called in this case."""
        return (self.names or {}).get(name, name)

    @property
    def bounds(self):
        return (self.shift, self.shift + self.scale)


@dataclass(frozen=True)
class Subject:
    """A function of a table and a case; its numbers stand in a frame whose index are names."""

    table: Callable
    run: Callable
    has_unit: bool = False
    slow: bool = False


def column(t, name):
    return [str(value) for value in t[name]]


def seeded(estimator, c, bounded=False):
    """The estimator with the seed, the jobs and the bounds of the case."""
    given = {"random_state": c.seed, "n_jobs": c.n_jobs} | ({"bounds": c.bounds} if bounded else {})
    names = {name: name.split("__")[-1] for name in estimator.get_params()}
    return clone(estimator).set_params(
        **{k: given[end] for k, end in names.items() if end in given}
    )


def named(estimate, *names):
    """Numbers of an estimate by names of its rows."""
    e = estimate
    columns = {"value": e.value, "low": e.low, "high": e.high, "standard_error": e.standard_error}
    return pd.DataFrame(columns, index=pd.MultiIndex.from_arrays(names) if names else e.labels)


def both_ways(frame, keep=()):
    """Differences of pairs in both directions, so that it does not matter which was named first."""
    frame = frame.rename(columns={"value": "difference"})
    rest = list(range(2, frame.index.nlevels))
    turned = frame.assign(difference=-frame["difference"], low=-frame["high"], high=-frame["low"])
    turned.index = turned.index.reorder_levels([1, 0, *rest])
    names = {"low": "difference_low", "high": "difference_high"}
    kept = ["difference", "low", "high", "standard_error", *keep]
    return pd.concat([frame[kept], turned[kept]]).rename(columns=names)


def sampling(t, kind):
    models = sorted(set(column(t, "model")))
    alike = pd.DataFrame(0.4 + 0.6 * np.eye(len(models)), models, models)
    return sk.Sampling(kind, items_shared=True, item_correlation=alike)


def of_groups(estimator, kind="binomial", bounded=False, **options):
    """An estimator of rows (model, topic), fitted to all columns that are not numbers beside X."""

    def run(t, c):
        X = t[[name for name in t.columns if name not in ("y", "sigma2", "n")]]
        est = seeded(estimator, c, bounded)
        est.fit(X, t["y"], t["sigma2"], t["n"], t["topic"], sampling(t, kind))
        return named(est.estimate(), column(t, "model"), column(t, "topic"))

    table = tables.groups({"binomial": "binary"}.get(kind, "bounded" if bounded else kind))
    return Subject(table, run, kind != "binomial", **options)


def of_answers(function, kind="binary", **options):
    return Subject(tables.answers(kind), function, kind != "binary", **options)


def of_judge(estimator, kind="binary", bounded=False):
    def run(t, c):
        est = seeded(estimator, c, bounded).fit(t[["judge"]], t["human"])
        return named(est.estimate(), ["all"])

    return Subject(tables.judged(kind), run, kind != "binary")


def of_tasks(function, has_unit=False):
    return Subject(tables.tasks, function, has_unit)


def fitted_tasks(t, c, estimator=BOOTSTRAP):
    X = t[[name for name in t.columns if name in ("model", "task", "category")]]
    return seeded(estimator, c).fit(X, t["y"], n=t["n"])


def rows_where(t, mask):
    return t.filter(mask) if hasattr(t, "filter") and not hasattr(t, "iloc") else t[mask]


EB = sk.EmpiricalBayes(Ridge(), cv=2)
CANDIDATES = {"direct": sk.DirectEstimator(), "james-stein": sk.JamesStein()}
SPLITS = {"by": BY, "n_splits": 2, "features": ["x"]}


def compared(t, c, **options):
    return both_ways(sk.compare_models(t, adjust="none", **options).to_frame(), ["p_value"])


def trending(t, c, **options):
    order = [c.name(f"model{i}") for i in range(20) if c.name(f"model{i}") in set(t["model"])]
    found = sk.trend(t, order, **options).to_frame().rename(columns={"value": "difference"})
    return found.rename(columns={"low": "difference_low", "high": "difference_high"})


def gated(t, c, **options):
    g = sk.gate(t, c.name("model0"), c.name("model1"), 0.05 * c.scale, **options).to_frame()
    g = g.rename(columns={"low": "difference_low", "high": "difference_high"})
    return g[["difference", "difference_low", "difference_high", "standard_error", "verdict"]]


def ranked(t, c, **options):
    board = sk.leaderboard(t, **options).to_frame()
    return board.drop(columns="n").rename(columns={"estimate": "value"})


def past(t, c):
    return sk.ItemBank(random_state=c.seed).fit(rows_where(t, t["new"] == False))  # noqa: E712


def easiness(bank):
    return pd.DataFrame({"easiness": bank.easiness_}, pd.MultiIndex.from_frame(bank.items_))


def unit_level(t, c):
    new = rows_where(t, t["new"] == True)  # noqa: E712
    model = sk.UnitLevelModel(past(t, c), random_state=c.seed)
    return model.fit(new[["model", "topic", "item"]], new["score"]).estimate()


def in_turn(t, c):
    race = sk.SequentialComparison(margin=0.05 * c.scale, bounds=c.bounds, max_items=100)
    r = race.update(t["score_a"], t["score_b"], column(t, "item"))
    ends = {"difference": r.value, "difference_low": r.low, "difference_high": r.high}
    return pd.DataFrame(ends | {"chance": r.chance, "verdict": r.verdict}, index=["all"])


def mean_in_turn(t, c):
    mean = sk.SequentialMean(c.shift + 0.5 * c.scale, bounds=c.bounds, max_items=100)
    r = mean.update(t["score_a"], column(t, "item"))
    ends = {"value": r.value, "low": r.low, "high": r.high, "chance": r.chance}
    return pd.DataFrame(ends | {"verdict": r.verdict}, index=["all"])


def judged_by_two(t, c):
    card = sk.judge_agreement(t, judges=["judge", "judge2"], random_state=c.seed).to_frame()
    return card.select_dtypes("number")


def judged_again(t, c):
    both = {"human": None, "judges": "judge", "cluster": "cluster", "random_state": c.seed}
    changes = sk.judge_agreement(t, previous="judge2", **both).changes
    noise = sk.judge_agreement(t, repeats="judge2", **both).noise
    return pd.concat([changes, noise.stack()]).astype(float).to_frame("value")


def of_means(t, c):
    from skbench.ppi import Mean

    parts = {"judged": Mean("judge", "unlabeled"), "missed": Mean(lambda t: t["y"] - t["judge"])}
    chain = sk.MonteCarloPPI(
        parts, lambda judged, missed: judged + missed, n_draws=200, random_state=c.seed
    )
    return named(chain.fit(t[["judge"]], t["human"]).estimate(), ["all"])


def grouped(t, c):
    g = sk.GroupedPPI(random_state=c.seed).fit(t[["judge"]], t["human"], t["group"])
    return named(g.estimate())


def four_runs(t):
    return t[[name for name in sorted(t.columns) if name.startswith("run")]].to_numpy()


def rank_score(t, c):
    X = t[["model", "task", "category", "dataset", "language"]]
    sets = sk.MeanRankScore().fit(X, four_runs(t)).rank_sets()
    return sets.rename(columns={"low": "rank_low", "high": "rank_high"})


def of_shares(t, c):
    table = t[["model", "task", "category", "tp", "fp", "fn", "tn"]]
    return named(sk.ConfusionPosterior(n_draws=60, random_state=c.seed).fit(table).estimate())


def wide(t):
    table = pd.DataFrame({name: list(t[name]) for name in ("model", "task", "y")})
    return table.astype({"model": str, "task": str}).pivot(
        index="model", columns="task", values="y"
    )


def kemeny(t, c):
    k = sk.kemeny_order(wide(t))
    return pd.DataFrame({"cost": float(k.cost)}, index=["all"])


def rank_sets(t, c):
    scores = wide(t)
    sets = sk.rank_confidence_sets(scores.mean(axis=1), scores.std(axis=1) / 3).to_frame()
    return sets.rename(columns={"low": "rank_low", "high": "rank_high", "estimate": "value"})


def summary(t, c, **options):
    g = sk.summarize_items(t, BY, features=["x"], **options)
    return g.to_frame(features=True).select_dtypes("number")


def metrics(t, c):
    known = t["human"] == t["human"]
    known = t["human"].is_not_nan() if hasattr(t, "write_csv") else t["human"].notna()
    t = rows_where(t, known)
    return sk.group_metrics(t["human"], t["judge"], t[["group"]], "f1").to_frame()


def clustered(t, c):
    options = {"n_clusters": [2, 3], "min_items": 2, "n_components": 2, "random_state": c.seed}
    labels = sk.cluster_items(t, **options).labels
    return pd.DataFrame({"cluster": [float(name[-2:]) for name in labels]}, column(t, "item"))


def drawn(t, c):
    rows = sk.sample_items(t, 2, random_state=c.seed)
    return pd.DataFrame(
        {"kept": 1.0}, index=pd.MultiIndex.from_arrays([rows["model"], rows["item"]])
    )


def picked(t, c):
    rows = sk.choose_items(past(t, c), 10, random_state=c.seed)
    return rows.set_index(["topic", "item"])


def audited(t, c):
    found = sk.item_audit(t).to_frame().rename(columns={"difficulty": "value"})
    return found[["n_models", "value", "discrimination", "p_value"]]


def folds(splitter, key, y):
    """Which fold each row is tested in, by repeat."""

    def run(t, c):
        beside = {"sigma2", "n", y, *NAMES["model"], *NAMES["topic"], *NAMES["item"]}
        X, groups = t[[name for name in t.columns if name not in beside]], column(t, key[-1])
        cv = splitter(random_state=c.seed)
        of_row = {row: [] for row in range(len(X))}
        for fold, (_, test) in enumerate(cv.split(X, t[y], groups)):
            for row in test:
                of_row[row].append(fold)
        index = pd.MultiIndex.from_arrays([column(t, name) for name in key])
        return pd.DataFrame(list(of_row.values()), index).astype(float)

    return run


def risk_score(t, c):
    X = t[[name for name in t.columns if name not in ("y", "sigma2", "n")]]
    fitted = sk.FayHerriot().fit(
        X, t["y"], t["sigma2"], groups=t["topic"], sampling=sampling(t, "continuous")
    )
    score = sk.unbiased_risk_score(fitted, X, t["y"], t["sigma2"])
    return pd.DataFrame({"risk": score}, index=["all"])


SUBJECTS = {
    # Estimators of groups
    "DirectEstimator": of_groups(sk.DirectEstimator()),
    "DirectEstimator: t": of_groups(sk.DirectEstimator(), "continuous"),
    "DirectEstimator: bounded": of_groups(
        sk.DirectEstimator("bounded"), "continuous", bounded=True
    ),
    "SyntheticRegression": of_groups(sk.SyntheticRegression(Ridge())),
    "SyntheticRegression: continuous": of_groups(sk.SyntheticRegression(Ridge()), "continuous"),
    "StructuredRegression": of_groups(sk.StructuredRegression(5, 2), "continuous", slow=True),
    "JamesStein": of_groups(sk.JamesStein(), "continuous"),
    "FayHerriot": of_groups(sk.FayHerriot(), "continuous"),
    "EmpiricalBayes": of_groups(EB),
    "EmpiricalBayes: continuous": of_groups(EB, "continuous"),
    "MixedModel": of_groups(sk.MixedModel()),
    "MixedModel: gaussian": of_groups(sk.MixedModel(), "continuous"),
    "IntervalPipeline": of_groups(sk.IntervalPipeline([("same", "passthrough"), ("eb", EB)])),
    "unbiased_risk_score": Subject(tables.groups("continuous"), risk_score, True),
    "CrossFitKFold": Subject(tables.groups("continuous"), folds(sk.CrossFitKFold, BY, "y")),
    "LabeledKFold": Subject(tables.judged("continuous"), folds(sk.LabeledKFold, ["item"], "human")),
    # Functions of rows of items
    "summarize_items": of_answers(summary),
    "summarize_items: clusters": of_answers(lambda t, c: summary(t, c, cluster="cluster")),
    "summarize_items: continuous": of_answers(summary, "continuous"),
    "betting_estimate": of_answers(
        lambda t, c: named(sk.betting_estimate(t, "model", bounds=c.bounds, random_state=c.seed)),
        "bounded",
        slow=True,
    ),
    "item_correlation": of_answers(
        lambda t, c: sk.item_correlation(t).rename_axis(columns="other").stack().to_frame("r")
    ),
    "compare_models": of_answers(compared),
    "compare_models: topics": of_answers(lambda t, c: compared(t, c, by="topic"), "continuous"),
    "compare_models: clusters": of_answers(
        lambda t, c: compared(t, c, cluster="cluster", bounds=c.bounds), "bounded"
    ),
    "trend": of_answers(trending),
    "trend: clusters": of_answers(
        lambda t, c: trending(t, c, cluster="cluster", bounds=c.bounds), "bounded"
    ),
    "gate": of_answers(gated),
    "gate: continuous": of_answers(gated, "continuous"),
    "leaderboard": of_answers(ranked),
    "leaderboard: topics": of_answers(lambda t, c: ranked(t, c, topics="topic"), "continuous"),
    "pass_at_k": Subject(tables.runs, lambda t, c: sk.pass_at_k(t, 2).to_frame()),
    "pass_at_k: topics": Subject(
        tables.runs, lambda t, c: sk.pass_at_k(t, 2, True, "topic").to_frame()
    ),
    "tradeoff": Subject(
        tables.answers_with_costs,
        lambda t, c: sk.tradeoff(t).to_frame().drop(columns="dominated_by").astype(float),
    ),
    "sample_items": of_answers(drawn),
    "cluster_items": Subject(tables.one_model, clustered),
    "embed_groups": Subject(
        tables.one_model,
        lambda t, c: sk.embed_groups(t, "topic", n_components=2, random_state=c.seed),
    ),
    # A bank
    "ItemBank": Subject(tables.bank, lambda t, c: easiness(past(t, c))),
    "UnitLevelModel": Subject(tables.bank, lambda t, c: named(unit_level(t, c))),
    "choose_items": Subject(tables.bank, picked),
    "item_audit": of_answers(audited),
    "item_audit: continuous": of_answers(audited, "continuous"),
    "items_needed": Subject(
        lambda size: tables.bank(size._replace(n_items=size.n_items + 5)),
        lambda t, c: sk.items_needed(past(t, c), 0.4, random_state=c.seed).half_widths,
        slow=True,
    ),
    # Estimators that are judged
    "compare_estimators": of_answers(
        lambda t, c: sk.compare_estimators(
            CANDIDATES, t, **SPLITS, random_state=c.seed, n_jobs=c.n_jobs
        ).to_frame(),
        slow=True,
    ),
    "estimated_risk": of_answers(
        lambda t, c: sk.estimated_risk(
            CANDIDATES, t, **SPLITS, random_state=c.seed, n_jobs=c.n_jobs
        ).to_frame(),
        slow=True,
    ),
    "leave_out_covariates": of_answers(
        lambda t, c: sk.leave_out_covariates(
            sk.FayHerriot(), t, **SPLITS, random_state=c.seed, n_jobs=c.n_jobs
        ).to_frame(),
        slow=True,
    ),
    "RepeatedSamplingStudy": of_answers(
        lambda t, c: (
            sk.RepeatedSamplingStudy(
                CANDIDATES,
                n_items=2,
                n_repeats=2,
                replace=True,
                random_state=c.seed,
                n_jobs=c.n_jobs,
            )
            .run(t)
            .summary()
        ),
        slow=True,
    ),
    # Judges
    "ClassicalMean": of_judge(sk.ClassicalMean()),
    "PPIMean": of_judge(sk.PPIMean()),
    "PPIMean: continuous": of_judge(sk.PPIMean(), "continuous"),
    "StratifiedPPI": of_judge(sk.StratifiedPPI(n_strata=2), "continuous"),
    "ChainRulePPI": of_judge(sk.ChainRulePPI()),
    "RoganGladen": of_judge(sk.RoganGladen()),
    "GroupedPPI": Subject(tables.judged("continuous"), grouped, True),
    "MonteCarloPPI": Subject(tables.judged("continuous"), of_means, True),
    "judge_agreement": Subject(tables.judged(), judged_by_two),
    "judge_agreement: versions": Subject(tables.judged(), judged_again),
    "group_metrics": Subject(tables.judged(), metrics),
    # Tasks, and functions of draws
    "TaskBootstrap": of_tasks(lambda t, c: named(fitted_tasks(t, c).estimate())),
    "TaskBootstrap: items": of_answers(
        lambda t, c: named(
            sk.TaskBootstrap(60, task="topic", category=None, random_state=c.seed)
            .fit_items(t)
            .estimate()
        )
    ),
    "HierarchicalBetaBinomial": of_tasks(
        lambda t, c: named(fitted_tasks(t, c, sk.HierarchicalBetaBinomial(n_draws=60)).estimate())
    ),
    "WeightSimplex": of_tasks(
        lambda t, c: named(fitted_tasks(t, c, sk.WeightSimplex(resolution=10)).estimate())
    ),
    "ConfusionPosterior": of_tasks(of_shares),
    "MeanRankScore": of_tasks(rank_score, True),
    "RepeatedRuns": of_tasks(
        lambda t, c: named(sk.RepeatedRuns().fit(t[["model", "task"]], four_runs(t)).estimate()),
        True,
    ),
    "aggregate": of_tasks(
        lambda t, c: named(sk.aggregate(fitted_tasks(t, c), by="category").interval())
    ),
    "normalize_scores": of_tasks(
        lambda t, c: named(
            sk.aggregate(sk.normalize_scores(fitted_tasks(t, c), "bootstrap")).interval()
        )
    ),
    "differences": of_tasks(
        lambda t, c: both_ways(sk.differences(sk.aggregate(fitted_tasks(t, c))).to_frame())
    ),
    "rank_models": of_tasks(lambda t, c: named(sk.rank_models(fitted_tasks(t, c)).interval())),
    "rank_probabilities": of_tasks(
        lambda t, c: sk.rank_probabilities(sk.rank_models(fitted_tasks(t, c))).rename(columns=str)
    ),
    "extremes": of_tasks(
        lambda t, c: sk.extremes(fitted_tasks(t, c).draws_, by="model").to_frame()
    ),
    "kemeny_order": of_tasks(kemeny, True),
    "rank_confidence_sets": of_tasks(rank_sets, True),
    # Votes, and one item after the other
    "BradleyTerry": Subject(
        tables.votes,
        lambda t, c: named(
            sk.BradleyTerry().fit(t[["model_a", "model_b"]], t["winner"]).estimate()
        ),
    ),
    "position_bias": Subject(
        tables.votes,
        lambda t, c: pd.DataFrame(
            sk.position_bias(t, "side", "shown", item="item"), index=["all"]
        ).astype(float),
    ),
    "SequentialComparison": Subject(tables.paired, in_turn, True),
    "SequentialMean": Subject(tables.paired, mean_in_turn, True),
}
