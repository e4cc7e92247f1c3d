"""Python arguments in messages of Python, options in those of the command line."""

import re
import shlex
import warnings
from importlib import import_module

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from walks import one_in

import skbench
from skbench.report.wording import in_options

QUOTED = re.compile(r"""(?<!\w)('[^']*'|"[^"]*")(?!\w)""")
API = "|".join(name for name in skbench.__all__ if name != name.lower() or "_" in name)
PYTHON = re.compile(rf"\w=|\b({API})\b|Errno|Traceback|\.tmp|tmp\w{{6,}}|<_io")


def results(n_models=3, n_topics=3, n_items=12, seed=0, **columns):
    rows = pd.MultiIndex.from_product(
        [[f"m{i}" for i in range(n_models)], [f"t{i}" for i in range(n_topics)], range(n_items)],
        names=["model", "topic", "item"],
    ).to_frame(index=False)
    rows["item"] = rows["topic"] + "-" + rows["item"].astype(str)
    rows["score"] = np.random.default_rng(seed).integers(0, 2, len(rows))
    return rows.assign(**columns)


def judged(seed=0):
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2, 60)
    table = pd.DataFrame({"id": range(60), "group": np.repeat(list("abcdef"), 10), "human": human})
    table["judge"] = np.where(rng.random(60) < 0.8, human, 1 - human)
    return table


def blank(rows, share=0.2):
    gone = np.random.default_rng(1).random(len(rows)) < share
    return rows.assign(score=rows["score"].astype(float).mask(gone))


def tables():
    good = results()
    yield "good", good
    yield "one", results(1)
    yield "two", results(2)
    yield "single", results(1, 1, 1)
    yield "alike", results(score=1)
    yield "fractions", good.assign(score=np.random.default_rng(2).random(len(good)).round(3))
    yield "percents", good.assign(score=np.where(good["model"] == "m0", 50.0, good["score"]))
    yield "likert", good.assign(score=np.random.default_rng(3).integers(1, 6, len(good)))
    yield "blank", blank(good)
    yield "short", good[good.index % 7 > 0]
    yield "apart", good.assign(item=good["model"] + good["item"])
    yield "onecluster", good.assign(cluster="c")
    yield "clusters", good.assign(cluster=good["item"].str[-1])
    yield "twice", pd.concat([good, good[:9]])
    yield "repeats", pd.concat([good.assign(attempt=1), good[:90].assign(attempt=2)])
    yield "noitems", good.drop(columns="item")
    yield "notopic", good.drop(columns="topic")
    yield "nomodel", good.drop(columns="model")
    yield "noscore", good.drop(columns="score")
    yield "words", good.assign(score=np.where(good["score"] == 1, "right", "maybe"))
    yield "dates", good.assign(score="2026-01-01")
    yield "shots", good.assign(shots=good.index % 2)
    yield "argument", good.assign(model="subject=law,model=" + good["model"])
    yield "blanktopic", good.assign(topic=good["topic"].where(good.index > 5))
    yield "means", good.groupby(["model", "topic"], as_index=False)["score"].mean()
    yield "counts", pd.DataFrame({"topic": list("abc"), "n": [9, 8, 7], "k": [3, 12, 1]})
    yield "goodcounts", pd.DataFrame({"topic": list("abc"), "n": [9, 8, 7], "k": [3, 4, 0]})
    yield "errors", pd.DataFrame({"topic": list("abcd"), "acc": [0.1, 0.2, 0.5, 0.4],
                                  "acc_stderr": [0.1, 0.0, 0.1, 0.2]})  # fmt: skip
    yield "exact", pd.DataFrame({"topic": list("ab"), "acc": [0.1, 0.2], "acc_stderr": [0, 0]})
    yield "wide", pd.DataFrame({"id": range(4), "m1": [1, 0, 0, 1], "m2": [1, 1, 0, 1]})
    yield "metrics", pd.DataFrame({"id": range(3), "bleu": [0.1, 0.2, 0.4], "rouge": [1, 0, 0.3]})
    yield "votes", pd.DataFrame({"model_a": list("xy"), "model_b": list("yz"), "winner": "model_a"})
    votes = pd.DataFrame({"model_a": np.resize(list("xyz"), 60),
                          "model_b": np.resize(list("yzxzxy"), 60)})  # fmt: skip
    yield "manyvotes", votes.assign(winner=np.resize(["model_a", "model_b", "tie", "tie"], 60),
                                    topic="t", length=np.nan)  # fmt: skip
    yield "won", votes.assign(winner="model_a")[::6]
    yield "predicted", judged().rename(columns={"human": "y_true", "judge": "y_pred"})
    yield "judged", judged()
    yield "labels", judged()[["id", "human"]].rename(columns={"id": "key"})
    yield "silent", judged().assign(human=np.nan)
    yield "few", judged().assign(human=lambda t: t["human"].where(t.index < 3))
    yield "agreed", judged().assign(human=1, judge=1)
    yield "unlabeled", judged().assign(human=lambda t: t["human"].where(t["group"] < "c"))
    yield "kinds", judged().assign(judge=np.resize(["y", "n", "unclear"], 60))
    yield "texts", judged().assign(judge=lambda t: "text " + t["id"].astype(str))
    yield "odd", judged().assign(human=np.resize(["yes", "no", "perhaps"], 60))
    yield "infinite", judged().assign(judge=np.inf)
    yield "scale", judged().assign(human=lambda t: t["human"] * 4 + 1)


