"""Cost of `GroupedPPI.summary_`, and the gain from its three safeguards.

The script prints the time of `fit` and of the summary for 1,000 groups of 300 rows relative to a
loop of `PPIMean` over the groups. For empirical Bayes on 200 simulated groups with 10 labels each
it then prints error and average coverage

- with the plain mean score as the feature, and without the error that it shares with the estimate
- for the mean labels of the same rows
- with variances of each group's own labels, shrunk by various weights, and pooled
- with variances smoothed for intervals instead of unbiased variances

Finally it follows the protocol of Li and Ignatiadis (2025) on simulated reviews: 200 products with
50 to 200 reviews each, a fifth of them labeled. The target is the mean over all reviews of a
product. The methods are labels alone, their adaptive shrinkage, and empirical Bayes in two
versions.

    python benchmarks/grouped_ppi.py
"""

import time
import warnings
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes
from skbench.datasets import make_judged_items
from skbench.ppi import GroupedPPI, PPIMean, _group_summary, grouped

N_SEEDS = 12
AUTORATERS = {
    "95% right": {"sensitivity": 0.95, "specificity": 0.95},
    "95% right, accuracy .9": {"sensitivity": 0.95, "specificity": 0.95, "intercept": 2.0},
    "drifting": {"drift": 1.0},
    "useless": {"sensitivity": 0.5, "specificity": 0.5},
    "useless, accuracy .9": {"sensitivity": 0.5, "specificity": 0.5, "intercept": 2.0},
}


