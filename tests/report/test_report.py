"""`skbench report`: one set of numbers in print, as JSON and as a page."""

import io
import json
import os
import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import commands
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import crossed
from writing import write

import skbench.report
from skbench.comparison import compare_models, extremes, leaderboard
from skbench.datasets import make_items
from skbench.groups import MixedModel
from skbench.report import page
from skbench.report.cli import main
from skbench.report.compare import compare
from skbench.report.estimate import estimate
from skbench.report.leaderboard import leaderboard as leaderboard_command
from skbench.report.page import SHADES
from skbench.report.report import report
from skbench.report.sections import bar
from skbench.summaries import summarize_items

LOOSELY = {"check_names": False, "check_dtype": False, "check_index_type": False}
PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "report.rst"
TEMPLATES = Path(skbench.report.__file__).parent / "templates"

run = partial(commands.run, report)
parsed = partial(commands.parsed, report)


@pytest.fixture(scope="module")
def items():
    items = make_items(n_models=3, n_topics=12, n_items=15, random_state=0).items
    items = items.assign(item=items["topic"].astype(str) + "/" + items["item"].astype(str))
    return items[["model", "topic", "item", "score"]]


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(tmp_path_factory.mktemp("report") / "results.csv", items)


@pytest.fixture
def page_of(written, tmp_path):
    """The text of the page of a table, or of a file."""

    def page_of(results, *options):
        path = results if isinstance(results, Path) else written(results)
        assert run(path, *options, "--html", tmp_path / "page.html").exit_code == 0
        return (tmp_path / "page.html").read_text()

    return page_of


@pytest.fixture(scope="module")
def document(file):
    return parsed(file)


def test_ranking_and_pairs_are_those_of_the_functions(document, items):
    board = leaderboard(items).to_frame().rename(columns={"estimate": "value"})
    models = pd.DataFrame(document["models"]).set_index("model")
    models["ties"] = models["ties"].map("".join)
    pd.testing.assert_frame_equal(models, board, check_dtype=False, check_index_type=False)
    pairs = pd.DataFrame(document["pairs"])
    expected = compare_models(items, adjust="bonferroni").to_frame().reset_index()
    np.testing.assert_allclose(pairs["p_value"], expected["p_value"], rtol=1e-12)
    clear = (expected["low"] > 0) | (expected["high"] < 0)
    words = np.where(clear, np.where(expected["difference"] > 0, "better", "worse"), "tied")
    assert pairs["verdict"].tolist() == words.tolist()
    more = np.ceil(expected["items_needed"] - 1e-9) - expected["n_items"]
    np.testing.assert_array_equal(pairs["more_items"], np.where(clear, 0, np.maximum(more, 0)))


def test_worst_topics_are_those_of_the_joint_draws(document, items, file, page_of, written):
    g = summarize_items(items, ["model", "topic"])
    draws = MixedModel().fit(**g.fit_args).sample(2000, random_state=0)
    found, expected = pd.DataFrame(document["extremes"]), extremes(draws, by="model")
    table = pd.DataFrame(expected.to_frame()).sort_index()
    assert found["model"].drop_duplicates().tolist() == [row["model"] for row in document["models"]]
    found = found.set_index(["model", "extreme"])
    pd.testing.assert_frame_equal(found.sort_index(), table, **LOOSELY)
    groups = pd.DataFrame(document["groups"]).set_index(["model", "topic"])
    pd.testing.assert_series_equal(
        groups["worst_probability"].sort_index(),
        expected.worst_probability.sort_index(),
        **LOOSELY,
    )
    printed, shown = " ".join(run(file).stdout.split()), page_of(file)
    for model in items["model"].unique():
        low, high = found.loc[(model, "worst"), ["low", "high"]]
        likely = expected.worst_probability[model].idxmax()
        for text in (printed, shown):
            line = text.rpartition(f"{model}: ")[2][:200]
            assert re.search(rf"{low:.3f} \w+ {high:.3f}", line) and f"{likely} (" in line
    three = items["topic"].isin(items["topic"].unique()[:3])
    assert "\nWorst topics\n" not in run(written(items[three], "three.csv")).stdout


def test_every_key_is_documented(document):
    text = PAGE.read_text()

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value[:1]:
                yield from keys(inner)

    missing = {key for key in keys(document) if f"``{key}``" not in text}
    assert not missing


