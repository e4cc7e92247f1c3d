"""`item_audit`: which items of a benchmark do not do their work."""

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

WRONG, ALIKE, COPY = "keyed wrongly", "no spread", "duplicate of "
_FEW_MODELS, _NAMED = 10, 5
_FAMILIES = 0.5  # independent models that all are worth, of all


@dataclass(frozen=True, eq=False, repr=False)
class ItemAudit(Printed):
    """Difficulty and discrimination of items, and what is wrong with them.

    Attributes
    ----------
    items : DataFrame
        One row per item: `n_models` that answered; `difficulty`, their mean score (high is easy);
        `discrimination` with its ends `low` and `high`; `p_value`, one-sided, of a discrimination
        that is not negative; `wrong_key_probability`, nan with fewer than 30 items; and `flagged`:
        "keyed wrongly", "no spread", "duplicate of ..." or "".
    reliability : Estimate
        Cronbach's alpha of the benchmark; for right and wrong answers that is KR-20.
    n_complete : int
        Number of items that all models answered, on which the reliability rests.
    n_models : int
        Number of models.
    n_effective_models : float
        How many independent models tell as much.
    """

    items: pd.DataFrame
    reliability: Estimate
    n_complete: int
    n_models: int
    n_effective_models: float

    def to_frame(self) -> pd.DataFrame:
        """The table of the items."""
        return self.items

    @property
    def flagged(self) -> pd.DataFrame:
        """Items that are flagged, the most probable ones of each kind first."""
        some = self.items[self.items["flagged"] != ""]
        kind = some["flagged"].map(lambda text: (text != WRONG) + (text == ALIKE))
        order = [kind, -some["wrong_key_probability"].fillna(0), some["p_value"]]
        return some.iloc[np.lexsort(order[::-1])]

    def items_needed(self, reliability: OpenShare = 0.9) -> float:
        """Number of items like these that a reliability takes; inf if they show no difference.

        Parameters
        ----------
        reliability : float, default=0.9
            Reliability wanted.

        Returns
        -------
        float
            By the formula of Spearman and Brown, rounded up.
        """
        known = self.reliability.value[0]
        found = float(audit.items_for_reliability(self.n_complete, known, reliability))
        return float(np.ceil(found - 1e-9))

    def sentences(self, reliability: OpenShare = 0.9) -> list[str]:
        """The audit in words, with the number of items that this reliability takes."""
        n, m = len(self.items), self.n_effective_models
        worth = "" if m > 0.8 * self.n_models else f" (worth {m:.1f} independent ones)"
        words = [f"{n:,} items, {self.n_models:,} models{worth}."]
        alpha = self.reliability
        if np.isfinite(alpha.value[0]):
            value, low, high = (number(x[0], ".3f") for x in (alpha.value, alpha.low, alpha.high))
            of_some = "" if self.n_complete == n else f" of the {self.n_complete} answered by all"
            words.append(f"Reliability{of_some}: {value} ({low} to {high}).")
            if np.isfinite(needed := self.items_needed(reliability)):
                words.append(f"{needed:,.0f} such items have a reliability of {reliability:g}.")
        else:
            words.append("Reliability: unknown.")
        kinds = self.flagged["flagged"]
        for start, told in (
            (WRONG, "Probably keyed wrongly"),
            (COPY, "Duplicates"),
            (ALIKE, "Without spread, so without effect on the ranking"),
        ):
            own = kinds.index[kinds.str.startswith(start)]
            if len(own):
                ids = listed(joined(own.to_frame()), most=_NAMED)
                words.append(f"{told}: {len(own)} of {n} items ({ids}).")
        if not len(kinds):
            words.append("No item is flagged.")
        if m < _FAMILIES * self.n_models:
            words.append(
                "Models make the same mistakes, as versions of one model or one family do. Fewer "
                "wrong keys are found then, and none where models are worth fewer than eight."
            )
        if m < _FEW_MODELS:
            words.append(
                f"So few models say little about single items: an item with discrimination 0 shows "
                f"up to {_largest_by_chance(m)} by chance."
            )
        return words

    def _printed(self):
        return self.sentences()