def rows_of(data):
    return data.items[["autorater"]], data.items["human"], data.items["group"]


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def print_speed():
    X, y, groups = rows_of(make_judged_items(1000, 300, 30, score="continuous", random_state=0))
    groups = groups.str.removeprefix("group-").astype(int)
    pieces = [(X.loc[rows], y.loc[rows]) for rows in X.groupby(groups).groups.values()]
    fit = min(seconds(lambda: GroupedPPI().fit(X, y, groups)) for _ in range(7))
    both = min(seconds(lambda: GroupedPPI().fit(X, y, groups).summary_) for _ in range(7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are all alike
        loop = seconds(lambda: [PPIMean().fit(*piece) for piece in pieces])
    print(
        f"1,000 groups of 300 rows: fit {1000 * fit:.0f} ms, and summary {1000 * both:.0f} ms, "
        f"loop of PPIMean {loop:.2f} s ({loop / fit:.0f} and {loop / both:.0f} times)"
    )


def plain_feature():
    """Return the plain mean score, which shares its error with the estimate."""
    return mock.patch.object(_group_summary.ppi, "independent_feature", lambda mean, *rest: mean)


def with_constant(name, value):
    return mock.patch.object(_group_summary, name, value)


def measured(settings, estimator=None):
    """Return mean squared error times 10,000 and coverage of empirical Bayes."""
    finite = estimator is not None
    results = []
    for seed in range(N_SEEDS):
        data = make_judged_items(200, 200, 10, random_state=seed, **settings)
        fitted = GroupedPPI(estimator, features=data.features).fit(*rows_of(data))
        eb = EmpiricalBayes(LinearRegression(), random_state=seed)
        e = eb.fit(**fitted.summary_.fit_args).estimate()
        truth = data.truth.to_numpy()
        if finite:  # the same answers, all of them labeled
            every = make_judged_items(200, 200, 200, random_state=seed, **settings).items
            truth = every.groupby("group")["human"].mean().to_numpy()
        error = 1e4 * np.mean((e.value - truth) ** 2)
        results.append([error, np.mean((e.low <= truth) & (truth <= e.high))])
    return np.mean(results, axis=0)


def print_variants(title, variants, estimator=None):
    print(f"\n{title}: mean squared error x 10,000, average coverage of 95% intervals")
    print(f"{'':24s}" + "".join(f"{name:>18s}" for name in variants))
    for autorater, settings in AUTORATERS.items():
        cells = []
        for change in variants.values():
            with change():
                cells.append("{:.1f}, {:.3f}".format(*measured(settings, estimator)))
        print(f"{autorater:24s}" + "".join(f"{cell:>18s}" for cell in cells))


def reviews(rng, on_review, on_product):
    """Simulate human ratings by product, and an autorater with errors by review and product."""
    product = np.repeat(np.arange(200), rng.integers(50, 201, 200))
    stars = rng.normal(4, 0.4, 200)[product] + rng.normal(0, 1, len(product))
    autorater = stars + rng.normal(0, on_product, 200)[product]
    autorater = autorater + rng.normal(0, on_review, len(product))
    return pd.DataFrame({"product": product, "autorater": autorater, "stars": stars})


def adaptive_shrinkage(rows, is_labeled):
    """Apply Algorithm 1 of Li and Ignatiadis: power tuning by product, shrunk to the autorater."""
    labeled, unlabeled = rows[is_labeled].groupby("product"), rows[~is_labeled].groupby("product")
    n, N = labeled.size(), unlabeled.size()
    mean, others = labeled.mean(), unlabeled["autorater"].mean()
    moments = labeled[["stars", "autorater"]].cov().unstack()
    of_f = rows.groupby("product")["autorater"].var()
    power = moments["stars", "autorater"] / of_f * N / (n + N)
    tuned = mean["stars"] + power * (others - mean["autorater"])
    residual = rows["stars"] - rows["product"].map(power) * rows["autorater"]
    of_residual = residual[is_labeled].groupby(rows["product"]).var()
    noise = of_residual / n + power**2 * of_f / N
    shared = power * of_f / N

    def risk(log_omega):
        kept = np.exp(log_omega) / (np.exp(log_omega) + noise)
        moved = (1 - kept) ** 2 * (tuned - others) ** 2
        return np.mean((2 * kept - 1) * noise + 2 * (1 - kept) * shared + moved)

    omega = np.exp(minimize_scalar(risk, bounds=(-14, 6), method="bounded").x)
    kept = omega / (omega + noise)
    return kept * tuned + (1 - kept) * others


def print_reviews():
    print("\nsimulated reviews: mean squared error x 1,000; coverage of empirical Bayes")
    columns = ["labels", "adaptive shrinkage", "default", "of these rows", "covers", "covers"]
    print(f"{'on review, product':24s}" + "".join(f"{name:>20s}" for name in columns))
    for on_review, on_product in [(0.3, 0.1), (0.6, 0.1), (0.6, 0.03), (1, 0.3), (1, 0.1)]:
        found = [one_draw(seed, on_review, on_product) for seed in range(N_SEEDS)]
        cells = "".join(f"{cell:20.3g}" for cell in np.mean(found, axis=0))
        print(f"{on_review:<6g}{on_product:<18g}{cells}", flush=True)


def one_draw(seed, on_review, on_product):
    rng = np.random.default_rng(seed)
    rows = reviews(rng, on_review, on_product)
    truth = rows.groupby("product")["stars"].mean().to_numpy()
    order = rng.permutation(len(rows))
    place = rows.iloc[order].groupby("product").cumcount().sort_index()
    is_labeled = place < rows.groupby("product")["stars"].transform("size") // 5
    labels = rows["stars"].where(is_labeled)
    values = [
        labels.groupby(rows["product"]).mean(),
        adaptive_shrinkage(rows, is_labeled),
    ]
    covered = []
    for estimator in (None, PPIMean(population="rows")):
        fitted = GroupedPPI(estimator).fit(rows[["autorater"]], labels, rows["product"])
        eb = EmpiricalBayes(LinearRegression(), random_state=seed)
        e = eb.fit(**fitted.summary_.fit_args).estimate()
        values.append(e.value)
        covered.append(np.mean((e.low <= truth) & (truth <= e.high)))
    return [*(1e3 * np.mean((value - truth) ** 2) for value in values), *covered]


def main():
    print_speed()
    features = {"plain mean": plain_feature, "default": nullcontext}
    print_variants("feature", features)
    print_variants("of these rows", {"default": nullcontext}, PPIMean(population="rows"))
    weights = {
        "own": 1e-9,
        "10": 10,
        "20 (default)": 20,
        "60": 60,
        "pooled": 1e9,
    }
    print_variants(
        "weight of the other groups' variance",
        {name: lambda w=w: with_constant("_BORROWED_FREEDOM", w) for name, w in weights.items()},
    )
    print_variants(
        "kind of variance",
        {
            "unbiased": lambda: mock.patch.object(grouped, "_UNSMOOTHED", grouped._UNSMOOTHED),
            "for intervals": lambda: mock.patch.object(grouped, "_UNSMOOTHED", {}),
        },
    )
    print_reviews()


if __name__ == "__main__":
    main()
