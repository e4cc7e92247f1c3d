"""Ends of intervals on the command line: cut to the range of the score where it is known."""

import json

import numpy as np
import pytest
from commands import crossed, run

from skbench.items.ranges import known_range
from skbench.readers import read_with_notes
from skbench.report.compare import compare
from skbench.report.estimate import estimate
from skbench.report.gate import gate
from skbench.report.leaderboard import leaderboard
from skbench.report.plan import plan
from skbench.report.reading import score_range
from skbench.report.report import report

COMMANDS = [
    (estimate, ["--method", "direct"], "groups"),
    (estimate, [], "groups"),
    (report, [], "groups"),
    (leaderboard, [], "models"),
]


def percentages(seed=0):
    """Scores from 0 to 100, of which most are near an end."""
    rng = np.random.default_rng(seed)
    levels = {"model": ["ada", "bob"], "topic": [f"t{i}" for i in range(6)], "item": range(6)}
    rows = crossed(lambda *cell: 0, **levels)
    rows["score"] = np.round(100 * rng.beta(0.1, 4, len(rows)), 1)
    rows.loc[rows["model"] == "bob", "score"] = 100 - rows["score"]
    return rows


@pytest.fixture
def table(written):
    return written(percentages(), "percent.csv")


def lm_eval_log(folder, score):
    """Samples of one model whose metric has this name."""
    for topic, rows in percentages().query("model == 'ada'").groupby("topic"):
        lines = [
            json.dumps({"doc_id": i, "target": "", "resps": [], "filtered_resps": [], score: value})
            for i, value in enumerate(rows["score"])
        ]
        (folder / f"samples_{topic}_2026-01-01T00-00-00.jsonl").write_text("\n".join(lines))
    return folder


def ends(result, name):
    rows = json.loads(result.stdout)[name]
    return [r["low"] for r in rows], [r["high"] for r in rows]


def test_differences_are_within_the_width_of_the_range(written):
    path = written("model,item,score\na,1,100\nb,1,0\na,2,90\nb,2,5\n", "few.csv")
    (low,), (high,) = ends(run(compare, path, "a", "b", "--json"), "pairs")
    assert high > 100
    bounded = ends(run(compare, path, "a", "b", "--bounds", 0, 100, "--json"), "pairs")
    # Two items: a third at the bound is all that keeps the low end from -100.
    assert (bounded[0][0], bounded[1]) == (-100, [100])
    assert low > -100


@pytest.mark.parametrize(("command", "options", "name"), COMMANDS)
def test_a_range_that_is_given(table, command, options, name):
    free = run(command, table, *options, "--json")
    low, high = ends(free, name)
    assert min(low) < 0 or max(high) > 100
    assert "--bounds LOW HIGH" in free.stderr
    bounded = run(command, table, *options, "--bounds", 0, 100, "--json")
    cut = np.clip([low, high], 0, 100)
    found = np.array(ends(bounded, name))
    assert found.min() >= 0 and found.max() <= 100
    # One worst case more of direct scores widens, and bounds cut.
    assert (name == "models" or "direct" in options) or found.tolist() == cut.tolist()
    assert np.mean(found[1] - found[0]) >= np.mean(cut[1] - cut[0])
    assert "--bounds" not in bounded.stderr
    wrong = run(command, table, *options, "--bounds", 0, 90)
    assert wrong.exit_code == 1 and " 0 to 90" in wrong.stderr


def test_a_range_that_the_program_defines(tmp_path):
    """TruthfulQA's bleu_max runs from 0 to 100; a score of another name is not guessed at."""
    for score, least in (("bleu_max", 0), ("my_score", -np.inf)):
        folder = tmp_path / score
        folder.mkdir()
        result = run(estimate, lm_eval_log(folder, score), "--method", "direct", "--json")
        low, _ = ends(result, "groups")
        assert (min(low) == 0) if least == 0 else (min(low) < 0)


def test_a_definition_that_the_scores_contradict(tmp_path):
    """f1 in percent is not the f1 that is known."""
    rows = read_with_notes(lm_eval_log(tmp_path, "f1"))
    assert known_range(rows.formats, "f1") == (0, 1)
    assert score_range(rows) is None
    rows.items["score"] /= 100
    assert score_range(rows) == (0, 1)


def test_ranges_of_several_scores():
    assert known_range(["lm-eval"], ["acc", "exact_match"]) == (0, 1)
    assert known_range(["lm-eval"], ["acc", "bleu_max"]) is None
    assert known_range(["lm-eval", "table"], "acc") is None


@pytest.mark.parametrize("option", ["--fail-under", "--margin", "--worst", "--effect"])
def test_percent_of_scores_needs_a_known_range(table, option, written):
    """99% is no 0.99 points of a hundred, nor 99 of scores that may have another end."""
    rows = percentages()
    both = [written(rows[rows["model"] == name], f"{name}.csv") for name in ("ada", "bob")]
    by = ["--by", "topic"]
    before = {
        "--fail-under": (report, [table]),
        "--margin": (gate, both),
        "--worst": (gate, [*both, "--margin", 3, *by]),
        "--effect": (plan, [table]),
    }
    command, given = before[option]
    result = run(command, *given, option, "99%")
    assert result.exit_code == 1 and f"{option} 99%: " in result.stderr
    if option != "--effect":
        ends = ["--bounds", 0, 100]
        found = [run(command, *given, option, x, *ends) for x in ("99%", 99)]
        assert found[0].exit_code == found[1].exit_code != 1
        texts = [one.stdout.partition("\nNext:\n")[0] for one in found]  # as typed
        assert texts[0] == texts[1]
        result = run(command, *given, option, "99%", "--bounds", 0, 500)
        assert result.exit_code == 1 and "%: " in result.stderr


def test_percent_of_a_spread_that_no_share_has_is_refused():
    result = run(plan, "--std", 30, "--effect", "3%")
    assert result.exit_code == 1 and "--effect 3%: " in result.stderr
    assert run(plan, "--std", 0.3, "--effect", "3%").exit_code == 0
