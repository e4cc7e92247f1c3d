"""Crossed random effects of models and topics, for counts and for direct estimates."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed import _peers
from skbench.stats.mixed._far_topics import far_topics
from skbench.stats.mixed._layout import Layout, layout
from skbench.stats.mixed._moments import (
    Cavity,
    Moments,
    binomial_posterior,
    gaussian_moments,
    mean_moments,
    mixture_moments,
)
from skbench.stats.mixed._structure import Structure
from skbench.stats.mixed._together import alone, together

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(30)
_MODEL_STD = 2.5  # of the weak prior of a model's log odds
_START = 0.5, 0.1  # variances of topic and interaction
_PRIOR_STD = 1.0, 0.5  # half-normal scales of their standard deviations
_EXACT = 1e-10  # least sampling variance, of the variance of the direct estimates
_NEARLY_EXACT = 1e-6  # of the variance of z, where odds lose their digits
_FLAT = 1e-8  # precision of the model effects, in the same unit
_UNLIKE_SHARE = 0.01  # of groups that are unlike their peers, before any data


class CrossedFit(NamedTuple):
    """A fitted crossed model.

    Attributes
    ----------
    mean, variance, skewness : ndarray of shape (n_groups,)
        Posterior of each group on the scale of the model: log odds for counts.
    score, score_variance : ndarray of shape (n_groups,)
        Posterior mean and variance in score units: accuracies for counts.
    coefficients : ndarray of shape (n_coefficients,)
        Posterior means of the models' effects, then of the coefficients of the factors.
    coefficient_covariance : ndarray of shape (n_coefficients, n_coefficients)
        Their posterior covariance.
    topic_mean, topic_mean_variance : ndarray of shape (n_topics,)
        Posterior means and variances of the topics' effects, coefficients taken as known;
        0 where each topic has one group.
    topic_variance, interaction_variance : float
        Variances of the topics' effects and of model x topic; posterior means where
        they are integrated over. Where each topic has one group they cannot be told
        apart, and all is interaction.
    factor_variances : ndarray of shape (n_factors,)
        Variances of the coefficients of each factor.
    risk_ratio : float
        Stein's unbiased estimate of the squared error of the posterior means over
        their variance, cut to [1, 2]. Where the variances are integrated over, the error is
        that at their restricted maximum.
    unlike_peers : ndarray of shape (n_groups,)
        Posterior probability that a group is unlike its peers; 0 where none was let be.
    components : tuple of two Moments
        Posterior of each group if it is like its peers, and if it is not.
    unlike_share : float
        Share of groups unlike their peers, as learned; 0 where none was let be.
    """

    mean: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray
    score: np.ndarray
    score_variance: np.ndarray
    coefficients: np.ndarray
    coefficient_covariance: np.ndarray
    topic_mean: np.ndarray
    topic_mean_variance: np.ndarray
    topic_variance: float
    interaction_variance: float
    factor_variances: np.ndarray
    risk_ratio: float
    unlike_peers: np.ndarray
    components: tuple[Moments, Moments]
    unlike_share: float


def crossed_logit(
    k, n, model, topic, item_correlation=None, factors=(), *, unlike_share=_UNLIKE_SHARE, tell=None
):
    """Crossed random effects on the logit scale, for counts.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items.
    model, topic : ndarray of int of shape (n_groups,)
        Codes from 0 without gaps.
    item_correlation : ndarray of shape (n_models, n_models), default=None
        Correlation of errors of models on the same items of a topic; None for
        independence. Then no model may occur twice in a topic.
    factors : sequence of ndarray of shape (n_groups, n_columns), default=()
        Covariates with random coefficients. Those of one factor `F` have the same variance,
        learned like the others: groups then covary as multiples of the kernel ``F F'``.
    unlike_share : float, default=0.01
        Expected share of groups unlike their peers, before any data; 0 takes all
        interactions and topics as normal.
    tell : callable, default=None
        Called without arguments at every step of the fit, for those who wait.

    Returns
    -------
    CrossedFit

    Notes
    -----
    ``k ~ Binomial(n, expit(eta))``, ``eta = mu_model + a_topic + e``, with
    ``a ~ N(0, topic_variance)``, ``e ~ N(0, interaction_variance)`` and a weak prior
    ``mu ~ N(0, 2.5^2)``, which keeps a model finite that is always right or wrong.

    The variances maximize the restricted likelihood: `mu` is integrated out. Every
    count is replaced by the Gaussian pseudo-observation that gives its group the
    posterior mean and variance of the exact binomial likelihood: expectation
    propagation [1]_, [2]_. Penalized quasi-likelihood [3]_ takes the working
    response instead, whose errors do not shrink with the number of groups. The
    posterior moments of a group use its exact likelihood once more. Against nested
    quadrature on ten sets of 6 topics x 3 models, with known variances, posterior means
    were off by at most .0006 (n = 2), .00004 (n = 5) and .00001 (n = 10), posterior
    variances by 5, 1.5 and 0.5 %; those of penalized quasi-likelihood by .046, .030 and
    .017, and 71, 53 and 36 % (test_approximation_errors). Variances found at n = 10 were
    within 10 % of the exact restricted maximum (test_variances_against_quadrature).

    Groups unlike their peers: the interaction is a mixture
    ``(1 - share) N(0, interaction_variance) + share N(0, 2.5^2)``, so that one broken group
    keeps near its own count and does not widen all others. What the others say of
    a group, with either variance, predicts its count: the ratio of the two probabilities
    times the prior odds is the odds that it is unlike them. `share` is found by
    expectation and maximization with a prior worth 40 groups; groups with odds above 1 get the
    wide variance, and all is fitted again. Against nested quadrature of the mixture:
    test_mixture_against_quadrature.

    Topics far from the others: one in four effects of topics has a Cauchy law of the same
    scale. Topics whose scale weights ``(3 + E a^2 / topic_variance) / 4`` exceed 2, or that
    are far with a probability above 1/2, get these weights as factors of their variance, so
    that they do not widen the others. Where the probability exceeds .4, or there is such a
    factor, the variance is then integrated over, topic by topic: with the most
    probable one in its place posteriors of topics of few items would be too narrow.

    The roots of the variances have weak half-normal priors, of scale 1/2 for the
    interaction and 1 for the others. Where the data leave those of topic and interaction
    uncertain, they are integrated over a grid.

    Shared items: the correlation `R` of the errors is split in ``c I``, with `c` the
    least eigenvalue, and the rest. The likelihood of a count is taken to the power
    ``1 / c``, and the rest is Gaussian noise ``D (R - c I) D`` common to the counts
    of a topic, ``D = 1 / sqrt(n p (1 - p))`` at the posterior mean. Together they
    have the variance of the counts and their correlation.

    References
    ----------
    .. [1] Minka (2001). Expectation propagation for approximate Bayesian inference.
       UAI 17.
    .. [2] Rasmussen and Williams (2006). Gaussian Processes for Machine Learning,
       section 3.6. MIT Press.
    .. [3] Breslow and Clayton (1993). Approximate inference in generalized linear
       mixed models. Journal of the American Statistical Association 88.

    Examples
    --------
    >>> import numpy as np
    >>> topic, model = np.divmod(np.arange(40), 2)
    >>> k = np.where(topic < 10, 2, 8) + model
    >>> fit = crossed_logit(k, np.full(40, 10), model, topic)
    >>> fit.score[[0, 1, 38, 39]].round(2)
    array([0.23, 0.34, 0.77, 0.86])
    """
    arranged = _arranged(model, topic, item_correlation, factors, _MODEL_STD**-2)
    where = arranged.where
    likelihood = fitting.Binomial(where.blocks(k), where.blocks(n), arranged.correlation)

    def posterior_of(likelihood, where):
        own = where.rows(likelihood.k_own), where.rows(likelihood.n_own)
        return lambda _, law: binomial_posterior(*own, _rows(where, law))

    return alone(_crossed_fit(likelihood, arranged, posterior_of, unlike_share, tell))


def crossed_normal(
    z,
    sigma2,
    model,
    topic,
    item_correlation=None,
    factors=(),
    *,
    unlike_share=_UNLIKE_SHARE,
    tell=None,
):
    """Crossed random effects for direct estimates with known sampling variances.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    model, topic, item_correlation, factors, unlike_share, tell
        As in `crossed_logit`.

    Returns
    -------
    CrossedFit

    Notes
    -----
    ``z ~ N(eta, sigma2)`` and the model of `crossed_logit` for `eta`, in units of the
    standard deviation of `z`, with a flat prior for the models. Nothing is
    approximated. A `sigma2` of 0 counts as 1e-10 of the variance of `z`; with one below 1e-6 of it
    nobody is looked for who is unlike the others, for the odds would be rounding.

    Examples
    --------
    >>> import numpy as np
    >>> topic, model = np.divmod(np.arange(40), 2)
    >>> z = np.where(topic < 10, 0.2, 0.8) + 0.1 * model
    >>> fit = crossed_normal(z, np.full(40, 0.02), model, topic)
    >>> fit.score[[0, 1, 38, 39]].round(2)
    array([0.23, 0.33, 0.77, 0.87])
    """
    data = [z], sigma2, model, topic, item_correlation, factors
    return crossed_normal_each(*data, unlike_share=unlike_share, tell=tell)[0]


def crossed_normal_each(
    several,
    sigma2,
    model,
    topic,
    item_correlation=None,
    factors=(),
    *,
    unlike_share=_UNLIKE_SHARE,
    tell=None,
):
    """`crossed_normal` of several direct estimates of the same groups, in one go.

    Parameters
    ----------
    several : sequence of ndarray of shape (n_groups,)
        Direct estimates.
    sigma2, model, topic, item_correlation, factors, unlike_share, tell
        As in `crossed_normal`.

    Returns
    -------
    list of CrossedFit

    Notes
    -----
    The fits go in step, eight of some hundred groups for the time of two; each gives what it
    gives alone.

    When not to use it: for estimates of groups that differ.

    Examples
    --------
    >>> import numpy as np
    >>> topic, model = np.divmod(np.arange(40), 2)
    >>> z = np.where(topic < 10, 0.2, 0.8) + 0.1 * model
    >>> fits = crossed_normal_each([z, z + 0.1], np.full(40, 0.02), model, topic)
    >>> [fit.score[0].round(2) for fit in fits]
    [np.float64(0.23), np.float64(0.33)]
    """
    arranged = _arranged(model, topic, item_correlation, factors, _FLAT)
    return together([_crossed_normal(z, sigma2, arranged, unlike_share, tell) for z in several])


def _crossed_normal(z, sigma2, arranged, unlike_share, tell):
    where = arranged.where
    center, scale = np.mean(z), np.std(z) if np.ptp(z) > 0 else 1.0
    if np.any(sigma2 < _NEARLY_EXACT * scale**2):
        unlike_share = 0
    precision = scale**2 / np.maximum(sigma2, _EXACT * scale**2)
    standardized = where.blocks((z - center) / scale)
    likelihood = fitting.Gaussian(standardized, where.blocks(precision), arranged.correlation)

    def posterior_of(likelihood, where):
        def posterior(part, law):
            if unlike_share:
                mass = likelihood.log_mass(law.noisy_mean, law.noisy_variance)
                seen = where.rows(part.W), where.rows(part.b)
                return where.rows(mass), gaussian_moments(*seen, _rows(where, law))
            # The same, without dividing an exact observation out and in again.
            mean, variance = where.rows(part.posterior.mean), where.rows(part.posterior.variance)
            return None, Moments(mean, variance, np.zeros_like(mean), mean, variance)

        return posterior

    fit = yield from _crossed_fit(likelihood, arranged, posterior_of, unlike_share, tell)
    squared = {
        name: scale**2 * getattr(fit, name)
        for name in fit._fields
        if "variance" in name or "covariance" in name
    }
    n_models = where.n_models
    return fit._replace(
        mean=center + scale * fit.mean,
        score=center + scale * fit.score,
        coefficients=scale * fit.coefficients
        + center * (np.arange(len(fit.coefficients)) < n_models),
        topic_mean=scale * fit.topic_mean,
        components=tuple(_rescaled(part, center, scale) for part in fit.components),
        **squared,
    )


def logistic_moments(mean, variance):
    """Mean and variance of an accuracy whose log odds are normal.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Of the log odds.

    Returns
    -------
    mean, variance : ndarray of shape (n_groups,)
        Of the accuracy, by Gauss-Hermite quadrature with 30 points.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = logistic_moments(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    >>> print(mean.round(3), variance.round(3))
    [0.5   0.845] [0.    0.016]
    """
    mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    points = expit(mean[..., None] + np.sqrt(2 * variance)[..., None] * _NODES)
    weights = _WEIGHTS / np.sqrt(np.pi)
    center = points @ weights
    return center, (points - center[..., None]) ** 2 @ weights


class _Arranged(NamedTuple):
    """Rows as blocks, and what hangs together in them.

    nested : each topic has one group, so topic and interaction are one effect
    """

    where: Layout
    structure: Structure
    start: np.ndarray
    prior_std: np.ndarray
    correlation: np.ndarray | None
    nested: bool


def _arranged(model, topic, item_correlation, factors, prior_precision):
    where = layout(model, topic)
    size = where.slot_model.shape[1]
    topic_factors = np.ones(1)
    start, prior_std = list(_START), list(_PRIOR_STD)
    nested = len(np.unique(topic)) == len(topic)
    if nested:
        topic_factors, start, prior_std = None, start[1:], prior_std[:1]
    start += [_START[1]] * len(factors)
    prior_std += [_PRIOR_STD[0]] * len(factors)
    batch = np.repeat(np.arange(-1, len(factors)), [where.n_models, *(f.shape[1] for f in factors)])
    design = where.design(np.concatenate([np.empty((len(topic), 0)), *factors], axis=1))
    structure = Structure(
        topic_factors, np.ones((1, size)), design, prior_precision, batch[design.order]
    )
    correlation = where.correlation(item_correlation)
    return _Arranged(where, structure, np.array(start), np.array(prior_std), correlation, nested)


def _rows(where, law):
    """The law of each row, from those of blocks."""
    return Cavity(*(None if x is None else where.rows(x) for x in law))


def _crossed_fit(likelihood, arranged, posterior_of, unlike_share, tell):
    problem = likelihood, arranged.structure, arranged.prior_std
    found = yield from _peers.fitting_peers(*problem, arranged.start, unlike_share, tell)
    fit, structure, peers = found
    fits, weights = yield from fitting.integrating(
        likelihood, structure, arranged.prior_std, fit, tell
    )
    where, laws = arranged.where, _peers.components(structure, fits)
    posterior = posterior_of(likelihood, where)
    groups = _components(fits, weights, laws, peers.share, where, posterior)
    topics = _topic_effects(fits, weights, structure, arranged.nested)
    if np.any(peers.far > 1):
        far = far_topics(likelihood, structure, peers, fits, weights)
        groups = _far_groups(groups, far, peers.share, where, posterior_of)
        topics = _written(topics, far.blocks, (far.topic_mean, far.topic_mean_variance))
    unlike, components = groups
    mixed = mixture_moments(components, np.stack([1 - unlike, unlike]))
    variances = weights @ fits.variances
    coefficients, covariance = _coefficients(fits, weights, structure.design.order)
    return CrossedFit(
        mean=mixed.mean,
        variance=mixed.variance,
        skewness=mixed.third / mixed.variance**1.5,
        score=mixed.score,
        score_variance=mixed.score_variance,
        coefficients=coefficients,
        coefficient_covariance=covariance,
        topic_mean=topics[0],
        topic_mean_variance=topics[1],
        topic_variance=0.0 if arranged.nested else float(variances[0]),
        interaction_variance=float(variances[0 if arranged.nested else 1]),
        factor_variances=variances[structure.n_effects :],
        risk_ratio=fitting.risk_ratio(
            likelihood, structure, fit, arranged.where.blocks(mixed.variance)
        ),
        unlike_peers=unlike,
        components=components,
        unlike_share=peers.share,
    )


def _components(fits, weights, laws, share, where, posterior):
    """Probability that each group is unlike its peers, and its moments if not, and if so.

    Weights of fits, or of fits for each group. Where nobody was let be unlike them, the
    second moments are the first.
    """
    if share == 0:
        ordinary = mean_moments(posterior(fits, laws[0])[1], weights)
        return np.zeros(len(ordinary.mean)), (ordinary, ordinary)
    masses, (narrow, wide) = zip(*(posterior(fits, law) for law in laws), strict=True)
    rows = [_rows(where, law) for law in laws]
    factors = _peers.log_bayes_factors(masses, where.rows(fits.W), rows)
    unlike = expit(logit(share) + factors)
    weights = weights.reshape(len(weights), -1)
    ordinary = mean_moments(narrow, _shares(weights, 1 - unlike))
    alone = mean_moments(wide, _shares(weights, unlike))
    return np.sum(weights * unlike, axis=0), (ordinary, alone)


def _far_groups(groups, far, share, where, posterior_of):
    """What `_components` found, anew for the groups of topics far from the others."""
    of_far, rows = _of_blocks(where, far.blocks)
    laws = _peers.components(far.structure, far.fits)
    posterior = posterior_of(far.likelihood, of_far)
    weights = far.weights[:, of_far.block]
    anew = _components(far.fits, weights, laws, share, of_far, posterior)
    return _written(groups, rows, anew)


def _of_blocks(where, blocks):
    """Layout of the rows of some blocks, and which rows they are."""
    place = np.full(len(where.slot_model), -1)
    place[blocks] = np.arange(len(blocks))
    rows = np.flatnonzero(place[where.block] >= 0)
    return where._replace(block=place[where.block[rows]], slot=where.slot[rows]), rows


def _written(old, at, new):
    """Nested tuples of arrays, with new values at some places."""
    if not isinstance(old, tuple):
        old = old.copy()
        old[at] = new
        return old
    parts = [_written(*pair) for pair in zip(old, [at] * len(old), new, strict=True)]
    return type(old)(*parts) if hasattr(old, "_fields") else tuple(parts)


def _shares(weights, probability):
    """Weights of the fits for each group, given that it is in a component."""
    shares = weights * np.maximum(probability, np.finfo(float).tiny)
    return shares / shares.sum(axis=0)


def _rescaled(part, center, scale):
    """Moments of a score that was standardized."""
    mean, variance = center + scale * part.mean, scale**2 * part.variance
    return Moments(mean, variance, scale**3 * part.third, mean, variance)


def _coefficients(fits, weights, order):
    """Posterior mean and covariance of the coefficients, in the order of the columns."""
    place, posterior = np.argsort(order), fits.posterior
    effects = posterior.coefficients[:, place]
    mean = weights @ effects
    away = effects - mean
    within = np.tensordot(weights, posterior.covariance, axes=1)
    return mean, within[np.ix_(place, place)] + (weights * away.T) @ away


def _topic_effects(fits, weights, structure, nested):
    """Posterior mean and variance of the topics' effects, coefficients taken as known."""
    if nested:
        return tuple(np.zeros((2, fits.W.shape[1])))
    means, variances, _ = _peers.topic_effects(structure, fits)
    mean = weights @ means
    return mean, weights @ (variances + (means - mean) ** 2)
