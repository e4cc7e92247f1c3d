"""`item_audit`: what is flagged, and the corners."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skbench import item_audit


def rows_of(scores, **columns):
    """Item rows of a matrix of items x models."""
    n, m = scores.shape
    rows = pd.DataFrame({"model": np.tile([f"m{j:03d}" for j in range(m)], n)})
    rows["item"] = np.repeat(np.arange(n), m)
    rows["score"] = scores.ravel()
    return rows.assign(**columns).dropna()


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    logit = rng.normal(0.5, 1, (150, 1)) + rng.normal(0, 1.5, 60)
    x = rng.binomial(1, expit(logit)).astype(float)
    x[:5], x[5], x[6] = 1 - x[:5], 1, 0
    return x


def test_what_is_wrong_is_flagged(scores):
    found = item_audit(rows_of(scores))
    flagged = found.to_frame()["flagged"]
    assert (flagged[:5] == "wrong key").sum() >= 4 and (flagged[5:7] == "no variation").all()
    assert (flagged[7:] == "").all() and set(found.flagged.index) == set(
        flagged[flagged != ""].index
    )
    assert found.to_frame()["difficulty"].to_numpy() == pytest.approx(scores.mean(axis=1))
    assert found.n_complete == 150 and found.n_models == 60
    assert found.items_needed(found.reliability.value[0]) in (150, 151)
    words = "\n".join(found.sentences())
    n_wrong = (flagged == "wrong key").sum()
    assert repr(found) == words and f"{n_wrong} of 150" in words and "2 of 150" in words


@pytest.mark.parametrize(("least", "unit"), [(1e6, 1), (0, 1e-6), (0, 100)])
def test_the_unit_of_the_scores_does_not_matter(scores, least, unit):
    known, found = item_audit(rows_of(scores)), item_audit(rows_of(least + unit * scores))
    numbers = [x.to_frame().drop(columns=["difficulty", "flagged"]) for x in (known, found)]
    np.testing.assert_allclose(*numbers, atol=1e-8)
    assert found.items["flagged"].equals(known.items["flagged"])
    np.testing.assert_allclose(found.reliability.value, known.reliability.value)
    assert found.n_effective_models == pytest.approx(known.n_effective_models)


def test_duplicates_by_text_and_by_answers(scores):
    text = [f"What is {i}?" for i in range(150)]
    text[140], text[141], text[142] = "what  is 17?", None, None
    rows = rows_of(scores)
    found = item_audit(rows.assign(prompt=np.repeat(text, 60)), text="prompt").to_frame()
    assert found["flagged"][140] == "duplicate of 17"
    assert (found["flagged"][141:143] == "").all()
    with_topics = rows.assign(topic=np.where(rows["item"] < 75, "a", "b"))
    found = item_audit(with_topics.assign(prompt=np.repeat(text, 60)), text="prompt")
    assert found.to_frame().loc[("b", 140), "flagged"] == "duplicate of a / 17"
    middle = int(np.argmin(np.abs(scores.mean(axis=1) - 0.5)))
    found = item_audit(rows_of(np.vstack([scores, scores[middle]]))).to_frame()
    assert found["flagged"][150] == f"duplicate of {middle}"


def test_missing_repeated_and_continuous_answers(scores):
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(scores.shape) < 0.2, np.nan, scores)
    found = item_audit(rows_of(gaps))
    assert (found.to_frame()["flagged"][:5] == "wrong key").sum() >= 3
    assert (found.to_frame()["n_models"] < 60).any() and found.n_complete < 150
    twice = pd.concat([rows_of(scores), rows_of(scores)])
    pd.testing.assert_frame_equal(
        item_audit(twice).to_frame(), item_audit(rows_of(scores)).to_frame()
    )
    graded = rng.normal(0, 1.5, 60) + rng.normal(0.5, 1, (150, 1)) + rng.normal(0, 2, scores.shape)
    graded[:5] = -graded[:5]
    found = item_audit(rows_of(100 * graded))
    assert (found.to_frame()["flagged"][:5] == "wrong key").all()
    assert (found.to_frame()["flagged"][5:] == "").sum() >= 143


def test_versions_of_models_count_once_as_a_family(scores):
    rows = rows_of(np.repeat(scores[:, :12], 5, axis=1))
    assert item_audit(rows).n_effective_models < 16
    rows["family"] = rows["model"].str[1:].astype(int) // 5
    family = item_audit(rows, model="family")
    assert family.n_models == 12
    assert len(family.sentences()) < len(item_audit(rows, model="model").sentences())


@pytest.mark.parametrize("n_models", [2, 3, 5])
def test_few_models_get_a_note(scores, n_models):
    found = item_audit(rows_of(scores[:, :n_models]))
    assert not (found.to_frame()["flagged"] == "wrong key").any()
    m = found.n_effective_models
    reach = 1.0 if m <= 3 else np.tanh(1.96 / np.sqrt(m - 3))
    assert f"{reach:.2f}" in found.sentences()[-1]


def test_one_model_is_refused(scores):
    with pytest.raises(ValueError, match="'model'"):
        item_audit(rows_of(scores[:, :1]))


def test_all_alike_and_nothing_complete():
    found = item_audit(rows_of(np.ones((8, 4))))
    assert (found.to_frame()["flagged"] == "no variation").all() and np.isnan(found.items_needed())
    halves = np.array([[1, np.nan, 0], [np.nan, 1, 1], [0, 1, np.nan], [1, 0, np.nan]])
    assert "Reliability: unknown" in repr(item_audit(rows_of(halves)))


MATRICES = "arc_challenge gsm ifeval legalbench mmlu mrpc sst2".split()


@pytest.mark.slow
def test_reversed_keys_in_real_matrices(data_folder):
    """Keys of a twentieth of the items turned around: found, and hardly any others."""
    least = {"gsm": 0.9, "ifeval": 0.75, "mmlu": 0.4, "arc_challenge": 0.35, "legalbench": 0.2}
    tables = {
        name: pd.read_csv(data_folder / f"item_matrix_{name}.csv.gz").drop(columns="item")
        for name in MATRICES
    }
    pro = pd.read_csv(data_folder / "mmlu_pro_dev_29_models.csv.gz")
    tables["mmlu_pro"] = pro.drop(columns=["question_id", "category", "src"])
    least |= {"mmlu_pro": 0.25, "mrpc": 0.0, "sst2": 0.0}  # worth fewer than eight models
    for name, table in tables.items():
        rng = np.random.default_rng(0)
        turned = rng.random(len(table)) < 0.05
        x = table.to_numpy(dtype=float)
        x[turned] = 1 - x[turned]
        flagged = item_audit(rows_of(x)).to_frame()["flagged"].eq("wrong key").to_numpy()
        assert flagged[turned].mean() >= least.get(name, 0.1), name
        assert flagged[~turned].mean() <= 0.02, name
