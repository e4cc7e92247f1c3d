"""Item correlation of rows of items: names, scores and frames that it takes or refuses."""

import pandas as pd
import pytest

from skbench import item_correlation, make_items, summarize_items


@pytest.fixture(scope="module")
def shared():
    return make_items(n_models=5, n_topics=40, n_items=12, random_state=0)


def test_summaries_carry_it(shared):
    g = summarize_items(shared.items, ["model", "topic"])
    R = item_correlation(shared.items)
    pd.testing.assert_frame_equal(g.item_correlation, R)
    wide = shared.items.pivot(index=["topic", "item"], columns="model", values="score")
    raw = (wide - wide.groupby("topic").transform("mean")).corr().to_numpy()
    # Raw correlations lie around the common one that they are shrunk toward.
    assert abs(R.to_numpy().mean() - raw.mean()) < 0.01
    own = summarize_items(shared.items.assign(item=range(len(shared.items))), ["model", "topic"])
    assert own.item_correlation is None


def test_correlation_of_no_rows_or_a_lazy_frame_is_refused(shared):
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError):
        item_correlation(shared.items.iloc[:0])
    with pytest.raises(ValueError):
        item_correlation(polars.from_pandas(shared.items).lazy())
