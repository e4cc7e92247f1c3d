"""Laws that every public estimator and function keeps: the same numbers to 1e-9, or the reason."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.subjects import SUBJECTS, Case
from laws.tables import NAMES, SCORES, SQUARES, Size, sizes
from walks import one_in

import skbench

ROUNDING = 1e-9


@dataclass
class Changed:
    """The table as a law changes it, and what then is expected of the numbers of before."""

    table: object
    case: Case = field(default_factory=Case)
    names: dict = field(default_factory=dict)
    expected: Callable = lambda numbers: numbers
    compared: Callable = lambda numbers: numbers


def rows(t, rng):
    return Changed(t.iloc[rng.permutation(len(t))])


def two_files(t, rng):
    cut = rng.integers(1, len(t))
    return Changed(pd.concat([t.iloc[cut:].reset_index(drop=True), t.iloc[:cut]]))


def columns(t, rng):
    return Changed(t[rng.permutation(t.columns)])


def renamed(role):
    def law(t, rng):
        found = [name for name in NAMES[role] if name in t]
        old = sorted(set(t[found].to_numpy().ravel()))
        new = [f"{code:03d} {role} é,'" for code in rng.permutation(1000)[: len(old)]]
        names = dict(zip(old, new, strict=True))
        other = t.assign(**{name: t[name].map(names) for name in found})
        return Changed(other, Case(names=names), dict(zip(new, old, strict=True)))

    return law


def feature_renamed(t, rng):
    return Changed(t.rename(columns={"x": "a feature"}))


def another_column(values):
    return lambda t, rng: Changed(t.assign(extra=values(t)))


def form(change):
    return lambda t, rng: Changed(change(t))


def polars(t):
    return pytest.importorskip("polars").from_pandas(t)


def text(t):
    return [name for name in t if not pd.api.types.is_numeric_dtype(t[name])]


def categories(t):
    """Levels in the reverse order, and one that no row has."""
    levels = {name: sorted(t[name].unique())[::-1] + ["unused"] for name in text(t)}
    return t.astype({name: pd.CategoricalDtype(found) for name, found in levels.items()})


def single(t):
    return t.astype(dict.fromkeys(t.select_dtypes("float"), np.float32))


def booleans(t):
    return t.astype(
        dict.fromkeys(t[[name for name in SCORES if name in t]].select_dtypes("int"), bool)
    )


class Lists(pd.DataFrame):
    """A frame whose single columns are Python lists."""

    @property
    def _constructor(self):
        return pd.DataFrame

    def __getitem__(self, key):
        found = super().__getitem__(key)
        return found.tolist() if isinstance(found, pd.Series) else found


LOCATIONS = ("value", "low", "high", "z", "estimate")
SCALED = ("difference", "difference_low", "difference_high", "standard_error")
SQUARED = ("sigma2", "risk")


def shifted(t, rng):
    a, b = np.round(rng.uniform(-3, 3), 2), np.round(rng.uniform(0.5, 3), 2)
    other = t.assign(**{name: a + b * t[name] for name in SCORES if name in t})
    other = other.assign(**{name: b**2 * t[name] for name in SQUARES if name in t})

    def expected(numbers):
        factor = {name: b for name in LOCATIONS + SCALED} | dict.fromkeys(SQUARED, b**2)
        shift = dict.fromkeys(LOCATIONS, a)
        return numbers.apply(
            lambda c: c if c.name == "verdict" else shift.get(c.name, 0) + factor.get(c.name, 1) * c
        )

    return Changed(other, Case(shift=a, scale=b), expected=expected)


def without(model):
    """The numbers of rows that do not name a model, ranks aside."""
    kept = [*LOCATIONS, *SCALED, "sigma2", "r"]

    def compared(numbers):
        numbers = numbers[[name for name in numbers if name in kept]]
        return numbers[[model not in key for key in numbers.index]]

    return compared


def copied(t, rng):
    model = rng.choice(t["model"].unique())
    copy = t[t["model"] == model].assign(model="a copy")
    return Changed(pd.concat([t, copy], ignore_index=True), compared=without("a copy"))


def alone(t, rng):
    model = rng.choice(t["model"].unique())
    kept = [*LOCATIONS, *SCALED, "sigma2"]

    def expected(numbers):
        mine = [model in key for key in numbers.index]
        return numbers.loc[mine, [name for name in numbers if name in kept]]

    return Changed(t[t["model"] == model], expected=expected, compared=expected)


def again(t, rng):
    return Changed(t)


def two_jobs(t, rng):
    return Changed(t, Case(n_jobs=2))


SHIFT = "shift and scale"
LAWS = {
    "rows": rows,
    "two files": two_files,
    "columns": columns,
    "models renamed": renamed("model"),
    "topics renamed": renamed("topic"),
    "items renamed": renamed("item"),
    "feature renamed": feature_renamed,
    "nullable": form(lambda t: t.convert_dtypes()),
    "pyarrow": form(lambda t: t.convert_dtypes(dtype_backend="pyarrow")),
    "polars": form(polars),
    "categories": form(categories),
    "float32": form(single),
    "booleans": form(booleans),
    "text as objects": form(lambda t: t.astype(dict.fromkeys(text(t), object))),
    "numbers as objects": form(lambda t: t.astype(object)),
    "lists": form(Lists),
    SHIFT: shifted,
    "a copy of a model": copied,
    "one model alone": alone,
    "constant column": another_column(lambda t: 1.0),
    "column twice": another_column(lambda t: t["x" if "x" in t else "a feature"]),
    "same seed": again,
    "two jobs": two_jobs,
}


def canonical(frame, names):
    """Numbers by the names of before."""
    keys = [key if isinstance(key, tuple) else (key,) for key in frame.index]
    index = pd.Index(
        [tuple(names.get(str(name), str(name)) for name in key) for key in keys],
        tupleize_cols=False,
    )
    numbers = {}
    for name in frame:
        if pd.api.types.is_numeric_dtype(frame[name]):
            numbers[str(name)] = frame[name].to_numpy(dtype=float)
        elif name == "verdict":
            numbers[name] = [names.get(value, value) for value in frame[name]]
    return pd.DataFrame(numbers, index).sort_index()


def deviation(found, wanted):
    """The largest difference, relative to numbers above 1."""
    assert list(found.index) == list(wanted.index), "rows differ"
    assert set(found) == set(wanted)
    words = [name for name in wanted if wanted[name].dtype.kind not in "fb"]
    assert found[words].equals(wanted[words])
    x, y = (
        frame[sorted(set(wanted) - set(words))].to_numpy(dtype=float) for frame in (found, wanted)
    )
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    with np.errstate(invalid="ignore"):
        off = np.where(x == y, 0, np.abs(x - y) / np.maximum(1, np.abs(y)))
    return float(np.nanmax(off, initial=0))


@cache
def table_of(make, size):
    return make(size)


@cache
def before(subject, size):
    table = table_of(SUBJECTS[subject].table, size).copy()
    return canonical(SUBJECTS[subject].run(table, Case()), {})


def check(laws, subject, size, code):
    """How far numbers move when laws change a table one after the other; inputs stay as they were."""
    table, rng = table_of(SUBJECTS[subject].table, size).copy(), np.random.default_rng(code)
    case, names, first = Case(), {}, None
    for law in laws:
        changed = LAWS[law](table, rng)
        first = first or changed
        table, names = changed.table, names | changed.names
        given = {"names": dict(zip(names.values(), names, strict=True)) or None}
        given |= {"shift": changed.case.shift, "scale": changed.case.scale} if law == SHIFT else {}
        case = replace(case, **given, n_jobs=changed.case.n_jobs or case.n_jobs)
    kept = table.clone() if "polars" in laws else table.copy(deep=True)
    with warnings.catch_warnings(), joblib.parallel_config("threading"):
        warnings.simplefilter("ignore")
        wanted = first.compared(first.expected(before(subject, size)))
        found = canonical(SUBJECTS[subject].run(table, case), names)
    assert kept.equals(table)
    return deviation(first.compared(found), wanted)


PAIRS = "compare_models*|gate*|trend*|item_correlation|differences|WeightSimplex|kemeny_order"
BANK = "ItemBank|UnitLevelModel|choose_items|items_needed|item_audit*"
RISKS = "compare_estimators|estimated_risk|leave_out_covariates|RepeatedSamplingStudy"
RIDGE = "SyntheticRegression*|EmpiricalBayes*|IntervalPipeline"
BORROW = f"{RIDGE}|StructuredRegression|JamesStein|FayHerriot|MixedModel*"
DRAWN = (
    "TaskBootstrap*|HierarchicalBetaBinomial|ConfusionPosterior|aggregate|normalize_scores|"
    "differences|rank_models|rank_probabilities|extremes"
)
FRAMES = (
    "summarize_items*|betting_estimate|item_correlation|compare_models*|gate*|leaderboard*|trend*|"
    f"tradeoff|pass_at_k*|TaskBootstrap: items|{BANK}|{RISKS}"
)
RENAMED = "models renamed|topics renamed|items renamed"

# What a law says nothing of, beside tables that lack the names or numbers that it changes.
NO_MATTER = [
    ("topics renamed|items renamed", "sample_items|choose_items", "drawn in the order of names"),
    ("topics renamed|items renamed", "CrossFitKFold|LabeledKFold", "split in the order of names"),
    ("one model alone", f"{PAIRS}|BradleyTerry", "one model is no pair"),
    ("one model alone", f"rank_*|MeanRankScore|{RISKS}", "ranks and risks are of all models"),
    (
        "one model alone",
        f"{BORROW}|CrossFitKFold|unbiased_risk_score",
        "one model learns from others",
    ),
    ("a copy of a model", "rank_*|MeanRankScore|WeightSimplex|kemeny_order", "ranks count models"),
    ("one model alone|a copy of a model", BANK, "the bank is of several models"),
    ("a copy of a model", f"CrossFitKFold|unbiased_risk_score|{RISKS}", "judged over all models"),
    (
        "lists",
        f"{FRAMES}|judge_agreement*|group_metrics|position_bias|sample_items|ItemBank",
        "takes a frame alone",
    ),
    ("lists", "cluster_items|embed_groups|ConfusionPosterior", "takes a frame alone"),
]


@dataclass(frozen=True)
class Exempt:
    """Where numbers move, how far at most, and why; or the words in which a table is refused."""

    laws: str
    subjects: str
    limit: float | str
    reason: str
    always: bool = True


EXCEPTIONS = [
    Exempt(
        "topics renamed|items renamed",
        RISKS,
        3,
        "items are split in the order of names: two splits",
    ),
    Exempt(
        "models renamed|topics renamed", "TaskBootstrap: items", 0.5, "drawn in the order of names"
    ),
    Exempt(
        RENAMED, "UnitLevelModel", 0.05, "Monte Carlo, draws in the order of names", always=False
    ),
    Exempt(RENAMED, "items_needed", 0.5, "chosen in the order of names", always=False),
    Exempt("numbers as objects", FRAMES, "type Object|but Object", "refused"),
    Exempt(
        "float32", "LabeledKFold", 9, "rows of nearly equal content change places", always=False
    ),
    Exempt("column twice", RIDGE, 0.5, "a ridge shrinks two copies less than one"),
    Exempt(
        "*column*|*renamed",
        "StructuredRegression",
        1e-3,
        "coordinate descent stops on the way",
        always=False,
    ),
    Exempt("a copy of a model", BORROW, 3, "the others learn from one model more"),
    Exempt("a copy of a model", DRAWN, 0.5, "Monte Carlo, 60 draws; one more to correct for"),
    Exempt("a copy of a model", "item_correlation", 1, "correlations are shrunk together"),
    Exempt(
        "a copy of a model|one model alone",
        "summarize_items: clusters",
        0.1,
        "variances of few clusters are moderated",
    ),
    Exempt("one model alone", DRAWN, 0.5, "Monte Carlo, 60 draws"),
]
ELSEWHERE = {
    "containers: others return them": "Draws Estimate GroupSummary Sampling",
    "numbers alone": "required_items minimum_detectable_effect",
    "they make tables": "make_items make_judged_items load_digits_c",
    "files, not tables": "read_items",
}


def named(patterns, name):
    return any(fnmatch(name, pattern) for pattern in patterns.split("|"))


def matters(law, subject):
    """Whether what the law changes is there."""
    if any(named(laws, law) and named(subjects, subject) for laws, subjects, _ in NO_MATTER):
        return False
    table = table_of(SUBJECTS[subject].table, Size())
    if law.endswith("s renamed"):
        return any(name in table for name in NAMES[law.removesuffix("s renamed")])
    if "column " in law or law in ("constant column", "feature renamed"):
        return "sigma2" in table
    if law in ("a copy of a model", "one model alone"):
        return "model" in table
    if law == "two jobs":
        return takes(subject, "n_jobs")
    return law != SHIFT or SUBJECTS[subject].has_unit


def takes(subject, argument):
    return argument in inspect.signature(getattr(skbench, subject.split(":")[0])).parameters


def exempt(law, subject):
    found = [e for e in EXCEPTIONS if named(e.laws, law) and named(e.subjects, subject)]
    return found[0] if found else None


def limit_of(law, subject):
    exception = exempt(law, subject)
    return exception.limit if exception else 1e-6 if law == "float32" else ROUNDING


SLOW = pytest.mark.slow
CASES = [(law, subject) for law in LAWS for subject in SUBJECTS if matters(law, subject)]
FIRST = ("two jobs", SHIFT, "a copy of a model", "one model alone", "same seed")
LAST = (
    "booleans",
    "nullable",
    "pyarrow",
    "polars",
    "categories",
    "float32",
    "text as objects",
    "lists",
)
LAST += ("numbers as objects",)


@pytest.mark.parametrize(
    "subject",
    one_in(2, SUBJECTS, lambda name: SUBJECTS[name].slow),
)
def test_laws_together(subject):
    """Tables that several laws change, one after the other; hypothesis finds the least that matter."""
    free = [law for law, of in CASES if of == subject and not exempt(law, subject)]
    between = [law for law in free if law not in (*FIRST, *LAST)]
    some = [st.sampled_from([law for law in free if law in group]) for group in (FIRST, LAST)]

    @settings(max_examples=2)
    @given(sizes, st.integers(0, 9999), some[0], st.permutations(between), some[1])
    def are_kept(size, code, first, then, last):
        laws = [first, *then, last]
        assert check(laws, subject, size, code) <= max(limit_of(law, subject) for law in laws)

    are_kept()


@pytest.mark.parametrize(
    ("law", "subject"),
    [
        pytest.param(*case, marks=() if exempt(*case) and not SUBJECTS[case[1]].slow else SLOW)
        for case in CASES
    ],
)
def test_law(law, subject):
    """One law alone, and the size of the exceptions."""
    limit, moved = limit_of(law, subject), []

    @settings(max_examples=2)
    @given(sizes, st.integers(0, 9999))
    def is_kept(size, code):
        if isinstance(limit, str):
            with pytest.raises(ValueError, match=limit):
                check([law], subject, size, code)
        else:
            moved.append(check([law], subject, size, code))
            assert moved[-1] <= limit, exempt(law, subject)

    is_kept()
    # An exception that nothing needs any more goes.
    if moved and exempt(law, subject) and exempt(law, subject).always:
        assert max(moved) > ROUNDING


def test_every_public_name_is_a_subject():
    known = {subject.split(":")[0] for subject in SUBJECTS}
    known |= {name for names in ELSEWHERE.values() for name in names.split()}
    public = {name for name in skbench.__all__ if not inspect.ismodule(getattr(skbench, name))}
    assert {name for name in public if not name.endswith("Display")} == known
    for argument in ("random_state", "n_jobs"):
        assert all(name in known for name in public if takes(name, argument))


def test_one_topic_named_or_not():
    t = SUBJECTS["MixedModel"].table(Size(n_models=6, n_topics=1))
    one, other = (
        skbench.MixedModel().fit(X, t["y"], t["sigma2"], t["n"], sampling=skbench.Sampling())
        for X in (t[["model", "topic"]], t[["model"]])
    )
    np.testing.assert_allclose(other.estimate().value, one.estimate().value, rtol=ROUNDING)
