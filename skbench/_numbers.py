"""The one spelling of numbers and names in tables, sentences and pictures.

Numbers are 0.000, never .000 or -0.000. What a name has of control characters is shown.
"""

import math
import re

# Characters that move the cursor, color, ring, delete, turn the direction of the text, or that
# XML and UTF-8 may not hold.
_CONTROLS = [*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F)]
_CONTROLS += [*range(0x2066, 0x206A), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
_SHOWN = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS}
# Backslashes that would read as part of an escape.
_BEFORE = re.compile(rf"\\+(?=x[0-9a-f]{{2}}|u[0-9a-f]{{4}}|[{''.join(map(chr, _CONTROLS))}])")

_SMALL = 1e-5  # of which eight decimals show less than three figures


def visible(text):
    """The text with its control characters as escapes: they are shown, and not obeyed.

    >>> print(visible("a\x1b[31mb"))
    a\\x1b[31mb
    """
    return str(text).translate(_SHOWN)


def escaped(text):
    """The same for programs: texts that differ stay so, as backslashes before escapes double."""
    return visible(_BEFORE.sub(lambda found: 2 * found[0], text))


def markdown_text(text):
    r"""Text as it stands, whatever it means in Markdown or HTML; it calls nobody and no issue.

    >>> print(markdown_text("a|b_c <d> @team #1"))
    a\|b\_c \<d\> @&#8203;team \#&#8203;1
    """
    text = re.sub(r"([\\`*_{}\[\]<>|~#])", r"\\\1", visible(text).replace("&", "&amp;"))
    return re.sub(r"(?<![a-zA-Z0-9])@(?=\w)|#(?=\d)", r"\g<0>&#8203;", text)


def number(value, form):
    """A number in this format; what is not known is said, what is not there is blank."""
    if value is None:
        return ""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:{_without_minus_zero(form)}}"


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


def slope_form(values):
    """The same for numbers that may be far smaller than scores.

    >>> slope_form([0.25, -1.0]), slope_form([2e-9])
    ('z.3f', '.3g')
    """
    import numpy as np

    largest = np.nanmax(np.abs(np.asarray(values, dtype=float)), initial=0)
    return ".3g" if 0 < largest < _SMALL else score_form(values)
