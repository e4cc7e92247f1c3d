"""Agreement of LLM judges with human labels: kappa, alpha, error rates and votes."""

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
    """Agreement of judges with human labels and with each other, as from `judge_agreement`.

    Attributes
    ----------
    table : DataFrame
        The table of `to_frame`.
    n_labels, n_clusters : int
        Numbers of human labels and of their clusters.
    alpha : float
        Krippendorff's alpha of the human labels and all judges together.
    error_correlation : DataFrame of shape (n_judges, n_judges)
        Correlation of the judges' errors given the human label; nan for a judge whose verdict is
        constant given the human label.
    effective_judges : float
        Number of judges with independent errors that would be as informative as these judges.
    effective_judges_interval : tuple of two floats
        Interval of `effective_judges`.
    vote : DataFrame or None
        Agreement with human labels, with intervals, of the best judge, the majority and the
        weighted vote. Each row is judged with weights from the other rows.
    vote_weights : Series or None
        Weights of the best linear vote; their absolute values sum to 1.
    corrected : DataFrame or None
        Mean human label over all rows, estimated from the verdicts of each judge and the labels:
        value, low, high, method.
    confidence_level : float
        Nominal coverage of each interval.
    changes : Series or None
        Changes from the `previous` version, with intervals and p-values. `n` answers have verdicts
        of both versions, `only_now` and `only_before` of one. `flips` is the proportion of changed
        verdicts and `flips_by_noise` the proportion expected from repeats. `kappa` and `alpha` are
        those of the two versions, and `bias_change` is the change in the mean verdict.
        `error_change` is the change from `error_before` to `error_now` over `n_labels` answers.
        The error is the proportion of verdicts that differ from the human label, or the mean
        distance if `level` is not nominal.
    noise : DataFrame or None
        Results of repeated verdicts by number of verdicts per answer: `share` of noise in the
        variance of the mean score with its interval, `standard_error` of the mean, and
        `answers_worth`, the number of answers with one verdict that one such answer replaces.
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
    corrected: pd.DataFrame  # or None
    confidence_level: float
    changes: pd.Series | None = None
    noise: pd.DataFrame | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judge.

        The columns are n_labels, agreement, kappa, alpha, tpr, tnr, bias and calibration. The last
        six have the ends of their intervals in kappa_low, kappa_high and so on.
        """
        return self.table.copy()

    def sentences(self) -> list[str]:
        """Return the results as English sentences."""
        low, high = self.effective_judges_interval
        based = f"The agreement is based on {self.n_labels:,} human labels"
        based += f" in {self.n_clusters:,} clusters." if self.n_clusters < self.n_labels else "."
        words = [based] if self.n_labels else []
        if len(self.table) > 1:
            words.append(
                f"The {len(self.table)} judges are equivalent to {self.effective_judges:.1f} "
                f"independent judges ({low:.1f} to {high:.1f})."
            )
            words.append(f"Alpha of the human labels and all judges is {self.alpha:z.2f}.")
        if self.vote is not None:
            ways = self.vote.itertuples()
            parts = [f"{w.Index} {w.value:z.2f} ({w.low:z.2f} to {w.high:z.2f})" for w in ways]
            weights = ", ".join(f"{name} {w:.2f}" for name, w in self.vote_weights.items())
            words.append(f"Agreement with human labels: {', '.join(parts)}.")
            words.append(f"Weights of the vote: {weights}.")
        constant = self.table.index[np.isnan(np.diag(self.error_correlation))]
        if len(constant) and self.n_labels:
            names = ", ".join(constant)
            words.append(f"Verdicts that are constant given the human label: {names}.")
        judge = self.table.index[0]
        if self.changes is not None:
            words += _versions.describe_changes(judge, self.changes)
        if self.noise is not None:
            words += _versions.describe_noise(judge, self.noise)
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
    """Measure the agreement of LLM judges with human labels and with each other.

    The function also compares a judge with an earlier version, and measures the noise of repeated
    verdicts.

    Parameters
    ----------
    rows : dataframe
        One row per answer, in any dataframe that narwhals supports. `rows` is not modified.
    human : str or None, default="human"
        Column of human labels; missing values are allowed. Pass None to compare only versions or
        repeats of a judge.
    judges : str or sequence of str, default=("judge",)
        Columns of verdicts, one column per judge; missing values are allowed. Verdicts and human
        labels must use the same set of values. If human labels are 0 and 1, verdicts may also be
        scores from 0 to 1.
    previous : str, default=None
        Column of the verdicts of an earlier version of the judge on the same answers. `previous`
        requires exactly one judge.
    repeats : str or sequence of str, default=None
        Columns of repeated verdicts of the judge on the same answers, one column per repeat;
        missing values are allowed. `repeats` requires exactly one judge.
    event : label, default=None
        The positive label, if labels are not 0 and 1. Error rates, bias, and the attributes `vote`
        and `corrected` of the result refer to this label. Kappa and alpha use all labels.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Measurement scale of the labels, for kappa (squared weights) and alpha.
    threshold : float, default=0.5
        Smallest score that counts as a positive verdict.
    cluster : str, default=None
        Column of clusters of dependent rows.
    confidence_level : float, default=0.95
        Nominal coverage of each interval.
    random_state : None, int, RandomState or Generator, default=None
        Seed of the draws for the intervals of kappa, alpha and calibration.

    Returns
    -------
    JudgeAgreement
        ``to_frame()`` returns one row per judge. ``sentences()`` describes the results.

    Raises
    ------
    ValueError
        - If a column is missing.
        - If fewer than five answers have a human label, or fewer than five answers have verdicts of
          both versions of the judge.
        - If all labels are equal, or `event` does not occur.
        - If the scale of the verdicts differs from the scale of the labels or of the other version.
        - If `previous` or `repeats` is passed with several judges.
        - If repeated verdicts are words and `event` is None.
        - If more than 10% of the repeated verdicts are words that do not occur in the judge's
          column, or numbers outside the range of this column.
        - If the judge's verdicts are from 0 to 1, but a repeated verdict is not.

    Notes
    -----
    The following statistics are computed from the rows with both a verdict and a human label.

    - *kappa* (Cohen) and *alpha* (Krippendorff): agreement corrected for chance, with intervals
      from a Dirichlet posterior (`skbench.stats.agreement`). With more than ten different labels,
      kappa is not computed. If these labels are numbers, alpha is computed on the interval scale,
      with a jackknife interval. If they are words, alpha has no interval.
    - *tpr* and *tnr*: true positive rate and true negative rate (Clopper-Pearson interval).
    - *bias*: mean difference, verdict minus human label. If verdicts are 0 or 1 and answers are
      independent, the interval is Tango's. Otherwise, the interval is Student's t.
    - *calibration*: slope of a regression of the human labels on the scores (1 for a calibrated
      judge).

    With `cluster`, each interval uses the effective number of rows. Simulated coverage of 95%
    intervals with 30, 100 and 400 labels was at least 0.93. `effective_judges` is the number of
    judges with independent errors that would be as informative as these judges.

    The change in bias between versions equals the change in the mean verdict, because both versions
    are compared with the same labels. The change is therefore estimated from all answers with
    verdicts of both versions. If verdicts are 0 or 1 and answers are independent, p-values are from
    McNemar's exact test. Otherwise, p-values are from a cluster-robust t test. The noise of repeats
    is estimated by `skbench.stats.repeats.repeat_noise`. Repeats reduce noise but not bias.

    When not to use it: if the verdicts determined which rows were labeled; for versions that judged
    different answers (use `PPIMean` for each version).

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
    found = _empty_fields(judges)
    if human is not None:
        found = _agreement_fields(rows, human, judges, event, level, threshold, cluster,
                               confidence_level, rng)  # fmt: skip
    if again:
        found |= _versions.changes_and_noise(
            rows, human, judges[0], previous, repeats, event, level, threshold,
            _clusters(rows, cluster), confidence_level, rng,
        )  # fmt: skip
    return JudgeAgreement(**found, confidence_level=confidence_level)


def _check_versions(human, judges, again, repeats):
    """Raise errors for several judges with columns of one judge, and for nothing to compare."""
    if again and len(judges) > 1:
        raise ValueError(
            f"previous= and repeats= need a single judge, but judges={judges}. Call the function "
            "once per judge."
        )
    judge = judges[0]
    if judge in repeats:
        raise ValueError(f"{judge!r} is both the judge and a repeat. Remove it from repeats=.")
    if human is None and not again:
        raise ValueError("With human=None pass previous= or repeats= to compare the verdicts with.")


def _empty_fields(judges):
    """Fields of the result that need human labels, all unknown."""
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


def _agreement_fields(rows, human, judges, event, level, threshold, cluster, confidence_level, rng):
    """Fields of the result that need human labels."""
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
    """Return `ChainRulePPI` if each of few verdicts has enough labels, else `PPIMean`."""
    if np.isfinite(y).all():
        return ClassicalMean()
    has_clusters = cluster is not None and pd.DataFrame({0: cluster, 1: by}).duplicated().any()
    if discrete and not has_clusters and has_enough_labels(verdicts, y, by):
        return ChainRulePPI()
    return PPIMean()


def _corrected(table, human, labels, event, scores, cluster, confidence_level):
    """Mean human label over all rows, estimated from each judge and the labels."""
    if event is None and any(isinstance(x, str) for x in labels):
        return None
    y = _labels.scores(table[human], human, labels, event)
    binary = event is not None or labels == [0, 1]
    found = {}
    for name, score in scores.items():
        judged = np.isfinite(score)
        f, h = score[judged], y[judged]
        clusters = None if cluster is None else table[cluster].to_numpy()[judged]
        estimator = mean_estimator(f, h, binary and np.isin(f, (0, 1)).all(), clusters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the result reports the number of labels
            estimate = estimator.fit(f, h, cluster=clusters).estimate(confidence_level)
        found[name] = [estimate.value[0], estimate.low[0], estimate.high[0], estimate.method]
    columns = ["value", "low", "high", "method"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("judge")
