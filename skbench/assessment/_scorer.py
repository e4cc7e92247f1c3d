"""`unbiased_risk_score`: a scikit-learn scorer for noisy targets."""

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
    """Score predictions by the precision-weighted squared error, corrected for noise in `y`.

    Pass this function as ``scoring=`` to `sklearn.model_selection.GridSearchCV` or
    `cross_val_score`, with metadata routing enabled and ``params={"sigma2": sigma2}``.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator, judged by ``predict(X)``, the prior mean of new groups.
    X : array-like or DataFrame of shape (n_groups, n_features)
        Features of held-out groups.
    y : array-like of shape (n_groups,)
        Direct estimates.
    sigma2 : float or array-like of shape (n_groups,)
        Sampling variances of `y`.

    Returns
    -------
    float
        Minus the mean of ``(y - predict(X))^2 - sigma2`` with weights ``1 / sigma2``. Greater is
        better; the expected score of perfect predictions is 0.

    Raises
    ------
    ValueError
        If `sigma2` is missing, as in a search without metadata routing, or indexes differ.

    Notes
    -----
    If `sigma2` is known, the weighted mean is unbiased for the weighted mean squared error of the
    predictions. Variances from few binary scores are smallest if `y` happens to be near 0 or 1, so
    the weights prefer such groups; ``variance="pooled"`` in `summarize_items` avoids this. Groups
    with ``sigma2 = 0`` get the largest weight of the other groups.

    All candidates get the same correction, so on the same folds the best candidate is that of the
    weighted squared error. The corrected score has a meaning of its own: it is minus the variance
    of the true performances that the predictions leave unexplained.

    **When not to use it.** It cannot judge the prior variance or the amount of shrinkage, which act
    after the prediction. Use `estimated_risk` for those.

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
            "unbiased_risk_score needs sigma2. Enable metadata routing with "
            "sklearn.set_config(enable_metadata_routing=True) and pass sigma2: "
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


# scikit-learn reads the metadata request of a scorer from this attribute.
unbiased_risk_score.get_metadata_routing = _routing
