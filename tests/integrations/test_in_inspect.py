"""Metrics and early stopping of Inspect; what needs the package itself is marked `peers`."""

import asyncio
import math
import re
import textwrap
import warnings
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skbench import (
    DirectEstimator,
    MixedModel,
    SequentialComparison,
    SequentialMean,
    compare_models,
    read_items,
    summarize_items,
)
from skbench.integrations import (
    InspectStopping,
    difference,
    group_means,
    inspect_metrics,
    mean_interval,
)

PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "harnesses.rst"
PARTS = {"": "value", "_stderr": "standard_error", "_low": "low", "_high": "high"}
RNG = np.random.default_rng(0)


def sample(id, value, **metadata):
    return SimpleNamespace(
        sample_id=id, score=SimpleNamespace(value=value), sample_metadata=metadata
    )


def samples_of(items):
    columns = ("item", "score", "cluster", "topic")
    rows = items[list(columns)].itertuples(index=False)
    return [sample(i, score, page=page, area=topic) for i, score, page, topic in rows]


def items_of(scores):
    n = len(scores)
    return pd.DataFrame(
        {
            "model": "ada",
            "item": [str(i) for i in range(n)],
            "score": np.asarray(scores, dtype=float),
            "cluster": [f"p{i // 3}" for i in range(n)],
            "topic": [("law", "art")[i // 3 % 2] for i in range(n)],
        }
    )


def expected(name, estimate, i=0):
    return {f"{name}{part}": getattr(estimate, field)[i] for part, field in PARTS.items()}


SCORES = {"right and wrong": RNG.random(30) < 0.6, "others": RNG.random(30), "all right": [1] * 30}


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("cluster", [None, "page"])
def test_the_mean_is_that_of_the_summary(scores, cluster):
    items = items_of(scores)
    summary = summarize_items(items, "model", cluster=cluster and "cluster", topic=None)
    estimate = DirectEstimator().fit(**summary.fit_args).estimate(0.9)
    found = mean_interval(cluster, confidence_level=0.9)(samples_of(items))
    assert found == expected("mean", estimate)
    assert found["mean_low"] < found["mean_high"]


@pytest.mark.parametrize("scores", [*SCORES.values()][:2], ids=[*SCORES][:2])
@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("cluster", [None, "page"])
def test_groups_are_those_of_the_summary(scores, shrink, cluster):
    items = items_of(scores)
    summary = summarize_items(items, "topic", cluster=cluster and "cluster")
    estimator = MixedModel() if shrink else DirectEstimator()
    estimate = estimator.fit(**summary.fit_args).estimate()
    found = group_means("area", cluster, shrink=shrink)(samples_of(items))
    assert found == expected("area=art", estimate) | expected("area=law", estimate, 1)


@pytest.mark.parametrize("cluster", [None, "page"])
def test_the_difference_is_that_of_paired_models(cluster):
    new, old = items_of(RNG.random(30) < 0.7), items_of(RNG.random(30) < 0.4)[3:]
    both = pd.concat([new, old.assign(model="bob")])
    with pytest.warns(UserWarning, match="skipped"):
        found = compare_models(both, "ada", "bob", cluster=cluster and "cluster", topic=None)
    baseline = dict(zip(old["item"], old["score"], strict=True)) | {"elsewhere": 1.0}
    assert difference(baseline, cluster)(samples_of(new)) == (
        expected("difference", found.estimate) | {"difference_n": 27}
    )


def test_what_the_samples_so_far_do_not_determine_is_nan():
    one = [sample(1, 0.5, page="a", area="law")]
    same_page = [*one, sample(2, 0.1, page="a", area="law")]
    for found in (
        mean_interval()(one),
        mean_interval("page")(same_page),
        group_means("area", "page", shrink=True)(same_page),
        difference({1: 1.0})(one),
        difference({2: 1.0})(one),
        difference({1: 1.0, 2: math.nan})(one),
        difference({1: 1.0, 2: 1.0}, "page")(same_page),
        mean_interval()([]),
    ):
        _, *rest = found.items()
        assert all(math.isnan(number) for key, number in rest if key != "difference_n")
    groups = [
        sample(i, i / 9, page=f"p{min(i, 4)}", area="law" if i < 4 else "art") for i in range(9)
    ]
    for one_page in (group_means("area", "page")(groups), group_means("area")(groups[:5])):
        known = {name for name, number in one_page.items() if not math.isnan(number)}
        assert known == {"area=art"} | {f"area=law{part}" for part in PARTS}
    assert mean_interval("page")(same_page)["mean"] == 0.3
    assert group_means("area", "page")(same_page)["area=law"] == 0.3
    assert difference({1: 1.0})(one)["difference"] == -0.5
    assert difference({2: 1.0})(one)["difference_n"] == 0
    assert difference({1: math.nan})(one)["difference_n"] == 0
    assert group_means("area")([]) == {}


def test_epochs_one_by_one_are_averaged():
    items = items_of(RNG.random(30))
    twice = samples_of(items) + samples_of(items.assign(score=0.0))
    halved = samples_of(items.assign(score=items["score"] / 2))
    for metric in (mean_interval("page"), group_means("area"), difference({3: 1.0, 4: 0.5})):
        found, once = metric(twice), metric(halved)
        assert [*found] == [*once]
        assert_allclose([*found.values()], [*once.values()])


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda: mean_interval("page")([sample(3, 1.0, area="law")]), "cluster='page'.*3.*'area'"),
        (lambda: group_means("area")([sample(3, 1.0)]), "group_key='area'.* 3 "),
        (lambda: group_means("area")([sample(3, 1.0, area=math.nan)]), "group_key='area'.* 3 "),
        (lambda: mean_interval()([sample(3, {"a": 1.0})]), "sample 3 is a dict"),
        (lambda: mean_interval(confidence_level=95), "confidence_level must .* Write 0.95"),
        (lambda: group_means(""), "^group_key "),
        (lambda: group_means("area", confidence_level=2), "confidence_level"),
        (
            lambda: group_means("area")(
                [sample(1, 1.0, area="law"), sample(2, 1.0, area="law_low")]
            ),
            "law_low",
        ),
        (lambda: difference(Path("old.eval")), "baseline .*Posix"),
        (lambda: difference({0: None}), "baseline .*{0: None}"),
        (lambda: difference({0.0: 1}), "{0.0: 1}"),
        (lambda: InspectStopping(SequentialComparison(), {"q": "C"}), "got {'q': 'C'}"),
        (lambda: float(mean_interval()([])), "group_means"),
        (lambda: InspectStopping(SequentialComparison()), "baseline"),
    ],
)
def test_bad_input_is_refused(refused, words):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=words):
        refused()


