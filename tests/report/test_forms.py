"""What commands print for programs, papers and job pages, and what they never send."""

import csv
import html
import io
import itertools
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import parsed, run
from writing import write

from skbench._numbers import markdown_text
from skbench.datasets import make_items
from skbench.report.compare import compare
from skbench.report.estimate import estimate
from skbench.report.formats import as_csv
from skbench.report.gate import gate
from skbench.report.headline import listed
from skbench.report.leaderboard import leaderboard
from skbench.report.report import report
from skbench.report.writers import latex_text

EVIL = "=cmd|'x'!A1\r=1;=2\n=3 de|l \x1b[31m\x1b]0;own\x07 \u202e <script> a&b_c"


@pytest.fixture(scope="module")
def items():
    made = make_items(n_models=3, n_topics=6, n_items=10, random_state=0).items
    return made[["model", "topic", "item", "score"]]


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(tmp_path_factory.mktemp("forms") / "results.csv", items)


@pytest.fixture(scope="module")
def evil_file(items, tmp_path_factory):
    """A model and a topic whose names are up to no good."""
    names = {items[name].iloc[0]: f"{EVIL} {name}" for name in ("model", "topic")}
    evil = items.replace({"model": names, "topic": names})
    text = evil.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
    return write(tmp_path_factory.mktemp("forms") / "evil.csv", text)


