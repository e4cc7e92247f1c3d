"""`ItemBank`: what earlier models' answers say about the items of a benchmark."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Self

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from skbench._checks import check_whole, plain
from skbench._random import as_generator
from skbench._types import Path, RandomState, Rows
from skbench.bank._past import read_past
from skbench.stats.item_response import easiness as formulas

_LEAST_SPREAD = 0.05  # of p (1 - p): residuals of items that nearly all solve stay bounded


class ItemBank(BaseEstimator):
    """What earlier models' answers say about the items of a benchmark.

    Parameters
    ----------
    exclude : sequence of str, default=()
        Models to leave out of the past: the one to be evaluated, and its near-copies.
    n_components : int, default=32
        How many components of the answers to keep at most.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the decomposition, which is random with more than 1500 models only.

    Attributes
    ----------
    items_ : DataFrame of shape (n_items, 2)
        Topic and item, in sorted order; the topic is ``"all"`` where there are none.
    models_ : Index of shape (n_models,)
    topics_ : Index of shape (n_topics,)
    topic_codes_ : ndarray of int of shape (n_items,)
    scores_ : ndarray of shape (n_items, n_models)
        Mean scores over runs, nan where there is none.
    easiness_ : ndarray of shape (n_items,)
        Log odds of a right answer by an average model; expected score if not `binary_`.
    ability_ : ndarray of shape (n_models,)
        Log odds of a right answer to an average item; mean score if not `binary_`.
    components_ : ndarray of shape (n_items, n_components)
        What items have in common beyond their easiness.
    n_answers_ : ndarray of shape (n_items,)
        Number of models that answered each item.
    binary_ : bool
        Whether all scores are 0 or 1.

    Raises
    ------
    ValueError
        If columns, scores or names are missing, or no model is left.

    Warns
    -----
    UserWarning
        If several models gave the same answers throughout, or `exclude` names no model.

    Notes
    -----
    With complete 0/1 answers easiness is ``logit((k + 1) / (M + 2))``, with gaps the posterior
    mode of a Rasch model. Components are singular vectors times values of the standardized
    residuals, see `skbench.stats.easiness.residual_components`. They are a kernel that
    is linear in the earlier answers: it finds the earlier models that a new one is like.

    When not to use it: with a past on other items than those that a new model is asked.

    Examples
    --------
    >>> import pandas as pd
    >>> past = pd.DataFrame({"model": ["ada"] * 3 + ["bob"] * 3, "topic": "law",
    ...                      "item": [1, 2, 3] * 2, "score": [1, 1, 0, 1, 0, 0]})
    >>> bank = ItemBank().fit(past)
    >>> bank.easiness_.round(2)
    array([ 1.1,  0. , -1.1])
    """

    def __init__(
        self,
        *,
        exclude: Sequence[str] = (),
        n_components: int = 32,
        random_state: RandomState = None,
    ) -> None:
        self.exclude = exclude
        self.n_components = n_components
        self.random_state = random_state

    def fit(
        self,
        past: Rows | Path,
        y: None = None,
        *,
        model: str = "model",
        topic: str = "topic",
        item: str = "item",
        score: str = "score",
    ) -> Self:
        """Learn from item rows of earlier models.

        Parameters
        ----------
        past : dataframe, str or path-like
            One row per (model, item), in any dataframe that narwhals reads, or the path of
            Parquet files. Gaps are allowed; several rows of a model on an item are averaged.
            Not changed.
        y : None
            Ignored.
        model, topic, item, score : str
            Names of the columns. The topic may be absent; item ids are unique within a topic.

        Returns
        -------
        ItemBank
        """
        check_whole("n_components", self.n_components, least=0)
        exclude = [self.exclude] if isinstance(self.exclude, str) else list(self.exclude)
        past = read_past(past, model, topic, item, score, exclude)
        return self._learned(past.scores, past.items, past.models, past.binary)

    def _learned(self, scores, items, models, binary):
        self._keep(scores, items, models, binary)
        if not binary:
            found = formulas.mean_easiness(scores)
        elif np.all(self.n_answers_ == len(models)):
            found = formulas.smoothed_easiness(scores)
        else:
            found = formulas.rasch_easiness(scores)
        self.easiness_, self.ability_ = found
        self.components_ = formulas.residual_components(
            scores, self._expected, self._spread, self.n_components, self._decompose
        )
        self._warn_of_copies()
        return self

    def _keep(self, scores, items, models, binary):
        self.scores_, self.items_, self.models_, self.binary_ = scores, items, models, binary
        self.topic_codes_, topics = pd.factorize(items["topic"])
        self.topics_ = pd.Index(topics, name="topic")
        self.n_answers_ = np.isfinite(scores).sum(axis=1)

    def _restored(self, scores, items, models, binary, easiness, ability, components):
        """The bank as it was saved."""
        self._keep(scores, items, models, binary)
        self.easiness_, self.ability_, self.components_ = easiness, ability, components
        return self

    def _expected(self, rows):
        """Scores of some items that easiness and ability lead one to expect."""
        center = self.easiness_.mean()
        both = self.easiness_[rows, None] + self.ability_ - center
        return expit(both) if self.binary_ else both

    def _spread(self, expected):
        return np.sqrt(expected * (1 - expected) + _LEAST_SPREAD) if self.binary_ else 1.0

    def _decompose(self, residuals, rank):
        seed = int(as_generator(self.random_state).integers(2**31))
        vectors, values, _ = randomized_svd(residuals, rank, random_state=seed)
        return vectors * values

    def without(self, models: Sequence[str]) -> ItemBank:
        """The bank of the other models.

        Parameters
        ----------
        models : sequence of str
            Models to leave out.

        Returns
        -------
        ItemBank
        """
        check_is_fitted(self)
        models = [models] if isinstance(models, str) else list(models)
        left = ~self.models_.isin(models)
        unknown = [name for name in models if name not in self.models_]
        if unknown or not left.any():
            raise ValueError(
                f"The bank has no model {unknown[0]!r}."
                if unknown
                else "No model would be left in the bank."
            )
        scores = self.scores_[:, left]
        answered = np.isfinite(scores).any(axis=1)
        bank = ItemBank(n_components=self.n_components, random_state=self.random_state)
        items = self.items_[answered].reset_index(drop=True)
        return bank._learned(scores[answered], items, self.models_[left], self.binary_)

    def transform(
        self, items: pd.DataFrame, *, topic: str = "topic", item: str = "item"
    ) -> pd.DataFrame:
        """What the bank knows of items, as features.

        Parameters
        ----------
        items : DataFrame
            With the columns item and, if items are not unique without it, topic.

        Returns
        -------
        DataFrame of shape (n_rows, 1 + n_components)
            Easiness and components; items that the bank lacks have the mean easiness of their
            topic (of all, where that is new) and components 0.
        """
        from skbench.bank._rows import positions_in

        check_is_fitted(self)
        position, code = positions_in(self, items, topic, item)
        mean = np.append(self._topic_easiness(), self.easiness_.mean())
        known = position >= 0
        columns = {"easiness": np.where(known, self.easiness_[position], mean[code])}
        for j, column in enumerate(self.components_.T):
            columns[f"component {j}"] = np.where(known, column[position], 0.0)
        return pd.DataFrame(columns, index=getattr(items, "index", None))

    def _topic_easiness(self):
        counts = np.bincount(self.topic_codes_, minlength=len(self.topics_))
        return np.bincount(self.topic_codes_, self.easiness_, len(self.topics_)) / counts

    def adjusted_scores(
        self,
        items: Rows,
        *,
        model: str = "model",
        topic: str = "topic",
        item: str = "item",
        score: str = "score",
    ) -> pd.DataFrame:
        """Scores of new models less what earlier answers made one expect of the items asked.

        Parameters
        ----------
        items : dataframe
            One row per answer. Not changed. A model of which the bank holds all answers has its
            mean over all items for a score of each; others that it holds are left out of it.
        model, topic, item, score : str
            Names of the columns.

        Returns
        -------
        DataFrame
            One row per model and item asked that the bank has: `score`, whose mean is an assisted
            estimate of the mean over all items of the bank, and ``topic_score``, of its topic's.

        Raises
        ------
        ValueError
            If the items of a model are no random sample of those of the bank, or all models are
            known.

        Notes
        -----
        ``mean f + w (y - f)`` with predictions f that did not see the answer
        (`skbench.stats.assisted`), so that models can be compared item by item.
        """
        from skbench.bank.adjusted import adjusted_scores, known_scores
        from skbench.bank.unit_level import UnitLevelModel

        rows = nw.from_native(items, eager_only=True).to_pandas()
        held = [name for name in self.models_ if name in set(rows[model])]
        whole = np.isfinite(self.scores_).all(axis=0)
        known = [name for name, all_of_it in zip(self.models_, whole, strict=True)
                 if all_of_it and name in held]  # fmt: skip
        new = rows[~rows[model].isin(known)]
        if new.empty:
            raise ValueError(
                f"The bank holds all answers of {known}: compare them without the bank."
            )
        partly = [name for name in held if name not in known]
        fitted = UnitLevelModel(self.without(partly) if partly else self, model=model,
                                topic=topic, item=item)  # fmt: skip
        with warnings.catch_warnings():  # of a likeness that may well be, and what is refused below
            warnings.filterwarnings("ignore", ".*(answers like the earlier model|no random sample)")
            fitted.fit(new, new[score])
        odd = [name for name, random in fitted.random_sample_.items() if not random]
        if odd:
            raise ValueError(
                f"The items of {plain(odd[0])!r} are clearly easier or harder than the rest of "
                "the bank: differences of models on all its items take a random sample of them. "
                "Ask items of choose_items, or compare without the bank."
            )
        found = adjusted_scores(fitted).assign(
            topic_score=adjusted_scores(fitted, by_topic=True)["score"]
        )
        found = pd.concat([found, *(known_scores(self, name, found) for name in known)])
        names = {"model": model, "topic": topic, "item": item, "score": score}
        return found.rename(columns=names)

    def save(self, path: Path) -> None:
        """Write the bank to one Parquet file, to ship with a benchmark.

        Parameters
        ----------
        path : str or path-like
            Name of the file. Needs pyarrow.
        """
        from skbench.bank._file import write_bank

        check_is_fitted(self)
        write_bank(self, path)

    @classmethod
    def load(cls, path: Path) -> ItemBank:
        """Read a bank that `save` wrote.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        ItemBank
        """
        from skbench.bank._file import read_bank

        return read_bank(cls, path)

    def _warn_of_copies(self):
        seen = {}
        for name, column in zip(self.models_, self.scores_.T, strict=True):
            seen.setdefault(hash(column.tobytes()), []).append(name)
        copies = max(seen.values(), key=len)
        if len(copies) > 1:
            warnings.warn(
                f"{len(copies)} earlier models gave the same answers throughout, such as "
                f"{plain(copies[0])!r} and {plain(copies[1])!r}: they count as several. Exclude "
                "all but one.",
                stacklevel=4,
            )

    def __repr__(self):
        if not hasattr(self, "scores_"):
            return super().__repr__()
        missing = 1 - self.n_answers_.sum() / self.scores_.size
        kind = "right or wrong" if self.binary_ else "scores"
        topics = f"{len(self.topics_)} topics" if len(self.topics_) > 1 else "no topics"
        lines = [
            f"ItemBank of {len(self.items_)} items in {topics}, answered by "
            f"{len(self.models_)} earlier models ({kind}; {100 * missing:.1f} % missing)"
        ]
        low, high = np.nanmin(means := np.nanmean(self.scores_, axis=0)), np.nanmax(means)
        lines.append(
            f"their mean scores range from {low:.3g} to {high:.3g}; "
            f"{self.components_.shape[1]} components beyond easiness"
        )
        if len(self.models_) < 4:
            lines.append("few models: easiness is rough, and says little of a model unlike them")
        return "\n".join(lines)
