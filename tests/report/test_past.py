"""--past and --bank: earlier models in every command, and refusals in words."""

import numpy as np
import pandas as pd
import pytest
from commands import crossed, parsed, run
from skbench.stats.posterior import posterior_interval
from writing import write

from skbench import extremes
from skbench.bank import ItemBank, UnitLevelModel, choose_items, items_needed
from skbench.report.compare import compare
from skbench.report.estimate import estimate
from skbench.report.leaderboard import leaderboard
from skbench.report.plan import plan
from skbench.report.report import report

N_TOPICS, N_ITEMS = 4, 40
NEW = ["new a", "new b"]


@pytest.fixture(scope="module")
def answers():
    """Eight models on all items, easy to hard by item; number and text ids alike in CSV."""
    rng = np.random.default_rng(3)
    models = [f"old {k}" for k in range(6)] + NEW
    topics = [f"t{k}" for k in range(N_TOPICS)]
    rows = crossed(lambda *cell: 0, model=models, topic=topics, item=range(N_ITEMS))
    rows["item"] += 1000 * rows["topic"].str[1:].astype(int)
    ease = pd.Series(rng.normal(0, 2, rows["item"].nunique()), rows["item"].unique())
    rows["score"] = rng.binomial(1, 1 / (1 + np.exp(-rows["item"].map(ease))))
    return rows


@pytest.fixture(scope="module")
def past(answers):
    return answers[~answers["model"].isin(NEW)]


@pytest.fixture(scope="module")
def asked(answers):
    new = answers[answers["model"].isin(NEW)]
    items = new[new["model"] == NEW[0]].groupby("topic").sample(8, random_state=0)["item"]
    return new[new["item"].isin(items)].reset_index(drop=True)


