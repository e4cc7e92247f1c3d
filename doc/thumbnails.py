"""Draw thumbnails of examples without a figure: their longest printed text."""

import re
from pathlib import Path

from matplotlib.figure import Figure

GALLERY = Path(__file__).parent / "gallery"
_PRINTED = re.compile(r"sphx-glr-script-out\n\n \.\. code-block:: none\n\n((?:    .*\n|\n)+)")
_LINES, _WIDTH = 15, 60
_SYMBOLS = re.compile(r"[\u2700-\uffff\U00010000-\U0010ffff]")  # not in every font


def draw(app):
    """Replace the placeholder thumbnails after the gallery has run the examples."""
    for page in GALLERY.glob("*.rst"):
        thumbnail = GALLERY / "images" / "thumb" / f"sphx_glr_{page.stem}_thumb.png"
        text = page.read_text()
        printed = _PRINTED.findall(text)
        if printed and "image-sg::" not in text and thumbnail.exists():
            _picture(max(printed, key=len)).savefig(thumbnail)


def _picture(printed):
    lines = [_SYMBOLS.sub("", line[4:]).rstrip() for line in printed.strip("\n").splitlines()]
    figure = Figure(figsize=(4, 2.8), dpi=100, facecolor="white")
    shown = "\n".join(line[:_WIDTH] for line in lines[:_LINES])
    figure.text(
        0.04, 0.94, shown, family="monospace", size=7.5, va="top", color="#333", parse_math=False
    )
    return figure
