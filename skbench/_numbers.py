"""The one spelling of numbers in tables and sentences: 0.000, never .000 or -0.000."""

import math


def number(value, form):
    """A number in this format; what is not known is said, what is not there is blank."""
    if value is None:
        return ""
    if math.isnan(value):
        return "unknown"
    return f"{value:{_without_minus_zero(form)}}" if math.isfinite(value) else "infinite"


def _without_minus_zero(form):
    """The format with the z that prints what is rounded to zero as 0.000, and never -0.000."""
    if form[-1:] not in "eEfFgG%" or "z" in form:
        return form
    sign = form[:1] if form[:1] in "+- " else ""
    return f"{sign}z{form.removeprefix(sign)}"


def decimals_for(values):
    """Digits after the point that show scores of this size to three figures.

    >>> decimals_for([0.25, 1.0]), decimals_for([3.0, 100.0]), decimals_for([0.012])
    (3, 1, 4)
    """
    import numpy as np

    values = np.abs(np.asarray(values, dtype=float))
    largest = np.max(values, initial=0, where=np.isfinite(values))
    if largest == 0:
        return 3
    # 1 and 100 are printed like the scores below them.
    magnitude = int(np.ceil(np.log10(largest) - 1e-9))
    return int(np.clip(3 - magnitude, 1, 8))


def score_form(values):
    """The format in which scores of this size are printed."""
    return f"z.{decimals_for(values)}f"
