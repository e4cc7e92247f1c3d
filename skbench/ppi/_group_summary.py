"""Parts of the summary of groups: pooled variances, and features with independent errors."""

import numpy as np
import pandas as pd

from skbench._checks import check_named, plain
from skbench._warnings import warn
from skbench.ppi._data import row_moments
from skbench.stats import ppi
from skbench.stats.intervals.moderated import moderated_variance
from skbench.stats.intervals.moments import Moments, divided, group_moments
from skbench.summaries.features import joined_features

# Weight of the pooled residual variance, in degrees of freedom. The variance of 10 labels is
# correlated with the error of the estimate, so groups with equal labels by chance would not be
# shrunk. From 10 to 60 errors change by 4% and coverage by 0.01 (benchmarks/grouped_ppi.py).
_BORROWED_FREEDOM = 20
_CHANCE = 4.0  # F value of a useful judge; one useless judge in 20 exceeds it
_DF_SLACK = 1e-9  # for rounding, because degrees of freedom of equal clusters are whole numbers


def without_useless_autorater(data):
    """Remove the judges from the table if they explain no more than chance within groups.

    Otherwise a tiny weight would turn proportions of correct answers into other numbers, for
    which shrinkage works less well.
    """
    labeled, unlabeled = row_moments(data)
    products = labeled.products.sum(axis=0)
    n_autoraters = data.autorater.shape[1]
    cross, total = products[:-1, -1], products[-1, -1]
    explained = cross @ np.linalg.pinv(products[:-1, :-1], hermitian=True) @ cross
    freedom = data.labeled.sum() - len(np.unique(data.codes[data.labeled])) - n_autoraters
    chance = _CHANCE * n_autoraters * (total - explained) / max(freedom, 1)
    if explained > chance:
        return data
    labels = Moments(labeled.n, labeled.mean[:, -1:], labeled.products[:, -1:, -1:])
    nothing = Moments(unlabeled.n, unlabeled.mean[:, :0], unlabeled.products[:, :0, :0])
    return data._replace(autorater=data.autorater[:, :0], moments=(labels, nothing))


def outcome(data):
    """Kind of the direct estimates; they are proportions only without a judge."""
    if data.cluster is not None:
        return "clustered"
    plain = data.weights is None and not data.autorater.shape[1]
    is_share = plain and np.isin(data.y[data.labeled], (0, 1)).all()
    return "binomial" if is_share else "continuous"


def pooled_variances(result, data, borrowed=None):
    """Sampling variances of all groups, with residual variances shrunk toward their mean.

    `borrowed` is the weight of the mean in degrees of freedom; None uses the default. With inf
    groups differ only in their numbers of rows.
    """
    borrowed = _BORROWED_FREEDOM if borrowed is None else borrowed
    n = np.maximum(result.n_labeled, 1)
    is_independent = data.cluster is None and data.weights is None
    fixed = result.unlabeled_variance if is_independent else np.zeros(len(n))
    spread = n * (result.standard_error**2 - fixed)
    freedom = np.where(np.isnan(spread), 0.0, np.minimum(result.df, n - 1))
    freedom = np.where(result.n_labeled > 0, freedom, 0.0)
    if freedom.sum() == 0:
        raise ValueError(
            "No group has two human labels, so the sampling variance is unknown. Label at least "
            "two rows of some groups, or merge groups."
        )
    spread = np.where(freedom > 0, spread, 0.0)
    shape = _residual_shape(result, data)
    pooled = shape * (freedom @ spread) / max(freedom @ shape, np.finfo(float).tiny)
    return moderated_variance(spread / n, n, pooled, borrowed, freedom) + fixed


def _residual_shape(result, data):
    """Residual variance of each group up to a factor, if groups differ only in the weight."""
    if not data.autorater.shape[1] or np.isnan(result.lambda_).any():
        return np.ones(data.n_groups)
    products = row_moments(data)[0].products.sum(axis=0)
    contrast = np.column_stack([-result.lambda_, np.ones(data.n_groups)])
    return np.einsum("gi,ij,gj->g", contrast, products, contrast)


def independent_observations(result):
    """Number of independent observations behind each standard error."""
    df = np.where(np.isnan(result.df), 0.0, np.minimum(result.df, result.n_labeled - 1))
    return np.floor(df + _DF_SLACK).astype(int) + 1


def autorater_columns(data, names, numeric):
    """Columns of scores, or indicators of each verdict but the first, by name."""
    names = names or ["autorater"]
    if len(names) != data.autorater.shape[1]:
        names = [f"autorater {j}" for j in range(data.autorater.shape[1])]
    columns = zip(names, data.autorater.T, strict=True)
    if numeric:
        return {f"{name} mean": column.astype(float, copy=False) for name, column in columns}
    return {
        f"{name} = {value}": (column == value).astype(float)
        for name, column in columns
        for value in sorted(pd.unique(column), key=str)[1:]
    }


