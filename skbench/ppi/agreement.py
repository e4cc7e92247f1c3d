"""How far judges agree with people: kappa, alpha, error rates, and what a vote is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import names_of
from skbench._printed import Printed, PrintedTable
from skbench._random import as_generator
from skbench._types import Level, Names, RandomState, Rows, checked
from skbench.ppi import _figures, _labels, _versions
from skbench.ppi._verdicts import has_enough_labels
from skbench.ppi.chain_rule import ChainRulePPI
from skbench.ppi.difference import ClassicalMean, PPIMean
from skbench.stats.clusters import agreement


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement(Printed):
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
    changes : Series or None
        Of the judge since its `previous` version, over the `n` answers that both judged
        (`only_now` and `only_before` were judged by one): `flips`, the share of other verdicts,
        and `flips_by_noise`, what repeats let expect; kappa and alpha of the two; `bias_change`,
        of the mean verdict; over the `n_labels` with a label, `error_change` from `error_before`
        to `error_now` (share of verdicts that are not people's; mean distance unless `level` is
        nominal). With ends, and p-values.
    noise : DataFrame or None
        From repeated verdicts, by number of verdicts on each answer: `share` of noise in the
        variance of the mean score, with its interval, `standard_error` of the mean, and how many
        answers with one verdict an answer is worth (`answers_worth`).
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
    changes: pd.Series | None = None
    noise: pd.DataFrame | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per judge: n_labels, agreement, and kappa, alpha, tpr, tnr, bias and
        calibration, each with the ends of its interval (kappa_low, kappa_high, ...)."""
        return self.table.copy()

    def sentences(self) -> list[str]:
        """The card in words."""
        low, high = self.effective_judges_interval
        again = self.changes is not None or self.noise is not None
        what = "Agreement with people" if again else "All of this"
        rests = f"{what} rests on {self.n_labels:,} human labels"
        rests += f" in {self.n_clusters:,} clusters." if self.n_clusters < self.n_labels else "."
        words = [rests] if self.n_labels else []
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
        if len(never) and self.n_labels:
            words.append(f"{', '.join(never)}: always right or always wrong given the label.")
        judge = self.table.index[0]
        if self.changes is not None:
            words += _versions.change_in_words(judge, self.changes)
        if self.noise is not None:
            words += _versions.noise_in_words(judge, self.noise)
        return words

    def _printed(self):
        table = [PrintedTable(self.table, digits=3, most=None)] if self.n_labels else []
        return [*table, *self.sentences()]


