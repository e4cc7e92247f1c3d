"""Check whether a code change alters the numbers.

Named cases cover the estimators of groups, prediction-powered inference, item banks, comparisons
and tasks, on public data and on simulated items with fixed seeds. Run the script with the package
before and after the change. It prints the largest absolute change of each case in the units of its
numbers. The exit code is 1 if any change is above the tolerance.

    git worktree add /tmp/before main && cd /tmp/before
    PYTHONPATH=$PWD python benchmarks/same_numbers.py /tmp/before.pkl
    PYTHONPATH=... python benchmarks/same_numbers.py /tmp/after.pkl --against /tmp/before.pkl

A new nan, an array of another shape and a case in only one of the two files count as infinite
changes. A failing case is stored as the text of its error. Texts such as verdicts are compared by
checksum. The script takes half a minute of one core. The data folder is $SKBENCH_DATA or
../shared/data.
"""

import argparse
import inspect
import sys
import time
import warnings
from functools import cache, partial
from zlib import crc32

import numpy as np
import pandas as pd
from reproduced import data_folder
from threadpoolctl import threadpool_limits

import skbench
from skbench import (
    ChainRulePPI,
    ClassicalMean,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GroupedPPI,
    HierarchicalBetaBinomial,
    ItemBank,
    JamesStein,
    MeanRankScore,
    MixedModel,
    PPIMean,
    RepeatedRuns,
    RoganGladen,
    SequentialComparison,
    SequentialMean,
    StratifiedPPI,
    StructuredRegression,
    SyntheticRegression,
    TaskBootstrap,
    UnitLevelModel,
    WeightSimplex,
    aggregate,
    choose_items,
    compare_models,
    gate,
    leaderboard,
    make_items,
    make_judged_items,
    pass_at_k,
    rank_confidence_sets,
    rank_models,
    sample_items,
    summarize_items,
)

N_DRAWS = 2000
LEVELS = (0.95, 0.8)
RANKINGS = ("mean", "geometric mean", "average rank", "noisy average rank", "binned average rank")


# Results of cases


def of_estimate(estimate):
    """Return the numbers of an `Estimate`."""
    names = ("value", "low", "high", "standard_error")
    return {name: getattr(estimate, name) for name in names}


def at_levels(fitted):
    """Return the estimates of a fitted object with intervals at several levels."""
    return {
        f"{level:g}, {name}": numbers
        for level in LEVELS
        for name, numbers in of_estimate(fitted.estimate(confidence_level=level)).items()
    }


def of_frame(frame):
    """Return the columns of a table; texts become checksums."""
    return {str(name): frame[name] for name in frame}


def as_floats(values):
    """Return any result as a flat array of numbers."""
    array = np.asarray(values).ravel()
    if array.dtype.kind in "biuf":
        return array.astype(float)
    return np.array([_as_float(value) for value in array], dtype=float)


def _as_float(value):
    return float(crc32(value.encode())) if isinstance(value, str) else float(value)


# Groups


def plain_empirical_bayes(*arguments, **options):
    """Return empirical Bayes without the search for outlying groups, if it has one."""
    if "unlike_share" in inspect.signature(EmpiricalBayes).parameters:
        options["unlike_share"] = 0
    return EmpiricalBayes(*arguments, random_state=0, **options)


