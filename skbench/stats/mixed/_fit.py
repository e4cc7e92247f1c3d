"""Restricted maximum likelihood for the variances, sites by expectation propagation."""

import copy
import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats.mixed import _gaussian as gaussian
from skbench.stats.mixed._extrapolation import Extrapolation, State
from skbench.stats.mixed._sites import site_evidence, tilted_moments, updated_sites
from skbench.stats.mixed._structure import Noise, factor_of, kinds_of
from skbench.stats.mixed._together import EVIDENCE, LATENT, LEARN, POSTERIOR, Wanted, alone

_MAX_STEPS = 200
_SWINGING = 80  # steps from which on the shared noise no longer follows the accuracies
_TOLERANCE = 3e-5  # of log odds (or standardized scores), and of the log likelihood
_LONGEST_STEP = 1.5  # of a log variance
_LEAST_VARIANCE = 1e-7
_LARGEST_VARIANCE = 1e3
_STEPS, _WIDEST_STEP, _STEP_IN_STD = 4, 0.5, 1.5  # of the grid, each way
_CERTAIN = 0.05  # uncertainty of a log standard deviation that needs no grid
_LEAST_STD, _LARGEST_IN_PRIOR = 0.05, 4.0  # ends of the grid where the data say little
_NEGLIGIBLE = 5.0  # log weight below the best that the rough evidence rules out
_MARGIN = 2.0  # by which points beyond may be better than the ones on the way there
_LARGEST_RATIO = 2.0
_LEAST_OWN = 0.1  # part of its errors that a model shares with nobody
_DOUBTFUL = 0.01  # accuracies nearer to 0 or 1 do not widen the noise further


class BlockFit(NamedTuple):
    """A fitted mixed model: variances, pseudo-observations, posterior, shared noise.

    Or several with the same noise: all other arrays have one more axis in front.
    """

    variances: np.ndarray
    W: np.ndarray
    b: np.ndarray
    noise: Noise | None
    posterior: gaussian.Posterior


class Binomial:
    """Counts whose errors may be correlated within a block.

    The correlation `R` of the errors is split in ``c I`` and the rest. The rest is
    Gaussian noise on the log odds, ``D (R - c I) D`` with ``D = 1 / sqrt(n p (1 - p))``;
    the likelihood of the counts, to the power ``1 / c``, has the other part.
    """

    is_gaussian = False

    def __init__(self, k, n, correlation=None):
        self.n = n
        self._shared, own = split_correlation(correlation)
        self._factor = None if self._shared is None else factor_of(self._shared)
        self.k_own, self.n_own = k / own, n / own
        p = (k + 1) / (n + 2)
        self.start = (self.n_own * p * (1 - p), self.n_own * p * (1 - p) * np.log(p / (1 - p)))
        self.start_noise = self._noise(p)

    def _noise(self, p):
        """Covariance of the noise that counts share, at these accuracies."""
        if self._shared is None:
            return None
        p = np.clip(p, _DOUBTFUL, 1 - _DOUBTFUL)
        scale = np.where(self.n > 0, 1 / np.sqrt(np.maximum(self.n, 1) * p * (1 - p)), 0)
        return Noise(scale, self._shared, self._factor)

    def part(self, blocks):
        """The likelihood of some blocks; their noise is known."""
        part = copy.copy(self)
        part.n, part.k_own, part.n_own = (x[blocks] for x in (self.n, self.k_own, self.n_own))
        return part

    def noise(self, posterior, noise):
        """New shared noise, half way from the old: .7 of the way swing for ever with 250 models."""
        if noise is None:
            return None
        wanted = self._noise(expit(posterior.mean)).scale
        return noise._replace(scale=(noise.scale + wanted) / 2)

    def update(self, W, b, posterior):
        """New pseudo-observations, given the posterior."""
        noisy = posterior.noisy_mean, posterior.noisy_variance
        return updated_sites(self.k_own, self.n_own, W, b, *noisy)

    @staticmethod
    def squared_slope(mean):
        """Squared change of the accuracy per unit of log odds."""
        p = expit(mean)
        return (p * (1 - p)) ** 2

    def log_mass(self, mean, variance):
        """Log of the mean likelihood where the log odds are normal."""
        return tilted_moments(self.k_own, self.n_own, mean, variance)[2]

    def block_evidence(self, W, b, posterior):
        """What the log evidence gains from the exact likelihood, block by block."""
        noisy = posterior.noisy_mean, posterior.noisy_variance
        return site_evidence(self.k_own, self.n_own, W, b, *noisy)

    def evidence(self, W, b, posterior):
        """What the log evidence gains from the exact likelihood."""
        return self.block_evidence(W, b, posterior).sum(axis=-1)


