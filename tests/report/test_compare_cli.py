"""`skbench compare`: the figures of the function, in words and tables."""

import io
import json
import re
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest
from writing import write

from skbench.comparison import compare_models
from skbench.datasets import make_items
from skbench.report.compare import compare

run = partial(commands.run, compare)
parsed = partial(commands.parsed, compare)


@pytest.fixture(scope="module")
def items():
    items = make_items(n_models=3, n_topics=4, n_items=30, random_state=0).items
    return items.assign(item=items["topic"].astype(str) + "/" + items["item"].astype(str))


@pytest.fixture(scope="module")
def names(items):
    return sorted(items["model"].unique())


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("pairs") / "results.csv", items[["model", "topic", "item", "score"]]
    )


def in_frame(document):
    frame = pd.DataFrame(document["pairs"]).drop(columns="verdict")
    frame = frame.rename(columns={"value": "difference"})
    keys = list(frame.columns[: frame.columns.get_loc("difference")])
    return frame.set_index(keys)


def test_two_models_in_words(file, items, names):
    result = run(file, *names[:2])
    expected = compare_models(items, *names[:2])
    text = " ".join(result.stdout.split())
    assert text.startswith(" ".join(expected.sentences()))
    assert "120 shared items" in text


@pytest.mark.parametrize("arguments, adjust", [([], "bonferroni"), (["--adjust", "holm"], "holm")])
def test_all_pairs_are_adjusted_by_default(file, items, arguments, adjust):
    document = parsed(file, *arguments)
    expected = compare_models(items, adjust=adjust)
    # JSON keeps all digits of a float.
    pd.testing.assert_frame_equal(
        in_frame(document), expected.to_frame(), check_dtype=False, check_index_type=False
    )
    assert document["method"] == expected.estimate.method
    assert document["test"] == "McNemar, exact"


def test_topics_one_by_one(file, items, names):
    document = parsed(file, *names[:2], "--by", "topic")
    expected = compare_models(items, *names[:2], by="topic", adjust="bonferroni").to_frame()
    assert np.isinf(expected["items_needed"].iloc[0])  # equal scores; JSON knows no infinity
    expected = expected.replace(np.inf, np.nan)
    pd.testing.assert_frame_equal(
        in_frame(document), expected, check_dtype=False, check_index_type=False
    )


def test_csv_and_table_hold_the_same_numbers(file):
    read = pd.read_csv(io.StringIO(run(file, "--csv").stdout))
    lines = run(file).stdout.splitlines()
    assert "Bonferroni for 3" in " ".join(lines)
    for row in read.itertuples():
        shown = next(line for line in lines if line.split()[:2] == [row.model_a, row.model_b])
        assert float(shown.split()[2]) == pytest.approx(row.value, abs=5e-4)
    clear = read["verdict"].isin(["better", "worse"]).sum()
    assert clear == ((read["low"] > 0) | (read["high"] < 0)).sum() > 0
    assert lines[0].startswith(f"{clear} of 3 differences")


def test_models_called_by_numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    rows = [f"{m},{i},{(i * m) % 3 == 0:d}" for m in (1, 2) for i in range(12)]
    path.write_text("model,item,score\n" + "\n".join(rows))
    result = run(path, "2", "1")
    assert result.exit_code == 0 and result.stdout.startswith("2 ")


def test_one_topic_of_a_benchmark_is_compared_on_its_items(tmp_path):
    answers = "".join(
        f"{t},{i},{(i + len(t)) % 3 % 2}\n" for t in ("law", "maths") for i in range(9)
    )
    (tmp_path / "old.csv").write_text("topic,item,score\n" + answers)
    (tmp_path / "new.csv").write_text("topic,item,score\n" + answers[: answers.index("maths")])
    result = run(tmp_path / "old.csv", tmp_path / "new.csv", "--json")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["n_items"], pair["value"]) == (9, 0)


def test_real_clusters(data_folder):
    result = run(data_folder / "livecodebench_execution.csv.gz", "GPT-4-Turbo-1106", "Claude-2")
    text = " ".join(result.stdout.split())
    assert " 7.1 (standard error 3.9" in text
    assert "479 shared items" in text and "47%" in text
    assert re.search("'question_id' .*cluster", result.stderr)


def test_population_of_topics_of_two_columns(tmp_path, monkeypatch):
    commands.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    sizes = {(f"topic-{i}", half): 50 + i + half for i in range(4) for half in (0, 1)}
    asked = [f"--population={topic} / {half}={n}" for (topic, half), n in sizes.items()]
    found = in_frame(parsed("r.csv", "--by", "topic,half", *asked))
    expected = compare_models(pd.read_csv("r.csv"), by=["topic", "half"], population=sizes)
    np.testing.assert_allclose(found["low"], expected.estimate.low)
    assert "topic 'zz'" in run("r.csv", "--by", "topic,half", "--population", "zz=5").stderr


@pytest.mark.parametrize("kind", ["uint64", str])
def test_two_files_may_write_ids_in_two_ways(tmp_path, kind):
    """Blank answers are to the same items, and large ids stay apart."""
    ids = pd.Series(np.arange(40) + 2**62)
    tables = {"a": ids % 3 == 0, "b": ids % 4 == 0, "c": ids % 4 == 0}
    for name, right in tables.items():
        own = ids.astype(kind) if name == "c" else ids
        table = pd.DataFrame({"id": own, "score": right.where(ids.index != 3, np.nan)})
        table.astype({"score": float}).to_parquet(tmp_path / f"{name}.parquet")
    options = [tmp_path / "a.parquet", "--missing", "wrong"]
    first, second = (parsed(*options, tmp_path / f"{name}.parquet") for name in "bc")
    assert first["pairs"][0] == second["pairs"][0] | {"model_b": "b"}
    assert first["pairs"][0]["n_items"] == 40
