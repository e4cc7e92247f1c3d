"""Draw the README's picture and that of previews of links: `python doc/make_picture.py`.

The picture of the report on the first page is a screenshot (doc/check_site.py) of ``skbench
report`` on this sample, with ``--features corruption,severity``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.image import imread
from PIL import Image

from skbench import (
    DirectEstimator,
    MixedModel,
    ShrinkageDisplay,
    load_digits_c,
    sample_items,
    summarize_items,
)

STATIC = Path(__file__).parent / "_static"
PROMISE = "Honest estimates|of model performance|from few items per topic,|with intervals"


def picture():
    data = load_digits_c()
    items = sample_items(data.items, 10, random_state=0)
    g = summarize_items(items, ["model", "topic"], features=data.features)
    direct = DirectEstimator().fit(**g.fit_args).estimate()
    mixed = MixedModel().fit(**g.fit_args).estimate()
    truth = data.truth.loc[g.labels]
    display = ShrinkageDisplay.from_estimates(direct, mixed, n=g.n, truth=truth, max_rows=14)
    display.plot(xlabel="accuracy")
    display.figure_.savefig(STATIC / "shrinkage.png", dpi=90, bbox_inches="tight")


def card():
    """1200 x 630 pixels, the size that previews of links have."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.text(0.05, 0.74, "skbench", size=54, weight="bold", color="#1b3a4b")
    for row, words in enumerate(PROMISE.split("|")):
        figure.text(0.05, 0.57 - 0.08 * row, words, size=24, color="#333")
    figure.text(0.05, 0.17, "as scikit-learn estimators", size=18, color="#777")
    axes = figure.add_axes((0.44, 0.04, 0.54, 0.92))
    axes.imshow(imread(STATIC / "shrinkage.png"), interpolation="lanczos")
    axes.set_axis_off()
    figure.savefig(STATIC / "card.png")
    few_colors = Image.open(STATIC / "card.png").convert("RGB").quantize(192)
    few_colors.save(STATIC / "card.png", optimize=True)


if __name__ == "__main__":
    picture()
    card()
