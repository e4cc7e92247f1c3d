"""Few items and earlier models: tinyBenchmarks; Zhang and Hardt; metabench; FAQ.

Data: item_matrix_*.csv.gz, seven of the 19 matrices that Zhang, Dorner and Hardt (2025) published.
tinyBenchmarks and metabench use other models. Their matrices are not available as plain data.
"""

import numpy as np
import pandas as pd
from bank import MATRICES, anchor_points, bank_of, rasch_p_irt, unit_level
from scipy.special import logit
from sklearn.linear_model import Ridge, RidgeCV

from reproduced import (
    NOT_PRINTED,
    Row,
    Table,
    data_folder,
    figure,
    from_one,
    quoted,
)

# Separate benchmarks from the README of github.com/felipemaiapolo/tinyBenchmarks.
TINY = ("TruthfulQA", "GSM8K", "Winogrande", "ARC", "HellaSwag", "MMLU")
ESTIMATES = {
    "IRT": ("IRT, weighted anchors", "anchors chosen by answers"),
    "p-IRT": ("p-IRT on anchors", "one ability dimension instead of several"),
    "gp-IRT": ("gp-IRT", "mean of the two estimates above"),
}
MATRIX_OF = {
    "ARC": ("arc_challenge", "same 1,172 items, 218 other models"),
    "GSM8K": ("gsm", "1,000 of 1,319 items, 83 HELM Lite models instead of about 400"),
    "MMLU": ("mmlu", "567 items of five subjects, 83 HELM Lite models instead of about 400"),
}
N_ANCHORS, N_CORE = 100, 50
N_TARGETS = 10  # new models of a split
GAPS = ("Random-Sampling-Learn", "AIPW (ridge, not cross-fitted)", "unit-level model")


def add_arguments(parser):
    """Add the options of ``reproduce.py bank``."""
    parser.add_argument("--splits", type=from_one, default=6, help="random splits of the models")


def tables(arguments):
    """Yield errors at 100 items, gaps at 50 items, and rows without public data."""
    yield _tiny(arguments.splits)
    yield _gaps(arguments.splits)
    yield _not_had()


def _scores(name):
    table = pd.read_csv(data_folder() / f"item_matrix_{name}.csv.gz")
    return table.drop(columns="item").to_numpy(float)


def _unit_level(scores, past):
    """Return a function from answers of a new model and its items to the overall score."""
    items, topics = np.arange(len(scores)), np.full(len(scores), "all")
    bank = bank_of(scores[:, past], items, topics, past.astype(str))
    return lambda y, asked: unit_level(bank, items[asked], topics[asked], y[asked], "model")[
        1
    ].value[0]


def _tiny(n_splits):
    """Compare mean absolute errors at 100 items; a quarter of the models are new."""
    rows = []
    for name in TINY:
        printed = [
            (f"{name}: {what}", quoted("tinyBenchmarks", "README", name, method))
            for method, (what, _) in ESTIMATES.items()
        ]
        if name not in MATRIX_OF:
            why = "the public data have no item-by-model matrix"
            rows += [Row(*cells, "-", why) for cells in printed]
            continue
        matrix, why = MATRIX_OF[name]
        found = _errors_at_anchors(_scores(matrix), n_splits)
        ours = [figure(e.mean(), 3, e.std()) for e in found.T]
        rows += [
            Row(*cells, here, f"{why}; {how}")
            for cells, here, (_, how) in zip(printed, ours[:3], ESTIMATES.values(), strict=True)
        ]
        rows += [
            Row(
                f"{name}: unit-level model, random items",
                NOT_PRINTED,
                ours[3],
                "items chosen at random",
            ),
            Row(
                f"{name}: mean of 100 random items",
                NOT_PRINTED,
                ours[4],
                "baseline for all other methods",
            ),
        ]
    title = "tinyBenchmarks: mean absolute error (standard deviation over models) at 100 items"
    return Table(f"{title}; the paper reports the best of five seeds", rows)


