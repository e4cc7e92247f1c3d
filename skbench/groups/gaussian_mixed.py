"""Crossed random effects for scores of any kind with known sampling variances."""

import numpy as np

from skbench._progress import counter
from skbench.groups._base import Bounds
from skbench.groups._mixed import MixedModel, widened_ends
from skbench.stats import mixed
from skbench.stats.shrinkage import posterior_mean, shrinkage_factor

FEWEST_SCORES = 20  # behind a sampling variance, to tell who is unlike its peers


class GaussianMixedModel(MixedModel):
    """Shrink direct estimates towards what their model and their topic predict.

    Parameters
    ----------
    model : str, default="model"
        Column of `X` that names the model. Where it is absent there is one model.
    topic : str, default="topic"
        Column of `X` that names the topic, if `fit` gets no `groups`. Where there is
        neither, every group is a topic of its own.
    item_correlation : {"auto", "estimate"}, None, float or DataFrame, default="auto"
        Correlation of the errors of models that answered the same items, see
        `LogisticMixedModel`.
    kernels : None, "auto" or list of columns, default=None
        Features of `X` by which groups are alike, see `LogisticMixedModel`.
    calibration : {"risk", None}, default="risk"
        Widen intervals by Stein's unbiased estimate of the actual squared error over
        the posterior variance, if that is above 1; None believes the posterior.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.

    Attributes
    ----------
    topic_variance_ : float
        Variance of the topics' effects, score units squared; 0 where each topic has
        one group.
    interaction_variance_ : float
        Variance of what model and topic together do not predict.
    kernel_variances_ : ndarray of shape (n_kernels,)
        Factors of the kernels: smooth, linear, linear within a model.
    model_effects_ : Series of length n_models
        Score of each model in a topic of average difficulty.
    item_correlation_ : ndarray of shape (n_models, n_models) or None
        What was used.
    calibration_ : float
        Factor of the posterior variances, 1 to 2.
    models_, topics_ : Index
        Levels that were fitted.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing, the correlation is none or lacks a model, or a column of
        `kernels` is missing or infinite.

    Notes
    -----
    ``z ~ N(mu_model + a_topic + e, sigma2)``, ``a ~ N(0, tau^2)``, ``e ~ N(0, omega^2)``:
    the Fay-Herriot model with crossed effects [1]_, variances by restricted maximum
    likelihood, integrated over where the data leave them uncertain. See
    `skbench.stats.mixed.crossed_normal` for the formulas and `LogisticMixedModel` for new
    groups and cost.

    Groups unlike their peers are looked for where sampling variances rest on 20 scores or
    more: with fewer, a group far off may just have a variance that was taken for too small.

    When not to use it: for binary scores, whose sampling variances depend on what is
    to be estimated. On MMLU-Pro with ten items a subject its squared error was .67 of
    the direct estimates', that of `LogisticMixedModel` .48
    (``benchmarks/mixed_models.py``).

    References
    ----------
    .. [1] Rao and Molina (2015). Small Area Estimation, chapter 8. Wiley.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"model": ["ada", "bob"] * 4, "topic": list("aabbccdd")})
    >>> z = [0.2, 0.3, 0.5, 0.7, 0.6, 0.6, 0.8, 1.0]
    >>> GaussianMixedModel().fit(X, z, sigma2=0.01).estimate().value.round(2)
    array([0.22, 0.34, 0.53, 0.67, 0.55, 0.64, 0.8 , 0.95])
    """

    _method = "Gaussian mixed model"
    _ignores_numbers = True

    def _fit_codes(self, model, topic, correlation, factors):
        tell = counter("mixed model")
        told = {} if self._variances_are_known() else {"unlike_share": 0}
        return mixed.crossed_normal(
            self.z_, self.sigma2_, model, topic, correlation, factors, tell=tell, **told
        )

    def _variances_are_known(self):
        """Whether a score far off speaks against its group and not against its variance."""
        told = self.n_ is not None and self.sampling_ is not None
        estimated = told and self.sampling_.outcome != "binomial"
        return not estimated or np.median(self.n_) >= FEWEST_SCORES

    def _fitted_value(self):
        return self._result.mean

    def _fitted_bounds(self, confidence_level):
        spread = np.sqrt(self.calibration_ * self._result.variance)
        return Bounds(*self._mixture_ends(confidence_level), spread)

    def _value(self, X, z, sigma2, n):
        if z is None:
            return self._prior(X)[0]
        unlike, (ordinary, alone) = self._against(X, z, sigma2)
        return (1 - unlike) * ordinary.mean + unlike * alone.mean

    def _bounds(self, X, z, sigma2, n, confidence_level):
        if z is None:
            return self._normal_bounds(*self._prior(X), confidence_level)
        unlike, parts = self._against(X, z, sigma2)
        ends, found = self._ends_of(parts, unlike, confidence_level)
        return Bounds(*ends, np.sqrt(self.calibration_ * found.variance))

    def _normal_bounds(self, mean, variance, confidence_level):
        return Bounds.normal(mean, np.sqrt(self.calibration_ * variance), confidence_level)

    def _against(self, X, z, sigma2):
        """Probability of new groups to be unlike their peers, and both posteriors."""
        mean, variance = self._prior(X)
        like = posterior_mean(z, mean, sigma2, variance)
        rest = shrinkage_factor(variance, sigma2) * sigma2
        ordinary = mixed.Moments(like, rest, np.zeros_like(like), like, rest)
        share = self._result.unlike_share
        if share == 0:
            return np.zeros_like(like), (ordinary, ordinary)
        alone = mixed.alone_scores(z, sigma2, np.mean(self.z_), np.var(self.z_))
        mass = mixed.log_mass_of_scores(z, sigma2, mean, variance), alone.log_mass
        return mixed.alone_or_not(mass, share), (ordinary, alone.posterior)


def estimates_of_each(models, confidence_level):
    """Value, low, high and standard error of the groups of several models, all at once.

    Parameters
    ----------
    models : list of GaussianMixedModel
        Fitted to the same number of groups.
    confidence_level : float

    Returns
    -------
    ndarray of shape (4, n_models, n_groups)
        What `estimate` of each has.
    """
    results = [model._result for model in models]
    each = zip(*(result.components for result in results), strict=True)
    parts = [
        mixed.Moments(*(np.concatenate(values) for values in zip(*component, strict=True)))
        for component in each
    ]
    unlike, value, variance = (
        np.concatenate([getattr(result, name) for result in results])
        for name in ("unlike_peers", "mean", "variance")
    )
    factor = np.repeat([model.calibration_ for model in models], len(results[0].mean))
    low, high = widened_ends(parts, unlike, factor, confidence_level)[0]
    # The mean of a mixture may lie beyond a quantile of it: far off, with a small chance.
    ends = np.minimum(low, value), np.maximum(high, value)
    return np.array([value, *ends, np.sqrt(factor * variance)]).reshape(4, len(models), -1)