def direct_estimators():
    """Return factories; each case creates its own, so a failure does not stop the others."""
    every = ("auto", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald", "t")
    return {f"direct, {kind}": partial(DirectEstimator, kind) for kind in (*every, "normal")}


def empirical_bayes_estimators():
    ridge = partial(partial, plain_empirical_bayes, "ridge")
    kinds = ("robust", "length-optimal", "parametric", "fab")
    variances = ("fplib", "moments", "none")
    return {
        **{f"EB ridge, {kind}": ridge(interval=kind) for kind in kinds},
        **{f"EB ridge, {name} variance": ridge(prior_variance=name) for name in variances},
        "EB ridge, five folds": ridge(cv=5, kurtosis=3),
    }


def boosted_estimators():
    return {
        **{
            f"EB default, {kind}": partial(plain_empirical_bayes, interval=kind)
            for kind in ("robust", "parametric", "fab")
        },
        "synthetic default": partial(SyntheticRegression, random_state=0),
    }


def other_group_estimators():
    methods = ("reml", "ml", "adjusted-ml", "fay-herriot", "paule-mandel", "prasad-rao", "moments")
    return {
        **{f"Fay-Herriot, {method}": partial(FayHerriot, method) for method in methods},
        "James-Stein": JamesStein,
        "James-Stein, to one half": partial(JamesStein, 0.5),
        "synthetic ridge": partial(SyntheticRegression, "ridge", random_state=0),
        "synthetic ridge, by precision": partial(
            SyntheticRegression, "ridge", weight_by_precision=True, random_state=0
        ),
        "structured": partial(StructuredRegression, random_state=0),
        "structured, several alphas": partial(StructuredRegression, [1, 10, 100], random_state=0),
    }


@cache
def binary_groups():
    data = make_items(5, 24, np.arange(8, 32), random_state=0)
    return summarize_items(data.items, ["model", "topic"], features=data.features)


@cache
def clustered_groups():
    data = make_items(4, 20, 24, score="continuous", cluster_size=4, random_state=1)
    options = {"cluster": "cluster", "features": data.features}
    return summarize_items(data.items, ["model", "topic"], **options)


@cache
def mmlu_pro_groups():
    """Load ten items per subject with their mean embeddings as features."""
    items, features = mmlu_pro()
    few = sample_items(items, 10, random_state=0)
    return summarize_items(few, ["model", "topic"], features=features)


def milk():
    """Load milk expenditure of 43 areas: known variances, no counts."""
    rows = pd.read_csv(data_folder() / "sae_milk.csv")
    X = pd.get_dummies(rows["MajorArea"], dtype=float).iloc[:, 1:]
    return {"X": X.add_prefix("area "), "y": rows["yi"], "sigma2": rows["SD"] ** 2}


def group_summary(summary):
    g = summary()
    return {"z": g.z, "sigma2": g.sigma2, "n": g.n, "independent": g.n_independent}


def of_groups(make, data):
    """Return estimates and intervals, and predictions with and without own scores."""
    estimator = make()
    given = data() if data is milk else data().fit_args
    fitted = estimator.fit(**given)
    own = {name: given[name] for name in ("sigma2", "n") if given.get(name) is not None}
    found = at_levels(fitted)
    found["predicted with own"] = fitted.predict(given["X"], z=given["y"], **own)
    if not isinstance(estimator, DirectEstimator):
        found["predicted"] = fitted.predict(given["X"])
    return found


def one_model():
    """Return the topics of a single model."""
    data = make_items(1, 40, 12, random_state=2)
    return summarize_items(data.items, "topic", features=data.features)


def mixed_model(data):
    """Return estimates, predictions, draws and outlier probabilities."""
    found = of_groups(MixedModel, data)
    fitted = MixedModel().fit(**data().fit_args)
    for name in ("outlier_probability_", "topic_outlier_probability_", "squared_error_"):
        found[name] = getattr(fitted, name)
    return found | {"draws": fitted.sample(200, random_state=0).values}


def new_groups(data):
    """Predict with one row in five and the first topic held out."""
    given = data().fit_args
    new = (np.arange(len(given["y"])) % 5 == 0) | (
        given["X"]["topic"] == given["X"]["topic"].iloc[0]
    )
    rows = {name: given[name] for name in ("X", "y", "sigma2", "n", "groups")}
    fitted = MixedModel().fit(**{k: v[~new] for k, v in rows.items()}, sampling=given["sampling"])
    X, own = rows["X"][new], {"sigma2": rows["sigma2"][new], "n": rows["n"][new]}
    found = {}
    for name, scores in {"with own": {"z": rows["y"][new], **own}, "without": {}}.items():
        found[name] = fitted.predict(X, **scores)
        found[f"intervals {name}"] = fitted.predict_interval(X, **scores)
    return found


def mixed_model_cases():
    return {
        "mixed model, binary": partial(mixed_model, binary_groups),
        "mixed model, real-valued": partial(mixed_model, clustered_groups),
        "mixed model, one model": partial(mixed_model, one_model),
        "mixed model, new groups": partial(new_groups, binary_groups),
    }


def group_cases():
    summaries = {
        "binary": binary_groups,
        "clustered": clustered_groups,
        "MMLU-Pro": mmlu_pro_groups,
    }
    linear = empirical_bayes_estimators() | other_group_estimators()
    used = {
        "binary": direct_estimators() | linear | boosted_estimators(),
        "clustered": {"direct, auto": DirectEstimator} | linear,
        "MMLU-Pro": direct_estimators() | linear | boosted_estimators(),
        "milk": {name: make for name, make in linear.items() if name.startswith("Fay")},
    }
    cases = {f"{name}: summary": partial(group_summary, s) for name, s in summaries.items()}
    for name, data in {**summaries, "milk": milk}.items():
        cases |= {
            f"{name}: {which}": partial(of_groups, make, data) for which, make in used[name].items()
        }
    return cases | mixed_model_cases()


# Prediction-powered inference


def mean_estimators():
    return {
        "classical": ClassicalMean,
        "classical, t": partial(ClassicalMean, "t"),
        "PPI": PPIMean,
        "PPI, untuned": partial(PPIMean, power_tuning=False),
        "PPI, pooled": partial(PPIMean, "pooled"),
        "PPI, z": partial(PPIMean, interval="z"),
        "PPI, finite population": partial(PPIMean, population="rows"),
        "stratified": StratifiedPPI,
        "stratified, tree": partial(StratifiedPPI, "tree", power_tuning=True),
    }


def verdict_estimators():
    return {
        "chain rule": ChainRulePPI,
        "chain rule, Jeffreys": partial(ChainRulePPI, prior="jeffreys"),
        "chain rule, draws": partial(ChainRulePPI, "draws", N_DRAWS, random_state=0),
        "Rogan-Gladen": RoganGladen,
    }


@cache
def judged(**settings):
    return make_judged_items(12, 200, 30, random_state=0, **settings)


def judged_rows(**settings):
    items = judged(**settings).items
    return items["autorater"], items["human"], items["group"]


def open_qa(autorater):
    """Load an autorater's verdicts on five systems with about 300 human labels each."""
    items = pd.read_csv(data_folder() / "openqa_nq.csv.gz")
    items = items[items[autorater].notna()]
    return items[autorater], items["human"], items["system"]


def few_labels(autorater):
    """Return every third human label of the open questions; other rows are unlabeled."""
    verdict, human, system = open_qa(autorater)
    return verdict, human.where(np.arange(len(human)) % 3 == 0), system


def of_labels(make, rows):
    """Fit all rows together, and by group."""
    X, y, groups = rows()
    fitted = make().fit(X, y)
    grouped = GroupedPPI(make(), random_state=0).fit(X, y, groups)
    by_group = {f"by group, {name}": numbers for name, numbers in at_levels(grouped).items()}
    return {**at_levels(fitted), "predicted": fitted.predict(X[:500]), **by_group}


def of_grouped(make=PPIMean, features=False, power="shared", **settings):
    """Return estimates of groups, their summary, and shrinkage estimates from it."""
    table = judged(**settings).features if features else None
    X, y, groups = judged_rows(**settings)
    fitted = GroupedPPI(make(), power=power, features=table, random_state=0)
    fitted.fit(X.to_frame(), y, groups)
    summary = fitted.summary_
    shrunk = plain_empirical_bayes("ridge").fit(**summary.fit_args)
    return {
        **at_levels(fitted),
        "z": summary.z,
        "sigma2": summary.sigma2,
        **{f"feature {name}": summary.X[name] for name in summary.X},
        **{f"shrunk, {name}": numbers for name, numbers in at_levels(shrunk).items()},
    }


def ppi_cases():
    continuous = partial(judged_rows, score="continuous")
    rows = {
        "judged": (judged_rows, mean_estimators() | verdict_estimators()),
        "judged, scores": (continuous, mean_estimators()),
        "judged, abstaining": (
            partial(judged_rows, abstention=0.1),
            {"chain rule": ChainRulePPI, "Rogan-Gladen": partial(RoganGladen, "y")},
        ),
        "open QA, exact match": (partial(open_qa, "em"), mean_estimators() | verdict_estimators()),
        "open QA, F1": (partial(open_qa, "f1"), mean_estimators()),
        "open QA, GPT-4": (
            partial(few_labels, "gpt4_eval"),
            {"chain rule": ChainRulePPI, "Rogan-Gladen": partial(RoganGladen, "y")},
        ),
    }
    grouped = {
        "default": {},
        "features": {"features": True},
        "scores": {"score": "continuous"},
        "per group": {"power": "per group"},
        "finite population": {"make": partial(PPIMean, population="rows")},
    }
    return {
        **{
            f"{data}: {name}": partial(of_labels, make, labels)
            for data, (labels, estimators) in rows.items()
            for name, make in estimators.items()
        },
        **{f"grouped PPI: {name}": partial(of_grouped, **o) for name, o in grouped.items()},
    }


# Item banks


@cache
def mmlu_pro():
    """Load answers of ten models in long form, and mean embeddings of the subjects."""
    wide = pd.read_csv(data_folder() / "mmlu_pro_dev.csv.gz")
    wide = wide.rename(columns={"src": "topic", "question_id": "item"})
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :]
    items = wide.melt(["topic", "category", "item"], models, "model", "score").dropna()
    embedding = [name for name in wide if name.startswith("lsa")]
    return items, wide.groupby("topic")[[*embedding, "question_chars", "n_options"]].mean()


