"""Verdicts of a judge: their values, and the number of labels of each."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench._warnings import warn
from skbench.ppi._data import autorater_scores, ppi_data, score_table
from skbench.stats.ppi.chain_rule import prior_pull

MOST_VALUES = 10  # with more, few labels per verdict leave little but the prior
# The prior of each verdict has the weight of one label. If a verdict has fewer labels than this
# number times the number of other verdicts, 95% intervals may cover less than 0.93
# (doc/user_guide/chain_rule).
_LABELS_PER_OTHER_VALUE = 10
_MOST_SHIFT = 0.5  # by the prior, in standard errors; a 95% interval then covers 0.92
_LEAST_SHARE = 0.02  # rarer verdicts need no labels
_N_NAMED = 3
_N_BINS = 5
_NUMBERS = {
    "w": 1.0, "win": 1.0, 1: 1.0,
    "l": -1.0, "loss": -1.0, "lose": -1.0, -1: -1.0,
    "t": 0.0, "tie": 0.0, 0: 0.0,
}  # fmt: skip


class VerdictTable(NamedTuple):
    """Numbers of rows by group, verdict and human label."""

    unlabeled: np.ndarray
    labeled: np.ndarray


class Verdicts(NamedTuple):
    """The verdicts of the fitted rows."""

    values: list  # sorted; tuples for several judges
    cuts: np.ndarray | None  # between the bins of the mean score, if there are bins

    def codes(self, autorater):
        """Position in `values` of each row."""
        rows = _rows(autorater, self.cuts)
        place = {value: position for position, value in enumerate(self.values)}
        codes = np.array([place.get(value, -1) for value in rows], dtype=int)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise ValueError(
                f"Row {row} has the verdict {rows[row]!r}, which no row of fit had. The verdicts "
                f"of fit are {', '.join(map(repr, self.values))}."
            )
        return codes


def read_verdicts(autorater):
    """Position of each row's verdict among the sorted verdicts, and the `Verdicts`."""
    cuts = None
    codes, values = _factorized(_rows(autorater))
    if len(values) > MOST_VALUES:
        cuts = _cuts(autorater, len(values))
        codes, values = _factorized(_rows(autorater, cuts))
    return codes, Verdicts(values, cuts)


def mean_score(autorater):
    """Mean score of each row, or None if scores are not numbers."""
    try:
        return autorater.astype(float).mean(axis=1)
    except (TypeError, ValueError, OverflowError):
        return None


def wins(y):
    """1 for a win, 0 for a tie, -1 for a loss, nan without a label."""
    labels = pd.Series(y, dtype=object)
    numbers = labels.map(lambda label: _NUMBERS.get(_word(label), np.nan)).to_numpy(float)
    unknown = np.isnan(numbers) & labels.notna().to_numpy()
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"Human labels must be w, l or t (or 1, -1 or 0), but row {row} has "
            f"{plain(labels.iloc[row])!r}."
        )
    return numbers


def _word(label):
    """Lower-case words; None for values that cannot be labels."""
    if isinstance(label, str):
        return label.strip().lower()
    return label if isinstance(label, int | float | np.number) else None


def _rows(autorater, cuts=None):
    """The verdict of each row, or the bin of its mean score, or the tuple of several verdicts."""
    if cuts is not None:
        return _binned(mean_score(autorater), cuts)
    if autorater.shape[1] == 1:
        return autorater[:, 0]
    return pd.Series(list(map(tuple, autorater)), dtype=object).to_numpy()


def _factorized(column):
    """Position of each entry among the sorted values, and the values."""
    codes, values = pd.factorize(column)
    try:
        order = sorted(range(len(values)), key=lambda i: values[i])
    except TypeError:  # words and numbers together
        order = sorted(range(len(values)), key=lambda i: str(values[i]))
    return np.argsort(order)[codes], [values[i] for i in order]


