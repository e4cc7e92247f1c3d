"""Verdicts of a discrete autorater: their values, and the labels that go with each."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench._warnings import warn
from skbench.ppi._data import autorater_scores, ppi_data, score_table
from skbench.stats.ppi.chain_rule import prior_pull

MOST_VALUES = 10  # beyond, few labels per value leave little but the prior
# The prior of each value has the weight of one label. With fewer labels per value than this,
# times the number of other values, 95% intervals may cover less than .93
# (doc/user_guide/chain_rule).
_LABELS_PER_OTHER_VALUE = 10
_MOST_PULL = 0.5  # of the prior, in standard errors: then a 95% interval covers .92
_MATTERS = 0.02  # share of the rows that makes a value count
_N_NAMED = 3
_N_BINS = 5
_NUMBERS = {
    "w": 1.0, "win": 1.0, 1: 1.0,
    "l": -1.0, "loss": -1.0, "lose": -1.0, -1: -1.0,
    "t": 0.0, "tie": 0.0, 0: 0.0,
}  # fmt: skip


class VerdictTable(NamedTuple):
    """Rows counted by group, autorater value and human label."""

    unlabeled: np.ndarray
    labeled: np.ndarray


class Verdicts(NamedTuple):
    """The values an autorater takes, and how a row is told to have one."""

    values: list  # sorted; tuples where there are several autoraters
    cuts: np.ndarray | None  # of the mean score of a row, where it was cut into bins

    def codes(self, autorater):
        """Position in `values` of each row."""
        rows = _rows(autorater, self.cuts)
        place = {value: position for position, value in enumerate(self.values)}
        codes = np.array([place.get(value, -1) for value in rows], dtype=int)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise ValueError(
                f"Row {row} has the verdict {rows[row]!r}, which no row of fit had, so nothing is "
                f"known of it. The verdicts are {', '.join(map(repr, self.values))}."
            )
        return codes


def read_verdicts(autorater):
    """The value of each row as a position, and the `Verdicts`."""
    cuts = None
    codes, values = _factorized(_rows(autorater))
    if len(values) > MOST_VALUES:
        cuts = _cuts(autorater, len(values))
        codes, values = _factorized(_rows(autorater, cuts))
    return codes, Verdicts(values, cuts)


def mean_score(autorater):
    """Mean score of each row, or None where scores are not numbers."""
    try:
        return autorater.astype(float).mean(axis=1)
    except (TypeError, ValueError, OverflowError):
        return None


def wins(y):
    """1 for a win, 0 for a tie, -1 for a loss, nan where there is no label."""
    labels = pd.Series(y, dtype=object)
    numbers = labels.map(lambda label: _NUMBERS.get(_word(label), np.nan)).to_numpy(float)
    strange = np.isnan(numbers) & labels.notna().to_numpy()
    if strange.any():
        row = int(np.argmax(strange))
        raise ValueError(
            f"Human labels must be w, l or t (or 1, -1, 0), but row {row} has "
            f"{plain(labels.iloc[row])!r}."
        )
    return numbers


def _word(label):
    """Words in small letters; anything unhashable is no label."""
    if isinstance(label, str):
        return label.strip().lower()
    return label if isinstance(label, int | float | np.number) else None


def _rows(autorater, cuts=None):
    """The verdict of each row: a bin of its mean score, or its verdicts as a tuple."""
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
    """Cuts between bins of equal frequency."""
    scores = mean_score(autorater)
    if scores is None:
        raise ValueError(
            f"The autorater takes {n_values} different verdicts (or combinations of them), and "
            f"the chain rule takes at most {MOST_VALUES}. Merge verdicts."
        )
    # Labels play no part in the cuts, so labeled rows may.
    cuts = np.unique(np.quantile(scores, np.arange(1, _N_BINS) / _N_BINS))
    cuts = cuts[cuts > scores.min()]
    warn(
        f"Autorater scores were cut into bins at {', '.join(f'{cut:g}' for cut in cuts)}, and the "
        "chain rule reads the bins as names: what scores say within a bin is lost. bins_ holds "
        "the cuts."
    )
    return cuts


def _binned(scores, cuts):
    """Names of the bins, by their ends; a cut belongs to the bin above it."""
    ends = ["-inf", *(f"{cut:.12g}" for cut in cuts), "inf"]
    names = np.array([f"[{low}, {high})" for low, high in pairwise(ends)], dtype=object)
    return names[np.searchsorted(cuts, scores, side="right")]


def counted(data, codes, n_values, label_values):
    """The `VerdictTable` of rows with these codes; `label_values` fall."""
    cells = data.codes * n_values + codes
    size = data.n_groups * n_values
    unlabeled = np.bincount(cells[~data.labeled], minlength=size)
    # label_values fall, and searchsorted wants them rising.
    label = len(label_values) - 1 - np.searchsorted(label_values[::-1], data.y[data.labeled])
    labeled = np.bincount(
        cells[data.labeled] * len(label_values) + label, minlength=size * len(label_values)
    )
    shape = (data.n_groups, n_values)
    return VerdictTable(unlabeled.reshape(shape), labeled.reshape(*shape, len(label_values)))


def verdict_counts(table):
    """Rows that tell how common each value is: unlabeled ones, all where those are fewer."""
    labels = table.labeled.sum(axis=2)
    return table.unlabeled + np.where(few_unlabeled(table)[:, None], labels, 0)


def few_unlabeled(table):
    """Whether each group has fewer unlabeled than labeled rows."""
    return table.unlabeled.sum(axis=1) < table.labeled.sum(axis=(1, 2))


def has_enough_labels(verdicts, y, by=None):
    """Whether 95% intervals of the chain rule cover .93, in every group that has labels."""
    scores = autorater_scores(score_table(verdicts, numeric=False), numeric=False)
    data = ppi_data(scores, y, by)
    codes, values = _factorized(data.autorater[:, 0])
    if len(values) > MOST_VALUES:
        return False
    labels = np.unique(data.y[data.labeled])[::-1]
    return not _thin(counted(data, codes, len(values), labels)).any()


def _thin(table):
    """Values with too few labels, in groups that have any; see `has_enough_labels`."""
    rows, labels = verdict_counts(table), table.labeled.sum(axis=2)
    matters = rows >= _MATTERS * rows.sum(axis=1, keepdims=True)
    known = labels.any(axis=1, keepdims=True) & (rows > 0)
    return known & matters & (labels < _LABELS_PER_OTHER_VALUE * (rows.shape[1] - 1))


def warn_of_the_prior(table, values, label_values, standard_errors):
    """Warn where the prior moves an estimate too far, or a value has no label."""
    rows, labels = verdict_counts(table), table.labeled.sum(axis=2)
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    pull = np.abs(prior_pull(share, table.labeled, label_values)) / standard_errors
    thin = _thin(table)
    bad = labels.any(axis=1) & ((pull > _MOST_PULL) | (thin & (labels == 0)).any(axis=1))
    if not bad.any():
        return
    group = int(np.argmax(bad))
    named = [
        f"{values[i]!r} has {labels[group, i]} ({100 * share[group, i]:.0f}% of the rows)"
        for i in np.flatnonzero(thin[group])[:_N_NAMED]
    ]
    where = "" if len(bad) == 1 else f" in {bad.sum()} of {len(bad)} groups; in the first"
    what = "is all that is known of some values"
    if pull[group] > _MOST_PULL:
        what = f"moves the estimate to the middle by {pull[group]:.1f} of its standard errors"
    few = f" Of the labels, {', '.join(named)}." if named else ""
    warn(
        f"The prior of the chain rule {what}{where}, and the interval misses the truth more often "
        f"than its level says.{few} Use PPIMean, label more rows, or merge values."
    )
