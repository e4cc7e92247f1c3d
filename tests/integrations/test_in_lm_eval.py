"""What `lm_eval.simple_evaluate` returns: the rows of the files that the harness writes itself."""

import copy
import json

import pandas as pd
import pytest

from skbench import compare_models, leaderboard, read_items, summarize_items
from skbench.readers import read_with_notes

lm_eval = pytest.importorskip("lm_eval")
TaskManager = pytest.importorskip("lm_eval.tasks").TaskManager
pytestmark = pytest.mark.peers
ROWS = [{"question": f"{n} + {n} =", "answer": str(2 * n), "page": n // 2} for n in range(8)]
METRIC = {"aggregation": "mean", "higher_is_better": True}


def write_task(folder, name, rows, **options):
    """A task over a local file, with choices. A YAML file may hold JSON."""
    lines = [row | {"choices": [row["answer"], "0", "many"]} for row in rows]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}, "cache_dir": str(folder / "cache")},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{question}}",
        "doc_to_choice": "choices",
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc", **METRIC}, {"metric": "acc_norm", **METRIC}],
    }
    (folder / f"{name}.yaml").write_text(json.dumps(task | options))


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    """Run the harness's model of random answers on a group of two tasks, and on free answers.

    These are repeated, and have two filters.
    """
    folder, first = tmp_path_factory.mktemp("tasks"), {"function": "take_first"}
    number = {"function": "regex", "regex_pattern": "(lo)"}
    write_task(folder, "large", ROWS[4:])
    write_task(folder, "small", ROWS[:4])
    write_task(
        folder,
        "free",
        ROWS[:5],
        output_type="generate_until",
        doc_to_choice=None,
        doc_to_target="lo",
        repeats=2,
        generation_kwargs={"until": ["?"], "do_sample": True, "temperature": 1.0},
        metric_list=[{"metric": "exact_match", **METRIC}],
        filter_list=[
            {"name": "strict", "filter": [first]},
            {"name": "loose", "filter": [number, first]},
        ],
    )
    group = {"group": "sums", "task": ["large", "small"]}
    group["aggregate_metric_list"] = [{"metric": "acc"}]
    (folder / "sums.yaml").write_text(json.dumps(group))
    tasks = TaskManager(include_path=str(folder), include_defaults=False)

    def run(arguments="", seed=0, **options):
        options = {"bootstrap_iters": 0, "random_seed": seed, "task_manager": tasks} | options
        return lm_eval.simple_evaluate("dummy", arguments, ["sums", "free"], **options)

    return run


def write(results, folder):
    """Files as the command line of the harness writes them; its tracker changes the results."""
    from lm_eval.loggers import EvaluationTracker

    config = results["config"]
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.log_experiment_args(
        config["model"], config["model_args"], None, None, False
    )
    samples = results["samples"]
    summary = {name: value for name, value in results.items() if name != "samples"}
    tracker.save_results_aggregated(summary, samples)
    for name in summary["configs"]:
        tracker.save_results_samples(name, samples[name])


@pytest.fixture(scope="module")
def runs(evaluate, tmp_path_factory):
    """Results of two models, and the folder of their files."""
    results = [evaluate("pretrained=our/ada", 1), evaluate("pretrained=our/bob", 2)]
    folder = tmp_path_factory.mktemp("runs")
    for one in results:
        write(copy.deepcopy(one), folder)
    return results, folder


@pytest.mark.parametrize(
    "options",
    [{}, {"cluster": "doc.page"}, {"topic": "doc.page"}, {"model": {"our/ada": "Ada"}}],
    ids=str,
)
def test_rows_are_those_of_the_files(runs, options):
    results, folder = runs
    memory, files = read_with_notes(results, **options), read_with_notes(folder, **options)
    pd.testing.assert_frame_equal(memory.items, files.items, check_exact=True)
    assert memory.columns == files.columns
    assert memory.notes == [note.replace("6 files", "6 tasks") for note in files.notes]
    assert len(memory.items) == 2 * (4 + 4 + 5)
    assert memory.items["score"].nunique() == 2


@pytest.mark.parametrize(
    ("name", "option"), [("free", {"filter": "loose"}), ("small", {"score": "acc_norm"})]
)
def test_filter_and_score_are_those_asked_for(runs, name, option):
    results = copy.deepcopy(runs[0][0])
    results["samples"] = {name: results["samples"][name]}
    items = read_items(results, **option)
    files = read_items(next(runs[1].rglob(f"our__ada/samples_{name}_*")), **option)
    pd.testing.assert_frame_equal(items, files, check_exact=True)
    if name == "free":
        assert items["score"].tolist() == [1.0] * 5
        assert read_items(results)["score"].tolist() == [0.0] * 5


def test_results_are_read_alike_after_the_tracker_has_changed_them(runs, tmp_path):
    results = copy.deepcopy(runs[0][0])
    before = read_items(results)
    write(results, tmp_path)
    assert isinstance(results["samples"]["small"][0]["arguments"], dict)
    pd.testing.assert_frame_equal(read_items(results), before, check_exact=True)


def test_means_are_those_of_the_harness(runs):
    results = runs[0][0]
    means = read_items(results).groupby("topic")["score"].mean()
    for name, mean in means.items():
        reported = results["results"][name]
        assert mean == reported.get("acc,none", reported.get("exact_match,strict"))


def test_items_go_everywhere(runs):
    items = read_items(runs[0])
    board = leaderboard(items)
    assert sorted(board.estimate.labels) == ["our/ada", "our/bob"]
    assert len(summarize_items(items, by=["model", "topic"])) == 6
    assert "our/ada" in str(compare_models(items))


def test_without_samples(evaluate):
    results = evaluate("pretrained=our/ada", log_samples=False)
    with pytest.raises(ValueError, match=r"only results.*log_samples=True"):
        read_items(results)


def test_a_model_without_a_name_is_called_as_the_harness_calls_it(evaluate):
    results = evaluate()
    read = read_with_notes(results)
    assert set(read.items["model"]) == {"dummy"}
    assert any("model={'dummy': ...}" in note for note in read.notes)
    assert set(read_items(results, model="ada")["model"]) == {"ada"}
