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


COMMAND_LINES = """
estimate nothing.csv
estimate folder
estimate notable.csv
estimate empty.csv
estimate long.csv
estimate good.csv --score nothing
estimate good.csv --by nothing
estimate good.csv --by item,topic
estimate good.csv --model nothing
estimate good.csv --models m0
estimate good.csv --cluster nothing
estimate good.csv --features nothing
estimate good.csv --features nothing.csv
estimate good.csv --population many
estimate good.csv --population 5
estimate good.csv --format inspect
estimate good.csv --filter strict
estimate good.csv --bounds 1 0
estimate good.csv --bounds 0 0.5
estimate good.csv --rename m0=m1
estimate good.csv --rename q=r
estimate good.csv --method structured
estimate good.csv --method fay-herriot --features score
estimate one.csv --method james-stein
estimate one.csv --method eb
estimate single.csv
estimate single.csv --method structured
estimate single.csv --method fay-herriot
estimate alike.csv
estimate alike.csv --method direct --interval t
estimate alike.csv --method eb --variance plug-in
estimate fractions.csv
estimate fractions.csv --method direct --interval wilson
estimate fractions.csv --method direct --interval bounded
estimate percents.csv
estimate likert.csv
estimate blank.csv --missing refuse
estimate blank.csv --missing wrong
estimate apart.csv
estimate onecluster.csv
estimate clusters.csv
estimate twice.csv
estimate repeats.csv
estimate noitems.csv
estimate notopic.csv
estimate nomodel.csv --by model
estimate noscore.csv
estimate words.csv
estimate dates.csv
estimate shots.csv
estimate argument.csv
estimate blanktopic.csv
estimate means.csv
estimate counts.csv
estimate goodcounts.csv --cluster topic
estimate goodcounts.csv --variance model
estimate errors.csv
estimate errors.csv --method direct
estimate errors.csv --method direct --interval wilson
estimate errors.csv --method eb
estimate exact.csv
estimate wide.csv
estimate metrics.csv
estimate votes.csv
estimate judged.csv
estimate good.csv --bank good.csv
estimate good.csv --past means.csv
estimate good.csv --past noitems.csv
estimate good.csv --past wide.csv
estimate good.csv --past good.csv
estimate good.csv --plot nowhere/x.png
estimate good.csv --plot x.nothing
report good.csv --by model
report good.csv --html nowhere/x.html
report good.csv --fail-under 70
report good.csv --fail-if-worse-than nobody
report fractions.csv
report means.csv
report onecluster.csv
report repeats.csv --by topic
report short.csv
report short.csv --missing refuse
report apart.csv
report single.csv
report errors.csv
report good.csv goodcounts.csv
report twice.csv
report alike.csv
doctor nothing.csv
doctor twice.csv
doctor wide.csv
doctor long.csv
leaderboard one.csv
leaderboard alike.csv
leaderboard apart.csv
leaderboard short.csv
leaderboard short.csv --missing refuse
leaderboard noitems.csv
leaderboard nomodel.csv
leaderboard repeats.csv
leaderboard twice.csv
leaderboard clusters.csv
leaderboard onecluster.csv
leaderboard means.csv
leaderboard goodcounts.csv
leaderboard wide.csv
leaderboard good.csv --topics nothing
leaderboard good.csv --topics model
leaderboard good.csv --population 5
leaderboard good.csv --topics topic --population t0=50
leaderboard good.csv --bounds 0.2 1
compare good.csv m0 nobody
compare good.csv m0 m0
compare one.csv
compare alike.csv
compare apart.csv
compare short.csv
compare short.csv m0 m1 --missing refuse
compare clusters.csv m0 m1 --by topic
compare onecluster.csv
compare good.csv one.csv m0
compare goodcounts.csv
compare good.csv --cluster topic
compare good.csv m0 m1 --population 5
compare good.csv --past one.csv
gate one.csv two.csv --margin 0.1
gate good.csv good.csv --margin 0.1 --baseline m0 --candidate nobody
gate one.csv one.csv --margin 3
gate one.csv one.csv --margin nan
gate one.csv one.csv --margin 0.1 --relative --by nothing
gate one.csv nomodel.csv --margin 0.1
gate one.csv shortone.csv --margin 0.1
gate one.csv apartone.csv --margin 0.1
gate one.csv one.csv --margin 0.1 --confidence-level 0.4
gate one.csv one.csv --margin 0.1 --population 3
gate one.csv one.csv --margin 0.1 --bank one.csv
gate one.csv one.csv --margin 0.1 --past good.csv
gate one.csv one.csv --margin 0.9 --save-baseline nowhere/x.csv
gate goodcounts.csv one.csv --margin 0.1
gate means.csv one.csv --margin 0.1
gate onecluster.csv onecluster.csv --margin 0.1 --baseline m0 --candidate m1
sequential one.csv --target 0.5 --confidence-level 0.9 --state nowhere/x.json
sequential one.csv --target 7
sequential one.csv --width -1
sequential fractions.csv m0 m1
sequential good.csv
sequential good.csv m0 nobody
sequential apart.csv m0 m1
sequential noitems.csv m0 m1
sequential two.csv m0 m1 --margin -1
sequential two.csv m0 m1 --max-items 2
passk good.csv -k 3
passk repeats.csv -k 2
passk repeats.csv -k 2 --drop-short
passk fractions.csv -k 1
passk noitems.csv
passk good.csv -k 1 --compare m0,nobody
passk goodcounts.csv --correct k --runs nothing
passk goodcounts.csv --correct k
passk good.csv --score score --correct k --runs n
passk wide.csv
plan one.csv --effect 0.1
plan good.csv --effect 0.1
plan good.csv m0 --effect 0.1
plan alike.csv m0 m1 --effect 0.1
plan good.csv m0 m1 --effect 0.1 --repeats 3
plan apart.csv m0 m1 --effect 0.1
plan --items 3 --accuracy 0.5
plan --effect 0.9 --accuracy 0.5
plan --effect 0.1 --accuracy 0.5 --power 0.01
plan --effect 1e-200 --accuracy 0.5
plan --effect 0.1 --accuracy 0.5 --cluster-size 5 --icc -0.9
plan --past one.csv
plan --past good.csv --half-width 0.1 --choose 5000 --output x.csv
plan --past good.csv --half-width 0.1 --choose 5 --output nowhere/x.csv
plan --bank good.csv
judge judged.csv --judge nothing --human human
judge judged.csv --judge judge --human nothing
judge judged.csv --judge judge --human human --by nothing
judge judged.csv --judge judge --human human --event perhaps
judge judged.csv --judge judge --human human --labels labels.csv --id id
judge judged.csv --judge judge --human human --labels labels.csv --id key
judge judged.csv --judge judge --human human --bounds 0 0.5
judge silent.csv --judge judge --human human
judge few.csv --judge judge --human human
judge agreed.csv --judge judge --human human
judge kinds.csv --judge judge --human human
judge kinds.csv --judge judge --human human --event unclear
judge texts.csv --judge judge --human human
judge odd.csv --judge judge --human human
judge infinite.csv --judge judge --human human
judge scale.csv --judge judge --human human
judge judged.csv --judge judge --human human --card --first nothing
judge agreed.csv --judge judge --human human --card
judge few.csv --judge judge --human human --card
judge silent.csv --judge judge --human human --card
judge odd.csv --judge judge --human human --card
judge texts.csv --judge judge --human human --card
judge odd.csv --judge judge --human human --card --event never
demo --output good.csv/x
arena votes.csv
arena nothing.csv
arena good.csv
arena manyvotes.csv --winner nothing
arena manyvotes.csv --winner topic
arena manyvotes.csv --cluster topic
arena manyvotes.csv --covariates model_b
arena manyvotes.csv --covariates length --ties davidson
arena manyvotes.csv --position --scale logit --ties davidson
arena won.csv
metrics predicted.csv --truth nothing --prediction y_pred --by group
metrics predicted.csv --truth y_true --prediction y_pred --by nothing
metrics predicted.csv --metric auc --by group
metrics predicted.csv --metric tpr --by group --positive never
metrics predicted.csv --metric f1 --by id
metrics predicted.csv
metrics judged.csv
metrics words.csv --truth score --prediction item --by topic --metric precision
metrics nothing.csv --by group
""".strip().splitlines()


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
@pytest.mark.parametrize("line", COMMAND_LINES)
def test_each_speaks_its_own_language(line, folder, monkeypatch):
    monkeypatch.chdir(folder)
    of_python, warn = [], warnings.warn
    monkeypatch.setattr(
        warnings, "warn", lambda *a, **k: of_python.append(str(a[0])) or warn(*a, **k)
    )
    name, *arguments = shlex.split(line)
    command = getattr(import_module(f"skbench.report.{name}"), name)
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    said, error = done.stderr.splitlines(), done.exception
    if isinstance(error, click.ClickException):
        said.append(error.format_message())
        of_python += [str(error.__cause__)] * (error.__cause__ is not None)
    else:
        assert error is None or isinstance(error, SystemExit), error
    assert said
    if "argument.csv" not in line:  # names of models that look like arguments, without quotes
        results = (x for x in done.stdout.splitlines() if not x.startswith("in Python: "))
        said.append(" ".join(" ".join(results).split()))
    for text in said:
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
