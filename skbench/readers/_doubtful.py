"""Columns of a wide table that are scored like models and may be none."""

import numpy as np

from skbench.items.roles import listed

_FEWEST = 50  # items, below which chance explains much
_LARGEST = 1e7  # cells that are looked at
_BY_CHANCE, _BEYOND = 2.0, 4.0  # standard errors of a correlation
_FEW = 0.05  # share of the columns that may be told
_PER_VALUE = 10  # items per number of right answers that make a rule


def doubtful_columns(names, scores):
    """What speaks against some columns, in words.

    A flag of the items goes with no model's answers, where the models' go with each other's; a
    vote, or whether any or all are right, follows from how many are.

    Parameters
    ----------
    names : list of str
    scores : ndarray of shape (n_columns, n_items)
        Blanks nan.
    """
    table = scores[:, : int(_LARGEST / len(names))].T
    table = table[np.isfinite(table).all(axis=1)]
    others = table.sum(axis=1, keepdims=True) - table
    if len(table) < _FEWEST or len(names) < 3:
        return
    z = np.full(len(names), np.nan)
    for j in np.flatnonzero((np.ptp(table, axis=0) > 0) & (np.ptp(others, axis=0) > 0)):
        z[j] = np.corrcoef(table[:, j], others[:, j])[0, 1] * np.sqrt(len(table))
    alone = (z < _BY_CHANCE) & (np.nanmedian(z) > _BEYOND) if np.isfinite(z).any() else z > 0
    if alone.sum() > max(1, _FEW * len(names)):
        alone[:] = False  # models that guess
    rule = [np.isfinite(z[j]) and _follows(table[:, j], others[:, j]) for j in range(len(names))]
    for found, why in ((alone, "go with no other's"), (rule, "follow from the others'")):
        if np.any(found):
            yield (
                f"scores of {listed(np.array(names, dtype=object)[found], most=6)} {why}: if that "
                "is no model, name all models (--models)"
            )


def _follows(own, others):
    """Whether scores are a function of the sum of the others'."""
    values, at = np.unique(np.round(others, 9), return_inverse=True)
    if len(own) < _PER_VALUE * len(values):
        return False
    low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
    np.minimum.at(low, at, own)
    np.maximum.at(high, at, own)
    return bool((high - low < 1e-9).all())