class Gaussian:
    """Direct estimates with known sampling variances; precision 0 where there is none."""

    is_gaussian = True

    def __init__(self, z, precision, correlation=None):
        shared, own = split_correlation(correlation)
        scale = np.where(precision > 0, 1 / np.sqrt(np.where(precision > 0, precision, 1)), 0)
        self.start = (precision / own, precision / own * z)
        self.start_noise = None
        if shared is not None:
            self.start_noise = Noise(scale, shared, factor_of(shared))

    def part(self, blocks):
        """The likelihood of some blocks."""
        part = copy.copy(self)
        part.start = tuple(x[blocks] for x in self.start)
        return part

    def update(self, W, b, posterior):
        """Nothing changes: the observations are Gaussian already."""
        return W, b

    def noise(self, posterior, noise):
        """Nothing changes: the variances are known."""
        return noise

    def log_mass(self, mean, variance):
        """Log density of the observations where the latent values are normal; 0 for none."""
        W, b = self.start
        noise = 1 / np.where(W > 0, W, 1)
        total = variance + noise
        return np.where(W > 0, -0.5 * ((b * noise - mean) ** 2 / total + np.log(total)), 0)

    @staticmethod
    def squared_slope(mean):
        """The latent value is the score."""
        return np.ones_like(mean)

    def evidence(self, W, b, posterior):
        """Nothing is gained: the likelihood is Gaussian already."""
        return 0.0

    def block_evidence(self, W, b, posterior):
        """Nothing is gained: the likelihood is Gaussian already."""
        return np.zeros(W.shape[:-1])


def split_correlation(correlation):
    """A correlation matrix less ``c I``, and `c`, the largest that leaves no negative variance.

    Correlations are drawn towards 0 where `c` would be below 0.1: models whose errors
    are all but the same would leave no error of their own.
    """
    if correlation is None:
        return None, 1.0
    least = np.linalg.eigvalsh(correlation).min()
    if least < _LEAST_OWN:
        drawn = (_LEAST_OWN - least) / (1 - least)
        correlation = (1 - drawn) * correlation + drawn * np.eye(correlation.shape[-1])
    own = min(max(least, _LEAST_OWN), 1.0)
    return correlation - own * np.eye(correlation.shape[-1]), own


def with_kinds(likelihood, structure):
    """The structure, told which blocks are the same where precisions do not change."""
    if not likelihood.is_gaussian:
        return structure
    (W, _), noise = likelihood.start, likelihood.start_noise
    return structure._replace(kinds=kinds_of(W, noise, structure))


def fitting_blocks(likelihood, structure, prior_std, variances, start=None, *, tell=None):
    """Alternate between variances, posterior and pseudo-observations until nothing moves.

    A generator, as `skbench.stats.mixed._together` has them.

    Parameters
    ----------
    likelihood : Binomial or Gaussian
    structure : Structure
    prior_std : ndarray of shape (n_variances,)
        Scales of half-normal priors of the roots of the variances.
    variances : ndarray of shape (n_variances,)
        Where to start.
    start : BlockFit, default=None
        A fit whose pseudo-observations and noise to start from.
    tell : callable, default=None
        Called at every step, for those who wait.

    Returns
    -------
    BlockFit
    """
    W, b, noise = (*likelihood.start, likelihood.start_noise)
    if start is not None:
        W, b, noise = start.W, start.b, start.noise
    begin = state = State(np.log(variances), W, b, noise)
    extrapolated = Extrapolation(state.units())
    previous = np.full(W.shape, np.inf)
    for number in range(_MAX_STEPS):
        if tell is not None:
            tell()
        if number == _SWINGING and noise is not None:
            # The noise follows accuracies that follow the noise: it stays where it began.
            state, extrapolated = begin, Extrapolation(begin.units())
        log_variances, W, b, noise = state
        variances = np.exp(log_variances)
        posterior = yield Wanted(W, b, noise, variances, structure, LEARN)
        step = variance_step(posterior, prior_std, log_variances)
        # A variance on its way to 0 takes long steps that no longer gain anything.
        gain = np.sum(np.abs(step * posterior.gradient))
        if max(np.max(np.abs(posterior.mean - previous)), gain) < _TOLERANCE:
            break
        previous = posterior.mean
        W, b = likelihood.update(W, b, posterior)
        if number < _SWINGING:
            noise = likelihood.noise(posterior, noise)
        after = State(log_variances + step, W, b, noise)
        state = after if likelihood.is_gaussian else extrapolated(state, after)
    posterior = gaussian.with_latent(structure, posterior)
    return BlockFit(variances, W, b, noise, posterior)