@cache
def split_models(n_new=3, n_items=800):
    """Return earlier MMLU-Pro models on some items, and the last models as new."""
    wide = pd.read_csv(data_folder() / "mmlu_pro_dev_29_models.csv.gz")
    wide = wide.sample(n_items, random_state=0)
    wide = wide.rename(columns={"category": "topic", "question_id": "item"}).drop(columns="src")
    models = [name for name in wide if name not in ("topic", "item")]
    long = wide.melt(["topic", "item"], models, "model", "score").dropna()
    is_new = long["model"].isin(models[-n_new:])
    return long[~is_new], long[is_new]


@cache
def matrix_models():
    """Load a matrix without topics; the last two models are new."""
    wide = pd.read_csv(data_folder() / "item_matrix_mmlu.csv.gz")
    long = wide.melt("item", var_name="model", value_name="score")
    is_new = long["model"].isin(wide.columns[-2:])
    return long[~is_new], long[is_new]


@cache
def continuous_models():
    items = make_items(12, 6, 40, score="continuous", random_state=0).items
    is_new = items["model"].isin(sorted(items["model"].unique())[-2:])
    return items[~is_new], items[is_new]


@cache
def bank_of(models):
    return ItemBank(random_state=0).fit(models()[0])


def bank(models):
    """Return the parameters of a bank; components are identified up to their signs."""
    fitted, new = bank_of(models), models()[1]
    return {
        "easiness": fitted.easiness_,
        "ability": fitted.ability_,
        "components": np.abs(fitted.components_),
        "answers": fitted.n_answers_,
        "transformed": np.abs(fitted.transform(new)),
    }


