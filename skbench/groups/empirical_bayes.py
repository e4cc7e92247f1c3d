"""Empirical Bayes: direct estimates shrunk towards a cross-fitted regression."""

from __future__ import annotations

import numbers
import warnings
from typing import Literal

import numpy as np
from scipy.stats import chi2

from skbench._checks import are_counts, check_option, check_unit_interval
from skbench._random import as_generator
from skbench._types import Estimator, RandomState, Splitter
from skbench.containers import UNLESS_SKEWED
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import warn_of_degenerate_cases
from skbench.groups._outside_priors import covering_interval, outside_variances
from skbench.groups._regressors import precision_weights, predictions, prepared_regressor
from skbench.groups.crossfit import as_splitter, cross_fit, topics_to_keep
from skbench.groups.synthetic import fit_on_all
from skbench.stats import scales, shrinkage
from skbench.stats.intervals import binomial
from skbench.stats.shrinkage import robust_eb

_CORRECTIONS = ("pmt", "fplib", "none")
PRIOR_VARIANCES = (*_CORRECTIONS, *shrinkage.PRIOR_VARIANCE_METHODS)
INTERVALS = ("robust", "length-optimal", "parametric", "fab")
SCALES = ("identity", "arcsine", "logit")
# Stands for "no direct estimate": the interval then is that of the prior alone.
_NO_INFORMATION = 1e6
_LEAST_OF_RARER = 1.5  # answers of the rarer kind in a group, for scales that take them for normal
# Least mean squared slope of a scale, reached where all accuracies are .00025.
_FLATTEST = 1e-3


