"""Draw the picture of the README: `python doc/make_picture.py`.

That of the report on the first page is a screenshot (doc/check_site.py) of ``skbench report`` on
this sample, with ``--features corruption,severity``.
"""

from pathlib import Path

from skbench import (
    DirectEstimator,
    MixedModel,
    ShrinkageDisplay,
    load_digits_c,
    sample_items,
    summarize_items,
)

PICTURE = Path(__file__).parent / "_static" / "shrinkage.png"


def main():
    data = load_digits_c()
    items = sample_items(data.items, 10, random_state=0)
    g = summarize_items(items, ["model", "topic"], features=data.features)
    direct = DirectEstimator().fit(**g.fit_args).estimate()
    mixed = MixedModel().fit(**g.fit_args).estimate()
    truth = data.truth.loc[g.labels]
    display = ShrinkageDisplay.from_estimates(direct, mixed, n=g.n, truth=truth, max_rows=14)
    display.plot(xlabel="accuracy")
    display.figure_.savefig(PICTURE, dpi=90, bbox_inches="tight")


if __name__ == "__main__":
    main()