def unit_level(models, n_items=60, **options):
    """Return estimates of new models on few items of the bank."""
    fitted, new = bank_of(models), models()[1]
    rows = fitted.items_.sample(n_items, random_state=0)
    asked = new[new["item"].isin(rows["item"])]
    model = UnitLevelModel(fitted, **options).fit(asked.drop(columns="score"), asked["score"])
    return {
        "predicted": model.predict(new.drop(columns="score")),
        "z": model.summary_.z,
        "sigma2": model.summary_.sigma2,
        "weight": list(model.bank_weight_.values()),
        **{f"model, {name}": v for name, v in of_estimate(model.estimate("model")).items()},
        **{f"cell, {name}": v for name, v in of_estimate(model.estimate()).items()},
    }


def chosen(models, n_items=60, **options):
    """Return chosen items, and the estimate of a new model on these items."""
    fitted, new = bank_of(models), models()[1]
    items = choose_items(fitted, n_items, random_state=0, **options)
    asked = new.merge(items[["item", "inclusion_probability"]], on="item")
    model = UnitLevelModel(fitted).fit(asked.drop(columns="score"), asked["score"])
    return {
        "items": items["item"],
        "chance": items["inclusion_probability"],
        **of_estimate(model.estimate("model")),
    }


def bank_cases():
    past = {"MMLU-Pro": split_models, "matrix": matrix_models, "continuous": continuous_models}
    ways = {
        "default": {},
        "equal chances": {"chances": "equal"},
        "easiness alone": {"topics": None},
    }
    return {
        **{f"bank, {name}": partial(bank, models) for name, models in past.items()},
        **{f"unit level, {name}": partial(unit_level, models) for name, models in past.items()},
        "unit level, not random": partial(unit_level, split_models, sampled="not random"),
        **{f"chosen, {way}": partial(chosen, split_models, **o) for way, o in ways.items()},
        "chosen, matrix": partial(chosen, matrix_models),
    }


