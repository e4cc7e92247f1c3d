"""`skbench items`: results of the function as a table, JSON and a figure."""

import numpy as np
import pandas as pd
import pytest
from commands import parsed, run
from scipy.special import expit

from skbench import ScatterDisplay, item_audit
from skbench.report.items import items


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.binomial(1, expit(rng.normal(0.8, 1, (60, 1)) + rng.normal(0, 1.5, 40)))
    x[:2], x[2] = 1 - x[:2], 1
    names = pd.MultiIndex.from_product([range(60), [f"m{j}" for j in range(40)]])
    rows = names.to_frame(index=False, name=["item", "model"]).assign(score=x.ravel())
    prompt = rows["item"].replace(50, 12).map("What is {}?".format)
    return rows.assign(topic=np.where(rows["item"] < 30, "law", "art"), prompt=prompt)


@pytest.fixture
def file(rows, tmp_path):
    rows.to_csv(tmp_path / "r.csv", index=False)
    return tmp_path / "r.csv"


def test_json_is_the_audit(rows, file):
    found = item_audit(rows, text="prompt")
    document = parsed(items, file, "--text", "prompt", "--reliability", "0.8")
    assert document["reliability"]["low"] == pytest.approx(found.reliability.low[0])
    assert document["required_items"] == found.items_needed(0.8)
    table = pd.DataFrame(document["items"]).set_index(["topic", "item"]).loc[found.items.index]
    pd.testing.assert_frame_equal(table, found.items, check_dtype=False, check_index_type=False)
    assert table.loc[("law", 12), "flagged"] == "duplicate of art / 50"
    assert document["n_flagged"] == (found.items["flagged"] != "").sum() == 4


def test_folder_repeated_answers_and_the_table(rows, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, part in rows.groupby("model"):
        pd.concat([part, part]).to_csv(folder / f"{name}.csv", index=False)
    result = run(items, folder, "--cluster", "item", "--plot", tmp_path / "p.png")
    assert result.exit_code == 0, result.output
    assert "60 items, 40 models" in result.stdout and "wrong key" in result.stdout
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_refusals(rows, tmp_path):
    rows[rows["model"] == "m0"].to_csv(tmp_path / "one.csv", index=False)
    result = run(items, tmp_path / "one.csv")
    assert result.exit_code == 1 and "'model'" in result.stderr
    result = run(items, tmp_path / "one.csv", "--text", "question")
    assert result.exit_code == 1 and "question" in result.stderr


def test_the_picture_names_flagged_items_only(rows):
    found = item_audit(rows, text="prompt")
    display = ScatterDisplay.from_item_audit(found)
    assert list(display.legend) == ["item", "duplicate", "wrong key"]
    named = display.points[display.points["name"] != ""]
    expected = found.flagged[found.flagged["flagged"] != "no variation"]
    assert set(named.index) == set(expected.index) and named["y_low"].notna().all()
    assert len(display.points) == 59 and display.plot().ax_ is not None
