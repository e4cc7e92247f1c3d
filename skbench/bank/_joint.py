"""Joint draws of new models and of models whose answers the bank has completely."""

import numpy as np
import pandas as pd

from skbench._checks import check_by, plain, require_columns
from skbench.bank._population import population_of
from skbench.bank.unit_level import UnitLevelModel
from skbench.containers import Draws
from skbench.items.rows import as_frame, collected


def joint_draws(bank, items, by, n_draws, population, bounds, random_state):
    """`Draws` of the mean scores over all items, for the models of some item rows."""
    rows = collected(as_frame(items))
    require_columns(rows.columns, [bank.model, bank.item, bank.score])
    if rows.empty:
        raise ValueError("items has no rows. Pass at least one answer.")
    by = check_by(by)
    named = set(rows[bank.model])
    held = [name for name in bank.models_ if name in named]
    whole = bank.models_[np.isfinite(bank.scores_).all(axis=0)]
    known = [name for name in held if name in whole]
    partly = [name for name in held if name not in known]
    new = rows[~rows[bank.model].isin(known)]
    if new.empty:
        raise ValueError(
            f"The bank has all answers of {known}, so no score is left to estimate. Add a model "
            "with missing answers."
        )
    names = {"model": bank.model, "topic": bank.topic, "item": bank.item}
    fitted = UnitLevelModel(
        bank.without(partly) if partly else bank, **names, bounds=bounds, random_state=random_state
    ).fit(new, new[bank.score])
    drawn = fitted.sample(by, n_draws, population)
    if not known or bank.model not in by:
        return drawn
    of = population_of(fitted, population)
    if of.beyond.any():
        raise ValueError(
            "population has items that are not in the bank, so the answers of "
            f"{plain(known[0])!r} to them are unknown. Remove these items, or the model."
        )
    axis = by.index(bank.model)
    return _with_known(bank, known, of, drawn, axis)


def _with_known(bank, known, population, drawn, axis):
    """Append known scores, as draws that are all equal."""
    scores = pd.DataFrame(bank.scores_[:, bank.models_.get_indexer(known)], columns=known)
    scores = scores.set_axis(pd.MultiIndex.from_frame(bank.items_))[population.counts > 0]
    if len(drawn.labels) == 1:
        values = scores.mean().to_numpy()[None]
    else:
        topics = drawn.labels[1 - axis]
        of_topic = scores.groupby(level="topic").mean().loc[topics].to_numpy()
        values = of_topic if axis == 1 else of_topic.T
        values = values[None]
    same = np.broadcast_to(values, (len(drawn.values), *values.shape[1:]))
    labels = list(drawn.labels)
    labels[axis] = labels[axis].append(pd.Index(known, name=labels[axis].name))
    return Draws(np.concatenate([drawn.values, same], axis=axis + 1), tuple(labels), "posterior")