# Comparisons


@cache
def programs():
    """Return pass rates of 37 models on samples of 92 problems."""
    rows = pd.read_csv(data_folder() / "livecodebench_execution.csv.gz")
    return rows.rename(columns={"sample_id": "item", "pass1": "score"})


@cache
def repeated_answers():
    """Simulate five answers of three models to 60 items in three topics."""
    rng = np.random.default_rng(0)
    grid = pd.MultiIndex.from_product(
        [["ada", "bob", "cyd"], range(60), range(5)], names=["model", "item", "run"]
    )
    rows = grid.to_frame(index=False)
    ease, ability = rng.normal(0, 1.5, 60), rows["model"].map({"ada": 0.8, "bob": 0.3, "cyd": 0})
    chance = 1 / (1 + np.exp(-ease[rows["item"]] - ability))
    return rows.assign(
        topic=rows["item"] % 3, repository=rows["item"] // 4, score=rng.binomial(1, chance)
    )


def pairs(rows, **options):
    found = compare_models(rows(), **options)
    more = ("omega2", "noise", "n_behind", "unpaired_standard_error", "verdict")
    return of_frame(found.to_frame()) | {name: getattr(found, name) for name in more}


def board(rows, **options):
    found = leaderboard(rows(), **options)
    return {
        **of_frame(found.to_frame()),
        "covariance": found.covariance,
        "better": found.rank_sets.better,
        "differences": found.comparison.to_frame(),
    }


@cache
def board_of_programs():
    return leaderboard(programs(), cluster="question_id")


def rank_sets(**options):
    """Return ranks of 37 models from their covariance, or from standard errors only."""
    found = board_of_programs()
    if options.pop("independent", False):
        sets = rank_confidence_sets(found.estimate, **options)
    else:
        value = found.estimate.value
        sets = rank_confidence_sets(value, covariance=found.covariance, **options)
    return {"low": sets.low, "high": sets.high, "better": sets.better}


def gated(rows, baseline, candidate, margin, use_bank=False, **options):
    given = {"bank": bank_of(split_models)} if use_bank else {}
    found = gate(rows(), baseline, candidate, margin, **given, **options)
    tables = {"topics": found.topics, "items": found.item_verdicts}
    return {
        **of_frame(found.to_frame()),
        **{name: table.to_numpy() for name, table in tables.items() if table is not None},
    }