def _cuts(autorater, n_values):
    """Cut points between bins of equal frequency."""
    scores = mean_score(autorater)
    if scores is None:
        raise ValueError(
            f"The judge returns {n_values} different verdicts or combinations of verdicts, but the "
            f"chain rule supports at most {MOST_VALUES}. Merge verdicts."
        )
    # Labeled rows may take part because the cuts do not depend on the labels.
    cuts = np.unique(np.quantile(scores, np.arange(1, _N_BINS) / _N_BINS))
    cuts = cuts[cuts > scores.min()]
    warn(
        f"The judge's scores were cut into bins at {', '.join(f'{cut:g}' for cut in cuts)} (see "
        "bins_). The chain rule ignores differences within a bin."
    )
    return cuts


def _binned(scores, cuts):
    """Names of the bins by their ends; a cut point belongs to the bin above it."""
    ends = ["-inf", *(f"{cut:.12g}" for cut in cuts), "inf"]
    names = np.array([f"[{low}, {high})" for low, high in pairwise(ends)], dtype=object)
    return names[np.searchsorted(cuts, scores, side="right")]


def counted(data, codes, n_values, label_values):
    """Count the rows with these codes; `label_values` are in decreasing order."""
    cells = data.codes * n_values + codes
    size = data.n_groups * n_values
    unlabeled = np.bincount(cells[~data.labeled], minlength=size)
    # searchsorted needs increasing values.
    label = len(label_values) - 1 - np.searchsorted(label_values[::-1], data.y[data.labeled])
    labeled = np.bincount(
        cells[data.labeled] * len(label_values) + label, minlength=size * len(label_values)
    )
    shape = (data.n_groups, n_values)
    return VerdictTable(unlabeled.reshape(shape), labeled.reshape(*shape, len(label_values)))


def verdict_counts(table):
    """Numbers of rows with each verdict: unlabeled rows, or all rows if those are fewer."""
    labels = table.labeled.sum(axis=2)
    return table.unlabeled + np.where(few_unlabeled(table)[:, None], labels, 0)


def few_unlabeled(table):
    """Whether a group has fewer unlabeled than labeled rows."""
    return table.unlabeled.sum(axis=1) < table.labeled.sum(axis=(1, 2))


def has_enough_labels(verdicts, y, by=None):
    """Whether each verdict has enough labels for a coverage of 0.93, in all groups with labels."""
    scores = autorater_scores(score_table(verdicts, numeric=False), numeric=False)
    data = ppi_data(scores, y, by)
    codes, values = _factorized(data.autorater[:, 0])
    if len(values) > MOST_VALUES:
        return False
    labels = np.unique(data.y[data.labeled])[::-1]
    return not _thin(counted(data, codes, len(values), labels)).any()


def _thin(table):
    """Verdicts with too few labels, in groups with labels; see `has_enough_labels`."""
    rows, labels = verdict_counts(table), table.labeled.sum(axis=2)
    is_common = rows >= _LEAST_SHARE * rows.sum(axis=1, keepdims=True)
    known = labels.any(axis=1, keepdims=True) & (rows > 0)
    return known & is_common & (labels < _LABELS_PER_OTHER_VALUE * (rows.shape[1] - 1))


def warn_of_the_prior(table, values, label_values, standard_errors):
    """Warn if the prior moves an estimate too far, or a verdict has no label."""
    rows, labels = verdict_counts(table), table.labeled.sum(axis=2)
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    shift = np.abs(prior_pull(share, table.labeled, label_values)) / standard_errors
    thin = _thin(table)
    bad = labels.any(axis=1) & ((shift > _MOST_SHIFT) | (thin & (labels == 0)).any(axis=1))
    if not bad.any():
        return
    group = int(np.argmax(bad))
    named = [
        f"verdict {values[i]!r} has {labels[group, i]} labels "
        f"({100 * share[group, i]:.0f}% of the rows)"
        for i in np.flatnonzero(thin[group])[:_N_NAMED]
    ]
    where = "" if len(bad) == 1 else f" in {bad.sum()} of {len(bad)} groups"
    what = "The chain rule has verdicts without labels"
    if shift[group] > _MOST_SHIFT:
        what = (
            f"The prior of the chain rule moves the estimate by {shift[group]:.1f} standard errors"
        )
    few = f": {', '.join(named)}" if named else ""
    warn(
        f"{what}{where}{few}. The interval may cover less than its confidence level. Use PPIMean, "
        "label more rows, or merge verdicts."
    )