def test_print_reports_what_was_read_and_omitted(file, capsys):
    with pytest.raises(SystemExit):
        main(["report", str(file), "--rows", "5"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("540 ") and "results.csv" in lines[0]
    assert lines[0].endswith("3 models, 12 topics, 180 items")
    assert any(line.startswith("31 more rows ") and "--rows all" in line for line in lines)
    assert sum("●" in line for line in lines) == 5


def test_numbers_in_print_are_those_in_json(file, document):
    shown = [line.split() for line in run(file).stdout.splitlines() if "●" in line]
    for cells, row in zip(shown, document["groups"], strict=True):
        assert cells[:2] == [row["model"], f"{row['n']}"]
        numbers = [row[name] for name in ("direct", "value", "low", "high")]
        assert [float(cell) for cell in cells[2:6]] == pytest.approx(numbers, abs=5e-4)


def test_pairs_without_a_p_value_are_no_ties(page_of, written):
    table = crossed(lambda m, t, i: m == "a", model="ab", topic="st", item=range(9))
    path = written(table.drop(columns="item").astype({"score": int}))
    assert [row["verdict"] for row in parsed(path)["pairs"]] == ["unknown"]
    assert "(+1.000, unknown" in run(path).stdout
    assert "unknown against" in page_of(path)


def test_names_are_printed_as_they_are(items, written):
    models = dict(zip(items["model"].unique(), ["gpt[v1]", "gpt[v2]", ":smile:"], strict=True))
    topics = {items["topic"].iloc[0]: "math[easy]", items["topic"].iloc[-1]: "use [/INST]"}
    lines = run(written(items.replace({"model": models, "topic": topics}))).stdout.splitlines()
    names = [re.split(r" +\d", line.strip())[0] for line in lines]
    assert set(topics.values()) <= set(names)
    for name in models.values():
        assert names.count(name) == 12 + 1  # topics, and the ranking


def test_bars_are_plain_where_stdout_lacks_the_characters(file):
    result = CliRunner(charset="cp1252").invoke(report, [str(file)])
    assert result.exit_code == 0, result.stderr
    assert "●" not in result.stdout
    assert re.search(r"\|-*o-*\|", result.stdout)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 0, ""),
        (["--fail-under", "0.01"], 0, "--fail-under 0.01"),
        (["--fail-under", "0.99"], 3, "--fail-under 0.99"),
        (["--fail-under", 30], 1, "--fail-under 30"),
    ],
)
def test_exit_codes(file, options, code, words):
    result = run(file, *options)
    assert result.exit_code == code
    assert words in result.stderr


def test_score_between_the_ends_of_an_interval_is_undecided(file, document):
    row = document["models"][0]
    result = run(file, "--fail-under", (row["low"] + row["high"]) / 2)
    lowest = document["models"][-1]
    assert result.exit_code == (3 if lowest["high"] < (row["low"] + row["high"]) / 2 else 0)


def test_fail_if_worse_than_follows_the_verdicts(file, document):
    for model in [row["model"] for row in document["models"]]:
        lost = [(model, "better") == (pair["model_a"], pair["verdict"])
                or (model, "worse") == (pair["model_b"], pair["verdict"])
                for pair in document["pairs"]]  # fmt: skip
        assert run(file, "--fail-if-worse-than", model).exit_code == (3 if any(lost) else 0)


def test_one_model_without_a_model_column(written):
    rng = np.random.default_rng(0)
    table = crossed(lambda t, i: rng.integers(2), topic=range(10), item=range(12))
    result = run(written(table.drop(columns="item")), "--fail-under", 0.99)
    assert "1 model, 10 topics" in result.stdout
    assert "Pairs" not in result.stdout
    assert result.exit_code == 3


def test_models_on_different_items_are_warned_about(items, written):
    path = written(items.assign(item=items["model"] + items["item"]), "apart.csv")
    document = parsed(path)
    assert {row["verdict"] for row in document["pairs"]} == {"unknown"}
    assert document["warnings"]
    headline = document["headline"]
    assert any(sentence.startswith("3 of 3 pairs") for sentence in headline)
    assert not any("items would" in sentence for sentence in headline)
    pairs = run(path).stdout.partition("Pairs\n")[2].partition("\n\n")[0]
    assert pairs.count("\n- model-") == 3 and "(unknown" not in pairs