def _errors_at_anchors(scores, n_splits):
    """Return absolute errors of the five estimates, one row per new model and split."""
    rows = []
    for seed in range(n_splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(scores.shape[1])
        new, past = np.split(order, [scores.shape[1] // 4])
        chosen, share = anchor_points(scores[:, past], N_ANCHORS, seed)
        easiness = logit((scores[:, past].sum(axis=1) + 1) / (len(past) + 2))
        assisted = _unit_level(scores, past)
        for target in new:
            y = scores[:, target]
            asked = rng.permutation(len(y))[:N_ANCHORS]
            anchors, p_irt = share @ y[chosen], rasch_p_irt(y[chosen], easiness, chosen)
            estimates = (anchors, p_irt, (anchors + p_irt) / 2, assisted(y, asked), y[asked].mean())
            rows.append(np.abs(np.array(estimates) - y.mean()))
    return np.array(rows)


def _gaps(n_splits):
    """Compare mean absolute errors at 50 items by the rules of the authors' script."""
    rows = []
    column = "gap less than Random-Sampling"
    printed = quoted("Zhang, Dorner and Hardt", "second hand", GAPS[0], column)
    why = "7 of 19 matrices; the paper's figure comes from a secondary source"
    for kind in ("interpolation", "extrapolation"):
        gaps = np.mean([_gaps_of(_scores(name), kind, n_splits) for name in MATRICES], axis=0)
        mean = gaps.mean(axis=0)
        # Delta method for a ratio of means over splits.
        error = (gaps[:, 1:] - gaps[:, :1] * mean[1:] / mean[0]).std(axis=0) / mean[0]
        error /= np.sqrt(max(n_splits - 1, 1))
        for j, method in enumerate(GAPS):
            known = kind == "interpolation" and j == 0
            share = f"{1 - mean[j + 1] / mean[0]:.0%} ({100 * error[j]:.0f})"
            cells = (printed, share, why) if known else (NOT_PRINTED, share)
            rows.append(Row(f"{kind}: {method}", *cells))
    return Table(
        "Zhang, Dorner and Hardt: reduction of the mean gap relative to random sampling at 50 "
        "items (standard error over splits)",
        rows,
    )


def _gaps_of(scores, kind, n_splits):
    """Return the mean gap of random sampling and of each method in `GAPS`, by split."""
    n_models, found = scores.shape[1], []
    for seed in range(n_splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(n_models)
        new, past = np.split(order, [int(0.25 * n_models)])
        if kind == "extrapolation":
            order = np.argsort(scores.mean(axis=0), kind="stable")
            past, new = order[: n_models // 2], order[-int(0.3 * n_models) :]
        asked = rng.permutation(len(scores))[:N_CORE]
        targets = rng.permutation(new)[:N_TARGETS]
        learned = RidgeCV().fit(scores[np.ix_(asked, past)].T, scores[:, past].mean(axis=0))
        assisted = _unit_level(scores, past)
        for y in scores[:, targets].T:
            estimates = (
                y[asked].mean(),
                learned.predict(y[None, asked])[0],
                _aipw(y[asked], scores[:, past], asked),
                assisted(y, asked),
            )
            found.append(np.abs(np.array(estimates) - y.mean()))
    return np.reshape(found, (n_splits, -1, len(GAPS) + 1)).mean(axis=1)


def _aipw(y, past, asked):
    """Return their AIPW estimate: a ridge regression corrected by its own residuals."""
    f = Ridge(alpha=10).fit(past[asked], y).predict(past)
    rest = np.delete(f, asked)
    return y.mean() + (rest.mean() - f[asked].mean()) / (1 + len(asked) / len(rest))


def _not_had():
    meta = [
        Row(
            f"metabench: root mean square error, {what}",
            quoted("metabench", "abstract", what, "root mean square error"),
            "-",
            "more than 5,000 models without a data file; the paper chose items on them",
        )
        for what in ("single scores", "total score")
    ]
    faq = Row(
        "FAQ (Wu, Nair and Candes 2026): effective sample size, up to",
        quoted("FAQ", "abstract", "effective sample size", "up to"),
        "-",
        "its two suites are not available; items are chosen adaptively",
    )
    return Table("No public data available", [*meta, faq])
