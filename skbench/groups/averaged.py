"""The mean of several estimators, and the combination that is recommended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from skbench._checks import are_named, named_estimators
from skbench._random import as_generator, seeded
from skbench._types import Estimator, RandomState
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import risk_unsaid, warn_of_noiseless
from skbench.groups.crossfit import topics_to_keep
from skbench.groups.crossfit_mixed import CrossFitMixedModel
from skbench.groups.direct import DirectEstimator
from skbench.groups.gaussian_mixed import GaussianMixedModel
from skbench.groups.logistic_mixed import LogisticMixedModel
from skbench.stats.shrinkage.averaging import (
    interval_inflation,
    mean_standard_errors,
    squared_errors,
    weight_of_direct,
)

_RECOMMENDED = 2.0, 1.0  # weights of the mixed model and of the boosted trees
_LEAST_SHARE = 1e-3  # of its weight that a member keeps where it is biased
_ANY_LEVEL = 0.95  # values and standard errors do not depend on it
_FEW_TOPICS = 3  # so few that there is next to nothing to borrow from


class AveragedEstimator(GroupEstimator):
    """Mean of several estimators of the same groups: the most precise one here.

    Parameters
    ----------
    estimators : list of (str, estimator) or None, default=None
        What to average, by name; cloned. Their parameters are found as ``name__parameter``.
        A list without names gets those of `sklearn.pipeline.make_pipeline`, and a single
        estimator is the average of one. None is the recommended combination: a mixed model of
        models, topics and kernels of the features (`LogisticMixedModel` for binary scores,
        else `GaussianMixedModel`), and `CrossFitMixedModel`, which has boosted trees.
    weights : array-like of shape (n_estimators,) or None, default=None
        Of the mean. None is equal ones; for the recommended combination two thirds and
        one third.
    model, topic : str or None, default="model" and "topic"
        Columns of models and topics, for the recommended combination, as in
        `GaussianMixedModel`; and to keep the topics of shared items together.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every estimator that leaves its own open.
    n_jobs : int, default=None
        Estimators fitted at the same time (joblib).

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted.
    named_estimators_ : dict of str to estimator
        The same, by name.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, which add up to 1.
    group_weights_ : ndarray of shape (n_estimators, n_groups)
        The same, group by group: near 0 and 1 the trees, biased there, have less.
    inflation_ : ndarray of shape (n_groups,)
        Factors, at least 1, by which intervals are widened once more, see the notes.
    common_inflation_ : float
        That of groups like the others, and of new ones.
    direct_weight_ : float
        Weight of the direct estimates that all was moved to, 0 where there was no need.
    direct_ : DirectEstimator
        Fitted, where it was needed.
    squared_error_ : ndarray of shape (n_groups,)
        Unbiased estimates of the squared errors, from Stein's identity; single ones are
        noise, and their mean is the risk.
    groups_ : ndarray of shape (n_groups,) or None
        What folds kept together.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If there are no estimators, `weights` are not one nonnegative number each, or as the
        estimators raise.
    TypeError
        If one is no estimator of groups.

    Warns
    -----
    UserWarning
        If the estimates were moved to the direct ones.

    Notes
    -----
    Estimators that err in different ways (a likelihood for counts and smooth effects of
    features, trees) have a mean that often errs less than each. The combination was chosen on
    one half of the data sets of ``benchmarks/precision.py`` and confirmed on the other;
    :ref:`precision` has the figures.

    The errors of the estimators are highly dependent, for they come from the same direct
    estimates. They count as perfectly dependent: the interval is the mean interval, widened
    where the estimators differ (`skbench.stats.averaging.mean_standard_errors`, after [1]_),
    and where the direct estimates lie farther from the mean estimate than the standard
    errors allow (`skbench.stats.averaging.interval_inflation`): a little everywhere, or more
    in single groups. Coverage is meant ON AVERAGE over the groups.

    A group unlike its peers keeps near its own items (:doc:`/user_guide/unlike_peers`).
    Where the estimated squared error of all is clearly above that of the direct estimates, or
    there are 3 topics or fewer and the direct intervals are the shorter ones, all moves to
    the direct ones, with a warning; `direct_weight_` and the method's name say how far.

    One model alone, and groups without the columns ``model`` and ``topic``, work: there
    is then no topic to borrow from. With fewer than 4 topics (or groups) the trees
    are left out.

    ``fit_predict(X, y)`` is not ``fit(X, y).predict(X)``: the second treats the rows as
    new groups without a direct estimate.

    When not to use it: where a single group must be covered whatever the others are
    like: `DirectEstimator`, or ``EmpiricalBayes(interval="fab")``.

    References
    ----------
    .. [1] Buckland, Burnham and Augustin (1997). Model selection: an integral part of
       inference. Biometrics 53.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import make_items, summarize_items
    >>> data = make_items(n_models=5, n_topics=20, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> estimate = AveragedEstimator(random_state=0).fit(**g.fit_args).estimate()
    >>> truth = data.truth.loc[list(g.labels)].to_numpy()
    >>> bool(np.mean((estimate.value - truth) ** 2) < 0.5 * np.mean((g.z - truth) ** 2))
    True
    """

    _guarantee = "average over groups"
    _reads_correlation = True

    def __init__(
        self,
        estimators: Sequence[tuple[str, Estimator]] | Estimator | None = None,
        *,
        weights: ArrayLike | None = None,
        model: str | None = "model",
        topic: str | None = "topic",
        sampling_variance: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.model = model
        self.topic = topic
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _method(self):
        given = self.estimators
        own = "averaged" if given is None else f"average of {len(_with_names(given))}"
        share = getattr(self, "direct_weight_", 0)
        return f"{own}, {share:.0%} direct" if share > 0 else own

    def _fit(self, X, groups):
        self.groups_ = groups = topics_to_keep(X, groups, None, self._said, self.model, self.topic)
        members = self._members()
        self.weights_ = self._relative_weights(len(members))
        # Their variances are moderated here, and once is enough.
        data = self.z_, self.sigma2_, self.n_, groups, replace(self.sampling_, spread=None)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(member.fit)(X, *data) for member in members.values()
        )
        self.named_estimators_ = dict(zip(members, self.estimators_, strict=True))
        self._found = {}
        every = self._every(_ANY_LEVEL)
        self._values = values = np.array([e.value for e in every])
        self._unlike = [e.unlike_peers for e in every]
        standard_errors = np.array([e.standard_error for e in every])
        self.group_weights_ = self._weights_of(values, self.n_)
        errors = standard_errors, self.z_, self._unbiased_noise(), self.group_weights_
        size = 1 / np.maximum(self.sigma2_, 1e-300) if self.n_ is None else self.n_
        self.common_inflation_, self.inflation_ = interval_inflation(
            values, *errors, size=size, largest_noise=self.sigma2_
        )
        self._fall_back(X, data, self._mean(values, self.group_weights_), errors)

    def _members(self):
        """Unfitted copies of the estimators, seeded where they left it open, by name."""
        given = self._recommended() if self.estimators is None else self.estimators
        members = _with_names(given)
        for name, member in members.items():
            _refuse_others(name, member)
        seeds = as_generator(self.random_state).integers(2**31, size=len(members))
        return {
            name: seeded(member, int(seed))
            for (name, member), seed in zip(members.items(), seeds, strict=True)
        }

    def _recommended(self):
        roles = {"model": self.model, "topic": self.topic}
        # Uncalibrated: the mean interval is widened as a whole.
        family = LogisticMixedModel if self._binary else GaussianMixedModel
        return [
            ("mixed", family(**roles, kernels="auto", calibration=None)),
            ("boosted", CrossFitMixedModel(**roles)),
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, as ``name__parameter``, of its estimators.

        Parameters
        ----------
        deep : bool, default=True
            Whether those of the estimators are wanted.

        Returns
        -------
        dict of str to object
        """
        parameters = super().get_params(deep=False)
        if not deep or not are_named(self.estimators):
            return parameters
        for name, member in self.estimators:
            parameters[name] = member
            inner = member.get_params() if hasattr(member, "get_params") else {}
            parameters |= {f"{name}__{inside}": value for inside, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of this estimator, an estimator by its name, or its parameters.

        Parameters
        ----------
        **parameters : dict
            As `get_params` names them.

        Returns
        -------
        self
        """
        if "estimators" in parameters:
            self.estimators = parameters.pop("estimators")
        if are_named(self.estimators):
            new = {name: parameters.pop(name) for name, _ in self.estimators if name in parameters}
            if new:
                self.estimators = [(name, new.get(name, old)) for name, old in self.estimators]
        return super().set_params(**parameters)

    def _relative_weights(self, n_members):
        """Weights that add up to 1."""
        weights = self.weights
        if weights is None:
            weights = np.ones(n_members) if self.estimators is not None else _RECOMMENDED
        weights = np.asarray(weights, dtype=float)
        if weights.shape != (n_members,) or np.any(weights < 0) or not 0 < weights.sum() < np.inf:
            raise ValueError(
                f"weights must be {n_members} nonnegative numbers, one per estimator, not all 0: "
                f"got {self.weights!r}."
            )
        return weights / weights.sum()

    def _weights_of(self, values, n):
        """Weights of the members in each group, of shape (n_estimators, n_groups).

        Trees work on a scale where the variance of an accuracy is known, except near 0 and 1:
        there, where less than half an item is expected to be wrong (or right), they are biased.
        """
        weights = np.repeat(self.weights_[:, None], len(values[0]), axis=1)
        if self.estimators is None and self._binary:
            n = np.median(self.n_) if n is None else n
            weights[1] *= np.clip(2 * n * values[0] * (1 - values[0]), _LEAST_SHARE, 1)
        return weights / weights.sum(axis=0)

    def _fall_back(self, X, data, value, errors):
        """Move towards the direct estimates where they seem to be better."""
        standard_errors, z, noise, _ = errors
        self.direct_weight_ = 0.0
        risky = weight_of_direct(value, *errors)
        units = len(z) if self.groups_ is None else len(np.unique(self.groups_))
        known = [len(m.topics_) for m in self.estimators_ if hasattr(m, "topics_")]
        few = min([units, *known]) <= _FEW_TOPICS
        if risky > 0 or few:
            with warnings.catch_warnings():
                # Said below, where it counts.
                warnings.filterwarnings("ignore", ".*have sigma2 = 0")
                self.direct_ = DirectEstimator().fit(X, *data)
            if few and _width(self.estimate()) > _width(self.direct_.estimate()):
                risky = 1.0
                reason = f"with {_FEW_TOPICS} topics or fewer its intervals are the wider ones"
            else:
                reason = "their estimated squared error is smaller"
            self.direct_weight_ = risky
        kept = 1 - self.direct_weight_
        losses = squared_errors(
            z + kept * (value - z), np.sqrt(kept) * standard_errors, *errors[1:]
        )
        self.squared_error_ = losses + 2 * self.direct_weight_ * noise
        if self.direct_weight_ == 1 and self.direct_.interval_ in ("t", "normal"):
            warn_of_noiseless(self.sigma2_, stacklevel=5)
        if self.direct_weight_ > 0:
            warnings.warn(
                f"The estimates are {self.direct_weight_:.0%} direct ones: {reason}.", stacklevel=4
            )

    @staticmethod
    def _mean(values, weights):
        return np.average(values, axis=0, weights=weights)

    def _fitted_value(self):
        return self._with_direct(self._mean(self._values, self.group_weights_), self.z_)

    def _fitted_bounds(self, confidence_level):
        every = self._every(confidence_level)
        bounds = self._widened(self._values, every, self.group_weights_, self.inflation_)
        if self.direct_weight_ == 0:
            return bounds
        return self._with_direct_bounds(bounds, self.direct_.estimate(confidence_level))

    def _every(self, confidence_level):
        """Estimates of the members, found once for each level."""
        if confidence_level not in self._found:
            with risk_unsaid():
                found = [member.estimate(confidence_level) for member in self.estimators_]
            self._found[confidence_level] = found
        return self._found[confidence_level]

    def _with_direct(self, value, z):
        share = self.direct_weight_
        return (1 - share) * value + share * z if share > 0 else value

    def _with_direct_bounds(self, bounds, direct):
        pairs = [(getattr(bounds, end), getattr(direct, end)) for end in Bounds._fields]
        return Bounds(*(self._with_direct(*pair) for pair in pairs))

    def _unlike_peers(self):
        """Mean over the members that know; of the recommended ones the likelihood knows best."""
        if self.estimators is None:
            return self._unlike[0]
        known = [number for number, unlike in enumerate(self._unlike) if unlike is not None]
        if not known:
            return None
        return self._mean([self._unlike[number] for number in known], self.group_weights_[known])

    def _value(self, X, z, sigma2, n):
        values = self._new_values(X, z, sigma2, n)
        value = self._mean(values, self._weights_of(values, n))
        return value if z is None else self._with_direct(value, z)

    def _new_values(self, X, z, sigma2, n):
        given = {} if z is None else {"z": z, "sigma2": sigma2, "n": n}
        return [member.predict(X, **given) for member in self.estimators_]

    def _bounds(self, X, z, sigma2, n, confidence_level):
        data = X, z, sigma2, n, confidence_level
        every = [member._new_bounds(*data) for member in self.estimators_]
        values = self._new_values(X, z, sigma2, n)
        bounds = self._widened(values, every, self._weights_of(values, n), self.common_inflation_)
        if z is None or self.direct_weight_ == 0:
            return bounds
        return self._with_direct_bounds(bounds, self.direct_._new_bounds(*data))

    def _widened(self, values, every, weights, inflation):
        """Mean of the members' bounds, widened around the mean estimate."""
        value = self._mean(values, weights)
        low, high = (
            self._mean([getattr(bounds, end) for bounds in every], weights)
            for end in ("low", "high")
        )
        own = np.array([bounds.standard_error for bounds in every])
        wide = inflation * mean_standard_errors(np.array(values), own, weights)
        mean = self._mean(own, weights)
        factor = np.where(mean > 0, wide / np.where(mean > 0, mean, 1), inflation)
        return Bounds(value + factor * (low - value), value + factor * (high - value), wide)


def _width(estimate):
    return np.mean(estimate.high - estimate.low)


def _with_names(estimators):
    """Estimators by name, those without one called by their class, and numbered."""
    if not isinstance(estimators, list | tuple) or are_named(estimators):
        return named_estimators(estimators)
    kinds = [type(member).__name__.lower() for member in estimators]
    numbers = [kinds[: at + 1].count(kind) for at, kind in enumerate(kinds)]
    return {
        kind if kinds.count(kind) == 1 else f"{kind}-{number}": member
        for kind, number, member in zip(kinds, numbers, estimators, strict=True)
    }


def _refuse_others(name, member):
    if hasattr(member, "fit_predict") and hasattr(member, "estimate"):
        return
    kind = type(member).__name__
    remedy = "Pass estimators of groups, such as [('direct', DirectEstimator()), ...]."
    if hasattr(member, "__sklearn_tags__") and is_regressor(member):
        remedy = (
            "A regressor goes into one: "
            f"AveragedEstimator([({name!r}, EmpiricalBayes({kind}())), ...])."
        )
    raise TypeError(f"{kind} ({name!r}) is no estimator of groups. {remedy}")
