"""Files that programs wrote themselves: the right table of each, failures counted and left out."""

import json

import pytest
from click.testing import CliRunner
from make_benchmark_fixtures import INSTANCES, RATINGS, SIMULATIONS
from make_fixtures import ANSWERS, QUESTIONS
from reading import FOLDER, message

from skbench.readers import read_items, read_with_notes
from skbench.readers._formats import TITLES
from skbench.report.doctor import doctor

MODELS = ("alpha", "beta")
# Format -> folders of files by one program.
FORMATS = {
    "deepeval": "deepeval/two_models deepeval/conversations deepeval/unnamed deepeval_2/two_models",
    "openai-evals": "openai_evals/two_models openai_evals/crashed",
    "mlflow": "mlflow/version_2 mlflow/version_3",
    "swe-bench": "swe_bench/two_models",
    "mteb": "mteb",
    "opencompass": "opencompass",
    "mt-bench": "mt_bench/single",
    "tau2": "tau2/one_file tau2/folders",
    "promptfoo": "promptfoo_runs/two_models",
    "junit": "junit/pytest junit/unittest junit/gtest junit/surefire",
    "pytest-json": "pytest_json/two_models",
}


def table(items):
    """(model, topic, item) -> score; the topic in front of an item is left out."""
    rows = items[["model", "topic", "item", "score"]].itertuples(index=False)
    return {
        (row.model, row.topic, row.item.removeprefix(f"{row.topic}/")): row.score for row in rows
    }


def letters(item_name, without=()):
    """What was put in: right or wrong by (model, topic, item), without what broke."""
    return {
        (model, topic, item_name(topic, number)): float(ANSWERS[model, topic][number - 1] == "r")
        for model in MODELS
        for topic, questions in QUESTIONS.items()
        for number, question in enumerate(questions, start=1)
        if not any(word in question for word in without)
    }


def test_doctor_names_the_format():
    for name, folders in FORMATS.items():
        for folder in folders.split():
            assert read_with_notes(FOLDER / folder).formats == [name], folder
        result = CliRunner().invoke(doctor, [str(FOLDER / folder)])
        assert TITLES[name] in result.output.splitlines()[0]


def test_deepeval():
    read = read_with_notes(FOLDER / "deepeval" / "two_models", topic="metadata.topic")
    expected = letters(lambda topic, number: f"{topic}-{number}", without=["Peru"])
    read.items["item"] = read.items["item"].str.removeprefix("test cases/")
    assert table(read.items) == expected
    assert len(read.blank) == 2
    assert read.columns["score"] == "Right Answer"
    brief = read_items(FOLDER / "deepeval" / "two_models", score="Brief")
    assert brief["score"].between(0.1, 1).all()
    assert len(brief) == 18


def test_deepeval_2():
    """Test cases without names are numbered, over all topics."""
    read = read_with_notes(FOLDER / "deepeval_2" / "two_models", topic="additionalMetadata.topic")
    rows = letters(lambda topic, number: 6 * (topic == "sums") + number, without=["Peru"])
    expected = {(m, t, f"test cases/test_case_{n - 1}"): score for (m, t, n), score in rows.items()}
    assert table(read.items) == expected
    assert len(read.blank) == 2


def test_deepeval_conversations_are_items():
    read = read_with_notes(FOLDER / "deepeval" / "conversations")
    expected = letters(lambda topic, number: f"{topic}-{number}", without=["Peru"])
    rows = read.items[["model", "item", "score"]].itertuples(index=False)
    found = {(m, item.removeprefix("test cases/")): score for m, item, score in rows}
    assert found == {(m, item): expected[m, t, item] for m, t, item in expected}
    assert len(read.blank) == 2


def test_deepeval_without_hyperparameters_has_a_model_per_run():
    items = read_items(FOLDER / "deepeval" / "unnamed")
    assert items.groupby("item")["model"].nunique().tolist() == [2, 2]
    assert items["score"].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_openai_evals():
    read = read_with_notes(FOLDER / "openai_evals" / "two_models")
    expected = letters(lambda topic, number: f"{topic}.dev.{number - 1}")
    expected = {(m, f"{t}.dev.v0", item): score for (m, t, item), score in expected.items()}
    assert table(read.items) == expected
    assert read.blank is None or read.blank.empty
    f1 = read_items(FOLDER / "openai_evals" / "two_models" / "beta_sums.jsonl", score="f1_score")
    assert f1["score"].sum() == 3