@pytest.mark.parametrize(
    "arguments",
    [
        (report,), (report, "--markdown"), (report, "--latex"), (report, "--json"), (leaderboard,),
        (compare,), (estimate,), (estimate, "--markdown"), (compare, "--by", "topic"),
        (report, "--fail-under", 0.99), (report, "--fail-if-worse-than", "\x1b[5m"),
    ],
    ids=str,
)  # fmt: skip
def test_control_characters_of_names_are_shown_and_not_sent(evil_file, arguments):
    command, *options = arguments
    result = run(command, evil_file, *options)
    assert result.exit_code in (0, 3) or options[-1] == "\x1b[5m"
    sent = set(result.stdout + result.stderr) - {"\n"}
    assert not {c for c in sent if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"}
    assert "x1b" in result.stdout + result.stderr or "u001b" in result.stdout


def test_page_holds_no_control_characters(evil_file, tmp_path):
    page = tmp_path / "report.html"
    assert run(report, evil_file, "--html", page).exit_code == 0
    text = page.read_text()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert r"\x1b[31m" in text and "<script> a&" not in text


@pytest.mark.parametrize("command", [estimate, leaderboard, compare])
def test_csv_has_a_line_for_each_row_and_runs_nothing_where_that_is_asked(evil_file, command):
    key = {estimate: "groups", leaderboard: "models", compare: "pairs"}[command]
    n = 1 + len(parsed(command, evil_file)[key])
    for options in ([], ["--escape-formulas"]):
        text = run(command, evil_file, "--csv", *options).stdout
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len(rows) == n == text.count("\n") == 1 + len(pd.read_csv(io.StringIO(text)))
        is_run = [cell for row in rows for cell in row if re.match("[=+@]|-[^0-9]", cell.lstrip())]
        assert bool(is_run) != bool(options)
    assert run(command, evil_file, "--json", "--escape-formulas").exit_code == 2


def test_csv_keeps_texts_apart():
    texts = ["".join(parts) for parts in itertools.product("\\x07\x07", "\\x0", "07\x07", "7x")]
    written = as_csv(pd.DataFrame({"model": texts}), is_safe=False).splitlines()[1:]
    assert len(set(written)) == len(texts) and not {"\x07", "\x00"} & set("".join(written))
    plain = [r"C:\new", r"a\b", r"\xyz"]
    assert as_csv(pd.DataFrame({"model": plain}), is_safe=False).splitlines()[1:] == plain


@pytest.mark.parametrize("command", [estimate, leaderboard, compare])
def test_tables_of_papers_have_the_numbers_of_json(file, command):
    key = {estimate: "groups", leaderboard: "models", compare: "pairs"}[command]
    numbers = [row["low"] for row in parsed(command, file)[key]]
    markdown = run(command, file, "--markdown").stdout
    cells = [line.split(" | ") for line in markdown.splitlines() if line.startswith("| ")]
    assert len({len(row) for row in cells}) == 1 and "x0a" not in markdown
    at = len(cells[0]) - 1 - [name.strip("| ") for name in cells[0]][::-1].index("low")
    assert [float(row[at]) for row in cells[2:]] == pytest.approx(numbers, abs=5e-4)
    latex = run(command, file, "--latex").stdout
    body = latex.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    found = [float(row.split(" & ")[at].strip(" \\")) for row in body]
    assert found == pytest.approx(numbers, abs=5e-4)


def test_markup_means_nothing_in_names():
    assert markdown_text("a|b_c <d> & *e*") == r"a\|b\_c \<d\> &amp; \*e\*"
    assert latex_text(r"50% of $x_1$ \ok {~^}") == (
        r"50\% of \$x\_1\$ \textbackslash{}ok \{\textasciitilde{}\textasciicircum{}\}"
    )


def test_two_forms_exclude_each_other(file):
    commands = [(command, file) for command in (estimate, leaderboard, compare, report)]
    for arguments in (*commands, (gate, file, file, "--margin", 0.1)):
        result = run(*arguments, "--json", "--markdown")
        assert result.exit_code == 2 and "--markdown" in result.stderr


def test_summary_is_added_to_what_the_job_has_written(file, tmp_path):
    page = tmp_path / "summary.md"
    page.write_text("# Job\n")
    assert run(report, file, "--summary", page, "--fail-under", 0.99).exit_code == 3
    text = page.read_text()
    assert text.startswith("# Job\n## ") and "\n\n**" in text
    assert "--fail-under 0.99" in text and "| model | ranks |" in text and "| topic |" not in text


def test_headline_follows_from_the_verdicts(file):
    document = parsed(report, file)
    best = document["ranking"]["may_be_best"]
    first, *others = document["headline"]
    assert first.startswith(best[0])
    assert all(name in " ".join(document["headline"]) for name in best[:3])
    clear = sum(row["verdict"] in ("better", "worse") for row in document["pairs"])
    assert any(sentence.startswith(f"{clear} of 3 pairs ") for sentence in others)
    text = " ".join(run(report, file).stdout.split())
    assert " ".join(document["headline"]) in text
    assert text.index(first) < text.index("Ranking") < text.index("Topics and models")
    assert listed("abcdef") == "a, b, c and 3 others"


def test_headline_begins_with_what_is_in_doubt(items, tmp_path):
    """Percent beside shares, one model under two names."""
    items = items.drop(columns="topic")
    percent = items.assign(score=items["score"].mask(items["model"] == "model-1", 100.0))
    named = items.assign(model=items["model"].replace("model-1", "Model-0 "))
    cases = [
        (percent, "'model-1'"),
        (named, "'Model-0 '"),
    ]
    for table, doubt in cases:
        path, page = tmp_path / "doubtful.csv", tmp_path / "page.html"
        table.to_csv(path, index=False)
        first = parsed(report, path, "--html", page)["headline"][0]
        assert first.startswith("Check first: ") and doubt in first
        headline = re.search('<p class="headline">(.*?)</p>', page.read_text(), re.DOTALL)[1]
        assert html.unescape(headline).startswith(first)
    text = " ".join(run(report, path).stdout.split())
    assert text.index(first) < text.index("best") < text.index("Ranking")
    assert f"**{markdown_text(first)}" in run(report, path, "--markdown").stdout


def test_report_holds_no_folder_of_the_machine(file, items, tmp_path, monkeypatch):
    folder = tmp_path / "secret" / "logs"
    folder.mkdir(parents=True)
    items.to_csv(folder / "results.csv", index=False)
    page, summary = folder / "page.html", folder / "summary.md"
    options = ["--html", str(page), "--summary", str(summary)]
    monkeypatch.setattr(sys, "argv", ["skbench", "report", str(folder), f"--html={page}"])
    texts = [
        run(report, folder, *options, *form).stdout for form in ([], ["--json"], ["--markdown"])
    ]
    for text in (*texts, page.read_text(), summary.read_text()):
        assert "secret" not in text.partition("\nNext:\n")[0]  # commands have paths as typed
    assert json.loads(texts[1])["command_line"] == "skbench report logs --html=page.html"


def test_report_uses_features_or_reports_that_it_does_not(items, tmp_path):
    path = tmp_path / "features.csv"
    hardness = items["topic"].astype("category").cat.codes
    items.assign(hardness=hardness).to_csv(path, index=False)
    without = run(report, path, "--json")
    assert "not used: hardness (--features)" in without.stderr
    assert json.loads(without.stdout)["features"] == []
    with_it = parsed(report, path, "--features", "hardness")
    assert with_it["features"] == ["hardness"]
    for options, rows in (([], json.loads(without.stdout)["groups"]),
                          (["--features", "hardness"], with_it["groups"])):  # fmt: skip
        same = parsed(estimate, path, *options)["groups"]
        rows = pd.DataFrame(rows).drop(columns="worst_probability")
        pd.testing.assert_frame_equal(pd.DataFrame(same), rows)


@pytest.mark.parametrize(("wish", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_where_none_is_wanted(wish, colored):
    code = "from skbench.report.terminal import working\nwith working('ranking') as report: report(1, 2)"
    look = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | look | wish
    )
    assert "ranking" in done.stderr
    assert bool(re.search(r"\x1b\[[\d;]*3\d", done.stderr)) == colored


def test_models_of_one_group_each_have_no_peers(written):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"model": np.repeat(list("abc"), 40), "item": np.tile(np.arange(40), 3)})
    rows["score"] = (rng.random(120) < 0.7).astype(int)
    printed = {}
    for name, topic in (("one", "t"), ("two", np.where(rows["item"] < 20, "t", "u"))):
        path = written(rows.assign(topic=topic), f"{name}.csv")
        printed[name] = CliRunner().invoke(report, [str(path)]).stdout
    assert "outlier" in printed["two"] and "outlier" not in printed["one"]