def autorater_features(data, columns, direct, population):
    """Mean of each column over all rows of the group, with errors independent of the estimate."""
    if not columns:
        return pd.DataFrame(index=data.labels)
    labeled, means = _column_means(data, columns)
    if population != "rows":
        noise = _label_noise(data, direct)
        known = divided(noise, _average_variances(direct, data))
        regression = ppi.within_regression(labeled)
        means = ppi.independent_feature(means, direct.value, *regression, noise, known)
    return pd.DataFrame(means, columns=list(columns), index=data.labels)


def _column_means(data, columns):
    """Moments of columns and label in labeled rows, and means of columns over all rows."""
    if data.moments is not None:
        labeled, unlabeled = data.moments
        n, N = labeled.n[:, None], unlabeled.n[:, None]
        sums = np.nan_to_num(labeled.mean[:, :-1]) * n + np.nan_to_num(unlabeled.mean) * N
        return labeled, sums / (n + N)
    rows = np.column_stack([*columns.values(), data.y])[data.labeled]
    size = np.bincount(data.codes, minlength=data.n_groups)
    sums = [np.bincount(data.codes, column, data.n_groups) for column in columns.values()]
    return group_moments(rows, data.codes[data.labeled], data.n_groups), np.transpose(sums / size)


def _label_noise(data, direct):
    """Variance of the mean if all rows had labels and groups differed only in numbers of rows."""
    labels = ppi.labeled_mean(*data.human)
    classical = direct._replace(
        standard_error=np.sqrt(labels.variance),
        df=labels.df,
        unlabeled_variance=np.zeros(data.n_groups),
        lambda_=np.full_like(direct.lambda_, np.nan),
    )
    labeled, every = _units(data)
    return pooled_variances(classical, data, np.inf) * np.maximum(labeled, 1) / every


def _average_variances(direct, data):
    """Variances of the estimates if groups differed only in numbers of rows.

    Features based on each group's own variance would depend on its sampling error.
    """
    variance = pooled_variances(direct, data, np.inf)
    if data.cluster is not None or data.weights is not None:
        return variance
    n, N = direct.n_labeled, direct.n_unlabeled
    shape = N / np.maximum(n + N, 1) ** 2
    fixed = direct.unlabeled_variance
    return variance - fixed + shape * (fixed.sum() / max(shape.sum(), np.finfo(float).tiny))


def _units(data):
    """Numbers of independent observations, labeled and total."""
    codes, n_groups = data.codes, data.n_groups
    size = np.bincount(codes, minlength=n_groups)
    if data.cluster is not None:
        group = np.zeros(int(data.cluster.max()) + 1, dtype=int)
        group[data.cluster] = codes
        with_label = group[np.unique(data.cluster[data.labeled])]
        counts = (np.bincount(g, minlength=n_groups) for g in (with_label, group))
        return tuple(counts)
    if data.weights is None:
        return np.bincount(codes[data.labeled], minlength=n_groups), size
    weights = np.where(data.labeled, data.weights, 0.0)
    total, squares = (np.bincount(codes, w, n_groups) for w in (weights, weights**2))
    return np.nan_to_num(divided(total**2, squares)), size


def known_features(features, labels):
    """The features given by the user, one row per group; no columns if there are none."""
    if features is None:
        return pd.DataFrame(index=labels)
    name = labels.name or "group"
    keys = pd.DataFrame({name: labels})
    return joined_features(keys, labels, [name], [], features, {}).drop(columns=name)


def warn_of_groups(labels, n_labeled, borrows):
    """Warn about groups without labels, and about groups with the variance of other groups."""
    absent = labels[n_labeled == 0]
    if len(absent):
        warn(
            f"{len(absent)} of {len(labels)} groups have no human label (the first is "
            f"{plain(absent[0])!r}), so they have no estimate and are not in summary_. Predict "
            "them from features_."
        )
    if borrows.any():
        warn(
            f"{int(borrows.sum())} of {len(labels)} groups have too few human labels or only equal "
            f"labels (the first is {plain(labels[int(np.argmax(borrows))])!r}). Their standard "
            "errors come from the other groups."
        )


def warn_of_full_trust(estimator):
    """Warn if the judge has weight 1 whatever the labels show."""
    if estimator.get_params().get("power_tuning") is False:
        warn(
            "With power_tuning=False the judge has weight 1 in every group, which can be worse "
            "than the labels alone. Do not shrink summary_. Set power_tuning=True."
        )


def group_positions(labels, by, n_rows):
    """Position of each row's group in `labels`; without `by` there is one group."""
    if by is None and len(labels) == 1:
        return np.zeros(n_rows, dtype=int)
    if by is None:
        raise ValueError(
            f"by=None, but fit had {len(labels)} groups. Pass the group of each row. Searches of "
            "scikit-learn pass it only with set_config(enable_metadata_routing=True)."
        )
    by = pd.Index(check_named("by", by))
    positions = labels.get_indexer(by)
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        raise ValueError(
            f"Row {row} belongs to group {plain(by[row])!r}, but fit had no rows of this group. "
            "Add the group to fit or drop its rows."
        )
    return positions
