"""Posteriors of the hierarchical count model: exact on a grid, or by Markov chains."""

import numpy as np

from skbench._checks import plain
from skbench.stats.resampling.beta_binomial import (
    draw_accuracies,
    draw_means,
    posterior_accuracy,
    posterior_grid,
)
from skbench.stats.resampling.dirichlet_multinomial import gibbs
from skbench.stats.resampling.markov_chains import effective_sample_size, r_hat

_BLOCK = 16  # models integrated at once
_EDGE_MASS = 1e-6
_MANY_TASKS, _SKEWNESS = 50, 0.2  # from here weighted means are all but normal
_GRID_ERROR = 1e-2  # of the log evidence: the accuracies are off by far less
_N_CHAINS = 4
_N_WARMUP = 500
_FEWEST_PER_CHAIN = 50
_R_HAT, _FEWEST_EFFECTIVE = 1.01, 400
_UNMET = 100  # effective draws: a mean is known to a tenth of a posterior sd


class GridPosterior:
    """The posterior by quadrature over (a, b)."""

    def __init__(self, k, n, priors):
        self._k, self._n = k, n
        # Some models at a time: one that needs a fine grid does not refine all of them.
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(k), _BLOCK)]
        grids = [
            posterior_grid(k[own], n[own], prior.log_joint_density, *prior.ranges())
            for own, prior in zip(blocks, map(priors.of, blocks), strict=True)
        ]
        self._points = [row for g in grids for row in zip(g.a, g.b, g.weight, strict=True)]
        self._laws = [known for grid in grids for known in grid.distributions()]
        self.accuracy = np.concatenate(
            [posterior_accuracy(k[own], n[own], g) for own, g in zip(blocks, grids, strict=True)]
        )
        self.prior_counts = np.exp(
            [[weight @ np.log(a), weight @ np.log(b)] for a, b, weight in self._points]
        )
        self.log_evidence = np.concatenate([grid.log_evidence for grid in grids])
        self.diagnostics = {
            "edge_mass": np.concatenate([grid.edge_mass for grid in grids]),
            "error": np.concatenate([grid.error for grid in grids]),
        }

    def draws(self, start, size, rng):
        """Draws `start` to ``start + size`` of the accuracies, (size, n_models, n_tasks)."""
        values = np.empty((size,) + self._k.shape)
        for i, law in enumerate(self._laws):
            values[:, i] = draw_accuracies(self._k[i], self._n[i], law, size, rng)
        return values

    def means(self, shares, size, rng, new):
        """Draws of weighted means of the accuracies, (size, n_models, n_means).

        None where these are not all but normal, as with few tasks.
        """
        variance = self.accuracy * (1 - self.accuracy) / self._n
        if np.any((variance @ shares**2) ** 2 < _MANY_TASKS * (variance**2 @ shares**4)):
            return None
        values = np.empty((size, len(self._k), shares.shape[1]))
        for i, law in enumerate(self._laws):
            known = self._k[i], self._n[i], shares, law
            values[:, i], skewness = draw_means(*known, size, rng, new / self._n[i])
            if not np.mean(skewness**2) < _SKEWNESS**2:
                return None
        return values

    def problem(self, models):
        """What the user should know of the quadrature, or None."""
        edge_mass, error = self.diagnostics["edge_mass"], self.diagnostics["error"]
        # Not a number where the search met no point with prior density.
        open_edge = ~(edge_mass < _EDGE_MASS)
        if open_edge.any():
            worst = np.argmax(open_edge)
            raise ValueError(
                f"The posterior of the prior counts of model {plain(models[worst])!r} could not be "
                f"enclosed: a share of {edge_mass[worst]:.2g} lies at the edge of the grid. Give a "
                "prior whose density has one peak and falls off at 0 and at infinity."
            )
        if not error.max() > _GRID_ERROR:
            return None
        return (
            f"The quadrature of model {models[error.argmax()]!r} is rough: half the points change "
            f"its log evidence by {error.max():.2g}. Priors without jumps converge."
        )


class GibbsPosterior:
    """The posterior by slice sampling within Gibbs, four chains of it."""

    def __init__(self, k, n, priors, n_draws, rng):
        per_chain = max(-(-n_draws // _N_CHAINS), _FEWEST_PER_CHAIN)
        chains = gibbs(
            np.stack([k, n - k], axis=-1),
            priors.log_density,
            priors.start(_N_CHAINS, rng),
            per_chain,
            _N_WARMUP,
            rng,
        )
        a, b = np.moveaxis(chains.concentration, -1, 0)
        accuracy = np.exp(chains.log_proportions[..., 0])
        self._draws = accuracy.reshape((-1,) + k.shape)
        # Given (a, b) the mean is known: it varies less than the draws.
        self.accuracy = ((a[..., None] + k) / ((a + b)[..., None] + n)).mean(axis=(0, 1))
        self.prior_counts = np.exp(np.log(chains.concentration).mean(axis=(0, 1)))
        self.log_evidence = np.full(len(k), np.nan)
        quantities = {"a": np.log(a), "b": np.log(b), "mean": accuracy.mean(axis=-1)}
        sizes = {f"ess_{name}": effective_sample_size(x) for name, x in quantities.items()}
        ratios = {f"r_hat_{name}": r_hat(x) for name, x in quantities.items()}
        self.diagnostics = sizes | ratios

    def draws(self, start, size, rng):
        """Draws `start` to ``start + size`` of the accuracies, (size, n_models, n_tasks)."""
        return self._draws[start : start + size]

    def problem(self, models):
        """What the user should know of the chains, or None."""
        sizes, ratios = (
            np.array([x for name, x in self.diagnostics.items() if name.startswith(kind)])
            for kind in ("ess", "r_hat")
        )
        ess, apart = sizes.min(axis=0), ratios.max(axis=0)
        if np.any(ess < _UNMET):
            worst = np.nanargmin(ess)
            raise ValueError(
                f"The chains of {np.sum(ess < _UNMET)} of {len(ess)} models have not met, or are "
                f"too short, worst {plain(models[worst])!r}: effective sample size "
                f"{ess[worst]:.0f}, R-hat {apart[worst]:.3f}. Their means may be off by whole "
                "posterior standard deviations. Take solver='quadrature', or more draws."
            )
        slow = (ess < _FEWEST_EFFECTIVE) | (apart > _R_HAT)
        if not slow.any():
            return None
        first = np.argmax(slow)
        return (
            f"The chains of {slow.sum()} of {len(slow)} models have not converged, such as "
            f"{plain(models[first])!r}: effective sample size {ess[first]:.0f}, R-hat "
            f"{apart[first]:.3f}. Take more draws, or solver='quadrature'."
        )