def _largest_by_chance(n_models):
    """The size of a correlation that is exceeded by chance in one of twenty cases, in words."""
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
    """Audit the items of a benchmark: wrong keys, duplicates, items without spread, reliability.

    Parameters
    ----------
    items : dataframe
        One row per answer, in any dataframe that narwhals reads. Several answers of a model to an
        item are averaged; models may lack items.
    model, item, score : str
        Names of the columns. Where models are versions of one another, name the column of their
        families as `model`: each then counts once.
    topic : str, list of str or None, default="topic"
        Column(s) within which item ids are unique. The default may be absent.
    text : str, default=None
        Column of the items' text or prompt: items with the same text are duplicates.
    confidence_level : float, default=0.95
        Level of the intervals; 1 less the false discovery rate of items keyed wrongly.

    Returns
    -------
    ItemAudit

    Raises
    ------
    ValueError
        If columns or scores are missing, or there are fewer than two models.

    Warns
    -----
    UserWarning
        As `compare_models`, of ids that several topics share.

    Notes
    -----
    Discrimination is the correlation of an item's scores with the models' means over the other
    items. Its interval counts effective models (`skbench.stats.audit.effective_models`): copies
    and versions of a model do not make it shorter. Keys: `skbench.stats.audit.reversed_items`.
    Items with the same scores are duplicates only where chance does not explain it
    (`skbench.stats.audit.same_answers`), which takes some dozens of models; `text` is better.

    No key is called wrong where models are worth fewer than eight independent ones. Of data sets of
    3 to 15 families, without a wrong key among 200 items, at most .05 have an item flagged
    (test_families_do_not_make_keys_wrong).

    Of keys turned around on purpose in 5% of the items of ten real matrices .31 to .96 were found,
    none in two whose models are worth fewer than eight; at most .01 of the others were flagged
    (test_reversed_keys_in_real_matrices).

    When not to use it: to discard items because their discrimination is low. With ten models it is
    mostly noise, and selection by it makes the benchmark's mean biased.

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
    200 items, 60 models (worth 42.2 independent ones).
    Reliability: 0.986 (0.980 to 0.992).
    25 such items have a reliability of 0.9.
    Probably keyed wrongly: 3 of 200 items (1, 0, 2).
    """
    # Items are looked at one by one: their chances of being asked have no part in it.
    rows = as_frame(items).drop(CHANCE, strict=False)
    names = rows.collect_schema().names()
    require_columns(names, [model, item, score])
    columns = {"model": model, "item": item, "score": score, "topic": topic}
    table = score_table(rows, **columns, cluster=item, by=[])
    if len(table.models) < 2:
        raise ValueError(
            f"{model!r} names {len(table.models)} model: items are compared by the answers of "
            "several. Add the results of other models."
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
    spread = np.nanmax(scores, axis=1) - np.nanmin(scores, axis=1) > table.rounding
    copies = COPY + pd.Series(joined(table.items[first].to_frame()), dtype=object)
    kinds = [keys.flagged, first != np.arange(len(first)), ~spread]
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
    """Position of the first item of the same text, but for spaces and case; its own if none."""
    frame, key = with_item_key(rows, item, topic, model=model)
    found = collected(frame.select([*key, text])).drop_duplicates(key).set_index(key)[text]
    texts = found.reindex(labels)
    plain_text = texts.astype(str).str.split().str.join(" ").str.casefold()
    # Without a text, an item is like no other.
    code = pd.Series(np.where(texts.isna(), [str(("", i)) for i in range(len(labels))], plain_text))
    return code.groupby(code, sort=False).transform(lambda own: own.index[0]).to_numpy()
