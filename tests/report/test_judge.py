"""`skbench judge`: numbers, output and errors."""

import io
import json
import re

import commands
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import LinearRegression
from writing import write

from skbench import EmpiricalBayes
from skbench.datasets import make_judged_items
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean
from skbench.report.judge import judge
from skbench.report.labeled_rows import read_judged

COLUMNS = ["--judge", "autorater", "--human", "human"]


def run(file, *arguments):
    """Run `skbench judge` in this process."""
    columns = [] if "--judge" in arguments else COLUMNS
    return commands.run(judge, file, *columns, *arguments)


def groups_of(result):
    assert result.exit_code == 0, result.stderr
    return pd.DataFrame(json.loads(result.stdout)["groups"])


def found_in(file, *arguments):
    """The rows of the command as JSON."""
    return groups_of(run(file, *arguments, "--json"))


@pytest.fixture(scope="module")
def items():
    """15 topics of 80 answers, 9 of them labeled, none in the first topic."""
    data = make_judged_items(15, 80, [0] + [9] * 14, drift=0.5, random_state=0)
    return data.items.rename(columns={"group": "topic"})


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(tmp_path_factory.mktemp("judged") / "judged.csv", items)


# One benchmark ----------------------------------------------------------------------


def test_json_holds_what_the_estimators_say(file, items):
    row = found_in(file, "--confidence-level", 0.9).iloc[0]
    chain = ChainRulePPI().fit(items["autorater"], items["human"])
    alone = ClassicalMean().fit(items["autorater"], items["human"]).estimate(0.9)
    off = PPIMean(bounds=(-1, 1))
    off.fit(items["autorater"], items["autorater"] - items["human"])
    corrected, off = chain.estimate(0.9), off.estimate(0.9)
    # JSON keeps all digits of a float.
    expected = {
        "n_rows": 1200,
        "n_labeled": 126,
        "judge": items["autorater"].mean(),
        "labels_only": alone.value[0],
        "labels_only_low": alone.low[0],
        "value": chain.estimate_,
        "low": corrected.low[0],
        "high": corrected.high[0],
        "standard_error": chain.standard_error_,
        "bias": items["autorater"].mean() - chain.estimate_,
        "bias_low": items["autorater"].mean() - chain.estimate_ - (off.value[0] - off.low[0]),
        "effective_sample_size": chain.effective_sample_size_,
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-12), name
    assert row["group"] is None


def test_output(file, items):
    result = run(file)
    row = found_in(file).iloc[0]
    conclusion, grid, *_ = result.stdout.split("\n\n")
    assert f"{row['value']:.3f}" in conclusion and "1,200" in conclusion
    assert "autorater" in conclusion and "126" in conclusion
    table = [line.split() for line in grid.splitlines()[2:6]]
    for cells, at, value in ((table[0], -1, row["judge"]), (table[2], -3, row["value"])):
        # Three digits: 0.4425 is shown as 0.442.
        assert float(cells[at]) == pytest.approx(value, abs=5.01e-4)
    text = " ".join(result.stdout.split())
    saved = row["effective_sample_size"] - 126
    assert f" {saved:,.0f} labels" in text and f" {row['effective_sample_size']:,.0f} " in text
    assert "chain rule (exact)" in text and "95% intervals (posterior)" in text


@pytest.mark.parametrize(
    ("changed", "arguments", "method"),
    [
        ({}, (), "chain rule (exact)"),
        ({}, ("--cluster", "topic"), "PPI++ (t)"),
        ({"autorater": lambda t: t["autorater"] + t.index / 1e5}, (), "PPI++ (t)"),
        ({"human": lambda t: 0.5 * t["human"]}, (), "PPI++ (t)"),
        ({"autorater": lambda t: 1 + t["autorater"] * 5 + t.index % 5}, (), "PPI++ (t)"),
        ({"human": lambda t: t["human"].where(t.index % 9 < 1)}, (), "PPI++ (wilson)"),
        ({"human": lambda t: t["autorater"]}, (), "classical (wilson)"),
    ],
)
def test_method_suits_the_data(items, written, changed, arguments, method):
    path = written(items.assign(**changed))
    assert commands.parsed(judge, path, *COLUMNS, *arguments)["method"] == method


def test_groups_of_many_labels_keep_the_chain_rule(written):
    items = make_judged_items(3, 300, 100, random_state=0).items
    result = run(written(items), "--by", "group", "--json")
    assert json.loads(result.stdout)["method"] == "chain rule (exact)"


