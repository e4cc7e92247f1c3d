"""Annotations declare the allowed values of all public parameters, and calls check them."""

import datetime
import inspect
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import skbench
from skbench import _types
from skbench._parameters import check, rules_for, rules_of

WRONG = ["x", b"x", object(), [], {}, None, np.nan, np.inf, -np.inf, 10**400, -(10**400), 0, -1]
WRONG += [1, 2.5, 95, 1e300, True, np.array(2), np.float64(-0.5), pd.NA, 1j, int]
WRONG += [(0, np.nan), (1, 0), (0, 1, 2), datetime.date(2026, 1, 1), datetime.timedelta(1)]
# Parameters that accept anything: labels in the data, candidates of several kinds, options.
ANYTHING = {"event", "positive", "pos_label", "candidates", "simplex", "tradeoff", "trend"}
ANYTHING |= {"summary_options", "params", "audit"}


def functions_of(cls):
    """Return the public methods of a class that this package defines."""
    for name in dir(cls):
        member = getattr(cls, name)
        function = inspect.unwrap(getattr(member, "__func__", member))
        own = inspect.isfunction(function) and function.__module__.startswith("skbench.")
        if own and not name.startswith("_"):
            yield name, member, function


def public_calls():
    """Yield name, annotated function, and a call that takes only the tested argument."""
    for name in skbench.__all__:
        public = getattr(skbench, name)
        if inspect.ismodule(public):
            continue
        if not inspect.isclass(public):
            yield name, inspect.unwrap(public), public
            continue
        init = inspect.unwrap(public.__init__)
        if init.__module__.startswith("skbench."):
            yield name, init, constructed(public, init)
        for method, member, function in functions_of(public):
            bound = inspect.ismethod(member)
            yield f"{name}.{method}", function, member if bound else on_nothing(public, member)


def on_nothing(cls, method):
    return lambda **given: method(object.__new__(cls), **given)


def constructed(cls, init):
    """Construct, and run the first step that uses the parameters."""
    required = [
        name
        for name, parameter in inspect.signature(init).parameters.items()
        if parameter.default is parameter.empty and name not in ("self", *rules_of(init))
    ]
    start = next((n for n in ("fit", "split", "run") if hasattr(cls, n)), None)

    def call(**given):
        made = cls(**dict.fromkeys(required), **given)
        return getattr(made, start)() if start else made

    return call


CALLS = list(public_calls())


def outcome(call, name, value):
    """Whether a value raised an error that names the parameter."""
    try:
        call(**{name: value})
    except (ValueError, TypeError) as error:
        return "clear" if str(error).startswith(f"{name} must be ") else f"raw: {error}"
    except Exception as error:
        return f"raw: {error!r}"
    return "accepted"


def test_wrong_values_are_refused(walked):
    counts, bad = Counter(), []
    for what, function, call in CALLS:
        for name, rules in rules_of(function).items():
            for value in WRONG:
                try:
                    check(name, value, rules)
                except (ValueError, TypeError):
                    found = outcome(call, name, value)
                    counts[found.split(":")[0]] += 1
                    bad += [] if found == "clear" else [f"{what}({name}={value!r:.20}): {found}"]
    walked("parameters", **counts)
    assert not bad, "\n".join(bad)
    assert counts["clear"] > 5000


def test_every_parameter_has_rules():
    """Parameters without rules hold arrays or tables, or accept anything."""
    bare = {
        name
        for _, function, _ in CALLS
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "cls", *rules_of(function))
        and parameter.annotation in ("Any", "object", parameter.empty)
    }
    assert bare == ANYTHING


def test_defaults_keep_the_rules():
    for what, function, _ in CALLS:
        for name, rules in rules_of(function).items():
            default = inspect.signature(function).parameters[name].default
            if default is not inspect.Parameter.empty:
                assert any(rule.holds is None or rule.holds(default) for rule in rules), what


