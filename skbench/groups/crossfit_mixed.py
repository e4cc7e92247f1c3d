"""Crossed random effects around a cross-fitted regression."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from skbench._checks import check_unit_interval
from skbench._progress import counter, steps
from skbench._random import as_generator
from skbench._types import Estimator, RandomState, Splitter
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._regressors import predictions, prepared_regressor
from skbench.groups.crossfit import as_splitter, cross_fit_dealt, dealt, topics_to_keep, tuned_once
from skbench.groups.gaussian_mixed import GaussianMixedModel, estimates_of_each
from skbench.groups.synthetic import fit_on_all
from skbench.stats import mixed, scales

_FEWEST_UNITS = 4  # topics, or groups: fewer cannot be halved and still teach a regression
_FEW_GROUPS = 2000  # whose splits are worked on at once
_ANY_LEVEL = 0.95  # values do not depend on it


class _Checked(GaussianMixedModel):
    """Whose `fit` checks and arranges the groups, and learns nothing from their scores."""

    def _fit(self, X, groups):
        self._arranged = self._codes(X, groups)


class CrossFitMixedModel(GroupEstimator):
    """Shrink towards a regression on features, and towards the other models of the topic.

    Two steps that `EmpiricalBayes` and `GaussianMixedModel` take alone: a regression
    fitted on other topics predicts each group from its features; what it leaves is a
    topic's effect, common to its models, plus an effect of each group, both shrunk by
    what the direct estimates of all models on the topic say.

    Parameters
    ----------
    regressor : estimator, {"xgboost", "lightgbm", "ridge"} or None, default=None
        Regressor of the direct estimates on the features, as in `EmpiricalBayes`; but the
        default, "xgboost", has the depth and the number of trees that err least in the first
        split, the same in all folds.
    cv : int, splitter or None, default=None
        As in `EmpiricalBayes`: None is ``CrossFitKFold()``, 8 random splits in two folds.
    item_correlation : "auto", "estimate", float, array-like or None, default="auto"
        As in `GaussianMixedModel`: "auto" takes that of `sampling`.
    model, topic : str or None, default="model" and "topic"
        Columns of models and topics, as in `GaussianMixedModel`.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits and of the regressor.
    n_jobs : int, default=None
        Folds, and then splits, fitted at the same time (joblib).

    Attributes
    ----------
    prior_mean_ : ndarray of shape (n_groups,)
        Cross-fitted regression, averaged over splits, on the working scale; 0 where
        there were fewer than 4 topics (or groups), too few for a regression.
    effects_ : list of GaussianMixedModel
        Fitted to what the regression of each split left.
    regressor_ : estimator or None
        Fitted on all groups, for new ones.
    groups_ : ndarray of shape (n_groups,) or None
        What folds kept together.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing, or the splitter does not hold out every group.

    Warns
    -----
    UserWarning
        As `EmpiricalBayes`, where columns show topics that several models share and
        `groups` was not given.

    Notes
    -----
    Binary scores are taken to the scale ``asin sqrt`` of Anscombe
    (`skbench.stats.scales.anscombe`), where sampling variances are nearly known; other
    scores stay as they are. Near 0 and 1, where that scale is biased, means are taken back by
    `skbench.stats.scales.from_anscombe`: by the sine alone .09 of the groups of accuracy .995
    were covered. The two variances are integrated over, which matters where
    the data cannot tell them from 0: maximum likelihood then covered .63-.89 of the
    subgroups of COMPAS, integration .83-.99 at nominal .95. Estimates, and interval
    ends, are averaged over the splits. Folds keep topics whole where models share
    items, so that a topic's noise enters only through its own random effects, where
    the correlation of errors on shared items accounts for it.

    Intervals are posterior ones, for a normal law of the effects.

    When not to use it: where every group needs coverage of its own (`DirectEstimator`,
    or ``EmpiricalBayes(interval="fab")``).

    Examples
    --------
    >>> from skbench import make_items, summarize_items
    >>> data = make_items(n_models=4, n_topics=20, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> e = CrossFitMixedModel(random_state=0).fit(**g.fit_args).estimate()
    >>> truth = data.truth.loc[list(g.labels)].to_numpy()
    >>> bool(((e.value - truth) ** 2).mean() < 0.6 * ((g.z - truth) ** 2).mean())
    True
    """

    _guarantee = "posterior"
    _watches_risk = True

    def __init__(
        self,
        regressor: Estimator | Literal["xgboost", "lightgbm", "ridge"] | None = None,
        *,
        cv: int | Splitter | None = None,
        item_correlation: ArrayLike | Literal["auto", "estimate"] | None = "auto",
        model: str | None = "model",
        topic: str | None = "topic",
        sampling_variance: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.regressor = regressor
        self.cv = cv
        self.item_correlation = item_correlation
        self.model = model
        self.topic = topic
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _reads_correlation(self):
        return isinstance(self.item_correlation, str)

    @property
    def _method(self):
        if isinstance(self.regressor, str) or self.regressor is None:
            return f"mixed model around {self.regressor or 'xgboost'}"
        return f"mixed model around {type(self.regressor).__name__}"

    def _fit(self, X, groups):
        self.groups_ = groups = topics_to_keep(
            X, groups, self.cv, self._said, self.model, self.topic
        )
        z, sigma2 = self._on_scale(self.z_, self.sigma2_, self.n_)
        self._noise, self._found = sigma2, {}
        self._prior_means = self._cross_fitted(X, z, groups)
        self.prior_mean_ = self._prior_means.mean(axis=0)
        self.effects_ = self._effects(X, z - self._prior_means, sigma2, groups)

    def _effects(self, X, residuals, sigma2, groups):
        """Effects in what the regression of each split left, checked once."""
        # What a regression leaves is no count, and its variances are moderated already.
        sampling = replace(self.sampling_, outcome="continuous", spread=None)
        checked = _Checked(self.model, self.topic, item_correlation=self.item_correlation)
        checked.fit(X, residuals[0], sigma2, self.n_, groups, sampling)
        # On the arcsine scale of counts the noise is known from their sizes.
        unsure = not (self._binary or checked._variances_are_known())
        told = {"unlike_share": 0} if unsure else {}
        # Where many groups keep numpy busy, together is no faster.
        size = len(residuals) if len(X) <= _FEW_GROUPS else 1
        parts = [residuals[at : at + size] for at in range(0, len(residuals), size)]
        data = checked.sigma2_, *checked._arranged
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_fits_of)(part, data, told) for part in steps(parts, "splits")
        )
        return [
            _learned(checked, *pair)
            for pair in zip(residuals, itertools.chain(*found), strict=True)
        ]

    def _cross_fitted(self, X, z, groups):
        """Prior means of every split; zeros where there is too little to learn from."""
        self.regressor_ = None
        if len(z if groups is None else np.unique(groups)) < _FEWEST_UNITS:
            return np.zeros((1, len(z)))
        seed, fold_seed = as_generator(self.random_state).integers(2**31, size=2)
        splitter = as_splitter(self.cv, int(fold_seed), (self.sigma2_, self.n_))
        regressor = prepared_regressor(self.regressor, X, groups, int(seed))
        tuned = tuned_once(dealt(regressor, X, z, splitter, groups), z)
        prior_means, _ = cross_fit_dealt(tuned, X, z, None, groups, self.n_jobs)
        self.regressor_ = fit_on_all(tuned.regressor, X, z, None)
        return prior_means

    def _on_scale(self, z, sigma2, n):
        if not self._binary:
            return z, sigma2
        check_unit_interval("z", z, "where the fitted groups have binary scores")
        return scales.anscombe(z, sigma2, n)

    def _fitted_value(self):
        return self._fitted(_ANY_LEVEL)[0]

    def _fitted_bounds(self, confidence_level):
        return self._fitted(confidence_level)[1]

    def _fitted(self, confidence_level):
        """Value and bounds, found once for each level."""
        if confidence_level not in self._found:
            value, *ends = estimates_of_each(self.effects_, confidence_level)
            every = [Bounds(*each) for each in zip(*ends, strict=True)]
            found = self._around(self._prior_means, value, every, self._noise)
            self._found[confidence_level] = found
        return self._found[confidence_level]

    def _unlike_peers(self):
        return np.mean([effect._unlike_peers() for effect in self.effects_], axis=0)

    def _value(self, X, z, sigma2, n):
        return self._new(X, z, sigma2, n, _ANY_LEVEL)[0]

    def _bounds(self, X, z, sigma2, n, confidence_level):
        return self._new(X, z, sigma2, n, confidence_level)[1]

    def _new(self, X, z, sigma2, n, confidence_level):
        prior_mean = 0.0 if self.regressor_ is None else predictions(self.regressor_, X)
        noise = np.median(self._noise)
        if z is not None:
            z, sigma2 = self._on_scale(z, sigma2, n)
            z, noise = z - prior_mean, sigma2
        data = X, z, sigma2, None
        values = [effect._value(*data) for effect in self.effects_]
        every = [effect._bounds(*data, confidence_level) for effect in self.effects_]
        return self._around(prior_mean, values, every, noise)

    def _around(self, prior_mean, values, every, noise):
        """Value and bounds in score units, averaged over splits, from those of the effects."""
        scale = "arcsine" if self._binary else "identity"

        def back(values):
            return scales.from_anscombe(values, noise) if self._binary else values

        mean = prior_mean + np.array(values)
        inside = scales.within_scale(mean, scale)
        low, high = (
            prior_mean + np.array([getattr(bounds, end) for bounds in every]) + (inside - mean)
            for end in ("low", "high")
        )
        variance = np.array([bounds.standard_error for bounds in every]) ** 2
        bounds = Bounds(
            back(low.mean(axis=0)),
            back(high.mean(axis=0)),
            np.sqrt(scales.from_scale_variance(inside, variance, scale).mean(axis=0)),
        )
        curved = scales.from_scale_mean(inside, variance, scale) - scales.from_scale(inside, scale)
        return (back(inside) + curved).mean(axis=0), bounds


def _fits_of(several, data, told):
    return mixed.crossed_normal_each(several, *data, tell=counter("mixed model"), **told)


def _learned(checked, z, result):
    """A model of the checked groups that has learned from these scores."""
    model = GaussianMixedModel(**checked.get_params())
    vars(model).update(vars(checked) | {"z_": z})
    del model._arranged
    model._learn(result)
    return model
