"""Formatting of numbers and names in tables, sentences and figures.

Numbers are printed as 0.000, never as .000 or -0.000. Control characters in names are escaped.
"""

import math
import re

# Characters that control a terminal or the direction of text, or that XML or UTF-8 forbids.
_CONTROLS = [*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F)]
_CONTROLS += [*range(0x2066, 0x206A), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
_SHOWN = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS}
# Backslashes that would become part of an escape sequence.
_BEFORE = re.compile(rf"\\+(?=x[0-9a-f]{{2}}|u[0-9a-f]{{4}}|[{''.join(map(chr, _CONTROLS))}])")

_SMALL = 1e-5  # eight decimals show fewer than three significant digits of smaller numbers


def visible(text):
    """Escape control characters, so that they are printed and have no effect.

    >>> print(visible("a\x1b[31mb"))
    a\\x1b[31mb
    """
    return str(text).translate(_SHOWN)


def escaped(text):
    """Escape control characters reversibly, by doubling backslashes before escapes."""
    return visible(_BEFORE.sub(lambda found: 2 * found[0], text))


def markdown_text(text):
    r"""Escape Markdown and HTML, and prevent links to users and issues.

    >>> print(markdown_text("a|b_c <d> @team #1"))
    a\|b\_c \<d\> @&#8203;team \#&#8203;1
    """
    text = re.sub(r"([\\`*_{}\[\]<>|~#])", r"\\\1", visible(text).replace("&", "&amp;"))
    return re.sub(r"(?<![a-zA-Z0-9])@(?=\w)|#(?=\d)", r"\g<0>&#8203;", text)


def number(value, form):
    """Format a number; nan is "unknown", and None is an empty string."""
    if value is None:
        return ""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:{_without_minus_zero(form)}}"


def _without_minus_zero(form):
    """Add the flag z to a format, so that values that round to zero have no minus sign."""
    if form[-1:] not in "eEfFgG%" or "z" in form:
        return form
    sign = form[:1] if form[:1] in "+- " else ""
    return f"{sign}z{form.removeprefix(sign)}"


def decimals_for(values):
    """Return the number of decimals that shows scores of this size to three significant digits.

    >>> decimals_for([0.25, 1.0]), decimals_for([3.0, 100.0]), decimals_for([0.012])
    (3, 1, 4)
    """
    import numpy as np

    values = np.abs(np.asarray(values, dtype=float))
    largest = np.max(values, initial=0, where=np.isfinite(values))
    if largest == 0:
        return 3
    # 1 and 100 get as many decimals as smaller scores.
    magnitude = int(np.ceil(np.log10(largest) - 1e-9))
    return int(np.clip(3 - magnitude, 1, 8))


def score_form(values):
    """Return the format for scores of this size."""
    return f"z.{decimals_for(values)}f"


def slope_form(values):
    """Return the format for numbers that may be much smaller than scores.

    >>> slope_form([0.25, -1.0]), slope_form([2e-9])
    ('z.3f', '.3g')
    """
    import numpy as np

    largest = np.nanmax(np.abs(np.asarray(values, dtype=float)), initial=0)
    return ".3g" if 0 < largest < _SMALL else score_form(values)
