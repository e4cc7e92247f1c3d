"""MLflow, Weights & Biases, model cards: what the programs themselves read back."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skbench.comparison import leaderboard
from skbench.containers import Estimate
from skbench.datasets import make_items
from skbench.integrations import to_mlflow, to_model_card, to_wandb

PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "trackers.rst"
LABELS = pd.MultiIndex.from_product(
    [["our/ada", "bob"], ["law: civil", "Öl", "x%"]], names=["model", "topic"]
)
NAN, INF = np.nan, np.inf
ESTIMATE = Estimate(
    value=[0.1, 1 / 3, NAN, 0.4, 0.5, 0.6],
    low=[0, 0.1, NAN, -INF, 0.2, 0.3],
    high=[0.3, 0.5, NAN, INF, 0.7, 0.9],
    standard_error=[0.1, 0.1, NAN, 0.25, 0.1, 0.1],
    confidence_level=0.9,
    labels=LABELS,
    method="direct, ours",
    guarantee="each group",
)
NUMBERS = ["value", "low", "high", "standard_error"]


def of_labels(*labels, name=None):
    """An estimate of groups with these labels."""
    numbers = np.arange(len(labels)) / 7
    return Estimate(
        numbers, numbers, numbers, numbers, 0.95, pd.Index(labels, name=name), "direct", "model"
    )


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"to_{name} needs {name}: pip install {name}"):
        {"mlflow": to_mlflow, "wandb": to_wandb}[name](ESTIMATE)


def test_card_of_one_model():
    card = to_model_card(ESTIMATE, "bob", "our/exam", metric="acc", task="other")
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    (entry,) = card["model-index"]
    assert entry["name"] == "bob"
    unbounded, second, _ = entry["results"]
    assert second == {
        "task": {"type": "other"},
        "dataset": {"type": "our/exam", "name": "our/exam", "config": "Öl"},
        "metrics": [
            {
                "type": "acc",
                "value": 0.5,
                "name": "acc (90% interval 0.2 to 0.7, guarantee: each group)",
                "args": {
                    "low": 0.2,
                    "high": 0.7,
                    "standard_error": 0.1,
                    "confidence_level": 0.9,
                    "method": "direct, ours",
                    "guarantee": "each group",
                },
            }
        ],
    }
    (metric,) = unbounded["metrics"]
    assert metric["name"].startswith("acc (") and "guarantee: each group)" in metric["name"]
    assert not {"low", "high"} & set(metric["args"])


def test_card_of_a_leaderboard():
    board = leaderboard(make_items(n_models=3, n_topics=4, n_items=10, random_state=0).items)
    (entry,) = to_model_card(board.estimate, "model-1", "our/exam")["model-index"]
    (result,) = entry["results"]
    place = list(board.estimate.labels).index("model-1")
    assert result["dataset"] == {"type": "our/exam", "name": "our/exam"}
    assert result["metrics"][0]["value"] == board.estimate.value[place]
    assert result["metrics"][0]["args"]["high"] == board.estimate.high[place]


def test_cards_that_are_refused():
    with pytest.raises(ValueError, match="'x%'"):
        to_model_card(ESTIMATE, "our/ada", "our/exam")
    with pytest.raises(ValueError, match="'ada'.* our/ada, bob"):
        to_model_card(ESTIMATE, "ada", "our/exam")
    with pytest.raises(ValueError, match=" 1 and '1' .*'1'"):
        to_model_card(of_labels(1, "1"), "ada", "our/exam")
    with pytest.raises(ValueError, match=" (nan|None) and 'nan' .*'nan'"):
        to_model_card(of_labels(None, "nan"), "ada", "our/exam")
    with pytest.raises(ValueError, match="'low'"):
        to_model_card(of_labels("law", name="low"), "ada", "our/exam")


# Labels that are no text, what they are as text, and whether Weights & Biases has them as numbers.
KINDS = {
    "numbers": ([1.5, 2], ["1.5", "2.0"], True),
    "mixed": ([1, "1x"], ["1", "1x"], False),
    "None": ([None, "b"], ["nan", "b"], False),
    "missing number": ([NAN, 1.0], ["nan", "1.0"], False),
    "intervals": (pd.interval_range(0, 2), ["(0, 1]", "(1, 2]"], False),
    "months": (pd.period_range("2024-01", periods=2, freq="M"), ["2024-01", "2024-02"], False),
    "times": (pd.to_timedelta([1, 2], unit="D"), ["1 days", "2 days"], False),
    "days": (pd.to_datetime(["2024-01-01", "NaT"]), ["2024-01-01", "nan"], False),
}


@pytest.mark.parametrize("labels, texts, is_numeric", KINDS.values(), ids=KINDS)
def test_labels_are_the_same_text_everywhere(labels, texts, is_numeric, monkeypatch):
    # The program itself, in the test below, writes what is passed here.
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(Table=dict))
    for one in (of_labels(*labels), of_labels(*((label, "x") for label in labels))):
        several = "/x" * (one.labels.nlevels - 1)
        results = to_model_card(one, "ada", "our/exam")["model-index"][0]["results"]
        assert [r["dataset"]["config"] for r in results] == [text + several for text in texts]
        cells = [row[0] for row in to_wandb(one)["data"]]
        assert cells == (list(labels) if is_numeric else texts)


@pytest.mark.peers
def test_hugging_face_reads_the_card_back(tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    card = to_model_card(ESTIMATE, "bob", "our/exam")
    data = hub.ModelCardData(**card)
    ours = [(0.4, None, None), (0.5, 0.2, 0.7), (0.6, 0.3, 0.9)]
    found = [
        (r.metric_value, r.metric_args.get("low"), r.metric_args.get("high"))
        for r in data.eval_results
    ]
    assert found == ours
    assert data.to_dict() == card
    path = tmp_path / "README.md"
    hub.metadata_save(path, card)
    assert hub.metadata_load(path) == card
    assert hub.ModelCard.load(path).data.eval_results == data.eval_results
    theirs = hub.metadata_eval_result(
        model_pretty_name="bob",
        task_pretty_name="text",
        task_id="text-generation",
        metrics_pretty_name="accuracy",
        metrics_id="accuracy",
        metrics_value=0.5,
        dataset_pretty_name="our/exam",
        dataset_id="our/exam",
        dataset_config="Öl",
    )
    (result,), ours = theirs["model-index"][0]["results"], card["model-index"][0]["results"][1]
    assert result["dataset"] == ours["dataset"]
    assert set(ours["metrics"][0]) - set(result["metrics"][0]) == {"args"}


@pytest.fixture
def mlflow(tmp_path):
    """MLflow that keeps its runs in a database of this test."""
    mlflow = pytest.importorskip("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    place = mlflow.create_experiment("ours", artifact_location=(tmp_path / "files").as_uri())
    mlflow.set_experiment(experiment_id=place)
    yield mlflow
    mlflow.set_tracking_uri(before)


REFUSED = [
    (of_labels(1), "many", "'many'.* name="),
    (of_labels("a/b", "a:b"), "two", "'a/b' and 'a:b' .*'a_b'"),
    (of_labels("", "."), "two", "'' and '[.]' .*'_'"),
    (
        of_labels("x" * 232),
        "two",
        "x' .*232 .*231 .*name='two'",
    ),
    *[(ESTIMATE, name, "^name=") for name in ("../up", "/top", "a//b", "a?", "a/.")],
]


@pytest.mark.peers
def test_mlflow_reads_back(mlflow):
    with mlflow.start_run() as active:
        to_mlflow(ESTIMATE)
        to_mlflow(of_labels(*range(2500)), name="many")
        to_mlflow(of_labels("", "a", "...", NAN, "x" * 231), name="odd")
        for estimate, name, words in REFUSED:
            with pytest.raises(ValueError, match=words):
                to_mlflow(estimate, name=name)
    run = mlflow.get_run(active.info.run_id)
    assert run.data.params == {
        "estimate/method": "direct, ours",
        "estimate/guarantee": "each group",
        "estimate/confidence_level": "0.9",
        "many/method": "direct",
        "many/guarantee": "model",
        "many/confidence_level": "0.95",
        "odd/method": "direct",
        "odd/guarantee": "model",
        "odd/confidence_level": "0.95",
    }
    metrics = run.data.metrics
    odd = {key.removeprefix("odd/low/") for key in metrics if key.startswith("odd/low/")}
    assert odd == {"_", "a", "...", "nan", "x" * 231}
    keys = ["our_ada/law_ civil", "our_ada/Öl", "our_ada/x_", "bob/law_ civil", "bob/Öl", "bob/x_"]
    expected = {
        f"estimate/{name}/{key}": number
        for name in NUMBERS
        for key, number in zip(keys, getattr(ESTIMATE, name), strict=True)
        if np.isfinite(number)
    }
    assert len(expected) == 24 - 4 - 2
    assert {key: metrics[key] for key in metrics if key.startswith("estimate/")} == expected
    assert len(metrics) == len(expected) + 4 * (5 + 2500)
    assert metrics["many/high/2499"] == 2499 / 7
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/estimate.csv")
    table = pd.read_csv(io.StringIO(text))
    assert table["confidence_level"].eq(0.9).all()
    table = table.set_index(["model", "topic"]).drop(columns="confidence_level")
    pd.testing.assert_frame_equal(table, pd.DataFrame(ESTIMATE.to_frame()), check_exact=True)


@pytest.mark.peers
@pytest.mark.parametrize("step", ["log_text", "log_metrics", "log_params"])
def test_mlflow_that_fails_leaves_nothing_that_looks_whole(mlflow, monkeypatch, step):
    def fail(*_):
        raise OSError("no room")

    with mlflow.start_run() as active:
        with monkeypatch.context() as broken, pytest.raises(OSError, match="no room"):
            broken.setattr(mlflow, step, fail)
            to_mlflow(ESTIMATE)
        half = mlflow.get_run(active.info.run_id).data
        assert not half.params
        assert bool(half.metrics) == (step == "log_params")
        to_mlflow(ESTIMATE)
    whole = mlflow.get_run(active.info.run_id).data
    assert (len(whole.params), len(whole.metrics)) == (3, 24 - 4 - 2)


@pytest.mark.peers
def test_wandb_writes_the_table(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(project="ours", mode="offline", dir=tmp_path) as run:
        run.log({"estimates": to_wandb(ESTIMATE)})
        for number, (labels, _, _) in enumerate(KINDS.values()):
            run.log({f"kind {number}": to_wandb(of_labels(*labels))})
    assert len(list(tmp_path.rglob("*.table.json"))) == 1 + len(KINDS)
    (file,) = tmp_path.rglob("estimates*.table.json")
    written = json.loads(file.read_text())
    table = pd.DataFrame(written["data"], columns=written["columns"]).set_index(["model", "topic"])
    assert table.pop("confidence_level").eq(0.9).all()
    expected = pd.DataFrame(ESTIMATE.to_frame()).replace([INF, -INF], NAN)
    pd.testing.assert_frame_equal(table, expected, check_exact=True)
    kinds = to_wandb(ESTIMATE)._column_types.params["type_map"]
    assert {str(kinds[name]) for name in NUMBERS} == {"None or Number"}
    assert to_wandb(of_labels("law")).columns[0] == "group"


@pytest.mark.peers
def test_code_of_the_page_runs(tmp_path):
    """In a process of its own: the programs remember runs of other tests."""
    for name in ("lm_eval", "mlflow", "wandb", "huggingface_hub"):
        pytest.importorskip(name)
    flags = ("-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS")
    # MLflow leaves the experiments of other tests in the environment.
    environment = {name: value for name, value in os.environ.items() if "MLFLOW" not in name}
    environment |= {"WANDB_SILENT": "true", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "doctest", *flags, str(PAGE)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"runs.db", "wandb"} <= {path.name for path in tmp_path.iterdir()}