def start(stopping, model="ada", ids=(1, 2, 3), epochs=1):
    task = SimpleNamespace(task="t", model=model, eval_id="run")
    samples = [SimpleNamespace(id=i) for i in ids]
    asyncio.run(stopping.start_task(task, samples, epochs))


def test_stopping_goes_on_with_the_model_that_it_began_with():
    mean = SequentialMean()
    for model, words in (("ada", None), ("ada", None), ("bob", "'ada'.* 'bob'")):
        mean = SequentialMean.from_json(mean.to_json())
        with pytest.raises(ValueError, match=words) if words else nullcontext():
            start(InspectStopping(mean), model)


def test_stopping_counts_in_the_order_of_the_samples_and_without_the_unscored():
    stopping = InspectStopping(SequentialMean())
    start(stopping, epochs=2)
    for id, epoch, value in ((2, 1, 1.0), (2, 2, math.nan), (1, 1, math.nan), (3, 1, 0.5)):
        asyncio.run(stopping.complete_sample(id, epoch, {"match": sample(id, value)}))
        assert stopping.result.n_items == 0  # sample 1 is not over
    asyncio.run(stopping.complete_sample(1, 2, {"match": sample(1, math.nan)}))
    assert stopping.result.n_items == 1 and ("t", 2) in stopping.sequential
    assert stopping.result.value == 1.0


