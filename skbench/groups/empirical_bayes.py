"""Empirical Bayes: shrink direct estimates toward a cross-fitted regression."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from scipy.stats import chi2

from skbench._checks import are_counts
from skbench._random import as_generator
from skbench._types import (
    AtLeastTwo,
    Estimator,
    Jobs,
    NonNegative,
    RandomState,
    Range,
    Splitter,
    checked,
)
from skbench.containers import UNLESS_SKEWED
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import warn_of_degenerate_cases
from skbench.groups._outside_priors import covering_interval, outside_variances
from skbench.groups._regressors import Encoded, predictions, prepared_regressor
from skbench.groups.crossfit import CrossFitKFold, as_splitter, cross_fit
from skbench.groups.synthetic import fit_on_all, trees_as_published
from skbench.stats import shrinkage
from skbench.stats.intervals import binomial
from skbench.stats.shrinkage import robust_eb

# The correction in `robust_eb.prior_moments`, and whether moments are per held-out fold.
PRIOR_VARIANCES = {
    "pmt": ("pmt", False),
    "fplib": ("fplib", False),
    "moments": ("none", True),
    "none": ("none", False),
}
_NO_INFORMATION = 1e6  # sampling variance of a missing direct estimate, in prior variances


@checked
class EmpiricalBayes(GroupEstimator):
    """Shrink direct estimates toward a cross-fitted regression on features.

    Each estimate is a weighted mean of the group's direct estimate and the prediction of a
    regression fitted to other groups. The weight of the direct estimate is larger if the group has
    many items or if the regression has large errors.

    Parameters
    ----------
    regressor : estimator, {"xgboost", "lightgbm", "ridge"} or None, default=None
        Any scikit-learn regressor of `z` on the features. None means "xgboost", with depth and
        number of trees tuned by 2-fold cross-validation. "ridge" imputes means, standardizes, and
        chooses its penalty by generalized cross-validation. Text columns are one-hot encoded
        unless the regressor has its own transformer. The regressor's `random_state` and `n_jobs`
        are set unless you specified them.
    cv : int, splitter or None, default=None
        Splits for cross-fitting. None means ``CrossFitKFold()``: 8 random splits into two folds,
        averaged. An int means one random split into that many folds. A scikit-learn splitter must
        hold out every group equally often.
    prior_variance : {"pmt", "fplib", "moments", "none"}, default="pmt"
        Estimator of the prior variance `A` and of the kurtosis from held-out residuals. "pmt" and
        "fplib" are the corrected estimators of [3]_ from the pooled residuals of a split. "pmt" is
        always positive. "moments" follows equations (7) and (9) of [1]_ in each held-out fold.
        Equation (9) as printed omits the factor 1/G, which is included here. "none" applies these
        equations to the pooled residuals of a split. With "moments" and "none", `A` may be
        estimated as 0. Intervals then have width 0.
    interval : {"robust", "length-optimal", "parametric", "fab"}, default="robust"
        "robust" has average coverage over groups for any shape of the prior. "length-optimal" has
        the same guarantee and uses the weight that gives the narrowest interval. "parametric" has
        average coverage if the prior is normal. "length-optimal" and "parametric" intervals are
        widened if `A` is uncertain because there are few groups. "fab" covers each group [4]_.
    kurtosis : "estimate" or float, default="estimate"
        Kurtosis of the prior for robust intervals; ``inf`` allows any kurtosis.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `sigma2` is not passed to `fit`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits and of the regressor if these have no seed of their own.
    n_jobs : int, default=None
        Number of folds fitted in parallel (joblib).

    Attributes
    ----------
    prior_mean_ : ndarray of shape (n_groups,)
        Cross-fitted prior means, averaged over splits.
    prior_variance_, kurtosis_ : float
        Prior variance and kurtosis of the prior, averaged over splits.
    shrinkage_factor_ : ndarray of shape (n_groups,)
        Weight ``A / (A + sigma2)`` of each direct estimate, averaged over splits.
    split_error_ : ndarray of shape (n_groups,)
        Monte Carlo standard error of each estimate over the random splits; nan for one split.
    regressor_ : estimator
        Regressor fitted to all groups, for the prior means of new groups.
    groups_ : ndarray of shape (n_groups,) or None
        Topics that folds keep together.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing, there are fewer groups (or topics) than folds, the splitter
        does not hold out every group equally often, or all groups have one binary item.

    Warns
    -----
    UserWarning
        If `A` is estimated as 0, groups have ``sigma2 = 0``, all direct estimates are equal, the
        regressor predicts a constant, or the rows appear to be several models on the same topics
        and `groups` is missing.

    See Also
    --------
    MixedModel : More precise for models x topics; detects outlying groups.
    DirectEstimator : Each group from its own items only.

    Notes
    -----
    **Steps** ([1]_, section 4.2, after [2]_). Split the groups into folds. For each held-out fold,
    fit the regression to the other folds and predict the held-out groups. Estimate `A` from the
    residuals (equation 7). The posterior mean is ``f + w (z - f)`` with ``w = A / (A + sigma2)``
    (equation 6). One random split is noisy, so estimates and half-widths are averaged over 8
    splits.

    **Intervals.** Robust intervals have the half-width ``cva(sigma2 / A, kurtosis) w sigma`` ([3]_;
    equation 10 of [1]_). Their coverage holds ON AVERAGE over the groups. It is lower for groups
    far from their prior mean and higher for the others. The proof is asymptotic in the number of
    groups and assumes normal direct estimates; averaging over splits is not part of it. For each
    group, "fab" inverts the family of tests with the smallest expected interval width under a
    prior estimated from the other folds. For counts, its coverage in every group is at least the
    confidence level, for any prior. A FAB interval need not contain the posterior mean of a group
    far from its prior mean. "fab" needs three times as many regression fits as "robust".

    **Binary scores** (every ``z * n`` is a whole number). "pmt" and "fplib" subtract the unbiased
    ``z (1 - z) / (n - 1)`` from the squared residuals, because smoothed variances are biased upward
    near 0 and 1. Estimates and intervals are clipped to [0, 1].

    **Shared items.** If models answered the same items, pass the topic as `groups`, as
    ``GroupSummary.fit_args`` does. Random folds would leak sampling errors into the regression.
    ``fit_predict(X, y)`` differs from ``fit(X, y).predict(X)``: only the first keeps a group's own
    direct estimate out of its prior mean.

    **When not to use it.** If every single group needs a guarantee, use `DirectEstimator` or
    ``interval="fab"``. With fewer than about ten groups, neither the regression nor `A` can be
    learned. With outlying groups, use `MixedModel`: here an outlier is shrunk like all other
    groups, and its residual widens all intervals.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.
    .. [2] Ignatiadis and Wager (2019). Covariate-powered empirical Bayes
       estimation. NeurIPS 32.
    .. [3] Armstrong, Kolesar and Plagborg-Moller (2022). Robust empirical Bayes
       confidence intervals. Econometrica 90.
    .. [4] Yu and Hoff (2018). Adaptive multigroup confidence intervals with
       constant coverage. Biometrika 105.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skbench import EmpiricalBayes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(100, 1))
    >>> truth = 0.3 + 0.4 * X[:, 0]
    >>> z = truth + 0.1 * rng.normal(size=100)
    >>> eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, z, sigma2=0.01)
    >>> bool(np.mean((eb.estimate().value - truth) ** 2) < 0.3 * np.mean((z - truth) ** 2))
    True
    """

    _method = "empirical Bayes"
    _watches_risk = True

    def __init__(
        self,
        regressor: Estimator | Literal["xgboost", "lightgbm", "ridge"] | None = None,
        *,
        cv: AtLeastTwo | Splitter | None = None,
        prior_variance: Literal["pmt", "fplib", "moments", "none"] = "pmt",
        interval: Literal["robust", "length-optimal", "parametric", "fab"] = "robust",
        kurtosis: Literal["estimate"] | Annotated[float, Range(1, math.inf)] = "estimate",
        sampling_variance: NonNegative | None = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.regressor = regressor
        self.cv = cv
        self.prior_variance = prior_variance
        self.interval = interval
        self.kurtosis = kurtosis
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def as_published(cls, task: str = "topic", random_state: RandomState = 0) -> Self:
        """Return the settings of Fogliato et al. (2024), sections 4.2 and A.2.

        Parameters
        ----------
        task : str, default="topic"
            Column of `X` that stratifies the tuning of the trees.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the splits and of the trees.

        Returns
        -------
        EmpiricalBayes
            XGBoost tuned by 2-fold cross-validation stratified by task (A.1), one random split of
            the groups whatever `groups` is, equation (7) in each fold, and equation (9) with kappa
            as a mean over groups (the paper prints a sum). Combine it with the plug-in variances of
            ``summarize_items(..., variance="plug-in")``.

        Notes
        -----
        The paper does not report the grid of the trees (here 10, 30 or 100 trees of depth 2 or 4)
        or the rule for ``A = 0`` (here a warning). Its intercepts of models and tasks are
        indicators here; its mean embeddings are `embed_groups`. Without the column `task`, set
        ``regressor__cv`` to unstratified folds. If several columns split equally well, these trees
        take the first. Other names of models, or another order of columns, can therefore move
        single estimates by .15 and .07 in sets of 120 groups. The default trees are invariant.

        **When not to use it.** Use it only to reproduce the paper. If models share items, its
        intervals are too short (:doc:`/user_guide/reproducing_the_paper`).
        """
        trees = trees_as_published(task, random_state)
        split = CrossFitKFold(2, 1, random_state, keep_groups=False)
        return cls(trees, cv=split, prior_variance="moments", random_state=random_state)

    def _fit(self, X, groups):
        self.groups_ = groups
        seed, fold_seed = as_generator(self.random_state).integers(2**31, size=2)
        # (1) `z_` and `sigma2_` are given. (2) Split the groups into folds.
        splitter = as_splitter(self.cv, int(fold_seed), (self.sigma2_, self.n_))
        # Names of topics predict a held-out group only if folds split topics.
        whole = groups if getattr(splitter, "keep_groups", True) else None
        regressor = prepared_regressor(self.regressor, X, whole, int(seed))
        # (3) Fit the regression on the other folds, predict the held-out fold; (5) so every fold.
        folding = splitter, groups, self.n_jobs
        encoded = Encoded.once(regressor, X)
        self._prior_means, folds = cross_fit(encoded, self.z_, None, *folding)
        # (3) Prior variance and kurtosis from the residuals of held-out groups.
        self._prior_variances, self._kurtoses = self._moments_of(self._prior_means, folds)
        if self.interval == "fab":
            self._outside_variances = outside_variances(
                regressor, X, self.z_, *folding, lambda *held_out: self._prior_moments(*held_out)[0]
            )
        self.prior_mean_ = self._prior_means.mean(axis=0)
        n_splits, by_split = len(self._prior_means), self._values_by_split()
        self.split_error_ = np.full(len(self.z_), np.nan)
        if n_splits > 1:
            self.split_error_ = by_split.std(axis=0, ddof=1) / np.sqrt(n_splits)
        self.prior_variance_ = float(self._prior_variances.mean())
        varies = self._prior_variances > 0  # else the kurtosis is undefined
        self.kurtosis_ = float(self._kurtoses[varies].mean()) if varies.any() else np.nan
        # (4) The weight of the direct estimate in the posterior mean.
        w = shrinkage.shrinkage_factor(self._prior_variances, self.sigma2_)
        self.shrinkage_factor_ = w.mean(axis=0)
        self.regressor_ = fit_on_all(encoded, self.z_, None)
        warn_of_degenerate_cases(self.z_, self.sigma2_, self._prior_variances, self.prior_variance)

    def _moments_of(self, prior_means, folds):
        """Prior variances and kurtoses per split, or per split and group if estimated per fold."""
        _, by_fold = PRIOR_VARIANCES[self.prior_variance]
        if not by_fold:
            found = self._prior_moments(prior_means, slice(None))
            return [np.broadcast_to(part, len(prior_means))[:, None] for part in found]
        A, kurtosis = np.empty((2, *prior_means.shape))
        for fold in np.unique(folds):
            at = split, group = np.nonzero(folds == fold)
            A[at], kurtosis[at] = self._prior_moments(prior_means[split, group], group)
        return A, kurtosis

    def _prior_moments(self, prior_mean, group):
        """Prior variance and kurtosis from the residuals of these groups."""
        correction, _ = PRIOR_VARIANCES[self.prior_variance]
        noise = weights = None
        if self._binary and correction != "none":
            # Smoothed variances are too large on average near 0 and 1.
            n = self.n_[group]
            noise = binomial.unbiased_variance(np.round(self.z_[group] * n), n)
            weights = (n > 1).astype(float)
            if weights.sum() < 2:
                raise ValueError(
                    "Fewer than two groups have n >= 2, so the prior variance cannot be "
                    "estimated. Merge groups until at least two groups have two items or more."
                )
        residuals = self.z_[group] - prior_mean
        found = robust_eb.prior_moments(residuals, self.sigma2_[group], weights, correction, noise)
        known = self.kurtosis != "estimate"
        return found.prior_variance, self.kurtosis if known else found.kurtosis

    def _values_by_split(self):
        """Posterior means (step 4), of shape (n_splits, n_groups)."""
        prior = self._prior_means, self.sigma2_, self._prior_variances
        return shrinkage.posterior_mean(self.z_, *prior)

    def _fitted_value(self):
        return self._values_by_split().mean(axis=0)

    def _value(self, X, z, sigma2, n):
        prior_mean = predictions(self.regressor_, X)
        if z is None:
            return prior_mean
        return shrinkage.posterior_mean(z, prior_mean, sigma2, self.prior_variance_)

    def _fitted_bounds(self, confidence_level):
        A, sigma2 = self._prior_variances, self.sigma2_
        standard_error = _posterior_deviation(A, sigma2).mean(axis=0)
        if self.interval == "fab":
            data = self.z_, sigma2, self.n_, self._binary
            prior = self.prior_mean_, self._outside_variances
            return Bounds(*covering_interval(*data, *prior, confidence_level), standard_error)
        prior = self._prior_means, A, self._kurtoses, A
        parts = self._interval(*prior, self.z_, sigma2, confidence_level)
        center, half_width = (part.mean(axis=0) for part in parts)
        return Bounds(center - half_width, center + half_width, standard_error)

    def _cut_bounds(self, bounds, value):
        # "fab" intervals are not centered at the value, so they do not move with it.
        return super()._cut_bounds(bounds, self._cut(value) if self.interval == "fab" else value)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        prior_mean = predictions(self.regressor_, X)
        A = np.full(len(X), self.prior_variance_)
        unknown = z is None
        if unknown:
            z, sigma2 = prior_mean, _NO_INFORMATION * np.maximum(A, 1e-300)
        standard_error = _posterior_deviation(A, sigma2)
        if self.interval == "fab":
            if unknown:  # no exact interval exists for a group without items
                return Bounds(*np.full((2, len(X)), np.nan), standard_error)
            data = z, sigma2, n, self._binary and are_counts(z, n)
            return Bounds(
                *covering_interval(*data, prior_mean, A, confidence_level), standard_error
            )
        prior = prior_mean, A, np.full(len(X), self.kurtosis_), A[:1]
        center, half_width = self._interval(*prior, z, sigma2, confidence_level)
        return Bounds(center - half_width, center + half_width, standard_error)

    def _interval(self, prior_mean, A, kurtosis, fitted, z, sigma2, confidence_level):
        """Center and half-width: critical value (equations 9 and 10) times standard deviation."""
        w = shrinkage.shrinkage_factor(A, sigma2)
        if self.interval == "robust":
            half_width = robust_eb.robust_half_width(A, sigma2, kurtosis, confidence_level)
            return prior_mean + w * (z - prior_mean), half_width
        if self.interval == "parametric":
            half_width = robust_eb.parametric_half_width(A, sigma2, confidence_level)
        else:
            w, half_width = robust_eb.length_optimal(A, sigma2, kurtosis, confidence_level)
        center, known = prior_mean + w * (z - prior_mean), _posterior_deviation(A, sigma2) ** 2
        units = self._n_units(self.groups_)
        plausible = robust_eb.plausible_prior_variances(fitted, self.sigma2_, units)
        plausible = plausible[..., : fitted.shape[-1]]  # one per split if `fitted` is
        variance = robust_eb.posterior_variance(z - prior_mean, sigma2, plausible)
        unknown = chi2.ppf(confidence_level, 1) * np.maximum(variance - known, 0)
        return center, np.sqrt(half_width**2 + unknown)

    @property
    def _moderates(self):
        return self.interval != "fab"  # its guarantee rests on the group's own scores

    @property
    def _guarantee(self):
        if self.interval == "fab":
            # Exact for counts; other scores use a t test, or a normal test if n is unknown.
            return "each group" if self._binary else UNLESS_SKEWED
        return "model" if self.interval == "parametric" else "average over groups"


def _posterior_deviation(A, sigma2):
    return np.sqrt(shrinkage.shrinkage_factor(A, sigma2) * sigma2)
