"""Scores of models on shared items, and sampling errors of all their differences."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from skbench.stats.intervals.moments import divided, satterthwaite_df

_MOST_TERMS = 100  # of the series of the CR2 root, exact to 1e-6 for leverages up to 0.9
_BATCH_PAIRS = 50  # few enough for the cache
_CANCELS = 1e-9  # share of the variance below which a difference is computed directly


class SharedItems(NamedTuple):
    """Scores of models on shared items, with the parts of their sampling errors.

    Attributes
    ----------
    mean : ndarray of shape (n_models,)
        Score of each model on all items of its component; nan without answers.
    variance, df : ndarray of shape (n_models,)
        Sampling variance of each score and its degrees of freedom; nan if all answers are in one
        cluster.
    influence : ndarray of shape (n_clusters, n_models)
        CR2-scaled contribution of each cluster to the error of each score. The covariance of the
        scores is ``influence.T @ influence``.
    component : ndarray of int of shape (n_models,)
        Component of each model. Models of one component share items directly or through others.
    n_clusters : ndarray of int of shape (n_models, n_models)
        Number of clusters with items that both models answered.
    used : ndarray of bool of shape (n_items,)
        Whether an item counts. It counts if two models answered it, or one model that shares no
        item.
    n_items : ndarray of int of shape (n_models,)
        Number of items that count in the model's component, answered or not.
    inverse : ndarray of shape (n_models, n_models) or None
        Pseudo-inverse of the information on the model effects; None without missing answers.
    """

    mean: np.ndarray
    variance: np.ndarray
    df: np.ndarray
    influence: np.ndarray
    component: np.ndarray
    n_clusters: np.ndarray
    used: np.ndarray
    n_items: np.ndarray
    inverse: np.ndarray | None = None


class PairErrors(NamedTuple):
    """Differences of pairs of models.

    Attributes
    ----------
    difference, variance, df : ndarray of shape (n_models, n_models)
        Score of the row's model minus that of the column's model, with its sampling variance and
        degrees of freedom.
    """

    difference: np.ndarray
    variance: np.ndarray
    df: np.ndarray


def shared_item_scores(scores, clusters):
    """Scores of models by least squares on shared items.

    Parameters
    ----------
    scores : array-like of shape (n_items, n_models)
        Scores; nan if missing.
    clusters : array-like of int of shape (n_items,)
        Cluster of each item, 0 to ``n_clusters - 1``. Use ``np.arange(n_items)`` for independent
        items.

    Returns
    -------
    SharedItems

    Notes
    -----
    The model is ``score = model + item``, fitted by least squares. W is the table of answers, k_i
    the number of models that answered item i, and
    ``L_c = sum over its items of diag(w_i) - w_i w_i' / k_i`` for a cluster. The model effects are
    ``L^+ sum_i w_i (y_i - mean_i)`` with ``L = sum L_c``. The contribution of a cluster to the
    sandwich variance is ``L^+ (I - L_c L^+)^(-1/2) s_c`` with its residual scores `s_c`. This is
    CR2 of Bell and McCaffrey with item effects within clusters, and its root is summed as a series.
    A score refers to all items of the component and may leave [0, 1] if many answers are missing.
    Without missing answers the result is CR2 of the means and of their differences
    (test_complete_tables_are_means_and_cr2).

    When not to use it: if answers are missing because of their score.

    Examples
    --------
    >>> nan = np.nan
    >>> table = [[1, 1, nan], [0, 0, nan], [1, 0, 0], [1, 1, 0], [0, nan, 0], [1, 1, 1]]
    >>> shared_item_scores(table, np.arange(6)).mean.round(3)
    array([0.667, 0.513, 0.205])
    """
    scores = np.asarray(scores, dtype=float)
    clusters = np.asarray(clusters)
    answered = np.isfinite(scores)
    if answered.all():
        return _complete(scores, clusters)
    return _with_gaps(np.where(answered, scores, 0.0), answered, clusters)


def pair_errors(scores, clusters, fit):
    """Differences of all pairs of models, with variances and degrees of freedom.

    Parameters
    ----------
    scores, clusters, fit
        Arguments and result of `shared_item_scores`.

    Returns
    -------
    PairErrors
        Differences. The variance is nan if fewer than two clusters link the models.

    Notes
    -----
    The variance is ``sum_c (f_ca - f_cb)^2`` of the influences. The degrees of freedom are those of
    Bell and McCaffrey for a mean whose clusters have the shares ``p_c = b' L_c b / b' L b`` of the
    information, with ``b = L^+ (e_a - e_b)``. They are exact without missing answers. Models of
    different components have Welch's degrees of freedom.

    Examples
    --------
    >>> table = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> errors = pair_errors(table, np.arange(4), shared_item_scores(table, np.arange(4)))
    >>> print(errors.variance[0, 1].round(9), errors.df[0, 1].round(9))
    0.0625 3.0
    """
    answered = np.isfinite(np.asarray(scores, dtype=float))
    f = fit.influence
    difference = fit.mean[:, None] - fit.mean
    variance = _from_products(f)
    if answered.all():
        df = np.full(difference.shape, fit.df[0])
    else:
        df = _own_df(fit.inverse, answered & fit.used[:, None], np.asarray(clusters))
    apart = fit.component[:, None] != fit.component
    if apart.any():
        both = np.stack(np.broadcast_arrays(fit.variance[:, None], fit.variance), axis=-1)
        own = np.stack(np.broadcast_arrays(fit.df[:, None], fit.df), axis=-1)
        df = np.where(apart, satterthwaite_df(both, own), df)
        variance = np.where(apart & np.isnan(both.sum(axis=-1)), np.nan, variance)
    # Two clusters must link the models, because one cluster gives no estimate of the error.
    linked = fit.n_clusters > 1
    if not linked.all():
        _, link = connected_components(linked, directed=False)
        unknown = ~apart & (link[:, None] != link)
        np.fill_diagonal(unknown, False)
        variance, df = (np.where(unknown, np.nan, x) for x in (variance, df))
    np.fill_diagonal(variance, 0.0)
    return PairErrors(difference, variance, df)


def pair_skewness(fit, variance):
    """Skewness of the sampling errors of all differences.

    Parameters
    ----------
    fit : SharedItems
        Result of `shared_item_scores`.
    variance : ndarray of shape (n_models, n_models)
        Variances from `pair_errors`.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Skewness of the differences; 0 if the variance is 0.

    Examples
    --------
    >>> fit = shared_item_scores([[1, 0], [0, 0], [0, 0], [0, 0]], np.arange(4))
    >>> pair_skewness(fit, pair_errors(np.zeros((4, 2)), np.arange(4), fit).variance).round(3)
    array([[ 0.   ,  0.577],
           [-0.577,  0.   ]])
    """
    f = fit.influence
    squares = f * f
    mixed, cubes = squares.T @ f, np.einsum("ij,ij->j", squares, f)
    third = cubes[:, None] - cubes - 3 * mixed + 3 * mixed.T
    for a, b in _nearly_equal(variance, squares.sum(axis=0)):
        third[a, b] = np.sum((f[:, a] - f[:, b]) ** 3)
        third[b, a] = -third[a, b]
    return np.nan_to_num(divided(third, variance**1.5))


def contrast_errors(scores, clusters, fit, contrasts):
    """Contrasts of scores, such as a slope over versions, with their sampling errors.

    Parameters
    ----------
    scores, clusters, fit
        Arguments and result of `shared_item_scores`.
    contrasts : array-like of shape (n_contrasts, n_models)
        Weights of the models. Each row sums to 0.

    Returns
    -------
    PairErrors
        The contrasts as `difference`, their variances and degrees of freedom, each of shape
        (n_contrasts,). A variance is nan if fewer than two clusters link the models.
    skewness : ndarray of shape (n_contrasts,)
        Skewness of the sampling errors.

    Notes
    -----
    The contrast ``sum_m c_m theta_m`` has the variance ``sum_c (f_c' c)^2`` of the influences and
    the degrees of freedom of `pair_errors` with ``b = L^+ c``. Without missing answers this is CR2
    of the mean contrast of items (test_contrasts_are_cr2_of_the_contrasts_of_items).

    Examples
    --------
    >>> table = [[1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 1, 1]]
    >>> fit = shared_item_scores(table, np.arange(4))
    >>> errors, skewness = contrast_errors(table, np.arange(4), fit, [[-0.5, 0, 0.5]])
    >>> print(errors.difference, errors.variance.round(4), errors.df.round(9))
    [-0.25] [0.0208] [3.]
    """
    contrasts = np.asarray(contrasts, dtype=float)
    answered = np.isfinite(np.asarray(scores, dtype=float))
    f = fit.influence @ contrasts.T
    variance, third = np.sum(f**2, axis=0), np.sum(f**3, axis=0)
    if answered.all():
        df = np.full(len(contrasts), fit.df[0])
    else:
        w = (answered & fit.used[:, None]).astype(float)
        weights, clusters = contrasts @ fit.inverse, np.asarray(clusters)
        df = _df_of(weights, weights @ w.T, _sums(w, clusters), _share_of_each(w), clusters)
    link = connected_components(fit.n_clusters > 1, directed=False)[1]
    unknown = np.array([len(set(link[c != 0])) > 1 for c in contrasts], dtype=bool)
    variance, df = (np.where(unknown, np.nan, x) for x in (variance, df))
    value = np.where(contrasts != 0, contrasts * fit.mean, 0.0).sum(axis=1)
    return PairErrors(value, variance, df), np.nan_to_num(divided(third, variance**1.5))


def _cluster_df(shares):
    """Degrees of freedom of Bell and McCaffrey from rows of shares of the clusters."""
    rest = 1 - shares
    alone = rest.min(axis=-1, initial=1) < 1e-9
    if alone.any():
        rest[rest <= 1e-9] = 1
    s = np.divide(shares * shares, rest, out=rest)
    squares, squares_of_s = (np.einsum("...c,...c->...", x, x) for x in (shares, s))
    trace = squares - squares_of_s + s.sum(axis=-1) ** 2
    return np.where(alone, np.nan, np.maximum(divided(1.0, trace), 1))


def _complete(scores, clusters):
    """Scores without missing answers: means with CR2 influences."""
    n_items, n_models = scores.shape
    mean = scores.mean(axis=0)
    shares = np.bincount(clusters) / n_items
    known = np.count_nonzero(shares) > 1
    root = n_items * np.sqrt(1 - shares[:, None]) if known else np.nan
    influence = _sums(scores - mean, clusters) / root
    df = _cluster_df(shares)
    return SharedItems(
        mean=mean,
        variance=np.einsum("cm,cm->m", influence, influence),
        df=np.full(n_models, df),
        influence=influence,
        component=np.zeros(n_models, dtype=int),
        n_clusters=np.broadcast_to(np.count_nonzero(shares), (n_models, n_models)),
        used=np.ones(n_items, dtype=bool),
        n_items=np.full(n_models, n_items),
    )


def _with_gaps(y, answered, clusters):
    component, alone = _components(answered)
    used = (answered.sum(axis=1) > 1) | (answered & alone).any(axis=1)
    w = (answered & used[:, None]).astype(float)
    k = np.maximum(w.sum(axis=1), 1)[:, None]
    item_mean = (w * y).sum(axis=1, keepdims=True) / k
    inverse = _inverse(w, k)
    effect = inverse @ (w * (y - item_mean)).sum(axis=0)
    item = item_mean - w @ effect[:, None] / k
    residuals = w * (y - item - effect)
    psi = _scaled(_sums(residuals, clusters), w, k, clusters, inverse) @ inverse
    # Scores refer to all items of the component.
    members = component == np.arange(component.max() + 1)[:, None]
    in_component = (w @ members.T > 0).astype(float)
    size = np.maximum(in_component.sum(axis=0), 1)
    level = (in_component * item).sum(axis=0) / size
    share = _sums(in_component, clusters) / size
    around = _sums(in_component * (item - level), clusters) / size
    around = divided(around, np.sqrt(np.maximum(1 - share, 0)))
    pull = (w / k).sum(axis=0) / size[component]
    drift = psi * pull @ members.T
    answers = _sums(w, clusters)
    own = answers / np.maximum(answers.sum(axis=0), 1)
    df = _cluster_df(own.T)
    influence = psi + (around - drift)[:, component]
    present = answered.any(axis=0)
    return SharedItems(
        mean=np.where(present, effect + level[component], np.nan),
        variance=np.where(np.isnan(df) | ~present, np.nan, np.sum(influence**2, axis=0)),
        df=np.where(present, df, np.nan),
        influence=influence,
        component=component,
        n_clusters=_shared_clusters(answered, clusters),
        used=used,
        n_items=in_component.sum(axis=0).astype(int)[component],
        inverse=inverse,
    )


def _components(answered):
    """Component of each model, and whether the model shares no item."""
    w = answered.astype(float)
    together = w.T @ w > 0
    _, component = connected_components(together, directed=False)
    return component, np.bincount(component)[component] == 1


def _shared_clusters(answered, clusters):
    """Number of clusters in which both models answered the same item."""
    w = answered.astype(float)
    if clusters.max() + 1 == len(clusters):
        return (w.T @ w).astype(int)
    together = [np.count_nonzero(_sums(w * w[:, [a]], clusters), axis=0) for a in range(w.shape[1])]
    return np.array(together)


def _inverse(w, k):
    """Pseudo-inverse of the information on the model effects."""
    information = np.diag(w.sum(axis=0)) - w.T @ (w / k)
    return np.linalg.pinv(information, rcond=1e-10, hermitian=True)


def _scaled(sums, w, k, clusters, inverse):
    """``(I - L_c L^+)^(-1/2) s_c`` of every cluster by a power series."""
    total, term, coefficient = sums.copy(), sums, 1.0
    for power in range(1, _MOST_TERMS + 1):
        spread = w * (term @ inverse)[clusters]
        term = _sums(spread - w * (spread.sum(axis=1, keepdims=True) / k), clusters)
        coefficient *= (2 * power - 1) / (2 * power)
        total += coefficient * term
        if np.abs(term).max(initial=0) <= 1e-10 * np.abs(total).max(initial=0):
            break
    return total


def _from_products(f):
    """Variances of all differences from the products of the influences."""
    products = f.T @ f
    own = np.diag(products)
    variance = np.maximum(own[:, None] + own - 2 * products, 0.0)
    for a, b in _nearly_equal(variance, own):
        variance[a, b] = variance[b, a] = np.sum((f[:, a] - f[:, b]) ** 2)
    return variance


def _nearly_equal(variance, own):
    """Pairs of models so similar that products cancel to rounding errors."""
    return np.argwhere(np.triu(variance < _CANCELS * (own[:, None] + own), k=1))


def _own_df(inverse, answered, clusters):
    """Degrees of freedom of each pair from its shares of the information."""
    w = answered.astype(float)
    of_clusters, seen, rest = _sums(w, clusters), inverse @ w.T, _share_of_each(w)
    df = np.full(inverse.shape, np.nan)
    pairs = np.transpose(np.triu_indices(len(inverse), k=1))
    for start in range(0, len(pairs), _BATCH_PAIRS):
        a, b = pairs[start : start + _BATCH_PAIRS].T
        given = inverse[a] - inverse[b], seen[a] - seen[b], of_clusters, rest, clusters
        df[a, b] = df[b, a] = _df_of(*given)
    return df


def _share_of_each(w):
    return 1 / np.maximum(w.sum(axis=1), 1)


def _df_of(weights, seen, answers, share, clusters):
    """Degrees of freedom of contrasts with rows ``b = L^+ c`` of `weights`."""
    information = weights**2 @ answers.T
    np.multiply(seen, seen, out=seen)
    seen *= share
    information -= _sums(seen.T, clusters).T
    information *= divided(1.0, information.sum(axis=1))[:, None]
    return _cluster_df(np.maximum(information, 0, out=information))


def _sums(values, clusters):
    """Sums of the rows of each cluster."""
    if values.shape[0] == clusters.max(initial=-1) + 1 and np.all(np.diff(clusters) == 1):
        return values
    order = np.argsort(clusters, kind="stable")
    starts = np.searchsorted(clusters[order], np.arange(clusters.max() + 1))
    return np.add.reduceat(values[order], starts, axis=0)
