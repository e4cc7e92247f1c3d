"""The same summary from every dataframe engine, and from Parquet files on disk."""

import importlib.util
import warnings

import numpy as np
import pandas as pd
import pytest

from skbench import betting_estimate, summarize_items

BY = ["model", "topic"]
CASES = {
    "binary": {},
    "continuous": {"score": "confidence"},
    "boolean": {"score": "right"},
    "clusters": {"cluster": "passage"},
    "continuous in clusters": {"score": "confidence", "cluster": "passage"},
    "features": {"features": ["length", "right"]},
    "features in clusters": {"features": ["length"], "cluster": "passage"},
    "features of text": {"features": ["size", "length", "field"]},
    "repeated answers": {"cluster": "item", "score": "confidence"},
    "ids not looked at": {"item": None},
}
# These are parts of others.
PARTS = ("boolean", "clusters", "features")


def slow(case):
    return pytest.param(case, marks=pytest.mark.slow)


QUICK_CASES = [slow(case) if case in PARTS else case for case in CASES]


def make_rows(n_rows, n_topics):
    """Four models on the same items; categories, clusters and nulls in a feature."""
    rng = np.random.default_rng(0)
    i = np.arange(n_rows)
    item = i // 4
    rows = pd.DataFrame(
        {
            "model": pd.Categorical(np.array(["ada", "bob", "cleo", "dan"])[i % 4]),
            "topic": np.array([f"topic {j}" for j in range(n_topics)])[item % n_topics],
            "item": item,
            # Passages of one to five questions, named by text.
            "passage": (item // n_topics + rng.integers(0, 2, n_rows // 4 + 1)[item]) // 3,
            "score": (rng.random(n_rows) < 0.6).astype(int),
            # Far from zero, where sums of squares lose digits unless they are centered.
            "confidence": 1000 + rng.random(n_rows),
            "length": rng.exponential(size=n_rows),
        }
    )
    rows["passage"] = "p" + rows["passage"].astype(str)
    rows["size"] = rows["model"].cat.rename_categories(list("SMLX"))
    rows["field"] = rows["topic"].str[-1].where(rows["topic"] != "topic 1")
    rows["right"] = rows["score"] == 1
    rows.loc[rng.random(n_rows) < 0.1, "length"] = np.nan
    return rows


def as_pandas(rows, folder):
    return rows


def as_polars(rows, folder):
    import polars as pl

    return pl.from_pandas(rows)


def as_lazy_polars(rows, folder):
    return as_polars(rows, folder).lazy()


def as_pyarrow(rows, folder):
    import pyarrow as pa

    return pa.Table.from_pandas(rows, preserve_index=False)


def as_duckdb(rows, folder):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(as_pyarrow(rows, folder))


def as_parquet(rows, folder):
    pytest.importorskip("duckdb")
    rows.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def as_dask(rows, folder):
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(rows, npartitions=3)


def as_pyspark(rows, folder):
    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder))
        .getOrCreate()
    )
    rows.to_parquet(folder / "for_spark.parquet")
    return session.read.parquet(str(folder / "for_spark.parquet"))


QUICK = [as_polars, as_lazy_polars, as_pyarrow, as_duckdb, as_parquet]
DISTRIBUTED = [as_dask, as_pyspark]
ENGINES = [*QUICK, *(pytest.param(e, marks=pytest.mark.scale) for e in DISTRIBUTED)]


def summary(frame, case):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*have one cluster")
        return summarize_items(frame, BY, **CASES[case])


def assert_same(summary, expected):
    assert summary.labels.equals(expected.labels)
    assert summary.labels.names == expected.labels.names
    assert summary.outcome == expected.outcome
    np.testing.assert_array_equal(summary.n, expected.n)
    np.testing.assert_array_equal(summary.n_independent, expected.n_independent)
    np.testing.assert_array_equal(summary.groups, expected.groups)
    # Engines add in different orders: a few units in the last place of the sums.
    np.testing.assert_allclose(summary.z, expected.z, rtol=1e-12)
    np.testing.assert_allclose(summary.sigma2, expected.sigma2, rtol=1e-12)
    pd.testing.assert_frame_equal(
        summary.X, expected.X, check_dtype=False, check_categorical=False, rtol=1e-12
    )
    found, wanted = summary.sampling, expected.sampling
    assert (found.item_correlation is None) == (wanted.item_correlation is None)
    if wanted.item_correlation is not None:
        np.testing.assert_allclose(
            found.item_correlation, wanted.item_correlation, rtol=1e-12, atol=1e-12
        )
    assert found.variance_noise == (
        None if wanted.variance_noise is None else pytest.approx(wanted.variance_noise, rel=1e-9)
    )


