"""Summary tables of repeated sampling studies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench._types import Study
from skbench.assessment._repetition import RESULT_COLUMNS

SMALL = 15  # items; the threshold of Fogliato et al. (2024), Figure 3
_PARTS_OF_N = {
    "up to 15 items": 0, "16 to 50": SMALL, "51 to 200": 50, "more than 200": 200
}  # fmt: skip
_PARTS_OF_TRUTH = {
    "up to 0.1": -np.inf, "0.1 to 0.25": 0.1, "0.25 to 0.5": 0.25, "0.5 to 0.75": 0.5,
    "0.75 to 0.9": 0.75, "above 0.9": 0.9,
}  # fmt: skip
_PARTS_OF_RANK = {
    "lowest fifth": 0, "second fifth": 0.2, "third fifth": 0.4, "fourth fifth": 0.6,
    "highest fifth": 0.8,
}  # fmt: skip


def summarize_studies(studies: Mapping[str, Study], baseline: str = "direct") -> pd.DataFrame:
    """Summarize studies of several data sets, with mean and median over them.

    Parameters
    ----------
    studies : dict of str to RepeatedSamplingStudy
        Studies that have run, by name of the data set or setting.
    baseline : str, default="direct"
        Estimator that errors and widths are relative to.

    Returns
    -------
    DataFrame
        Indexed by (study, estimator). The last rows are "mean" and "median" over the studies.
        Columns:

        - guarantee: guarantee of the intervals.
        - mse: mean squared error over groups and repetitions.
        - mse_ratio, standard_error: the mean squared error over that of the baseline in the same
          repetitions, and its standard error over repetitions.
        - small, large: the same ratio for groups with at most 15 sampled items and for the other
          groups; nan if there are none.
        - squared_bias, variance: the two parts of `mse`, means over groups.
        - coverage: share of intervals that cover the true value.
        - coverage_small, coverage_large: the same by number of sampled items.
        - width_ratio: mean width over that of the baseline.
        - repetitions, failed: number of successful and of failed repetitions.

    Raises
    ------
    ValueError
        If there are no studies, or a study lacks the baseline.

    Notes
    -----
    Ratios are ratios of means, so single repetitions with a lucky baseline do not dominate. The
    standard error is that of the ratio of two paired means, to first order. The squared bias of a
    group is corrected for Monte Carlo noise and may be negative.

    **When not to use it.** It cannot rank estimators whose ratios differ by less than the standard
    errors.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, RepeatedSamplingStudy, make_items
    >>> from skbench.assessment import summarize_studies
    >>> estimators = {"direct": DirectEstimator(), "James-Stein": JamesStein()}
    >>> studies = {}
    >>> for seed in range(2):
    ...     items = make_items(3, 10, 50, random_state=seed).items
    ...     study = RepeatedSamplingStudy(estimators, 10, n_repeats=3, random_state=0)
    ...     studies[f"set {seed}"] = study.run(items)
    >>> table = summarize_studies(studies)
    >>> table.loc[("median", "direct"), "mse_ratio"].item()
    1.0
    """
    if not studies:
        raise ValueError("studies is empty. Pass at least one study.")
    tables = {name: study.summary(baseline=baseline) for name, study in studies.items()}
    table = pd.concat(tables, names=["study"])
    figures = table.drop(columns="guarantee").groupby("estimator", sort=False)
    typical = pd.concat({"mean": figures.mean(), "median": figures.median()}, names=["study"]).drop(
        columns=["standard_error", "repetitions", "failed"]
    )
    guarantees = table["guarantee"].groupby("estimator", sort=False).first()
    typical["guarantee"] = guarantees.loc[typical.index.get_level_values("estimator")].to_numpy()
    return pd.concat([table, typical])


def summary(results, by, baseline, failures):
    """The table of one study; see `summarize_studies` for its columns."""
    names = list(results["estimator"].cat.categories)
    if baseline not in names:
        raise ValueError(
            f"baseline={baseline!r} is not an estimator of this study. Choose one of "
            f"{', '.join(map(repr, names))}."
        )
    rows = _with_errors(results)
    failed = failures["estimator"].value_counts().reindex(names, fill_value=0)
    if by is None:
        return _table(rows, baseline, failed)
    parts = _parts(results, by)
    tables = {part: _table(rows[parts == part], baseline, failed) for part in parts.cat.categories}
    return pd.concat(tables, names=[by])


def _with_errors(results):
    error = results["estimate"] - results["truth"]
    has_interval = results["low"].notna() & results["high"].notna()
    hit = (results["low"] <= results["truth"]) & (results["truth"] <= results["high"])
    labels = [name for name in results.columns if name not in RESULT_COLUMNS]
    return pd.DataFrame(
        {
            "repetition": results["repetition"],
            "estimator": results["estimator"],
            "guarantee": results["guarantee"],
            "group": results.groupby(labels, observed=True, sort=False).ngroup(),
            "small": results["n"] <= SMALL,
            "error": error,
            "square": error**2,
            "hit": hit.astype(float).where(has_interval),
            "width": results["high"] - results["low"],
        }
    )


def _parts(results, by):
    """Part of each row, as an ordered category."""
    if by == "n":
        return _cut(results["n"], _PARTS_OF_N)
    if by == "truth":
        if results["truth"].between(0, 1).all():
            return _cut(results["truth"], _PARTS_OF_TRUTH)
        return _cut(results["truth"].rank(pct=True), _PARTS_OF_RANK)
    labels = [name for name in results.columns if name not in RESULT_COLUMNS]
    require_columns(labels, [by], what="The index of the groups")
    return results[by].cat.remove_unused_categories()


def _cut(values, parts):
    """Part of each value; a part contains values above its number."""
    edges = [*parts.values(), np.inf]
    return pd.cut(values, edges, labels=list(parts)).cat.remove_unused_categories()


def _table(rows, baseline, failed):
    means = _means_by_repetition(rows)
    guarantees = rows.drop_duplicates("estimator").set_index("estimator")["guarantee"].astype(str)
    table = pd.DataFrame(
        {
            name: {"guarantee": guarantees.get(name, "none")}
            | _figures(means, rows, name, baseline)
            for name in failed.index
        }
    ).T.infer_objects()
    table.index.name = "estimator"
    table["failed"] = failed
    return table.astype({"repetitions": int})


def _means_by_repetition(rows):
    """Mean square, coverage and width per repetition, for all, small and large groups."""
    keys = ["estimator", "repetition"]
    columns = ["square", "hit", "width"]
    parts = {"all": rows, "small": rows[rows["small"]], "large": rows[~rows["small"]]}
    means = {part: own.groupby(keys, observed=True)[columns].mean() for part, own in parts.items()}
    return pd.concat(means, axis=1)


def _figures(means, rows, name, baseline):
    own, direct = (
        means[means.index.get_level_values(0) == who].droplevel(0) for who in (name, baseline)
    )
    direct = direct.reindex(own.index)
    ratio, standard_error = _ratio(own["all", "square"], direct["all", "square"])
    bias, variance = _bias_and_variance(rows[rows["estimator"] == name])
    return {
        "mse": own["all", "square"].mean(),
        "mse_ratio": ratio,
        "standard_error": standard_error,
        "small": _ratio(own["small", "square"], direct["small", "square"])[0],
        "large": _ratio(own["large", "square"], direct["large", "square"])[0],
        "squared_bias": bias,
        "variance": variance,
        "coverage": own["all", "hit"].mean(),
        "coverage_small": own["small", "hit"].mean(),
        "coverage_large": own["large", "hit"].mean(),
        "width_ratio": _ratio(own["all", "width"], direct["all", "width"])[0],
        "repetitions": len(own),
    }


def _ratio(above, below):
    """Ratio of two paired means, and its standard error to first order."""
    both = above.notna() & below.notna()
    above, below = above[both].to_numpy(), below[both].to_numpy()
    if not len(above) or below.mean() == 0:
        return np.nan, np.nan
    ratio = above.mean() / below.mean()
    if len(above) < 2:
        return ratio, np.nan
    deviation = np.std(above - ratio * below, ddof=1)
    return ratio, deviation / (below.mean() * np.sqrt(len(above)))


def _bias_and_variance(rows):
    """Means over groups of the squared bias, corrected for noise, and of the variance."""
    errors = rows.groupby("group")["error"].agg(["mean", "var", "size"])
    variance = errors["var"]
    return (errors["mean"] ** 2 - variance / errors["size"]).mean(), variance.mean()
