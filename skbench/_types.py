"""Types of public parameters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

import numpy as np
import pandas as pd
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from skbench._parameters import Ends, Range, checked

__all__ = ["checked"]


@runtime_checkable
class Estimator(Protocol):
    """An object with ``fit``: an estimator of groups or rows, a regressor or a pipeline."""

    def fit(self, X: Any, y: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Fit to the rows of X."""


@runtime_checkable
class FitPredictor(Protocol):
    """An object that estimates the rows to which it is fitted."""

    def fit_predict(self, X: Any, y: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return one number per row of X."""


@runtime_checkable
class Predictor(Protocol):
    """A fitted object that predicts."""

    def predict(self, X: Any, /) -> Any:
        """Return one number per row of X."""


@runtime_checkable
class Transformer(Protocol):
    """An object that converts texts or numbers to numbers."""

    def fit_transform(self, X: Any, /) -> Any:
        """Fit to the rows of X and transform them."""


@runtime_checkable
class Splitter(Protocol):
    """An object that makes folds."""

    def split(self, X: Any, y: Any = ..., groups: Any = ..., /) -> Any:
        """Yield training rows and test rows, fold by fold."""


@runtime_checkable
class Study(Protocol):
    """A completed study."""

    def summary(self, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """Return one row per estimator."""


@runtime_checkable
class DrawSource(Protocol):
    """A fitted estimator that yields posterior draws in batches."""

    def iter_draws(self) -> Iterator[Any]:
        """Yield `Draws`."""


# Numbers with limits that `skbench._parameters` checks.
Level: TypeAlias = Annotated[float, Range(0, 1, "neither", "Write 0.95 for 95%.")]
Share: TypeAlias = Annotated[float, Range(0, 1)]
OpenShare: TypeAlias = Annotated[float, Range(0, 1, "neither")]
Positive: TypeAlias = Annotated[float, Range(0, closed="neither")]
NonNegative: TypeAlias = Annotated[float, Range(0)]
Correlation: TypeAlias = Annotated[float, Range(-1, 1)]
AtLeastOne: TypeAlias = Annotated[float, Range(1)]
Whole: TypeAlias = Annotated[int, Range(0)]
Count: TypeAlias = Annotated[int, Range(1)]
AtLeastTwo: TypeAlias = Annotated[int, Range(2)]
Jobs: TypeAlias = Count | Annotated[int, Range(high=-1)] | None
RandomState: TypeAlias = Whole | np.random.Generator | np.random.RandomState | None
# Rows of items in any dataframe library; feature tables with one row per group or item.
Rows: TypeAlias = IntoFrame
Table: TypeAlias = ArrayLike | IntoFrame
Path: TypeAlias = str | PathLike[str]
# Files and folders of results, or the result of lm_eval.simple_evaluate.
Results: TypeAlias = Path | Mapping[str, Any]
Text: TypeAlias = Annotated[str, "which may be empty"]
Names: TypeAlias = str | Sequence[str]
Label: TypeAlias = str | float  # the name of a model may be a number
Labels: TypeAlias = Sequence[Any] | pd.Index
# One number for all tasks, or one per task; weights may also be equal by category.
PerTask: TypeAlias = float | pd.Series | Mapping[Any, float]
Weights: TypeAlias = Literal["category"] | pd.Series | Mapping[Any, float] | None
Bounds: TypeAlias = Annotated[tuple[float, float], Ends()]
OpenBounds: TypeAlias = Annotated[tuple[float, float], Ends(finite=False)]
# Estimators of the sampling variance of a group.
Variance: TypeAlias = Literal["smoothed", "plug-in", "pooled", "agresti", "model"]
# Number of items of a benchmark, in total or per topic.
Population: TypeAlias = Annotated[int, Range(1, 10**15)] | pd.Series | Mapping[Any, int]
# A column, or a function from the table to one number per row.
Selector: TypeAlias = str | Callable[[pd.DataFrame], ArrayLike]


class ReadOptions(TypedDict, total=False):
    """Roles of columns or fields, as in `skbench.read_items`."""

    model: str | Mapping[str, str] | None
    topic: Names | None
    item: str | None
    score: str | None
    cluster: str | None
    models: Sequence[str] | None
    filter: str | None
    skip_bad_lines: bool
    version: str | None
    n_jobs: int | None


@runtime_checkable
class Distribution(Protocol):
    """A frozen distribution of scipy."""

    def logpdf(self, x: Any, /) -> Any:
        """Return logarithms of the density."""


@runtime_checkable
class Bank(Protocol):
    """A fitted `ItemBank`, as a protocol for modules that must not import it."""

    def sample(self, items: Any, *args: Any, **kwargs: Any) -> Any:
        """Return draws of the scores of all models on all items."""


@runtime_checkable
class RankSets(Protocol):
    """Confidence sets of the ranks of models, as `rank_confidence_sets` returns them."""

    @property
    def labels(self) -> pd.Index: ...

    @property
    def low(self) -> np.ndarray: ...

    @property
    def high(self) -> np.ndarray: ...
