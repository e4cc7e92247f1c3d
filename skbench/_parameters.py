"""Checks of parameters against the annotations of public functions and classes."""

import datetime
import functools
import inspect
import math
import numbers
import typing
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

_T = TypeVar("_T")
LARGEST = {int: 2**63 - 1, float: 1e75}  # 64-bit integers; floats with finite fourth powers
_REAL = {int: (int, np.integer)}
_REAL[float] = (*_REAL[int], float, np.float32, np.float16)
_KINDS = {int: "a whole number", float: "a finite number"}
_PLAIN = dict.fromkeys(("NativeDataFrame", "NativeLazyFrame", "NativeIbis"), "dataframe")
_PLAIN |= {
    "Bank": "fitted ItemBank",
    "PathLike": "path",
    "Callable": "function",
    "Mapping": "mapping",
    "Sequence": "sequence",
}
# ArrayLike is a union before numpy 2.5 and a single name later.
_ARRAY_LIKE = set(typing.get_args(ArrayLike)) or {ArrayLike}
_LONGEST = 80  # letters of a value in an error message
_SCALAR = (str, bytes, numbers.Number, np.generic, datetime.date, datetime.time, datetime.timedelta)


class Range(NamedTuple):
    """Limits of a number, as in ``Annotated[float, Range(0, 1)]``."""

    low: float | None = None
    high: float | None = None
    closed: str = "both"  # which limits are allowed values: "both", "low", "neither"
    remedy: str = ""

    def holds(self, value):
        """Whether a number is within the limits."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        above = low < value if self.closed == "neither" else low <= value
        return above and (value <= high if self.closed == "both" else value < high)

    def words(self, kind):
        """Describe the allowed values."""
        low, high = _in_words(self.low), _in_words(self.high)
        what = "a number" if self.high == math.inf else _KINDS[kind]
        least = f"{'above' if self.closed == 'neither' else 'of at least'} {low}"
        most = f"{'of at most' if self.closed == 'both' else 'below'} {high}"
        if low and high and self.closed != "low":
            strictly = "strictly " if self.closed == "neither" else ""
            return f"{what} {strictly}between {low} and {high}"
        limits = [words for words, limit in ((least, low), (most, high)) if limit]
        return " ".join([what, " and ".join(limits)]).strip()


class Ends(NamedTuple):
    """A lower and a higher number, as in ``Annotated[tuple[float, float], Ends()]``."""

    finite: bool = True  # if False, both may be infinite, for no limits

    @property
    def words(self):
        """Describe the allowed values."""
        return "a low and a higher number, both finite" + " or both infinite" * (not self.finite)

    def holds(self, value):
        """Whether these are two numbers in order."""
        value = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(value, tuple | list) or len(value) != 2:
            return False
        real = all(isinstance(end, _REAL[float]) and not isinstance(end, bool) for end in value)
        if real and not self.finite and value[0] == -math.inf and value[1] == math.inf:
            return True
        return real and -LARGEST[float] <= value[0] < value[1] <= LARGEST[float]


class Rule(NamedTuple):
    """One of the alternatives that a parameter allows."""

    holds: Callable  # None: the function itself checks the value
    words: str
    remedy: str = ""
    error: type = ValueError


def checked(target: _T) -> _T:
    """Wrap a function, or the public methods of a class, to check arguments by annotation.

    Methods also check the stored parameters of the constructor. The constructor of a dataclass
    checks its own arguments instead.
    """
    if not isinstance(target, type):
        return _checked(target)
    data = is_dataclass(target)
    if data:
        target.__init__ = _checked(target.__init__)
    for name, member in list(vars(target).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(target, name, _checked(member, stored=not data))
        elif isinstance(member, classmethod):
            setattr(target, name, classmethod(_checked(member.__func__)))
    return target


def _checked(function, stored=False):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]

    @functools.wraps(function)
    def call(*args, **kwargs):
        rules = rules_of(function)
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in rules:
                check(name, value, rules[name])
        if stored and args:
            check_stored(args[0])
        return function(*args, **kwargs)

    return call


def check_stored(estimator):
    """Raise an error if a stored parameter of an estimator contradicts its annotation."""
    own = (kind for kind in type(estimator).__mro__ if kind.__module__.startswith("skbench."))
    for name, rules in rules_of(inspect.unwrap(next(own).__init__)).items():
        if hasattr(estimator, name):  # subclasses of users may store less
            check(name, getattr(estimator, name), rules)


def check(name, value, rules):
    """Raise an error if a value satisfies none of the rules."""
    if _keeps(value, rules):
        return
    remedy = "".join(f" {rule.remedy}" for rule in rules if rule.remedy)
    raise rules[0].error(f"{name} must be {_either(rules)}, got {_shown(value)}.{remedy}")


def _keeps(value, rules):
    """Whether a value satisfies a rule, or a rule leaves the check to the function."""
    unchecked = not isinstance(value, _SCALAR) and any(rule.holds is None for rule in rules)
    return unchecked or any(rule.holds(value) for rule in rules if rule.holds)


@functools.cache
def rules_of(function):
    """Return the rules of each annotated parameter that has any."""
    found = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        rules = [] if name == "return" else rules_for(_evaluated(hint, function.__globals__))
        if any(rule.holds for rule in rules):
            found[name] = rules
    return found


def _evaluated(hint, names):
    try:
        return eval(hint, names) if isinstance(hint, str) else hint
    except NameError:  # imported for type checkers only
        return Any


def rules_for(hint):
    """Return the rules of a type; no rules allow any value."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, UnionType):
        if _ARRAY_LIKE <= set(args):
            return []
        rules = [rules_for(arg) for arg in args]
        return [rule for part in rules for rule in part] if all(rules) else []
    if origin is Literal:
        return [Rule(functools.partial(_is_among, args), _listed(args))]
    if origin is Annotated:
        kind, limits = args[:2]
        if isinstance(limits, Ends):
            return [Rule(limits.holds, limits.words)]
        if kind is str and isinstance(limits, str):
            return [Rule(lambda value: isinstance(value, str), f"a string, {limits}")]
        if kind is str:
            return [Rule(functools.partial(_is_among, limits), _listed(limits))]
        return [_number_rule(kind, limits)]
    if origin is Sequence and (each := rules_for(args[0])) and all(rule.holds for rule in each):
        return [_sequence_rule(each, (typing.get_args(args[0]) or args)[0] in (int, float))]
    if origin is tuple and Ellipsis not in args:
        return [_tuple_rule([rules_for(arg) for arg in args])]
    if hint in (int, float):
        return [_number_rule(hint, Range())]
    if hint in (None, NoneType):
        return [Rule(lambda value: value is None, "None")]
    if hint is bool:
        return [Rule(lambda value: isinstance(value, bool | np.bool_), "True or False")]
    if hint is str:
        return [Rule(lambda value: isinstance(value, str) and value, "a non-empty string")]
    if hint in (Any, object, ArrayLike):
        return []
    return [_class_rule(origin or hint)]


