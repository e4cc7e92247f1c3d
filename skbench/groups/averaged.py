"""The mean of several estimators, and the combination that is recommended."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from skbench._random import as_generator
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups.crossfit import topics_to_keep
from skbench.groups.crossfit_mixed import CrossFitMixedModel
from skbench.groups.gaussian_mixed import GaussianMixedModel
from skbench.groups.logistic_mixed import LogisticMixedModel
from skbench.stats.averaging import interval_inflation, mean_standard_errors, squared_errors
from skbench.stats.binomial import unbiased_variance

_RECOMMENDED = 2.0, 1.0  # weights of the mixed model and of the boosted trees


class AveragedEstimator(GroupEstimator):
    """Mean of several estimators of the same groups: the most precise one here.

    Parameters
    ----------
    estimators : list of estimators or None, default=None
        What to average; cloned. None is the recommended combination: a mixed model of
        models, topics and kernels of the features (`LogisticMixedModel` for binary scores,
        else `GaussianMixedModel`), and `CrossFitMixedModel`, which has boosted trees.
    weights : array-like of shape (n_estimators,) or None, default=None
        Of the mean. None is equal ones; for the recommended combination two thirds and
        one third.
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
    weights_ : ndarray of shape (n_estimators,)
        Their weights, which add up to 1.
    inflation_ : float
        Factor, at least 1, by which intervals are widened once more, see the notes.
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

    Notes
    -----
    Estimators that err in different ways (a likelihood for counts and smooth effects of
    features, trees) have a mean that often errs less than each. The combination was chosen on
    one half of the data sets of ``benchmarks/precision.py`` and confirmed on the other;
    :doc:`/user_guide/which_estimator` has the figures.

    The errors of the estimators are highly dependent, for they come from the same direct
    estimates. They count as perfectly dependent: the interval is the mean interval, widened
    where the estimators differ (`skbench.stats.averaging.mean_standard_errors`, after [1]_),
    and where the direct estimates lie farther from the mean estimate than the standard
    errors allow (`skbench.stats.averaging.interval_inflation`). Coverage is meant ON AVERAGE
    over the groups: groups that are unlike the others are covered less.

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

    def __init__(
        self,
        estimators=None,
        *,
        weights=None,
        sampling_variance=None,
        random_state=None,
        n_jobs=None,
    ):
        self.estimators = estimators
        self.weights = weights
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _method(self):
        if self.estimators is None:
            return "averaged"
        return f"average of {len(self.estimators)}"

    def _fit(self, X, groups):
        self.groups_ = groups = topics_to_keep(X, groups, None)
        members = self._members()
        self.weights_ = self._relative_weights(len(members))
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(member.fit)(X, self.z_, self.sigma2_, self.n_, groups) for member in members
        )
        every = [member.estimate() for member in self.estimators_]
        values = np.array([e.value for e in every])
        standard_errors = np.array([e.standard_error for e in every])
        errors = standard_errors, self.z_, self._noise(), self.weights_
        self.squared_error_ = squared_errors(self._mean(values), *errors)
        self.inflation_ = interval_inflation(values, *errors)

    def _members(self):
        """Unfitted copies of the estimators, seeded where they left it open."""
        given = self.estimators
        if given is None:
            # Uncalibrated: the mean interval is widened as a whole.
            family = LogisticMixedModel if self._binary else GaussianMixedModel
            given = [family(kernels="auto", calibration=None), CrossFitMixedModel()]
        if len(given) == 0:
            raise ValueError("estimators is empty: pass at least one, or None for the default.")
        seeds = as_generator(self.random_state).integers(2**31, size=len(given))
        return [
            _seeded(clone(member), int(seed)) for member, seed in zip(given, seeds, strict=True)
        ]

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

    def _mean(self, values):
        return np.average(values, axis=0, weights=self.weights_)

    def _noise(self):
        """Sampling variances that are right on average: smoothed ones are not."""
        if not self._binary:
            return self.sigma2_
        noise = unbiased_variance(np.round(self.z_ * self.n_), self.n_)
        return np.where(np.isnan(noise), self.sigma2_, noise)

    def _fitted_value(self):
        return self._mean([member.estimate().value for member in self.estimators_])

    def _fitted_bounds(self, confidence_level):
        every = [member.estimate(confidence_level) for member in self.estimators_]
        return self._widened([e.value for e in every], every)

    def _value(self, X, z, sigma2, n):
        return self._mean(self._new_values(X, z, sigma2, n))

    def _new_values(self, X, z, sigma2, n):
        given = {} if z is None else {"z": z, "sigma2": sigma2, "n": n}
        return [member.predict(X, **given) for member in self.estimators_]

    def _bounds(self, X, z, sigma2, n, confidence_level):
        data = X, z, sigma2, n, confidence_level
        every = [member._new_bounds(*data) for member in self.estimators_]
        return self._widened(self._new_values(X, z, sigma2, n), every)

    def _widened(self, values, every):
        """Mean of the members' bounds, widened around the mean estimate."""
        value = self._mean(values)
        low, high = (
            self._mean([getattr(bounds, end) for bounds in every]) for end in ("low", "high")
        )
        own = np.array([bounds.standard_error for bounds in every])
        wide = self.inflation_ * mean_standard_errors(np.array(values), own, self.weights_)
        mean = self._mean(own)
        factor = np.divide(wide, mean, out=np.full_like(wide, self.inflation_), where=mean > 0)
        return Bounds(value + factor * (low - value), value + factor * (high - value), wide)


def _seeded(member, seed):
    """The estimator, or the steps of a pipeline, with the seed where none was given."""
    for _, step in getattr(member, "steps", ()):
        if hasattr(step, "get_params"):
            _seeded(step, seed)
    if "random_state" in member.get_params() and member.get_params()["random_state"] is None:
        return member.set_params(random_state=seed)
    return member