@pytest.fixture(scope="module")
def files(answers, past, asked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("past")
    text = past.assign(item=past["item"].astype(str))
    text.to_json(folder / "p.jsonl", orient="records", lines=True)
    tables = {f"logs/{name}": rows for name, rows in past.groupby("model")}
    tables |= {"new": asked, "all": answers, "other": past.drop(columns="item")}
    tables["else"] = text.assign(item="x" + text["item"])
    for name, rows in tables.items():
        write(folder / f"{name}.csv", rows)
    ItemBank().fit(past).save(folder / "bank.parquet")
    return folder


@pytest.fixture(scope="module")
def fitted(past, asked):
    return UnitLevelModel(ItemBank().fit(past)).fit(asked, asked["score"])


@pytest.mark.parametrize(
    "source",
    [["--past", "logs"], ["--past", "all.csv"], ["--past", "p.jsonl"], ["--bank", "bank.parquet"]],
    ids=" ".join,
)
def test_estimate_is_that_of_the_unit_level_model(files, fitted, source):
    """From a folder, a file with the new models as well, one with ids as text, and a bank."""
    document = parsed(estimate, files / "new.csv", source[0], files / source[1])
    expected = fitted.estimate(["model", "topic"]).to_frame().sort_index(level=[1, 0])
    found = pd.DataFrame(document["groups"])
    for mine, theirs in [("value", "value"), ("low", "low"), ("high", "high")]:
        np.testing.assert_allclose(found[mine], expected[theirs], atol=1e-6)
    assert document["method"] == "unit level, 6 earlier models"
    assert document["guarantee"] == "posterior"
    assert (found["n"] == 8).all() and found["direct"].notna().all()


def test_notes_have_the_earlier_models_and_the_new_ones_among_them(files):
    notes = run(estimate, files / "new.csv", "--past", files / "all.csv").stderr.splitlines()
    assert any("2 of 8 " in note and "new a, new b" in note for note in notes)
    assert any(
        "earlier models: 6" in note and "160 items" in note and "32" in note for note in notes
    )


def test_by_model_and_a_file_without_models(files, fitted, asked, written):
    found = parsed(estimate, files / "new.csv", "--past", files / "logs", "--by", "model")
    expected = fitted.estimate("model").value
    np.testing.assert_allclose([g["value"] for g in found["groups"]], expected, atol=1e-6)
    one = written(asked[asked["model"] == NEW[0]].drop(columns="model"), "one.csv")
    found = parsed(estimate, one, "--past", files / "logs")
    expected = fitted.estimate(["model", "topic"]).to_frame()[:N_TOPICS]
    # Without the other model the draws are others: means of 2,000.
    away = [g["value"] for g in found["groups"]] - expected["value"]
    assert np.all(np.abs(away) < 6 * expected["standard_error"] / np.sqrt(2000))


@pytest.mark.slow
def test_report_has_the_gain_from_the_past(files, fitted, asked):
    document = parsed(report, files / "new.csv", "--past", files / "logs")
    rows = pd.DataFrame(document["groups"])
    # By hand: eight smoothed Bernoulli answers, against the posterior.
    from skbench import summarize_items

    g = summarize_items(asked, by=["model", "topic"])
    sigma2 = pd.Series(np.asarray(g.sigma2), g.labels).reindex(
        pd.MultiIndex.from_frame(rows[["model", "topic"]])
    )
    as_good = np.median(8 * sigma2.to_numpy() / rows["standard_error"] ** 2)
    assert document["past"]["n_as_good"] == pytest.approx(as_good)
    assert document["past"]["n_models"] == 6
    worst = extremes(fitted.sample(), by="model").to_frame()["low"]
    found = pd.DataFrame(document["extremes"]).set_index(["model", "extreme"])["low"]
    np.testing.assert_allclose(found[worst.index], worst, atol=1e-12)
    text = " ".join(run(report, files / "new.csv", "--past", files / "logs").stdout.split())
    assert "With 6 earlier models, 8 items" in text and f" {as_good:.0f} items without" in text
    assert parsed(report, files / "new.csv")["past"] is None


def test_worst_topic_has_the_past_s_name_where_answers_have_none(files, asked, written):
    named = run(report, files / "new.csv", "--past", files / "logs").stdout
    bare = run(report, written(asked.drop(columns="topic")), "--past", files / "logs").stdout
    sections = [
        text.partition("\nWorst topics\n")[2].partition("\n\n")[0] for text in (named, bare)
    ]
    assert sections[0] == sections[1] != ""


@pytest.mark.parametrize("by", [[], ["topic"]], ids=["items", "topics"])
def test_ranking_and_pairs_are_those_of_the_unit_level_model(files, fitted, by):
    given = [files / "new.csv", "--past", files / "logs"]
    board = parsed(leaderboard, *given, *(f"--topics={name}" for name in by))
    draws = fitted.sample(["model", "topic"] if by else "model")
    values = draws.values.mean(axis=2) if by else draws.values
    for row in board["models"]:
        own = values[:, list(fitted.models_).index(row["model"])]
        assert row["value"] == pytest.approx(own.mean(), abs=1e-12)
        ends = posterior_interval(own)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-12)
    assert board["method"] == "unit level, 6 earlier models"
    pairs = parsed(compare, *given, *(f"--by={name}" for name in by))["pairs"]
    assert len(pairs) == (N_TOPICS if by else 1)
    apart = draws.values[:, 0] - draws.values[:, 1]
    found = sorted(abs(pair["value"]) for pair in pairs)
    expected = sorted(np.atleast_1d(np.abs(apart.mean(axis=0))))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.fixture(scope="module")
def asked_apart(answers):
    """Two new models, ten items of each topic asked of both and ten of either alone."""
    new = answers[answers["model"].isin(NEW)]
    number = new["item"] % 1000
    rng = np.random.default_rng(5)
    place = np.argsort(rng.permutation(N_ITEMS))[number]
    mine = np.where(new["model"] == NEW[0], place < 20, (place >= 10) & (place < 30))
    return new[mine].reset_index(drop=True)


