"""Draw the stored pictures of the documentation: ``python doc/make_picture.py``.

The picture of ``skbench report`` needs playwright and Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from check_site import ARGUMENTS
from matplotlib.image import imread
from PIL import Image
from playwright.sync_api import sync_playwright

from skbench import (
    DirectEstimator,
    MixedModel,
    ShrinkageDisplay,
    load_digits_c,
    sample_items,
    summarize_items,
)

FOLDER = Path(__file__).parent / "_static"
PROMISE = "Honest estimates|of model performance|from few items per topic,|with intervals"


def shrinkage(data, items):
    g = summarize_items(items, ["model", "topic"], features=data.features)
    direct = DirectEstimator().fit(**g.fit_args).estimate()
    mixed = MixedModel().fit(**g.fit_args).estimate()
    truth = data.truth.loc[g.labels]
    display = ShrinkageDisplay.from_estimates(direct, mixed, n=g.n, truth=truth, max_rows=14)
    display.plot(xlabel="accuracy")
    display.figure_.savefig(FOLDER / "shrinkage.png", dpi=90, bbox_inches="tight")


def report(data, items):
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        items.to_csv(f"{folder}/digits.csv", index=False)
        command = "-m skbench report digits.csv --features corruption,severity --html page.html"
        subprocess.run([sys.executable, *command.split()], cwd=folder, check=True)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1000, "height": 985})
        page.goto(f"file://{folder}/page.html")
        page.screenshot(path=f"{folder}/page.png")
        browser.close()
        # A palette reduces the size to a third because the page has few colors.
        Image.open(f"{folder}/page.png").quantize(64).save(FOLDER / "report.png", optimize=True)


def card():
    """Draw the picture for link previews, 1200 x 630 pixels."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.text(0.05, 0.74, "skbench", size=54, weight="bold", color="#1b3a4b")
    for row, words in enumerate(PROMISE.split("|")):
        figure.text(0.05, 0.57 - 0.08 * row, words, size=24, color="#333")
    figure.text(0.05, 0.17, "as scikit-learn estimators", size=18, color="#777")
    axes = figure.add_axes((0.44, 0.04, 0.54, 0.92))
    axes.imshow(imread(FOLDER / "shrinkage.png"), interpolation="lanczos")
    axes.set_axis_off()
    figure.savefig(FOLDER / "card.png")
    image = Image.open(FOLDER / "card.png").convert("RGB")
    image.quantize(192).save(FOLDER / "card.png", optimize=True)


def main():
    data = load_digits_c()
    items = sample_items(data.items, 10, random_state=0)
    shrinkage(data, items)
    report(data, items)
    card()


if __name__ == "__main__":
    main()