def test_equal_totals_are_a_tie_that_no_items_decide(written):
    epochs = [(1, 0, 0), (1, 1, 0), (1, 1, 1)]
    levels = {"model": ["ada", "bob"], "item": range(99), "epoch": range(3)}
    path = written(crossed(lambda m, i, e: epochs[(i + (m == "bob")) % 3][e], **levels))
    text = run(path).stdout
    assert "(0.000, " in text or "(+0.000, " in text
    (pair,) = parsed(path)["pairs"]
    assert (pair["value"], pair["more_items"]) == (0, None)


def test_one_model_with_one_item_stops_nothing(items, written, tmp_path):
    single = items[items["model"] == items["model"].iloc[0]].iloc[:1].assign(model="single")
    path = written(pd.concat([items, single]))
    result = run(path, "--html", tmp_path / "single.html", "--fail-under", 0.01)
    assert result.exit_code == 0, result.stderr
    warnings = " ".join(result.stdout.partition("\nWarnings\n")[2].split())
    assert "1 of 4 models" in warnings and "'single'" in warnings
    models = parsed(path)["models"]
    (row,) = [row for row in models if row["model"] == "single"]
    assert (row["rank_low"], row["rank_high"], row["standard_error"]) == (1, 4, None)


def test_intervals_of_right_and_wrong_in_clusters_stay_in_range(written):
    rng = np.random.default_rng(0)
    ease = {"ada": 0.9, "bob": 0.1, "cyd": 0.5}
    table = crossed(lambda m, *_: rng.random() < ease[m], model=ease, topic="tu", cluster=range(3))
    rows = table.loc[table.index.repeat(5)].astype({"score": int}).reset_index(drop=True)
    rows["cluster"] = rows["topic"] + rows["cluster"].astype(str)
    path = written(rows.assign(item=rows["cluster"] + (rows.index % 5).astype(str)))
    document = parsed(path)
    for name, least in (("groups", 0), ("models", 0), ("pairs", -1)):
        rows = pd.DataFrame(document[name])
        assert rows["low"].min() >= least and rows["high"].max() <= 1
        assert (rows["low"] == least).any() or (rows["high"] == 1).any()
    for command, option in ((estimate, "--by=topic"), (leaderboard_command, "--topics=topic")):
        for options in ([], [option]):
            result = CliRunner().invoke(command, [str(path), "--csv", *options])
            written = pd.read_csv(io.StringIO(result.stdout))
            assert written["low"].min() >= 0 and written["high"].max() <= 1


def test_items_without_topics(items, written, page_of):
    path = written(items.drop(columns="topic"))
    text = run(path).stdout
    assert text.splitlines()[0].endswith("results.csv: 3 models, 180 items")
    assert "\nModels\n" in text
    document = parsed(path)
    counts = [document[f"n_{name}"] for name in ("models", "topics", "items", "scores")]
    assert counts == [3, 0, 180, 540]
    assert not any(" ids " in text for text in document["warnings"])
    assert "topic</button>" not in page_of(path)


def test_small_topics_are_warned_about(items, written):
    first = items["topic"] == items["topic"].iloc[0]
    few = items[~first | (items.groupby(["model", "topic"]).cumcount() < 3)]
    warned = parsed(written(few))["warnings"]
    assert any(text.startswith("3 of 36 groups ") for text in warned)