ALIASES = {
    "Level": ([0.5, np.float32(0.5)], [0, 1, 95, -0.1, np.nan, "0.5", True, np.longdouble(0.5)]),
    "Share": ([0, 1, 0.5], [-0.1, 1.1, np.inf, False]),
    "OpenShare": ([0.5], [0, 1]),
    "Positive": ([1e-9, 3], [0, -1, np.inf, 1e76]),
    "NonNegative": ([0, np.int8(2)], [-1e-9, np.nan, 10**30, 10**400]),
    "Correlation": ([-1, 0, 1], [-1.1, 1.1]),
    "AtLeastOne": ([1, 1.5], [0.9]),
    "Whole": ([0, np.int64(3)], [-1, 0.0, True]),
    "Count": ([1, np.uint8(3)], [0, 1.0, 2.5, "1", True, 2**63, np.array(1)]),
    "AtLeastTwo": ([2], [1]),
    "Jobs": ([None, -1, 4], [0, 1.5, "x", True]),
    "RandomState": (
        [None, 0, 2**32, np.random.default_rng(0), np.random.RandomState(0)],
        [-1, 2**64, 2.5, "x", object(), np.random],
    ),
    "Bounds": ([(0, 1), [0.5, 2], np.array([0, 1])], [(1, 0), (0, 0), (0, np.inf), (0,), "01", 1]),
    "OpenBounds": ([(0, 1), (-np.inf, np.inf)], [(np.nan, 1), (np.inf, -np.inf), (0, np.inf)]),
    "Variance": (["smoothed"], ["smooth", ["smoothed"], None]),
    "Population": ([10, pd.Series([10])], [0, 10**16, 2.5, "x", np.nan]),
    "Names": (
        ["a", ["a", "b"], ("a",), np.array(["a"]), pd.Index(["a"])],
        [3, datetime.date(2026, 1, 1), "", ["a", ""], {"a": 1}],
    ),
}


@pytest.mark.parametrize("alias", ALIASES)
def test_allowed_values_of_aliases(alias):
    allowed, refused = ALIASES[alias]
    rules = rules_for(getattr(_types, alias))
    for value in allowed:
        check("it", value, rules)
    for value in refused:
        with pytest.raises((ValueError, TypeError), match=r"^it must be .*, got "):
            check("it", value, rules)


def test_messages():
    with pytest.raises(ValueError, match=r"^confidence_level .* got 95\. Write 0\.95 for 95%\.$"):
        skbench.make_items().items.pipe(skbench.leaderboard, confidence_level=95)
    with pytest.raises(ValueError, match=r"^n_models must .* 1, got 2"):
        skbench.make_items(n_models=np.float64(2.5))
    with pytest.raises(TypeError, match="'n_model'"):
        skbench.make_items(n_model=2)
    with pytest.raises(TypeError, match="'self'"):
        skbench.JamesStein.estimate()
    for value in (pd.DataFrame({"a": [1, 2]}), 10**5000):  # of several lines, or without a repr
        with pytest.raises(ValueError, match=f"1, got an? {type(value).__name__}. Write 0.95"):
            skbench.make_items().items.pipe(skbench.leaderboard, confidence_level=value)


class OfUser(skbench.JamesStein):
    """A user's subclass with its own annotations."""

    def __init__(self, alpha: int = None, beta: "np.none" = None, **rest):  # noqa: RUF013
        super().__init__(**rest)
        self.alpha, self.beta = alpha, beta


def test_subclasses_of_users_are_checked_as_their_base():
    data = np.zeros((4, 1)), [0.5, 0.4, 0.3, 0.4], 0.1
    np.testing.assert_equal(OfUser().fit_predict(*data), skbench.JamesStein().fit_predict(*data))
    with pytest.raises(ValueError, match="^center must be "):
        OfUser(center="x").fit(*data)


def test_warnings_name_the_line_of_the_user():
    items = skbench.make_items(n_models=2, n_topics=4, n_items=9, random_state=0).items
    with pytest.warns(UserWarning) as caught:
        skbench.compare_models(items.iloc[5:], "model-0", "model-1")
        skbench.DirectEstimator().fit([[0.0], [1.0]], [0.5, 0.4], [0.0, 0.1])
    assert len(caught) > 1 and {warning.filename for warning in caught} == {__file__}