def test_models_asked_different_items_are_ranked_by_all_of_theirs(
    files, past, asked_apart, tmp_path
):
    """One story: ranking, pairs and the table of models rest on the same draws."""
    asked_apart.to_csv(tmp_path / "apart.csv", index=False)
    given = [tmp_path / "apart.csv", "--past", files / "logs"]
    fitted = UnitLevelModel(ItemBank().fit(past)).fit(asked_apart, asked_apart["score"])
    means = dict(zip(fitted.models_, fitted.estimate("model").value, strict=True))
    board = parsed(leaderboard, *given)
    for row in board["models"]:
        assert row["value"] == pytest.approx(means[row["model"]], abs=1e-12)
    pair = parsed(compare, *given)["pairs"][0]
    difference = means[pair["model_a"]] - means[pair["model_b"]]
    assert pair["value"] == pytest.approx(difference, abs=1e-12)
    assert pair["n_items"] == 10 * N_TOPICS
    row = parsed(report, *given)["pairs"][0]
    assert row["value"] == pytest.approx(difference, abs=1e-12)
    if row["verdict"] == "tied":  # beyond the 20 per topic that each was asked
        needed = np.ceil(pair["items_needed"] - 1e-9)
        assert row["more_items"] == needed - 20 * N_TOPICS
        assert row["more_items"] <= (N_ITEMS - 20) * N_TOPICS


def test_blanks_have_no_bounds_with_a_past(files, asked, tmp_path):
    gaps = asked.drop(index=asked.index[asked["model"] == NEW[0]][::3])
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    blank = "% of"
    remarks = parsed(leaderboard, tmp_path / "gaps.csv")["remarks"]
    assert any(blank in words for words in remarks)
    remarks = parsed(leaderboard, tmp_path / "gaps.csv", "--past", files / "logs")["remarks"]
    assert not any(blank in words for words in remarks)


@pytest.mark.parametrize("command", [leaderboard, compare, report], ids=lambda c: c.name)
def test_where_all_items_were_asked_all_is_known(files, answers, command, tmp_path):
    new = answers[answers["model"].isin(NEW)]
    new.to_csv(tmp_path / "all.csv", index=False)
    found = parsed(command, tmp_path / "all.csv", "--past", files / "logs")
    truth = new.groupby("model")["score"].mean()
    for row in found.get("models", []):
        assert row["low"] == row["high"] == pytest.approx(truth[row["model"]])
    (pair,) = found.get("pairs", [None]) or [None]
    if pair is not None:
        apart = truth[pair["model_a"]] - truth[pair["model_b"]]
        assert pair["low"] == pytest.approx(apart) == pair["high"]
        assert pair["verdict"] == ("better" if apart > 0 else "worse" if apart < 0 else "tied")
        assert pair.get("more_items", 0) == 0
    means = new.groupby(["model", "topic"])["score"].mean().unstack()
    for row in found.get("extremes", []):
        worst, best = (means.loc[row["model"]].agg(end) for end in ("min", "max"))
        known = {"worst": worst, "best": best, "gap": best - worst}[row["extreme"]]
        assert row["low"] == row["high"] == pytest.approx(known)


