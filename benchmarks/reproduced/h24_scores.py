"""Scores in place of Seahorse's and AttributedQA's: Tables 2 and 3, Figures 3 and 6 of Hofer et al.

The scores of the paper's autoraters are not public. Simulated ones stand in, with which difference
estimates and stratified estimates have about the paper's widths. Coverage is then counted as the
paper counts it, of the mean of all human labels of the pool that the rows come from.
"""

import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from sklearn.tree import DecisionTreeRegressor

from reproduced import NOT_PRINTED, Row, Table, figure, quoted
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean, StratifiedPPI

LIKE = {"SH1": "Seahorse1", "AQA2": "AQA2"}  # what is simulated: its name in Table 2
POOL = {"SH1": (2728, 2728), "AQA2": (3000, 1000)}  # rows, and those that people labeled
# The share of good answers, of mean .5, is Beta(a, a); the score is expit(b logit(share) + c).
SHAPE = {"SH1": (0.9, 1.8, -1.5), "AQA2": (0.3, 2.5, -5.7)}
SEARCHED = StratifiedPPI.as_published().n_strata
PUBLISHED = {  # the paper's settings, but for strata
    "classical": ClassicalMean("wald"),
    "difference estimate": PPIMean(power_tuning=False, interval="z"),
    "difference estimate + ptune": PPIMean(interval="z"),
    "chain rule": ChainRulePPI(prior="jeffreys"),
}
# Our name: those of Tables 2 and 3.
NAMES = {
    "classical": ("classical", "classic"),
    "difference estimate": ("difference estimate", "difference est"),
    "chain rule": ("chain rule", "chain rule"),
    "stratified(K = 5)": ("stratified(K = 5)", "strat(K=5)"),
    "stratified(K = *)": ("stratified(K = *)", "strat(K = *)"),
    "tree(K = 5)": ("tree(5)", "tree(K=5)"),
    "tree(K = *)": (None, "tree(K = *)"),
    "difference estimate + ptune": ("difference estimate + ptune", "difference est + powertune"),
    "stratified(K = 5) + ptune": ("stratified(K = 5) + ptune", None),
    "stratified(K = *) + ptune": ("stratified(K = *) + ptune", "strat(K = *) + powertune"),
    "tree(K = 5) + ptune": ("tree(K = 5) + ptune", "tree(K = 5) + powertune"),
    "tree(K = *) + ptune": (None, "tree(K = *) + powertune"),
}
BATCH = 100  # data sets that are fitted at once
N_DRAWS = 1000  # of 10,000 in the paper


_NOT_SIMULATED = Row(
    "classical: Seahorse2, AQA1",
    quoted("H24", "Table 2", "classical", "width Seahorse2", "width AQA1"),
    "not simulated",
    "the autorater's scores are not public; one set of scores stands for each kind of data",
)


