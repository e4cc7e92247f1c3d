"""Messages of Python code for the command line, with options in place of arguments."""

import ast
import re
import shlex

import click

import skbench

# What `skbench estimate --method` calls the estimators.
METHODS = {
    "mixed": "MixedModel",
    "eb": "EmpiricalBayes",
    "direct": "DirectEstimator",
    "synthetic": "SyntheticRegression",
    "james-stein": "JamesStein",
    "fay-herriot": "FayHerriot",
    "structured": "StructuredRegression",
}
# Arguments whose options have other names. The first option that a command has is used.
_RENAMED = {
    "topic": ("by", "topics"),
    "topics": ("topics", "by"),
    "by": ("by", "topics"),
    "y_true": ("truth",),
    "y_pred": ("prediction",),
    "label": ("truth",),
    "probability": ("prediction",),
    "group": ("by",),
    "pos_label": ("positive",),
    "n_correct": ("correct",),
    "n_runs": ("runs",),
    "random_state": ("seed",),
}
# Arguments that are recognized even if the command has no such option.
_ARGUMENTS = frozenset(
    "model models item score cluster format filter skip_bad_lines missing bounds variance interval "
    "features bank baseline candidate event label_values margin population power_tuning n method "
    "prior_variance regressor".split()
) | set(_RENAMED)
# The bounded length keeps matching fast on any text from files.
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.){0,999}'|"(?:[^"\\]|\\.){0,999}")(?!\w)"""
_VALUE = rf"{_QUOTED}|\[[^][]*\]|\([^()]*\)|{{[^{{}}]*}}|\.\.\.|-?\w+(?:[.-]\w+)*"
_API = "|".join(name for name in skbench.__all__ if name.lower() != name or "_" in name)
_TOKEN = re.compile(
    rf"{_QUOTED}|\b(?P<api>{_API})\b(?:\((?P<inner>[^()]*)\))?"
    rf"|(?<![^\s(`])(?P<name>[a-z]\w*)=(?P<value>{_VALUE})?"
)
_SENTENCE = re.compile(rf"(?:{_QUOTED}|.)+?(?:[.?!](?= +[A-Z])|$)", re.DOTALL)


class _NoOption(Exception):
    """A sentence needs an option that the command does not have."""


def in_options(text, command=None):
    """A message with options of a command in place of arguments and estimators of Python.

    The default is the running command; without one, the text does not change. Arguments have the
    form ``name=``, ``name=value`` or ``name=...``. Quoted text is data and does not change.
    Sentences on options that the command does not have are dropped if another sentence remains.

    >>> gate = click.Command("gate", params=[click.Option(["--missing"])])
    >>> in_options("2 are blank. Pass missing='wrong'. Or use MixedModel().", gate)
    '2 are blank. Pass --missing wrong.'
    """
    context = click.get_current_context(silent=True)
    if command is None and context is None:
        return text
    command = command or context.command
    kept = []
    for sentence in _SENTENCE.findall(text):
        try:
            kept.append(_TOKEN.sub(lambda found: _translated(found, command), sentence))
        except _NoOption:
            continue
    return "".join(kept).strip() or text


def as_option(name, value, command):
    """Words of the command line for an argument and its value, or None without an option."""
    if name == "model" and isinstance(value, dict):
        pairs = ((old, "NEW" if new is ... else new) for old, new in value.items())
        return [word for old, new in pairs for word in ("--rename", f"{old}={new}")]
    options = {param.name: param for param in command.params if isinstance(param, click.Option)}
    option = next(filter(None, map(options.get, _RENAMED.get(name, (name,)))), None)
    if option is None or value is None or value is False or _is_refused(value, option.type):
        return None
    return as_typed(option, value)


def as_typed(option, value):
    """Words of the command line for an option and its value; ... means any value."""
    flag = max(option.opts, key=len)
    if option.is_flag or value is ...:
        return [flag]
    several = value if isinstance(value, tuple) else (value,)
    words = [",".join(map(str, one)) if isinstance(one, list) else str(one) for one in several]
    return [part for one in words for part in (flag, one)] if option.multiple else [flag, *words]


def _is_refused(value, kind):
    return isinstance(kind, click.Choice) and isinstance(value, str) and value not in kind.choices


def _translated(found, command):
    """The replacement of a token: quoted text, an argument, or a public name of Python."""
    name, api = found["name"], found["api"]
    if api is not None:
        method = next((key for key, value in METHODS.items() if value == api), None)
        words = as_option("method", method, command)
    elif name is not None:
        words = as_option(name, _value(found["value"]), command)
        if words is None and name not in _ARGUMENTS:
            return found[0]
    else:
        return found[0]
    if words is None:
        raise _NoOption
    inner = _TOKEN.sub(lambda part: _translated(part, command), found["inner"] or "")
    return f"{shlex.join(words)} {inner.replace(', ', ' ')}".strip()


def _value(text):
    """The value of an argument; other than literals stay text, and no value is ``...``."""
    try:
        return ast.literal_eval(text or "...")
    except (ValueError, SyntaxError):
        return text
