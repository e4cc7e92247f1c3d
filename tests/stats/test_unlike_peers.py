"""Groups unlike their peers: the mixture against quadrature, and what it does to sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.crossed_mixture_slow import mixture_posterior
from scipy.special import expit
from scipy.stats import beta, norm

from skbench.containers import LISTED
from skbench.stats import mixed
from skbench.stats.mixed import _crossed, _peers
from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed._intervals import mixture_interval, skewed_interval
from skbench.stats.mixed._moments import Moments

TAU2, OMEGA2, MODEL_VARIANCE = 0.25, 0.04, 2.5**2


def table(n_models=4, n_topics=20, n=20, broken=((3, 1),), seed=0):
    """Right answers near .85, but for the broken cells, and codes of model and topic."""
    rng = np.random.default_rng(seed)
    eta = 1.7 + 0.4 * rng.normal(size=(n_topics, 1)) + 0.2 * rng.normal(size=(1, n_models))
    p = expit(eta + 0.2 * rng.normal(size=(n_topics, n_models)))
    for cell in broken:
        p[cell] = 0.1
    topic, model = np.divmod(np.arange(p.size), n_models)
    size = np.full(p.size, float(n))
    return rng.binomial(n, p).ravel().astype(float), size, model, topic, p.ravel()


def test_mixture_against_quadrature():
    k = np.array([[9.0, 8], [8, 9], [9, 0], [7, 9], [10, 9], [8, 7]])
    n = np.full(k.shape, 10.0)
    mean, unlike = mixture_posterior(
        k, n, TAU2, OMEGA2, MODEL_VARIANCE, 0.02, _peers.UNLIKE_VARIANCE
    )
    topic, model = np.divmod(np.arange(12), 2)
    arranged = _crossed._arranged(model, topic, None, (), 1 / MODEL_VARIANCE)
    likelihood = fitting.Binomial(k, n)
    start = fitting.BlockFit(None, *likelihood.start, None, None)
    peers = _peers.Peers(0.02, k == 0, np.ones(6))
    structure = _peers._set_apart(arranged.structure, peers)
    fits = fitting.fits_at(likelihood, structure, np.array([[TAU2, OMEGA2]]), start)

    where, laws = arranged.where, _peers.components(structure, fits)

    def posterior(_, law):
        return mixed._moments.binomial_posterior(k.ravel(), n.ravel(), _crossed._rows(where, law))

    found, parts = _crossed._components(fits, np.ones(1), laws, 0.02, where, posterior)
    score = (1 - found) * parts[0].score + found * parts[1].score
    # The odd cell counts as odd in the cavities of the others: its odds are 250 to 1.
    assert_allclose(found.reshape(k.shape), unlike, rtol=0, atol=1e-3)
    assert_allclose(score.reshape(k.shape), mean, rtol=0, atol=4e-3)
    assert unlike[2, 1] > 0.99


@pytest.mark.parametrize("shift", [-3.0, -0.3, 0.3])
def test_the_share_is_where_expectation_and_maximization_end(shift):
    factors = np.random.default_rng(0).normal(shift, 1, size=(3, 2000))
    share = _peers.posterior_share(factors, 0.01)
    unlike = expit(np.log(share / (1 - share))[:, None] + factors).sum(axis=1)
    assert_allclose(share, (40 * 0.01 + unlike) / 2040, rtol=1e-12)
    assert_allclose(share[0], _peers.posterior_share(factors[0], 0.01), rtol=1e-12)


def test_no_share_is_the_normal_model():
    k, n, model, topic, _ = table(broken=())
    plain = mixed.crossed_logit(k, n, model, topic, unlike_share=0)
    nearly = mixed.crossed_logit(k, n, model, topic, unlike_share=1e-9)
    assert_allclose(nearly.score, plain.score, atol=1e-4)
    assert_allclose(nearly.variance, plain.variance, rtol=1e-3)
    assert (plain.unlike_peers == 0).all() and nearly.unlike_peers.max() < 1e-4
    ends = mixture_interval(plain.components, plain.unlike_peers)
    assert_allclose(ends, skewed_interval(plain.mean, plain.variance, plain.skewness))


@pytest.mark.parametrize("correlation", [None, 0.7 * np.eye(4) + 0.3])
def test_a_broken_cell_is_seen_and_leaves_the_others_alone(correlation):
    k, n, model, topic, p = table()
    odd = p == 0.1
    robust = mixed.crossed_logit(k, n, model, topic, correlation)
    normal = mixed.crossed_logit(k, n, model, topic, correlation, unlike_share=0)
    assert robust.unlike_peers[odd] > 0.9 and robust.unlike_peers[~odd].max() < 0.5
    assert abs(robust.score - k / n)[odd] < 0.05 < 0.15 < abs(normal.score - k / n)[odd]
    assert robust.interaction_variance < 0.5 * normal.interaction_variance
    assert robust.variance[~odd].mean() < normal.variance[~odd].mean()


def test_direct_estimates_have_the_same_mixture():
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(80), 4)
    z = 0.1 * rng.normal(size=20)[topic] + 0.05 * rng.normal(size=80)
    z[7] -= 1.0
    fit = mixed.crossed_normal(z, np.full(80, 0.05**2), model, topic)
    assert fit.unlike_peers[7] > 0.99 and np.delete(fit.unlike_peers, 7).max() < 0.5
    assert abs(fit.score[7] - z[7]) < 0.02
    scaled = mixed.crossed_normal(3 + 10 * z, np.full(80, 0.5**2), model, topic)
    assert_allclose(scaled.score, 3 + 10 * fit.score, rtol=1e-8)
    assert_allclose(scaled.unlike_peers, fit.unlike_peers, rtol=1e-6)
    assert_allclose(scaled.components[1].mean, 3 + 10 * fit.components[1].mean, rtol=1e-8)


def test_interval_of_a_mixture_by_its_distribution():
    means, variances, share = np.array([0.0, 4.0]), np.array([1.0, 0.25]), np.array([0.1])
    parts = [
        Moments(*np.array([[m], [v], [0], [m], [v]])) for m, v in zip(means, variances, strict=True)
    ]
    ends = np.array(mixture_interval(parts, share, 0.9))[:, 0]
    cdf = 0.9 * norm.cdf(ends, 0, 1) + 0.1 * norm.cdf(ends, 4, 0.5)
    assert_allclose(cdf, [0.05, 0.95], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 50])
def test_a_broken_cell_is_covered_and_listed(n):
    hits, listed, false, errors, normal_errors = [], [], [], [], []
    for seed in range(60):
        k, size, model, topic, p = table(n=n, broken=((seed % 20, seed % 4),), seed=seed)
        odd = p == 0.1
        fit = mixed.crossed_logit(k, size, model, topic)
        low, high = mixture_interval(fit.components, fit.unlike_peers)
        hits.append(expit(low[odd]) <= 0.1 <= expit(high[odd]))
        listed.append(fit.unlike_peers[odd] > LISTED)
        false.append(np.mean(fit.unlike_peers[~odd] > LISTED))
        errors.append(np.mean((fit.score - p) ** 2))
        normal = mixed.crossed_logit(k, size, model, topic, unlike_share=0)
        normal_errors.append(np.mean((normal.score - p) ** 2))
    # Lower ends of the bands of 60 sets at .93 and .88 (n = 10) or .95.
    assert np.mean(hits) >= 0.83
    assert np.mean(listed) >= (0.75 if n == 10 else 0.85)
    assert np.mean(false) <= 0.005
    assert np.mean(errors) <= 0.7 * np.mean(normal_errors)


def test_odds_against_one_prior_by_integration():
    k, n, mean, variance = np.array([1.0, 8, 4]), np.array([10.0, 10, 4]), 0.85, 0.004
    alone = mixed.alone_counts(k, n)
    x = np.linspace(-25, 25, 20001)
    p = expit(x)[:, None]
    wide = norm.pdf(x, 0, 2.5)[:, None] * p**k * (1 - p) ** (n - k)
    mass = np.trapezoid(wide, x, axis=0)
    assert_allclose(alone.log_mass, np.log(mass), atol=1e-6)
    moments = [np.trapezoid(wide * p**j, x, axis=0) / mass for j in (1, 2)]
    assert_allclose(alone.posterior.score, moments[0], atol=1e-6)
    assert_allclose(alone.posterior.variance, moments[1] - moments[0] ** 2, atol=1e-6)
    precision = mean * (1 - mean) / variance - 1
    q = np.linspace(0, 1, 200001)[1:-1, None]
    ordinary = beta.pdf(q, mean * precision, (1 - mean) * precision) * q**k * (1 - q) ** (n - k)
    expected = np.log(np.trapezoid(ordinary, q, axis=0))
    assert_allclose(mixed.log_mass_of_counts(k, n, mean, variance), expected, atol=1e-6)


def test_a_group_without_peers_is_unlike_none():
    """Models of one group each: nobody says anything of them, whatever they score."""
    z = 60 + 12 * np.random.default_rng(0).normal(size=37)
    codes = np.arange(37)
    fit = mixed.crossed_normal(z, np.full(37, 4.0), codes, codes)
    assert fit.unlike_peers.max() < 0.02 and fit.unlike_share < 0.02
    assert_allclose(fit.score, z, atol=0.02)  # nothing is borrowed either