def test_clusters_are_used(items, written):
    items = items.assign(question=np.arange(len(items)) % 40)
    row = found_in(written(items), "--cluster", "question").iloc[0]
    expected = PPIMean().fit(items["autorater"], items["human"], cluster=items["question"])
    assert row["standard_error"] == pytest.approx(expected.standard_error_, rel=1e-12)


def test_clusters_of_one_answer_change_nothing(written):
    """Enough labels for the chain rule, and a cluster column without effect."""
    items = make_judged_items(1, 400, [150], drift=0.2, random_state=0).items
    items["answer"] = range(len(items))
    file = written(items)
    plain, same = run(file, "--json"), run(file, "--json", "--cluster", "answer")
    assert json.loads(same.stdout) == json.loads(plain.stdout)


def test_words_are_converted(items, written):
    plain = found_in(written(items))
    verdicts = items["autorater"].map({1: "Yes", 0: "no"})
    labels = items["human"].map({1: "correct", 0: "Incorrect"})
    words = found_in(written(items.assign(autorater=verdicts, human=labels)))
    pd.testing.assert_frame_equal(words, plain)


def test_abstentions_are_a_verdict_of_their_own(written):
    items = make_judged_items(4, 300, 60, abstention=0.2, random_state=1).items
    result = run(written(items), "--json")
    row = groups_of(result).iloc[0]
    decided = items.loc[items["autorater"] != "u", "autorater"]
    assert row["judge"] == pytest.approx((decided == "y").mean(), rel=1e-12)
    chain = ChainRulePPI().fit(items["autorater"], items["human"])
    assert row["value"] == pytest.approx(chain.estimate_, rel=1e-12)
    assert f"{len(items) - len(decided)} of 1200 verdicts" in result.stderr
    assert "('u')" in result.stderr


def test_a_judge_on_another_scale_has_no_bias(items, written):
    stars = items.assign(autorater=1 + 3 * items["autorater"] + items.index % 2)
    assert "bias" not in run(written(stars)).stdout
    assert found_in(written(stars))["bias"].isna().all()


def test_rows_without_a_verdict_are_skipped_and_counted(items, written):
    holes = items.assign(autorater=items["autorater"].where(items.index % 3 > 0))
    result = run(written(holes), "--json")
    lost = int(holes.loc[holes["autorater"].isna(), "human"].notna().sum())
    assert re.search(rf"400 of 1200 rows .*autorater.* {lost} ", result.stderr)
    assert groups_of(result)["n_rows"].item() == 800


def test_all_labeled_is_a_check_of_the_judge(items, written):
    labeled = items[items["human"].notna()]
    text = run(written(labeled)).stdout
    assert "labels only" not in text and "corrected" not in text
    assert "classical (wilson)" in text