def fitting_at(likelihood, structure, variances, start, n_steps=_MAX_STEPS, tell=None):
    """Fits with known variances, all at once; a generator like `fitting_blocks`.

    Parameters
    ----------
    likelihood, structure
        As in `fitting_blocks`.
    variances : ndarray of shape (n_fits, n_variances)
    start : BlockFit
        A fit whose pseudo-observations to start from; its noise stays as it is.
    n_steps : int, default=200
        Of counts, at most; 0 leaves the pseudo-observations as they are.
    tell : callable, default=None
        As in `fitting_blocks`.

    Returns
    -------
    BlockFit
        Several.
    """
    shape = len(variances), *start.W.shape
    W, b = (np.array(np.broadcast_to(x, shape)) for x in (start.W, start.b))
    noise = start.noise

    def wanted(some, what):
        return Wanted(W[some], b[some], noise, variances[some], structure, what)

    going, previous = np.arange(len(variances)), np.full(shape, np.inf)
    n_steps = 0 if likelihood.is_gaussian else n_steps
    units = State(variances[0], W[0], b[0], noise).units() if n_steps else None
    extrapolated = [Extrapolation(units) for _ in variances]
    for _ in range(n_steps):
        if tell is not None:
            tell()
        found = yield wanted(going, POSTERIOR)
        moved = np.abs(found.mean - previous[going]).max(axis=(-2, -1)) >= _TOLERANCE
        previous[going], going = found.mean, going[moved]
        if not moved.any():
            break
        noisy = found._replace(
            noisy_mean=found.noisy_mean[moved], noisy_variance=found.noisy_variance[moved]
        )
        for at, *new in zip(going, *likelihood.update(W[going], b[going], noisy), strict=True):
            states = (State(np.log(variances[at]), *x, noise) for x in ((W[at], b[at]), new))
            W[at], b[at] = extrapolated[at](*states)[1:3]
    posterior = yield wanted(slice(None), LATENT)
    return BlockFit(variances, W, b, noise, posterior)


def fit_blocks(*arguments, **options):
    """What `fitting_blocks` finds."""
    return alone(fitting_blocks(*arguments, **options))


def fits_at(*arguments, **options):
    """What `fitting_at` finds."""
    return alone(fitting_at(*arguments, **options))


def risk_ratio(likelihood, structure, fit, claimed):
    """Squared error of the posterior means, as the data have it, over their variance.

    Parameters
    ----------
    likelihood, structure
        As in `fit_blocks`.
    fit : BlockFit
    claimed : ndarray of shape (n_blocks, B)
        Posterior variances: those of the fit, or of a mixture around it.

    Returns
    -------
    float
        Between 1 and 2: above 1 where the groups scatter in ways that the model does
        not know of. With few groups, or no variance to speak of, the ratio is rough.
    """
    risk = gaussian.unbiased_risk(fit.W, fit.b, fit.noise, fit.posterior, structure)
    weights = np.where(fit.W > 0, likelihood.squared_slope(fit.posterior.mean), 0)
    ratio = np.sum(weights * risk) / np.sum(weights * claimed)
    return float(np.clip(ratio, 1, _LARGEST_RATIO))


def log_evidence(likelihood, fit):
    """Log restricted likelihood of the variances of a fit, up to a constant."""
    return fit.posterior.log_evidence + likelihood.evidence(fit.W, fit.b, fit.posterior)


def variance_step(posterior, prior_std, log_variances):
    """A damped Newton step of the log variances towards the restricted maximum."""
    gradient = posterior.gradient - np.exp(log_variances) / (2 * prior_std**2)
    # In logs the curvature is the information less the slope, which a falling slope adds to.
    curvature = posterior.information + np.diag(np.maximum(-gradient, 1e-8))
    step = np.linalg.solve(curvature, gradient)
    # One by one: a variance on its way to 0 must not hold up the others.
    step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
    ends = np.log(_LEAST_VARIANCE), np.log(_LARGEST_VARIANCE)
    return np.clip(log_variances + step, *ends) - log_variances