def test_stopping_refuses_scores_that_it_cannot_count():
    stopping = InspectStopping(SequentialMean(), scorer="f1")
    start(stopping)
    for scores, words in (
        ({"match": sample(1, 1.0)}, "scorer='f1'.* 1 .*match"),
        ({"f1": sample(1, {"a": 1})}, "is a dict"),
    ):
        with pytest.raises(ValueError, match=words):
            asyncio.run(stopping.complete_sample(1, 1, scores))
    race = InspectStopping(SequentialComparison(), baseline={"7": 1.0})
    with pytest.raises(ValueError, match="'7', .* 1, 2, 3"):
        start(race)


@pytest.fixture
def inspect_ai(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    return pytest.importorskip("inspect_ai")


@pytest.fixture
def run(inspect_ai):
    """Run a task whose scores are given, by sample and epoch."""
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, accuracy, scorer
    from inspect_ai.solver import solver

    def run(answers, metrics=None, max_samples=1, failing=(), texts=None, **options):
        @solver
        def answering():
            async def solve(state, generate):
                if state.sample_id in failing:
                    raise RuntimeError("the sandbox broke")
                return state

            return solve

        @scorer(metrics=metrics or [accuracy()])
        def given():
            async def score(state, target):
                value = answers[state.sample_id]
                return Score(value=value[state.epoch - 1] if isinstance(value, list) else value)

            return score

        samples = [
            Sample(
                input=texts[i] if texts else f"What is {i}?",
                target="yes",
                id=i,
                metadata={"page": f"p{i // 3}", "area": ("law", "art")[i // 3 % 2]},
            )
            for i in range(len(answers))
        ]
        keys = ("early_stopping", "epochs")
        own = {key: options.pop(key) for key in keys if key in options}
        task = inspect_ai.Task(dataset=samples, solver=answering(), scorer=given(), name="t", **own)
        options |= {"model": "mockllm/model", "display": "none", "max_samples": max_samples}
        return inspect_ai.eval(task, **options)[0]

    return run


def numbers(log, name=None):
    found = {
        m.name: m.value for m in log.results.scores[0].metrics.values() if name in (None, m.group)
    }
    return {key: value for key, value in found.items() if key != "accuracy"}


LOGS = {
    "right and wrong": ["CI"[i % 7 in (2, 3, 6)] for i in range(30)],
    "unscored": [math.nan if i in (4, 20) else i % 5 / 4 for i in range(30)],
    "epochs": [[i % 2, i % 3 / 2] for i in range(30)],
}


@pytest.mark.peers
@pytest.mark.parametrize("answers", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("cluster", [None, "page"])
def test_a_log_holds_what_reading_it_gives(run, answers, cluster):
    epochs = len(answers[0]) if isinstance(answers[0], list) else 1
    old = run([["CP"[i % 2], "I"][:epochs] for i in range(30)], epochs=epochs)
    metrics = [
        mean_interval(cluster),
        group_means("area", cluster),
        difference(old.location, cluster),
    ]
    new = run(answers, metrics, epochs=epochs)
    assert new.status == "success"
    fields = {"topic": "metadata.area", "cluster": "metadata.page"}
    rows = [
        read_items(log.location, model={"mockllm/model": name}, **fields)
        for log, name in ((new, "new"), (old, "old"))
    ]
    keys = ["model", "topic", "item", "cluster"]
    items = pd.concat(rows).groupby(keys, as_index=False)["score"].mean()  # of the epochs
    column = cluster and "cluster"
    own = items[items["model"] == "new"]

    def direct(by):
        summary = summarize_items(own, by, cluster=column)
        return DirectEstimator().fit(**summary.fit_args).estimate()

    close = {"rtol": 0 if epochs == 1 else 1e-12}
    same(numbers(new, "mean_interval"), expected("mean", direct("model")), **close)
    groups = direct("topic")
    by_area = expected("area=art", groups) | expected("area=law", groups, 1)
    same(numbers(new, "group_means"), by_area, **close)
    with warnings.catch_warnings(action="ignore"):  # of those without a score, which are left out
        found = compare_models(items, "new", "old", cluster=column)
    wanted = expected("difference", found.estimate) | {"difference_n": found.n_items[0]}
    same(numbers(new, "difference"), wanted, rtol=1e-11)  # the items come in another order


def same(found, wanted, rtol):
    assert [*found] == [*wanted]
    assert_allclose([*found.values()], [*wanted.values()], rtol=rtol, atol=0)


@pytest.mark.peers
def test_a_baseline_is_one_run_of_one_scorer(inspect_ai, run):
    log = run([1.0, 0.0])
    assert difference(log.location)([sample(0, 1.0), sample(1, 1.0)])["difference"] == 0.5
    with pytest.raises(FileNotFoundError, match=r"nowhere\.eval"):
        difference("nowhere.eval")
    with pytest.raises(ValueError, match="'logs'"):
        difference("logs")
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes, match

    task = inspect_ai.Task(
        dataset=[Sample(input="?", target="", id=1)], scorer=[match(), includes()], solver=[]
    )
    two = inspect_ai.eval(task, model="mockllm/model", display="none")[0].location
    with pytest.raises(ValueError, match="match, includes.* Pass score="):
        difference(two)
    assert difference(two, score="includes")([sample(1, 1.0)])["difference_n"] == 1


@pytest.mark.peers
def test_a_run_does_not_differ_from_itself_whatever_the_reducer(inspect_ai, run):
    answers = [[i % 2, i % 3 / 2, math.nan if i % 5 else 1.0] for i in range(30)]
    for reducer in ("mean", "max", "mode", "pass_at_2"):
        epochs = inspect_ai.Epochs(3, reducer)
        found = difference(run(answers, epochs=epochs).location)
        again = numbers(run(answers, [found], epochs=epochs))
        assert again["difference"] == 0 and again["difference_n"] == 30
    old = run(answers, epochs=inspect_ai.Epochs(3, ["max", "mode"])).location
    with pytest.raises(ValueError, match="max, mode .* 2 lists"):
        difference(old)
    parts = run([[{"a": j, "b": i} for j in range(3)] for i in range(5)], epochs=epochs).location
    scores = [sample(i, 0) for i in range(5)]
    assert difference(parts, score="given/a")(scores)["difference"] == -1


@pytest.mark.peers
def test_a_baseline_that_was_numbered_after_a_shuffle_is_refused(inspect_ai):
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import match

    def log(ids, shuffled=True):
        dataset = MemoryDataset([Sample(input="?", target="", id=i) for i in ids])
        if shuffled:
            dataset.shuffle(1)
        task = inspect_ai.Task(dataset=dataset, scorer=match(), solver=[])
        return inspect_ai.eval(task, model="mockllm/model", display="none", limit=9)[0].location

    for path in (log(range(20)), log("abcdefghij"), log([None] * 20, shuffled=False)):
        assert difference(path)([])["difference_n"] == 0
    with pytest.raises(ValueError, match="shuffled"):
        difference(log([None] * 20))


@pytest.mark.peers
def test_a_task_without_the_metadata_fails_and_proposes_what_to_give(run):
    log = run([1.0, 0.0], [mean_interval("author")])
    assert log.status == "error"
    assert "cluster='author': sample 0 " in log.error.message
    assert "Sample(..., metadata={'author': ...})" in log.error.message


@pytest.mark.peers
def test_parts_of_a_dict_have_metrics_of_their_own(run):
    log = run([{"a": 1.0, "b": i % 2} for i in range(10)], {"*": [mean_interval()]})
    found = {score.name: [m.value for m in score.metrics.values()] for score in log.results.scores}
    ten = [sample(i, 1.0) for i in range(10)], [sample(i, i % 2) for i in range(10)]
    assert found == {n: [*mean_interval()(s).values()] for n, s in zip("ab", ten, strict=True)}


@pytest.mark.peers
def test_the_page_shows_what_its_task_shows(inspect_ai, tmp_path):
    python, shown = re.findall(
        r"\.\. code-block:: (?:python|text)\n\n(.*?)\n\n(?=\S)", PAGE.read_text(), re.S
    )[:2]
    scope = {}
    exec(textwrap.dedent(python), scope)
    options = {"model": "mockllm/model", "display": "none"}
    first = inspect_ai.eval(scope["sums"](), **options)[0]
    second = inspect_ai.eval(scope["sums"](skill=9, baseline=first.location), **options)[0]
    lines = [line.split() for line in textwrap.dedent(shown).splitlines()]
    assert lines == [["match"]] + [[k, f"{v:.3f}"] for k, v in numbers(second).items()]


@pytest.mark.peers
def test_inspect_finds_the_extension_by_its_entry_point(inspect_ai):
    found = [e for e in metadata.entry_points(group="inspect_ai") if e.name == "skbench"]
    from inspect_ai._util.package import get_installed_package_name
    from inspect_ai._util.registry import registry_lookup

    if get_installed_package_name(inspect_metrics.mean_interval) is None:
        pytest.skip("the skbench that is tested is on the path, but not installed")
    assert found[0].value == "skbench.integrations.inspect_metrics"
    found[0].load()
    for name in ("mean_interval", "group_means", "difference"):
        assert registry_lookup("metric", f"skbench/{name}") is not None


def expected_stop(score):
    running = SequentialMean(target=0.5)
    while not running.result.stop:
        running.update([score])
    return running.n_items


@pytest.mark.peers
def test_stopping_ends_a_task(run, tmp_path):
    stopping = InspectStopping(SequentialMean(target=0.5), state=tmp_path / "state.json")
    log = run([1.0] * 60, early_stopping=stopping)
    assert log.status == "success"
    summary = log.results.early_stopping
    n = expected_stop(1)
    assert summary.metadata["verdict"] == "above"
    assert summary.metadata["n_items"] == n
    assert len(summary.early_stops) == 60 - n
    assert vars(SequentialMean.load(tmp_path / "state.json").result) == vars(stopping.result)


@pytest.mark.peers
@pytest.mark.parametrize(
    "options",
    [
        {"max_samples": 8},
        {"max_samples": 8, "failing": (2, 5), "fail_on_error": False},
        {"max_samples": 8, "failing": (0,), "fail_on_error": False, "epochs": 3},
    ],
)
def test_stopping_among_many_samples_at_once(run, options):
    """Samples that fail hold up nothing; without the hook none after the first would count."""
    answers = [math.nan if i == 7 else 1.0 for i in range(60)]
    log = run(answers, early_stopping=InspectStopping(SequentialMean(target=0.5)), **options)
    summary, n = log.results.early_stopping, expected_stop(1)
    assert log.status == "success" and summary.metadata["verdict"] == "above"
    assert n <= summary.metadata["n_items"] <= n + 8
    assert len({stop.id for stop in summary.early_stops}) > 20


@pytest.mark.peers
def test_stopping_counts_a_sample_once_though_it_is_run_again(run):
    mean = SequentialMean()
    for n in (10, 30):  # the second time from the state of the first
        mean = SequentialMean.from_json(mean.to_json())
        run([1.0] * n, early_stopping=InspectStopping(mean))
        assert mean.n_items == n and ("t", n - 1) in mean


@pytest.mark.peers
def test_stopping_compares_with_a_baseline(run):
    old = run([1.0] * 60)
    for baseline in (old.location, dict.fromkeys(range(60), 1.0), {"9": 1.0}):
        race = SequentialComparison(names=("new", "old"))
        log = run([0.0] * 60, early_stopping=InspectStopping(race, baseline=baseline))
        verdict = log.results.early_stopping.metadata["verdict"]
        assert verdict == ("undecided" if len(baseline) == 1 else "old")


@pytest.mark.peers
def test_stopping_compares_texts_with_those_of_the_log(inspect_ai, run):
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    picture = [ContentText(text="y" * 6000), ContentImage(image="data:image/png;base64,aaaa")]
    texts = ["x" * 6000, [ChatMessageUser(content=picture)], "What?"]
    old = run([1.0] * 3, texts=texts).location
    for other, status in (("What?", "success"), ("Who?", "error")):
        race = InspectStopping(SequentialComparison(), baseline=old)
        log = run([1.0] * 3, texts=[*texts[:2], other], early_stopping=race)
        assert log.status == status
    assert "'2'" in log.error.message


@pytest.mark.peers
def test_stopping_runs_to_the_end_where_nothing_is_decided(run):
    log = run([1.0, 0.0] * 10, early_stopping=InspectStopping(SequentialMean(target=0.5)))
    assert len(log.samples) == 20
    assert log.results.early_stopping.metadata["n_items"] == 20