# Beginnings of command lines, each with its ends.
COMMANDS = """
estimate: nothing.csv | folder | notable.csv | empty.csv | long.csv | single.csv | alike.csv
estimate: fractions.csv | percents.csv | likert.csv | apart.csv | onecluster.csv | clusters.csv
estimate: twice.csv | repeats.csv | noitems.csv | notopic.csv | noscore.csv | words.csv
estimate: dates.csv | shots.csv | argument.csv | blanktopic.csv | means.csv | counts.csv
estimate: errors.csv | exact.csv | wide.csv | metrics.csv | votes.csv | judged.csv
estimate: nomodel.csv --by model
estimate good.csv: --score nothing | --by nothing | --by item,topic | --model nothing
estimate good.csv: --models m0 | --cluster nothing | --features nothing | --features nothing.csv
estimate good.csv: --population many | --population 5 | --format inspect | --filter strict
estimate good.csv: --bounds 1 0 | --bounds 0 0.5 | --rename m0=m1 | --rename q=r
estimate good.csv: --method structured | --method fay-herriot --features score | --bank good.csv
estimate good.csv: --past means.csv | --past noitems.csv | --past wide.csv | --past good.csv
estimate good.csv: --plot nowhere/x.png | --plot x.nothing
estimate one.csv: --method james-stein | --method eb
estimate single.csv: --method structured | --method fay-herriot
estimate alike.csv: --method direct --interval t | --method eb --variance plug-in
estimate fractions.csv: --method direct --interval wilson | --method direct --interval bounded
estimate blank.csv: --missing refuse | --missing wrong
estimate goodcounts.csv: --cluster topic | --variance model
estimate errors.csv: --method direct | --method direct --interval wilson | --method eb
report good.csv: --by model | --html nowhere/x.html | --fail-under 70
report good.csv: --fail-if-worse-than nobody | goodcounts.csv
report: fractions.csv | means.csv | onecluster.csv | short.csv | apart.csv | single.csv
report: errors.csv | twice.csv | alike.csv | repeats.csv --by topic | short.csv --missing refuse
doctor: nothing.csv | twice.csv | wide.csv | long.csv
leaderboard: one.csv | alike.csv | apart.csv | short.csv | noitems.csv | nomodel.csv | repeats.csv
leaderboard: twice.csv | clusters.csv | onecluster.csv | means.csv | goodcounts.csv | wide.csv
leaderboard: short.csv --missing refuse
leaderboard good.csv: --topics nothing | --topics model | --population 5
leaderboard good.csv: --topics topic --population t0=50 | --bounds 0.2 1
compare good.csv: m0 nobody | m0 m0 | one.csv m0 | --cluster topic | m0 m1 --population 5
compare good.csv: --past one.csv
compare: one.csv | alike.csv | apart.csv | short.csv | onecluster.csv | goodcounts.csv
compare: short.csv m0 m1 --missing refuse | clusters.csv m0 m1 --by topic
gate one.csv: two.csv --margin 0.1 | one.csv --margin 3 | one.csv --margin nan
gate one.csv: one.csv --margin 0.1 --relative --by nothing | nomodel.csv --margin 0.1
gate one.csv: shortone.csv --margin 0.1 | apartone.csv --margin 0.1
gate one.csv: one.csv --margin 0.1 --confidence-level 0.4 | one.csv --margin 0.1 --population 3
gate one.csv: one.csv --margin 0.1 --bank one.csv | one.csv --margin 0.1 --past good.csv
gate one.csv: one.csv --margin 0.9 --save-baseline nowhere/x.csv
gate: good.csv good.csv --margin 0.1 --baseline m0 --candidate nobody
gate: goodcounts.csv one.csv --margin 0.1 | means.csv one.csv --margin 0.1
gate: onecluster.csv onecluster.csv --margin 0.1 --baseline m0 --candidate m1
sequential one.csv: --target 0.5 --confidence-level 0.9 --state nowhere/x.json | --target 7
sequential one.csv: --width -1
sequential: fractions.csv m0 m1 | good.csv | good.csv m0 nobody | apart.csv m0 m1
sequential: noitems.csv m0 m1
sequential two.csv: m0 m1 --margin -1 | m0 m1 --max-items 2
passk good.csv: -k 3 | -k 1 --compare m0,nobody | --score score --correct k --runs n
passk repeats.csv: -k 2 | -k 2 --drop-short
passk: fractions.csv -k 1 | noitems.csv | wide.csv
passk goodcounts.csv: --correct k --runs nothing | --correct k
plan: one.csv --effect 0.1 | alike.csv m0 m1 --effect 0.1 | apart.csv m0 m1 --effect 0.1
plan: --items 3 --accuracy 0.5 | --effect 0.9 --accuracy 0.5
plan: --effect 0.1 --accuracy 0.5 --power 0.01 | --effect 1e-200 --accuracy 0.5
plan: --effect 0.1 --accuracy 0.5 --cluster-size 5 --icc -0.9 | --past one.csv
plan: --past good.csv --half-width 0.1 --choose 5000 --output x.csv
plan: --past good.csv --half-width 0.1 --choose 5 --output nowhere/x.csv | --bank good.csv
plan good.csv: --effect 0.1 | m0 --effect 0.1 | m0 m1 --effect 0.1 --repeats 3
judge judged.csv: --judge nothing --human human | --judge judge --human nothing
judge --judge judge --human human: judged.csv --by nothing | judged.csv --event perhaps
judge --judge judge --human human: judged.csv --labels labels.csv --id id
judge --judge judge --human human: judged.csv --labels labels.csv --id key
judge --judge judge --human human: judged.csv --bounds 0 0.5 | silent.csv | few.csv | agreed.csv
judge --judge judge --human human: kinds.csv | kinds.csv --event unclear | texts.csv | odd.csv
judge --judge judge --human human: infinite.csv | scale.csv | judged.csv --card --first nothing
judge --judge judge --human human: agreed.csv --card | few.csv --card | silent.csv --card
judge --judge judge --human human: odd.csv --card | texts.csv --card
judge --judge judge --human human: odd.csv --card --event never
demo: --output good.csv/x
arena: votes.csv | nothing.csv | good.csv | won.csv
arena manyvotes.csv: --winner nothing | --winner topic | --cluster topic | --covariates model_b
arena manyvotes.csv: --covariates length --ties davidson | --judge nothing | --judge topic
arena manyvotes.csv: --judge winner --ties davidson
arena manyvotes.csv: --position --scale logit --ties davidson
metrics predicted.csv: --truth nothing --prediction y_pred --by group
metrics predicted.csv: --truth y_true --prediction y_pred --by nothing | --metric auc --by group
metrics predicted.csv: --metric tpr --by group --positive never | --metric f1 --by id
metrics: predicted.csv | judged.csv
metrics: words.csv --truth score --prediction item --by topic --metric precision
metrics: nothing.csv --by group
""".strip().splitlines()
COMMAND_LINES = [
    f"{start} {end}"
    for start, _, ends in (line.partition(": ") for line in COMMANDS)
    for end in ends.split(" | ")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, table in tables():
        table.to_csv(folder / f"{name}.csv", index=False)
    results(1)[:20].to_csv(folder / "shortone.csv", index=False)
    results(1).assign(item=lambda t: "x" + t["item"]).to_csv(folder / "apartone.csv", index=False)
    (folder / "folder").mkdir()
    (folder / "notable.csv").write_bytes(bytes(range(256)))
    (folder / "empty.csv").write_text("")
    (folder / "long.csv").write_text("model,item,score\na,1,1\na,2,0,5,6\n")
    return folder


def without_data(text):
    return QUOTED.sub("''", text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", one_in(3, COMMAND_LINES))
def test_commands_name_options_and_python_names_arguments(line, folder, monkeypatch):
    monkeypatch.chdir(folder)
    of_python, warn = [], warnings.warn
    monkeypatch.setattr(
        warnings, "warn", lambda *a, **k: of_python.append(str(a[0])) or warn(*a, **k)
    )
    name, *arguments = shlex.split(line)
    command = getattr(import_module(f"skbench.report.{name}"), name)
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    texts, error = done.stderr.splitlines(), done.exception
    if isinstance(error, click.ClickException):
        texts.append(error.format_message())
        of_python += [str(error.__cause__)] * (error.__cause__ is not None)
    else:
        assert error is None or isinstance(error, SystemExit), error
    assert texts
    if "argument.csv" not in line:  # names of models that look like arguments, without quotes
        results = (x for x in done.stdout.splitlines() if not x.startswith("in Python: "))
        texts.append(" ".join(" ".join(results).split()))
    for text in texts:
        assert not PYTHON.search(without_data(text)), text
    for text in of_python:
        assert "--" not in without_data(text)


TABLE = click.Command(
    "table",
    params=[
        click.Option(["--by"]),
        click.Option(["--cluster"]),
        click.Option(["--models"]),
        click.Option(["--skip-bad-lines"], is_flag=True),
        click.Option(["--bounds"], nargs=2),
        click.Option(["--method"], type=click.Choice(["eb", "direct"])),
        click.Option(["--rename"], multiple=True),
        click.Option(["-k"]),
    ],
)


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("Pass cluster='item'.", "Pass --cluster item."),
        ('Pass cluster="an item", or k=3.', "Pass --cluster 'an item', or -k 3."),
        ("Pass models=['a', 'b'].", "Pass --models a,b."),
        ("Pass models='m*'.", "Pass --models 'm*'."),
        ("The model's name (topic=) and the items' topics.",
         "The model's name (--by) and the items' topics."),
        ("Pass topic=..., one of: a, b.", "Pass --by, one of: a, b."),
        ("Go on with skip_bad_lines=True.", "Go on with --skip-bad-lines."),
        ("Pass bounds=(0, 1).", "Pass --bounds 0 1."),
        ("Name them apart, model={'m': ...}.", "Name them apart, --rename m=NEW."),
        ("Use EmpiricalBayes().", "Use --method eb."),
        # Data of users, in quotes or not.
        ("'cluster=a' is no 'topic=b'.", "'cluster=a' is no 'topic=b'."),
        ("It's 'topic=a' that mmlu:topic=law,model=x is.",
         "It's 'topic=a' that mmlu:topic=law,model=x is."),
        ("Runs differ in temperature=0.7.", "Runs differ in temperature=0.7."),
        # What the command has no option for.
        ("2 are blank. Pass missing='wrong'.", "2 are blank."),
        ("2 are blank in 'a. Pass missing=b'. Use FayHerriot, or ItemBank(). Pass topic='t'.",
         "2 are blank in 'a. Pass missing=b'. Pass --by t."),
        ("It is 0. Pass method='reml', which is never 0.", "It is 0."),
    ],
)  # fmt: skip
def test_options_in_place_of_arguments(python, command):
    assert in_options(python, TABLE) == command
    assert in_options(command, TABLE) == command
    assert in_options(python) == python
