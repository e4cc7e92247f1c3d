"""HELM, Every Eval Ever, promptfoo and EuroEval: against what was put in, or their own sums."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from make_fixtures import ANSWERS, QUESTIONS
from reading import FOLDER, message, notes_of
from writing import write_lines

from skbench import MeanRankScore, RepeatedRuns
from skbench.readers import read_items, read_with_notes


@pytest.mark.parametrize("model", ["alpha", "beta"])
@pytest.mark.parametrize("task", ["capitals", "sums"])
def test_helm_scores_are_the_answers(model, task):
    """Instances are not in the order of the questions: HELM numbers them before it draws."""
    read = read_with_notes(FOLDER / "helm")
    of_both = read.items["model"].eq(f"ours/{model}"), read.items["topic"].eq(f"ours:task={task}")
    found = read.items[np.logical_and(*of_both)]
    letters = ANSWERS[model, task][: len(QUESTIONS[task])]
    assert found["score"].tolist() == 2 * [float(letter == "r") for letter in letters]
    assert found["repeat"].tolist() == len(letters) * [1] + len(letters) * [2]
    assert read.columns["cluster"] == read.columns["item"]


def test_helm_metric():
    read = read_with_notes(FOLDER / "helm", format="helm")
    assert re.search(r"'exact_match' .* 2 topics \(not quasi_exact_match", notes_of(read))
    assert read_items(FOLDER / "helm", score="num_prompt_tokens")["score"].min() > 10
    assert "bleu" in message(FOLDER / "helm", score="bleu")


def helm_entry(i, name="exact_match", mean=1.0, **more):
    stat = {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean}
    return {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [stat]} | more


def helm_log(written, *entries):
    return written(list(entries), "per_instance_stats.json")


def test_helm_skips_perturbed_questions_with_a_note(written):
    perturbed = helm_entry(1, mean=0.0, perturbation={"name": "typos"})
    read = read_with_notes(helm_log(written, helm_entry(1), perturbed), format="helm")
    assert read.items["score"].tolist() == [1.0]
    assert "skipped 1 answers" in notes_of(read)
    assert "run_spec.json" in notes_of(read)


def test_helm_refuses_a_repeated_instance_and_an_unusual_metric(written):
    path = helm_log(written, helm_entry(1), helm_entry(1, "f1_score", 0.5), helm_entry(1, mean=0))
    assert "repeats" in message(path)
    read = read_with_notes(path, skip_bad_lines=True, format="helm")
    assert read.items["score"].tolist() == [1.0]
    assert "skipped 1 " in notes_of(read) and "(entry 3" in notes_of(read)
    assert "toxicity" in message(helm_log(written, helm_entry(1, "toxicity")))


@pytest.mark.parametrize("options", [{}, {"score": "acc_norm"}])
def test_every_eval_ever_is_what_it_was_converted_from(options):
    """Both metrics and both filters of every sample."""
    found = []
    for folder, files in (("every_eval_ever", "*.jsonl"), ("lm_eval/two_models", "samples_*")):
        files = [f for f in (FOLDER / folder).rglob(files) if not options or "free" not in str(f)]
        scores = read_items(files, **options).set_index(["model", "topic", "item"])["score"]
        found.append(scores.to_dict())
    assert found[0] == found[1]


def test_every_eval_ever_folder_has_nothing_unknown():
    read = read_with_notes(FOLDER / "every_eval_ever")
    assert "ignored" not in notes_of(read)
    assert re.search(r"'acc' .* 2 topics \(not acc_norm", notes_of(read))


def test_every_eval_ever_bad_lines(tmp_path):
    line = {"evaluation_id": "e", "model_id": "m", "evaluation_name": "t", "sample_id": "1"}
    good = line | {"evaluation": {"score": 1.0, "is_correct": True}}
    other = good | {"sample_id": "2", "evaluation": {"score": "high"}}
    path = tmp_path / "x.jsonl"
    write_lines(path, good, good, other, line | {"sample_id": "3", "evaluation": {}})
    assert "repeats" in message(path)
    read = read_with_notes(path, skip_bad_lines=True)
    assert len(read.items) == 1
    assert "skipped 2 " in notes_of(read) and "(first line 2: repeats" in notes_of(read)
    assert "dropped 2 of 3 rows" in notes_of(read)


ONCE = FOLDER / "promptfoo" / "once" / "once.json"


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_promptfoo_scores_are_its_own_sums(kind):
    read = read_with_notes(ONCE.with_suffix(f".{kind}"), topic="testCase.metadata.topic")
    scores = read.items["score"]
    stats = json.loads(ONCE.read_text())["results"]["stats"]
    assert (scores.sum(), (1 - scores).sum()) == (stats["successes"], stats["failures"])
    assert len(scores) == 20 - stats["errors"] == 19
    assert set(read.items["topic"]) == set(QUESTIONS)
    assert re.search(r"'success' .*'once' \(not score, how", notes_of(read))
    assert scores.groupby(read.items["model"]).mean().to_dict() == {"echo": 0.0, "knowing": 8 / 9}


def test_promptfoo_repeats_and_prompts():
    read = read_with_notes(FOLDER / "promptfoo" / "repeated", format="promptfoo")
    assert set(read.items["repeat"]) == {1, 2}
    assert read.items["model"].nunique() == 4
    assert "prompt" in notes_of(read)
    assert (read.items.groupby(["model", "item"]).size() == 2).all()
    assert read.columns["cluster"] == read.columns["item"]


def test_promptfoo_on_one_line(written):
    compact = read_items(written(json.dumps(json.loads(ONCE.read_text())), "once.json"))
    assert compact["score"].tolist() == read_items(ONCE)["score"].tolist()


def promptfoo_result(prompt, success):
    return {"provider": "p", "prompt": {"label": prompt}, "vars": {}, "success": success,
            "score": 1, "promptIdx": 0, "testIdx": 0}  # fmt: skip


def test_promptfoo_prompts_in_names_are_short_and_distinct(tmp_path):
    prompts = ["Be brief.\n\n{{q}}", "Be brief. {{q}}", "x" * 70 + "a", "x" * 70 + "b", "y\tz\n"]
    for name, some in (("v1.0.jsonl", prompts[:3]), ("v1.1.jsonl", prompts[2:])):
        write_lines(tmp_path / name, *(promptfoo_result(p, p == prompts[1]) for p in some))
    items = read_items(tmp_path)
    assert list(dict.fromkeys(items["model"])) == [
        "p | Be brief. {{q}} (1)",
        "p | Be brief. {{q}} (2)",
        f"p | {'x' * 57}... (1)",
        f"p | {'x' * 57}... (2)",
        "p | y z",
    ]
    assert items["score"].tolist() == [0, 1, 0, 0, 0, 0]
    assert set(items["topic"]) == {"v1.0", "v1.1"}


def test_promptfoo_named_score():
    prompts = json.loads(ONCE.read_text())["results"]["prompts"]
    for score in ("score", "how"):
        sums = read_items(ONCE, score=score).groupby("model")["score"].sum()
        for prompt in prompts:
            metrics = prompt["metrics"]
            # Its sum of a named score counts the weight of the assertion, 0.5.
            own = {"how": metrics["namedScores"]["how"] / 0.5, "score": metrics["score"]}
            # promptfoo adds up in another order.
            assert sums[prompt["provider"]] == pytest.approx(own[score], rel=1e-12)
        assert sums.nunique() == 2


@pytest.mark.parametrize("version", ["version_18", "version_16", "scandeval"])
def test_euroeval_versions(version):
    read = read_with_notes(FOLDER / "euroeval" / version)
    assert read.columns["score"] == ("mcc" if version == "scandeval" else "test_mcc")
    assert len(read.items) == 2 * 2 * 2 * 10
    assert read.items["model"].nunique() == 4, "few-shot and zero-shot are two models"
    assert "RepeatedRuns" in notes_of(read)
    means = read.items.groupby(["model", "topic"])["score"].mean()
    # Level, ease, and the mean of 0, .01, ... .09, as make_fixtures has them.
    expected = [0.5 + 0.1 + 0.045, 0.5 + 0.045] * 2 + [0.6 + 0.1 + 0.045, 0.6 + 0.045] * 2
    np.testing.assert_allclose(means, expected, rtol=1e-12)


@pytest.mark.parametrize("version", ["version_18", "version_16"])
def test_euroeval_to_ranks_in_one_call(version):
    items = read_items(FOLDER / "euroeval" / version)
    assert (items["dataset"] == items["topic"]).all()
    runs = RepeatedRuns().fit(items[["model", "topic"]], items["score"])
    assert (runs.moments_["n"] == 10).all()
    ranking = MeanRankScore().fit(items)
    assert ranking.task_scores_.columns.tolist() == [("da", "sentiment-classification")]
    # Two pairs of models, each alike: the worse are two standard deviations (ddof=0) behind.
    np.testing.assert_allclose(ranking.scores_, [1, 1, 3, 3], rtol=1e-12)
    assert ranking.rank_sets()[["low", "high"]].to_numpy().tolist() == [[1, 2]] * 2 + [[3, 4]] * 2


def test_euroeval_several_languages_are_one(tmp_path):
    line = {"model": "m", "dataset": "d", "task": "t", "results": {"raw": [{"mcc": 0.5}]}}
    path = write_lines(tmp_path / "r.jsonl", line | {"dataset_languages": ["nb", "nn"]})
    read = read_with_notes(path)
    assert read.items["language"].tolist() == ["nb/nn"]
    assert "'d'" in notes_of(read)


def test_euroeval_bad_lines(tmp_path):
    good = {"model": "m", "dataset": "d", "results": {"raw": [{"mcc": 0.5}]}}
    path = write_lines(
        tmp_path / "r.jsonl", good, good, good | {"dataset": "e", "results": {"raw": []}}
    )
    assert "repeats" in message(path)
    assert "skipped 2 " in notes_of(read_with_notes(path, skip_bad_lines=True))


def test_a_format_by_name_is_its_own_reader():
    by_name = read_items(FOLDER / "promptfoo", format="promptfoo")
    pd.testing.assert_frame_equal(by_name, read_items(FOLDER / "promptfoo"))
    for name in ("inspect", "csv"):
        message(FOLDER / "promptfoo", format=name)
    with pytest.raises(TypeError):
        read_items(FOLDER / "promptfoo", metric="score")