def test_openai_evals_that_crashed_is_named():
    """No final report: what was answered before counts, and the notes say that it is partial."""
    read = read_with_notes(FOLDER / "openai_evals" / "crashed")
    assert len(read.items) == 3 + 4
    assert any("crashing_capitals.jsonl" in note for note in read.notes)


def test_swe_bench():
    read = read_with_notes(FOLDER / "swe_bench" / "two_models")
    expected = {
        (model, name.rsplit("-", 1)[0].replace("__", "/"), name): float(outcome == "r")
        for name, outcomes in INSTANCES.items()
        for model, outcome in outcomes.items()
        if outcome in "rue"  # an empty patch is wrong, an error no answer
    }
    assert table(read.items) == expected
    assert len(read.blank) == 1


@pytest.mark.parametrize("version", ["version_2", "version_3"])
def test_mlflow(version):
    read = read_with_notes(FOLDER / "mlflow" / version)
    rows = letters(lambda topic, number: str(6 * (topic == "sums") + number), without=["Peru"])
    assert {(m, i): s for (m, _, i), s in table(read.items).items()} == {
        (model, row): score for (model, _, row), score in rows.items()
    }
    assert len(read.blank) == 2
    assert read.columns["score"] == "right_answer"
    assert not any("ignored" in note for note in read.notes)
    assert read_items(FOLDER / "mlflow" / version, score="letters")["score"].max() == 8


def test_field_called_topic_is_taken_where_it_is_named():
    items = read_items(FOLDER / "mlflow" / "version_3", topic="topic")
    assert items["topic"].value_counts().to_dict() == {"capitals": 10, "sums": 8}


def test_what_is_saved_of_mlflow_genai_is_refused_or_read_by_names():
    """Scorers are no models; a scorer that failed is no answer."""
    assert "right_answer/value" in message(FOLDER / "mlflow_genai")
    read = read_with_notes(FOLDER / "mlflow_genai", score="right_answer/value", item="request")
    scores = read.items.groupby("model")["score"].apply(list).to_dict()
    assert scores == {"alpha": [1.0, 1.0], "beta": [1.0, 0.0]}
    assert read.items["item"].nunique() == 2
    assert len(read.blank) == 2


def test_mteb():
    """An item is a subset of a task; files beside the results are no news."""
    read = read_with_notes(FOLDER / "mteb")
    expected = {}
    for path in (FOLDER / "mteb").rglob("Mock*.json"):
        result = json.loads(path.read_text())
        model = json.loads((path.parent / "model_meta.json").read_text())["name"]
        for subset in result["scores"]["test"]:
            key = (model, result["task_name"], f"test {subset['hf_subset']}")
            expected[key] = subset["main_score"]
    assert len(expected) == 6
    assert table(read.items) == expected
    assert not any("ignored" in note for note in read.notes)


def test_opencompass():
    """Answers to an item are a list each; by perplexity they are no list."""
    read = read_with_notes(FOLDER / "opencompass")
    once = read.items[read.items["topic"] != "sums"]
    expected = letters(lambda topic, number: str(number - 1))
    likely = {(m, "sums_ppl", i): score for (m, t, i), score in expected.items() if t == "sums"}
    capitals = {key: score for key, score in expected.items() if key[1] == "capitals"}
    assert table(once) == capitals | likely
    twice = read.items[read.items["topic"] == "sums"]
    first, second = (table(twice[twice["repeat"] == repeat]) for repeat in (1, 2))
    assert first == {key: score for key, score in expected.items() if key[1] == "sums"}
    assert second == dict.fromkeys(first, 1.0)


def test_mt_bench_has_a_model_per_name_whatever_the_prompts_of_the_judge():
    read = read_with_notes(FOLDER / "mt_bench" / "single")
    topics = {81: "writing", 82: "writing", 111: "math", 112: "math"}
    assert table(read.items) == {
        (model, topics[question], f"{question} turn {turn}"): rating
        for (question, turn), ratings in RATINGS.items()
        for model, rating in zip(MODELS, ratings, strict=True)
        if rating is not None
    }
    assert read.items["cluster"].nunique() == 4
    assert len(read.blank) == 1


