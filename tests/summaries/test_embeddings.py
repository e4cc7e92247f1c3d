import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import FunctionTransformer

from skbench import embed_groups, summarize_items

WORDS = {
    "law": ["court", "judge", "appeal", "statute", "contract"],
    "art": ["paint", "canvas", "museum", "sculpture", "color"],
    "math": ["proof", "lemma", "integral", "matrix", "prime"],
}


@pytest.fixture
def items():
    """Two models on the same 8 questions of each of 6 topics, two topics per subject."""
    rng = np.random.default_rng(0)
    rows = []
    for subject, words in WORDS.items():
        for part in ("a", "b"):
            for number in range(8):
                text = " ".join(rng.choice(words, 4))
                rows.append((f"{subject}-{part}", f"{subject}-{part}-{number}", text))
    questions = pd.DataFrame(rows, columns=["topic", "item", "text"])
    models = pd.DataFrame({"model": ["ada", "bob"]})
    items = questions.merge(models, how="cross")
    items["score"] = rng.integers(0, 2, len(items))
    items["confidence"] = rng.random(len(items))
    return items


def test_is_the_mean_of_the_items_embeddings(items):
    table = embed_groups(items, "topic", n_components=5, random_state=3)
    texts = sorted(items["text"].unique())
    words = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    each = TruncatedSVD(5, random_state=3).fit_transform(words)
    each = pd.DataFrame(each, index=texts).loc[items["text"]].to_numpy()
    for topic, rows in items.reset_index(drop=True).groupby("topic"):
        assert np.allclose(table.loc[topic], each[rows.index].mean(axis=0), rtol=0, atol=1e-12)
    assert list(table.columns) == [f"embedding_0{number}" for number in range(5)]


def test_topics_about_the_same_lie_near_each_other(items):
    table = embed_groups(items, "topic").to_numpy()
    distance = np.linalg.norm(table[:, None] - table[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    assert distance.argmin(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


def test_any_transformer_is_taken_and_left_as_it_is(items):
    counts = CountVectorizer()
    table = embed_groups(items, "topic", transformer=counts)
    assert not hasattr(counts, "vocabulary_")
    expected = CountVectorizer().fit(items["text"].drop_duplicates())
    means = expected.transform(items["text"]).toarray()
    law = means[(items["topic"] == "law-a").to_numpy()].mean(axis=0)
    assert np.allclose(table.loc["law-a"], law)

    def lengths(texts):
        return np.array([[len(text), text.count(" ")] for text in texts])

    table = embed_groups(items, "topic", transformer=FunctionTransformer(lengths))
    assert (table["embedding_01"] == 3).all()


def test_each_text_is_embedded_once(items):
    seen = []

    def remember(texts):
        seen.extend(texts)
        return np.ones((len(texts), 1))

    embed_groups(items, "topic", transformer=FunctionTransformer(remember))
    assert sorted(seen) == sorted(items["text"].unique())


def test_numeric_columns(items):
    table = embed_groups(items, ["model", "topic"], ["confidence", "score"])
    expected = items.groupby(["model", "topic"])[["confidence", "score"]].mean()
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


def test_table_goes_straight_into_the_summary(items):
    by = ["model", "topic"]
    topics = embed_groups(items, "topic", n_components=4)
    pairs = embed_groups(items, by, ["confidence"]).join(topics)
    for table in (topics, pairs):
        X = summarize_items(items, by, features=table).X
        assert list(X.columns) == [*by, *table.columns]
        assert np.isfinite(X[table.columns].to_numpy()).all()
    assert X.loc[("ada", "law-a"), "confidence"] != X.loc[("bob", "law-a"), "confidence"]


def test_row_order_does_not_matter(items):
    """Singular values that are equal leave it to the order of the texts what their vectors are."""
    even = items.assign(text=[f"word{i % 17} number{i % 5}" for i in range(len(items))])
    shuffled = even.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        embed_groups(shuffled, "topic"), embed_groups(even, "topic"), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_as_output_of_transformers_change_nothing(items, output):
    pytest.importorskip(output)
    expected = embed_groups(items, "topic")
    with sklearn.config_context(transform_output=output):
        pd.testing.assert_frame_equal(embed_groups(items, "topic"), expected)


def test_scores_are_not_looked_at(items):
    other = items.assign(score=1 - items["score"])
    assert embed_groups(items, "topic").equals(embed_groups(other, "topic"))


def test_few_texts_and_few_words():
    items = pd.DataFrame({"topic": ["a", "b"], "text": ["one two", "two three"]})
    assert embed_groups(items, "topic").shape == (2, 1)
    same = pd.DataFrame({"topic": ["a", "b"], "text": ["word", "word"]})
    assert embed_groups(same, "topic").nunique().eq(1).all()


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"text": [1, 2]}, {}, "'text' .* has 1"),
        ({"text": ["a word", None]}, {}, "1 of 2 .*'text'"),
        ({"words": ["a", "b"]}, {}, "items .*'text'"),
        ({"text": ["one", "two"]}, {"text": ["text"]}, "'text' .*numeric"),
        ({"text": []}, {}, "no rows"),
        ({"text": [["a"], ["b"]]}, {}, r"'text' .* has \['a'\]"),
        ({"x": [np.inf, 1.0]}, {"text": ["x"]}, "1 of 2 .*'x'"),
    ],
)
def test_embedding_refuses(columns, arguments, message):
    items = pd.DataFrame({"topic": ["a", "b"][: len(next(iter(columns.values())))]} | columns)
    with pytest.raises(ValueError, match=message):
        embed_groups(items, "topic", **arguments)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.zeros(2), r"shape \(2,\) .*2 "),
        (np.zeros((1, 3)), r"shape \(1, 3\) .*2 "),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        (np.array([[1.0], [np.nan]]), " 1 of 2 .* 'two'"),
    ],
)
def test_what_transformers_must_return(output, message):
    items = pd.DataFrame({"topic": ["a", "b"], "text": ["one", "two"]})
    with pytest.raises(ValueError, match=message):
        embed_groups(items, "topic", transformer=FunctionTransformer(lambda texts: output))
