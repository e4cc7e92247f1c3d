"""How far judges agree with people: kappa, alpha, error rates, and what a vote is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import names_of, plain, require_columns
from skbench._columns import with_winners
from skbench._random import as_generator
from skbench._types import Level, Names, RandomState, Rows, checked
from skbench.items.rows import as_frame
from skbench.ppi import _figures
from skbench.ppi._verdicts import has_enough_labels
from skbench.ppi.chain_rule import ChainRulePPI
from skbench.ppi.difference import ClassicalMean, PPIMean
from skbench.stats.clusters import agreement


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement:
    """What is known of judges from the rows that people labeled.

    Attributes
    ----------
    table : DataFrame
        What `to_frame` gives.
    n_labels, n_clusters : int
        Human labels that all of this rests on, and the clusters they are in.
    alpha : float
        Krippendorff's alpha of people and all judges together.
    error_correlation : DataFrame of shape (n_judges, n_judges)
        Of the judges' errors, given the human label; nan for a judge that never errs.
    effective_judges : float
        Number of judges with independent errors that these are worth.
    effective_judges_interval : tuple of two floats
        Its interval.
    vote : DataFrame or None
        Agreement with people of the best judge, the majority and the weighted vote (left
        out one by one, so that no label judges itself), with intervals.
    vote_weights : Series or None
        Weights of the best linear vote, adding up to 1.
    corrected : DataFrame or None
        By judge, the mean of the human labels over all rows, from the judge's verdicts and
        the labels: value, low, high, method.
    confidence_level : float
        Of each interval.
    """

    table: pd.DataFrame
    n_labels: int
    n_clusters: int
    alpha: float
    error_correlation: pd.DataFrame
    effective_judges: float
    effective_judges_interval: tuple
    vote: pd.DataFrame | None
    vote_weights: pd.Series | None
    corrected: pd.DataFrame  # or None, see above
    confidence_level: float

    def to_frame(self) -> pd.DataFrame:
        """One row per judge: n_labels, agreement, and kappa, alpha, tpr, tnr, bias and
        calibration, each with the ends of its interval (kappa_low, kappa_high, ...)."""
        return self.table.copy()

    def sentences(self) -> list[str]:
        """The card in words."""
        low, high = self.effective_judges_interval
        rests = f"All of this rests on {self.n_labels:,} human labels"
        rests += f" in {self.n_clusters:,} clusters." if self.n_clusters < self.n_labels else "."
        words = [rests]
        if len(self.table) > 1:
            words.append(
                f"{len(self.table)} judges are worth {self.effective_judges:.1f} independent ones "
                f"({low:.1f} to {high:.1f}); alpha of people and all judges is {self.alpha:z.2f}."
            )
        if self.vote is not None:
            ways = self.vote.itertuples()
            parts = [f"{w.Index} {w.value:z.2f} ({w.low:z.2f} to {w.high:z.2f})" for w in ways]
            weights = ", ".join(f"{name} {w:.2f}" for name, w in self.vote_weights.items())
            words.append(f"Agreement with people: {', '.join(parts)}; weights: {weights}.")
        never = self.table.index[np.isnan(np.diag(self.error_correlation))]
        if len(never):
            words.append(f"{', '.join(never)}: always right or always wrong given the label.")
        return words

    def __repr__(self):
        text = self.table.to_string(float_format=lambda x: f"{x:.3g}")
        return "\n".join([text, *self.sentences()])


@checked
def judge_agreement(
    rows: Rows,
    human: str = "human",
    judges: Names = ("judge",),
    *,
    event: object = None,
    level: Literal["nominal", "ordinal", "interval"] = "nominal",
    threshold: float = 0.5,
    cluster: str | None = None,
    confidence_level: Level = 0.95,
    random_state: RandomState = None,
) -> JudgeAgreement:
    """How far judges agree with people, and how many of them one really has.

    Parameters
    ----------
    rows : dataframe
        One row per answer, in any dataframe that narwhals reads. Not changed.
    human : str, default="human"
        Column of human labels, missing where there is none.
    judges : str or sequence of str, default=("judge",)
        Columns of the judges: labels as those of people, or scores from 0 to 1 where
        people say 0 or 1. Missing where a judge said nothing.
    event : label, default=None
        What counts as positive, for labels other than 0 and 1: error rates, bias, vote and
        estimate are about it. Kappa and alpha stay about all labels.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Of the labels, for kappa (squared weights) and alpha.
    threshold : float, default=0.5
        From where a score of a judge is a yes.
    cluster : str, default=None
        Column of clusters of dependent rows.
    confidence_level : float, default=0.95
        Nominal level of each interval.
    random_state : None, int, RandomState or Generator, default=None
        Of the draws behind the intervals of kappa, alpha and calibration.

    Returns
    -------
    JudgeAgreement
        With ``to_frame()`` and `effective_judges`.

    Raises
    ------
    ValueError
        For missing columns, fewer than five labels, labels that never vary, an event that
        does not occur, and scores or labels that people do not use.

    Notes
    -----
    By judge, over the rows that both labeled: Cohen's kappa and Krippendorff's alpha
    (Dirichlet posterior, `skbench.stats.agreement`); TPR and TNR, the shares of people's
    yes and no that it says (Clopper-Pearson); bias, judge minus people (score interval of
    paired proportions, else t); calibration, the slope of people's labels on its scores. With
    clusters, each rests on the number of rows that they are worth. Simulated coverage at level
    .95 with 30, 100 and 400 labels: at least .93 (test_every_interval_covers).

    Errors are taken given the human label: judges that err independently count in full.

    When not to use it: with labels of rows that were chosen for their verdicts.

    Examples
    --------
    >>> rows = pd.DataFrame({"human": [1, 0] * 20, "j": [1, 0] * 16 + [0, 1] * 4})
    >>> rows["twin"] = rows["j"]
    >>> card = judge_agreement(rows, human="human", judges=["j", "twin"], random_state=0)
    >>> card.effective_judges
    1.0
    """
    judges = names_of(judges)
    table = _read(rows, human, judges, cluster)
    labeled = table[table[human].notna()].reset_index(drop=True)
    y, labels = _human(labeled, human, event)
    codes = np.arange(len(labeled))
    if cluster is not None:
        codes = pd.factorize(labeled[cluster])[0]
    rng = as_generator(random_state)
    scores = {name: _scores(table[name], name, labels, event) for name in judges}
    found, verdicts = {}, {}
    for name in judges:
        score = scores[name][table[human].notna().to_numpy()]
        verdicts[name] = _verdict(labeled[name], score, labels, event, threshold, name)
        found[name] = _figures.card(y, labels, score, verdicts[name], event, level, codes,
                            confidence_level, rng, name)  # fmt: skip
    positive = _figures.positive(y, labels, event)
    votes = {name: _figures.positive(v, labels, event) for name, v in verdicts.items()}
    errors = _figures.errors(positive if positive is not None else y, y, votes, verdicts, labels)
    correlation, effective, ends = _figures.effective(errors, codes, confidence_level)
    vote, weights = _figures.vote(positive, votes, codes, confidence_level)
    all_ratings = np.column_stack([y, *verdicts.values()])
    return JudgeAgreement(
        table=pd.DataFrame.from_dict(found, orient="index").rename_axis("judge"),
        n_labels=len(labeled),
        n_clusters=int(codes.max()) + 1,
        alpha=agreement.krippendorff_alpha(all_ratings, level),
        error_correlation=pd.DataFrame(correlation, index=judges, columns=judges),
        effective_judges=effective,
        effective_judges_interval=ends,
        vote=vote,
        vote_weights=weights,
        corrected=_corrected(table, human, labels, event, scores, cluster, confidence_level),
        confidence_level=confidence_level,
    )


def mean_estimator(verdicts, y, discrete, cluster=None, by=None):
    """The estimator of a mean label: exact where each of few verdicts has labels enough."""
    if np.isfinite(y).all():
        return ClassicalMean()
    alone = cluster is None or not pd.DataFrame({"of": cluster, "by": by}).duplicated().any()
    few = discrete and alone and has_enough_labels(verdicts, y, by)
    return ChainRulePPI() if few else PPIMean()


def _read(rows, human, judges, cluster):
    """The columns as a pandas frame, without rows that no judge judged."""
    wanted = list(dict.fromkeys([human, *judges, *([cluster] if cluster else [])]))
    frame = with_winners(as_frame(rows, eager_only=True).to_pandas(), wanted)
    require_columns(frame.columns, wanted, "rows")
    if len(set(judges)) < len(judges) or human in judges:
        raise ValueError(f"judges must be different columns, other than {human!r}, got {judges}.")
    table = pd.DataFrame({name: frame[name].to_list() for name in wanted})
    if cluster is not None and table[cluster].isna().any():
        raise ValueError(f"{int(table[cluster].isna().sum())} rows have no {cluster!r}.")
    return table[table[judges].notna().any(axis=1)]


def _refuse_numbers_as_text(labels, human):
    if (
        all(isinstance(x, str) for x in labels)
        and np.isfinite(pd.to_numeric(labels, "coerce")).all()
    ):
        raise ValueError(
            f"{human!r} holds numbers as text, such as {labels[0]!r}. Turn it and the judges into "
            "numbers first, by astype(float)."
        )


def _human(labeled, human, event):
    """Positions of the human labels among all of them (numbers: the numbers), and these."""
    if len(labeled) < _figures.FEWEST_LABELS:
        raise ValueError(
            f"{len(labeled)} rows have a label in {human!r}, and fewer than "
            f"{_figures.FEWEST_LABELS} say nothing of a judge. Have more labeled, chosen at random."
        )
    labels = sorted({plain(x) for x in labeled[human]}, key=lambda x: (isinstance(x, str), x))
    _refuse_numbers_as_text(labels, human)
    if len(labels) < 2:
        raise ValueError(
            f"All {len(labeled)} human labels in {human!r} are {plain(labels[0])!r}: labels "
            "that never vary do not tell whether a judge sees the difference. Label rows of the "
            "other kind."
        )
    if event is not None and event not in labels:
        raise ValueError(f"event {event!r} is none of the human labels {labels[:10]}.")
    if any(isinstance(x, str) for x in labels):
        return labeled[human].map(labels.index).to_numpy(float), labels
    return labeled[human].to_numpy(float), labels


def _scores(column, name, labels, event):
    """A judge's verdicts as numbers: its own, or 1 for the event; nan where there is none."""
    missing = column.isna().to_numpy()
    if event is not None:
        return np.where(missing, np.nan, (column == event).to_numpy(dtype=float))
    if any(isinstance(x, str) for x in column[~missing]):
        return np.full(len(column), np.nan)
    return _floats(column)