def tables(n_sets, n_seeds, n_jobs):
    """Tables 2 and 3 from half of `n_sets` data sets over all seeds, then Figures 3 and 6."""
    yield from _tables_2_and_3(max(1, n_sets // 2 // n_seeds), n_seeds, n_jobs)
    yield _figures_3_and_6(max(1, n_sets // 10))


def _pools(like, n_sets, n_labeled, rng, n_rows=None):
    """Scores, labels of a few rows, and the mean of all human labels."""
    all_rows, n_human = POOL[like]
    a, b, c = SHAPE[like]
    p = rng.beta(a, a, (n_sets, n_rows or all_rows))
    f = expit(b * logit(p) + c)
    human = (rng.random(p.shape) < p).astype(float)
    y = np.where(np.arange(p.shape[1]) < n_labeled, human, np.nan)
    return f, y, human[:, :n_human].mean(axis=1)


def _ends(estimator, f, y):
    """Ends of the intervals, each data set by itself."""
    if isinstance(estimator, ChainRulePPI):
        f = (f > 0.5).astype(float)
    by = np.repeat(np.arange(len(f)), f.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an untuned autorater should not be shrunk
        e = GroupedPPI(estimator, power="per group").fit(f.ravel(), y.ravel(), by).estimate()
    return np.array([e.low, e.high])


def _leaves(f, y, n_leaves):
    """Leaf of every row, of the tree that `StratifiedPPI` grows on the labels of its data set."""
    leaves = []
    for scores, labels in zip(f[..., None], y, strict=True):
        known = ~np.isnan(labels)
        tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0)
        tree.fit(scores[known], labels[known])
        leaves.append(tree.tree_.apply(scores.astype(np.float32)))
    return np.concatenate(leaves)


def _published(kind, n_strata, tuned):
    """What the paper calls kind(K = n_strata); of fewer draws, as there are many data sets."""
    published = StratifiedPPI.as_published("tree" if kind == "tree" else "quantile")
    return published.set_params(n_strata=n_strata, power_tuning=tuned, n_draws=N_DRAWS)


def _intervals(f, y):
    """Ends by method: those of `PUBLISHED`, and strata with K = 5 and with the shortest of all."""
    found = {name: _ends(estimator, f, y) for name, estimator in PUBLISHED.items()}
    leaves = {k: _leaves(f, y, k) for k in SEARCHED}
    for tuned, suffix in ((False, ""), (True, " + ptune")):
        for kind in ("stratified", "tree"):
            fits = {}
            for k in SEARCHED:
                estimator = _published(kind, k, tuned)
                if kind == "tree":  # all trees at once
                    estimator.set_params(strata=lambda X, k=k: leaves[k])
                fits[k] = _ends(estimator, f, y)
            every = np.array(list(fits.values()))
            shortest = np.argmin(every[:, 1] - every[:, 0], axis=0)
            found[f"{kind}(K = 5){suffix}"] = fits[5]
            found[f"{kind}(K = *){suffix}"] = every[shortest, :, np.arange(len(f))].T
    return found


def _run(like, n_sets, seed):
    """Widths, and whether an interval has the pool's mean and the true mean, by method."""
    rng = np.random.default_rng(seed)
    batches = []
    for start in range(0, n_sets, BATCH):
        f, y, pool = _pools(like, min(BATCH, n_sets - start), 300, rng)
        batches.append(
            {
                name: (high - low, (low <= pool) & (pool <= high), (low <= 0.5) & (0.5 <= high))
                for name, (low, high) in _intervals(f, y).items()
            }
        )
    return {name: np.concatenate([b[name] for b in batches], axis=1) for name in NAMES}


def _tables_2_and_3(n_sets, n_seeds, n_jobs):
    run = delayed(_run)
    jobs = Parallel(n_jobs)(run(like, n_sets, seed) for like in LIKE for seed in range(n_seeds))
    runs = dict(zip(LIKE, (jobs[:n_seeds], jobs[n_seeds:]), strict=True))
    yield Table(
        "Table 2: width at 300 labels and relative to classical, like Seahorse 1; like AQA2",
        [*(_widths(name, runs) for name in NAMES), _NOT_SIMULATED],
    )
    yield Table(
        f"Table 3: coverage in %, like Seahorse 1; like AQA2 ({n_seeds} seeds of {n_sets} sets)",
        [*(_coverage(name, runs) for name in NAMES), *_fewer_rows(n_sets * n_seeds)],
    )


def _widths(name, runs):
    here = []
    for seeds in runs.values():
        width, classical = (
            np.mean([run[of][0].mean() for run in seeds]) for of in (name, "classical")
        )
        here.append(f"{figure(width, 3)}, {figure(width / classical, 3)}")
    row = NAMES[name][0]
    columns = [f"{of} {like}" for like in LIKE.values() for of in ("width", "ratio")]
    paper = quoted("H24", "Table 2", row, *columns, form="{}, {}; {}, {}") if row else NOT_PRINTED
    why = "scores simulated; " + _settings(name)
    if row is None:
        why += "; left out in the paper, as its coverage is poor"
    return Row(name, paper, "; ".join(here), why)


def _coverage(name, runs):
    here, why = [], []
    for seeds in runs.values():
        by_seed = [run[name][1].mean() for run in seeds]
        pool, true = (np.mean([run[name][i].mean() for run in seeds]) for i in (1, 2))
        n = sum(run[name].shape[1] for run in seeds)
        here.append(figure(100 * pool, 1, 100 * np.sqrt(pool * (1 - pool) / n)))
        why.append(
            f"seeds {100 * min(by_seed):.1f} to {100 * max(by_seed):.1f}, of the true mean "
            f"{100 * true:.1f}"
        )
    row = NAMES[name][1]
    paper = quoted("H24", "Table 3", row, *LIKE) if row else NOT_PRINTED
    return Row(name, paper, ", ".join(here), "; ".join(why))


def _fewer_rows(n_sets):
    """Coverage where all rows are among those with human labels, whose mean is the truth."""
    rng = np.random.default_rng(0)
    f, y, pool = _pools("AQA2", n_sets, 300, rng, n_rows=POOL["AQA2"][1])
    for name in ("difference estimate", "chain rule"):
        low, high = _ends(PUBLISHED[name], f, y)
        hit = np.mean((low <= pool) & (pool <= high))
        yield Row(
            f"{name}: like AQA2, 700 unlabeled rows",
            quoted("H24", "Table 3", NAMES[name][1], "AQA2"),
            figure(100 * hit, 1, 100 * np.sqrt(hit * (1 - hit) / n_sets)),
            "only the rows that people labeled; the paper has 3,000 rows, but covers as much",
        )


def _settings(name):
    if name in PUBLISHED:
        return f"``{PUBLISHED[name]!r}``"
    strata = "tree" if name.startswith("tree") else "quantile"
    fixed = [] if "*" in name else ["n_strata=5"]
    fixed += ["power_tuning=True"] if name.endswith("ptune") else []
    text = f"StratifiedPPI.as_published({strata!r})"
    return f"``{text}.set_params({', '.join(fixed)})``" if fixed else f"``{text}``"


def _figures_3_and_6(n_sets):
    """Widths and coverage from 100 to 500 labels: ten sizes, as in section 5.1.2."""
    rng = np.random.default_rng(0)
    sizes = np.linspace(100, 500, 10).astype(int)
    names = {k: f"stratified(K = {k})" for k in (2, 5, 10, 20)}
    methods = {name: PUBLISHED[name] for name in ("classical", "difference estimate", "chain rule")}
    methods |= {name: _published("stratified", k, False) for k, name in names.items()}
    width, hits = ({like: {name: [] for name in methods} for like in LIKE} for _ in range(2))
    for like in LIKE:
        for n in sizes:
            f, y, pool = _pools(like, n_sets, n, rng)
            for name, estimator in methods.items():
                if like != "AQA2" and name in (names[2], names[10], names[20]):
                    continue  # Figure 6 has one data set
                low, high = _ends(estimator, f, y)
                width[like][name].append(np.mean(high - low))
                hits[like][name].append(np.mean((low <= pool) & (pool <= high)))
    return Table(
        "Figures 3 and 6: 100 to 500 labels, scores simulated",
        [*_figure_3(sizes, width, hits), *_figure_6(sizes, width, hits, names)],
    )


def _figure_3(sizes, width, hits):
    narrower = {
        like: sizes[np.array(of["stratified(K = 5)"]) < np.array(of["difference estimate"])]
        for like, of in width.items()
    }
    found = [f"{like} {n.min() if n.size else 'above 500'}" for like, n in narrower.items()]
    aqa = width["AQA2"]
    at_200 = np.interp(200, sizes, aqa["stratified(K = 5)"])
    equal = np.interp(-at_200, -np.array(aqa["classical"]), sizes)
    ratio = quoted("H24", "Table 2", "stratified(K = 5)", "ratio Seahorse2")
    untuned = ("classical", "difference estimate", "chain rule", "stratified(K = 5)")
    least = min(np.mean(of[name]) for of in hits.values() for name in untuned)
    return [
        Row(
            "fewest labels with stratified(K = 5) narrower than difference",
            quoted(
                "H24",
                "Section 5.1.2",
                "crossover of stratified and difference",
                "from n",
                "to n",
                form="{} to {}",
            ),
            ", ".join(found),
            "of ten sizes from 100; it depends on how far the autorater is from calibrated",
            difference="",
        ),
        Row(
            "AQA2: labels with which classical is as narrow as stratified(K = 5) with 200",
            quoted("H24", "Section 5.1.3", "equal widths, AQA2", "classical"),
            f"{equal:.0f}",
        ),
        Row(
            "Seahorse2: the same for 300",
            quoted("H24", "Section 5.1.3", "equal widths, Seahorse2", "classical"),
            f"{300 / float(ratio) ** 2:.0f}",
            "not simulated: from the printed ratio of Table 2; the paper reads it off a figure",
        ),
        Row(
            "least coverage of the untuned methods, over sizes",
            quoted("H24", "Section 5.1.4", "Figure 3", "least coverage"),
            f"{100 * least:.1f}%",
            "two tasks of four",
        ),
    ]


def _figure_6(sizes, width, hits, names):
    aqa = width["AQA2"]
    best = {i: min(names, key=lambda k: aqa[names[k]][i]) for i in (0, -1)}
    least = min(np.mean(hits["AQA2"][name]) for name in names.values())
    return [
        Row(
            "Figure 6: narrowest of K = 2, 5, 10, 20 with 100 and with 500 labels",
            NOT_PRINTED,
            f"{best[0]}, {best[-1]}",
            "AQA2; the paper prints no numbers: few strata with few labels, more with more",
        ),
        Row(
            "Figure 6: least coverage of the four",
            quoted("H24", "Section 5.1.4", "Figure 6", "least coverage"),
            f"{100 * least:.1f}%",
            "AQA2; the paper does not say which data set",
        ),
    ]
