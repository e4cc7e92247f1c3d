"""Read votes between two models from a table: models, outcomes and covariates."""

import numpy as np
import pandas as pd

from skbench import _checks
from skbench.items.rows import collected, opened, refuse_lists
from skbench.items.votes import vote_outcomes
from skbench.stats.ranking.bradley_terry import Votes, count_votes


def votes_of(X, models, y, cluster, covariates, position, judge):
    """Return `Votes`, with equal votes counted if possible, and the names of all models."""
    rows = vote_rows(X, models, [*covariates, *_checks.names_of(judge)])
    first, second, names = _models_of(rows, models)
    outcome, verdict = outcomes_of(rows, models, y), None
    if judge is not None:
        verdict = outcomes_of(rows, models, rows[judge], f"verdict of {judge!r}")
        refuse_first(np.isnan(verdict), f"votes have no verdict in {judge!r}", rows.index)
        if np.isnan(outcome).all():
            raise ValueError(
                f"None of {len(outcome)} votes has a human outcome, but judge= needs some. Collect "
                "human votes on a random part, or pass the verdicts as outcomes."
            )
    else:
        refuse_first(np.isnan(outcome), "votes have no outcome", rows.index)
    features = features_of(rows, covariates, position)
    if cluster is None and not features.size:
        return count_votes(first, second, outcome, len(names), verdict), names
    clusters, ones = np.arange(len(rows)), np.ones(len(rows))
    if cluster is not None:
        clusters = pd.factorize(_checks.check_named("cluster", cluster))[0]
    return Votes(first, second, outcome, features, clusters, ones, verdict), names


def vote_rows(X, models, others):
    """Return the votes as a pandas frame with the columns of both models and `others`."""
    frame = opened(X)
    _checks.require_columns(frame.collect_schema().names(), [*models, *others], "X")
    refuse_lists(frame, models)
    rows = collected(frame.select(dict.fromkeys([*models, *others])))
    if len(rows) == 0:
        raise ValueError("X has no rows. Pass one row per vote.")
    return rows.set_axis(X.index) if isinstance(X, pd.DataFrame) else rows


def features_of(rows, covariates, position):
    """Covariates of the votes, with the position first."""
    columns = [np.ones(len(rows))] if position else []
    for name in covariates:
        columns.append(_checks.check_column(name, rows[name], rows.index, unit="vote"))
    return np.array(columns).reshape(-1, len(rows)).T


def _models_of(rows, models):
    """Positions of both models of each vote, and the names of all models."""
    for name in models:
        _checks.check_named(name, rows[name], rows.index)
    both = _checks.of_one_type(pd.concat([rows[name] for name in models]))
    codes, names = pd.factorize(both, sort=True)
    first, second = codes.reshape(2, -1)
    refuse_first(first == second, "votes compare a model with itself", rows.index)
    return first, second, pd.Index(names, name="model")


def outcomes_of(rows, models, y, what="winner"):
    """Outcomes of the first model in each vote; nan if missing."""
    y = _checks.one_column("y", y)
    _checks.refuse_unhashable("y", y)
    if len(y) == len(rows):
        y = pd.Series(np.asarray(y, dtype=object), rows.index)
    return vote_outcomes(y, *(rows[model] for model in models), what=what)


def refuse_first(invalid, what, labels):
    """Raise an error for invalid rows, with the label of the first."""
    if invalid.any():
        where = _checks.plain(labels[int(np.argmax(invalid))])
        raise ValueError(
            f"{invalid.sum()} of {len(invalid)} {what}, the first in row {where}. Remove them."
        )