@pytest.mark.slow
def test_plan_holds_what_the_functions_say(files, past, tmp_path):
    output = tmp_path / "items.csv"
    document = parsed(
        plan, "--past", files / "logs", "--half-width", 0.08, "--choose", 12, "--output", output
    )
    bank = ItemBank().fit(past)
    expected = items_needed(bank, 0.08, "model", random_state=0)
    whole = document["plans"][0]
    assert (whole["interval_of"], whole["required_items"]) == ("model", expected.n_items)
    assert whole["required_items_per_topic"] == expected.n_items / N_TOPICS
    chosen = choose_items(bank, 12, random_state=0)
    pd.testing.assert_frame_equal(pd.read_csv(output), chosen, check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == ["items.csv"]


def test_chances_of_chosen_items_are_used_by_every_command(files, answers, past, tmp_path):
    """The column of `plan --choose`, kept with the answers; chances that change the estimates."""
    bank = ItemBank().fit(past)
    chosen = choose_items(bank, 80, random_state=0)
    new = answers[answers["model"].isin(NEW)].merge(chosen)
    new["inclusion_probability"] = np.where(new["score"] == 1, 0.9, 0.1)
    write(tmp_path / "kept.csv", new)
    expected = UnitLevelModel(bank).fit(new, new["score"]).estimate("model").to_frame()
    without = UnitLevelModel(bank).fit(new[list(answers)], new["score"]).estimate("model")
    assert np.abs(without.value - expected["value"]).min() > 0.01
    given = [tmp_path / "kept.csv", "--past", files / "logs"]
    for command, rows, more in (
        (estimate, "groups", ["--by", "model"]),
        (leaderboard, "models", []),
        (report, "models", []),
    ):
        found = {row["model"]: row["value"] for row in parsed(command, *given, *more)[rows]}
        assert found == pytest.approx(expected["value"].to_dict()), command.name
    pair = parsed(compare, *given, *NEW[:2])["pairs"][0]["value"]
    assert pair == pytest.approx(-np.subtract(*expected.loc[NEW[1::-1], "value"]))
    assert "warning: " in run(leaderboard, tmp_path / "kept.csv").stderr


@pytest.mark.parametrize(
    "command, arguments, code, words",
    [
        (estimate, ["--past", "logs", "--bank", "bank.parquet"], 2, "--bank"),
        (estimate, ["--past", "logs", "--method", "eb"], 2, "--method"),
        (leaderboard, ["--past", "logs", "--missing", "wrong"], 2, "--missing wrong"),
        (compare, ["--past", "new.csv"], 1, "--past"),
        (leaderboard, ["--past", "other.csv"], 1, "--past: "),
        (estimate, ["--past", "else.csv"], 1, "32 items"),
        (report, ["--bank", "new.csv"], 1, "skbench: "),
    ],
)
def test_refusals_in_one_line(files, command, arguments, code, words, monkeypatch):
    monkeypatch.chdir(files)
    result = run(command, "new.csv", *arguments)
    assert result.exit_code == code
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--past", "logs", "--effect", 0.1], "--effect"),
        (["--past", "logs", "--choose", 3], "--output"),
        (["--past", "logs", "--chances", "equal"], "--chances"),
        (["--half-width", 0.1], "--half-width"),
    ],
)
def test_plan_refuses(files, arguments, words, monkeypatch):
    monkeypatch.chdir(files)
    result = run(plan, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_past_by_topic_or_in_one_file_is_the_same(answers, tmp_path):
    answers = answers.assign(item=answers["item"] % 1000)  # ids start again in every topic
    is_new = answers["model"].isin(NEW)
    answers[~is_new].to_csv(tmp_path / "past.csv", index=False)
    answers[is_new & (answers["item"] < 9)].to_csv(tmp_path / "new.csv", index=False)
    parts = []
    for topic, rows in answers[~is_new].groupby("topic"):
        parts += ["--past", tmp_path / f"{topic}.csv"]
        rows.to_csv(parts[-1], index=False)
    whole = parsed(estimate, tmp_path / "new.csv", "--past", tmp_path / "past.csv")
    assert parsed(estimate, tmp_path / "new.csv", *parts)["groups"] == whole["groups"]


def test_the_proposed_command_reads_a_wide_past_to_plan_by(tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 2, (60, 5)), columns=[f"m{i}" for i in range(5)])
    wide.assign(item=[f"q{i}" for i in range(60)]).to_csv(tmp_path / "wide.csv", index=False)
    asked = "--past", tmp_path / "wide.csv", "--choose", 20, "--output", tmp_path / "asked.csv"
    refused = run(plan, *asked)
    assert refused.exit_code == 1 and "--models 'm*'" in refused.stderr
    assert run(plan, *asked, "--models", "m*").exit_code == 0
    assert len(pd.read_csv(tmp_path / "asked.csv")) == 20
