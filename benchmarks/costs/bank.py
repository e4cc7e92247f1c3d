"""New models on few items of a bank of 50,000, next to ridge regressions on earlier answers."""

import numpy as np
from sklearn.linear_model import Ridge

from costs import Cost, real_rows
from skbench import ItemBank, UnitLevelModel, choose_items, item_audit

SECONDS = 1.5  # limit for one new model


def past_and_new(n_past, n_new, n_items, n_topics):
    """Return rows of earlier models and of new models."""
    rows = real_rows(n_past + n_new, n_items, n_topics)
    return rows[: n_past * n_items], rows[n_past * n_items :]


def new_models(shapes):
    """`fit`, draws and estimates by model, topic and both; bare: ridge-AIPW by hand."""
    for n_past, n_new, n_items, n_topics, n_asked in shapes:
        past, new = past_and_new(n_past, n_new, n_items, n_topics)
        bank = ItemBank().fit(past)
        rng = np.random.default_rng(0)
        places = np.concatenate(
            [n_items * m + rng.permutation(n_items)[:n_asked] for m in range(n_new)]
        )
        asked = new.iloc[places]

        def run(bank=bank, asked=asked):
            model = UnitLevelModel(bank).fit(asked, asked["score"])
            for by in ("model", "topic", ["model", "topic"]):
                model.estimate(by)
            model.sample("model").values[:, :1] - model.sample("model").values

        wide = past["score"].to_numpy(float).reshape(n_past, n_items).T

        def bare(wide=wide, asked=asked):
            found = []
            for _, own in asked.groupby("model"):
                y, X = own["score"].to_numpy(float), wide[own["item"]]
                ridge = Ridge().fit(X, y)
                found.append(ridge.predict(wide).mean() + (y - ridge.predict(X)).mean())
            return found

        kind = f"{n_past} earlier models x {n_items} x {n_topics} topics"
        shape = f"{kind}, {n_new} new asked {n_asked}"
        yield Cost(shape, n_new, run, bare, SECONDS * n_new, "seconds")


def banks(shapes):
    """`ItemBank.fit`, `item_audit` and `choose_items`; bare: one pivot and one product."""
    for n_models, n_items, n_topics in shapes:
        rows = real_rows(n_models, n_items, n_topics)
        bank, size = ItemBank().fit(rows), n_models * n_items

        def bare(rows=rows):
            wide = rows.pivot(index=["topic", "item"], columns="model", values="score")
            return np.cov(wide.to_numpy(float).T)

        shape = f"{n_models} x {n_items}"
        yield Cost(f"ItemBank, {shape}", size, lambda rows=rows: ItemBank().fit(rows), bare)
        yield Cost(f"item_audit, {shape}", size, lambda rows=rows: item_audit(rows), bare)
        yield Cost(f"choose_items, {shape}", size, lambda bank=bank: choose_items(bank, 500))


PATHS = {
    new_models: [
        *((30, n, 50_000, 14, 100) for n in (1, 8, 32)),
        *((200, 4, 50_000, 50, n) for n in (10, 1000)),
        (200, 4, 10_000, 50, 100),
    ],
    banks: [(50, 10_000, 50), (50, 50_000, 50), (100, 50_000, 50)],
}
SMALL = {new_models: [(20, 2, 20_000, 14, 100)]}
