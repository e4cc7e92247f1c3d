"""Scores of single items that a bank has adjusted, for comparisons of models item by item."""

import numpy as np
import pandas as pd


def adjusted_scores(estimator, by_topic=False):
    """Item rows whose means are assisted estimates of the means over all items of the bank.

    Parameters
    ----------
    estimator : UnitLevelModel
        Fitted.
    by_topic : bool, default=False
        Whether means over topics are meant, each by itself; else over the whole bank.

    Returns
    -------
    DataFrame
        Columns model, topic, item and score, one row per model and item asked that the bank has.

    Notes
    -----
    ``mean_j f_j + w_i (y_i - f_i)``: the model's mean prediction of all items, known, and what
    is left of an answer after a prediction that did not see it; `w` are inverse chances of being
    asked, with mean 1. Their mean is the difference estimate, and the difference of two models
    on shared items has the noise of the difference of their residuals: inference on means of
    items, paired or not, holds for them as for the scores, if the items asked are a random sample.
    The finite number of items is not made use of, so intervals are wide where most were asked.
    """
    parts = [_of_model(estimator, name, by_topic) for name in estimator.models_]
    return pd.concat(parts, ignore_index=True)


def known_scores(bank, name, adjusted):
    """The same rows for a model of the bank: its own mean, which is known, for every item."""
    scores = bank.scores_[:, list(bank.models_).index(name)]
    topics = pd.Series(scores).groupby(bank.items_["topic"].to_numpy()).mean()
    rows = adjusted[["topic", "item"]].drop_duplicates().assign(model=name, score=scores.mean())
    return rows.assign(topic_score=rows["topic"].map(topics))


def _of_model(estimator, name, by_topic):
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