def test_bias_is_paired_with_the_labels(written):
    rng = np.random.default_rng(0)
    human = rng.integers(0, 2, 400)
    same = found_in(written(pd.DataFrame({"autorater": human, "human": human})))
    assert same["bias"].item() == 0
    assert 0 < same["bias_high"].item() < 0.02
    assert same["bias_low"].item() == pytest.approx(-same["bias_high"].item())
    judged = np.where(rng.random(400) < 0.15, 1 - human, human)
    table = pd.DataFrame({"autorater": judged, "human": human, "half": np.arange(400) % 2})
    for by in ([], ["--by", "half"]):
        rows = found_in(written(table), *by)
        n = rows["n_rows"].iloc[0]
        off = (judged - human)[:: 400 // n]
        half_width = (rows["bias_high"] - rows["bias_low"])[0] / 2
        assert half_width == pytest.approx(t.ppf(0.975, n - 1) * off.std() / n**0.5, rel=0.1)


@pytest.mark.slow
def test_coverage_of_the_bias(written):
    """200 sets of 200 answers with 40 labels; the judge errs on 3% of each class."""
    rng, hits = np.random.default_rng(1), []
    truth = 0.03 * 0.45 - 0.03 * 0.55
    for _ in range(200):
        human = (rng.random(200) < 0.55).astype(float)
        autorater = np.where(rng.random(200) < 0.03, 1 - human, human)
        human[40:] = np.nan
        file = written(pd.DataFrame({"autorater": autorater, "human": human}))
        rows = found_in(file)
        hits.append(rows["bias_low"].item() <= truth <= rows["bias_high"].item())
    assert np.mean(hits) >= 0.93


def test_labels_in_percent_raise_a_warning(written):
    human = np.where(np.arange(100) < 40, 100.0 * (np.arange(100) % 2), np.nan)
    result = run(written(pd.DataFrame({"autorater": np.arange(100) % 2, "human": human})))
    assert "'autorater'" in result.stderr and "'human'" in result.stderr and "100" in result.stderr


USELESS = make_judged_items(1, 2000, 1000, sensitivity=0.5, specificity=0.5, random_state=2).items


@pytest.mark.parametrize(
    ("judged", "by", "n"),
    [
        (lambda items: items.assign(autorater=1), [], "126"),
        (lambda items: items.assign(autorater=1), ["--by", "topic"], "126"),
        (lambda items: USELESS, [], "1,000"),
    ],
)
def test_constant_and_useless_judges_save_no_labels(items, written, judged, by, n):
    text = " ".join(run(written(judged(items)), *by).stdout.split())
    assert "no labels" in text and f" {n} human labels" in text


def test_a_column_may_have_brackets_in_its_name(items, written):
    named = written(items.rename(columns={"autorater": "j[/b]"}))
    for by in ([], ["--by", "topic"]):
        result = run(named, "--judge", "j[/b]", "--human", "human", *by)
        assert result.exit_code == 0, result.stderr
        assert "j[/b]" in result.stdout


# Groups -----------------------------------------------------------------------------


def test_groups_are_shrunk_and_the_unlabeled_predicted(file, items):
    result = run(file, "--by", "topic", "--json", "--seed", 3)
    found = groups_of(result).set_index("group")
    g = GroupedPPI(random_state=3)
    with pytest.warns(UserWarning, match="human label"):
        g.fit(items["autorater"].rename("judge"), items["human"], items["topic"])
    eb = EmpiricalBayes(LinearRegression(), random_state=3).fit(**g.summary_.fit_args)
    estimate = eb.estimate().to_frame()
    labeled = found.iloc[1:]
    for name, column in (("value", "value"), ("low", "low"), ("high", "high")):
        np.testing.assert_allclose(labeled[name], np.clip(estimate[column], 0, 1), rtol=1e-9)
    predicted = eb.predict(g.features_.loc[["group-00"]])
    np.testing.assert_allclose(found.loc["group-00", "value"], predicted, rtol=1e-9)
    np.testing.assert_allclose(labeled["corrected"], g.estimate().value[1:], rtol=1e-9)
    assert pd.isna(found.loc["group-00", "corrected"])
    assert json.loads(result.stdout)["guarantee"] == "average over groups"
    assert "human label" not in result.stderr


def test_few_groups_are_not_shrunk(items, written):
    few = items[items["topic"].isin([f"group-{i:02d}" for i in range(1, 7)])]
    found = found_in(written(few), "--by", "topic").set_index("group")
    alone = GroupedPPI(PPIMean(), random_state=0).fit(
        few[["autorater"]], few["human"], few["topic"]
    )
    np.testing.assert_allclose(found["value"], alone.estimate_, rtol=1e-9)
    text = " ".join(run(written(few), "--by", "topic").stdout.split())
    assert "Fewer than 10 groups" in text and "shrunken" not in text


def test_csv_and_table_hold_the_same_numbers(file, monkeypatch):
    read = pd.read_csv(io.StringIO(run(file, "--by", "topic", "--csv").stdout))
    monkeypatch.setenv("COLUMNS", "200")
    text = run(file, "--by", "topic").stdout
    lines = [line for line in text.splitlines() if line.startswith("group-")]
    assert len(lines) == len(read) == 15
    for line, row in zip(lines, read.itertuples(), strict=True):
        cells = [cell for cell in line.split()[1:] if cell != "unknown"]
        assert min(abs(float(cell) - row.value) for cell in cells) <= 5.01e-4
        assert str(row.n_labeled) in cells
    assert re.search(r"Groups without a human label .*: 1\.", " ".join(text.split()))


def test_several_columns_make_a_group(items, written):
    split = items.assign(half=items.index % 2)
    found = found_in(written(split), "--by", "topic,half")
    assert found["group"].iloc[1] == "group-00 / 1"
    assert len(found) == 30


def test_seed_reproduces(file):
    first, second, other = (run(file, "--by", "topic", "--csv", "--seed", s) for s in (1, 1, 2))
    assert first.stdout == second.stdout != other.stdout


# Labels in a second file --------------------------------------------------------------


@pytest.fixture
def two_files(items, written):
    verdicts = written(items.drop(columns="human"), "verdicts.csv")
    labels = items.loc[items["human"].notna(), ["item", "human"]].sample(frac=1, random_state=0)
    return verdicts, labels


def test_labels_are_joined_by_id(file, two_files, written):
    verdicts, labels = two_files
    result = run(verdicts, "--labels", written(labels, "labels.csv"), "--id", "item", "--json")
    assert result.stdout == run(file, "--json").stdout


def test_numbers_are_one_id_however_they_are_written(items, written):
    verdicts = items.drop(columns="human").assign(item=np.arange(len(items)))
    labels = items[["human"]].assign(item=np.arange(len(items), dtype=float)).dropna()
    files = written(verdicts, "v.csv"), "--labels", written(labels, "l.csv")
    assert found_in(*files, "--id", "item")["n_labeled"].item() == 126


def test_numbers_that_are_written_differently_are_two_groups_and_two_ids(written):
    rows = [("3.1", 1, 1), ("3.1", 0, 0), ("3.10", 1, 1), ("3.10", 1, 0)] * 9
    table = pd.DataFrame(rows, columns=["version", "autorater", "human"])
    groups = found_in(written(table), "--by", "version")
    assert groups["group"].tolist() == ["3.1", "3.10"]
    table = table.head(4)
    labels = written(table[["version", "human"]].drop_duplicates("version"), "labels.csv")
    verdicts = written(table.drop(columns="human").drop_duplicates("version"))
    joined = found_in(verdicts, "--labels", labels, "--id", "version")
    assert joined["n_labeled"].item() == 2


def test_labels_without_a_row_are_counted(two_files, written):
    verdicts, labels = two_files
    labels = pd.concat([labels, pd.DataFrame({"item": ["strange"], "human": [1.0]})])
    result = run(verdicts, "--labels", written(labels, "labels.csv"), "--id", "item", "--json")
    assert "1 of 127 labels" in result.stderr and "verdicts.csv" in result.stderr
    assert groups_of(result)["n_labeled"].item() == 126


def test_ids_that_repeat_or_do_not_match_are_refused(two_files, written):
    verdicts, labels = two_files
    cases = [
        (verdicts, pd.concat([labels, labels[:2]]), "2 of 128 rows of .*labels.csv"),
        (verdicts, labels.assign(item="x" + labels["item"]), "126 ids in .*'xgroup-"),
    ]
    for rows, table, words in cases:
        result = run(rows, "--labels", written(table, "labels.csv"), "--id", "item")
        assert result.exit_code == 1 and result.stdout == ""
        assert pd.Series([result.stderr]).str.contains(words).item(), result.stderr
    twice = pd.concat([pd.read_csv(verdicts)] * 2)
    path = written(labels, "labels.csv")
    result = run(written(twice, "twice.csv"), "--labels", path, "--id", "item")
    assert "--id" in result.stderr and "twice.csv" in result.stderr


# Errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "arguments", "words"),
    [
        ({"human": np.nan}, (), "1200 rows .*'autorater' .*'human'"),
        ({"topic": None}, ("--by", "topic"), "'topic' .*1200 of 1200 rows .*row 1"),
        ({"topic": lambda t: t["item"]}, ("--by", "topic"), "labels"),
    ],
)  # fmt: skip
def test_data_errors_take_one_line_and_exit_1(items, written, changed, arguments, words):
    result = run(written(items.assign(**changed)), *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("skbench: ")
    assert re.search(words, result.stderr.splitlines()[-1])


# Real results -----------------------------------------------------------------------


def test_open_question_answering(data_folder):
    """Table 4 of Hofer et al.: exact match is too strict, but it saves labels."""
    path = data_folder / "openqa_nq.csv.gz"
    by_system = run(path, "--judge", "em", "--human", "human", "--by", "system", "--json")
    found = groups_of(by_system).set_index("group")
    rows = read_judged(path, "em", "human", by=["system"])
    for name, row in found.iterrows():
        mine = rows.groups == name
        assert row["judge"] == pytest.approx(rows.scores[mine].mean())
        assert row["labels_only"] == pytest.approx(np.nanmean(rows.human[mine]))
    assert (found["bias_high"] < 0).all()
    assert (found["effective_sample_size"] > 1.2 * found["n_labeled"]).all()
    checked = run(path, "--judge", "gpt4_eval", "--human", "human")
    assert re.search(r"16559 of 18050 rows .*gpt4_eval, 4 ", checked.stderr)
    assert "labels only" not in checked.stdout
