import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.ppi_sets import DataSets, ends, fitted
from scipy.stats import binom
from sklearn.cluster import DBSCAN, KMeans
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from strata_search import SEARCH, intervals, scores_and_rates

from skbench.containers import ON_AVERAGE
from skbench.ppi.difference import ClassicalMean, PPIMean
from skbench.ppi.grouped import GroupedPPI
from skbench.ppi.stratified import StratifiedPPI


def biased_autorater(seed=0, n=300, N=3000):
    """Scores with a bias that depends on the score, and mostly hidden labels."""
    rng = np.random.default_rng(seed)
    f = rng.random(n + N)
    label = rng.binomial(1, f**3).astype(float)
    return f, np.where(np.arange(n + N) < n, label, np.nan)


@pytest.mark.parametrize("estimator", [StratifiedPPI(), PPIMean(power_tuning=False)])
def test_scores_on_another_scale_cause_a_warning(estimator):
    f, y = biased_autorater()
    with pytest.warns(UserWarning, match=r"\b[01]\.\d+ labels.*\b300 labels"):
        estimator.fit(100 * f, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PPIMean().fit(100 * f, y)
        estimator.fit(f, y)


def test_one_stratum_is_the_difference_estimate():
    f, y = biased_autorater()
    for tuning in (True, False):
        one = StratifiedPPI(n_strata=1, power_tuning=tuning).fit(f, y)
        plain = PPIMean(power_tuning=tuning).fit(f, y)
        assert_allclose(one.estimate_, plain.estimate_)
        assert_allclose(one.standard_error_, plain.standard_error_)
        assert_allclose(ends(one), ends(plain))
        assert_allclose([one.lambda_, one.rectifier_], [plain.lambda_, plain.rectifier_])


def test_estimate_by_hand():
    f, y = biased_autorater(1)
    e = StratifiedPPI(n_strata=4).fit(f, y)
    known = ~np.isnan(y)
    assert_array_equal(np.bincount(e.strata_[~known])[1:], [750] * 4)
    parts = [
        f[~known & here].mean() + (y - f)[known & here].mean()
        for here in (e.strata_ == k for k in range(1, 5))
    ]
    assert_allclose(e.estimate_, np.mean(parts))
    assert_allclose(
        e.estimate_,
        np.mean([f[~known & (e.strata_ == k)].mean() for k in range(1, 5)]) + e.rectifier_,
    )


def test_narrower_where_the_bias_changes():
    # Without noise, strata remove almost all of a bias that depends on the score.
    rng = np.random.default_rng(2)
    f = rng.random(4000)
    y = np.where(np.arange(4000) < 300, f**3 * 2 - f, np.nan)
    stratified, plain = StratifiedPPI().fit(f, y), PPIMean(False).fit(f, y)
    assert stratified.standard_error_ < 0.6 * plain.standard_error_


def test_thin_strata_are_merged():
    f = np.r_[np.linspace(0, 1, 100), 0.05, 0.1, 0.5, 0.85, 0.9, 0.95]
    y = np.r_[np.full(100, np.nan), 0.2, 0.1, 0.4, 0.8, 0.8, 0.9]
    e = StratifiedPPI().fit(f, y)
    # Bins 1 to 4 have 2, 0, 1 and 0 labels and are merged. The last bin has three labels.
    assert_array_equal(e.strata_[:100], np.repeat([0, 5], [80, 20]))
    assert_array_equal(e.strata_[100:], [0, 0, 0, 5, 5, 5])
    # With one label less the merged stratum has two, and the last bin joins it.
    all_in_one = StratifiedPPI().fit(np.delete(f, 102), np.delete(y, 102))
    assert_array_equal(all_in_one.strata_, 0)


def test_tied_scores_make_fewer_strata():
    f, y = biased_autorater(3)
    few = np.round(f)
    e = StratifiedPPI().fit(few, y)
    assert len(np.unique(e.strata_)) == 2
    assert np.isfinite(e.standard_error_)


@pytest.mark.parametrize(
    ("strata", "n_expected"),
    [
        ("tree", 4),
        (DecisionTreeRegressor(max_leaf_nodes=3, random_state=0), 3),
        (LinearRegression(), 4),
        (LogisticRegression(), 2),
        (KMeans(3, n_init=1, random_state=0), 3),
        (lambda X: np.where(X[:, 0] > 0.5, "high", "low"), 2),
    ],
    ids=["tree", "regression tree", "regressor", "classifier", "clusterer", "callable"],
)
def test_strata_of_any_kind(strata, n_expected):
    f, y = biased_autorater(4)
    e = StratifiedPPI(strata, n_strata=4).fit(f, y)
    assert len(np.unique(e.strata_)) == n_expected
    assert abs(e.estimate_ - 0.25) < 4 * e.standard_error_  # the mean of f**3
    known = ~np.isnan(y)
    for k in np.unique(e.strata_):
        assert np.sum(known & (e.strata_ == k)) >= 3


def test_tree_strata_of_several_autoraters():
    rng = np.random.default_rng(5)
    X = rng.random((2000, 2))
    y = np.where(np.arange(2000) < 300, X[:, 0] * X[:, 1], np.nan)
    e = StratifiedPPI("tree", power_tuning=True).fit(X, y)
    assert e.lambda_.shape == (2,)
    assert e.standard_error_ < PPIMean().fit(X, y).standard_error_
    untuned, mean = (StratifiedPPI().fit(x, y) for x in (X, X.mean(axis=1)))
    assert_allclose(ends(untuned), ends(mean))


def test_groups_with_few_labels():
    f = np.tile(np.linspace(0, 1, 50), 4)
    codes = np.repeat(np.arange(4), 50)
    y = np.full(200, np.nan)
    y[[55, 110, 140]] = 1.0, 0.0, 1.0
    y[150:] = (f[150:] > 0.5).astype(float)
    found = fitted(StratifiedPPI(), DataSets(f, y, codes))
    assert_array_equal(found.n_labeled_, [0, 1, 2, 50])
    for column in (found.estimate_, found.standard_error_):
        assert_array_equal(np.isnan(column), [True, False, False, False])
    assert_allclose(found.estimate_[3], 0.5)


def test_all_rows_labeled():
    f, y = biased_autorater(7, N=0)
    with pytest.warns(UserWarning, match=r"\b300 rows"):
        e = StratifiedPPI().fit(f, y)
    assert_allclose(e.estimate_, y.mean())
    assert e.lambda_ == 0
    assert_allclose(e.standard_error_, ClassicalMean("t").fit(f, y).standard_error_, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("tuning", [True, False])
def test_intervals_cover(tuning):
    rng, n_sets, N = np.random.default_rng(8), 600, 300
    for truth in (0.5, 0.85, 0.95):
        for n in (10, 20, 30, 50, 100):
            chance = rng.beta(6 * truth, 6 * (1 - truth), size=(n_sets, n + N))
            known = np.tile(np.arange(n + N) < n, n_sets)
            label = (rng.random(chance.shape) < chance).ravel().astype(float)
            data = DataSets(
                (chance**2).reshape(-1, 1),
                np.where(known, label, np.nan),
                np.repeat(np.arange(n_sets), n + N),
            )
            low, high = ends(fitted(StratifiedPPI(power_tuning=tuning), data))
            covered = np.sum((low <= truth) & (truth <= high))
            assert covered >= binom.ppf(1e-4, n_sets, 0.93)


@pytest.mark.slow
def test_strata_fitted_on_the_labels():
    rng, n_sets, n = np.random.default_rng(9), 300, 100
    forest = RandomForestRegressor(5, random_state=0)
    hits = dict.fromkeys(["quantile", "tree", "forest"], 0)
    for _ in range(n_sets):
        f = rng.random(n + 500)
        y = np.where(np.arange(n + 500) < n, rng.random(n + 500) < f, np.nan)
        for name in hits:
            low, high = ends(StratifiedPPI(forest if name == "forest" else name).fit(f, y))
            hits[name] += low <= 0.5 <= high
    assert min(hits["quantile"], hits["tree"]) >= binom.ppf(1e-3, n_sets, 0.94)
    # The figures of the docstring, and the reason for the guarantee "none".
    assert hits["forest"] < binom.ppf(1e-3, n_sets, 0.95)


def test_guarantee_is_lost_where_labels_make_the_strata():
    f, y = biased_autorater()
    for strata, guarantee in (
        ("quantile", ON_AVERAGE),
        (KMeans(3, n_init=1, random_state=0), ON_AVERAGE),
        (lambda X: X[:, 0] > 0.5, ON_AVERAGE),
        ("tree", "none"),
        (LinearRegression(), "none"),
        (LogisticRegression(), "none"),
    ):
        assert StratifiedPPI(strata).fit(f, y).estimate().guarantee == guarantee


def test_bad_options():
    f, y = biased_autorater()
    for estimator in (
        StratifiedPPI(lambda X: np.zeros(3)),
        StratifiedPPI(lambda X: np.where(X[:, 0] > 0.5, 1, np.nan)),
        StratifiedPPI(DBSCAN()),
    ):
        with pytest.raises(ValueError):
            estimator.fit(f, y)


@pytest.mark.parametrize("name", ["cluster", "sample_weight"])
def test_dependent_rows_are_refused(name):
    f, y = biased_autorater()
    with pytest.raises(ValueError):
        StratifiedPPI().fit(f, y, **{name: np.arange(len(y)) // 2 + 1.0})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:power_tuning=False:UserWarning")
def test_a_search_over_trees_costs_coverage():
    rng, n_sets, n = np.random.default_rng(12), 300, 100
    f, p = scores_and_rates("calibrated", (n_sets, n + 2000), rng)
    y = np.where(np.arange(n + 2000) < n, rng.random(f.shape) < p, np.nan)
    found = intervals(f, y)
    hits = {name: np.sum((low <= 0.5) & (0.5 <= high)) for name, (low, high) in found.items()}
    print({name: k / n_sets for name, k in hits.items()})
    for strata in ("quantile", "tree"):
        alone = StratifiedPPI(strata, SEARCH).fit(f[0], y[0])
        assert_allclose(ends(alone), found[strata, "exact", "K = *"][:, 0])
    assert hits["quantile", "exact", "K = *"] >= binom.ppf(1e-3, n_sets, 0.94)
    assert hits["tree", "exact", "K = *"] >= binom.ppf(1e-3, n_sets, 0.87)
    # The figures of the docstring, and the reason for the guarantee "none".
    assert hits["tree", "exact", "K = *"] < binom.ppf(1e-3, n_sets, 0.95)


@pytest.mark.parametrize("strata", ["quantile", "tree"])
def test_the_published_search_takes_the_shortest_interval(strata):
    f, y = biased_autorater(10)
    searched = StratifiedPPI.as_published(strata).set_params(n_draws=500).fit(f, y)
    one = {"integration": "draws", "n_draws": 500, "random_state": 0}
    each = {n: StratifiedPPI(strata, n, **one).fit(f, y) for n in SEARCH}
    best = min(each, key=lambda n: np.diff(ends(each[n])))
    assert searched.n_strata_ == best
    assert ends(searched) == ends(each[best])
    assert_array_equal(searched.strata_, each[best].strata_)
    assert searched.estimate().guarantee == "none"
    assert not searched.power_tuning
    assert each[best].estimate().guarantee == ("posterior" if strata == "quantile" else "none")


def test_draws_are_the_papers_posterior():
    # Section A.1 by numpy: normal or t means and Dirichlet sizes, all independent.
    f, y = biased_autorater(11, n=120, N=900)
    e = StratifiedPPI(integration="draws", n_strata=6, n_draws=40_000, random_state=0).fit(f, y)
    rng, known, drawn, gammas = np.random.default_rng(1), ~np.isnan(y), 0, 0
    kinds = np.unique(e.strata_)
    assert min(np.sum(known & (e.strata_ == k)) for k in kinds) <= 30
    for k in kinds:
        mean = 0
        for x in (f[~known & (e.strata_ == k)], (y - f)[known & (e.strata_ == k)]):
            scale = x.std(ddof=1) / np.sqrt(x.size)
            standard = rng.normal(size=40_000)
            if x.size <= 30:
                standard = rng.standard_t(x.size - 1, 40_000)
            mean = mean + x.mean() + scale * standard
        gamma = rng.gamma(np.sum(~known & (e.strata_ == k)) + 1 / kinds.size, size=40_000)
        drawn, gammas = drawn + gamma * mean, gammas + gamma
    want = np.quantile(drawn / gammas, [0.025, 0.975])
    assert_allclose(ends(e), want, atol=0.01 * np.diff(want)[0])
    assert e.estimate().method == "stratified PPI (40000 draws)"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_draws_of_equal_labels_have_no_interval():
    y = np.where(np.arange(200) < 20, 1.0, np.nan)
    drawn = StratifiedPPI(n_strata=1, integration="draws", n_draws=9).fit(np.zeros(200), y)
    assert np.isnan(ends(drawn)).all()


def rare_zeros(seed, n=60, N=1000):
    """A much too strict judge, with labels that are almost all 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n + N)
    rate, f = (1 / (1 + np.exp(-(level + x))) for level in (4.5, 0.5))
    return f, np.where(np.arange(n + N) < n, rng.random(n + N) < rate, np.nan)


DRAWS = {"integration": "draws", "n_draws": 1000, "random_state": 0}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_draws_beyond_the_range_leave_an_interval():
    f, y = rare_zeros(135)
    e, wide = (StratifiedPPI(bounds=b, **DRAWS).fit(f, y) for b in ((0, 1), (-9, 9)))
    assert min(wide.estimate_, *ends(wide)) > 1  # outside the range
    assert (e.estimate_, ends(e)[1]) == (1, 1)
    assert_allclose(1 - ends(e)[0], wide.estimate_ - ends(wide)[0])


@pytest.mark.parametrize("how", [{}, DRAWS], ids=["exact", "draws"])
def test_a_search_compares_intervals_before_clipping(how):
    f, y = rare_zeros(7)
    two, three = (StratifiedPPI(n_strata=n, **how).fit(f, y) for n in (2, 3))
    assert two.standard_error_ > three.standard_error_
    assert np.diff(ends(two)) < np.diff(ends(three))  # because more of it is above 1
    assert StratifiedPPI(n_strata=(2, 3), **how).fit(f, y).n_strata_ == 3


@pytest.mark.parametrize("n_labels", [0, 1])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_group_without_an_interval_does_not_affect_the_search(n_labels):
    # Without noise and with a bias that depends on the score, many strata are best.
    rng = np.random.default_rng(0)
    f, group = rng.random(6000), np.repeat(np.arange(4), 1500)
    y = np.where(np.arange(6000) % 1500 < 400, np.abs(2 * f - 1), np.nan)
    y[4500 + n_labels :] = np.nan
    searched = GroupedPPI(StratifiedPPI(n_strata=(2, 5, 10)))
    with_it, without = (
        searched.fit(f[g], y[g], group[g]).estimate() for g in (group > -1, group < 3)
    )
    assert_allclose(with_it.low[:3], without.low)
    ten = GroupedPPI(StratifiedPPI(n_strata=10)).fit(f, y, group).estimate()
    assert_allclose(with_it.low, ten.low)


def test_a_search_of_one_number_is_no_search():
    f, y = biased_autorater()
    one, five = (StratifiedPPI(n_strata=n).fit(f, y).estimate() for n in ((5,), 5))
    assert (one.guarantee, one.low, one.high) == (five.guarantee, five.low, five.high)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_draws_cover_too_little_where_labels_are_rare():
    rng, n_sets, n = np.random.default_rng(13), 300, 100
    f, p = scores_and_rates("too strict", (n_sets, n + 2000), rng)
    y = np.where(np.arange(n + 2000) < n, rng.random(f.shape) < p, np.nan)
    found, truth = intervals(f, y), 0.9825
    hits = {name: np.sum((low <= truth) & (truth <= high)) for name, (low, high) in found.items()}
    assert hits["quantile", "exact", "K = 5"] >= binom.ppf(1e-3, n_sets, 0.95)
    # The figures of the docstring.
    assert hits["quantile", "draws", "K = 5"] < binom.ppf(1e-3, n_sets, 0.95)
    for low, high in found.values():
        assert np.all((low < high) | np.isnan(low))
