"""`skbench estimate`: tables, messages and errors."""

import io
import re
import subprocess
import sys
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest
from commands import crossed
from writing import write

from skbench import DirectEstimator, MixedModel, summarize_items
from skbench.datasets import make_items
from skbench.report.cli import main
from skbench.report.estimate import estimate
from skbench.report.reading import cluster_weight
from skbench.stats.intervals.means import bounded_interval
from skbench.summaries import estimate_of_population

run = partial(commands.run, estimate)
parsed = partial(commands.parsed, estimate)


def groups_of(*arguments):
    """The groups of a command by their labels."""
    return pd.DataFrame(parsed(*arguments)["groups"]).set_index(["model", "topic"])


@pytest.fixture(scope="module")
def items():
    return make_items(n_models=3, n_topics=6, n_items=10, random_state=0).items


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("results") / "results.csv",
        items[["model", "topic", "item", "score"]],
    )


def test_json_holds_what_the_estimators_say(file, items):
    """Command line and Python give the same numbers."""
    document = parsed(file, "--seed", 3)
    g = summarize_items(items, by=["model", "topic"])
    mixed = MixedModel(random_state=3).fit(**g.fit_args).estimate()
    direct = DirectEstimator().fit(**g.fit_args).estimate()
    ends = ("value", "low", "high")
    expected = {"n": g.n} | {name: getattr(mixed, name) for name in ends}
    expected |= {f"direct_{name}".removesuffix("_value"): getattr(direct, name) for name in ends}
    expected |= {name: getattr(mixed, name) for name in ("standard_error", "outlier_probability")}
    expected = pd.DataFrame(expected, index=pd.MultiIndex.from_tuples(list(g.labels)))
    found = pd.DataFrame(document["groups"]).set_index(["model", "topic"])
    # JSON keeps all digits of a float.
    found = found.loc[expected.index, expected.columns]
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_names=False, rtol=1e-12)
    assert document["method"] == mixed.method
    assert document["guarantee"] == "average over groups"


@pytest.mark.parametrize("asked", ["30", "size"])
def test_population_asks_for_the_whole_benchmark(items, written, asked):
    path = written(items.assign(size=30)[["model", "topic", "item", "score", "size"]], "sizes.csv")
    result = run(path, "--population", asked)
    g = summarize_items(items, by=["model", "topic"])
    found = groups_of(path, "--population", asked).loc[list(g.labels)]
    for name, estimator in (("low", MixedModel(random_state=0)), ("direct_low", DirectEstimator())):
        expected = estimator.fit(**g.fit_args).estimate(population=30)
        np.testing.assert_allclose(found[name], expected.low, rtol=1e-12)
    assert "not used" in run(path, "--method", "direct").stderr
    assert ("not used" in result.stderr) == (asked == "30")


