"""Fitting candidates on what one fold leaves, and judging them by that fold."""

import inspect
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skbench._checks import check_option, require_columns
from skbench._progress import steps
from skbench._random import as_generator, seeded
from skbench.assessment._candidate import told
from skbench.assessment._comparison import RiskComparison
from skbench.assessment._splits import check_splits, parts_of_items, parts_of_summary
from skbench.containers import GroupSummary
from skbench.stats.shrinkage.risk import split_loss
from skbench.summaries import summarize_items
from skbench.summaries._items import VARIANCES
from skbench.summaries._rows import collected, opened, with_score


class Data:
    """Items or their summary, and how to split them.

    Parameters
    ----------
    items : dataframe or GroupSummary
        What the user gave.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    options : dict
        Further arguments of `summarize_items`; only `variance` counts where
        `items` is a summary.
    """

    def __init__(self, items, by, options):
        allowed = inspect.signature(summarize_items).parameters
        unknown = [name for name in options if name not in allowed]
        if unknown:
            raise TypeError(f"summarize_items has no argument {unknown[0]!r}.")
        self.variance = options.get("variance", "smoothed")
        check_option("variance", self.variance, VARIANCES)
        if isinstance(items, GroupSummary):
            _refuse_late(options)
            self.summary, self._items = items, None
            return
        if by is None:
            raise ValueError('Pass by=..., the columns that define the groups: by=["model", ...].')
        defaults = {"score": "score", "model": "model", "item": "item", "cluster": None}
        by = [by] if isinstance(by, str) else list(by)
        self._options = defaults | options | {"by": by}
        frame = opened(items)
        columns = self._columns(frame.collect_schema().names())
        frame = with_score(frame, self._options["score"])
        # Sorted: engines return rows in any order, and the deals go by it.
        self._items = collected(frame.select(columns), columns)
        self.summary = summarize_items(self._items, **self._options)

    def _columns(self, names):
        """Columns that the parts need: a million texts should not be carried along."""
        require_columns(names, [*self._options["by"], self._options["score"]])
        features = self._options.get("features")
        features = [features] if isinstance(features, str) else features
        means = list(features) if isinstance(features, list | tuple) else []
        roles = [self._options[role] for role in ("model", "item", "cluster", "score")]
        wanted = [*self._options["by"], *roles, *means]
        return [name for name in dict.fromkeys(wanted) if name in names]

    @property
    def topics(self):
        """What is independent: the topic where models share items, else the group."""
        groups = self.summary.groups
        return np.arange(len(self.summary)) if groups is None else np.asarray(groups)

    def parts(self, n_splits, n_repeats, rng):
        """Parts of all repeats and folds."""
        if self._items is None:
            return parts_of_summary(self.summary, self.variance, n_splits, n_repeats, rng)
        return parts_of_items(self._items, self.summary, self._options, n_splits, n_repeats, rng)


def _refuse_late(options):
    """Refuse arguments that a summary was, or was not, made with."""
    late = [name for name in options if name != "variance"]
    if late:
        raise TypeError(
            f"{late[0]!r} needs item rows, but a summary was given. Pass it to summarize_items."
        )


def split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs):
    """Judge candidates, each fitted on what every fold leaves.

    Parameters
    ----------
    candidates : dict of str to (estimator, list of str)
        Estimators, and columns of `X` that are kept from them.
    data : Data
        What is split.
    reference : str
        Candidate that differences are taken to.
    n_splits, n_repeats : int
        Folds, and independent deals.
    random_state : int, RandomState, Generator or None
        Seed of the deals and of the candidates' open random states.
    n_jobs : int or None
        Parts worked on at the same time (joblib).

    Returns
    -------
    RiskComparison
    """
    check_splits(n_splits, n_repeats)
    rng = as_generator(random_state)
    deals, seeds = rng.spawn(2)
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_judged)(candidates, part, int(seeds.integers(2**31)))
        for part in data.parts(n_splits, n_repeats, deals)
    )
    n_groups = len(data.summary)
    sums = np.zeros((n_groups, len(candidates) + 2))
    weights, errors = np.zeros(n_groups), {}
    for at, columns, n_out, failures in steps(results, "refits", n_splits * n_repeats):
        sums[at] += n_out[:, None] * columns
        weights[at] += n_out
        errors = failures | errors
    scored = weights > 0
    if not scored.any():
        raise ValueError(
            "No group has two items, or two clusters of them, so none can be split: what remained "
            "could not be judged by what was left out."
        )
    means = sums[scored] / weights[scored, None]
    share, variance = means[:, :2].T
    _warn_of_failures(errors)
    return RiskComparison(
        losses=pd.DataFrame(means[:, 2:], data.summary.labels[scored], list(candidates)),
        variance=variance,
        topics=data.topics[scored],
        items_share=float(np.average(share, weights=data.summary.n[scored])),
        reference=reference,
        errors=errors,
    )


def _judged(candidates, part, seed):
    """Share of items and loss of direct estimates in one part, then losses of candidates."""
    scored = part.n_out > 0
    columns, errors = [part.share, part.sigma2], {}
    for name, (estimator, dropped) in candidates.items():
        try:
            estimate = _estimate(estimator, part.summary, dropped, seed)
            columns.append(split_loss(estimate, part.summary.z, part.z_out, part.sigma2))
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}"
            columns.append(np.full(len(part.summary), np.nan))
    return part.position[scored], np.column_stack(columns)[scored], part.n_out[scored], errors


def _estimate(estimator, summary, dropped, seed):
    arguments = summary.fit_args
    kept = arguments["X"].drop(columns=dropped)
    if kept.shape[1] == 0:
        kept["constant"] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit on all items tells
        return told(seeded(estimator, seed).fit_predict, arguments | {"X": kept})


def _warn_of_failures(errors):
    for name, error in errors.items():
        warnings.warn(
            f"{name!r} failed on part of the items, so its risk is unknown. {error}",
            stacklevel=4,
        )
