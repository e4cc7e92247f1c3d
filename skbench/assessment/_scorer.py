"""`unbiased_risk_score`: a scikit-learn scorer that knows how noisy its targets are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from skbench._checks import check_column, check_labels, check_same_index, check_sigma2
from skbench._types import Predictor, Table, checked
from skbench.stats.shrinkage.risk import held_out_loss


@checked
def unbiased_risk_score(
    estimator: Predictor, X: Table, y: ArrayLike, sigma2: ArrayLike | None = None
) -> float:
    """Precision-weighted squared error of predictions, without the noise of `y`.

    A scorer: pass it as ``scoring=`` to `sklearn.model_selection.GridSearchCV` or
    `cross_val_score`, with metadata routing switched on and ``params={"sigma2": sigma2}``.

    Parameters
    ----------
    estimator : estimator
        Fitted; judged by its ``predict(X)``, the prior mean of new groups.
    X : array-like or DataFrame of shape (n_groups, n_features)
        Features of groups that the estimator has not seen.
    y : array-like of shape (n_groups,)
        Direct estimates.
    sigma2 : float or array-like of shape (n_groups,)
        Sampling variances of `y`.

    Returns
    -------
    float
        Minus the weighted mean of ``(y - predict(X))^2 - sigma2``, weights
        ``1 / sigma2``: greater is better, 0 is perfect up to chance.

    Raises
    ------
    ValueError
        If `sigma2` is missing, which is what a search without metadata routing
        leaves it; if indexes differ.

    Notes
    -----
    The weighted mean is unbiased for the weighted mean squared error of the predictions if
    `sigma2` is known. Variances from the same few binary scores are smallest where `y` happens
    to be near 0 or 1, and weights then prefer such groups; ``variance="pooled"`` in
    `summarize_items` avoids it. Groups with ``sigma2 = 0`` weigh as much as the best noisy one.

    The same noise is subtracted for every candidate, so that on the same folds the winner is that
    of the weighted squared error. The score itself can be read: it is minus the variance of the
    true performances that the prediction leaves unexplained.

    When not to use it: for the prior variance or the amount of shrinkage, which act after the
    prediction; `estimated_risk` judges those.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> from skbench import SyntheticRegression, unbiased_risk_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> truth = 0.1 * X[:, 0] + 0.1 * rng.normal(size=200)
    >>> y = truth + 0.05 * rng.normal(size=200)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         SyntheticRegression(Ridge()), X, y, scoring=unbiased_risk_score,
    ...         params={"sigma2": np.full(200, 0.0025)})
    >>> print(f"{-scores.mean():.3f}")
    0.011
    """
    if sigma2 is None:
        raise ValueError(
            "unbiased_risk_score needs sigma2. In a search, switch metadata routing on "
            "(sklearn.set_config(enable_metadata_routing=True)) and pass it: "
            "cross_val_score(..., params={'sigma2': sigma2}), search.fit(X, y, sigma2=sigma2)."
        )
    check_same_index(X=X, y=y, sigma2=sigma2)
    labels = check_labels(X)
    y = check_column("y", y, labels)
    sigma2 = check_sigma2(sigma2, None, labels)
    predicted = np.asarray(estimator.predict(X), dtype=float).ravel()
    noisy = sigma2[sigma2 > 0]
    weights = noisy.min() / np.maximum(sigma2, noisy.min()) if noisy.size else np.ones(len(y))
    return -float(np.average(held_out_loss(predicted, y, sigma2), weights=weights))


def _routing():
    request = MetadataRequest(owner="unbiased_risk_score")
    request.score.add_request(param="sigma2", alias=True)
    return request


# scikit-learn asks any object with this attribute what it wants to be passed.
unbiased_risk_score.get_metadata_routing = _routing
