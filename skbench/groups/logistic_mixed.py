"""Crossed random effects on the logit scale, for binary scores."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from skbench._checks import are_counts
from skbench._progress import counter
from skbench._types import Table
from skbench.containers import Sampling
from skbench.groups._base import Bounds
from skbench.groups._mixed import MixedModel
from skbench.stats import mixed
from skbench.stats.intervals import binomial


class LogisticMixedModel(MixedModel):
    """Shrink accuracies towards what their model and their topic predict, on the logit scale.

    Parameters
    ----------
    model : str, default="model"
        Column of `X` that names the model. Where it is absent there is one model.
    topic : str, default="topic"
        Column of `X` that names the topic, if `fit` gets no `groups`. Where there is
        neither, every group is a topic of its own.
    item_correlation : {"auto", "estimate"}, None, float or DataFrame, default="auto"
        Correlation of the errors of models that answered the same items. "auto" takes
        the one that `summarize_items` sends along with `X`, if any; "estimate" insists
        on it; None takes errors as independent; a number is common to all pairs; a
        DataFrame or array has a row and a column per model.
    kernels : None, "auto" or list of columns, default=None
        Features of `X` by which groups are alike: one smooth (radial basis) kernel,
        one linear, one linear within each model. Text counts as indicators, a missing number
        as the mean. "auto" takes all columns but those that only name models or topics.
    calibration : {"risk", None}, default="risk"
        Widen intervals by Stein's unbiased estimate of the actual squared error over
        the posterior variance, if that is above 1; None believes the posterior.
    sampling_variance : float, default=None
        Not used: the variance of counts follows from the counts.

    Attributes
    ----------
    topic_variance_ : float
        Variance of the topics' effects, log odds squared; 0 where each topic has one
        group.
    interaction_variance_ : float
        Variance of what model and topic together do not predict.
    kernel_variances_ : ndarray of shape (n_kernels,)
        Factors of the kernels: smooth, linear, linear within a model.
    model_effects_ : Series of length n_models
        Log odds of each model in a topic of average difficulty.
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
        If sizes are missing, a `z * n` is not a whole number, the correlation is none
        or lacks a model, or a column of `kernels` is missing or infinite.

    Notes
    -----
    ``k ~ Binomial(n, p)``, ``logit p = mu_model + a_topic + e``, ``a ~ N(0, tau^2)``,
    ``e ~ N(0, omega^2)``: models fixed, topics random, model x topic random. Variances
    by restricted maximum likelihood, integrated over where the data leave them uncertain;
    likelihoods by expectation propagation; formulas,
    accuracy and the treatment of shared items are those of
    `skbench.stats.mixed.crossed_logit`. The value is the posterior mean of the
    accuracy. The interval is equal-tailed on the logit scale, so it never leaves
    [0, 1]; it believes in normal effects, and covers on average over groups like
    these, not each of them.

    Measured on 10 models x 43 to 46 subjects of MMLU-Pro, ten items a subject or in
    proportion (``benchmarks/mixed_models.py``): squared error .48 and .57 of the direct
    estimates', .44 and .50 with ``kernels="auto"``; average coverage .94 and .93 at .78
    and .81 of the width of Wilson intervals, .92 and .91 at .72 and .73 uncalibrated. With
    two models on 14 tasks of BIG-Bench-Hard, where one task is unlike all others, coverage
    was .88 at ten items a task.

    A new group without counts gets the mean of its model and, if fitted, of its topic;
    a new model the mean of all models, give or take their spread. Counts given to
    `predict` update each new group by itself: to let new groups of one topic inform
    each other, fit them along. Time grows with ``n_topics * n_models^3``, with
    kernels also with ``n_groups * n_columns^2``, where the features make up to some 300
    columns: 460 groups take .15 s, with kernels .2 to .8 s; 50 models x 2000 topics 13 s,
    with kernels 27 s (``benchmarks/mixed_models.py --cost``).

    When not to use it: for scores that are not counts (`GaussianMixedModel`); where
    each group must be covered whatever the others are like (`DirectEstimator`); for
    one model without features, where there is little to borrow from.

    References
    ----------
    .. [1] Breslow and Clayton (1993). Approximate inference in generalized linear
       mixed models. Journal of the American Statistical Association 88.
    .. [2] Rasmussen and Williams (2006). Gaussian Processes for Machine Learning.
       MIT Press.
    .. [3] Stein (1981). Estimation of the mean of a multivariate normal distribution.
       Annals of Statistics 9.

    Examples
    --------
    >>> from skbench import make_items, summarize_items
    >>> data = make_items(n_models=4, n_topics=20, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, by=["model", "topic"])
    >>> estimate = LogisticMixedModel().fit(**g.fit_args).estimate()
    >>> truth = data.truth.loc[g.labels]
    >>> round(float(((estimate.value - truth) ** 2).sum() / ((g.z - truth) ** 2).sum()), 2)
    0.3
    """

    _method = "logistic mixed model"

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
    ) -> Self:
        """Learn from groups with known counts.

        Parameters
        ----------
        X, y, sigma2, n, groups, sampling
            As in the other estimators, but `sigma2` may be left out: `n` is what counts.

        Returns
        -------
        self
        """
        return super().fit(X, y, _or_stand_in(sigma2, n), n, groups, sampling)

    def _checked_new_groups(self, X, z, sigma2, n):
        return super()._checked_new_groups(X, z, _or_stand_in(sigma2, n), n)

    def _fit_codes(self, model, topic, correlation, factors):
        _require_counts(self.z_, self.n_)
        if not self._binary:
            raise ValueError(
                "LogisticMixedModel is for right and wrong answers to independent items, but these "
                "are summaries of other scores or of clusters: use GaussianMixedModel."
            )
        k = np.round(self.z_ * self.n_)
        self.sigma2_ = binomial.sampling_variance(k, self.n_)
        tell = counter("mixed model")
        return mixed.crossed_logit(k, self.n_, model, topic, correlation, factors, tell=tell)

    def _fitted_value(self):
        return self._result.score

    def _fitted_bounds(self, confidence_level):
        fit, factor = self._result, self.calibration_
        low, high = self._mixture_ends(confidence_level)
        return Bounds(expit(low), expit(high), np.sqrt(factor * fit.score_variance))

    def _value(self, X, z, sigma2, n):
        prior = self._prior(X)
        if z is None:
            return mixed.logistic_moments(*prior)[0]
        unlike, (ordinary, alone) = self._against(prior, z, n)
        return (1 - unlike) * ordinary.score + unlike * alone.score

    def _bounds(self, X, z, sigma2, n, confidence_level):
        mean, variance = prior = self._prior(X)
        factor = self.calibration_
        if z is None:
            variance = factor * variance
            ends = mixed.skewed_interval(mean, variance, np.zeros_like(mean), confidence_level)
            return Bounds(*expit(ends), np.sqrt(mixed.logistic_moments(mean, variance)[1]))
        unlike, parts = self._against(prior, z, n)
        ends, found = self._ends_of(parts, unlike, confidence_level)
        return Bounds(*expit(ends), np.sqrt(factor * found.score_variance))

    def _against(self, prior, z, n):
        """Probability of new groups to be unlike their peers, and both posteriors."""
        _require_counts(z, n)
        k, n = np.round(z * n), np.asarray(n, dtype=float)
        alone = np.zeros(len(k)), np.full(len(k), mixed.UNLIKE_VARIANCE)
        laws = [mixed.log_odds_of_counts(k, n, *law) for law in (prior, alone)]
        mass, parts = zip(*laws, strict=True)
        return mixed.alone_or_not(mass, self._result.unlike_share), parts


def _or_stand_in(sigma2, n):
    """Sampling variances; where there are sizes, they may be missing: counts tell them."""
    return 0.0 if sigma2 is None and n is not None else sigma2


def _require_counts(z, n):
    if n is None:
        raise ValueError(
            "LogisticMixedModel needs group sizes, for the number of right answers z * n. "
            "Pass n=..., or use GaussianMixedModel, which goes by sigma2."
        )
    if not are_counts(z, n):
        raise ValueError(
            "LogisticMixedModel needs binary scores: z between 0 and 1 and every z * n a whole "
            "number. For other scores use GaussianMixedModel, which goes by sigma2."
        )
