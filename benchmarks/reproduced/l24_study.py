"""Section 2.2 of Longjohn, Gopalan and Casleton (2024): three tasks and two models."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from reproduced import NOT_PRINTED, Row, Table, figure, quoted
from skbench.tasks import HierarchicalBetaBinomial, TaskBootstrap, aggregate, differences


def simulation_study(n_draws):
    """Yield section 2.2: three tasks and two models; the prior decides the result."""
    fitted, n = _study()
    boot = fitted(TaskBootstrap(100 * n_draws, random_state=0))
    hundreds = [fitted(TaskBootstrap(100, random_state=seed)) for seed in range(2000)]
    sd = np.std(hundreds, axis=0)
    printed = quoted("L24", "Section 2.2", "bootstrap", "low", "high", form="({}, {})")
    high = float(quoted("L24", "Section 2.2", "bootstrap", "high"))
    bayes = {
        name: fitted(HierarchicalBetaBinomial(prior=prior, n_draws=n_draws, random_state=0))
        for name, prior in {
            "printed": {"A": _priors(1), "B": _priors(2)},
            "exchanged": {"A": _priors(2), "B": _priors(1)},
            "wide": {"A": _priors(1, 10), "B": _priors(2, 10)},
        }.items()
    }
    return Table(
        "Section 2.2, simulation study: interval of A - B",
        [
            Row(
                "items of task 2 in the heading of Table 1",
                quoted("L24", "Table 1", "items", "task 2"),
                str(n[1]),
                "misprint: 5000 answers are correct, and the text has 10000 items",
            ),
            Row(
                "bootstrap",
                printed,
                _interval(boot),
                "misprint: (-.059, .0097) is consistent with 100 draws. Their limits have "
                f"standard deviations of {figure(sd[0], 4)} and {figure(sd[1], 4)}, and .097 is "
                f"{(high - boot[1]) / sd[1]:.0f} of these away; the interval includes 0 either way",
            ),
            Row(
                "hierarchical",
                quoted("L24", "Section 2.2", "hierarchical", "low", "high", form="({}, {})"),
                _interval(bayes["printed"]),
                "10 is used as a standard deviation; the first prior belongs to model A, the "
                "second to B",
            ),
            Row(
                "priors exchanged",
                NOT_PRINTED,
                _interval(bayes["exchanged"], 4),
                "the priors decide",
            ),
            Row(
                "standard deviations between 0 and the means of the priors",
                quoted("L24", "Section 2.2", "priors", "distance of 0 in sd"),
                "190 to 210",
                "1900 / 10 to 2100 / 10; about 20 would need a standard deviation of 100",
            ),
            Row(
                "hierarchical, with standard deviations of 100",
                NOT_PRINTED,
                _interval(bayes["wide"]),
                "differs from the printed interval, so the paper used 10, and 20 is the misprint",
            ),
        ],
    )


def _study():
    """Return a function from estimator to its interval of A - B, and the numbers of items."""
    tasks = ("task 1", "task 2", "task 3")

    def numbers(*row):
        return [int(quoted("L24", *row, name)) for name in tasks]

    n = np.tile(numbers("Section 2.2", "simulation study, items"), 2)
    right = [numbers("Table 1", f"Model {name}") for name in "AB"]
    X = pd.DataFrame([(m, t) for m in "AB" for t in tasks], columns=["model", "task"])

    def fitted(estimator):
        scores = aggregate(estimator.fit(X, np.ravel(right) / n, n=n).draws_)
        found = differences(scores, [("A", "B")])
        return np.array([found.low[0], found.high[0]])

    return fitted, n


def _priors(number, times=1):
    """Return the printed priors of a model, or wider ones."""
    rows = [f"{name} {number}" for name in ("alpha", "beta")]
    means, sds = (
        [float(quoted("L24", "Section 2.2", row, column)) for row in rows]
        for column in ("mean", "sd")
    )
    return tuple(norm(mean, times * sd) for mean, sd in zip(means, sds, strict=True))


def _interval(ends, digits=3):
    return f"({figure(ends[0], digits)}, {figure(ends[1], digits)})"
