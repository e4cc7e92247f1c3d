"""Unusual inputs give a correct number or a clear error, never an error of another library.

Errors must come from this package or from scikit-learn's input checks, as the innermost frame
shows. Accepted results must be finite, or nan with a warning.
"""

import collections
import decimal
import fractions
import functools
import re
import tempfile
import traceback
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from walks import one_in

import skbench as sb
from skbench._checks import plain

_HERE = Path(sb.__file__).parent
_OF_NUMPY = "encountered in"
# Phrases from errors of other libraries.
_RAW = (
    """
truth value | not supported between | could not convert | division by zero | Singular matrix
must be real number | invalid literal | NoneType | object is not | unhashable | index out of range
out of bounds | to unpack | not supported for the input | broadcast | zero-size array | cannot reindex
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


def raised_by(error):
    """Return whether the package or scikit-learn's checks raised the error."""
    frame = traceback.extract_tb(error.__traceback__)[-1].filename
    if frame.startswith(str(_HERE)):
        return "skbench"
    return "sklearn" if "sklearn" in frame and "validation" in frame else frame


def outcome(call):
    """Return the value of a call, or its error message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except (ValueError, TypeError, FileNotFoundError) as error:
            words = str(error)
            assert raised_by(error) in ("skbench", "sklearn"), (raised_by(error), words)
            assert len(words) > 20 and not any(raw in words for raw in _RAW), words
            return None
    warned = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    numeric = [w for w in warned if issubclass(w.category, RuntimeWarning)]
    numeric = [w for w in numeric if "site-packages" in w.filename or _OF_NUMPY in str(w.message)]
    assert not numeric, [str(w.message) for w in numeric]
    for numbers in _numbers(value):
        assert not np.isposinf(np.abs(numbers)).any(), "infinite"
        assert warned or not np.isnan(numbers).all(), "all nan without a word"
    return value


def _numbers(value):
    """Return the point estimates in a result as arrays."""
    if isinstance(value, (int, float, np.ndarray)):
        yield np.asarray(value, dtype=float)
    found = getattr(value, "estimate", value)
    if isinstance(found, sb.containers.Estimate):
        yield np.asarray(found.value, dtype=float)


def good_items():
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product(
        [["a", "b", "c"], ["t", "u"], range(12)], names=["model", "topic", "item"]
    ).to_frame(index=False)
    rows["item"] = rows["topic"] + rows["item"].astype(str)
    return rows.assign(score=rng.integers(0, 2, len(rows)).astype(float))


# --- arrays that are passed together --------------------------------------------------------

N = 12
X = pd.DataFrame({"feature": np.linspace(-1, 1, N), "other": np.sin(np.arange(N))})
Z = np.round(np.linspace(0.2, 0.8, N), 1)
SIGMA2 = np.linspace(0.01, 0.03, N)
SIZE = np.full(N, 10)
TOPIC = np.repeat([*"abcdef"], 2)
WEIGHT = np.linspace(1, 2, N)
M = 40
JUDGE = pd.DataFrame({"judge": np.round(np.linspace(0, 1, M))})
LABELS = np.where(np.arange(M) < 20, (np.arange(M) % 3 > 0) * 1.0, np.nan)
BY = np.tile(["a", "b"], M // 2)
HALVES = np.repeat(np.arange(M // 2).astype(str), 2)
TASKS = pd.MultiIndex.from_product([[*"abc"], [*"tuvw"]], names=["model", "task"])
TASKS = TASKS.to_frame(index=False)
SETS = TASKS.rename(columns={"task": "dataset"}).assign(task="x", language="y")
CATEGORY = TASKS.assign(category=TASKS["task"].map(dict(t="p", u="q", v="r", w="r")))
VOTES = pd.DataFrame({"model_a": [*"abcabcabcabc"], "model_b": [*"bcabcabcacab"]})
WON = np.array([1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0.0])


def estimated(estimator, **options):
    return lambda **arrays: clone(estimator).set_params(**options).fit(**arrays).estimate().value


def method(estimator, name, *fitted):
    estimator = estimator.fit(*fitted)
    return lambda **arrays: getattr(estimator, name)(**arrays)


def folds(splitter):
    return lambda **arrays: np.concatenate([test for _, test in splitter.split(**arrays)])


def summary(X, **columns):
    labels = X.index if isinstance(X, pd.DataFrame) else range(N)
    return sb.GroupSummary(labels=labels, X=X, **columns).to_frame()["z"].to_numpy()


def estimate(value, **columns):
    labels = value.index if isinstance(value, pd.Series) else range(N)
    return sb.Estimate(
        value=value, **columns, confidence_level=0.9, labels=labels, method="m"
    ).value


@functools.cache
def unit_level():
    items = good_items()
    bank = sb.ItemBank(n_components=2, random_state=0).fit(items)
    return bank, items[items["model"] == "a"].assign(model="new").iloc[:16, :4]


NEW = ["model", "topic", "item"]
FITTED = {"X": X, "y": Z, "sigma2": SIGMA2, "n": SIZE, "groups": TOPIC}
NEWLY = {"X": X, "z": Z, "sigma2": SIGMA2, "n": SIZE}
SCORED = {"X": X, "y": Z, "sigma2": SIGMA2, "sample_weight": WEIGHT}
JUDGED_BY = {"X": JUDGE, "y": LABELS, "by": BY, "cluster": HALVES}
JUDGED_BY |= {"sample_weight": np.linspace(1, 2, M)}
ROWS = {name: JUDGED_BY[name] for name in ("X", "y", "cluster", "sample_weight")}
PIPE = sb.IntervalPipeline([("scale", "passthrough"), ("fh", sb.FayHerriot())])
FH = sb.FayHerriot().fit(X, Z, SIGMA2)
# Every public function of several columns, with a call and valid arguments.
ALIGNED = {
    "direct": (estimated(sb.DirectEstimator()), FITTED),
    "direct without X": (
        estimated(sb.DirectEstimator()),
        {name: FITTED[name] for name in ("y", "sigma2", "n", "groups")},
    ),
    "JS": (estimated(sb.JamesStein()), FITTED),
    "FH": (estimated(sb.FayHerriot()), FITTED),
    "pipeline": (estimated(PIPE), FITTED),
    "EB": (estimated(sb.EmpiricalBayes(Ridge(), cv=2, random_state=0)), FITTED),
    "synthetic": (estimated(sb.SyntheticRegression(Ridge())), FITTED),
    "structured": (estimated(sb.StructuredRegression([0.1], random_state=0)), FITTED),
    "mixed": (
        estimated(sb.MixedModel()),
        FITTED | {"X": X.assign(model=[*"ab"] * 6, topic=TOPIC)},
    ),
    "FH.predict": (FH.predict, NEWLY),
    "FH.predict_interval": (FH.predict_interval, NEWLY),
    "FH.score": (FH.score, SCORED),
    "pipeline.predict": (method(clone(PIPE), "predict", X, Z, SIGMA2), NEWLY),
    "pipeline.predict_interval": (method(clone(PIPE), "predict_interval", X, Z, SIGMA2), NEWLY),
    "pipeline.score": (method(clone(PIPE), "score", X, Z, SIGMA2), SCORED),
    "unbiased_risk_score": (
        functools.partial(sb.unbiased_risk_score, FH),
        {name: FITTED[name] for name in ("X", "y", "sigma2")},
    ),
    "CrossFitKFold": (
        folds(sb.CrossFitKFold(2, 2, random_state=0)),
        {name: FITTED[name] for name in ("X", "y", "groups")},
    ),
    "classical": (estimated(sb.ClassicalMean()), ROWS),
    "PPI": (estimated(sb.PPIMean()), ROWS),
    "PPI.score": (
        method(sb.PPIMean(), "score", JUDGE, LABELS),
        {name: ROWS[name] for name in ("X", "y", "sample_weight")},
    ),
    "stratified": (estimated(sb.StratifiedPPI()), {"X": JUDGE, "y": LABELS}),
    "chain rule": (estimated(sb.ChainRulePPI()), {"X": JUDGE, "y": LABELS}),
    "Rogan-Gladen": (estimated(sb.RoganGladen()), {"X": JUDGE, "y": LABELS}),
    "grouped": (estimated(sb.GroupedPPI()), JUDGED_BY),
    "grouped.predict": (
        method(sb.GroupedPPI(), "predict", JUDGE, LABELS, BY),
        {"X": JUDGE, "by": BY},
    ),
    "grouped.score": (
        method(sb.GroupedPPI(), "score", JUDGE, LABELS, BY),
        {name: JUDGED_BY[name] for name in ("X", "y", "by", "sample_weight")},
    ),
    "Monte Carlo": (
        estimated(
            sb.MonteCarloPPI({"m": sb.ppi.Mean("y")}, lambda m: m, n_draws=50, random_state=0)
        ),
        {"X": JUDGE, "y": LABELS},
    ),
    "rows_of_arrays": (
        lambda **arrays: np.column_stack(sb.ppi.rows_of_arrays(**arrays, Yhat_unlabeled=Z)),
        {"Y": Z, "Yhat": WEIGHT},
    ),
    "rows_of_arrays, unlabeled": (
        lambda **arrays: np.column_stack(sb.ppi.rows_of_arrays(Z, Z, **arrays)),
        {"Yhat_unlabeled": Z},
    ),
    "LabeledKFold": (
        folds(sb.LabeledKFold(2, random_state=0)),
        {"X": JUDGE, "y": LABELS, "groups": BY},
    ),
    "group_metrics": (
        lambda **arrays: sb.group_metrics(**arrays, metric="auc").z,
        {"y_true": np.arange(M) % 3 % 2, "y_pred": np.linspace(0, 1, M), "by": BY},
    ),
    "TaskBootstrap": (
        estimated(sb.TaskBootstrap(50, random_state=0)),
        {"X": TASKS} | {name: FITTED[name] for name in ("y", "sigma2", "n")},
    ),
    "hierarchical": (
        estimated(sb.HierarchicalBetaBinomial(n_draws=50, random_state=0)),
        {"X": TASKS, "y": Z, "n": SIZE},
    ),
    "simplex": (
        estimated(sb.WeightSimplex(resolution=10)),
        {"X": CATEGORY} | {name: FITTED[name] for name in ("y", "sigma2", "n")},
    ),
    "repeated runs": (estimated(sb.RepeatedRuns("sem")), {"X": TASKS[["model"]], "y": Z}),
    "mean rank score": (
        estimated(sb.MeanRankScore()),
        {"X": SETS, "y": Z, "half_width": WEIGHT, "n_runs": SIZE},
    ),
    "Bradley-Terry": (estimated(sb.BradleyTerry()), {"X": VOTES, "y": WON, "cluster": TOPIC}),
    "Bradley-Terry.score": (
        method(sb.BradleyTerry(), "score", VOTES, WON),
        {"X": VOTES, "y": WON, "sample_weight": WEIGHT},
    ),
    "rank_confidence_sets": (
        lambda **arrays: sb.rank_confidence_sets(**arrays).low,
        {"estimate": Z, "standard_error": SIGMA2, "df": SIZE},
    ),
    "unit level": (
        lambda **arrays: sb.UnitLevelModel(unit_level()[0]).fit(**arrays).estimate().value,
        {
            "X": unit_level()[1][NEW].reset_index(drop=True),
            "y": unit_level()[1]["score"].to_numpy(),
        },
    ),
    "GroupSummary": (summary, {"X": X} | {k: v for k, v in NEWLY.items() if k != "X"}),
    "Estimate": (
        estimate,
        {"value": Z, "low": Z - 0.1, "high": Z + 0.1, "standard_error": SIGMA2},
    ),
}
ARGUMENTS = [(name, other) for name, (_, arrays) in ALIGNED.items() for other in [*arrays][1:]]


def indexed(arrays, rows):
    return {
        name: v.set_axis(rows) if isinstance(v, pd.DataFrame) else pd.Series(v, rows)
        for name, v in arrays.items()
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "other"),
    one_in(3, ARGUMENTS, lambda name, other: name == "structured"),
)
def test_columns_need_the_index_of_x(name, other):
    call, arrays = ALIGNED[name]
    first, n = next(iter(arrays)), len(arrays[other])
    names = pd.Index([f"r{i}" for i in range(n)])
    others = [pd.CategoricalIndex(names), pd.MultiIndex.from_product([["r"], range(n)])]
    for rows in [names, *others] if name in ("FH.score", "PPI") else [names]:
        same = indexed(arrays, rows)
        np.testing.assert_allclose(call(**same), call(**arrays), rtol=1e-9)
        words = (
            re.escape(f"row 0 is {plain(rows[0])!r} in ")
            + r"\w+"
            + re.escape(f" but {plain(rows[-1])!r} in {other}")
        )
        for beside in (same, arrays | {first: same[first]}):  # all of pandas, or only two
            with pytest.raises(ValueError, match=words):
                call(**beside | {other: same[other].iloc[::-1]})
            with pytest.raises(ValueError, match=f"{other} has {n - 1} entries"):
                call(**beside | {other: same[other].iloc[:-1]})
    if name not in ("GroupSummary", "Estimate"):
        with pytest.raises(ValueError, match="row 0 is 'r0' in"):  # a default index is an index
            call(**arrays | indexed({first: arrays[first]}, [f"r{i}" for i in range(n)])
                 | indexed({other: arrays[other]}, range(n)))  # fmt: skip


# --- unusual arrays, one at a time, in all of these ---------------------------------------------


def with_first(values, value):
    values = np.array([*values, None], dtype=object)[:-1]
    values[0] = value
    return values


def objects(values, kind):
    return with_first([v if v != v else kind(v) for v in values], kind(values[0]))


def read_only(values):
    with tempfile.TemporaryFile() as file:
        np.asarray(values, dtype=float).tofile(file)
        file.seek(0)
        return np.memmap(file, dtype=float, mode="r", shape=np.shape(values))


UNUSUAL = {"nan": np.nan, "infinite": np.inf, "text": "high", "None": None, "a list": [1]}
UNUSUAL |= {"a date": pd.Timestamp("2026-01-01"), "complex": 1j}
# Allowed outcomes: the numbers of the plain array, or a clear error.
RIGHT = {
    "list": list,
    "tuple": tuple,
    "objects": lambda v: objects(v, lambda value: value),
    "categories": pd.Categorical,
    "polars": lambda v: pytest.importorskip("polars").Series(v),
    "one column": lambda v: np.asarray(v)[:, None],
    "masked nowhere": lambda v: np.ma.masked_array(v, mask=False),
    "index": pd.Index,
    "frame": lambda v: pd.DataFrame({"a": v}),
}
RIGHT_NUMBERS = RIGHT | {
    "nullable": lambda v: pd.Series(v, dtype="Float64"),
    "arrow": lambda v: pytest.importorskip("pyarrow") and pd.Series(v, dtype="double[pyarrow]"),
    "sparse": lambda v: pd.Series(pd.arrays.SparseArray(np.asarray(v, dtype=float))),
    "decimals": lambda v: objects(v, lambda value: decimal.Decimal(repr(float(value)))),
    "texts of numbers": lambda v: np.array([str(value) for value in v]),
    "read-only": read_only,
    "every second": lambda v: np.repeat(v, 2)[::2],
    "other bytes": lambda v: np.asarray(v, dtype=">f8"),
    "long": lambda v: np.asarray(v, dtype=np.longdouble),
}
RIGHT_NAMES = RIGHT | {
    "its own index": lambda v: pd.DataFrame({"a": v}).set_index("a", drop=False),
    "unused category": lambda v: pd.Categorical(v, categories=[*sorted(set(v)), "zz"]),
    "nullable": lambda v: pd.Series(v, dtype="string"),
    "tuples": lambda v: objects(v, lambda value: (value,)),
    "numbers": lambda v: pd.factorize(v, sort=True)[0],
    "of several types": lambda v: objects(v, lambda value: 1 if value == "a" else value),
}
RIGHT_TABLES = {
    "array": lambda x: x.to_numpy(),
    "lists": lambda x: x.to_numpy().tolist(),
    "objects": lambda x: x.astype(object),
    "nullable": lambda x: x.convert_dtypes(),
    "polars": lambda x: pytest.importorskip("polars").from_pandas(x),
    "arrow": lambda x: pytest.importorskip("pyarrow").Table.from_pandas(x),
    "whole columns": lambda x: x.set_axis(range(x.shape[1]), axis=1),
    "names of two types": lambda x: x.set_axis([0, *x.columns[1:]], axis=1),
    "columns in levels": lambda x: x.set_axis(pd.MultiIndex.from_product([["a"], x]), axis=1),
    "decimals": lambda x: x.map(lambda v: v if isinstance(v, str) else decimal.Decimal(repr(v))),
    "rows twice": lambda x: x.set_axis(["r"] * len(x)),
    "rows in levels": lambda x: x.set_axis(pd.MultiIndex.from_product([["a"], range(len(x))])),
    "rows without names": lambda x: x.set_axis([np.nan, *range(1, len(x))]),
}
RIGHT_FEATURES = RIGHT_TABLES | {
    "read-only": lambda x: read_only(x.to_numpy()),
    "by columns": lambda x: np.asfortranarray(x.to_numpy()),
    "sparse": lambda x: scipy.sparse.csr_matrix(x.to_numpy()),
    "sparse frame": lambda x: x.astype(pd.SparseDtype(float)),
}
# These must raise an error.
REFUSED = {
    "deep": lambda v: np.asarray(v)[:, None, None],
    "empty": lambda v: v[:0],
    "masked": lambda v: np.ma.masked_array(v, mask=np.arange(np.size(v)).reshape(np.shape(v)) == 0),
    "a word": lambda v: "x" * len(v),
    "dict": lambda v: dict(enumerate(np.asarray(v))),
    "set": lambda v: {*map(str, np.asarray(v))},
    "true": lambda v: True,
    "NaT": lambda v: pd.NaT,
    "generator": lambda v: (value for value in np.asarray(v)),
    "records": lambda v: np.array([(1.0,)] * len(v), dtype=[("a", float)]),
    "column twice": lambda v: pd.DataFrame(np.column_stack([v, v])[:, :2], columns=["a", "a"]),
}
BEYOND = [10**400] if pd.__version__ >= "3" else []  # which pandas 2 cannot hold
CELLS = ([1], {}, {1}, len, np.arange(2))
REFUSED_NAMES = (
    REFUSED
    | {"a number": lambda v: 1}
    | {
        f"cell {cell!r}": lambda v, cell=cell: with_first(v, cell)
        for cell in (*CELLS[:3], CELLS[4], None, np.nan, pd.NA, pd.NaT)
    }
)
REFUSED_LABELS = REFUSED | {
    f"cell {cell!r}": lambda v, cell=cell: with_first(v, cell)
    for cell in (*CELLS, "high", b"1", 1j, *BEYOND, np.timedelta64(1, "s"), *UNUSUAL.values())
    if not (cell is None or cell is np.nan)
}
REFUSED_LABELS |= {
    "complex": lambda v: np.asarray(v) + 0j,
    "dates": lambda v: np.full(len(v), np.datetime64("2026-01-01")),
    "durations": lambda v: np.arange(len(v)).astype("m8[s]"),
    "periods": lambda v: pd.Series(pd.period_range("2026", periods=len(v), freq="D")),
    "intervals": lambda v: pd.Series(pd.interval_range(0, len(v))),
    "beyond 1e75": lambda v: with_first(v, 1e76).astype(float),
}
REFUSED_NUMBERS = REFUSED_LABELS | {
    f"missing {cell!r}": lambda v, cell=cell: with_first(v, cell)
    for cell in (None, np.nan, pd.NA, pd.NaT)
}
REFUSED_TABLES = REFUSED | {
    "a number": lambda x: 3.0,
    "no axis": lambda x: np.array(1.0),
    "durations": lambda x: np.ones(x.shape).astype("m8[s]"),
}
# Other arrays: the result is finite, or there is a warning or a clear error.
FINITE = {
    "tiny": lambda v: np.full(len(v), 1e-300),
    "least": lambda v: np.full(len(v), 5e-324),
    "1e75": lambda v: np.full(len(v), 1e75),
    "zeros": lambda v: np.zeros(len(v)),
    "flags": lambda v: np.nan_to_num(np.asarray(v, dtype=float)) > 0.5,
}
FINITE_TABLES = {
    f"a column of {cell!r}": lambda x, cell=cell: x.assign(
        d=pd.Series([cell] * len(x), x.index, dtype=object)
    )
    for cell in (*CELLS, np.inf, np.nan, pd.NA, 1e76, 1e300, *BEYOND, 1j, b"1", *UNUSUAL.values())
} | {
    "of kinds": lambda x: x.assign(d=with_first(np.ones(len(x)), "a")),
    "periods": lambda x: x.assign(d=pd.Period("2026")),
    "intervals": lambda x: x.assign(d=pd.interval_range(0, len(x))),
    "None": lambda x: None,
    "no columns": lambda x: x[[]],
    "missing": lambda x: x.convert_dtypes().mask(np.eye(*x.shape) > 0),
    "a copy": lambda x: x.assign(d=x.iloc[:, 0]),
    "texts": lambda x: x.assign(d=[*"ab"] * (len(x) // 2)),
}
OF_ROLE = {
    "names": (RIGHT_NAMES, REFUSED_NAMES, {}),
    "labels": (RIGHT_NUMBERS, REFUSED_LABELS, FINITE),
    "numbers": (RIGHT_NUMBERS, REFUSED_NUMBERS, FINITE),
    "features": (RIGHT_FEATURES, REFUSED_TABLES, FINITE_TABLES),
    "rows": (RIGHT_TABLES, REFUSED_TABLES, FINITE_TABLES),
}
OF_ROLE |= {"anything": (RIGHT, REFUSED, {}), "content": (RIGHT_TABLES, REFUSED_TABLES, {})}
OF_ROLE["frame"] = ({}, REFUSED, {})
ROLES = dict.fromkeys(["by", "groups", "cluster"], "names")
ROLES |= {(name, "y"): "labels" for name in ("classical", "PPI", "PPI.score", "stratified")}
ROLES |= {(name, "y"): "labels" for name in ("chain rule", "grouped", "grouped.score")}
ROLES |= {("rank_confidence_sets", "df"): "anything"}
# Arguments that accept any type: class labels, lists of runs, objects of users.
ROLES |= {(name, "y"): "anything" for name in ("CrossFitKFold", "LabeledKFold", "Monte Carlo")}
ROLES |= {(name, "y"): "anything" for name in ("repeated runs", "mean rank score")}
ROLES |= {("group_metrics", "y_true"): "anything", ("mean rank score", "half_width"): "anything"}
ROLES |= {(name, "X"): "content" for name in ("CrossFitKFold", "LabeledKFold")}
ROLES["Rogan-Gladen", "y"] = "anything"
ROLES |= {(name, other): "anything" for name, other in ARGUMENTS if name == "GroupSummary"}
ROLES |= {("Estimate", other): "anything" for other in ALIGNED["Estimate"][1]}
ROLES["GroupSummary", "X"] = "frame"
OF_ROWS = ("TaskBootstrap", "hierarchical", "simplex", "repeated runs", "mean rank score", "mixed")
ROLES |= {(name, "X"): "rows" for name in (*OF_ROWS, "Bradley-Terry", "unit level")}
ROLES |= {("Bradley-Terry.score", "X"): "rows", ("Bradley-Terry", "y"): "anything"}
ROLES |= {("Bradley-Terry.score", "y"): "anything"}


def role_of(name, argument):
    default = "features" if argument == "X" else "numbers"
    return ROLES.get((name, argument), ROLES.get(argument, default))


def verdict(call, arrays, right, is_refused):
    """Whether a call is "clear" in its refusal, "right", "raw", or "accepted" wrongly."""
    try:
        value = outcome(lambda: call(**arrays))
    except Exception as error:
        return "accepted" if re.search("infinite|without a word", str(error)) else "raw"
    if value is None:
        return "clear"
    known = right is None or np.shape(value) == np.shape(right)
    if is_refused or not (known and (right is None or np.allclose(value, right, equal_nan=True))):
        return "accepted"
    return "right"


# These read arrays in different ways; the others run with the slow tests.
QUICK = ("direct without X", "FH", "FH.predict", "FH.score", "CrossFitKFold", "LabeledKFold", "PPI")
QUICK += (
    "PPI.score",
    "chain rule",
    "Rogan-Gladen",
    "grouped.predict",
    "group_metrics",
)
QUICK += (
    "repeated runs",
    "Bradley-Terry.score",
    "rank_confidence_sets",
    "rows_of_arrays",
    "rows_of_arrays, unlabeled",
    "GroupSummary",
    "Estimate",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(1, ALIGNED, lambda name: name not in QUICK))
def test_unusual_arrays(name, walked):
    call, arrays = ALIGNED[name]
    right, counts, wrong = call(**arrays), collections.Counter(), []
    for argument, good in arrays.items():
        for at, kinds in enumerate(OF_ROLE[role_of(name, argument)]):
            for kind, unusual in kinds.items():
                given = arrays | {argument: unusual(good)}
                found = verdict(call, given, right if at == 0 else None, at == 1)
                counts[found] += 1
                if found in ("raw", "accepted"):
                    wrong.append((found, argument, kind))
    walked("arrays", **counts)
    assert not wrong, wrong


# --- unusual sets of groups ----------------------------------------------------------------

GROUPS = {
    "no rows": lambda: (X.iloc[:0], Z[:0], SIGMA2[:0], SIZE[:0]),
    "one row": lambda: (X.iloc[:1], Z[:1], SIGMA2[:1], SIZE[:1]),
    "three rows": lambda: (X.iloc[:3], Z[:3], SIGMA2[:1].repeat(3)),
    "short z": lambda: (X, Z[:-1], SIGMA2, SIZE),
    "z of two columns": lambda: (X, np.column_stack([Z, Z]), SIGMA2, SIZE),
    "z complex": lambda: (X, Z + 1j, SIGMA2, SIZE),
    "z huge": lambda: (X, Z * 1e308, SIGMA2, SIZE),
    "z constant": lambda: (X, np.full(N, 0.5), SIGMA2, SIZE),
    "sigma2 negative": lambda: (X, Z, -SIGMA2, SIZE),
    "sigma2 zero": lambda: (X, Z, np.zeros(N), SIZE),
    "sigma2 huge": lambda: (X, Z, np.full(N, 1e308), SIZE),
    "n zero": lambda: (X, Z, SIGMA2, np.zeros(N)),
    "n half": lambda: (X, Z, SIGMA2, SIZE + 0.5),
    "n beyond whole numbers": lambda: (X, Z, SIGMA2, np.full(N, 10**18)),
    "groups alike": lambda: (X, Z, SIGMA2, SIZE, ["a"] * N),
    "groups of two columns": lambda: (X, Z, SIGMA2, SIZE, np.column_stack([TOPIC, TOPIC])),
    "X infinite": lambda: (X.assign(feature=np.inf), Z, SIGMA2, SIZE),
    "X a date": lambda: (X.assign(feature=pd.Timestamp("2026-01-01")), Z, SIGMA2, SIZE),
    "X mixed": lambda: (X.assign(feature=with_first(Z, "a")), Z, SIGMA2, SIZE),
    "X of lists": lambda: (X.assign(feature=[[1]] * N), Z, SIGMA2, SIZE),
    "X without columns": lambda: (X[[]], Z, SIGMA2, SIZE),
    "other index": lambda: (X, pd.Series(Z), SIGMA2, SIZE),
}
ESTIMATORS = {
    "direct": sb.DirectEstimator(),
    "EB": sb.EmpiricalBayes(Ridge(), random_state=0),
    "fplib": sb.EmpiricalBayes(Ridge(), cv=2, prior_variance="fplib", random_state=0),
    "synthetic": sb.SyntheticRegression(Ridge()),
    "JS": sb.JamesStein(),
    "FH": sb.FayHerriot(),
    "structured": sb.StructuredRegression([0.1], random_state=0),
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_arrays(name, kind):
    estimator = clone(ESTIMATORS[name])
    outcome(lambda: estimator.fit(*GROUPS[kind]()).estimate())


# --- item rows, through everything that takes them -----------------------------------------


def spoiled(column, value, rows=1):
    items = good_items()
    values = items[column].astype(object)
    values.iloc[:rows] = [value] * rows
    return items.assign(**{column: values})


ITEMS = {
    "no rows": lambda: good_items().iloc[:0],
    "one row": lambda: good_items().iloc[:1],
    "no column of scores": lambda: good_items().drop(columns="score"),
    "no column of models": lambda: good_items().drop(columns="model"),
    "score huge": lambda: spoiled("score", 1e308, 40).astype({"score": float}),
    "score a list": lambda: spoiled("score", [1]),
    "model a list": lambda: spoiled("model", ["a"]),
    "scores of dates": lambda: good_items().assign(score=pd.Timestamp("2026-01-01")),
    "scores all alike": lambda: good_items().assign(score=1.0),
    "fractions": lambda: spoiled("score", fractions.Fraction(1, 3)),
    "model mixed": lambda: spoiled("model", 7, 24),
    "item twice": lambda: spoiled("item", "t1", 2),
    "item nan": lambda: spoiled("item", np.nan),
    "its own index": lambda: rated().assign(score=rated()["x"]).set_index("model", drop=False),
    "columns twice": lambda: pd.concat([good_items(), good_items()[["score"]]], axis=1),
    "no frame": lambda: [1, 2, 3],
    "a number": lambda: 3.0,
}
for kind, unusual in UNUSUAL.items():
    for column in ("model", "topic", "item", "score"):
        ITEMS[f"{column} {kind}"] = lambda column=column, unusual=unusual: spoiled(column, unusual)
ROW_FUNCTIONS = {
    "summarize_items": lambda rows: sb.summarize_items(rows, by=["model", "topic"]).z,
    "betting_estimate": lambda rows: sb.betting_estimate(rows, by="model", random_state=0),
    "leaderboard": sb.leaderboard,
    "compare_models": lambda rows: sb.compare_models(rows, "a", "b"),
    "gate": lambda rows: sb.gate(rows, "a", "b", 0.1),
    "trend": lambda rows: sb.trend(rows, ["a", "b"]).scores,
    "item_correlation": lambda rows: sb.item_correlation(rows).to_numpy(),
    "item_audit": lambda rows: sb.item_audit(rows).items["difficulty"],
    "ItemBank": lambda rows: sb.ItemBank(n_components=2, random_state=0).fit(rows),
    "pass_at_k": lambda rows: sb.pass_at_k(rows, k=1),
}


@pytest.mark.parametrize(("kind", "name"), one_in(3, product(ITEMS, ROW_FUNCTIONS)))
def test_item_rows(kind, name):
    outcome(lambda: ROW_FUNCTIONS[name](ITEMS[kind]()))


def rated():
    rows = good_items()
    return rows.assign(x=np.arange(len(rows)) % 4 / 3, second=np.arange(len(rows)) % 3 / 2)


LENGTHS = VOTES.assign(x=np.sin(np.arange(12)), second=np.cos(np.arange(12)))
# Functions that take column names, each called with topics or numbers.
TOPICS = {
    "summarize_items": lambda t: sb.summarize_items(rated(), by=t, topic=t).z,
    "betting_estimate": lambda t: sb.betting_estimate(rated(), t, topic=t, random_state=0).value,
    "embed_groups": lambda t: sb.embed_groups(rated(), t, ["x"]),
    "item_correlation": lambda t: sb.item_correlation(rated(), topic=t),
    "item_audit": lambda t: sb.item_audit(rated(), topic=t).items["difficulty"],
    "leaderboard": lambda t: sb.leaderboard(rated(), topic=t, topics=t).estimate.value,
    "tradeoff": lambda t: sb.tradeoff(rated(), cost="x", topic=t, topics=t).cost.value,
    "compare_models": lambda t: sb.compare_models(rated(), topic=t, by=t).estimate.value,
    "trend": lambda t: sb.trend(rated(), ["b", "a"], topic=t, by=t).topics["low"],
    "gate": lambda t: sb.gate(rated(), "a", "b", 0.1, topic=t, by=t).to_frame()["low"],
    "pass_at_k": lambda t: sb.pass_at_k(rated(), k=1, topic=t, by=t).value,
}
NUMBERED = {
    "features": lambda x: sb.summarize_items(rated(), by="topic", features=x).X.select_dtypes(
        "number"
    ),
    "cluster_items": lambda x: sb.cluster_items(rated(), x, n_clusters=[2], random_state=0).sizes,
    "embed_groups": lambda x: sb.embed_groups(rated(), "topic", x),
    "judge_agreement": lambda x: sb.judge_agreement(rated(), "score", x, random_state=0).table,
    "BradleyTerry": lambda x: sb.BradleyTerry(covariates=x).fit(LENGTHS, WON).coef_,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("call", "names"),
    [(f, ["topic"]) for f in TOPICS.values()] + [(f, ["x", "second"]) for f in NUMBERED.values()],
    ids=[*TOPICS, *NUMBERED],
)
def test_column_names_in_any_sequence(call, names):
    right = np.asarray(call(names), dtype=float)
    for kind in (tuple, np.array, pd.Index, lambda v: rated().columns[rated().columns.isin(v)]):
        np.testing.assert_equal(np.asarray(call(kind(names)), dtype=float), right)
    with pytest.raises((ValueError, TypeError), match="must be .*a non-empty string"):
        call("")


@pytest.mark.parametrize("shift", [1e6, 1e12])
def test_large_scores_keep_precision(shift):
    rows = good_items()
    rows["score"] = np.random.default_rng(0).integers(0, 8, len(rows)) / 8 + 16  # exact at 1e12

    def numbers(rows):
        pair, board = sb.compare_models(rows, "a", "b"), sb.leaderboard(rows)
        gate = sb.gate(rows, "a", "b", 0.1)
        ends = pair.estimate.value, pair.estimate.low, pair.p_value, gate.low, gate.power
        return [*ends, board.estimate.standard_error, sb.item_correlation(rows)]

    shifted = numbers(rows.assign(score=rows["score"] + shift))
    for was, now in zip(numbers(rows), shifted, strict=True):
        np.testing.assert_allclose(now, was, rtol=1e-7)


# --- judged rows, through every prediction-powered estimator -------------------------------

SCORES = np.linspace(0, 1, 40)
LABELS = np.where(np.arange(40) < 20, (np.arange(40) % 3 > 0) * 1.0, np.nan)
JUDGED = {
    "no rows": lambda: (SCORES[:0], LABELS[:0]),
    "one row": lambda: (SCORES[:1], LABELS[:1]),
    "no label": lambda: (SCORES, np.full(40, np.nan)),
    "one label": lambda: (SCORES, np.r_[1.0, np.full(39, np.nan)]),
    "short labels": lambda: (SCORES, LABELS[:-1]),
    "score huge": lambda: (SCORES * 1e308, LABELS),
    "label huge": lambda: (SCORES, LABELS * 1e308),
    "labels all alike": lambda: (SCORES, np.where(np.isnan(LABELS), np.nan, 1.0)),
    "scores all alike": lambda: (np.full(40, 0.5), LABELS),
    "labels of dates": lambda: (SCORES, np.full(40, np.datetime64("2026-01-01"))),
}
JUDGES = {
    "classical": sb.ClassicalMean(),
    "ppi": sb.PPIMean(),
    "stratified": sb.StratifiedPPI(),
    "chain rule": sb.ChainRulePPI(),
    "Rogan-Gladen": sb.RoganGladen(),
    "side by side": sb.ChainRulePPI(verdicts="side by side"),
}


@pytest.mark.parametrize("kind", JUDGED)
@pytest.mark.parametrize("name", JUDGES)
def test_judged_rows(name, kind):
    scores, labels = JUDGED[kind]()
    estimator = clone(JUDGES[name])
    outcome(lambda: estimator.fit(scores.reshape(-1, 1), labels).estimate())


# --- single numbers ------------------------------------------------------------------------

DRAWS = sb.Draws(np.full((9, 2, 2), 0.5), (pd.Index([*"ab"]), pd.Index([*"tu"])), "bootstrap")
MEANS = sb.aggregate(DRAWS)
MIXED = X.assign(model=[*"abcd"] * 3)
REFUSALS = {
    "effect beyond 64 bits": lambda: sb.required_items(10**30, omega2=0.1),
    "clusters beyond 64 bits": lambda: sb.required_items(0.1, omega2=0.1, cluster_size=10**30),
    "no penalties": lambda: sb.StructuredRegression(alphas=[]).fit(X, Z, SIGMA2),
    "bounds of nothing": lambda: sb.normalize_scores(DRAWS, None),
    "no bounds": lambda: sb.normalize_scores(DRAWS, ()),
    "three bounds": lambda: sb.normalize_scores(DRAWS, (0, 1, 2)),
    "pairs of numbers": lambda: sb.differences(MEANS, [1, 2]),
    "pair twice": lambda: sb.differences(MEANS, [("a", "b"), ("a", "b")]),
    "corners of no kind": lambda: sb.WeightSimplex(object()).fit(CATEGORY, Z, SIGMA2),
    "order of a word": lambda: sb.kemeny_order(True),
    "order of a dict": lambda: sb.kemeny_order({"a": 1}),
    "order of twins": lambda: sb.kemeny_order(pd.DataFrame({"t": [1, 2]}, ["a", "a"])),
    "sample of nothing": lambda: sb.sample_items(None, 2),
    "sample of a list": lambda: sb.sample_items([1], 2),
    "sample of a column": lambda: sb.sample_items(good_items()["score"], 2),
    "models as items": lambda: sb.pass_at_k(good_items(), k=1, item="model"),
}
REFUSALS |= {
    f"array for the text of {name}": lambda e=e: (
        clone(e).fit(MIXED, Z, SIGMA2).predict(np.ones((N, 3)))
    )
    for name, e in ESTIMATORS.items()
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", REFUSALS)
def test_refusals(kind):
    assert outcome(REFUSALS[kind]) is None


NUMBERS = {
    "scores of 1e70": lambda: sb.EmpiricalBayes(cv=2).fit(X, Z * 1e70, SIGMA2).estimate(),
    "nothing to plan": lambda: sb.required_items(0, omega2=0.2),
    "effect tiny": lambda: sb.required_items(1e-300, omega2=0.2),
    "items negative": lambda: sb.make_items(n_items=-1),
    "ranks of nothing": lambda: sb.rank_confidence_sets([], []),
    "ranks of one": lambda: sb.rank_confidence_sets([1.0], [0.1]).low,
    "ranks of nan": lambda: sb.rank_confidence_sets([1.0, np.nan], [0.1, 0.1]),
    "ranks of text": lambda: sb.rank_confidence_sets([1.0, "a"], [0.1, 0.1]),
    "negative errors": lambda: sb.rank_confidence_sets([1.0, 2.0], [0.1, -0.1]),
    "errors infinite": lambda: sb.rank_confidence_sets([1.0, 2.0], [0.1, np.inf]),
    "covariance of another size": lambda: sb.rank_confidence_sets([1, 2], covariance=np.eye(3)),
    "order of nothing": lambda: sb.kemeny_order(pd.DataFrame()),
    "order of text": lambda: sb.kemeny_order(pd.DataFrame({"t": ["a", "b"]})),
    "k beyond runs": lambda: sb.pass_at_k(good_items(), k=5),
    "sequence nan": lambda: sb.SequentialMean(0.5).update([np.nan]),
    "sequence outside": lambda: sb.SequentialMean(0.5).update([2.0]),
    "sequence text": lambda: sb.SequentialMean(0.5).update(["a"]),
    "by of nothing": lambda: sb.summarize_items(good_items(), by=[]),
    "model without a name": lambda: sb.compare_models(good_items(), "nobody", "a"),
    "model with itself": lambda: sb.compare_models(good_items(), "a", "a"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_single_numbers(kind):
    outcome(NUMBERS[kind])
