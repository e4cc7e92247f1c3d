import numpy as np
import pandas as pd
import pytest
from reference.risk_slow import leave_one_out
from sklearn.linear_model import LinearRegression

from skbench import (
    EmpiricalBayes,
    GroupSummary,
    Sampling,
    estimated_risk,
    make_items,
    summarize_items,
)
from skbench.stats import shrinkage
from skbench.stats.intervals import binomial


def shrinkage_risk(summary, prior_mean, amounts):
    return estimated_risk(amounts, summary, method="sure", prior_mean=prior_mean)


def normal_groups(rng, n_groups=120, A=0.01):
    sigma2 = rng.uniform(0.005, 0.04, n_groups)
    x = rng.normal(size=n_groups)
    mu = 0.5 + 0.1 * x + np.sqrt(A) * rng.normal(size=n_groups)
    z = mu + np.sqrt(sigma2) * rng.normal(size=n_groups)
    X = pd.DataFrame({"x": x})
    n = np.full(n_groups, 10)
    return GroupSummary(z, sigma2, n, X.index, X, sampling=Sampling("continuous")), mu


def binomial_groups(rng, n_groups=120):
    x = rng.normal(size=n_groups)
    mu = np.clip(0.5 + 0.1 * x + 0.1 * rng.normal(size=n_groups), 0.02, 0.98)
    k = rng.binomial(11, mu)
    p = (k + 1) / 13
    X = pd.DataFrame({"x": x})
    return GroupSummary(k / 11, p * (1 - p) / 11, np.full(n_groups, 11), X.index, X), mu


def test_no_shrinkage_has_the_sampling_variance():
    g, _ = normal_groups(np.random.default_rng(0))
    found = shrinkage_risk(g, np.full(120, 0.5), [np.inf, 0.02])
    assert np.allclose(found.losses["A=inf"], g.sigma2)
    w = 0.02 / (0.02 + g.sigma2)
    expected = (1 - w) ** 2 * (g.z - 0.5) ** 2 + (2 * w - 1) * g.sigma2
    assert np.allclose(found.losses["A=0.02"], expected)
    assert found.reference == "A=inf" and found.items_share == 1


def test_counts_leave_one_item_out():
    g, _ = binomial_groups(np.random.default_rng(1), 10)
    found = shrinkage_risk(g, np.full(10, 0.4), [0.02, 0.0, np.inf])
    k = np.round(g.z * 11).astype(int)

    def rule(z, sigma2):
        return shrinkage.posterior_mean(z, 0.4, sigma2, 0.02)

    assert np.allclose(found.losses["A=0.02"], leave_one_out(rule, k, g.n))
    assert np.allclose(found.losses["A=0"], leave_one_out(lambda z, s: 0 * z + 0.4, k, g.n))
    assert found.items_share == pytest.approx(10 / 11)


@pytest.mark.parametrize("make", [normal_groups, binomial_groups])
def test_agrees_with_the_true_risk(make):
    """Prior mean known; the true risk of counts with one item less is that of new counts."""
    methods = ["moments", "paule-mandel", "prasad-rao"]
    rng = np.random.default_rng(2)
    differences = {name: [] for name in methods}
    for _ in range(60):
        g, mu = make(rng)
        f = 0.5 + 0.1 * g.X["x"].to_numpy()
        found = shrinkage_risk(g, f, methods)
        z, sigma2 = g.z, g.sigma2
        if make is binomial_groups:
            k = rng.binomial(10, mu)
            z, sigma2 = k / 10, (k + 1) * (11 - k) / 12**2 / 10
        for name in methods:
            A = shrinkage.prior_variance(z - f, sigma2, name)
            loss = np.mean((shrinkage.posterior_mean(z, f, sigma2, A) - mu) ** 2)
            differences[name].append(found.risk[name] - loss)
    for name in methods:
        error = np.std(differences[name], ddof=1) / np.sqrt(60)
        assert abs(np.mean(differences[name])) < 4 * error


def test_finds_the_amount_of_shrinkage():
    """Among amounts a factor of four apart, the true one has the smallest mean risk."""
    rng = np.random.default_rng(3)
    amounts = [0.0006, 0.0025, 0.01, 0.04, 0.16]
    total = 0
    for _ in range(20):
        g, _ = normal_groups(rng, 300)
        total += shrinkage_risk(g, 0.5 + 0.1 * g.X["x"].to_numpy(), amounts).risk
    assert total.idxmin() == "A=0.01"


def test_takes_the_prior_means_of_a_fit():
    data = make_items(4, 30, 10, random_state=0)
    g = summarize_items(data.items, ["model", "topic"], features=data.features)
    X = g.X[["feature"]]
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(**g.fit_args | {"X": X})
    found = shrinkage_risk(g, eb.prior_mean_, shrinkage.PRIOR_VARIANCE_METHODS)
    assert list(found.risk.index) == list(shrinkage.PRIOR_VARIANCE_METHODS)
    assert "120 groups in 30 topics" in repr(found)


@pytest.mark.parametrize("amounts", [["pmtt"], [-1.0], [np.nan], [None], []])
def test_shrinkage_risk_refuses(amounts):
    g, _ = normal_groups(np.random.default_rng(0))
    with pytest.raises(ValueError):
        shrinkage_risk(g, np.full(120, 0.5), amounts)


def test_prior_means_are_checked():
    g, _ = normal_groups(np.random.default_rng(0))
    with pytest.raises(ValueError, match="finite"):
        shrinkage_risk(g, np.full(120, np.nan), [0.0])
    with pytest.raises(ValueError, match="index"):
        shrinkage_risk(g, pd.Series(np.full(120, 0.5))[::-1], [0.0])
    with pytest.raises(ValueError, match="prior_mean"):
        estimated_risk([0.0], g, method="sure")
    single = GroupSummary([1.0], [0.2], [1], pd.Index(["a"]))
    with pytest.raises(ValueError, match="single item"):
        shrinkage_risk(single, [0.5], [0.0])


@pytest.mark.parametrize("variance", ["smoothed", "plug-in", "agresti", "pooled"])
def test_counts_are_shrunk_by_the_variances_of_the_summary(variance):
    """Each item left out in turn, the others summarized as the summary was."""
    k, n = np.array([0, 3, 8, 10]), np.full(4, 10)
    sigma2 = binomial.sampling_variance(k, n, variance)
    g = GroupSummary(k / n, sigma2, n, pd.Index(list("abcd")))
    expected = np.zeros(4)
    for at in range(4):
        for out, times in ((1, k[at]), (0, n[at] - k[at])):
            if times == 0:
                continue
            rest = k[at] - out
            given = sigma2[at] * 10 / 9
            if variance != "pooled":
                given = binomial.sampling_variance(rest, 9, variance)
            estimate = 0.5 + 0.01 / (0.01 + given) * (rest / 9 - 0.5)
            unbiased = k[at] / 10 * (1 - k[at] / 10) / 9 * 10 / 9
            loss = (estimate - out) ** 2 - (rest / 9 - out) ** 2 + unbiased
            expected[at] += times / 10 * loss
    losses = shrinkage_risk(g, np.full(4, 0.5), [0.01]).losses["A=0.01"]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


@pytest.mark.parametrize("choice", ["reml", 0.01])
def test_one_amount_needs_no_list(choice):
    g, _ = normal_groups(np.random.default_rng(0))
    one, listed = (shrinkage_risk(g, np.full(120, 0.5), given) for given in (choice, [choice]))
    assert one.losses.equals(listed.losses)