def _floats(column):
    return column.to_numpy(dtype=float, na_value=np.nan)


def _verdict(column, score, labels, event, threshold, name):
    """Labels that a judge gave, as positions or numbers like those of people."""
    said = column[column.notna()]
    words = any(isinstance(x, str) for x in labels)
    strange = [x for x in said.unique() if plain(x) not in labels]
    if not strange:
        return _floats(column.map(labels.index, na_action="ignore") if words else column)
    binary = labels == [0, 1] and not any(isinstance(x, str) for x in strange)
    if binary and said.between(0, 1).all():
        return np.where(np.isnan(score), np.nan, score >= threshold)
    if words or len(labels) <= 2 or any(isinstance(x, str) for x in strange):
        raise ValueError(
            f"{name!r} says {plain(strange[0])!r}, which no person says. Map verdicts to the "
            f"labels {labels[:10]}, or to scores from 0 to 1 where people say 0 or 1."
        )
    return _floats(column)


def _corrected(table, human, labels, event, scores, cluster, confidence_level):
    """Mean label over all rows by judge and labels, with the methods there are for it."""
    if event is None and any(isinstance(x, str) for x in labels):
        return None
    y = _scores(table[human], human, labels, event)
    binary = event is not None or labels == [0, 1]
    found = {}
    for name, score in scores.items():
        there = np.isfinite(score)
        f, h = score[there], y[there]
        clusters = None if cluster is None else table[cluster].to_numpy()[there]
        estimator = mean_estimator(f, h, binary and np.isin(f, (0, 1)).all(), clusters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few labels, which the card tells
            estimate = estimator.fit(f, h, cluster=clusters).estimate(confidence_level)
        found[name] = [estimate.value[0], estimate.low[0], estimate.high[0], estimate.method]
    columns = ["value", "low", "high", "method"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("judge")
