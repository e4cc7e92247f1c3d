"""What commands on several models refuse alike."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from skbench.readers import read_with_notes
from skbench.report import reading
from skbench.report.compare import compare
from skbench.report.gate import gate
from skbench.report.leaderboard import leaderboard
from skbench.report.report import report


def test_clusters_that_restart_in_every_topic_are_reported(written):
    rows = [f"{m},{t},{t}{i},{i // 3},{i % 2}" for m in "ab" for t in "xyz" for i in range(9)]
    path = written("\n".join(["model,topic,item,passage,score", *rows]))
    result = CliRunner().invoke(compare, [str(path), "--cluster", "passage"])
    assert "3 clusters" in result.stderr


def test_files_that_name_topics_by_other_columns_are_refused(tmp_path):
    for name, rows in {
        "a": "subject,topic,item,score\ns,t,1,1\n",
        "b": "subject,item,score\ns,1,1\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(rows)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    for files, words in ((paths, "subject, topic"), ([tmp_path], "b.csv'")):
        result = CliRunner().invoke(compare, [*map(str, files), "--by", "subject"])
        assert result.exit_code == 1 and words in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", [compare, leaderboard, report])
@pytest.mark.parametrize("column", ["model", "system"])
def test_models_are_no_topics(written, command, column):
    path = written(f"{column},task,item,score\na,t,1,1\na,t,2,0\nb,t,1,0\nb,t,2,1\n", "models.csv")
    option = "--topics" if command is leaderboard else "--by"
    for by in (column, f"task,{column}"):
        result = CliRunner().invoke(command, [str(path), option, by])
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"skbench: {option} {column} " in result.stderr


@pytest.mark.parametrize(
    ("option", "rival"), [("score", "score"), ("item", "item"), ("by", "category")]
)
def test_two_reads_take_the_columns_that_both_have(written, option, rival):
    text = "model,subject,id,correct\n" + "".join(f"{{}},t,{i},{i % 2}\n" for i in range(9))
    new, lines = written(text.replace("{}", "new"), "new.csv"), text.splitlines()
    rows = [f"{lines[0]},{rival}"]
    rows += [f"{row.format(m)},{i}" for m in "abc" for i, row in enumerate(lines[1:])]
    earlier = written("\n".join(rows), "past.csv")
    name = {"score": "correct", "item": "id", "by": "subject"}[option]
    calls = [
        (leaderboard, [new, "--past", earlier]),
        (gate, [earlier, new, "--margin", "0.1", "--baseline", "a"]),
    ]
    for command, (first, *others) in calls:
        asked = "--topics" if (command, option) == (leaderboard, "by") else f"--{option}"
        arguments = [str(first), *map(str, others)]
        refused = CliRunner().invoke(command, arguments)
        assert refused.exit_code == 1 and f"Pass {asked} {name}." in refused.stderr
        assert CliRunner().invoke(command, [*arguments, asked, name]).exit_code in (0, 3, 4)


def test_an_absent_answer_has_a_model_and_an_item_only(tmp_path):
    rows = pd.DataFrame({"model": list("aaaabbb"), "item": [*range(4), *range(3)], "score": 1})
    rows = rows.assign(date=rows["model"].map({"a": "2024-01", "b": "2025-02"}))
    rows = rows.assign(year=2024, level=10 * rows["item"], length=range(7))
    for i, some in enumerate((rows, rows[::-1])):
        some.to_csv(tmp_path / f"{i}.csv", index=False)
        read = reading.with_missing(read_with_notes(tmp_path / f"{i}.csv"), "wrong").items
        (absent,) = read[(read["model"] == "b") & (read["item"] == 3)].to_dict("records")
        assert np.isnan(absent.pop("length"))
        about = {"date": "2025-02", "year": 2024, "level": 30}
        assert absent == {"model": "b", "item": 3, "score": 0.0} | about
