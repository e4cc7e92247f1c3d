"""A Pipeline that forwards the intervals and estimates of its last step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skbench._checks import check_labels, check_same_index
from skbench._columns import as_pandas
from skbench._documented import Documented
from skbench._population import check_population
from skbench._types import Level, Table, checked
from skbench.containers import Estimate, Sampling
from skbench.groups._assumptions import warn_of_missing_groups


@checked
class IntervalPipeline(Documented, Pipeline):
    """Chain transformers with a last step that estimates groups with intervals.

    `sklearn.pipeline.Pipeline` forwards ``fit_predict`` and ``predict``, but not
    ``predict_interval`` or ``estimate``. `IntervalPipeline` forwards all four. It accepts
    ``sigma2``, ``n``, ``groups`` and ``sampling`` by name. It keeps the labels of the groups even
    if transformers drop them.

    Parameters
    ----------
    steps : list of (name, estimator)
        Transformers, followed by an estimator of groups.
    transform_input : list of str, default=None
        As in `sklearn.pipeline.Pipeline`.
    memory : str or joblib.Memory, default=None
        Cache of fitted transformers.
    verbose : bool, default=False
        Whether to print the time of each step.

    Attributes
    ----------
    labels_ : pandas.Index of length n_groups
        Labels of the fitted groups.

    Raises
    ------
    ValueError
        As in the last step, or if transformers remove a column that the last step needs.

    Notes
    -----
    **When not to use it.** For transformers that learn from `y` (target encoding, feature
    selection). In this pipeline they would be fitted to all groups, including held-out groups.
    Include them in the regressor instead: ``EmpiricalBayes(regressor=make_pipeline(
    TargetEncoder(), Ridge()))``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbench import FayHerriot, IntervalPipeline
    >>> X = np.arange(6.0)[:, None]
    >>> pipe = IntervalPipeline([("scale", StandardScaler()), ("fh", FayHerriot())])
    >>> pipe.fit(X, [0.1, 0.25, 0.3, 0.5, 0.45, 0.7], sigma2=0.001).predict_interval(X).shape
    (6, 2)
    """

    __metadata_request__score = {"sigma2": True}

    def fit(
        self,
        X: Table,
        y: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
        **params: Any,
    ) -> Self:
        """Fit the transformers, then the last step.

        Parameters
        ----------
        X, y, sigma2, n, groups, sampling
            As in ``fit`` of the last step.
        **params
            Further arguments of `sklearn.pipeline.Pipeline.fit`.

        Returns
        -------
        self
        """
        check_same_index(X=X, y=y, sigma2=sigma2, n=n, groups=groups)
        given = _given(sigma2=sigma2, n=n, groups=groups, sampling=sampling)
        try:
            super().fit(X, y, **params, **self._for_last_step(given))
        finally:
            self._refuse_lost_columns(as_pandas(X))
        if groups is None and sampling is None and self[-1]._reads_groups:
            warn_of_missing_groups(as_pandas(X), self._seen_by_last_step())
        self.labels_ = check_labels(as_pandas(X))
        return self

    def fit_predict(
        self,
        X: Table,
        y: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
        **params: Any,
    ) -> np.ndarray:
        """Fit, and return the estimates of the fitted groups, as in the last step."""
        return self.fit(X, y, sigma2, n, groups, sampling, **params).estimate().value

    def predict(
        self,
        X: Table,
        z: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        **params: Any,
    ) -> np.ndarray:
        """Estimate new groups, as in the last step."""
        check_same_index(X=X, z=z, sigma2=sigma2, n=n)
        return super().predict(X, **params, **_given(z=z, sigma2=sigma2, n=n))

    def predict_interval(
        self,
        X: Table,
        z: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        confidence_level: Level = 0.95,
    ) -> np.ndarray:
        """Return intervals for new groups, as in the last step."""
        return self._new_bounds(X, z, sigma2, n, confidence_level).ends

    def estimate(
        self, confidence_level: Level = 0.95, population: ArrayLike | None = None
    ) -> Estimate:
        """Return estimates of the fitted groups, with their original labels."""
        check_is_fitted(self)
        last = self.steps[-1][1]
        if population is not None and last.n_ is not None:
            population = check_population(population, last.n_, self.labels_)
        return replace(last.estimate(confidence_level, population), labels=self.labels_)

    def score(
        self,
        X: Table,
        y: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination, corrected for noise, as in the last step."""
        check_same_index(X=X, y=y, sigma2=sigma2, sample_weight=sample_weight)
        if get_config()["enable_metadata_routing"]:
            return super().score(X, y, sample_weight, **_given(sigma2=sigma2))
        return self.steps[-1][1].score(self._transformed(X), y, sigma2, sample_weight)

    def _refuse_lost_columns(self, X):
        """Raise a ValueError if transformers removed a column that the last step needs."""
        last, seen = self.steps[-1][1], self._seen_by_last_step()
        for role in ("model", "topic"):
            name = getattr(last, role, None)
            named = isinstance(X, pd.DataFrame) and name in X.columns
            if named and name not in seen and hasattr(last, "n_features_in_"):
                raise ValueError(
                    f"{type(last).__name__} needs column {name!r}, but earlier steps remove it, "
                    "encode it, or remove the column names. Transform only the other columns: "
                    'ColumnTransformer(..., remainder="passthrough").set_output('
                    'transform="pandas").'
                )

    def _seen_by_last_step(self):
        """Names of the fitted columns of the last step, with and without prefixes."""
        names = getattr(self.steps[-1][1], "feature_names_in_", [])
        parts = [str(name).split("__") for name in names]
        return {"__".join(words[i:]) for words in parts for i in range(len(words))}

    def _new_bounds(self, X, z, sigma2, n, confidence_level):
        check_same_index(X=X, z=z, sigma2=sigma2, n=n)
        last = self.steps[-1][1]
        return last._new_bounds(self._transformed(X), z, sigma2, n, confidence_level)

    def _transformed(self, X):
        check_is_fitted(self)
        for _, transformer in self.steps[:-1]:
            if transformer not in (None, "passthrough"):
                X = transformer.transform(X)
        return X

    def _for_last_step(self, given):
        if get_config()["enable_metadata_routing"]:
            return given
        return {f"{self.steps[-1][0]}__{name}": value for name, value in given.items()}


def _given(**arguments):
    return {name: value for name, value in arguments.items() if value is not None}
