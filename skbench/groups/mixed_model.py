"""One mixed model of models, topics and features: the default of every command."""

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
from skbench.groups._mixed_design import MixedDesign
from skbench.groups.direct import DirectEstimator
from skbench.stats import mixed
from skbench.stats.intervals import binomial, mixtures
from skbench.stats.shrinkage import stein

_FEW_TOPICS = 3  # so few that there is next to nothing to borrow from
_FEWEST_SCORES = 20  # behind a sampling variance, to tell an outlier from its noise
_LARGEST = 0.97  # width relative to direct intervals, with which borrowing from these is worth it
_LEAST_NOISE = 1e-12  # variance, relative to that of scores, of groups that count most
_TOTALS = 2000  # draws of finite populations
_ANY_LEVEL = 0.95  # at which widths are compared


@checked
class MixedModel(GroupEstimator):
    """Shrink direct estimates toward what their model, topic and features predict.

    ``logit p = model + topic + model x topic + smooth functions of the features``, with
    outlying groups and topics, and errors that models share on shared items. The most precise
    estimator here, and the default of every command.

    Parameters
    ----------
    family : {"auto", "binomial", "gaussian"}, default="auto"
        Likelihood of the direct estimates: counts of right answers on the logit scale, or normal
        noise of variance `sigma2`. "auto" is binomial for right and wrong answers to independent
        items, else Gaussian.
    model, topic : str or None, default="model" and "topic"
        Columns of `X`. Without the default column, or with None, there is one model, and the
        topics are `groups`, or else the rows. Any other name that `X` lacks is an error.
    kernels : {"auto"}, list of columns or None, default="auto"
        Features of `X` by which groups are alike: one smooth (radial basis) kernel, one linear,
        one linear within each model. Text counts as indicators, a missing number as the mean.
        "auto" takes all columns but those that only name models or topics.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the simulated totals of ``estimate(population=...)``; `sample` takes its own.

    Attributes
    ----------
    family_ : {"binomial", "gaussian"}
    topic_variance_, interaction_variance_, shared_effect_variance_ : float
        Prior variances of topics, of model x topic, and of models that are alike in their item
        errors; log odds squared, or score units squared. 0 where the model has no such effect.
    kernel_variances_ : ndarray of shape (n_kernels,)
        Of the kernels: smooth, linear, linear within models.
    model_effects_ : Series of length n_models
        Log odds, or score, of each model in a topic of average difficulty.
    outlier_probability_ : ndarray of shape (n_groups,)
        Probability that a group is an outlier: that its interaction has a standard deviation
        of 2.5 log odds (or of 2.5 standard deviations of the scores).
    topic_outlier_probability_ : Series of length n_topics
        Probability that a topic's effect has more than 3 times the standard deviation of
        typical ones.
    outlier_share_ : float
        Estimated share of outlying groups.
    interval_inflation_ : float
        Factor of all standard deviations, 1 to 2: root of Stein's estimate of the squared error
        over the posterior variance.
    direct_weight_ : float
        Weight of the direct estimates to which all estimates were moved; 0 unless they seem
        to be better.
    squared_error_ : ndarray of shape (n_groups,)
        Unbiased estimates of the squared errors, from Stein's identity. Single ones are noise;
        their mean is the risk.
    n_iter_ : int
        Rounds of the loop.
    models_, topics_ : Index
        Levels that were fitted.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing where scores are not counts, a named column is missing, a model
        occurs more than once in a topic, `groups` contradict the topic column, or the item
        correlation lacks a model.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the loop did not converge.
    UserWarning
        If the estimates were moved toward the direct ones, or the topics are not known.

    Notes
    -----
    ``k ~ Binomial(n, p)``, ``logit p = mu_model + a_topic + e + phi(x)'b``, or ``z ~ N(., sigma2)``
    with the same effects. Interactions `e` have the variance ``omega^2``, or ``2.5^2`` where a
    group is an outlier; topics `a` have a t distribution with 4 degrees of freedom. Models whose
    errors on shared items (``sampling.item_correlation``) correlate are alike in topics, too.
    The likelihood enters by expectation propagation, variances are penalized maximum likelihood
    estimates that cannot be 0 [1]_. `skbench.stats.mixed.fit_mixed` has the formulas and
    :doc:`/user_guide/mixed_model` the figures.

    The interval is equal-tailed on the scale of the model and widened by `interval_inflation_`;
    it starts at 0 where no answer is right, and ends at 1 where all are [2]_. It covers ON
    AVERAGE over the groups, not each of them.

    Where sampling variances were estimated from fewer than 20 scores, effects are normal and no
    group is an outlier: the variance of a group far off may just be underestimated.

    Where the estimated squared error is clearly above that of the direct estimates, the estimates
    move toward the direct ones, with a warning; `direct_weight_` and the method's name say how
    far. Intervals stay those of the model: they allow for outlying groups, and cover more often
    than direct ones there. With 3 topics or fewer estimates and intervals are the direct ones,
    unless the model's intervals are 3% shorter.

    ``fit_predict(X, y)`` is not ``fit(X, y).predict(X)``: the second treats the rows as new
    groups without a direct estimate. A new group gets the mean of its model and topic, as far as
    these were fitted; its own `z` updates it alone.

    When not to use it: where each single group must be covered whatever the others are like
    (`DirectEstimator`, or ``EmpiricalBayes(interval="fab")``); where groups are made by more
    than models and topics.

    References
    ----------
    .. [1] Chung, Rabe-Hesketh, Dorie, Gelman and Liu (2013). A nondegenerate penalized likelihood
       estimator for variance parameters in multilevel models. Psychometrika 78.
    .. [2] Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion.
       Statistical Science 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import make_items, summarize_items
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
    _reads_groups = False  # but the columns that it names

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
            _require_counts(self.z_, self.n_)
            self.sigma2_ = binomial.sampling_variance(np.round(self.z_ * self.n_), self.n_)
        # Scores are fitted less their mean, in units of their spread, or their noise if it is less.
        spread = max(np.std(self.z_), np.sqrt(np.mean(self.sigma2_)))
        self._units = (0.0, 1.0) if self._counts else (np.mean(self.z_), spread or 1.0)
        self._design = design = MixedDesign(self, X, groups)
        data = design.sorted(self.z_, self.sigma2_, self.n_)
        likelihood = self._likelihood(*data, design.effects.own_share)
        # With few scores, a group far off may just have an underestimated variance.
        heavy_tails = self._binary or self.n_ is None or np.median(self.n_) >= _FEWEST_SCORES
        options = {"heavy_tails": bool(heavy_tails), "tell": counter("mixed model")}
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
        """Counts may come without: their variances follow from them."""
        missing = sigma2 is None and self.sampling_variance is None
        if missing and self.family != "gaussian" and are_counts(z, n):
            return binomial.sampling_variance(np.round(z * n), n)
        return super()._own_variance(sigma2, z, n, labels)

    def _likelihood(self, z, sigma2, n, own_share):
        """Of these groups, on the scale of the model."""
        if self._counts:
            return mixed.Counts(np.round(z * n), np.asarray(n, dtype=float), own_share)
        center, scale = self._units
        return mixed.Scores((z - center) / scale, sigma2 / scale**2, own_share)

    def _learn(self, design):
        """Keep what users read, in the caller's order and units."""
        found, (center, scale) = self._found, self._units
        variances = scale**2 * found.solution.variances
        self.topic_variance_, self.interaction_variance_, self.shared_effect_variance_ = variances[
            :3
        ]
        self.kernel_variances_ = variances[4:]
        self.models_, self.topics_ = design.models.names, design.topics.names
        effects = center + scale * found.solution.model_effects
        self.model_effects_ = pd.Series(effects, index=self.models_)
        self.outlier_share_ = found.outliers.share
        self.outlier_probability_ = design.unsorted(found.outliers.group)
        self.topic_outlier_probability_ = pd.Series(found.outliers.topic, index=self.topics_)
        self.n_iter_ = found.n_iter
        if not found.converged:
            warn(
                f"The mixed model did not converge in {found.n_iter} rounds: the results are those "
                "of the last, which still moved. Look at groups with very many items.",
                ConvergenceWarning,
            )

    def _moments(self, law):
        """Means and variances of the score."""
        if self._counts:
            return law.accuracy()
        return self._on_score_scale(law.center()), self._units[1] ** 2 * law.latent_variance()

    def _on_score_scale(self, latent):
        return expit(latent) if self._counts else self._units[0] + self._units[1] * latent

    def _fall_back(self, X, groups):
        """Move toward the direct estimates where they seem to be better."""
        noise, few = self._unbiased_noise(), len(self.topics_) <= _FEW_TOPICS
        weight = stein.weight_of_direct(self._mean, self._variance, self.z_, noise)
        reason, self._direct = "their estimated squared error is smaller", None
        if few:
            moderated = replace(self.sampling_, variance_noise=None)
            data = self.z_, self.sigma2_, self.n_, groups, moderated
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*have sigma2 = 0")
                direct = DirectEstimator().fit(X, *data)
            bounds = self._fitted_bounds(_ANY_LEVEL), direct._fitted_bounds(_ANY_LEVEL)
            own, other = (np.sum(bound.high - bound.low) for bound in bounds)
            if own > _LARGEST * other:
                self._direct, weight, reason = direct, 1.0, "there are too few topics"
        self.direct_weight_ = weight
        self._method = f"mixed model, {weight:.0%} direct" if weight > 0 else "mixed model"
        value, variance = self._toward(self._mean, self.z_), self._toward(self._variance, noise)
        self.squared_error_ = stein.squared_errors(value, variance, self.z_, noise)
        if weight > 0:
            warn(f"The estimates are moved {weight:.0%} toward the direct ones: {reason}.")

    def _toward(self, own, direct):
        return (1 - self.direct_weight_) * own + self.direct_weight_ * direct

    def _bounds_of(self, law, z, confidence_level):
        """Equal-tailed intervals, widened; to the end of the scale where all answers are alike."""
        center, tail = law.center(), (1 - confidence_level) / 2
        low, high = (
            self._on_score_scale(center + self.interval_inflation_ * (law.quantile(p) - center))
            for p in (tail, 1 - tail)
        )
        if self._counts and z is not None:
            low, high = np.where(z == 0, 0.0, low), np.where(z == 1, 1.0, high)
        return Bounds(low, high, self.interval_inflation_ * np.sqrt(self._moments(law)[1]))

    def _fitted_value(self):
        return self._toward(self._mean, self.z_)

    def _fitted_bounds(self, confidence_level):
        if self._direct is not None:
            return self._direct._fitted_bounds(confidence_level)
        return self._bounds_of(self._posterior, self.z_, confidence_level)

    def _law_of_new(self, X, z, sigma2, n):
        """Laws of new groups, each updated by its own direct estimate."""
        prior = mixed.new_groups(self._found, *self._design.of_new(X))
        if z is None:
            return prior
        if self._counts:
            _require_counts(z, n)
        return mixed.updated(prior, self._likelihood(z, sigma2, n, np.ones(len(z))))

    def _value(self, X, z, sigma2, n):
        value = self._moments(self._law_of_new(X, z, sigma2, n))[0]
        return value if z is None else self._toward(value, z)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        if z is not None and self._direct is not None:
            return self._direct._new_bounds(X, z, sigma2, n, confidence_level)
        return self._bounds_of(self._law_of_new(X, z, sigma2, n), z, confidence_level)

    def sample(self, n_draws: Count = 1000, random_state: RandomState = None) -> Draws:
        """Draw the performance of all fitted groups jointly from the posterior.

        Parameters
        ----------
        n_draws : int, default=1000
            Number of draws.
        random_state : int, RandomState, Generator or None, default=None
            Seed; None gives other draws each time.

        Returns
        -------
        Draws
            Of shape (n_draws, n_groups), in score units. Each group's draws follow the law of its
            interval, but for the end at 0 or 1 where all answers are alike; errors of groups with
            the same model, topic or features go together. Where estimates move toward the direct
            ones, draws move with them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If `n_draws` is no whole number of at least 1.

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
        """Parts of the draws, of shape (n_some, n_groups)."""
        law, center = self._posterior, self._posterior.center()
        for x, part in mixed.joint_draws(self._found, n_draws, rng):
            x, part = self._design.unsorted(x), self._design.unsorted(part)
            latent = center + self.interval_inflation_ * (law.from_normal(x, part) - center)
            own = self._on_score_scale(latent) + self._toward(self._mean, self.z_) - self._mean
            yield self._cut(own if self._direct is None else self._direct_draws(x))

    def _direct_draws(self, x):
        """Draws by what direct estimates say alone, from standard normal ones."""
        if not self._counts:
            return self.z_ + np.sqrt(self.sigma2_) * x
        k = self.z_ * self.n_
        return beta.ppf(ndtr(x), k + 0.5, self.n_ - k + 0.5)  # Jeffreys' prior

    def _of_population(self, found, sizes):
        """Answers seen, and simulated answers to all other items."""
        if not self._binary:
            return super()._of_population(found, sizes)
        rng, tail = np.random.default_rng(self._seed), (1 - found.confidence_level) / 2
        unseen, k = np.round(sizes - self.n_).astype(int), np.round(self.z_ * self.n_)
        # In the order of the groups' names: the same numbers whatever the order of the rows.
        left, draws = self._design.in_order(unseen), []
        for p in self._sampled(_TOTALS, rng):
            more = rng.binomial(left, self._design.in_order(p))
            draws.append((k + self._design.unsorted(more)) / sizes)
        totals, value = np.concatenate(draws), (k + unseen * found.value) / sizes
        low, high = np.quantile(totals, [tail, 1 - tail], axis=0, method="inverted_cdf")
        low, high = np.where(self.z_ == 0, 0.0, low), np.where(self.z_ == 1, 1.0, high)
        ends = {"low": np.minimum(low, value), "high": np.maximum(high, value)}
        return of_population(found, value=value, **ends, standard_error=totals.std(axis=0))


def _require_counts(z, n):
    if not are_counts(z, n):
        raise ValueError(
            "Right and wrong answers need sizes n, direct estimates between 0 and 1, and whole "
            'numbers of right answers n times z. For other scores take family="gaussian".'
        )