@pytest.fixture(scope="module")
def rows():
    return make_rows(1200, n_topics=6)


@pytest.mark.parametrize("case", QUICK_CASES)
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_same_numbers(rows, engine, case, tmp_path):
    assert_same(summary(engine(rows, tmp_path), case), summary(rows, case))


@pytest.fixture
def slices(monkeypatch):
    """Rows are fetched topic by topic."""
    monkeypatch.setattr("skbench.summaries._sharing._ROWS_AT_ONCE", 150)


@pytest.mark.parametrize("case", QUICK_CASES)
def test_topic_by_topic_gives_the_same_numbers(rows, case, slices):
    # A model without three of the topics, another one with items of its own there.
    rows = rows[(rows["model"] != "dan") | (rows["topic"] > "topic 2")]
    own = rows["item"].where((rows["model"] != "bob") | (rows["topic"] > "topic 2"), -rows["item"])
    rows = rows.assign(item=own)
    assert_same(summary(as_lazy_polars(rows, None), case), summary(rows, case))


@pytest.mark.parametrize("kind", ["decimal", "nanoseconds", "one", *map(slow, ["time", "enum"])])
@pytest.mark.parametrize("engine", [as_lazy_polars, slow(as_duckdb)])
def test_topics_of_any_type_are_fetched_whole(rows, engine, kind, slices):
    pl = pytest.importorskip("polars")
    table, number = as_polars(rows, None), pl.col("topic").str.tail(1).cast(pl.Int64)
    kinds = {
        "decimal": number.cast(pl.Decimal(4, 1)) + pl.lit("0.5").cast(pl.Decimal(4, 1)),
        "nanoseconds": (number * 10**9 + 1_700_000_000_000_000_001).cast(pl.Datetime("ns")),
        "time": (number * 10**9).cast(pl.Time),
        "enum": pl.col("topic").cast(pl.Enum([f"topic {i}" for i in range(5, -1, -1)])),
        "one": pl.lit(1),
    }
    table = table.with_columns(topic=kinds[kind])
    arrow = table.to_arrow()
    is_polars = engine is as_lazy_polars
    lazy = table.lazy() if is_polars else pytest.importorskip("duckdb").from_arrow(arrow)
    assert_same(summary(lazy, "binary"), summary(arrow, "binary"))


def test_rows_that_are_fetched_by_topic_are_checked(rows, slices):
    for item, words in (
        (rows["item"].iloc[-4], "1 items"),
        (None, "1 of 1200"),
    ):
        odd = rows.assign(item=rows["item"].astype(float).mask(rows.index == 1199, item))
        odd.loc[1199, "model"] = "ada"
        with pytest.raises(ValueError, match=words):
            summarize_items(as_lazy_polars(odd.convert_dtypes(), None), BY)


@pytest.mark.scale
@pytest.mark.parametrize("engine", [*QUICK, *DISTRIBUTED])
def test_same_numbers_on_a_million_rows(engine, tmp_path):
    many = make_rows(1_000_000, n_topics=50)
    frame = engine(many, tmp_path)
    for case in ("binary", "features in clusters", "continuous in clusters"):
        assert_same(summary(frame, case), summary(many, case))


def test_against_one_group_after_the_other(rows):
    g = summary(rows, "features in clusters")
    for i, label in enumerate(g.labels):
        own = rows[(rows["model"] == label[0]) & (rows["topic"] == label[1])]
        assert g.n[i] == len(own)
        np.testing.assert_allclose(g.z[i], own["score"].mean())
        np.testing.assert_allclose(g.X["length"].iloc[i], own["length"].mean())


