"""Topics far from the others: each a problem of its own, how far it is integrated over."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import cauchy, invgamma, norm

from skbench.stats.mixed import _crossed as mixed
from skbench.stats.mixed import _far_topics
from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed._peers import Peers

VARIANCES = np.array([[0.3, 0.05], [0.4, 0.02]])
FAR = [4, 7]


def problem(kind, *, correlated=False, missing=False, features=False):
    """10 topics x 4 models, two topics far from the others; likelihood, structure, stretch."""
    rng = np.random.default_rng(3)
    topic, model = np.divmod(np.arange(40), 4)
    kept = np.ones(40, dtype=bool) if not missing else rng.random(40) < 0.8
    topic, model = topic[kept], model[kept]
    eta = 1.5 + 0.3 * model - np.isin(topic, FAR) * np.where(topic == FAR[0], 4.0, 2.5)
    eta = eta + 0.3 * rng.normal(size=10)[topic] + 0.2 * rng.normal(size=len(topic))
    correlation = 0.7 * np.eye(4) + 0.3 if correlated else None
    factors = [rng.normal(size=(10, 2))[topic]] if features else ()
    arranged = mixed._arranged(model, topic, correlation, factors, mixed._MODEL_STD**-2)
    where = arranged.where
    if kind == "counts":
        n = np.where(topic == FAR[0], 4, 20)
        blocks = where.blocks(rng.binomial(n, expit(eta))), where.blocks(n)
        likelihood = fitting.Binomial(*blocks, arranged.correlation)
    else:
        sigma2 = np.where(topic == FAR[0], 0.5, 0.1)
        z = eta + np.sqrt(sigma2) * rng.normal(size=len(topic))
        likelihood = fitting.Gaussian(
            where.blocks(z), where.blocks(1 / sigma2), arranged.correlation
        )
    stretch = np.ones(10)
    stretch[FAR] = 12.0, 5.0
    structure = fitting.with_kinds(likelihood, arranged.structure._replace(topic=stretch))
    variances = np.hstack([VARIANCES, np.full((2, len(factors)), 0.2)])
    peers = Peers(0.01, None, stretch, stretch)
    return likelihood, structure, peers, variances


def fits_of(likelihood, structure, variances):
    start = fitting.BlockFit(None, *likelihood.start, likelihood.start_noise, None)
    return fitting.fits_at(likelihood, structure, variances, start)


@pytest.mark.parametrize("kind", ["scores", "counts"])
@pytest.mark.parametrize(
    "case", [{}, {"correlated": True}, {"missing": True}, {"features": True}], ids=str
)
def test_each_topic_alone_is_a_fit_of_all(kind, case):
    likelihood, structure, peers, variances = problem(kind, **case)
    fits = fits_of(likelihood, structure, variances)
    far = _far_topics.far_topics(likelihood, structure, peers, fits, np.array([0.6, 0.4]))
    # Exact for scores; else the others' pseudo-observations stay where they were.
    exact = {"rtol": 1e-6, "atol": 1e-8} if kind == "scores" else {"rtol": 0.02, "atol": 0.005}
    logs, scales = [], np.append(1, _far_topics._LEVELS * peers.stretch[FAR[0]])
    for number, scale in enumerate(scales):
        own = peers.stretch.copy()
        own[FAR[0]] = scale
        alone = fitting.with_kinds(likelihood, structure._replace(topic=own))
        all_at_once = fits_of(likelihood, alone, variances)
        logs.append(fitting.log_evidence(likelihood, all_at_once))
        for name in ("mean", "variance", "noisy_mean", "noisy_variance", "slope"):
            expected = getattr(all_at_once.posterior, name)
            found = getattr(far.fits.posterior, name)
            if expected is None:
                assert found is None
                continue
            filled = all_at_once.W[0, FAR[0]] > 0
            at = slice(2 * number, 2 * number + 2)
            assert_allclose(found[at, 0][:, filled], expected[:, FAR[0]][:, filled], **exact)
    # Masses of the inverse gamma law that makes a normal law a Cauchy one.
    mass = 0.25 * _far_topics._STEP * scales * invgamma.pdf(scales, 0.5, scale=0.5)
    expected = np.log(np.append(0.75, mass[1:]))[:, None] + np.log([0.6, 0.4])
    expected = expected + np.array(logs) - logs[_far_topics._MOST_PROBABLE]
    expected = np.exp(expected - expected.max())
    assert_allclose(far.weights[:, 0], (expected / expected.sum()).ravel(), **exact)


def test_levels_against_the_cauchy_law():
    # One far topic, seen with a normal error, all else known: the integral has one variable.
    topics, models = 400, 3
    topic, model = np.divmod(np.arange(topics * models), models)
    arranged = mixed._arranged(model, topic, None, (), mixed._MODEL_STD**-2)
    z = np.sqrt(0.3) * np.random.default_rng(0).normal(size=topics)[topic]
    for away, noise in ((-4.0, 1.0), (-4.0, 3.0), (-2.5, 0.5), (3.0, 2.0)):
        z[topic == 0] = away
        sigma2 = np.where(topic == 0, noise, 1e-3)
        likelihood = fitting.Gaussian(*(arranged.where.blocks(x) for x in (z, 1 / sigma2)))
        # The scale at which the posterior expects just this square, see _peers._regarded.
        stretch = np.ones(topics)
        for _ in range(100):
            prior = 0.3 * stretch[0]
            weight = prior / (prior + noise / models)
            square = (weight * away) ** 2 + weight * noise / models
            stretch[0] = (3 + square / 0.3) / 4
        structure = fitting.with_kinds(likelihood, arranged.structure._replace(topic=stretch))
        fits = fits_of(likelihood, structure, np.array([[0.3, 1e-6]]))
        peers = Peers(0.01, None, stretch, stretch)
        far = _far_topics.far_topics(likelihood, structure, peers, fits, np.ones(1))
        center = fits.posterior.coefficients[0].mean()

        def density(a, power=0, away=away - center, noise=noise / models):
            law = 0.75 * norm.pdf(a, 0, 0.3**0.5) + 0.25 * cauchy.pdf(a, scale=0.3**0.5)
            return a**power * law * norm.pdf(a, away, noise**0.5)

        total, first, second = (
            quad(density, -30, 30, args=(power,), points=[0, away], limit=200)[0]
            for power in range(3)
        )
        mean = first / total
        std = np.sqrt(second / total - mean**2)
        assert abs(far.topic_mean[0] - mean) < 0.06 * std
        assert_allclose(np.sqrt(far.topic_mean_variance[0]), std, rtol=0.05)


@pytest.mark.parametrize("prior", [0.3, 2.4])
def test_probability_of_being_far(prior):
    # By the pseudo-observations as they are, whatever variance they were found with.
    seen, noise = np.array([0.2, 0.8, 1.7, -2.5, 4.0]), 0.4
    precision = 1 / (prior + noise)
    found, _ = _far_topics.far_probability(precision * seen, precision, prior, 0.3)
    far = [
        quad(lambda a, y=y: cauchy.pdf(a, 0, 0.3**0.5) * norm.pdf(y, a, noise**0.5), -20, 20)[0]
        for y in seen
    ]
    near = 3 * norm.pdf(seen, 0, (0.3 + noise) ** 0.5)
    assert_allclose(found, far / (far + near), rtol=0, atol=0.03)
