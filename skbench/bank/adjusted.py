"""Scores of single items that a bank has adjusted, for comparisons of models item by item."""

import warnings

import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench.bank.unit_level import UnitLevelModel
from skbench.items.rows import as_frame, collected


def adjusted_scores(estimator, by_topic=False):
    """Item rows of a fitted `UnitLevelModel` with means that are assisted estimates."""
    # mean_j f_j + w_i (y_i - f_i), with predictions f that did not see the answer and inverse
    # chances w of being asked, of mean 1: inference on means of items holds as for the scores.
    parts = [_of_model(estimator, name, by_topic) for name in estimator.models_]
    return pd.concat(parts, ignore_index=True)


def scores_by_bank(bank, items):
    """Item rows adjusted by a bank, for its whole and for its topics."""
    rows = collected(as_frame(items))
    require_columns(rows.columns, [bank.model, bank.item, bank.score])
    held = [name for name in bank.models_ if name in set(rows[bank.model])]
    whole = bank.models_[np.isfinite(bank.scores_).all(axis=0)]
    known = [name for name in held if name in whole]
    new = rows[~rows[bank.model].isin(known)]
    if new.empty:
        raise ValueError(f"The bank holds all answers of {known}: compare them without the bank.")
    partly = [name for name in held if name not in known]
    fitted = UnitLevelModel(
        bank.without(partly) if partly else bank, model=bank.model, topic=bank.topic, item=bank.item
    )
    with warnings.catch_warnings():  # of a likeness that may well be, and what is refused below
        warnings.filterwarnings("ignore", ".*(answers like the earlier model|no random sample)")
        fitted.fit(new, new[bank.score])
    odd = [name for name, random in fitted.random_sample_.items() if not random]
    if odd:
        raise ValueError(
            f"The items of {plain(odd[0])!r} are clearly easier or harder than the rest of the "
            "bank: differences of models on all its items take a random sample of them. Ask items "
            "of choose_items, or compare without the bank."
        )
    found = adjusted_scores(fitted)
    found["topic_score"] = adjusted_scores(fitted, by_topic=True)["score"]
    found = pd.concat([found, *(_known_scores(bank, name, found) for name in known)])
    return found.rename(columns={r: getattr(bank, r) for r in ("model", "topic", "item", "score")})


def _known_scores(bank, name, adjusted):
    """The same rows for a model of the bank, with its known mean as the score of every item."""
    scores = bank.scores_[:, list(bank.models_).index(name)]
    topics = pd.Series(scores).groupby(bank.items_["topic"].to_numpy()).mean()
    rows = adjusted[["topic", "item"]].drop_duplicates().assign(model=name, score=scores.mean())
    return rows.assign(topic_score=rows["topic"].map(topics))


def _of_model(estimator, name, by_topic):
    """Adjusted rows of one model."""
    bank, design, fitted = estimator.bank, estimator._design, estimator._fits[name]
    table = bank.items_.rename(columns={"topic": estimator.topic, "item": estimator.item})
    predicted = estimator.predict(table.assign(**{estimator.model: name}))
    known = fitted.position >= 0
    position = fitted.position[known]
    residual = design.scale * (fitted.y - fitted.fit.held_out)[known]
    codes = bank.topic_codes_ if by_topic else np.zeros(len(predicted), dtype=int)
    mean = np.bincount(codes, predicted) / np.bincount(codes)
    weight, group = fitted.weight[known], codes[position]
    n = np.bincount(group, minlength=len(mean))
    total = np.bincount(group, weight, len(mean))
    share = weight * n[group] / total[group]
    rows = bank.items_.iloc[position].reset_index(drop=True)
    return rows.assign(model=name, score=mean[group] + share * residual)