def integrating(likelihood, structure, prior_std, fit, tell=None):
    """Fits over a grid of variances, weighted by their posterior probability; a generator.

    Parameters
    ----------
    likelihood, structure, prior_std
        As in `fitting_blocks`.
    fit : BlockFit
        At the restricted maximum.
    tell : callable, default=None
        As in `fitting_blocks`.

    Returns
    -------
    fits : BlockFit
        Several.
    weights : ndarray of shape (n_fits,)
        Adding up to 1.

    Notes
    -----
    Over the variances of topic and interaction: those of coefficients stay at the maximum.
    The pseudo-observations there sort out the points that cannot matter.
    """
    points, log_prior, first = _grid(fit, prior_std[: structure.n_effects])
    if log_prior.size == 1:
        fits = yield from fitting_at(likelihood, structure, fit.variances[None], fit, n_steps=0)
        return fits, np.ones(1)

    def rough(some):
        if tell is not None:
            tell()
        at = tuple(np.transpose(some))
        variances = np.exp(2 * points[at])
        wanted = Wanted(fit.W, fit.b, fit.noise, variances, structure, EVIDENCE)
        return log_prior[at] + (yield wanted)

    kept = yield from _not_negligible(rough, log_prior.shape, first)
    variances = np.exp(2 * points[kept])
    fits = yield from fitting_at(likelihood, structure, variances, fit, tell=tell)
    log_weights = log_prior[kept] + log_evidence(likelihood, fits)
    weights = np.exp(log_weights - log_weights.max())
    return fits, weights / weights.sum()


def _not_negligible(rough, shape, first):
    """Which points of a grid count, looking no farther than there is something to be found.

    From the first point on, neighbours of points that are little worse than negligible.
    """
    found, waiting = np.full(shape, -np.inf), [first]
    seen = set(waiting)
    while waiting:
        values, near = (yield from rough(waiting)), []
        for at, value in zip(waiting, values, strict=True):
            found[at] = value
            if value < found.max() - _NEGLIGIBLE - _MARGIN:
                continue
            for axis, step in itertools.product(range(len(shape)), (-1, 1)):
                next_to = (*at[:axis], at[axis] + step, *at[axis + 1 :])
                if 0 <= next_to[axis] < shape[axis] and next_to not in seen:
                    seen.add(next_to)
                    near.append(next_to)
        waiting = near
    return found > found.max() - _NEGLIGIBLE


def _grid(fit, prior_std):
    """Points in log standard deviations, their log prior probabilities, and the nearest.

    The first variances, as many as `prior_std`, take part; the others stay where they are.
    """
    values, vectors = np.linalg.eigh(fit.posterior.information)
    # Of a log variance: a log standard deviation has half of it.
    uncertainty = np.sqrt(vectors**2 @ (1 / np.maximum(values, 1e-6))) / 2
    centers = np.log(fit.variances) / 2
    axes, log_priors = [[center] for center in centers], [[0.0]] * len(centers)
    for number, scale in enumerate(prior_std):
        if uncertainty[number] > _CERTAIN:
            axes[number], log_priors[number] = _axis(centers[number], uncertainty[number], scale)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    nearest = tuple(
        int(np.argmin(np.abs(np.subtract(axis, center))))
        for axis, center in zip(axes, centers, strict=True)
    )
    return points, sum(np.meshgrid(*log_priors, indexing="ij")), nearest


def _axis(center, uncertainty, scale):
    """Log standard deviations, even, and the log prior probability around each.

    1.5 posterior standard deviations apart around the maximum; where the data say little,
    a factor of 1.65 apart over all that the prior allows.
    """
    step = min(_STEP_IN_STD * uncertainty, _WIDEST_STEP)
    if step < _WIDEST_STEP:
        axis = center + step * np.arange(-_STEPS, _STEPS + 1)
    else:
        axis = np.arange(np.log(_LEAST_STD), np.log(_LARGEST_IN_PRIOR * scale), step)
    log_prior = axis + np.log(step) - 0.5 * (np.exp(axis) / scale) ** 2
    # The lowest point stands for all below, where the likelihood no longer changes.
    log_prior[0] -= np.log(-np.expm1(-step))
    return axis, log_prior
