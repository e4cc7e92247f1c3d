"""300 hostile inputs: a number that is right, or a sentence; never a traceback of another library.

What is refused must be refused by this package or by scikit-learn's input checks, in words: the
innermost frame says who spoke. What is accepted must be finite, or nan with a warning.
"""

import fractions
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skbench as sb

_HERE = Path(sb.__file__).parent
# Words of other libraries' errors.
_RAW = (
    """
truth value | not supported between | could not convert | division by zero | Singular matrix
must be real number | invalid literal | NoneType | object is not | unhashable | index out of range
out of bounds | broadcast | zero-size array | cannot reindex
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


def spoke(error):
    """Whose frame raised, in words: the package or scikit-learn's checks."""
    frame = traceback.extract_tb(error.__traceback__)[-1].filename
    if frame.startswith(str(_HERE)):
        return "skbench"
    return "sklearn" if "sklearn" in frame and "validation" in frame else frame


def outcome(call):
    """What came of a call: its value, or the sentence of a refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except (ValueError, TypeError, FileNotFoundError) as error:
            words = str(error)
            assert spoke(error) in ("skbench", "sklearn"), (spoke(error), words)
            assert len(words) > 20 and not any(raw in words for raw in _RAW), words
            return None
    told = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    numeric = [w for w in told if issubclass(w.category, RuntimeWarning)]
    numeric = [w for w in numeric if "site-packages" in w.filename or "numpy" in str(w.message)]
    assert not numeric, [str(w.message) for w in numeric]
    for numbers in _numbers(value):
        assert not np.isposinf(np.abs(numbers)).any(), "infinite"
        assert told or not np.isnan(numbers).all(), "all nan without a word"
    return value


def _numbers(value):
    """The point estimates in a result, as arrays."""
    if isinstance(value, (int, float, np.ndarray)):
        yield np.asarray(value, dtype=float)
    found = getattr(value, "estimate", value)
    if isinstance(found, sb.containers.Estimate):
        yield np.asarray(found.value, dtype=float)


# --- arrays, through every estimator of groups ---------------------------------------------

N = 12
X = pd.DataFrame({"feature": np.linspace(-1, 1, N)}, index=[f"g{i}" for i in range(N)])
Z = np.linspace(0.2, 0.8, N)
SIGMA2 = np.full(N, 0.02)
SIZE = np.full(N, 10)


def with_first(values, value):
    values = np.array(values, dtype=object)
    values[0] = value
    return values


GROUPS = {
    "no rows": lambda: (X.iloc[:0], Z[:0], SIGMA2[:0], SIZE[:0]),
    "one row": lambda: (X.iloc[:1], Z[:1], SIGMA2[:1], SIZE[:1]),
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
    "X infinite": lambda: (X.assign(feature=np.inf), Z, SIGMA2, SIZE),
    "X a date": lambda: (X.assign(feature=pd.Timestamp("2026-01-01")), Z, SIGMA2, SIZE),
    "X mixed": lambda: (X.assign(feature=with_first(Z, "a")), Z, SIGMA2, SIZE),
    "X of lists": lambda: (X.assign(feature=[[1]] * N), Z, SIGMA2, SIZE),
    "X without columns": lambda: (X[[]], Z, SIGMA2, SIZE),
    "other index": lambda: (X, pd.Series(Z), SIGMA2, SIZE),
}
ODD = {"nan": np.nan, "infinite": np.inf, "text": "high", "None": None}
ODD |= {"a date": pd.Timestamp("2026-01-01"), "complex": 1j}
for kind, odd in ODD.items():
    GROUPS |= {
        f"z {kind}": lambda odd=odd: (X, with_first(Z, odd), SIGMA2, SIZE),
        f"sigma2 {kind}": lambda odd=odd: (X, Z, with_first(SIGMA2, odd), SIZE),
        f"n {kind}": lambda odd=odd: (X, Z, SIGMA2, with_first(SIZE, odd)),
    }
ESTIMATORS = {
    "direct": sb.DirectEstimator(),
    "EB": sb.EmpiricalBayes(Ridge(), random_state=0),
    "synthetic": sb.SyntheticRegression(Ridge()),
    "JS": sb.JamesStein(),
    "FH": sb.FayHerriot(),
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_arrays(name, kind):
    from sklearn.base import clone

    x, z, sigma2, n = GROUPS[kind]()
    estimator = clone(ESTIMATORS[name])
    outcome(lambda: estimator.fit(x, z, sigma2, n=n).estimate())


# --- item rows, through everything that takes them -----------------------------------------


def good_items():
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product(
        [["a", "b", "c"], ["t", "u"], range(12)], names=["model", "topic", "item"]
    ).to_frame(index=False)
    rows["item"] = rows["topic"] + rows["item"].astype(str)
    return rows.assign(score=rng.integers(0, 2, len(rows)).astype(float))


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
    "columns twice": lambda: pd.concat([good_items(), good_items()[["score"]]], axis=1),
    "no frame": lambda: [1, 2, 3],
    "a number": lambda: 3.0,
}
for kind, odd in ODD.items():
    for column in ("model", "topic", "score"):
        ITEMS[f"{column} {kind}"] = lambda column=column, odd=odd: spoiled(column, odd)
ROW_FUNCTIONS = {
    "summarize_items": lambda rows: sb.summarize_items(rows, by=["model", "topic"]).z,
    "betting_estimate": lambda rows: sb.betting_estimate(rows, by="model", random_state=0),
    "leaderboard": sb.leaderboard,
    "compare_models": lambda rows: sb.compare_models(rows, "a", "b"),
    "gate": lambda rows: sb.gate(rows, "a", "b", 0.1),
    "item_correlation": lambda rows: sb.item_correlation(rows).to_numpy(),
    "ItemBank": lambda rows: sb.ItemBank(n_components=2, random_state=0).fit(rows),
    "pass_at_k": lambda rows: sb.pass_at_k(rows, k=1),
}


@pytest.mark.parametrize("kind", ITEMS)
@pytest.mark.parametrize("name", ROW_FUNCTIONS)
def test_item_rows(name, kind):
    outcome(lambda: ROW_FUNCTIONS[name](ITEMS[kind]()))


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
JUDGED |= {
    f"score {kind}": lambda odd=odd: (with_first(SCORES, odd), LABELS) for kind, odd in ODD.items()
}
JUDGED |= {
    f"label {kind}": lambda odd=odd: (SCORES, with_first(LABELS, odd)) for kind, odd in ODD.items()
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
    from sklearn.base import clone

    scores, labels = JUDGED[kind]()
    estimator = clone(JUDGES[name])
    outcome(lambda: estimator.fit(scores.reshape(-1, 1), labels).estimate())


# --- single numbers ------------------------------------------------------------------------

NUMBERS = {
    "nothing to plan": lambda: sb.required_items(0, omega2=0.2),
    "effect nan": lambda: sb.required_items(np.nan, omega2=0.2),
    "effect text": lambda: sb.required_items("small", omega2=0.2),
    "effect tiny": lambda: sb.required_items(1e-300, omega2=0.2),
    "variance negative": lambda: sb.required_items(0.1, omega2=-1),
    "variance infinite": lambda: sb.required_items(0.1, omega2=np.inf),
    "power 1": lambda: sb.required_items(0.1, omega2=0.2, power=1),
    "level 95": lambda: sb.required_items(0.1, omega2=0.2, confidence_level=95),
    "no items": lambda: sb.minimum_detectable_effect(0, omega2=0.2),
    "items text": lambda: sb.minimum_detectable_effect("many", omega2=0.2),
    "items nan": lambda: sb.minimum_detectable_effect(np.nan, omega2=0.2),
    "no models": lambda: sb.make_items(n_models=0),
    "topics text": lambda: sb.make_items(n_topics="x"),
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
    "margin nan": lambda: sb.gate(good_items(), "a", "b", np.nan),
    "margin text": lambda: sb.gate(good_items(), "a", "b", "small"),
    "k of nothing": lambda: sb.pass_at_k(good_items(), k=0),
    "k beyond runs": lambda: sb.pass_at_k(good_items(), k=5),
    "bounds reversed": lambda: sb.betting_estimate(good_items(), "model", bounds=(1, 0)),
    "bounds nan": lambda: sb.betting_estimate(good_items(), "model", bounds=(0, np.nan)),
    "bounds of one": lambda: sb.betting_estimate(good_items(), "model", bounds=(0,)),
    "sequence nan": lambda: sb.SequentialMean(0.5).update([np.nan]),
    "sequence outside": lambda: sb.SequentialMean(0.5).update([2.0]),
    "sequence text": lambda: sb.SequentialMean(0.5).update(["a"]),
    "by of nothing": lambda: sb.summarize_items(good_items(), by=[]),
    "by a number": lambda: sb.summarize_items(good_items(), by=3),
    "model without a name": lambda: sb.compare_models(good_items(), "nobody", "a"),
    "model with itself": lambda: sb.compare_models(good_items(), "a", "a"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_single_numbers(kind):
    outcome(NUMBERS[kind])