class Tags(HTMLParser):
    """Collects tags, cells and everything that would load something."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.loaded, self.opened = 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.rows += tag == "tr"
        # Fragments of the picture refer to parts of itself.
        self.loaded += [
            value
            for name, value in attrs
            if name in ("src", "href", "xlink:href") and not value.startswith(("#", "data:"))
        ]


def test_page_is_self_contained_whole_and_the_same_in_every_run(file, page_of, document):
    text = page_of(file)
    assert page_of(file) == text
    tags = Tags(text)
    assert tags.loaded == []
    assert not re.search(r"url\((?!#)|@import|<link[^>]+stylesheet", text)
    counts = [len(document[name]) for name in ("groups", "models", "pairs")]
    # Each with a head; the matrix of pairs, the heat map, and two heads of tables of items.
    assert tags.rows == sum(counts) + 3 + (counts[1] + 1) + (document["n_topics"] + 1) + 2
    for row in document["models"]:
        assert row["model"] in text


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "</script>", "<!--items--><script>"])
def test_names_cannot_inject_markup(items, page_of, evil):
    columns = ["model", "topic", "item"]
    text = page_of(items.replace({column: {items[column].iloc[0]: evil} for column in columns}))
    assert Tags(text).opened.count("script") == text.count("</script>") == 3  # our own
    assert evil in [item[1] for item in embedded(text)["items"]]


def embedded(text):
    """The table of items of a page."""
    return json.loads(text.partition('id="scores">')[2].partition("</script>")[0])


def test_page_holds_the_score_of_every_item(file, items, page_of):
    table = embedded(page_of(file))
    columns = ["topic", "item", *table["models"]]
    found = pd.DataFrame(table["items"], columns=columns)
    found["topic"] = found["topic"].map(dict(enumerate(table["topics"])))
    found = found.melt(["topic", "item"], var_name="model", value_name="score")
    keys = ["model", "topic", "item"]
    expected = items.astype({"topic": str}).sort_values(keys, ignore_index=True)
    found = found[expected.columns].sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert table["binary"] and table["n_items"] == len(table["items"]) == 180


def test_what_a_page_cannot_hold_is_in_files_beside_it(file, items, tmp_path, monkeypatch):
    small = tmp_path / "small.html"
    monkeypatch.setattr(page, "_MOST_ROWS", (30,))
    run(file, "--html", small)
    size = len(small.read_bytes())
    monkeypatch.setattr(page, "MOST_BYTES", size - 1000)
    result = run(file, "--html", small)
    text = small.read_text()
    assert len(text.encode()) <= size - 1000
    for name in ("items", "groups"):
        assert f"small.{name}.csv" in result.stderr and f"small.{name}.csv" in text
    assert len(pd.read_csv(tmp_path / "small.groups.csv")) == 36 and "6 more groups" in text
    scores = pd.read_csv(tmp_path / "small.items.csv").set_index(["topic", "item"])
    expected = items.pivot(index=["topic", "item"], columns="model", values="score")
    pd.testing.assert_frame_equal(
        scores.sort_index(axis=1).sort_index(), expected.sort_index(), **LOOSELY
    )
    table = embedded(text)
    assert len(table["items"]) < table["n_items"] == 180
    on_page = scores.index.get_level_values("item").isin([item[1] for item in table["items"]])
    right = (scores == 1).all(axis=1)
    assert right.any() and not right[on_page].any()  # what every model got right goes first
    tables = sorted(p.name for p in tmp_path.glob("*.csv"))
    assert tables == ["small.groups.csv", "small.items.csv"]
    assert run(file, "--html", os.devnull).exit_code == 1


def test_items_without_names_are_not_listed(items, page_of):
    text = page_of(items.drop(columns="item"))
    assert 'id="items"' not in text and 'id="scores"' not in text


def test_rows_of_a_table_with_a_column_per_model_are_items(items, written, page_of):
    """As in `skbench compare`: pairs by row, whether or not a column numbers the rows."""
    wide = items.pivot(index="item", columns="model", values="score").reset_index(drop=True)
    given = written(wide), "--models", "model-*"
    document = parsed(*given)
    assert document["n_items"] == len(embedded(page_of(*given))["items"]) == 180
    assert not any(" ids " in text for text in document["warnings"])
    pairs = commands.parsed(compare, *given)["pairs"]
    for row, expected in zip(document["pairs"], pairs, strict=True):
        assert row["low"] == pytest.approx(expected["low"], abs=1e-12)


def test_title_names_data_date_models_and_past(file, items, document, tmp_path, monkeypatch):
    page, earlier = tmp_path / "report.html", tmp_path / "earlier.csv"
    items.assign(model="old-" + items["model"]).to_csv(earlier, index=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for options, past in ([], "none"), (["--past", earlier], "3"):
        run(file, *options, "--html", page)
        text = page.read_text()
        names = ", ".join(row["model"] for row in document["models"])
        assert "<title>results.csv, 3 models, 1970-01-02: skbench report</title>" in text
        assert f"<dt>Models</dt><dd>{names}</dd><dt>Earlier models</dt><dd>{past}</dd>" in text
        markdown = run(file, *options, "--markdown").stdout
        assert f"- Models: {names}\n- Earlier models: {past}\n" in markdown
    document = parsed(file)
    assert (document["data"], document["date"]) == ("results.csv", "1970-01-02")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert "SOURCE_DATE_EPOCH is 'yesterday'" in run(file).stderr


def test_names_on_the_page_are_text_as_they_stand(items, page_of):
    names = dict(zip(items["model"].unique(), ["模型", "in $ and $", "m"], strict=True))
    items = items.assign(model=items["model"].map(names)).rename(columns={"score": r"$\won_$"})
    text = page_of(items, "--score", r"$\won_$")
    figure = text.partition("<figure")[2].partition("</figure>")[0]
    for text in ("模型", "in $ and $", r"$\won_$: score"):
        assert text in figure


def test_page_draws_the_values_of_the_table(file, page_of, document):
    text = page_of(file)
    heat = text.partition('id="heat"')[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row" class="name" title="([^"]*)">.*?</tr>', heat)
    assert rows == sorted({row["topic"] for row in document["groups"]})
    shades = re.findall(r'<td class="s(\d)[^"]*">([\d.]+)!?</td>', heat)
    estimates = {f"{row['value']:.2f}"[1:] for row in document["groups"]}
    assert {text for _, text in shades} == estimates
    assert len(shades) == len(document["groups"])
    order = sorted(shades, key=lambda cell: float(cell[1]))
    assert [int(k) for k, _ in order] == sorted(int(k) for k, _ in shades)
    matrix = text.partition('id="matrix"')[2].partition("</table>")[0]
    signs = re.findall(r'<td class="(better|worse|tied|unknown)">', matrix)
    verdicts = [row["verdict"] for row in document["pairs"]]
    assert len(signs) == 2 * len(verdicts)
    assert signs.count("tied") == 2 * verdicts.count("tied")


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_words_stand_out_from_every_shade(theme):
    def luminance(color):
        linear = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in linear]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    block = re.findall(r":root {(.*?)}", (TEMPLATES / "report.css").read_text(), re.DOTALL)[theme]
    colors = dict(re.findall(r"--([\w-]+): (#\w{3,6});", block))
    colors = {
        k: "#" + v[1] * 2 + v[2] * 2 + v[3] * 2 if len(v) == 4 else v for k, v in colors.items()
    }
    below = ["page", "band", "better", "worse", *(f"s{k}" for k in range(SHADES))]
    pairs = [("text", name) for name in below]
    pairs += [("muted", "page"), ("muted", "band"), ("warn", "warn-page")]
    for words, ground in pairs:
        a, b = sorted((luminance(colors[words]), luminance(colors[ground])))
        assert (b + 0.05) / (a + 0.05) >= 4.5, (words, ground)  # WCAG 2, level AA


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (0.5, 0.0, 1.0, "├───●───┤"),
        (1.0, 0.5, 1.0, "    ├───●"),
        (0.0, 0.0, 0.0, "●"),
        (np.nan, 0.0, 1.0, ""),
    ],
)
def test_bar(value, low, high, expected):
    assert bar(value, low, high, axis=(0, 1), width=9) == expected


def test_one_group_keeps_its_direct_estimate(written):
    scores = [1, 1, 0, 1]
    path = written(crossed(lambda m, t, i: scores[i], model="m", topic="t", item=range(4)))
    (row,) = parsed(path)["groups"]
    assert (row["value"], row["low"]) == (row["direct"], row["direct_low"])
    few, small = parsed(path)["warnings"]
    assert "1 group," in few
    assert "1 of 1 groups" in small and "5 items" in small


def test_names_are_text_in_json_whatever_they_look_like(written):
    levels = {"model": (1, 2), "topic": (9, 10), "item": range(8)}
    path = written(crossed(lambda m, t, i: i * m % 3 % 2, **levels))
    document = parsed(path)
    tables = [document[name] for name in ("groups", "models", "pairs")]
    tables.append(commands.parsed(estimate, path, "--method", "direct")["groups"])
    tables.append(commands.parsed(leaderboard_command, path)["models"])
    tables.append(commands.parsed(compare, path, "--by", "topic")["pairs"])
    for rows in tables:
        labels = [row[key] for row in rows for key in row if key.startswith(("model", "topic"))]
        assert set(labels) <= {"1", "2", "9", "10"}
    assert [row["topic"] for row in document["groups"]] == ["9", "9", "10", "10"]
