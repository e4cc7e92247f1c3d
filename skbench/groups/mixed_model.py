"""The mixed model of models, topics and features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from scipy.stats import beta
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skbench._checks import are_counts
from skbench._population import of_population
from skbench._progress import counter
from skbench._random import as_generator
from skbench._types import Count, NonNegative, RandomState, checked
from skbench._warnings import warn
from skbench.containers import Draws
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import warn_of_noiseless
from skbench.groups._mixed_design import MixedDesign, require_counts
from skbench.groups.direct import DirectEstimator
from skbench.stats import mixed
from skbench.stats.intervals import binomial, mixtures
from skbench.stats.shrinkage import stein

_FEW_TOPICS = 3  # with so few topics there is little to borrow from
_FEWEST_SCORES = 20  # fewer give sampling variances too rough to detect outliers
_LARGEST_WIDTH = 0.97  # relative to direct intervals; wider model intervals are not worth it
_LEAST_NOISE = 1e-12  # floor of sampling variances, relative to the variance of the scores
_TOTALS = 2000  # simulated totals of a finite population
_COMPARED_LEVEL = 0.95  # confidence level at which widths are compared


@checked
class MixedModel(GroupEstimator):
    """Shrink direct estimates toward predictions from model, topic and features.

    The accuracy `p` of a model on a topic is modeled on the logit scale as
    ``model + topic + model x topic + smooth functions of the features``. The model allows for
    outlying groups, outlying topics, and correlated errors of models that answer the same items.
    It is the default of ``skbench estimate`` and ``skbench report``.

    Parameters
    ----------
    family : {"auto", "binomial", "gaussian"}, default="auto"
        Likelihood of the direct estimates. "binomial" models counts of correct answers on the logit
        scale. "gaussian" models scores with normal errors of variance `sigma2`. "auto" is
        "binomial" for binary scores of independent items, and otherwise "gaussian".
    model, topic : str or None, default="model" and "topic"
        Columns of `X` with the model and the topic. If `model` is None or the default column is
        missing, all groups have the same model. If `topic` is None or the default column is
        missing, the argument `groups` of `fit` gives the topics. Without `groups`, each row is a
        topic. If you name another column and it is missing, `fit` raises an error.
    kernels : {"auto"}, list of columns or None, default="auto"
        Features of `X` that enter the model: one smooth (radial basis) kernel, one linear kernel,
        and one linear kernel within each model. Text columns are one-hot encoded. Missing numbers
        are imputed by the mean. "auto" uses all columns except identifiers of models or topics.
        None uses no features.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `sigma2` is not passed to `fit`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the simulated totals in ``estimate(population=...)``.

    Attributes
    ----------
    family_ : {"binomial", "gaussian"}
    topic_variance_, interaction_variance_, shared_effect_variance_ : float
        Prior variances of the topic effects and of two parts of the model x topic interactions.
        The part with `interaction_variance_` is independent between models. The part with
        `shared_effect_variance_` is correlated if the models' item errors are. The units are
        squared log odds or squared score units. The variance of an effect that is not fitted is 0.
    kernel_variances_ : ndarray of shape (n_kernels,)
        Prior variances of the kernels: smooth, linear, linear within models.
    model_effects_ : Series of length n_models
        Log odds, or score, of each model on a topic of average difficulty.
    outlier_probability_ : ndarray of shape (n_groups,)
        Posterior probability that each group is an outlier. The prior standard deviation of an
        outlier's interaction is 2.5 on the logit scale. For Gaussian scores, it is 2.5 times the
        standard deviation of the direct estimates across groups.
    topic_outlier_probability_ : Series of length n_topics
        Posterior probability that the prior standard deviation of a topic's effect is more than 3
        times the scale of the t prior. This prior is a scale mixture of normals, so each topic
        effect has its own prior standard deviation.
    outlier_share_ : float
        Estimated share of outlying groups.
    interval_inflation_ : float
        Factor from 1 to 2 by which all intervals are widened: the square root of the ratio of the
        estimated mean squared error to the mean posterior variance.
    direct_weight_ : float
        Weight of the direct estimates after the fallback (see Notes), otherwise 0.
    squared_error_ : ndarray of shape (n_groups,)
        Approximately unbiased estimates of the squared errors (Stein's identity, which is exact for
        normal errors with known variances). A single value is very imprecise, but the mean of all
        values estimates the mean squared error.
    n_iter_ : int
        Number of iterations.
    models_, topics_ : Index
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing and scores are not counts. If a named column is missing, or a model
        occurs more than once in a topic. If `groups` contradict the topic column, or the item
        correlation lacks a model.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the iteration did not converge.
    UserWarning
        If the estimates were shifted toward the direct estimates, or if the topics are unknown.

    Notes
    -----
    **Model.** ``k ~ Binomial(n, p)`` with ``logit p = mu_model + a_topic + e + phi(x)'b``, or
    ``z ~ N(., sigma2)`` with the same effects. The interaction `e` has variance ``omega^2``, or
    ``2.5^2`` if the group is an outlier. The topic effects `a` have a t distribution with 4 degrees
    of freedom. If the item errors of two models are correlated (``sampling.item_correlation``), the
    models' interactions are correlated, too. Expectation propagation approximates the likelihood.
    The variances are estimated by penalized maximum likelihood, which keeps them positive [1]_. See
    `skbench.stats.mixed.fit_mixed` for formulas and :doc:`/user_guide/mixed_model` for measured
    accuracy.

    **Intervals.** An interval is equal-tailed on the scale of the model and widened by
    `interval_inflation_`. The lower limit is 0 if no answer is correct. The upper limit is 1 if
    all answers are correct [2]_. Coverage holds ON AVERAGE over the groups, not for each group.

    If scores are clustered or not binary, and the median number of independent scores per group is
    below 20, all effects are normal and no group is an outlier. If outliers were allowed, a group
    with an underestimated variance could look like an outlier.

    **Fallback.** If the estimated mean squared error exceeds that of the direct estimates by more
    than one standard error of the difference, the estimates are shifted toward the direct
    estimates, with a warning. `direct_weight_` is the weight of the direct estimates. The intervals
    do not change, so an estimate may lie outside its interval. With 3 topics or fewer, the direct
    estimates and intervals are returned, unless the intervals of the mixed model are at least 3%
    narrower.

    **New groups.** ``fit_predict(X, y)`` differs from ``fit(X, y).predict(X)``, because `predict`
    treats the rows as new groups without items. The prediction for a new group uses the effects of
    its model and its topic if they were fitted, and their prior means otherwise. If `z` is passed
    for a new group, it changes only the estimate of this group.

    **When not to use it.** If every single group needs the nominal coverage, use `DirectEstimator`
    or ``EmpiricalBayes(interval="fab")``. If the groups are defined by factors besides model and
    topic, `MixedModel` cannot separate the effects of these factors.

    References
    ----------
    .. [1] Chung, Rabe-Hesketh, Dorie, Gelman and Liu (2013). A nondegenerate penalized likelihood
       estimator for variance parameters in multilevel models. Psychometrika 78.
    .. [2] Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion.
       Statistical Science 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import MixedModel, make_items, summarize_items
    >>> data = make_items(n_models=5, n_topics=20, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> estimate = MixedModel().fit(**g.fit_args).estimate()
    >>> truth = data.truth.loc[list(g.labels)].to_numpy()
    >>> bool(np.mean((estimate.value - truth) ** 2) < 0.5 * np.mean((g.z - truth) ** 2))
    True
    """

    _guarantee = "average over groups"
    _reads_correlation = True
    _ignores_numbers = True
    _reads_groups = False  # it reads the columns `model` and `topic` instead

    def __init__(
        self,
        family: Literal["auto", "binomial", "gaussian"] = "auto",
        model: str | None = "model",
        topic: str | None = "topic",
        *,
        kernels: Literal["auto"] | Sequence[str] | None = "auto",
        sampling_variance: NonNegative | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.family = family
        self.model = model
        self.topic = topic
        self.kernels = kernels
        self.sampling_variance = sampling_variance
        self.random_state = random_state

    def _fit(self, X, groups):
        by_outcome = "binomial" if self._binary else "gaussian"
        self.family_ = by_outcome if self.family == "auto" else self.family
        self._counts = self.family_ == "binomial"
        self._seed = int(as_generator(self.random_state).integers(2**31))
        if self._counts:
            require_counts(self.z_, self.n_)
            self.sigma2_ = binomial.sampling_variance(np.round(self.z_ * self.n_), self.n_)
        # Scores are centered and scaled by their standard deviation, at least by their noise.
        scale = max(np.std(self.z_), np.sqrt(np.mean(self.sigma2_)))
        self._units = (0.0, 1.0) if self._counts else (np.mean(self.z_), scale or 1.0)
        self._design = design = MixedDesign(self, X, groups)
        data = design.sorted(self.z_, self.sigma2_, self.n_)
        likelihood = self._likelihood(*data, design.effects.own_share)
        # With few scores, a distant group may just have an underestimated variance.
        heavy_tails = self._binary or self.n_ is None or np.median(self.n_) >= _FEWEST_SCORES
        options = {"heavy_tails": bool(heavy_tails), "callback": counter("mixed model")}
        self._found = mixed.fit_mixed(likelihood, design.effects, **options)
        parts = mixed.group_posterior(self._found, likelihood)
        self._posterior = mixtures.Mixture(*(design.unsorted(part) for part in parts))
        self._mean, self._variance = value, variance = self._moments(self._posterior)
        noise = value * (1 - value) / self.n_ if self._counts else self.sigma2_
        least = _LEAST_NOISE * self._units[1] ** 2
        size = self.n_ if self._counts else 1 / np.maximum(noise, least)
        self.interval_inflation_ = stein.inflation(value, variance, self.z_, noise, size)
        self._learn(design)
        warn_of_noiseless(self.sigma2_)
        self._fall_back(X, groups)

    def _own_variance(self, sigma2, z, n, labels):
        """Sampling variances; counts need none, because the binomial distribution gives them."""
        missing = sigma2 is None and self.sampling_variance is None
        if missing and self.family != "gaussian" and are_counts(z, n):
            return binomial.sampling_variance(np.round(z * n), n)
        return super()._own_variance(sigma2, z, n, labels)

    def _likelihood(self, z, sigma2, n, own_share):
        """Likelihood of these groups, on the scale of the model."""
        if self._counts:
            return mixed.Counts(np.round(z * n), np.asarray(n, dtype=float), own_share)
        center, scale = self._units
        return mixed.Scores((z - center) / scale, sigma2 / scale**2, own_share)

    def _learn(self, design):
        """Store the public attributes in the caller's order and units."""
        found, (center, scale) = self._found, self._units
        variances = scale**2 * found.solution.variances
        self.topic_variance_, self.interaction_variance_ = variances[:2]
        self.shared_effect_variance_, self.kernel_variances_ = variances[2], variances[4:]
        self.models_, self.topics_ = design.models.names, design.topics.names
        effects = center + scale * found.solution.model_effects
        self.model_effects_ = pd.Series(effects, index=self.models_)
        self.outlier_share_ = found.outliers.share
        self.outlier_probability_ = design.unsorted(found.outliers.group)
        self.topic_outlier_probability_ = pd.Series(found.outliers.topic, index=self.topics_)
        self.n_iter_ = found.n_iter
        if not found.converged:
            warn(
                f"MixedModel did not converge in {found.n_iter} iterations and returns the last "
                "one. Check groups with very many items.",
                ConvergenceWarning,
            )

    def _moments(self, posterior):
        """Means and variances of the scores with this distribution."""
        if self._counts:
            return posterior.accuracy()
        variance = self._units[1] ** 2 * posterior.latent_variance()
        return self._on_score_scale(posterior.center()), variance

    def _on_score_scale(self, latent):
        return expit(latent) if self._counts else self._units[0] + self._units[1] * latent

    def _fall_back(self, X, groups):
        """Move toward the direct estimates if they seem to be better."""
        noise, few = self._unbiased_noise(), len(self.topics_) <= _FEW_TOPICS
        weight = stein.weight_of_direct(self._mean, self._variance, self.z_, noise)
        reason, self._direct = "the direct estimates have a smaller estimated squared error", None
        if few:
            moderated = replace(self.sampling_, variance_noise=None)
            data = self.z_, self.sigma2_, self.n_, groups, moderated
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*have sigma2 = 0")
                direct = DirectEstimator().fit(X, *data)
            bounds = (each._fitted_bounds(_COMPARED_LEVEL) for each in (self, direct))
            own, other = (np.sum(bound.high - bound.low) for bound in bounds)
            if own > _LARGEST_WIDTH * other:
                reason = f"{len(self.topics_)} topics are too few to borrow strength from"
                self._direct, weight = direct, 1.0
        self.direct_weight_ = weight
        self._method = f"mixed model, {weight:.0%} direct" if weight > 0 else "mixed model"
        value, variance = self._toward(self._mean, self.z_), self._toward(self._variance, noise)
        self.squared_error_ = stein.squared_errors(value, variance, self.z_, noise)
        if weight > 0:
            warn(
                f"The estimates were moved {weight:.0%} of the way to the direct estimates, "
                f"because {reason}."
            )

    def _toward(self, own, direct):
        return (1 - self.direct_weight_) * own + self.direct_weight_ * direct

    def _bounds_of(self, posterior, z, confidence_level):
        """Widened equal-tailed intervals, which reach 0 or 1 if all answers are alike."""
        center, tail = posterior.center(), (1 - confidence_level) / 2
        ends = (posterior.quantile(p) for p in (tail, 1 - tail))
        low, high = (
            self._on_score_scale(center + self.interval_inflation_ * (end - center)) for end in ends
        )
        if self._counts and z is not None:
            low, high = np.where(z == 0, 0.0, low), np.where(z == 1, 1.0, high)
        return Bounds(low, high, self.interval_inflation_ * np.sqrt(self._moments(posterior)[1]))

    def _fitted_value(self):
        return self._toward(self._mean, self.z_)

    def _fitted_bounds(self, confidence_level):
        if self._direct is not None:
            return self._direct._fitted_bounds(confidence_level)
        return self._bounds_of(self._posterior, self.z_, confidence_level)

    def _posterior_of_new(self, X, z, sigma2, n):
        """Distributions of new groups, each updated by its own direct estimate."""
        prior = mixed.new_groups(self._found, *self._design.of_new(X))
        if z is None:
            return prior
        if self._counts:
            require_counts(z, n)
        return mixed.updated(prior, self._likelihood(z, sigma2, n, np.ones(len(z))))

    def _value(self, X, z, sigma2, n):
        value = self._moments(self._posterior_of_new(X, z, sigma2, n))[0]
        return value if z is None else self._toward(value, z)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        if z is not None and self._direct is not None:
            return self._direct._new_bounds(X, z, sigma2, n, confidence_level)
        return self._bounds_of(self._posterior_of_new(X, z, sigma2, n), z, confidence_level)

    def sample(self, n_draws: Count = 1000, random_state: RandomState = None) -> Draws:
        """Draw the performance of all fitted groups jointly from the posterior.

        Use the draws for questions about several groups at once, such as the mean over topics or
        the worst topic.

        Parameters
        ----------
        n_draws : int, default=1000
            Number of draws.
        random_state : int, RandomState, Generator or None, default=None
            Seed. None gives different draws each time.

        Returns
        -------
        Draws
            Draws of shape (n_draws, n_groups), in score units. Groups with the same model, topic or
            features have correlated draws. The draws of a group follow the distribution behind its
            interval, except for the interval's end at 0 or 1 if all answers are alike. If
            estimates were moved toward the direct ones, the draws move with them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If `n_draws` is not a whole number of at least 1.

        Examples
        --------
        >>> X = [[0.0]] * 4
        >>> model = MixedModel().fit(X, [0.2, 0.4, 0.5, 0.9], n=[10] * 4)
        >>> model.sample(500, random_state=0)
        Draws(posterior: 500 draws of 4 quantities)
        """
        check_is_fitted(self)
        values, done = np.empty((n_draws, len(self.labels_))), 0
        for part in self._sampled(n_draws, as_generator(random_state)):
            values[done : done + len(part)] = part
            done += len(part)
        values.setflags(write=False)  # and so not copied
        return Draws(values, self.labels_, "posterior")

    def _sampled(self, n_draws, rng):
        """Yield parts of the draws, of shape (n_some, n_groups)."""
        posterior, center = self._posterior, self._posterior.center()
        for x, part in mixed.joint_draws(self._found, n_draws, rng):
            x, part = self._design.unsorted(x), self._design.unsorted(part)
            latent = center + self.interval_inflation_ * (posterior.from_normal(x, part) - center)
            own = self._on_score_scale(latent) + self._toward(self._mean, self.z_) - self._mean
            yield self._cut(own if self._direct is None else self._direct_draws(x))

    def _direct_draws(self, x):
        """Draws from the direct estimates only, given standard normal draws."""
        if not self._counts:
            return self.z_ + np.sqrt(self.sigma2_) * x
        k = self.z_ * self.n_
        return beta.ppf(ndtr(x), k + 0.5, self.n_ - k + 0.5)  # Jeffreys' prior

    def _of_population(self, found, sizes):
        """Observed answers plus simulated answers to all other items."""
        if not self._binary:
            return super()._of_population(found, sizes)
        rng, tail = np.random.default_rng(self._seed), (1 - found.confidence_level) / 2
        unseen, k = np.round(sizes - self.n_).astype(int), np.round(self.z_ * self.n_)
        # In the order of the groups' names, so that the order of the rows does not matter.
        left, draws = self._design.in_order(unseen), []
        for p in self._sampled(_TOTALS, rng):
            more = rng.binomial(left, self._design.in_order(p))
            draws.append((k + self._design.unsorted(more)) / sizes)
        totals, value = np.concatenate(draws), (k + unseen * found.value) / sizes
        low, high = np.quantile(totals, [tail, 1 - tail], axis=0, method="inverted_cdf")
        low, high = np.where(self.z_ == 0, 0.0, low), np.where(self.z_ == 1, 1.0, high)
        ends = {"low": np.minimum(low, value), "high": np.maximum(high, value)}
        return of_population(found, value=value, **ends, standard_error=totals.std(axis=0))