def runs(k, **options):
    found = pass_at_k(repeated_answers(), k, **options)
    reliability = found.reliability()[["rate", "low", "high", "verdict"]]
    return of_estimate(found) | {f"item, {name}": reliability[name] for name in reliability}


def race(gap, weighted=False, **options):
    """Return all looks at two simulated models, 25 items at a time."""
    rng = np.random.default_rng(0)
    a, b = 1.0 * (rng.random(1000) < 0.7), 1.0 * (rng.random(1000) < 0.7 - gap)
    compared, scores = SequentialComparison(max_items=1000, **options), (a, b)
    if weighted:  # items drawn with unequal probabilities
        spread = np.abs(rng.normal(size=300))
        q = 0.5 / 300 + 0.5 * spread / spread.sum()
        drawn = np.random.default_rng(0).choice(300, size=1000, p=q)
        scores = [(a[drawn] - b[drawn]) / (300 * q[drawn])]
        compared = SequentialMean(target=0, bounds=(-2, 2), max_items=1000, **options)
    looks = pd.concat(
        compared.update(*(s[i : i + 25] for s in scores)).to_frame() for i in range(0, 1000, 25)
    )
    return of_frame(looks.replace({"verdict": {"above": "a", "below": "b"}}))


def rank_set_cases():
    marginal = {"kind": "marginal"}
    ways = {
        "Bonferroni": {},
        "Bonferroni, marginal": marginal,
        "Bonferroni, independent": {"independent": True},
        "Mogstad": {"method": "mogstad"},
        "Mogstad, single step": {"method": "mogstad", "stepdown": False},
        "Mogstad, marginal": {"method": "mogstad"} | marginal,
    }
    drawn = {"n_draws": 1000, "random_state": 0}
    return {f"rank sets, {name}": partial(rank_sets, **o, **drawn) for name, o in ways.items()}


def new_models():
    return split_models()[1]


def some_answers():
    """Return the new models on a random quarter of the items."""
    items = new_models()
    asked = items["item"].drop_duplicates().sample(frac=0.25, random_state=0)
    return items[items["item"].isin(asked)]


def first_subjects():
    items = mmlu_pro()[0]
    return items[items["topic"].isin(sorted(items["topic"].unique())[:10])]


def comparison_cases():
    in_clusters = {"cluster": "question_id"}
    among_items = {"cluster": "item"}
    two = ("gemma-7b", "mathstral-7B", 0.03)
    return {
        "pairs, MMLU-Pro": partial(pairs, first_subjects),
        "pairs, by topic": partial(pairs, first_subjects, by="topic", adjust="holm"),
        "pairs, clusters": partial(pairs, programs, **in_clusters, adjust="bonferroni"),
        "pairs, repeated": partial(pairs, repeated_answers, cluster="repository"),
        "leaderboard, MMLU-Pro": partial(board, first_subjects),
        "leaderboard, clusters": partial(board, programs, **in_clusters),
        "leaderboard, repeated": partial(board, repeated_answers, **among_items),
        **rank_set_cases(),
        "gate": partial(gated, repeated_answers, "ada", "bob", 0.05, **among_items),
        "gate, clusters": partial(gated, repeated_answers, "ada", "bob", 0.1, cluster="repository"),
        "gate, topics": partial(
            gated, repeated_answers, "cyd", "bob", 0.1, by="topic", **among_items
        ),
        "gate, margin": partial(
            gated, repeated_answers, "bob", "cyd", 0.1, fail="margin", **among_items
        ),
        "gate, MMLU-Pro": partial(gated, new_models, *two, by="topic"),
        "gate, bank": partial(gated, some_answers, *two, by="topic", use_bank=True),
        "pass@1": partial(runs, 1),
        "pass@3": partial(runs, 3, cluster="repository"),
        "pass^3 by topic": partial(runs, 3, all_of_them=True, by="topic"),
        "sequential": partial(race, 0.1),
        "sequential, equal": partial(race, 0.0, margin=0.1),
        "sequential, weighted": partial(race, 0.15, weighted=True),
    }