@pytest.mark.parametrize("engine", [as_pandas, *ENGINES])
def test_the_same_is_refused(rows, engine, tmp_path):
    def refused(rows, message):
        frame = engine(rows, tmp_path)
        with pytest.raises(ValueError, match=message):
            summarize_items(frame, BY, score="confidence", cluster="passage")
        return frame

    for column in ("model", "topic", "passage", "item", "confidence"):
        holes = rows.convert_dtypes() if column == "item" else rows.copy()
        holes.loc[holes.index[:7], column] = None
        frame = refused(holes, f"7 of 1200 rows .*'{column}'")
    if engine is as_polars:  # nan itself, which the conversion from pandas takes for missing
        with pytest.raises(ValueError, match="7 of 1200 rows"):
            summarize_items(frame.fill_null(float("nan")), BY, score="confidence")
    for value in (np.inf, -np.inf):
        at = rows["confidence"].mask(rows.index == 1100, value)
        refused(rows.assign(confidence=at), "1 of 1200 rows")
    refused(rows.iloc[:0], "no rows")


@pytest.mark.parametrize("engine", [as_pandas, *ENGINES])
def test_double_rows_are_refused_where_ids_are_looked_at(rows, engine, tmp_path):
    twice = engine(pd.concat([rows, rows.iloc[5:7]], ignore_index=True), tmp_path)
    with pytest.raises(ValueError):
        summarize_items(twice, BY)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # those of other libraries are theirs
        g = summarize_items(twice, BY, item=None)
    assert g.n.sum() == 1202
    assert set(g.groups) == set(rows["topic"])


def test_bounded_scores_from_a_path(rows, tmp_path):
    shifted = rows.assign(confidence=rows["confidence"] - 1000)
    expected = betting_estimate(shifted, "topic", "confidence", random_state=0)
    found = betting_estimate(as_parquet(shifted, tmp_path), "topic", "confidence", random_state=0)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)


@pytest.fixture(params=["duckdb", "polars"])
def scanner(request, monkeypatch):
    """One of the two packages that scan Parquet files, the other one as if absent."""
    pytest.importorskip(request.param)
    found = importlib.util.find_spec
    others = {"duckdb", "polars"} - {request.param}
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *package: None if name in others else found(name, *package),
    )


def test_a_file_a_folder_and_a_pattern(rows, tmp_path, scanner):
    for model, part in rows.groupby("model", observed=True):
        folder = tmp_path / f"model={model}"
        folder.mkdir()
        part.drop(columns="model").to_parquet(folder / "part.parquet")
    expected = summarize_items(rows.assign(model=rows["model"].astype(str)), BY)
    for path in (tmp_path, str(tmp_path), str(tmp_path / "*" / "*.parquet")):
        assert_same(summarize_items(path, BY), expected)
    one = summarize_items(tmp_path / "model=bob" / "part.parquet", "topic")
    assert one.n.sum() == 300


def test_paths_that_cannot_be_scanned(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        summarize_items(tmp_path / "nothing", BY)
    with pytest.raises(FileNotFoundError):
        summarize_items(tmp_path, BY)
    (tmp_path / "rows.csv").write_text("model,topic,score\n")
    with pytest.raises(ValueError):
        summarize_items(tmp_path / "rows.csv", BY)
    (tmp_path / "rows.parquet").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError):
        summarize_items(tmp_path / "rows.parquet", BY)


def test_slices_find_what_one_look_finds(rows, tmp_path, scanner, slices):
    """Ids are looked at a few topics at a time."""
    parts = {"shared": rows["item"], "own": np.arange(1200), "twice": rows["item"] // 24 * 24}
    for name, item in parts.items():
        rows.assign(item=item).to_parquet(tmp_path / f"{name}.parquet")
    g = summarize_items(tmp_path / "shared.parquet", BY)
    assert g.groups.tolist() == [str(topic) for _, topic in g.labels]
    own = summarize_items(tmp_path / "own.parquet", BY)
    assert own.groups is None and own.sampling.item_correlation is None
    with pytest.raises(ValueError):
        summarize_items(tmp_path / "twice.parquet", BY)


def test_brackets_in_a_name_are_no_pattern(tmp_path, scanner):
    for name, score in (("r[ab].parquet", 1.0), ("ra.parquet", 0.0)):
        pd.DataFrame({"topic": ["law", "art"], "score": score}).to_parquet(tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups of one item
        right = summarize_items(tmp_path / "r[ab].parquet", by="topic").z
    np.testing.assert_array_equal(right, [1, 1])
