"""`item_audit`: find items with wrong answer keys, duplicates and items of no use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import listed, require_columns
from skbench._numbers import number
from skbench._printed import Printed
from skbench._types import Level, Names, OpenShare, Rows, checked
from skbench.containers import Estimate
from skbench.items.rows import CHANCE, as_frame, collected, joined, with_item_key
from skbench.items.tables import score_table
from skbench.stats.item_response import audit

WRONG, ALIKE, COPY = "wrong key", "no variation", "duplicate of "
_FEW_MODELS, _NAMED = 10, 5
_FAMILIES = 0.5  # effective models per model, below which models share their mistakes


@dataclass(frozen=True, eq=False, repr=False)
class ItemAudit(Printed):
    """Difficulty, discrimination and problems of the items of a benchmark.

    Attributes
    ----------
    items : DataFrame
        One row per item, with these columns. `n_models` is the number of models that answered the
        item. `difficulty` is their mean score, as in classical test theory; higher is easier.
        `discrimination` is the item-rest correlation, with the interval from `low` to `high`.
        `p_value` is one-sided, for the hypothesis that the discrimination is not negative.
        `wrong_key_probability` is the probability of a wrong answer key; it is nan with fewer than
        30 items. `flagged` is "wrong key", "no variation" (all scores are equal), "duplicate of
        ..." or "".
    reliability : Estimate
        Cronbach's alpha of the benchmark. For correct and incorrect answers it equals KR-20.
    n_complete : int
        Number of items that all models answered. The reliability is computed from these items.
    n_models : int
        Number of models.
    n_effective_models : float
        Effective number of models: the number of independent models with the same information.
    """

    items: pd.DataFrame
    reliability: Estimate
    n_complete: int
    n_models: int
    n_effective_models: float

    def to_frame(self) -> pd.DataFrame:
        """Return the table of items."""
        return self.items

    @property
    def flagged(self) -> pd.DataFrame:
        """Flagged items, by kind and then by decreasing probability."""
        some = self.items[self.items["flagged"] != ""]
        kind = some["flagged"].map(lambda text: (text != WRONG) + (text == ALIKE))
        order = [kind, -some["wrong_key_probability"].fillna(0), some["p_value"]]
        return some.iloc[np.lexsort(order[::-1])]

    def items_needed(self, reliability: OpenShare = 0.9) -> float:
        """Number of items needed for a given reliability.

        Parameters
        ----------
        reliability : float, default=0.9
            Reliability to be reached.

        Returns
        -------
        float
            Result of the Spearman-Brown formula, rounded up. It is inf if the items show no
            difference between the models.
        """
        known = self.reliability.value[0]
        found = float(audit.items_for_reliability(self.n_complete, known, reliability))
        return float(np.ceil(found - 1e-9))

    def sentences(self, reliability: OpenShare = 0.9) -> list[str]:
        """Describe the audit in words, with the number of items needed for a reliability."""
        n, m = len(self.items), self.n_effective_models
        effective = "" if m > 0.8 * self.n_models else f" (effective number {m:.1f})"
        words = [f"{n:,} items, {self.n_models:,} models{effective}."]
        alpha = self.reliability
        if np.isfinite(alpha.value[0]):
            value, low, high = (number(x[0], ".3f") for x in (alpha.value, alpha.low, alpha.high))
            some = f" of the {self.n_complete} items that all models answered"
            of_items = "" if self.n_complete == n else some
            words.append(f"Reliability{of_items}: {value} ({low} to {high}).")
            if np.isfinite(needed := self.items_needed(reliability)):
                words.append(f"{needed:,.0f} such items give a reliability of {reliability:g}.")
        else:
            words.append("Reliability: unknown.")
        kinds = self.flagged["flagged"]
        for start, heading in (
            (WRONG, "Probably wrong keys"),
            (COPY, "Duplicates"),
            (ALIKE, "Same score for all models, so no effect on the ranking"),
        ):
            own = kinds.index[kinds.str.startswith(start)]
            if len(own):
                ids = listed(joined(own.to_frame()), most=_NAMED)
                words.append(f"{heading}: {len(own)} of {n} items ({ids}).")
        if not len(kinds):
            words.append("No item is flagged.")
        if m < _FAMILIES * self.n_models:
            words.append(
                "The models make the same mistakes, as versions of one model do. The audit then "
                "detects fewer wrong keys, and none below eight effective models."
            )
        if m < _FEW_MODELS:
            words.append(
                "With so few models, the discrimination of single items is imprecise. An item with "
                f"a true discrimination of 0 may show up to {_largest_by_chance(m)} by chance."
            )
        return words

    def _printed(self):
        return self.sentences()


def _largest_by_chance(n_models):
    """Absolute correlation that is exceeded by chance in one of 20 cases, as text."""
    reach = np.tanh(1.96 / np.sqrt(n_models - 3)) if n_models > 3 else 1.0
    return number(reach, ".2f")


@checked
def item_audit(
    items: Rows,
    *,
    model: str = "model",
    topic: Names | None = "topic",
    item: str = "item",
    score: str = "score",
    text: str | None = None,
    confidence_level: Level = 0.95,
) -> ItemAudit:
    """Find wrong keys, duplicates and uninformative items, and estimate the reliability.

    When not to use it: to discard items with low discrimination. With ten models the discrimination
    of an item is mostly noise, and selecting items by it biases the mean of the benchmark.

    Parameters
    ----------
    items : dataframe
        One row per answer, in any dataframe that narwhals supports. Several answers of a model to
        an item are averaged. Answers may be missing.
    model, item, score : str
        Names of the columns. If some models are versions of one another, pass the column of model
        families as `model`, so that each family counts once.
    topic : str, list of str or None, default="topic"
        One or more topic columns. The same item id in two topics stands for two different items.
        The default column may be absent.
    text : str, default=None
        Column with the text or prompt of the items. Items with the same text are duplicates.
    confidence_level : float, default=0.95
        Confidence level of the intervals. The false discovery rate of wrong keys is 1 minus this
        level.

    Returns
    -------
    ItemAudit

    Raises
    ------
    ValueError
        If columns or scores are missing, or if there are fewer than two models.

    Warns
    -----
    UserWarning
        If item ids are repeated across topics.

    Notes
    -----
    The difficulty of an item is its mean score, as in classical test theory; higher is easier.

    The discrimination of an item is the item-rest correlation: the correlation of its scores with
    the models' means over the other items. Its interval uses the effective number of models
    (`skbench.stats.audit.effective_models`), so copies and versions of a model do not make the
    interval narrower.

    Wrong keys are detected by `skbench.stats.audit.reversed_items`, if the effective number of
    models is at least eight. In simulations with 3 to 15 model families, 200 items and no wrong
    key, at most 5% of the data sets had a flagged item. The audit was also run on ten score
    matrices of real benchmarks with 5% of the keys reversed. In eight matrices, it detected 31% to
    96% of the reversed keys. The other two have fewer than eight effective models, so the audit
    reported no wrong keys. It flagged at most 1% of the correct keys.

    Items with equal scores are reported as duplicates only if the agreement is unlikely to be a
    coincidence (`skbench.stats.audit.same_answers`). This needs several dozen models, so passing
    `text` is more reliable.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skbench import item_audit
    >>> rng = np.random.default_rng(0)
    >>> logit = rng.normal(1, 1, 200)[:, None] + rng.normal(0, 1.5, 60)
    >>> scores = rng.binomial(1, 1 / (1 + np.exp(-logit)))
    >>> scores[:3] = 1 - scores[:3]
    >>> rows = pd.DataFrame(scores).rename_axis(index="item", columns="model")
    >>> item_audit(rows.stack().rename("score").reset_index())
    200 items, 60 models (effective number 42.2).
    Reliability: 0.986 (0.980 to 0.992).
    25 such items give a reliability of 0.9.
    Probably wrong keys: 3 of 200 items (1, 0, 2).
    """
    # Items are audited one by one, so their inclusion probabilities do not matter.
    rows = as_frame(items).drop(CHANCE, strict=False)
    names = rows.collect_schema().names()
    require_columns(names, [model, item, score])
    columns = {"model": model, "item": item, "score": score, "topic": topic}
    table = score_table(rows, **columns, cluster=item, by=[])
    if len(table.models) < 2:
        raise ValueError(
            f"Column {model!r} has {len(table.models)} model, but an audit needs at least two. Add "
            "the results of other models."
        )
    scores = table.scores
    keys = audit.reversed_items(scores, confidence_level)
    found = keys.discrimination
    numbers = {
        "n_models": (table.n_answers > 0).sum(axis=1),
        "difficulty": np.nanmean(scores, axis=1),
        "discrimination": found.value,
        **{name: getattr(found, name) for name in ("low", "high", "p_value")},
        "wrong_key_probability": keys.probability,
    }
    frame = pd.DataFrame(numbers, index=table.items)
    first = audit.same_answers(scores, keys.n_effective)
    if text is not None:
        require_columns(names, [text])
        first = np.minimum(first, _same_text(rows, item, topic, model, text, table.items))
    varied = np.nanmax(scores, axis=1) - np.nanmin(scores, axis=1) > table.rounding
    copies = COPY + pd.Series(joined(table.items[first].to_frame()), dtype=object)
    kinds = [keys.flagged, first != np.arange(len(first)), ~varied]
    frame["flagged"] = np.select(kinds, [WRONG, copies, ALIKE], "")
    complete = np.isfinite(scores).all(axis=1)
    reliability = _reliability(scores[complete], keys.n_effective, confidence_level)
    return ItemAudit(frame, reliability, int(complete.sum()), len(table.models), keys.n_effective)


def _reliability(scores, n_effective, confidence_level):
    """Cronbach's alpha as an `Estimate`."""
    alpha = audit.cronbach_alpha(scores, n_effective, confidence_level)
    value, low, high = (np.array([x]) for x in alpha)
    return Estimate(
        value,
        low,
        high,
        standard_error=np.array([np.nan]),
        confidence_level=confidence_level,
        labels=pd.Index(["reliability"]),
        method="Cronbach's alpha",
        guarantee="model",
    )


def _same_text(rows, item, topic, model, text, labels):
    """Position of the first item with the same text, ignoring case and white space."""
    frame, key = with_item_key(rows, item, topic, model=model)
    found = collected(frame.select([*key, text])).drop_duplicates(key).set_index(key)[text]
    texts = found.reindex(labels)
    plain_text = texts.astype(str).str.split().str.join(" ").str.casefold()
    # An item without a text is not a duplicate of another.
    code = pd.Series(np.where(texts.isna(), [str(("", i)) for i in range(len(labels))], plain_text))
    return code.groupby(code, sort=False).transform(lambda own: own.index[0]).to_numpy()