def test_population_of_clusters(items, written):
    clusters = items.assign(cluster=np.arange(len(items)) // 2)
    path = written(clusters[["model", "topic", "item", "cluster", "score"]])
    found = groups_of(path, "--population", 30, "--cluster", "cluster")
    options = {"cluster": "cluster", "cluster_weight": cluster_weight("cluster")}
    g = summarize_items(clusters, ["model", "topic"], **options)
    for column, estimator in (("low", MixedModel()), ("direct_low", DirectEstimator())):
        fitted = estimator.fit(**g.fit_args)
        low = np.clip(estimate_of_population(fitted, g, 0.95, 30).low, 0, 1)
        np.testing.assert_allclose(found[column].loc[list(g.labels)], low, rtol=1e-12)


@pytest.mark.parametrize(
    ("population", "words"),
    [
        ("9", "population is 9"),
        ("answers", "--population 'answers'"),
        ("length", "column 'length'"),
        ("kind", "column 'kind'"),
    ],
)
def test_bad_populations_are_refused(items, written, population, words):
    columns = ["model", "topic", "item", "score", "length", "kind"]
    path = written(items.assign(length=range(len(items)), kind="a")[columns])
    result = run(path, "--population", population)
    assert result.exit_code == 1 and words in result.stderr


def test_one_of_a_kind_is_singular(written):
    path = written(crossed(lambda m, t, i: i != 2, model="m", topic="t", item=range(4)))
    text = run(path, "--method", "direct").stdout
    assert text.startswith("1 group (1 model x 1 topic) ") and "4 scores, 4 per group" in text


def test_models_and_topics_that_are_numbers_are_names(items, file, written):
    numbered = items[["model", "topic", "item", "score"]].copy()
    for name in ("model", "topic"):
        numbered[name] = numbered[name].astype("category").cat.codes
    path = written(numbered)
    low = [groups_of(name, "--method", "fay-herriot")["low"] for name in (path, file)]
    np.testing.assert_allclose(*low, atol=1e-12)
    assert "warning" not in run(path, "--method", "fay-herriot").stderr


def test_csv_and_table_hold_the_same_numbers(file):
    read = pd.read_csv(io.StringIO(run(file, "--csv").stdout))
    lines = run(file).stdout.splitlines()
    text = " ".join(lines)
    assert text.startswith("18 groups (3 models x 6 topics) ")
    assert "180 scores, 10 per group" in text and "(average over groups)" in text
    first = read.iloc[0]
    shown = next(line for line in lines if line.startswith(first["model"])).split()
    assert float(shown[-4]) == pytest.approx(first["value"], abs=5e-4)  # three digits shown
    assert sum(line.startswith(tuple(read["model"])) for line in lines) == 18


def test_numbers_are_never_clipped_when_piped(written):
    long = "a-model-with-a-very-long-name-indeed-" * 4
    names = {"model": [f"{long}1", f"{long}2"], "topic": [f"{long}{t}" for t in range(4)]}
    table = crossed(lambda m, t, i: (ord(m[-1]) + ord(t[-1]) + i) % 2, **names, item=range(6))
    result = run(written(table), "--method", "direct")
    printed = result.stdout.partition("\n\n")[2].partition("\nNext:\n")[0]
    assert (
        sum(line.split()[-3:] == ["0.500", "0.188", "0.812"] for line in printed.splitlines()) == 8
    )
    assert max(map(len, printed.splitlines())) <= 80


def test_guesses_and_ignored_columns_are_reported_on_stderr(written):
    names = {"system": ["m1", "m2"], "task": ["a", "b", "c", "d"], "question_id": range(6)}
    table = crossed(lambda m, t, i: i % 2, **names).rename(columns={"score": "correct"})
    table["question_id"] = table["task"] + table["question_id"].astype(str)
    result = run(written(table.assign(length=3)), "--csv")
    expected = [
        "'system' .*model",
        "'question_id' .*item",
        "'task' .*topic",
        "'correct' .*score",
        "2 models, 4 topics, 24 items; 48 answers; scores 0 or 1",
        "every model|complete",
        r"length \(--features\)",
    ]
    for words, line in zip(expected, result.stderr.splitlines()[:7], strict=True):
        assert re.search(words, line)
    assert result.stdout.startswith("model,topic,n,direct")


@pytest.mark.parametrize(
    "method", ["mixed", "eb", "direct", "synthetic", "james-stein", "fay-herriot", "structured"]
)
def test_every_method_runs_and_names_its_guarantee(file, method):
    document = parsed(file, "--method", method)
    values = np.array([group["value"] for group in document["groups"]], dtype=float)
    assert ((values >= 0) & (values <= 1)).all()
    promises = {"direct": "each group, on average over accuracies", "eb": "average over groups"}
    expected = (promises | {"mixed": "average over groups"}).get(method, "model")
    assert document["guarantee"] == expected


@pytest.mark.parametrize(
    "kinds", [["parametric"], pytest.param(["length-optimal", "fab"], marks=pytest.mark.slow)]
)
def test_every_interval_of_eb(file, kinds):
    robust, *others = (
        groups_of(file, "--method", "eb", "--interval", kind) for kind in ("robust", *kinds)
    )
    for found in others:
        pd.testing.assert_series_equal(found["value"], robust["value"])
        assert (found["low"] != robust["low"]).any()


def test_every_interval_and_variance_of_the_direct_estimator(file):
    intervals = "wilson clopper-pearson jeffreys agresti-coull wald t normal bounded".split()
    options = [("--interval", kind) for kind in intervals]
    options += [("--variance", k) for k in "smoothed plug-in pooled agresti model".split()]
    for option in options:
        assert run(file, "--method", "direct", *option, "--json").exit_code == 0


def test_bounded_intervals_use_the_bounds(written):
    rows = "".join(f"t{t},{i},{s}\n" for t in range(2) for i, s in enumerate([0, 1.5, 0, 0]))
    path = written(f"topic,item,score\n{rows}")
    bounded = ["--method", "direct", "--interval", "bounded"]
    refused = run(path, *bounded)  # means are within 0 and 1
    assert refused.exit_code == 1
    assert "1.5" in refused.stderr
    groups = parsed(path, *bounded, "--bounds", 0, 2)["groups"]
    expected = bounded_interval(0.375, 4, high=2)
    assert (groups[0]["low"], groups[0]["high"]) == pytest.approx(expected, rel=1e-12)


def test_level_changes_the_width(file):
    options = ("--method", "james-stein", "--confidence-level")
    narrow, wide = (groups_of(file, *options, level) for level in (0.5, 0.99))
    assert ((wide["high"] - wide["low"]) > (narrow["high"] - narrow["low"])).all()


def test_by_model_gives_one_group_per_model(file):
    groups = parsed(file, "--by", "model", "--method", "direct")["groups"]
    assert [(group["topic"], group["n"]) for group in groups] == [(None, 60)] * 3


def test_several_topic_columns(written):
    levels = {"model": "a", "fault": ["fog", "snow"], "severity": [1, 2], "item": range(5)}
    path = written(crossed(lambda m, f, s, i: i % 2, **levels))
    groups = parsed(path, "--by", "fault,severity", "--method", "direct")["groups"]
    assert [g["topic"] for g in groups] == ["fog / 1", "fog / 2", "snow / 1", "snow / 2"]


def test_features_from_a_file(written, items, tmp_path):
    """In any format, and topics as numbers or text."""
    numbers = items["topic"].factorize(sort=True)[0]
    path = written(items.assign(topic=numbers), "numbers.csv")
    table = pd.DataFrame({"topic": range(numbers.max() + 1)}).assign(rank=lambda x: x["topic"] ** 2)
    result = run(path, "--features", written(table, "features.csv"), "--json")
    assert result.exit_code == 0
    assert "features: rank" in result.stderr
    lines = tmp_path / "features.jsonl"
    table.astype({"topic": str})[::-1].to_json(lines, orient="records", lines=True)
    again = run(path, "--features", lines, "--json")
    assert again.exit_code == 0, again.stderr
    assert again.stdout == result.stdout


def test_items_answered_several_times_are_clusters(written):
    levels = {"model": "ab", "topic": range(3), "item": range(6), "run": range(3)}
    table = crossed(lambda m, t, i, again: (i + again + (m == "a")) % 2, **levels)
    numbered = run(written(table), "--method", "direct")
    assert "'run'" in numbered.stderr
    path = written(table.rename(columns={"run": "again"}))
    assert "item '0'" in run(path).stderr
    result = run(path, "--item", "item", "--cluster", "item", "--method", "direct")
    texts = [found.stdout.partition("\nNext:\n")[0] for found in (result, numbered)]
    assert texts[0] == texts[1]
    assert result.exit_code == 0
    assert "54" not in result.stdout.splitlines()[0]
    text = " ".join(result.stdout.split())
    assert "clusters" in text and "share items" in text


def test_items_count_once_however_often_they_were_answered(written):
    """As in the ranking: one item answered four times, and wrong, is one of six."""
    levels = {"model": "a", "topic": range(3), "item": range(6), "run": range(4)}
    table = crossed(lambda m, t, i, again: int(i > 0), **levels)
    path = written(table[(table["run"] == 0) | (table["item"] == 0)])
    groups = parsed(path, "--method", "direct")["groups"]
    assert [group["direct"] for group in groups] == pytest.approx([5 / 6] * 3)


def test_unknown_sharing_is_reported_as_unknown(written):
    table = crossed(lambda m, t, i: i % 2, model="ab", topic=range(3), item=range(6))
    result = run(written(table.drop(columns="item")), "--method", "direct")
    assert "may share" in result.stdout
    assert "item=" not in result.stderr


@pytest.mark.parametrize(
    ("method", "name"), [("mixed", "a.png"), ("direct", "b.png"), ("james-stein", "no_suffix")]
)
def test_plot_is_saved_at_the_reported_path(written, tmp_path, method, name):
    """With a score whose name would be a formula."""
    pytest.importorskip("matplotlib")
    table = crossed(lambda m, t, i: i % 2, model="ab", topic=range(4), item=range(6))
    data, path = written(table.rename(columns={"score": r"$\won_$"})), tmp_path / name
    result = run(data, "--score", r"$\won_$", "--method", method, "--plot", path)
    assert result.exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"picture: {path}" in result.stderr


def test_warnings_take_one_line_each(written):
    table = crossed(lambda m, t, i: 0.5, model="ab", topic=range(4), item=range(3))
    result = run(written(table), "--method", "direct")
    warned = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert warned
    assert len(set(warned)) == len(warned)
    assert not any("Warning:" in line for line in result.stderr.splitlines())


@pytest.mark.parametrize("constant", [0.5, 0.9])
@pytest.mark.parametrize("options", [[], ["--by", "model", "--population", 12]])
def test_scores_without_any_spread_are_refused(written, constant, options):
    table = crossed(lambda m, t, i: constant, model="abcd", topic=(1, 2), item=range(6))
    result = run(written(table), *options)
    assert result.exit_code == 1
    assert "acc_stderr" in result.stderr
    assert "encountered in" not in result.stderr


DATA_ERRORS = [
    ("model,item,score\na,1,1\n", [], "--by model"),
    ("topic,item,score\na,1,1\n", ["--by", "model"], "Pass --model COLUMN."),
    ("topic,item,score,kind\na,1,1,x\na,2,0,y\n", ["--features", "kind"],
     "kind"),
]  # fmt: skip


@pytest.mark.parametrize("text, arguments, words", DATA_ERRORS)
def test_data_errors_take_one_line_and_exit_1(written, text, arguments, words):
    result = run(written(text), *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("skbench: ")
    assert words in result.stderr.splitlines()[-1]


USAGE_ERRORS = [
    (["x.csv", "--method", "direct", "--interval", "robust"],
     "--method direct"),
    (["x.csv", "--interval", "wilson"], "--method mixed"),
    (["x.csv", "--method", "direct", "--features", "a"], "--features"),
    (["x.csv", "--method", "james-stein", "--features", "a"], "--features"),
    (["x.csv", "--by", "topic,topic"], "'topic'"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, words", USAGE_ERRORS)
def test_usage_errors_exit_2(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_exit_codes_of_the_program(file, tmp_path, capsys):
    def exit_code(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return end.value.code, *capsys.readouterr()

    code, out, _ = exit_code("estimate", file, "--method", "direct", "--csv")
    assert (code, len(out.splitlines())) == (0, 19)
    code, out, error = exit_code("estimate", tmp_path / "nothing.csv")
    assert (code, out) == (1, "")
    assert error.startswith("skbench: ") and repr(str(tmp_path / "nothing.csv")) in error
    assert exit_code("guess")[0] == 2


def test_missing_click_is_reported_in_one_line():
    code = "import sys; sys.modules['click'] = None; from skbench.report.cli import main; main()"
    result = in_a_process(code)
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert result.stderr.endswith('pip install "skbench[cli]"\n')


def in_a_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_names_of_topic_columns_decide_nothing(items, written):
    """Columns of --by name a topic together, whether one of them is called topic or not."""
    number = items["topic"].str.removeprefix("topic-").astype(int)
    halves = items.assign(topic=number % 3, prompt=np.where(number < 3, "a", "b"))
    columns = ["model", "topic", "prompt", "item", "score"]
    printed = []
    for topic in ("topic", "subject"):
        path = written(halves[columns].rename(columns={"topic": topic}), f"{topic}.csv")
        result = run(path, "--by", f"{topic},prompt", "--csv")
        assert result.exit_code == 0, result.stderr
        printed.append(result.stdout)
    assert printed[0] == printed[1]