@checked
def judge_agreement(
    rows: Rows,
    human: str | None = "human",
    judges: Names = ("judge",),
    *,
    previous: str | None = None,
    repeats: Names | None = None,
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
    human : str or None, default="human"
        Column of human labels, missing where there is none. None leaves people out: changes and
        noise need none.
    judges : str or sequence of str, default=("judge",)
        Columns of the judges: labels as those of people, or scores from 0 to 1 where
        people say 0 or 1. Missing where a judge said nothing.
    previous : str, default=None
        Column of the verdicts of an earlier version of the one judge on the same answers.
    repeats : str or sequence of str, default=None
        Columns of further verdicts of the one judge on the same answers, asked as the first was.
        Missing where it was not asked again. Not the number of a verdict: 0 and 1 in such a column
        would be taken for verdicts.
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
        does not occur, scores or labels that people do not use, versions on different scales,
        several judges beside `previous` or `repeats`, fewer than five answers with two verdicts,
        repeated words without an event, and repeats of other values than the judge's (numbers
        outside 0 to 1 where all others are inside; else where more than a tenth are words it never
        says, or beyond its numbers).

    Notes
    -----
    By judge, over the rows that both labeled: Cohen's kappa and Krippendorff's alpha
    (Dirichlet posterior, `skbench.stats.agreement`; of more than ten values alpha alone, by
    intervals and a jackknife, of words nominal and without ends); TPR and TNR, the shares of
    people's yes and no that it says (Clopper-Pearson); bias, judge minus people (score interval of
    paired proportions, else t); calibration, the slope of people's labels on its scores. With
    clusters, each rests on the number of rows that they are worth. Simulated coverage at level
    .95 with 30, 100 and 400 labels: at least .93 (test_every_interval_covers).

    Errors are taken given the human label: judges that err independently count in full.

    Labels drop out of the change of bias between two versions: it is the change of the mean
    verdict, over all answers that both judged. Verdicts 0 and 1 of independent answers are compared
    by McNemar's exact test, others by t of the clusters. Noise:
    `skbench.stats.repeats.repeat_noise`. Repeats reduce noise only, never bias.

    When not to use it: with labels of rows that were chosen for their verdicts.

    Examples
    --------
    >>> rows = pd.DataFrame({"human": [1, 0] * 20, "j": [1, 0] * 16 + [0, 1] * 4})
    >>> rows["twin"] = rows["j"]
    >>> card = judge_agreement(rows, human="human", judges=["j", "twin"], random_state=0)
    >>> card.effective_judges
    1.0
    """
    judges, repeats = names_of(judges), names_of(repeats)
    again = ([] if previous is None else [previous]) + repeats
    _check_versions(human, judges, again, repeats)
    rows = _labels.read(rows, human, judges, cluster, again)
    rng = as_generator(random_state)
    found = _without_people(judges)
    if human is not None:
        found = _beside_people(rows, human, judges, event, level, threshold, cluster,
                               confidence_level, rng)  # fmt: skip
    if again:
        found |= _versions.asked_again(
            rows, human, judges[0], previous, repeats, event, level, threshold,
            _clusters(rows, cluster), confidence_level, rng,
        )  # fmt: skip
    return JudgeAgreement(**found, confidence_level=confidence_level)


def _check_versions(human, judges, again, repeats):
    """Refuse several judges beside columns of one, and verdicts with nothing else beside them."""
    if again and len(judges) > 1:
        raise ValueError(
            f"previous= and repeats= are about one judge, but judges={judges}. Call once for each."
        )
    judge = judges[0]
    if judge in repeats:
        raise ValueError(f"{judge!r} is the judge and a repeat. Leave {judge!r} out of repeats=.")
    if human is None and not again:
        raise ValueError(
            "human=None leaves nothing to compare the verdicts with. Pass previous= or repeats=."
        )


def _without_people(judges):
    """What is known of judges without labels: nothing."""
    names = [f"{name}{end}" for name in _figures.FIGURES for end in ("", "_low", "_high")]
    index = pd.Index(judges, name="judge")
    table = pd.DataFrame(np.nan, index, ["agreement", *names])
    table.insert(0, "n_labels", 0)
    return {
        "table": table,
        "n_labels": 0,
        "n_clusters": 0,
        "alpha": np.nan,
        "error_correlation": pd.DataFrame(np.nan, judges, judges),
        "effective_judges": np.nan,
        "effective_judges_interval": (np.nan, np.nan),
        "vote": None,
        "vote_weights": None,
        "corrected": None,
    }


def _beside_people(rows, human, judges, event, level, threshold, cluster, confidence_level, rng):
    """Fields of the card that rest on people's labels."""
    table = rows[rows[judges].notna().any(axis=1)]
    labeled = table[table[human].notna()].reset_index(drop=True)
    y, labels = _labels.human(labeled, human, event)
    codes = _clusters(labeled, cluster)
    scores = {name: _labels.scores(table[name], name, labels, event) for name in judges}
    found, verdicts = {}, {}
    for name in judges:
        score = scores[name][table[human].notna().to_numpy()]
        verdicts[name] = _labels.verdict(labeled[name], score, labels, event, threshold, name)
        found[name] = _figures.card(y, labels, score, verdicts[name], event, level, codes,
                                    confidence_level, rng, name)  # fmt: skip
    positive = _figures.positive(y, labels, event)
    votes = {name: _figures.positive(v, labels, event) for name, v in verdicts.items()}
    errors = _figures.errors(positive if positive is not None else y, y, votes, verdicts, labels)
    correlation, effective, ends = _figures.effective(errors, codes, confidence_level)
    vote, weights = _figures.vote(positive, votes, codes, confidence_level)
    all_ratings = np.column_stack([y, *verdicts.values()])
    return {
        "table": pd.DataFrame.from_dict(found, orient="index").rename_axis("judge"),
        "n_labels": len(labeled),
        "n_clusters": int(codes.max()) + 1,
        "alpha": agreement.krippendorff_alpha(all_ratings, level),
        "error_correlation": pd.DataFrame(correlation, index=judges, columns=judges),
        "effective_judges": effective,
        "effective_judges_interval": ends,
        "vote": vote,
        "vote_weights": weights,
        "corrected": _corrected(table, human, labels, event, scores, cluster, confidence_level),
    }


def _clusters(rows, cluster):
    return np.arange(len(rows)) if cluster is None else pd.factorize(rows[cluster])[0]


def mean_estimator(verdicts, y, discrete, cluster=None, by=None):
    """The estimator of a mean label: exact where each of few verdicts has labels enough."""
    if np.isfinite(y).all():
        return ClassicalMean()
    alone = cluster is None or not pd.DataFrame({"of": cluster, "by": by}).duplicated().any()
    few = discrete and alone and has_enough_labels(verdicts, y, by)
    return ChainRulePPI() if few else PPIMean()


def _corrected(table, human, labels, event, scores, cluster, confidence_level):
    """Mean label over all rows by judge and labels, with the methods there are for it."""
    if event is None and any(isinstance(x, str) for x in labels):
        return None
    y = _labels.scores(table[human], human, labels, event)
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