class EmpiricalBayes(GroupEstimator):
    """Shrink direct estimates towards a regression that never saw them.

    Parameters
    ----------
    regressor : estimator, {"xgboost", "lightgbm", "ridge"} or None, default=None
        Any scikit-learn regressor of `z` on the features. None is "xgboost", with
        depth and number of trees tuned by 2-fold cross-validation; "ridge" puts the
        mean where a value is missing, standardizes, and chooses its penalty by
        generalized cross-validation. Text columns of a frame are one-hot encoded unless
        the regressor brings its own transformer, for "xgboost" and "ridge" categories
        too; open random states and `n_jobs` are set.
    cv : int, splitter or None, default=None
        None is ``CrossFitKFold()``: 8 random splits in two folds, averaged. An
        int is one random split in so many folds. A scikit-learn splitter must
        hold out each group equally often.
    prior_variance : {"pmt", "fplib", "none", "moments", "reml", "ml", "adjusted-ml", "sure", \
"fay-herriot", "paule-mandel", "prasad-rao"}, default="pmt"
        Estimator of the prior variance `A` from the held-out residuals: "pmt" and
        "fplib" are the corrections of [3]_, which take noise off without bias where
        scores are binary. "pmt" is never 0, "fplib" where all residuals are equal, as
        when every answer is right. "none" is equation (9) of [1]_ to the letter: `A` and
        kurtosis from the residuals and `sigma2`, cut at 0 and 1 only, for reproduction;
        where `A` is 0 intervals have no width. For the others see
        `skbench.stats.shrinkage.prior_variance`.
    pool : bool, default=True
        One `A` from all residuals of a split, or one per held-out fold.
    spread : {"common", "proportional"}, default="common"
        One `A` for all groups, or one in proportion to the `sigma2` of each, which
        is shrinkage of t statistics ([3]_): every group by the same factor. For
        identity scale only.
    interval : {"robust", "length-optimal", "parametric", "fab"}, default="robust"
        Robust intervals promise average coverage whatever the shape of the prior; so do
        length-optimal ones, which shrink so as to be shortest and are not centered at
        the estimate; parametric ones promise it if the prior is normal. The latter two
        reckon with an `A` that few topics (or groups) leave uncertain
        (`skbench.stats.robust_eb.plausible_prior_variances`).
        "fab" covers EACH group at the level, exactly for counts ([4]_): the prior
        only decides where the interval may be short. It costs three times the
        fits.
    kurtosis : "estimate" or float, default="estimate"
        Kurtosis of the prior that robust intervals allow for; ``inf`` allows any.
    scale : {"identity", "arcsine", "logit"}, default="identity"
        Scale of regression and shrinkage, for direct estimates in [0, 1]. The
        others can be a little more precise, but their intervals are rougher:
        with 20 items average coverage was .93 ("arcsine") and .89 ("logit") for
        accuracies over all of [0, 1], .90 and .79 between .9 and .99, where the
        identity scale held .95. So robust and length-optimal intervals promise the model
        only; and nothing, with a warning, where fewer than 1.5 answers of a group, on
        average, are of its rarer kind.
    weight_by_precision : bool, default=False
        Weigh groups by ``1 / sigma2`` in the regression.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits and of the regressor.
    n_jobs : int, default=None
        Folds fitted at the same time (joblib).

    Attributes
    ----------
    prior_mean_ : ndarray of shape (n_groups,)
        Cross-fitted prior means, averaged over splits, on the working scale.
    prior_variance_ : float
        Mean of the estimates of `A` over splits, working scale squared; in units
        of `sigma2` with ``spread="proportional"``.
    kurtosis_ : float
        Mean kurtosis of the prior over splits.
    shrinkage_factor_ : ndarray of shape (n_groups,)
        Weight ``A / (A + sigma2)`` of each direct estimate, averaged over splits.
    regressor_ : estimator
        Fitted on all groups, for the prior means of new groups.
    groups_ : ndarray of shape (n_groups,) or None
        What folds kept together: what was passed as `groups`; or, with `cv` left
        open, the ``topic`` of a frame with the columns ``model`` and ``topic``.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `sigma2` is missing, there are fewer groups (or topics) than folds, the
        splitter does not hold out every group, a scale meets values outside
        [0, 1], or all groups have one binary item.

    Warns
    -----
    UserWarning
        If `A` is estimated as 0 (intervals then have no width), if groups have
        ``sigma2 = 0`` (they are taken for exact), if all direct estimates are equal,
        if the regressor predicts a constant, if columns show topics that several
        models share and `groups` was not given, or if right answers are too near all or none
        for the `scale`.

    Notes
    -----
    The steps of [1]_, section 4.2, after [2]_: (1) `sigma2` is given; (2) split
    the groups in folds; (3) fit the regression on the other folds, predict the
    held-out fold, and estimate `A` from its residuals; (4) the posterior mean is
    ``f + A / (A + sigma2) (z - f)``; (5) swap the folds. ``cv=2, pool=False,
    prior_variance="moments"`` are the paper's settings; one random split is noisy, so the
    default averages the estimates, and the interval half-widths, of 8.

    Robust intervals have half-width ``cva(sigma2 / A, kurtosis) w sigma`` ([3]_).
    They promise coverage ON AVERAGE over the groups, not of each group: groups
    far from their prior mean are covered less often, the others more.

    "fab" intervals ([4]_) invert, for each group, the tests that are shortest on
    average under a prior from the OTHER folds: its mean is the cross-fitted one, its
    variance comes from cross-fitting inside those folds. Coverage of counts is then
    at least the level in every group whatever the prior
    (test_fab_covers_every_group), as with Clopper-Pearson, at some .9 times its
    width. The interval need not hold the posterior mean of a group that lies far
    from its prior. For other scores it is a t interval, exact for normal items.

    Binary scores (every ``z * n`` whole): ``sigma2`` is used for shrinking, while
    "pmt" and "fplib" subtract ``z (1 - z) / (n - 1)`` from the squared residuals;
    the smoothed variance is too large there when accuracies are near 0 or 1, `A`
    too small, and coverage fell to .19 (test_binary_groups_are_covered_on_average).
    Estimates and intervals are cut to [0, 1].

    An outlying group, such as a topic on which a prompt breaks, is shrunk like all others, and its
    residual widens the intervals of all. This estimator does not look for such groups;
    `MixedModel` does (:doc:`/user_guide/outliers`).

    Where models answered the same items, pass the topic as `groups`:
    `summarize_items` does. Folds then keep topics together; random folds would
    let the regression learn the noise it should be blind to.

    ``fit_predict(X, y)`` is not ``fit(X, y).predict(X)``: the first never uses
    a group's own direct estimate in its prior mean, the second treats the rows
    as new groups without one.

    When not to use it: when every single group needs a guarantee, as in an audit
    of one topic (`DirectEstimator`), or with fewer than some ten groups.

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
        cv: int | Splitter | None = None,
        prior_variance: Literal[
            "pmt",
            "fplib",
            "moments",
            "reml",
            "ml",
            "adjusted-ml",
            "sure",
            "fay-herriot",
            "paule-mandel",
            "prasad-rao",
        ] = "pmt",
        pool: bool = True,
        spread: Literal["common", "proportional"] = "common",
        interval: Literal["robust", "length-optimal", "parametric", "fab"] = "robust",
        kurtosis: Literal["estimate"] | float = "estimate",
        scale: Literal["identity", "arcsine", "logit"] = "identity",
        weight_by_precision: bool = False,
        sampling_variance: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.regressor = regressor
        self.cv = cv
        self.prior_variance = prior_variance
        self.pool = pool
        self.spread = spread
        self.interval = interval
        self.kurtosis = kurtosis
        self.scale = scale
        self.weight_by_precision = weight_by_precision
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _moderates(self):
        return self.interval != "fab"  # which covers a group by its own scores

    def _fit(self, X, groups):
        self._check_parameters()
        self.groups_ = groups = topics_to_keep(X, groups, self.cv, self._said)
        seed, fold_seed = as_generator(self.random_state).integers(2**31, size=2)
        regressor = prepared_regressor(self.regressor, X, groups, int(seed))
        self._z, self._sigma2 = self._on_scale(self.z_, self.sigma2_, self.n_)
        self._is_rough = self.interval != "fab" and self._too_near_the_ends()
        weights = precision_weights(self._sigma2) if self.weight_by_precision else None
        splitter = as_splitter(self.cv, int(fold_seed), (self.sigma2_, self.n_))
        folded = (regressor, X, self._z, weights)
        self._learn_prior(*cross_fit(*folded, splitter, groups, self.n_jobs))
        if self.interval == "fab":
            self._outside_variances = outside_variances(
                *folded, splitter.split(X, self._z, groups), groups, self._variance_of, self.n_jobs
            )
        self.regressor_ = fit_on_all(regressor, X, self._z, weights)
        warn_of_degenerate_cases(self.z_, self.sigma2_, self._prior_variances, self.prior_variance)

    def _learn_prior(self, prior_means, folds):
        """Prior variance and kurtosis of every split, and their means over splits."""
        self._prior_means = prior_means
        self._prior_variances, self._kurtoses = np.empty((2, *prior_means.shape))
        for splits, part in self._parts(folds):
            A, kurtosis = self._prior_moments(prior_means[splits, part], part)
            self._prior_variances[splits, part] = A[:, None] * self._unit(self._sigma2[part])
            self._kurtoses[splits, part] = kurtosis[:, None]
        self.prior_mean_ = prior_means.mean(axis=0)
        self.prior_variance_ = float((self._prior_variances / self._unit(self._sigma2)).mean())
        self.kurtosis_ = float(self._kurtoses.mean())
        w = shrinkage.shrinkage_factor(self._prior_variances, self._sigma2)
        self.shrinkage_factor_ = w.mean(axis=0)

    def _too_near_the_ends(self):
        """Whether right answers are far from normal on the scale; warns if so."""
        if self.scale == "identity" or not self._binary:
            return False
        rarer = np.mean(self.n_ * np.minimum(self.z_, 1 - self.z_))
        if rarer >= _LEAST_OF_RARER:
            return False
        warnings.warn(
            f"scale={self.scale!r} takes answers for normal, but of a group's {rarer:.2g} are of "
            "the rarer kind, right or wrong, on average: its intervals cover too little and "
            'promise nothing. Use scale="identity".',
            stacklevel=4,
        )
        return True

    @property
    def _counts(self):
        return self._binary and self.n_ is not None and are_counts(self.z_, self.n_)

    def _parts(self, folds):
        """Splits and groups that have their moments in common."""
        if self.pool:
            return [(slice(None), slice(None))]
        return [
            (slice(split, split + 1), np.flatnonzero(fold == k))
            for split, fold in enumerate(folds)
            for k in np.unique(fold)
        ]

    def _variance_of(self, prior_means, part):
        A, _ = self._prior_moments(prior_means[part][None], part)
        return A[0] * np.mean(self._unit(self._sigma2[part]))

    def _unit(self, sigma2):
        """What prior variances are multiples of: 1, or the sampling variances."""
        return sigma2 if self.spread == "proportional" else np.ones_like(sigma2)

    def _prior_moments(self, prior_mean, part):
        """Prior variances and kurtoses, one per split, from residuals.

        prior_mean : ndarray of shape (n_splits, n_part)
        part : slice or ndarray of int of shape (n_part,), positions of the groups
        """
        A, kurtosis = self._corrected_moments(prior_mean, part)
        if self.prior_variance not in _CORRECTIONS:
            unit = self._unit(self._sigma2[part])
            residuals = (self._z[part] - prior_mean) / np.sqrt(unit)
            noise = self._sigma2[part] / unit
            A = np.array(
                [shrinkage.prior_variance(own, noise, self.prior_variance) for own in residuals]
            )
        return A, kurtosis if self.kurtosis == "estimate" else np.full(len(A), self.kurtosis)

    def _corrected_moments(self, prior_mean, part):
        correction = self.prior_variance if self.prior_variance in _CORRECTIONS else "pmt"
        unit = self._unit(self._sigma2[part])
        if not self._binary or correction == "none":
            residuals = (self._z[part] - prior_mean) / np.sqrt(unit)
            moments = robust_eb.prior_moments(
                residuals, self._sigma2[part] / unit, correction=correction
            )
            return moments.prior_variance, moments.kurtosis
        # Smoothed variances are too large on average near 0 and 1, and would hide the
        # spread of the groups: take it off with the unbiased ones, as counts allow.
        n = self.n_[part]
        several = n > 1
        if several.sum() < 2:
            raise ValueError(
                "With one item in all but one group, spread between groups cannot be told from "
                "noise. Merge groups until at least two have two items or more."
            )
        moments = robust_eb.prior_moments(
            (self.z_[part] - scales.from_scale(prior_mean, self.scale)) / np.sqrt(unit),
            self.sigma2_[part] / unit,
            weights=several.astype(float),
            noise=binomial.unbiased_variance(np.round(self.z_[part] * n), n) / unit,
            correction=correction,
        )
        steepness = np.mean(scales.scale_derivative(prior_mean, self.scale) ** 2, axis=1)
        return moments.prior_variance / np.maximum(steepness, _FLATTEST), moments.kurtosis

    def _fitted_value(self):
        prior = self._prior_means, self._prior_variances
        return self._posterior_mean(*prior, self._z, self._sigma2).mean(axis=0)

    def _fitted_bounds(self, confidence_level):
        bounds = self._fitted_bounds_on_average(confidence_level)
        if self.interval != "fab":
            return bounds
        prior = self.prior_mean_, self._outside_variances
        low, high = covering_interval(
            self.z_, self.sigma2_, self.n_, self._binary, *prior, self.scale, confidence_level
        )
        return bounds._replace(low=low, high=high)

    def _fitted_bounds_on_average(self, confidence_level):
        every_split = (self._prior_means, self._prior_variances, self._kurtoses)
        doubt = self._doubt(self._prior_variances)
        span = self._span(*every_split, self._z, self._sigma2, doubt, confidence_level)
        return self._on_score_scale(*(part.mean(axis=0) for part in span))

    def _value(self, X, z, sigma2, n):
        prior_mean = predictions(self.regressor_, X)
        if z is None:
            return self._mean_on_score_scale(prior_mean, self.prior_variance_)
        on_scale, noise = self._on_scale(z, sigma2, n)
        A = self.prior_variance_ * self._unit(noise)
        return self._posterior_mean(prior_mean, A, on_scale, noise)

    def _posterior_mean(self, prior_mean, A, z, sigma2):
        """In score units."""
        mean = shrinkage.posterior_mean(z, prior_mean, sigma2, A)
        return self._mean_on_score_scale(mean, shrinkage.shrinkage_factor(A, sigma2) * sigma2)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        bounds = self._bounds_on_average(X, z, sigma2, n, confidence_level)
        if self.interval != "fab":
            return bounds
        if z is None:
            # Nothing is known of one single group without items.
            return bounds._replace(low=np.full(len(X), np.nan), high=np.full(len(X), np.nan))
        low, high = self._covering_bounds(X, z, sigma2, n, confidence_level)
        return bounds._replace(low=low, high=high)

    def _bounds_on_average(self, X, z, sigma2, n, confidence_level):
        prior_mean = predictions(self.regressor_, X)
        A = np.full(len(X), self.prior_variance_)
        if z is not None:
            z, sigma2 = self._on_scale(z, sigma2, n)
            A *= self._unit(sigma2)
        elif self.spread == "common":
            z, sigma2 = prior_mean, _NO_INFORMATION * np.maximum(A, 1e-300)
        else:
            # The spread of new groups goes with a sigma2 that they do not have.
            return Bounds(*np.full((3, len(X)), np.nan))
        kurtosis = np.full(len(z), self.kurtosis_)
        doubt = self._doubt(self.prior_variance_ * (unit := self._unit(self._sigma2)))
        if doubt is not None:
            doubt = (doubt / unit)[..., :1] * self._unit(sigma2)
        span = self._span(prior_mean, A, kurtosis, z, sigma2, doubt, confidence_level)
        return self._on_score_scale(*span)

    def _covering_bounds(self, X, z, sigma2, n, confidence_level):
        """Ends that cover each new group: its prior has seen none of its items."""
        prior_mean = predictions(self.regressor_, X)
        A = self.prior_variance_ * self._unit(self._on_scale(z, sigma2, n)[1])
        binary = self._binary and are_counts(z, n)
        return covering_interval(z, sigma2, n, binary, prior_mean, A, self.scale, confidence_level)

    def _doubt(self, A):
        """Values that a prior variance may well have, for the intervals that reckon with it."""
        if self.interval not in ("parametric", "length-optimal"):
            return None
        n_units = len(self.z_) if self.groups_ is None else len(np.unique(self.groups_))
        unit = self._unit(self._sigma2)
        return robust_eb.plausible_prior_variances(A, self._sigma2, n_units, unit)

    def _span(self, prior_mean, A, kurtosis, z, sigma2, doubt, confidence_level):
        """Center, half-width and posterior standard deviation on the working scale."""
        w = shrinkage.shrinkage_factor(A, sigma2)
        standard_deviation = np.sqrt(w * sigma2)
        if self.interval == "parametric":
            half_width = robust_eb.parametric_half_width(A, sigma2, confidence_level)
        elif self.interval == "robust":
            half_width = robust_eb.robust_half_width(A, sigma2, kurtosis, confidence_level)
        else:
            w, half_width = robust_eb.length_optimal(A, sigma2, kurtosis, confidence_level)
        if doubt is not None:
            variance = robust_eb.posterior_variance(z - prior_mean, sigma2, doubt)
            unknown = np.maximum(variance - standard_deviation**2, 0)
            half_width = np.sqrt(half_width**2 + chi2.ppf(confidence_level, 1) * unknown)
        center = scales.within_scale(prior_mean + w * (z - prior_mean), self.scale)
        return center, half_width, standard_deviation

    def _on_scale(self, z, sigma2, n):
        if self.scale == "identity":
            return z, sigma2
        check_unit_interval("z", z, f"for scale={self.scale!r}")
        values, variances = scales.to_scale(z, sigma2, n, self.scale)
        if np.any(np.isnan(variances)):
            raise ValueError(
                f"scale={self.scale!r} needs group sizes where sigma2 is 0 at z = 0 or z = 1. "
                "Pass n=..., or a smoothed sigma2."
            )
        return values, variances

    def _mean_on_score_scale(self, mean, variance):
        return scales.from_scale_mean(scales.within_scale(mean, self.scale), variance, self.scale)

    def _on_score_scale(self, center, half_width, standard_deviation):
        variance = scales.from_scale_variance(center, standard_deviation**2, self.scale)
        return Bounds(
            scales.from_scale(center - half_width, self.scale),
            scales.from_scale(center + half_width, self.scale),
            np.sqrt(variance),
        )

    @property
    def _guarantee(self):
        # Exact for counts; others are tested by t, or normal where sizes are unknown.
        if self.interval == "fab":
            return "each group" if self._counts else UNLESS_SKEWED
        if self._is_rough:
            return "none"
        # On other scales variances vary with the truth, which robust intervals do not allow for.
        is_robust = self.interval != "parametric" and self.scale == "identity"
        return "average over groups" if is_robust else "model"

    def _check_parameters(self):
        check_option("prior_variance", self.prior_variance, PRIOR_VARIANCES)
        check_option("interval", self.interval, INTERVALS)
        check_option("scale", self.scale, SCALES)
        check_option("spread", self.spread, ("common", "proportional"))
        if self.spread == "proportional" and (self.scale != "identity" or 0 in self.sigma2_):
            raise ValueError(
                'spread="proportional" needs scale="identity" and a positive sigma2 in every group.'
            )
        known = isinstance(self.kurtosis, numbers.Real) and self.kurtosis >= 1
        if self.kurtosis != "estimate" and not known:
            raise ValueError(
                f"kurtosis must be 'estimate' or a number of at least 1, got {self.kurtosis!r}."
            )