# Tasks


@cache
def vtab():
    """Load counts of 16 models on 19 tasks in three categories."""
    rows = pd.read_csv(data_folder() / "vtab_leaderboard.csv")
    rows = rows[rows["protocol"].astype(str) == "1000"]
    return rows[["model", "task", "category"]], rows["n_correct"] / rows["n_test"], rows["n_test"]


@cache
def vtab_bootstrap(kind="auto"):
    X, y, n = vtab()
    noise = {"sigma2": y * (1 - y) / n} if kind == "normal" else {"n": n}
    return TaskBootstrap(N_DRAWS, random_state=0).fit(X, y, **noise)


@cache
def big_bench_hard():
    items = pd.read_csv(data_folder() / "bbh_codex.csv.gz")
    items = items.rename(columns={"mode": "model", "correct": "score"})
    return TaskBootstrap(N_DRAWS, random_state=0).fit_items(items)


@cache
def scandeval():
    """Load ten bootstrap scores of each model and data set, primary metrics only."""
    rows = pd.read_csv(data_folder() / "scandeval_raw_2023.csv.gz")
    rows = rows[rows["is_primary"] == 1].rename(columns={"languages": "language"})
    return rows[["model", "dataset", "task", "language"]], rows[[f"s{i}" for i in range(10)]]


def bootstrap(make, **options):
    fitted = make(**options)
    return {
        **at_levels(fitted),
        "sigma2": fitted.sigma2_,
        "covariance": fitted.covariance(),
        "draws": fitted.draws_.values[:20],
    }


def aggregated(weights):
    found = aggregate(vtab_bootstrap(), weights)
    return {"draws": found.values[:200]} | of_estimate(found.interval())


def ranked(by, **options):
    found = rank_models(vtab_bootstrap(), by, random_state=0, **options)
    return {"draws": found.values[:200]} | of_estimate(found.interval())


def hierarchical(**options):
    X, y, n = vtab()
    fitted = HierarchicalBetaBinomial(n_draws=N_DRAWS, random_state=0, **options).fit(X, y, n=n)
    weighted = of_estimate(fitted.estimate("category"))
    return {
        **at_levels(fitted),
        "posterior mean": fitted.posterior_mean_,
        **{f"by category, {name}": numbers for name, numbers in weighted.items()},
    }


def rank_score(variant):
    X, y = scandeval()
    fitted = MeanRankScore(variant).fit(X, y)
    dataset = fitted.datasets_.index[0]
    sets = fitted.rank_sets(dataset=dataset)
    return {
        "scores": fitted.scores_,
        "data sets": fitted.dataset_scores_,
        "languages": fitted.language_scores_,
        **of_frame(sets),
    }


def euroeval():
    """Load published means with half-widths of the Danish leaderboard."""
    rows = pd.read_csv(data_folder() / "euroeval_scores.csv.gz")
    rows = rows[rows["leaderboard"] == "danish"].dropna(subset=["mean1", "ci1"])
    X = rows[["model", "dataset", "task"]].assign(language="da")
    fitted = MeanRankScore().fit(X, rows["mean1"], half_width=rows["ci1"])
    return {"scores": fitted.scores_, "data sets": fitted.dataset_scores_} | of_frame(
        fitted.rank_sets()
    )


def repeated(interval):
    X, y = scandeval()
    return at_levels(RepeatedRuns(interval).fit(X[["model", "dataset"]], y))


def simplex(from_draws=False, **options):
    X, y, n = vtab()
    fitted = WeightSimplex(resolution=40, **options)
    fitted = fitted.fit_draws(vtab_bootstrap()) if from_draws else fitted.fit(X, y, n=n)
    return {
        **at_levels(fitted),
        "lead": fitted.lead_,
        "error": fitted.standard_error_,
        "fractions": fitted.fractions_,
        "winners": fitted.winners(),
    }