def test_mt_bench_pairs_are_votes():
    assert "vote" in message(FOLDER / "mt_bench_pairs")


def replies_tested(topic_and_item):
    """Tests that were run on all replies: two broke, in the fixtures before and after a test."""
    return letters(topic_and_item, without=["Peru", "1 + 2"])


def test_junit_of_pytest():
    """A test that fails, and breaks when it is torn down, stands there twice: it broke."""
    read = read_with_notes(FOLDER / "junit" / "pytest")
    cases = replies_tested(lambda topic, number: f"test_reply[{topic}-{number - 1}]")
    expected = {(model, "test_replies", item): score for (model, _, item), score in cases.items()}
    known = {(model, "test_replies", "test_known_to_fail"): model == "beta" for model in MODELS}
    assert table(read.items) == expected | known
    assert len(read.blank) == 2 * 3


def test_pytest_json_is_the_same_run_as_its_junit():
    read = read_with_notes(FOLDER / "pytest_json" / "two_models")
    same = read_items(FOLDER / "junit" / "pytest")
    rows = []
    for items in (read.items, same):
        test = items["item"].str.split("test_").str[-1]
        rows.append(sorted(zip(items["model"], test, items["score"], strict=True)))
    assert rows[0] == rows[1]
    assert len(read.blank) == 2 * 3


def test_junit_file_per_class_takes_the_model_from_the_folder():
    cases = letters(lambda topic, number: f"test_{number - 1}", without=["Peru"])
    unittest = {
        (m, f"test_replies.Test{t.title()}", i): score for (m, t, i), score in cases.items()
    }
    surefire = {
        (model, "org.ours.CapitalsTest", name): float((model, name) != ("beta", "italy"))
        for model in MODELS
        for name in ("france", "italy", "peru")
    }
    for folder, expected in (("unittest", unittest), ("surefire", surefire)):
        read = read_with_notes(FOLDER / "junit" / folder)
        assert table(read.items) == expected
        assert len(read.blank) == 4


def test_junit_of_googletest_leaves_out_what_was_not_run():
    read = read_with_notes(FOLDER / "junit" / "gtest")
    wrong = [("alpha", "Peru"), ("beta", "Italy")]
    assert table(read.items) == {
        (model, "Capitals", name): float((model, name) not in wrong)
        for model in MODELS
        for name in ("France", "Italy", "Peru")
    }
    assert len(read.blank) == 4


@pytest.mark.parametrize("layout", ["one_file", "folders"])
def test_tau2(layout):
    """What tau2-bench leaves out of its own rates is no answer; to go on and on is a failure."""
    read = read_with_notes(FOLDER / "tau2" / layout)
    expected = {}
    for task, outcomes in SIMULATIONS.items():
        for model, tried in outcomes.items():
            for trial, outcome in enumerate(tried, start=1):
                if outcome not in ("infrastructure_error", "context_window_exceeded"):
                    score = outcome if isinstance(outcome, float) else 0.0
                    expected[model, f"airline/{task}", trial] = score
    rows = read.items[["model", "item", "repeat", "score"]].itertuples(index=False)
    assert {tuple(row)[:3]: row.score for row in rows} == expected
    assert set(read.items["topic"]) == {"airline"}
    assert list(read.items["cluster"]) == list(read.items["item"])
    assert len(read.blank) == 2


def test_promptfoo_runs_of_the_same_tests_share_items():
    read = read_with_notes(FOLDER / "promptfoo_runs" / "two_models")
    scores = read.items.pivot(index="item", columns="model", values="score")
    assert len(scores) == 5
    known = letters(lambda topic, number: (topic, number), without=["Peru"])
    for model in MODELS:
        expected = [s for (m, topic, _), s in known.items() if (m, topic) == (model, "capitals")]
        assert sorted(scores[model]) == sorted(expected)
    assert read.items["topic"].nunique() == 1
    assert len(read.blank) == 2