def _number_rule(kind, limits):
    def holds(value):
        if not isinstance(value, _REAL[kind]) or isinstance(value, bool):
            return False
        value = value.item() if isinstance(value, np.generic) else value
        largest = LARGEST[int if isinstance(value, int) else float]
        return abs(value) <= max(largest, limits.high or 0) and limits.holds(value)

    return Rule(holds, limits.words(kind), limits.remedy)


def _sequence_rule(rules, of_numbers):
    def holds(value):
        if not _is_row(value) or (of_numbers and len(value) == 0):
            return False
        return all(any(rule.holds(v) for rule in rules) for v in value)

    return Rule(holds, f"a sequence ({_either(rules)} each)")


def _tuple_rule(parts):
    def holds(value):
        if not _is_row(value) or len(value) != len(parts):
            return False
        return all(not rules or _keeps(v, rules) for v, rules in zip(value, parts, strict=True))

    each = " or ".join(dict.fromkeys(_either(rules) for rules in parts if rules))
    return Rule(holds, f"a tuple of {len(parts)}" + f" ({each} each)" * bool(each))


def _is_row(value):
    """Whether a value is an ordered sequence; a two-dimensional array is one of rows."""
    if not hasattr(value, "__len__") or isinstance(value, str | bytes | Mapping | Set):
        return False
    return getattr(value, "ndim", 1) == 1 or (isinstance(value, np.ndarray) and value.ndim == 2)


def _class_rule(kind):
    name = getattr(kind, "__name__", str(kind))
    name = _PLAIN.get(name, name)
    words = _with_article(name)
    if getattr(kind, "__module__", "").startswith(("skbench.", "numpy.random")):
        return Rule(functools.partial(_is_one, kind), words, error=TypeError)
    return Rule(None, words, error=TypeError)


def _is_one(kind, value):
    return isinstance(value, kind) and not isinstance(value, type)


def _is_among(options, value):
    return any(isinstance(value, type(option)) and value == option for option in options)


def _in_words(limit):
    if limit in (None, math.inf):
        return ""
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _either(rules):
    return " or ".join(dict.fromkeys(rule.words for rule in rules))


def _shown(value):
    value = value.item() if isinstance(value, np.generic) else value
    try:
        text = repr(value)
    except Exception:  # a user's __repr__ fails, or an integer has too many digits
        text = "\n"
    if "\n" in text:
        return _with_article(type(value).__name__)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _with_article(name):
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _listed(options):
    return f"{'one of ' * (len(options) > 1)}{', '.join(map(repr, options))}"