def task_cases():
    return {
        "bootstrap, counts": partial(bootstrap, vtab_bootstrap),
        "bootstrap, normal": partial(bootstrap, vtab_bootstrap, kind="normal"),
        "bootstrap, items": partial(bootstrap, big_bench_hard),
        "aggregate": partial(aggregated, None),
        "aggregate, categories": partial(aggregated, "category"),
        **{f"ranked by {by}": partial(ranked, by) for by in RANKINGS},
        "ranked by weighted mean": partial(ranked, "mean", weights="category"),
        "hierarchical": hierarchical,
        "hierarchical, exponential": partial(hierarchical, prior="exponential"),
        "hierarchical, predictive": partial(hierarchical, kind="predictive"),
        "mean rank score, Welch": partial(rank_score, "welch"),
        "mean rank score, pooled": partial(rank_score, "pooled"),
        "mean rank score, EuroEval": euroeval,
        "repeated runs": partial(repeated, "bootstrap"),
        "repeated runs, sem": partial(repeated, "sem"),
        "simplex": simplex,
        "simplex, correlated": partial(simplex, rho=0.5),
        "simplex, draws": partial(simplex, from_draws=True),
    }


# Running and comparing

CASES = {
    f"{room} / {name}": case
    for room, cases in {
        "groups": group_cases(),
        "ppi": ppi_cases(),
        "bank": bank_cases(),
        "comparison": comparison_cases(),
        "tasks": task_cases(),
    }.items()
    for name, case in cases.items()
}


def outcome(case):
    """Return the arrays of a case by name, or the text of its error."""
    try:
        found = case()
        found = found if isinstance(found, dict) else {"values": found}
        return {name: as_floats(values) for name, values in found.items()}
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def numbers_of(names):
    """Return the results of each case; one thread keeps the order of sums."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return {name: outcome(CASES[name]) for name in names}


def array_change(old, new):
    """Return the largest absolute difference of two arrays; nan differs infinitely."""
    if old.shape != new.shape:
        return np.inf
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore"):
        away = np.where(same, 0.0, np.abs(old - new))
    return np.nan_to_num(away, nan=np.inf, posinf=np.inf).max(initial=0.0)


def change(old, new):
    """Return the largest change of a case; equal errors count as no change."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return 0.0 if old == new else np.inf
    if old.keys() != new.keys():
        return np.inf
    return max((array_change(old[name], new[name]) for name in new), default=0.0)


def print_changes(before, now):
    """Print the change of each case, and return the largest."""
    changes = {name: change(before.get(name), now.get(name)) for name in {**before, **now}}
    for name, largest in changes.items():
        print(f"{largest:8.1e}  {name}")
    largest = max(changes.values(), default=0.0)
    moved = sum(value > 0 for value in changes.values())
    print(f"largest of {len(changes)} cases: {largest:.1e}; {moved} moved at all")
    return largest


def print_failures(now):
    failures = {name: found for name, found in now.items() if isinstance(found, str)}
    for name, text in failures.items():
        print(f"failed: {name}: {text}")
    print(f"{len(failures)} of {len(now)} cases failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="output file for the numbers")
    parser.add_argument("--against", help="a file of earlier numbers")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="largest accepted change")
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    arguments = parser.parse_args()
    start = time.process_time()
    now = numbers_of([name for name in CASES if arguments.only in name])
    print(f"{skbench.__path__[0]}: {time.process_time() - start:.0f} s of processor time")
    pd.to_pickle(now, arguments.file)
    print_failures(now)
    if arguments.against is None:
        return 0
    before = pd.read_pickle(arguments.against)
    before = {name: found for name, found in before.items() if arguments.only in name}
    return int(print_changes(before, now) > arguments.tolerance)


if __name__ == "__main__":
    sys.exit(main())
